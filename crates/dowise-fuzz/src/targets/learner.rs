//! Saved learners: restored, they play on, and save the same again.

use dowise::Learner;
use dowise::learn::RestoreError;

use super::{Outcome, reason};
use crate::Case;
use crate::corpus::Played;

pub(super) fn run(all: &[Played], case: &Case) -> Outcome {
    let Some(played) = all.get(case.base) else { return reason("no such base") };
    let mut text = case.text.clone();
    let mut restored = Learner::restore(&played.knowledge, &text);
    // Checksums that fit let the checks behind them be reached; sometimes they are left wrong.
    for _ in 0..3 {
        match &restored {
            Err(RestoreError::Damaged { field, why }) if field.ends_with("seal") && !case.seed.is_multiple_of(8) => {
                match resealed(&text, why) {
                    Some(with_seal) => text = with_seal,
                    None => break,
                }
            }
            _ => break,
        }
        restored = Learner::restore(&played.knowledge, &text);
    }
    let mut learner = match restored {
        Err(e) => return reason(&e.to_string()),
        Ok(learner) => learner,
    };
    let saved = learner.save();
    match Learner::restore(&played.knowledge, &saved) {
        Ok(again) if again.save() == saved => {}
        Ok(_) => return Outcome::Wrong("a learner is another one after being saved and restored".into()),
        Err(e) => return Outcome::Wrong(format!("a learner that was saved cannot be restored: {e}")),
    }
    play(played, &mut learner, case.seed)
}

/// Plays an episode and saves.
pub(super) fn play(played: &Played, learner: &mut Learner, seed: u64) -> Outcome {
    let episode = played.arena.run(seed).episode(learner);
    if !episode.regret.is_finite() {
        return Outcome::Wrong(format!("the regret is {}", episode.regret));
    }
    match Learner::restore(&played.knowledge, &learner.save()) {
        Ok(_) => Outcome::Accepted,
        Err(e) => Outcome::Wrong(format!("a learner that has played on cannot be restored: {e}")),
    }
}

/// The text with the checksum that the message says is right.
pub(super) fn resealed(text: &str, why: &str) -> Option<String> {
    let words: Vec<&str> = why.split([' ', ',']).collect();
    let (written, computed) = (words.get(6)?, words.last()?);
    let old = format!("\"seal\":\"{written}\"");
    text.contains(&old).then(|| text.replacen(&old, &format!("\"seal\":\"{computed}\""), 1))
}
