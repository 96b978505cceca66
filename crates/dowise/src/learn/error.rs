//! Errors of learners' options and construction, with the checks of option values.

use super::options::{Estimate, Forget, Options, Schedule, States, Width};
use crate::kernel::KernelError;
use crate::learn::linear::LinearError;
use crate::plan::PlanError;
use crate::world::Unsupported;

/// Most counters of a learner (4 GiB).
pub(crate) const MOST_CELLS: usize = 1 << 30;

/// Most interventions that a learner without key variables enumerates.
pub(crate) const MOST_ACTIONS: u64 = 1 << 24;

/// Range of prior weights: with less, samples are corners of the simplex; with more, data have no influence.
pub(crate) const PRIORS: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

/// Range of window lengths in episodes.
pub(crate) const WINDOWS: std::ops::RangeInclusive<u64> = 1..=1_000_000_000_000;

/// Errors of the construction of a learner.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LearnError {
    /// P(c | s, do(a)) cannot be computed from the known mechanisms.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A policy that does not fit the world.
    #[error(transparent)]
    Policy(#[from] PlanError),
    /// A property of the world that the request does not support.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
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
    /// A width that does not exist for factored states.
    #[error(
        "the width `{width}` is defined for flat states only; use hoeffding-v, weissman or sets with factored states"
    )]
    FlatOnly {
        /// Its name.
        width: &'static str,
    },
    /// Posterior samples with values that must never rise.
    #[error(
        "values that never rise rest on optimism, and samples are not optimistic; use a width or sets, or another schedule without `monotone`"
    )]
    NotOptimistic,
    /// Too many counters.
    #[error(
        "{what} would have {} counters, the limit is {MOST_CELLS}; use a learner that knows more structure (factors, key variables)",
        .cells.map_or("more than 2^64".to_owned(), |n| n.to_string())
    )]
    TooManyCells {
        /// The counted table.
        what: String,
        /// Their number; `None` if it overflows.
        cells: Option<u128>,
    },
    /// More memory than allowed.
    #[error(
        "this learner needs up to {bytes} bytes, and {limit} may be taken; use a learner that knows more structure (factors, key variables), a smaller world, or a machine with more memory"
    )]
    TooMuchMemory {
        /// Bytes needed at most.
        bytes: u128,
        /// Bytes allowed.
        limit: u64,
    },
    /// More memory than allowed, since all joint key values are enumerated.
    #[error(
        "this learner lists all {causes} joint values of what acts (key variables, and levers that act directly) and needs up to {bytes} bytes for them, \
         and {limit} may be taken: {why}"
    )]
    JointCauses {
        /// Joint values.
        causes: usize,
        /// Bytes needed at most.
        bytes: u128,
        /// Bytes allowed.
        limit: u64,
        /// Why they are enumerated, with advice.
        why: String,
    },
    /// A certificate of a learner with a biased view of the state.
    #[error(
        "nothing can be promised by this view of the state: {why}; use a learner that sees the state whole, such as c-ucbvi"
    )]
    WrongView {
        /// The wrong independence assumption.
        why: String,
    },
    /// An estimator that needs all joint key values, in decomposed planning.
    #[error(
        "this world has too many joint values of its key variables to list, so it is planned by components; widths, greedy readings and plans by the pessimistic members of confidence sets are not there; ask for posterior samples, means, the plan by optimistic members, or what a given policy is worth by best or pessimistic members"
    )]
    Decomposed,
    /// A component is too large for confidence sets.
    #[error(
        "this world is planned by components, and one of its parts leaves too much open for confidence sets, on which certificates rest; split it (fewer key variables behind one next value or reward term), or give its levers fewer values"
    )]
    ComponentTooUncertain,
    /// Too many interventions to enumerate.
    #[error(
        "there are {count} interventions and this learner counts each of them (limit {MOST_ACTIONS}); use one that knows the key variables"
    )]
    TooManyActions {
        /// Their number.
        count: u64,
    },
    /// Graph repair does not support this learner.
    #[error(
        "a guard tests what key variables stand for: it needs a learner with key variables and counts shared by all stages"
    )]
    NothingToGuard,
    /// A linear learner cannot be constructed.
    #[error(transparent)]
    Linear(#[from] LinearError),
    /// Options of a linear learner.
    #[error("a learner that counts cannot regress on features; make it by name, or as a LinearLearner")]
    NotLinear,
    /// Evidence with another view.
    #[error(
        "the evidence was counted for other states, causes or stages than the options say; make it with the same options"
    )]
    OtherEvidence,
    /// Graph repair of a learner that starts with evidence.
    #[error(
        "a guard counts every step again where it changes the graph, so it cannot begin with evidence that others have counted; let the learner take the steps in one by one"
    )]
    GuardNeedsSteps,
    /// A guarantee for stationary worlds, requested of a learner that forgets.
    #[error("{what} of a learner that forgets: {why}")]
    Forgets {
        /// The request.
        what: &'static str,
        /// The reason, with advice.
        why: &'static str,
    },
    /// An invalid baseline.
    #[error("this baseline cannot be kept to: {why}")]
    Baseline {
        /// The reason, with advice.
        why: String,
    },
    /// A request that only tabular learners support.
    #[error("a learner that regresses on features keeps no tables that could be read by another rule or certified")]
    NoTables,
    /// The mean effect of interventions at random is not known.
    #[error(
        "a share of the way from random to optimal needs the value of interventions at random, which cannot be computed: {why}; ask for a \
         gap in rewards, such as 0.2, instead of a share"
    )]
    NoShare {
        /// The reason.
        why: &'static str,
    },
    /// A state factor that the world does not have.
    #[error("there is no state factor `{factor}`{}; there are {}", .nearest.as_ref().map_or(String::new(), |n| format!(", did you mean `{n}`?")), .factors.join(", "))]
    NoFactor {
        /// As given.
        factor: String,
        /// The nearest name, if one is near.
        nearest: Option<String>,
        /// All of them.
        factors: Vec<String>,
    },
    /// A transition that is to be given, but the world does not give it.
    #[error("the next value of {factor} is not given in the world, so it cannot be given to a learner")]
    NotGiven {
        /// The state factor.
        factor: String,
    },
    /// A known transition for a learner that sees the state whole.
    #[error(
        "the next value of {factor} is known, but this learner sees the state whole; use one that sees factors (graph-…, cf-…, f-…), or do not tell it"
    )]
    KnownNeedsFactors {
        /// The state factor.
        factor: String,
    },
    /// A world that names the stage, for a learner that sees the state whole.
    #[error(
        "this world names `{factor}`, a state factor that everybody knows and that a learner which sees the state whole cannot know apart \
         from the rest; use one that sees factors (graph-…, cf-…, f-…)"
    )]
    StageNeedsFactors {
        /// The state factor that counts the steps.
        factor: String,
    },
    /// A known transition that depends on key variables, for a learner that knows nothing of them.
    #[error(
        "the next value of {factor} is known given key variables, and this learner knows only interventions; use one with key variables, or do not tell it"
    )]
    KnownNeedsKeys {
        /// The state factor.
        factor: String,
    },
    /// A hidden variable acts on a lever left alone and on a key variable.
    #[error(
        "the lever {lever} is moved by something unobserved when left alone, so what is seen then says nothing about setting it; \
         give the mechanisms, or allow only interventions that set it"
    )]
    Confounded {
        /// The lever.
        lever: String,
    },
    /// A mechanism with a form that has too many parameters.
    #[error(
        "learning the mechanism of \"{variable}\" in its form, or behind a hidden variable, takes {parameters} parameters, the limit is {limit}; \
         give it fewer parents or values, or name fewer interactions, or learn each row by itself (forms=false, and no guess behind a hidden variable)"
    )]
    TooManyParameters {
        /// The variable.
        variable: String,
        /// Parameters.
        parameters: usize,
        /// Most parameters that are fitted.
        limit: usize,
    },
    /// A mechanism with a form behind hidden variables with too many values.
    #[error(
        "to marginalise out the hidden variables behind \"{variable}\" takes {} terms, the limit is {limit}; \
         give them fewer values or it fewer parents, or learn each row by itself (forms=false)",
        .terms.map_or("more than 2^64".to_owned(), |n| n.to_string())
    )]
    TooManyTerms {
        /// The variable.
        variable: String,
        /// Joint values of observed and hidden variables.
        terms: Option<usize>,
        /// Most that are summed.
        limit: usize,
    },
}

