//! Off-policy evaluation from a log: model-based value, guaranteed bounds, and a doubly robust estimate as a check.

mod behaviour;
mod calibration;
mod extrapolation;
mod interval;
mod missing;
mod model;
mod model_error;
mod outcomes;
mod robust;
mod sensitivity;
mod start;
mod stops;
mod support;
#[cfg(test)]
mod tests;

pub use behaviour::Return;
pub use calibration::{Bin, Calibration, Variable, calibrate};
pub use extrapolation::{Extrapolation, RestsOn};
pub use interval::Interval;
pub use missing::{Lacking, TippingPoint};
pub use outcomes::{OutcomeCheck, Shortfall};
pub use robust::Robust;
pub use sensitivity::{Benchmark, Claim, Sensitivity};
pub use start::Starts;
pub use support::{Support, Unsupported};

pub(crate) use behaviour::{Behaviour, possible};
pub(crate) use extrapolation::{Projection, extrapolation};
pub(crate) use interval::moments;
pub(crate) use missing::tipping_points;
pub(crate) use model::{Followed, Model};
pub(crate) use outcomes::outcome_check;
pub(crate) use sensitivity::{Difference, sensitivity};
pub(crate) use start::StartStates;

use std::ops::RangeInclusive;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{Episodes, LogSummary};
use crate::learn::{Estimator, Evidence, LearnError, LearnResult, Sets};
use crate::offline::assumptions::{self, AssumptionRecord};
use crate::plan::{PlanError, check_policy};
use crate::random::splitmix64;
use crate::world::{Action, Start};

/// Options of off-policy evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct OfflineOptions {
    /// Prior weight in visits, shared equally by the values of a row.
    pub prior: f64,
    /// Probability that any guaranteed bound fails (δ).
    pub delta: f64,
    /// Posterior samples, from 40 to 1,000,000.
    pub samples: u32,
    /// Episodes simulated in the model to find the states that a policy reaches.
    pub played: u32,
    /// Seed of the samples and of those episodes.
    pub seed: u64,
    /// The initial-state distribution.
    pub starts: Starts,
}

impl Default for OfflineOptions {
    fn default() -> Self {
        OfflineOptions { prior: 2.0, delta: 0.05, samples: 400, played: 10_000, seed: 0, starts: Starts::Log }
    }
}

/// Prior weight that leaves frequencies unchanged and makes unvisited rows uniform. Mechanisms with a form take [wide
/// priors](Model::with_wide_forms) with it.
const FREQUENCIES: f64 = 1e-9;

/// Permitted numbers of posterior samples: fewer than 40 leave none outside a 95 % interval, more than a million gain
/// nothing.
const SAMPLES: RangeInclusive<u32> = 40..=1_000_000;

/// Imputed copies of a log with missing values, from which posterior samples are drawn.
const COMPLETED: usize = 40;

/// Shares of δ: confidence sets, initial states, logged returns.
const OF_SETS: f64 = 0.8;
const OF_STARTS: f64 = 0.1;
const OF_RETURNS: f64 = 0.1;

/// A value under the fitted model.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct OfflineValue {
    /// Value under the posterior mean.
    pub mean: f64,
    /// Central 95 % of the posterior, including initial states: the hull of the intervals with and without the prior,
    /// clipped to possible returns.
    ///
    /// A prior shrinks every row. A policy that selects good rows is shrunk in one direction, and these biases add up
    /// while posterior errors average out. The interval therefore covers every prior weight from zero on.
    pub posterior: Interval,
    /// Shift of the mean due to the prior: the value under plain frequencies is the mean less this.
    pub by_prior: f64,
}

/// The value of the behaviour policy.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Logged {
    /// From logged returns; `None` if no episode is complete.
    pub returns: Option<Return>,
    /// From the model, with the empirical joint key values of each state; `None` if only a log's summary is available.
    pub model: Option<OfflineValue>,
}

impl Logged {
    /// Whether the model reproduces the logged returns: the 95 % intervals overlap. True if either is missing.
    pub fn agree(&self) -> bool {
        let overlap = |a: Interval, b: Interval| a.low <= b.high && b.low <= a.high;
        self.model.zip(self.returns).is_none_or(|(model, returns)| overlap(model.posterior, returns.normal))
    }
}

