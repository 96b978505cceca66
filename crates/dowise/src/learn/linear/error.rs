//! Errors of features and of the construction of linear learners.

use crate::kernel::KernelError;
use crate::learn::LearnError;
use crate::world::Unsupported;

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
         divide all features by {longest}, or ask for them to be scaled"
    )]
    TooLong {
        /// The combination of state and configuration.
        place: String,
        /// Length there.
        norm: f64,
        /// Greatest length anywhere.
        longest: f64,
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

/// Errors of the construction of a linear learner.
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
