//! What a policy would have been worth, from a log: by the model, guaranteed, and as a check that trusts the model less.

mod behaviour;
mod calibration;
mod interval;
mod model;
mod model_error;
mod robust;
mod start;
mod support;
#[cfg(test)]
mod tests;

pub use behaviour::Return;
pub use calibration::{Bin, Calibration, Variable, calibrate};
pub use interval::Interval;
pub use robust::Robust;
pub use start::Starts;
pub use support::{Support, Unsupported};

pub(crate) use behaviour::possible;
pub(crate) use interval::moments;
pub(crate) use model::{Followed, Model};
pub(crate) use start::StartStates;

use std::ops::RangeInclusive;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use self::behaviour::Behaviour;
use super::{Episodes, LogSummary};
use crate::learn::{Estimator, Evidence, LearnError, LearnResult, Sets};
use crate::offline::assumptions::{self, Assumption};
use crate::plan::{PlanError, check_policy};
use crate::random::splitmix64;
use crate::world::{Action, Start};

/// How a log is read.
#[derive(Clone, Debug, PartialEq)]
pub struct OfflineOptions {
    /// Weight of the prior in visits, shared equally by the values of a row.
    pub prior: f64,
    /// Probability with which the guaranteed bounds, all together, may fail (δ).
    pub delta: f64,
    /// Samples of the posterior, from 40 to 1,000,000.
    pub samples: u32,
    /// Simulated episodes in the model to see where a policy leads.
    pub played: u32,
    /// Seed of the samples and of those episodes.
    pub seed: u64,
    /// Where episodes start.
    pub starts: Starts,
}

impl Default for OfflineOptions {
    fn default() -> Self {
        OfflineOptions { prior: 2.0, delta: 0.05, samples: 400, played: 10_000, seed: 0, starts: Starts::Log }
    }
}

/// Weight of a prior that leaves frequencies as they are, and makes all values alike where nothing was seen. Mechanisms with a form are
/// read with [wide priors](Model::with_wide_forms) beside it.
const FREQUENCIES: f64 = 1e-9;

/// Samples that an interval may be made of: with fewer than 40 there is none beyond its ends on either side, and more than a million
/// cannot make it better that anybody would see.
const SAMPLES: RangeInclusive<u32> = 40..=1_000_000;

/// Times that a log is completed in which something is missing: what samples of the posterior are drawn from.
const COMPLETED: usize = 40;

/// Shares of δ: of the confidence sets, of where episodes start, and of what the log's episodes returned.
const OF_SETS: f64 = 0.8;
const OF_STARTS: f64 = 0.1;
const OF_RETURNS: f64 = 0.1;

/// What something is worth by the model that a log gives.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct OfflineValue {
    /// By the posterior mean of every row.
    pub mean: f64,
    /// The middle 95 % of the posterior, where episodes start included: with the prior, without it, and what is between them, as far
    /// as rewards and costs allow.
    ///
    /// A prior pulls every row towards the middle. Where a policy picks rows that are better than most, these pulls have one direction and
    /// add up, while the posterior's width averages out; so the interval holds for every weight of the prior from none on.
    pub posterior: Interval,
    /// By how much the prior moves the mean: what frequencies alone say is the mean less this.
    pub by_prior: f64,
}

/// What the behaviour policy is worth.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Logged {
    /// By what their episodes returned; `None` if no episode is complete.
    pub returns: Option<Return>,
    /// By the model, with the causes that they set off in each state; `None` where only what a log came to is there, not its steps.
    pub model: Option<OfflineValue>,
}

impl Logged {
    /// Whether the model gives the logged returns: intervals of 95 % that overlap. So where one of them is not there.
    pub fn agree(&self) -> bool {
        let overlap = |a: Interval, b: Interval| a.low <= b.high && b.low <= a.high;
        self.model.zip(self.returns).is_none_or(|(model, returns)| overlap(model.posterior, returns.normal))
    }
}

/// What a policy is worth.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Evaluation {
    /// By the model.
    pub model: OfflineValue,
    /// By the worst and the optimistic members of the confidence sets: bounds that hold with probability 1 − δ, all together. `None` where key variables that were not
    /// recorded are expected from the rest of the step: nothing is guaranteed of those.
    pub guaranteed: Option<Interval>,
    /// How much of that, on either side, is for where episodes start.
    pub for_starts: f64,
    /// As a check; `None` if there are fewer than two episodes, or where key variables that were not recorded are expected: ratios need them in every step.
    pub robust: Option<Robust>,
    /// Whoever was logged.
    pub logged: Logged,
    /// Whether the log says what the policy needs to know.
    pub support: Support,
    /// What all of this rests on, and how it came out against the log.
    pub assumptions: Vec<Assumption>,
}