/// The value of a policy.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Evaluation {
    /// Under the model.
    pub model: OfflineValue,
    /// Bounds from the pessimistic and optimistic estimates; all hold together with probability 1 − δ. `None` if EM
    /// imputes missing key variables, for which nothing is guaranteed.
    pub guaranteed: Option<Interval>,
    /// The part of these bounds, on either side, that is due to initial states.
    pub for_starts: f64,
    /// Doubly robust estimate; `None` with fewer than two episodes, or if EM imputes key variables, since importance
    /// ratios need them.
    pub robust: Option<Robust>,
    /// The behaviour policy.
    pub logged: Logged,
    /// Whether the log covers the rows that the policy needs (overlap).
    pub support: Support,
    /// Posterior (95 %) of its value less that of the behaviour policy, world by world.
    pub difference: Interval,
    /// How strong an unrecorded cause of the logged interventions has to be to overturn "better (or worse) than the
    /// behaviour policy"; `None` if an assumption failed, or if every lever was randomised.
    pub sensitivity: Option<Sensitivity>,
    /// How far missing values may differ from recorded ones before this could be overturned; empty if none is missing
    /// or an assumption failed.
    pub tipping_points: Vec<TippingPoint>,
    /// The assumptions behind these values, and whether the log contradicts them.
    #[serde(flatten)]
    pub record: AssumptionRecord,
}

impl Evaluation {
    /// Whether the policy is better or worse than the behaviour policy by the model; `None` if that has no value.
    pub fn claim(&self) -> Option<Claim> {
        self.logged.model.map(|today| Claim::of(self.model.mean - today.mean))
    }
}

/// Why off-policy evaluation fails.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OfflineError {
    /// The model cannot be built.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// The policy does not fit this world.
    #[error(transparent)]
    Policy(#[from] PlanError),
    /// No episode begins at the first stage.
    #[error(
        "no episode of the log begins at stage 1, so the log does not say where episodes start; give whole episodes, or take the start of the world"
    )]
    NoStart,
    /// The world has no start.
    #[error("the world does not say where episodes start")]
    NoWorldStart,
}

/// Off-policy evaluation of a policy (`[stage][state]`) from a log.
///
/// * Model: the posterior mean of every row, and the central 95 % of posterior samples.
/// * Guaranteed: the pessimistic and optimistic member of every row's confidence set, chosen at every stage and state
///   against the continuation value. With probability 1 − δ the true value lies between them, for every policy and
///   every behaviour policy, as long as the graph is right.
/// * Doubly robust: see [`Robust`].
///
/// # Cost
/// 2 samples + 2 (folds + 3) times H look-aheads (samples once if mechanisms are known). Memory: the log's steps and
/// four models.
pub fn evaluate(log: &Episodes, policy_hs: &[Action], options: &OfflineOptions) -> Result<Evaluation, OfflineError> {
    let knowledge = log.knowledge();
    check_policy(knowledge.interventions(), knowledge.state_space(), knowledge.horizon(), policy_hs)?;
    let starts = start_states(log, &options.starts)?;
    let model = model_of(log.summary(), options)?;
    let behaviour = Behaviour::new(log, model.expected());
    let who = Followed::Policy(policy_hs);
    let (guaranteed, for_starts) = guaranteed(&model, who, &starts, options)?.unzip();
    let robust = match model.expected() {
        Some(_) => None,
        None => {
            let of_model = robust::OfModel::new(log, &model, policy_hs, &behaviour, &starts, options)?;
            robust::robust(log, policy_hs, &behaviour, &starts, of_model)?
        }
    };
    let (by_model, samples) = sampled(&model, who, &starts, options)?;
    let (today, of_today) = sampled(&model, Followed::Logged(&behaviour), &starts, options)?;
    let difference = paired([&samples, &of_today], [by_model.by_prior, today.by_prior]);
    let logged = Logged { returns: Return::new(log, of_returns(options)), model: Some(today) };
    let support = support_of(&model, policy_hs, &starts, options);
    let mut record = assumptions::of_log(log, &logged);
    let beyond = extrapolation(log, &model, policy_hs, &starts, options.seed);
    record.push(assumptions::overlap(&support, Some(&beyond)));
    record.push(assumptions::outcomes(&outcome_check(log, &model, policy_hs)?));
    let (mut sensitive, mut missing) = (None, Vec::new());
    if record.failed().is_none() {
        let (policy, prior) = (by_model.mean, options.prior);
        let found = Difference { policy: by_model, behaviour: today.mean, interval: difference, prior };
        sensitive = sensitivity(log, &model, policy_hs, &starts, found);
        let claim = Claim::of(policy - today.mean);
        missing = tipping_points((log, &model, &behaviour), (policy_hs, policy), claim, &starts, prior)?;
    }
    Ok(Evaluation {
        model: by_model,
        guaranteed,
        for_starts: for_starts.unwrap_or(0.0),
        robust,
        logged,
        support,
        difference,
        sensitivity: sensitive,
        tipping_points: missing,
        record,
    })
}