pub(crate) type LearnResult<T> = Result<T, LearnError>;

/// Whether a probability of failing is one.
pub(super) fn check_delta(delta: f64) -> LearnResult<()> {
    if delta > 0.0 && delta < 1.0 {
        return Ok(());
    }
    let expected = "delta is a probability between 0 and 1, neither included";
    Err(LearnError::Option { name: "delta", value: delta, expected })
}

/// Whether every option is in its range and fits the others.
pub(super) fn check(options: &Options) -> LearnResult<()> {
    let bad = |name, value, expected| Err(LearnError::Option { name, value, expected });
    if !(0.0..=1e100).contains(&options.scale) {
        return bad("scale", options.scale, "a width's scale is a number from 0 to 1e100");
    }
    check_delta(options.delta)?;
    if options.episodes == 0 {
        return bad("episodes", 0.0, "at least one episode");
    }
    check_forget(options)?;
    match options.estimate {
        Estimate::Linear => Err(LearnError::NotLinear),
        Estimate::Posterior { prior } if !PRIORS.contains(&prior) => {
            bad("prior", prior, "a prior weight is a number from 1e-6 to 1e6")
        }
        // The least of many samples is far too low, and nothing would ever correct it.
        Estimate::Posterior { .. } if options.monotone || options.schedule == Schedule::Visited => {
            Err(LearnError::NotOptimistic)
        }
        Estimate::EpsilonGreedy { epsilon } if !(0.0..=1.0).contains(&epsilon) => {
            bad("epsilon", epsilon, "epsilon is a probability between 0 and 1")
        }
        Estimate::Width(Width::Bernstein) if options.states == States::Factored => {
            Err(LearnError::FlatOnly { width: "bernstein" })
        }
        Estimate::Width(Width::AzarBernstein) if options.states == States::Factored => {
            Err(LearnError::FlatOnly { width: "azar-bernstein" })
        }
        Estimate::Width(_)
        | Estimate::Sets(_)
        | Estimate::Posterior { .. }
        | Estimate::Greedy
        | Estimate::EpsilonGreedy { .. }
        | Estimate::Uniform => Ok(()),
    }
}

