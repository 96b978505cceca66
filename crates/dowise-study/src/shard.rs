//! A part of a study's runs, so that several processes or machines share the work.

use std::fmt;
use std::str::FromStr;

/// The i-th of n parts: every n-th run, so that no part has all the long ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    number: usize,
    of: usize,
}

impl Shard {
    /// Whether the run at this position of the study belongs to it.
    pub fn has(self, run: usize) -> bool {
        run % self.of == self.number - 1
    }

    /// How many of this number of runs belong to it.
    pub fn count(self, runs: usize) -> usize {
        (runs + self.of - self.number) / self.of
    }
}

/// As `2/5`.
impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let wrong = || format!("a shard is i/n such as 2/5, with i from 1 to n; \"{text}\" is not");
        let (number, of) = text.split_once('/').ok_or_else(wrong)?;
        let (number, of) = (number.trim().parse().map_err(|_| wrong())?, of.trim().parse().map_err(|_| wrong())?);
        if number == 0 || number > of { Err(wrong()) } else { Ok(Shard { number, of }) }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_is_in_one_shard_and_they_are_of_equal_size() {
        for n in 1..8usize {
            let shards: Vec<Shard> = (1..=n).map(|i| format!("{i}/{n}").parse().unwrap()).collect();
            for runs in 0..40 {
                assert!((0..runs).all(|run| shards.iter().filter(|s| s.has(run)).count() == 1));
                for shard in &shards {
                    assert_eq!(shard.count(runs), (0..runs).filter(|&run| shard.has(run)).count());
                    assert!(shard.count(runs) * n <= runs + n);
                }
            }
        }
    }

    #[test]
    fn what_is_no_part_is_refused() {
        for text in ["", "2", "0/3", "4/3", "-1/3", "1/0", "a/b", "1/2/3"] {
            assert!(text.parse::<Shard>().unwrap_err().contains("such as 2/5"), "{text}");
        }
    }
}