/// The central 95 % of the posterior of a policy's value less that of the behaviour policy in the same world, with and
/// without the prior.
pub(crate) fn paired([policy, behaviour]: [&[f64]; 2], [of_policy, of_behaviour]: [f64; 2]) -> Interval {
    let mut differences: Vec<f64> = policy.iter().zip(behaviour).map(|(a, b)| a - b).collect();
    Interval::of_samples(&mut differences).stretched(of_behaviour - of_policy)
}

/// The value of the behaviour policy.
pub fn evaluate_logged(log: &Episodes, options: &OfflineOptions) -> Result<Logged, OfflineError> {
    let starts = start_states(log, &options.starts)?;
    let model = model_of(log.summary(), options)?;
    let behaviour = Behaviour::new(log, model.expected());
    Ok(logged(log, &model, &behaviour, &starts, options)?)
}

/// A model of a log's summary, whose confidence sets take their share of δ.
pub(crate) fn model_of(counted: LogSummary, options: &OfflineOptions) -> LearnResult<Model> {
    check(options)?;
    let completed = counted.completed(options.prior, COMPLETED, options.seed);
    Model::completed(counted, completed, options.delta * OF_SETS)
}

/// The initial states of counted episodes: visits at the first stage, or the given distribution.
pub(crate) fn starts_of(evidence: &Evidence, starts: &Starts) -> Result<StartStates, OfflineError> {
    let states = &evidence.view.layout.state_space;
    match starts {
        Starts::Log => {
            let counts: Vec<f64> = evidence.visits_hs[..states.len()].iter().map(|&n| f64::from(n)).collect();
            StartStates::counted(&counts).ok_or(OfflineError::NoStart)
        }
        Starts::Given(start) if *start == Start::States(Vec::new()) => Err(OfflineError::NoWorldStart),
        Starts::Given(start) => Ok(StartStates::given(start, states)),
    }
}

pub(crate) fn support_of(
    model: &Model,
    policy_hs: &[Action],
    starts: &StartStates,
    options: &OfflineOptions,
) -> Support {
    support::support(model, policy_hs, starts, options.played, options.seed)
}

fn logged(
    log: &Episodes,
    model: &Model,
    behaviour: &Behaviour,
    starts: &StartStates,
    options: &OfflineOptions,
) -> LearnResult<Logged> {
    Ok(Logged {
        returns: Return::new(log, of_returns(options)),
        model: Some(by_model(model, Followed::Logged(behaviour), starts, options)?),
    })
}

/// Share of δ for the bounds on logged returns.
pub(crate) fn of_returns(options: &OfflineOptions) -> f64 {
    options.delta * OF_RETURNS
}

pub(crate) fn start_states(log: &Episodes, starts: &Starts) -> Result<StartStates, OfflineError> {
    match starts {
        Starts::Given(start) if *start == Start::States(Vec::new()) => Err(OfflineError::NoWorldStart),
        Starts::Log | Starts::Given(_) => StartStates::new(log, starts).ok_or(OfflineError::NoStart),
    }
}

/// Posterior mean and interval of the value of a policy or of the behaviour policy.
pub(crate) fn by_model(
    model: &Model,
    who: Followed<'_>,
    starts: &StartStates,
    options: &OfflineOptions,
) -> LearnResult<OfflineValue> {
    Ok(sampled(model, who, starts, options)?.0)
}

