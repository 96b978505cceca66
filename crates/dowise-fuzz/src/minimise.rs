//! Makes a case that fails smaller: lines, then tokens, as long as it fails in the same way.

use std::time::{Duration, Instant};

use crate::Case;
use crate::tokens::tokens;

/// A little smaller is enough.
const MOST_TIME: Duration = Duration::from_secs(20);

pub(crate) fn minimise(case: Case, mut fails: impl FnMut(&Case) -> bool) -> Case {
    let begin = Instant::now();
    let mut best = case;
    for split in [lines as fn(&str) -> Vec<String>, all_tokens] {
        let mut size = split(&best.text).len() / 2;
        while size > 0 {
            let mut at = 0;
            loop {
                let parts = split(&best.text);
                if at >= parts.len() {
                    break;
                }
                if begin.elapsed() > MOST_TIME {
                    return best;
                }
                let end = (at + size).min(parts.len());
                let text = parts[..at].concat() + &parts[end..].concat();
                let smaller = Case { text, ..best.clone() };
                if fails(&smaller) { best = smaller } else { at += size }
            }
            size /= 2;
        }
    }
    best
}

fn lines(text: &str) -> Vec<String> {
    text.split_inclusive('\n').map(str::to_owned).collect()
}

fn all_tokens(text: &str) -> Vec<String> {
    tokens(text).into_iter().map(|(_, token)| token.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    #[test]
    fn what_does_not_matter_goes() {
        let text = "a = 1\nb = [2, 3, boom]\nc = 4\nd = 5\n".to_owned();
        let case = Case { kind: Kind::World, base: 0, seed: 0, text };
        assert_eq!(minimise(case, |smaller| smaller.text.contains("boom")).text, "boom");
    }
}
