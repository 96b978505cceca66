//! Errors of learners over visited states, whose features are computed on demand.

use crate::learn::linear::LinearError;
use crate::learn::{EvidenceError, SessionError};
use crate::world::Action;

/// Errors of a learner over visited states.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum VisitedStatesError {
    /// An error common to all linear learners.
    #[error(transparent)]
    Linear(#[from] LinearError),
    /// A step that cannot be counted.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// A step that does not belong to the running episode.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The world has no features, and one for every pair would be too many.
    #[error(
        "the world has no features, and one for each of its {states} states and causes would be too many; add [features], or give a function"
    )]
    NoFeatures {
        /// States times configurations.
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
        /// The message of the function.
        why: String,
    },
    /// A feature that is not a number.
    #[error("feature {feature} at {place} is {value}, not a finite number")]
    NotFinite {
        /// State and configuration, by name.
        place: String,
        /// Position of the feature, from 1.
        feature: usize,
        /// Its value.
        value: f64,
    },
    /// A feature vector with a norm above 1.
    #[error(
        "the features at {place} have length {norm}, and the definition of a linear MDP allows 1; divide all features by the greatest length there can be"
    )]
    TooLong {
        /// State and configuration, by name.
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
    /// A number of no configuration.
    #[error("there is no cause {cause}: causes are numbered from 0 to {last}")]
    NoCause {
        /// As given.
        cause: usize,
        /// The last configuration.
        last: usize,
    },
    /// A reward outside the world's range.
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
    /// A step without its intervention, although mechanisms are unknown.
    #[error(
        "mechanisms have to be learned here, and the step does not say what was done; give an observation that does, with `did`"
    )]
    NothingDone,
    /// P(c | s, do(a)) exceeds the memory.
    #[error(
        "what interventions set off needs {bytes} bytes, the limit is {limit}; let key variables depend on fewer state factors, or split the levers"
    )]
    Kernel {
        /// Bytes needed.
        bytes: u128,
        /// Bytes allowed.
        limit: u128,
    },
    /// The visited states exceed the memory.
    #[error(
        "{met} states have been met, and their features take {bytes} bytes, the limit is {limit}; play fewer steps, or use fewer features"
    )]
    Full {
        /// Visited states.
        met: usize,
        /// Bytes of their features.
        bytes: u128,
        /// Bytes allowed.
        limit: u128,
    },
}