/// The same with the posterior samples. Equal positions of two policies are samples of the same world: their
/// differences are paired.
pub(crate) fn sampled(
    model: &Model,
    who: Followed<'_>,
    starts: &StartStates,
    options: &OfflineOptions,
) -> LearnResult<(OfflineValue, Vec<f64>)> {
    let prior = options.prior;
    let mean = starts.mean(&model.value(Estimator::Mean { prior }, who)?);
    let mut samples = Vec::with_capacity(options.samples as usize);
    // Samples are spread over the imputed logs, or all come from the only log.
    let logs = model.expected().map_or(1, |completed| completed.draws.len());
    for log in 0..logs {
        let drawn = model.drawn(log)?;
        let model = drawn.as_ref().unwrap_or(model);
        let mut belief = model.belief(Estimator::Sample { prior });
        for i in (log as u32..options.samples).step_by(logs) {
            let seed = splitmix64(options.seed ^ splitmix64(u64::from(i) ^ 0x6f66_666c));
            let selector = model.draw(&mut belief, seed)?;
            let mut rng = ChaCha8Rng::seed_from_u64(splitmix64(seed ^ 0x7374_6172));
            let value_hs = match who {
                Followed::Policy(_) => model.value_by(&mut belief, &selector, who, |_, _, _, _| {}),
                // The behaviour policy is known only through a sample.
                Followed::Logged(behaviour) => {
                    let mut rng = ChaCha8Rng::seed_from_u64(splitmix64(seed ^ 0x6265_6861));
                    let drawn = behaviour.drawn(&mut rng);
                    model.value_by(&mut belief, &selector, Followed::Logged(&drawn), |_, _, _, _| {})
                }
            };
            samples.push(starts.drawn_mean(&value_hs, &mut rng));
        }
    }
    let wide = model.with_wide_forms()?;
    let by_prior =
        mean - starts.mean(&wide.as_ref().unwrap_or(model).value(Estimator::Mean { prior: FREQUENCIES }, who)?);
    // Unvisited rows let the prior shift the value far, so the stretched interval is clipped.
    let knowledge = &model.view().knowledge;
    let possible = behaviour::possible(knowledge, knowledge.horizon());
    let posterior = Interval::of_samples(&mut samples.clone()).stretched(-by_prior).clipped(possible);
    Ok((OfflineValue { mean, posterior, by_prior }, samples))
}

/// Bounds from the pessimistic and optimistic members of all confidence sets, clipped to possible returns, and the part
/// due to initial states. Missing payments take their least and greatest possible amounts, forms are not used. `None` if
/// EM imputed values.
pub(crate) fn guaranteed(
    model: &Model,
    who: Followed<'_>,
    starts: &StartStates,
    options: &OfflineOptions,
) -> LearnResult<Option<(Interval, f64)>> {
    if model.expected().is_some() {
        return Ok(None);
    }
    let n = model.state_space().len();
    let [least, greatest] = model.bounding();
    let low_s = &least.least_value(who)?[..n];
    let high_s = &greatest.value(Estimator::Optimistic(Sets::Mixture), who)?[..n];
    let off = starts.may_be_off(low_s, high_s, options.delta * OF_STARTS);
    let found = Interval { low: starts.mean(low_s) - off, high: starts.mean(high_s) + off };
    let knowledge = &model.view().knowledge;
    Ok(Some((found.clipped(behaviour::possible(knowledge, knowledge.horizon())), off)))
}

fn check(options: &OfflineOptions) -> LearnResult<()> {
    let wrong = |name, value, expected| Err(LearnError::Option { name, value, expected });
    if !(1e-6..=1e6).contains(&options.prior) {
        return wrong("prior", options.prior, "a weight from 0.000001 to 1000000");
    }
    if !(options.delta > 0.0 && options.delta < 1.0) {
        return wrong("delta", options.delta, "a probability above 0 and below 1");
    }
    if !SAMPLES.contains(&options.samples) {
        return wrong(
            "samples",
            f64::from(options.samples),
            "from 40 to 1000000, since an interval is their middle 95 %",
        );
    }
    Ok(())
}
