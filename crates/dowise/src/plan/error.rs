//! Errors of planning and of exact policy evaluation.

use crate::kernel::KernelError;

/// Why planning fails.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// P(c | s, do(a)) cannot be computed.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The states are not enumerable, and a plan has an entry for each.
    #[error(
        "a plan has an entry for each of {n_states} states at each of {horizon} stages, more than can be enumerated; \
         `dowise learn` learns in this world from the states that it meets, and evaluates by Monte Carlo"
    )]
    NotEnumerable {
        /// Number of states.
        n_states: usize,
        /// Number of stages.
        horizon: usize,
    },
    /// A parameter that the plan needs is unknown.
    #[error("{what} of {} is not given, so there is nothing to plan with; write it into the world file, estimate it with `dowise fit`, or let a learner find out with `dowise learn`", .names.join(", "))]
    Unknown {
        /// "the next value" or "the reward".
        what: &'static str,
        /// Names as in the file.
        names: Vec<String>,
    },
    /// The tables of a plan would not fit into memory.
    #[error(
        "a plan needs {bytes} bytes for {n_states} states and {n_causes} causes, the limit is {limit}; {}reduce state factors or key variables, or plan where there is more memory",
        .part.as_ref().map_or(String::new(), |part| format!("it cannot be made by components, since {part} act together; "))
    )]
    TooLarge {
        /// Bytes needed.
        bytes: u128,
        /// Number of states.
        n_states: usize,
        /// Number of joint key values.
        n_causes: usize,
        /// Bytes allowed.
        limit: u128,
        /// The key variables of a component that is too large, with their joint values, if there are many.
        part: Option<String>,
    },
    /// A policy for another world.
    #[error("the policy has {found} entries, this world needs {expected} (one per stage and state)")]
    PolicySize {
        /// Entries given.
        found: usize,
        /// Entries needed.
        expected: usize,
    },
    /// A stochastic policy whose numbers are not probabilities.
    #[error(
        "at stage {stage} in state {state} the policy's probabilities are not numbers from 0 on that sum to 1 (sum {sum})"
    )]
    PolicyNotRandom {
        /// Stage, from 1.
        stage: usize,
        /// State index.
        state: usize,
        /// Their sum.
        sum: f64,
    },
    /// The policy's value differs from the plan's value: rewards or costs differ too much in size for double precision.
    #[error(
        "at stage {stage} in state {state} the plan says {said}, but its policy is worth {worth}: rewards or costs are too far apart to be added up; `dowise check` names them"
    )]
    NotWorth {
        /// Stage, from 1.
        stage: usize,
        /// State index.
        state: usize,
        /// The plan's value.
        said: f64,
        /// The value of its policy.
        worth: f64,
    },
    /// A decomposed plan that is not optimal.
    #[error(
        "at stage {stage} in state {state} the plan's intervention is worth {worth}, but another one {better}: rewards or costs are too far apart to be compared; `dowise check` names them"
    )]
    NotBest {
        /// Stage, from 1.
        stage: usize,
        /// State index.
        state: usize,
        /// Value of the plan's intervention.
        worth: f64,
        /// Value of another intervention that differs in the levers of one group.
        better: f64,
    },
    /// A policy with an intervention that is not allowed in its state.
    #[error("at stage {stage} in state {state} the policy's intervention is not allowed there")]
    PolicyNotAllowed {
        /// Stage, from 1.
        stage: usize,
        /// State index.
        state: usize,
    },
}
