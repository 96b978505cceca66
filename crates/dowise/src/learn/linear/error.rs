//! Errors of features and of linear learners.

use crate::kernel::KernelError;
use crate::learn::{EvidenceError, LearnError, SessionError};
use crate::world::{Action, Unsupported};

/// Invalid features.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FeatureError {
    /// No features at all.
    #[error("there are no features: the dimension is 0; give at least one (a constant 1 is the smallest choice)")]
    Empty,
    /// Too many features for the memory.
    #[error(
        "{} features for each of {cells} {} of state and cause need {} bytes, the limit is {limit}; \
         choose fewer (a smaller scope in [features], a lower degree, fewer centres)",
        .dimension.map_or("more than 2^128".to_owned(), |d| d.to_string()),
        if *cells == 1 { "combination" } else { "combinations" },
        .bytes.map_or("more than 2^128".to_owned(), |b| b.to_string())
    )]
    TooLarge {
        /// Number of features (d).
        dimension: Option<u128>,
        /// States times configurations.
        cells: u128,
        /// Bytes they would take.
        bytes: Option<u128>,
        /// Bytes allowed.
        limit: u128,
    },
    /// A feature that is not a number.
    #[error("feature {feature} at {place} is {value}, not a finite number")]
    NotFinite {
        /// The combination of state and configuration.
        place: String,
        /// Position of the feature, from 1.
        feature: usize,
        /// Its value.
        value: f64,
    },
    /// A feature vector with a norm above 1.
    #[error(
        "the features at {place} have length {norm}, and the definition of a linear MDP allows 1; \
         {}",
        .longest.map_or("divide all features by the greatest length there can be".to_owned(), |longest| {
            format!("divide all features by {longest}, or ask for them to be scaled")
        })
    )]
    TooLong {
        /// The combination of state and configuration.
        place: String,
        /// Length there.
        norm: f64,
        /// Greatest length anywhere; `None` if states are not enumerated.
        longest: Option<f64>,
    },
    /// Features from code that failed.
    #[error("the features of the state {state} could not be computed: {why}")]
    Function {
        /// The state, by name.
        state: String,
        /// The message of the function.
        why: String,
    },
    /// The world has no features, and one for every pair would be too many.
    #[error(
        "the world has no features, and one for each of its {states} states and causes would be too many; \
         add [features], or give a function"
    )]
    Missing {
        /// States times configurations.
        states: u128,
    },
    /// An option of a basis outside its range.
    #[error("{name} = {value}: {expected}")]
    Option {
        /// The option.
        name: &'static str,
        /// The given value.
        value: f64,
        /// The allowed values.
        expected: &'static str,
    },
}

/// Errors of a linear learner.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LinearError {
    /// A property of the world that linear learners do not support.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// P(c | s, do(a)) cannot be computed from the known mechanisms.
    #[error("{}", kernel_needed(.0))]
    Kernel(#[from] KernelError),
    /// The unknown part of P(c | s, do(a)) cannot be counted.
    #[error(transparent)]
    Mechanisms(Box<LearnError>),
    /// The features cannot be used.
    #[error(transparent)]
    Features(#[from] FeatureError),
    /// An option outside its range.
    #[error("{name} = {value}: {expected}")]
    Option {
        /// The option.
        name: &'static str,
        /// The given value.
        value: f64,
        /// The allowed values.
        expected: &'static str,
    },
    /// A regression without regularisation, whose design is singular before the first step.
    #[error(
        "lambda = 0: with nothing seen yet the design Σ φφᵀ is singular and has no inverse; \
         use a lambda above 0 (the published learner uses 1)"
    )]
    Singular,
    /// Residual noise requested as a width.
    #[error("beta=residuals is the spread of samples, and this learner adds a width; take c-blsvi or c-rlsvi")]
    ResidualWidth,
    /// Variance weights where they do not apply.
    #[error("weights=variance is for learners that add a width: take c-lsvi-ucb")]
    NoWeights,
    /// Features of another world.
    #[error("the features are for {found} states and causes, this world has {expected}")]
    OtherWorld {
        /// States times configurations of the features.
        found: usize,
        /// States times configurations of the world.
        expected: usize,
    },
    /// Too many interventions to enumerate.
    #[error(
        "there are {count} interventions and regression on interventions lists each of them (limit {most}); \
         regress on causes instead"
    )]
    TooManyActions {
        /// Their number.
        count: u64,
        /// The limit.
        most: u64,
    },
    /// Designs that exceed the memory.
    #[error(
        "with {dimension} features, {designs} designs and {cells} state-cause pairs this learner needs {bytes} bytes, \
         the limit is {limit}; choose fewer features, or share the design between stages"
    )]
    TooLarge {
        /// Number of features (d).
        dimension: usize,
        /// One, or one for each stage.
        designs: usize,
        /// States times configurations (or interventions).
        cells: usize,
        /// Bytes needed.
        bytes: u128,
        /// Bytes allowed.
        limit: u128,
    },
    /// A step that cannot be counted.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// A step that does not belong to the running episode.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A regression on ψ(s, a).
    #[error(
        "lsvi-ucb regresses on ψ(s, a) of every intervention, and needs a list of them and of all states; \
         take c-lsvi-ucb or c-blsvi, which regress on causes"
    )]
    Interventions,
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
        "mechanisms have to be learned here, and the step does not say what was done; \
         give an observation that does, with `did`"
    )]
    NothingDone,
    /// P(c | s, do(a)) exceeds the memory.
    #[error(
        "what interventions set off needs {bytes} bytes, the limit is {limit}; \
         let key variables depend on fewer state factors, or split the levers"
    )]
    KernelTooLarge {
        /// Bytes needed.
        bytes: u128,
        /// Bytes allowed.
        limit: u128,
    },
    /// The visited states exceed the memory.
    #[error(
        "{met} states have been met, and their features take {bytes} bytes, the limit is {limit}; \
         play fewer steps, or use fewer features"
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

/// ψ(s, a) requires known mechanisms.
fn kernel_needed(error: &KernelError) -> String {
    match error {
        KernelError::Unknown { names } => format!(
            "ψ(s, a), which lsvi-ucb regresses on, is made of P(z | s, a), and the mechanism of {} is not known; give it, leave \
             unknown=kernel out, or take c-blsvi or c-lsvi-ucb, which learn it",
            names.join(", ")
        ),
        too_large @ KernelError::TooLarge { .. } => too_large.to_string(),
    }
}

impl From<LearnError> for LinearError {
    fn from(error: LearnError) -> LinearError {
        match error {
            LearnError::Linear(error) => error,
            LearnError::Kernel(error) => error.into(),
            other => LinearError::Mechanisms(Box::new(other)),
        }
    }
}
