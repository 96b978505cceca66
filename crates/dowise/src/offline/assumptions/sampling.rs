//! Assumptions about which episodes a log has, and how much of each.

use super::checks::short;
use super::{About, Assumption, Status};
use crate::offline::censoring::Censoring;

/// That the log has all episodes. It cannot be tested.
pub(super) fn sampling() -> Assumption {
    Assumption {
        about: About::Sampling,
        status: Status::Assumed,
        statement: "Every episode that began is in the log, whatever came of it, and episodes are independent of each \
                    other. No log can show this."
            .to_owned(),
        remedy: String::new(),
    }
}

/// That episodes which stop without an end go on as others in the same state; `None` if none stops.
pub(super) fn censoring(found: &Censoring) -> Option<Assumption> {
    let Censoring { stopped, episodes, tested, depends_on } = found;
    if *stopped == 0 {
        return None;
    }
    let taken = format!(
        "{stopped} of {episodes} episodes stop before the horizon without an end. They are taken to go on as others in the \
         same state."
    );
    let (statement, remedy) = match depends_on {
        Some((part, p)) => (
            format!(
                "{taken} But whether an episode stops depends on {part} (p = {}): perhaps it has ended, and nothing follows.",
                short(*p)
            ),
            "if nothing follows, write `terminated` and state where episodes end (`ends`); if only the recording stopped, \
             record what follows",
        ),
        None if *tested == 0 => (format!("{taken} The log says too little about whether that is so."), ""),
        None => (format!("{taken} Whether they stop depends on none of {tested} parts of the step at level 0.01."), ""),
    };
    Some(Assumption { about: About::Censoring, status: Status::Assumed, statement, remedy: remedy.to_owned() })
}
