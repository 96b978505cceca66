//! Errors of fitting a world to a log.

use super::confounded::experiment;
use crate::learn::{EvidenceError, LearnError};
use crate::world::WorldError;

/// Why a world cannot be fitted.
#[derive(Clone, Debug, thiserror::Error)]
pub enum FitError {
    /// Names that cannot be kept.
    #[error(
        "{}; what can be kept are variables and reward terms with numbers, or all of `mechanisms`, `transitions`, `rewards`, or `start`",
        .wrong.join("; ")
    )]
    Keep {
        /// The problem of each name.
        wrong: Vec<String>,
    },
    /// Unmeasured confounding of a lever and its outcome.
    #[error("{}", confounded(lever, *always_set, [hidden, effects, without_numbers]))]
    Confounded {
        /// The lever.
        lever: String,
        /// Whether every intervention sets it.
        always_set: bool,
        /// Hidden variables that affect it.
        hidden: Vec<String>,
        /// Other variables that these affect.
        effects: Vec<String>,
        /// Variables that also lack numbers in the world file.
        without_numbers: Vec<String>,
    },
    /// A name declared as randomised is not a lever.
    #[error("\"{name}\" is no lever, so it was not set by a draw{}", if .meant.is_empty() { String::new() } else { format!(" (did you mean \"{meant}\"?)") })]
    Randomised {
        /// The given name.
        name: String,
        /// The most similar lever, or nothing.
        meant: String,
    },
    /// An option outside its range.
    #[error("{name} = {value}: {expected}")]
    Option {
        /// The option.
        name: &'static str,
        /// The given value.
        value: f64,
        /// The permitted values.
        expected: &'static str,
    },
    /// The log has no steps.
    #[error("the log has no steps, so there is nothing to fit to")]
    NoSteps,
    /// An unknown parameter cannot be learned.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// A step that cannot be counted.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// The fitted numbers are not a valid world.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The file is not the evidence of a fit.
    #[error("this is not the evidence that `dowise fit` writes beside a world: {0}")]
    Format(String),
}

fn confounded(lever: &str, always_set: bool, [hidden, effects, without_numbers]: [&[String]; 3]) -> String {
    let (by, effects, lack) = (words(hidden), words(effects), words(without_numbers));
    let when = if always_set { "in the log" } else { "when it is left alone" };
    format!(
        "unmeasured confounding: the hidden {by} acts on the lever \"{lever}\" ({when}) and on {effects}, so this log does not identify \
         the effect of setting the lever. To identify it, {}; or give {lack} numbers in the world file, which are then used as they are",
        experiment(lever, always_set, hidden)
    )
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
