//! Why a world cannot be fitted to a log.

use crate::learn::{EvidenceError, LearnError};
use crate::world::WorldError;

/// Why a world cannot be fitted.
#[derive(Clone, Debug, thiserror::Error)]
pub enum FitError {
    /// Names that are to be kept and cannot be.
    #[error(
        "{}; what can be kept are variables and reward terms with numbers, or all of `mechanisms`, `transitions`, `rewards`, or `start`",
        .wrong.join("; ")
    )]
    Keep {
        /// What is wrong with each.
        wrong: Vec<String>,
    },
    /// A hidden common cause of a lever and its effect.
    #[error(
        "what setting the lever \"{lever}\" does cannot be learned from this log in this world: the hidden {} moves both the \
         lever, when it is left alone, and {}; so what is seen when it is left alone says nothing about setting it, and what is \
         seen when it is set says nothing about leaving it alone. To settle it, set \"{lever}\" by a draw that does not look at \
         anything, in every state that matters, allow only interventions that set it (`set = \"all\"` in [interventions]) and \
         fit those steps; or record {}, as a key variable; or give {} numbers in the world file, which are then taken as they are",
        words(.hidden), words(.effects), words(.hidden), words(.without_numbers)
    )]
    Confounded {
        /// The lever.
        lever: String,
        /// What moves it, unobserved.
        hidden: Vec<String>,
        /// What that moves as well.
        effects: Vec<String>,
        /// What the world file has no numbers for, either.
        without_numbers: Vec<String>,
    },
    /// An option outside its range.
    #[error("{name} = {value}: {expected}")]
    Option {
        /// The option.
        name: &'static str,
        /// What was given.
        value: f64,
        /// What is allowed.
        expected: &'static str,
    },
    /// Nothing to fit to.
    #[error("the log has no steps, so there is nothing to fit to")]
    NoSteps,
    /// What is to be learned cannot be counted.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// A step that cannot be counted.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// The fitted numbers do not make a world.
    #[error(transparent)]
    World(#[from] WorldError),
    /// A file that is not the evidence of a fit.
    #[error("this is not the evidence that `dowise fit` writes beside a world: {0}")]
    Format(String),
}

pub(super) fn words(names: &[String]) -> String {
    match names {
        [] => "something else".to_owned(),
        [one] => format!("\"{one}\""),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(|n| format!("\"{n}\"")).collect();
            format!("{} and \"{last}\"", first.join(", "))
        }
    }
}