/// Whether what is forgotten is in its range and fits the other options.
fn check_forget(options: &Options) -> LearnResult<()> {
    let forgets = |what, why| Err(LearnError::Forgets { what, why });
    let by_age = match options.forget {
        Forget::Never => return Ok(()),
        Forget::Reset => false,
        Forget::Window { episodes } if !WINDOWS.contains(&episodes) => {
            let expected = "a window is from 1 to 1e12 episodes long";
            return Err(LearnError::Option { name: "forget=window", value: episodes as f64, expected });
        }
        Forget::Discount { share } if !(share > 0.0 && share < 1.0) => {
            let expected = "the share that is remembered is between 0 and 1, neither included";
            return Err(LearnError::Option { name: "forget=discount", value: share, expected });
        }
        Forget::Window { .. } | Forget::Discount { .. } => true,
    };
    if options.guard {
        return forgets(
            "a guard",
            "it takes every difference between steps for a wrong arrow; leave guard=true or forget out",
        );
    }
    if options.monotone || options.schedule == Schedule::Visited {
        let why = "what was forgotten has to raise values again; leave monotone=true and schedule=visited out";
        return forgets("values that never rise", why);
    }
    match options.schedule {
        Schedule::Doubling | Schedule::Growing if by_age => {
            let why =
                "visits do not grow for ever where they are forgotten by age; use schedule=episode, or forget=reset";
            let what = if options.schedule == Schedule::Growing { "schedule=growing" } else { "schedule=doubling" };
            forgets(what, why)
        }
        Schedule::Episode | Schedule::Doubling | Schedule::Growing | Schedule::Visited => Ok(()),
    }
}
