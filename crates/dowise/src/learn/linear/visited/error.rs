//! Errors of learners over visited states, whose features are computed on demand.

use crate::learn::linear::LinearError;
use crate::learn::{EvidenceError, SessionError};
use crate::world::Action;

/// Why a learner that works from the states it met cannot be made, or cannot go on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum VisitedStatesError {
    /// What every linear learner asks for.
    #[error(transparent)]
    Linear(#[from] LinearError),
    /// A step that cannot be counted.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// A step that does not belong to the episode being played.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The world has no features, and one for every pair would be too many.
    #[error(
        "the world has no features, and one for each of its {states} states and causes would be too many; add [features], or give a function"
    )]
    NoFeatures {
        /// States times causes.
        states: u128,
    },
    /// A regression on ψ(s, a).
    #[error(
        "lsvi-ucb regresses on ψ(s, a) of every intervention, and needs a list of them and of all states; take c-lsvi-ucb or c-blsvi, which regress on causes"
    )]
    Interventions,
    /// Features from code that failed.
    #[error("the features of the state {state} could not be computed: {why}")]
    Function {
        /// The state, by name.
        state: String,
        /// What the function said.
        why: String,
    },
    /// A feature that is not a number.
    #[error("feature {feature} at {place} is {value}, not a finite number")]
    NotFinite {
        /// State and cause, by name.
        place: String,
        /// Position of the feature, from 1.
        feature: usize,
        /// What it is.
        value: f64,
    },
    /// A vector longer than the definition allows.
    #[error(
        "the features at {place} have length {norm}, and the definition of a linear MDP allows 1; divide all features by the greatest length there can be"
    )]
    TooLong {
        /// State and cause, by name.
        place: String,
        /// Length there.
        norm: f64,
    },
    /// A number that is no state of the world.
    #[error("there is no state {state}: states are numbered from 0 to {last}")]
    NoState {
        /// As given.
        state: usize,
        /// The last state.
        last: usize,
    },
    /// A stage that an episode does not have.
    #[error("there is no stage {stage}: an episode has stages 0 to {last}")]
    NoStage {
        /// As given.
        stage: usize,
        /// The last stage.
        last: usize,
    },
    /// A number that is no cause.
    #[error("there is no cause {cause}: causes are numbered from 0 to {last}")]
    NoCause {
        /// As given.
        cause: usize,
        /// The last cause.
        last: usize,
    },
    /// A reward that the world does not pay.
    #[error("a reward of {reward} is not between {lo} and {hi}, which is the range that the learner was given")]
    Reward {
        /// As given.
        reward: f64,
        /// Least.
        lo: f64,
        /// Greatest.
        hi: f64,
    },
    /// An intervention that is not allowed in its state.
    #[error("intervention {} is not allowed in the state {state}", .action.0)]
    NotAllowed {
        /// The state, by name.
        state: String,
        /// The intervention.
        action: Action,
    },
    /// A step that does not say what was done, where mechanisms have to be learned.
    #[error(
        "mechanisms have to be learned here, and the step does not say what was done; give an observation that does, with `did`"
    )]
    NothingDone,
    /// P(c | s, do(a)) does not fit.
    #[error(
        "what interventions set off needs {bytes} bytes, the limit is {limit}; let key variables depend on fewer state factors, or split the levers"
    )]
    Kernel {
        /// Bytes needed.
        bytes: u128,
        /// Bytes allowed.
        limit: u128,
    },
    /// What was met does not fit.
    #[error(
        "{met} states have been met, and their features take {bytes} bytes, the limit is {limit}; play fewer steps, or use fewer features"
    )]
    Full {
        /// States met.
        met: usize,
        /// Bytes of their features.
        bytes: u128,
        /// Bytes allowed.
        limit: u128,
    },
}