/// Why a log cannot be evaluated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OfflineError {
    /// The model cannot be made.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// The policy is not one of this world.
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

/// What a policy (`[stage][state]`) is worth, from a log.
///
/// * By the model: the posterior mean of every row, and the middle 95 % of samples of the posterior.
/// * Guaranteed: the worst and the optimistic member of every row's confidence set, at every stage and state the worst (best) for what
///   follows. With probability 1 − δ the true value is between them, whatever the policy and however the log was made, as long as
///   the graph is right.
/// * Doubly robust: see [`Robust`].
///
/// # Cost
/// 2 samples + 2 (folds + 3) times H look aheads (once the samples where mechanisms are known); memory: the steps of the log, and four models.
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
    let logged = logged(log, &model, &behaviour, &starts, options)?;
    let support = support_of(&model, policy_hs, &starts, options);
    let mut record = assumptions::of_log(log, &logged);
    record.push(assumptions::overlap(&support));
    Ok(Evaluation {
        model: by_model(&model, who, &starts, options)?,
        guaranteed,
        for_starts: for_starts.unwrap_or(0.0),
        robust,
        logged,
        support,
        assumptions: record,
    })
}

/// What the behaviour policy is worth.
pub fn evaluate_logged(log: &Episodes, options: &OfflineOptions) -> Result<Logged, OfflineError> {
    let starts = start_states(log, &options.starts)?;
    let model = model_of(log.summary(), options)?;
    Ok(logged_of(log, &model, &starts, options)?)
}

/// A model of all that was seen, whose confidence sets take their share of δ.
pub(crate) fn model_of(counted: LogSummary, options: &OfflineOptions) -> LearnResult<Model> {
    check(options)?;
    let completed = counted.completed(options.prior, COMPLETED, options.seed);
    Model::completed(counted, completed, options.delta * OF_SETS)
}

/// Where the episodes start that evidence was counted in: as it was visited at the first stage, or as is given.
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

pub(crate) fn logged_of(
    log: &Episodes,
    model: &Model,
    starts: &StartStates,
    options: &OfflineOptions,
) -> LearnResult<Logged> {
    logged(log, model, &Behaviour::new(log, model.expected()), starts, options)
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

/// The probability with which the bounds of what the log's episodes returned may fail.
pub(crate) fn of_returns(options: &OfflineOptions) -> f64 {
    options.delta * OF_RETURNS
}

pub(crate) fn start_states(log: &Episodes, starts: &Starts) -> Result<StartStates, OfflineError> {
    match starts {
        Starts::Given(start) if *start == Start::States(Vec::new()) => Err(OfflineError::NoWorldStart),
        Starts::Log | Starts::Given(_) => StartStates::new(log, starts).ok_or(OfflineError::NoStart),
    }
}

/// Mean and posterior of whoever is followed.
pub(crate) fn by_model(
    model: &Model,
    who: Followed<'_>,
    starts: &StartStates,
    options: &OfflineOptions,
) -> LearnResult<OfflineValue> {
    let prior = options.prior;
    let mean = starts.mean(&model.value(Estimator::Mean { prior }, who)?);
    let mut samples = Vec::with_capacity(options.samples as usize);
    // Samples of each completed log, or all of the one that there is.
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
                // They are known by what they did in the log, which is a sample.
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
    // Where rows were never seen the prior moves the value by much, and stretching knows no bounds.
    let knowledge = &model.view().knowledge;
    let possible = behaviour::possible(knowledge, knowledge.horizon());
    let posterior = Interval::of_samples(&mut samples).stretched(-by_prior).clipped(possible);
    Ok(OfflineValue { mean, posterior, by_prior })
}

/// The bounds of a policy by the worst and the optimistic members of all sets, and how much of them is for where episodes start. They
/// are never beyond what rewards and costs allow. `None` where something was expected that was not recorded.
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
    let low_s = &model.value(Estimator::Pessimistic(Sets::Mixture), who)?[..n];
    let high_s = &model.value(Estimator::Optimistic(Sets::Mixture), who)?[..n];
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
