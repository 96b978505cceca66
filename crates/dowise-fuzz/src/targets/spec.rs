//! Learners by name with options: what is accepted can be made in a small world, plays, and is the same after being saved.

use dowise::{Learner, LearnerSpec};

use super::learner::play;
use super::{Outcome, reason};
use crate::Case;
use crate::corpus::Played;

/// Episodes that the learner is told of.
const EPISODES: u64 = 10;

pub(super) fn run(all: &[Played], case: &Case) -> Outcome {
    let Some(played) = all.get(case.base) else { return reason("no such base") };
    let spec: LearnerSpec = match case.text.parse() {
        Err(e) => return reason(&format!("{e}")),
        Ok(spec) => spec,
    };
    match spec.to_string().parse::<LearnerSpec>() {
        Ok(again) if again.to_string() == spec.to_string() => {}
        Ok(_) => return Outcome::Wrong(format!("{spec} is another learner after being written and read")),
        Err(e) => return Outcome::Wrong(format!("{spec} cannot be read: {e}")),
    }
    let world = played.arena.world();
    let (knowledge, mut learner) = match (spec.knowledge(world), spec.learner(world, EPISODES, case.seed)) {
        (Ok(knowledge), Ok(learner)) => (knowledge, learner),
        (Err(e), _) | (_, Err(e)) => return reason(&e.to_string()),
    };
    let saved = learner.save();
    match Learner::restore(&knowledge, &saved) {
        Ok(again) if again.save() == saved => {}
        Ok(_) => return Outcome::Wrong(format!("{spec} is another one after being saved")),
        Err(e) => return Outcome::Wrong(format!("{spec} was saved and cannot be restored: {e}")),
    }
    let played = Played { arena: played.arena.clone(), knowledge, options: None };
    match play(&played, &mut learner, case.seed) {
        Outcome::Accepted => play(&played, &mut learner, case.seed),
        other => other,
    }
}
