//! Saved evidence: restored, it saves the same again, and a learner can begin with it.

use dowise::Learner;
use dowise::learn::{Evidence, EvidenceError};

use super::learner::{play, resealed};
use super::{Outcome, reason};
use crate::Case;
use crate::corpus::Played;

pub(super) fn run(all: &[Played], case: &Case) -> Outcome {
    let Some(played) = all.get(case.base) else { return reason("no such base") };
    let Some(options) = &played.options else { return reason("no options") };
    let mut restored = Evidence::restore(&played.knowledge, options, &case.text);
    if let Err(EvidenceError::Damaged { field, why }) = &restored
        && field == "seal"
        && !case.seed.is_multiple_of(8)
        && let Some(text) = resealed(&case.text, why)
    {
        restored = Evidence::restore(&played.knowledge, options, &text);
    }
    let evidence = match restored {
        Err(e) => return reason(&e.to_string()),
        Ok(evidence) => evidence,
    };
    let saved = evidence.save();
    match Evidence::restore(&played.knowledge, options, &saved) {
        Ok(again) if again.save() == saved => {}
        Ok(_) => return Outcome::Wrong("evidence is other evidence after being saved and restored".into()),
        Err(e) => return Outcome::Wrong(format!("evidence that was saved cannot be restored: {e}")),
    }
    match Learner::with_evidence(evidence, options.clone()) {
        Err(e) => reason(&e.to_string()),
        Ok(mut learner) => play(played, &mut learner, case.seed),
    }
}
