//! Tipping points of missing values: how far missing payments, and what followed unrecorded next states, may differ from
//! the recorded ones before a comparison with the behaviour policy would be wrong.

use serde::Serialize;

use super::behaviour::Behaviour;
use super::model::{Followed, Model};
use super::sensitivity::Claim;
use super::start::StartStates;
use super::stops::Stops;
use crate::learn::{Estimator, LearnResult};
use crate::offline::Episodes;
use crate::offline::unrecorded::Fill;
use crate::world::Action;

/// Halvings of the interval that contains a tipping point.
const HALVINGS: usize = 12;

/// What is missing in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lacking {
    /// Payments that have to be learned: their amounts.
    Payments,
    /// What followed where episodes stopped before the horizon: reward, net of costs, per remaining stage. Where the next
    /// state was recorded, only if stopping depends on what happened.
    NextStates,
    /// Learned rewards of combinations that no logged step shows.
    UnseenRewards,
}

/// How far missing values may differ from recorded ones.
///
/// Missing payments move in proportion from what the model expects in each row to one end of the range. What followed
/// an unrecorded next state moves from the policy's mean reward per stage to the least or greatest possible one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TippingPoint {
    /// What is missing.
    pub of: Lacking,
    /// Mean of the recorded values; for next states, the policy's mean reward per stage by the model.
    pub recorded: f64,
    /// Mean that the missing values have if they are missing at random.
    pub expected: f64,
    /// The comparison holds as long as the missing values average at least this; `None`: down to the least possible.
    pub at_least: Option<f64>,
    /// The comparison holds as long as the missing values average at most this; `None`: up to the greatest possible.
    pub at_most: Option<f64>,
    /// The least and the greatest possible mean.
    pub range: [f64; 2],
}

/// The tipping points of what is missing, for "better (or worse) than the behaviour policy" by the model's mean.
///
/// # Cost
/// At most 13 models with two policy evaluations each, for each end.
pub(crate) fn tipping_points(
    (log, model, behaviour): (&Episodes, &Model, &Behaviour),
    (policy_hs, value): (&[Action], f64),
    claim: Claim,
    starts: &StartStates,
    prior: f64,
) -> LearnResult<Vec<TippingPoint>> {
    let mean = Estimator::Mean { prior };
    let holds = |model: &Model| -> LearnResult<bool> {
        let policy = starts.mean(&model.value(mean, Followed::Policy(policy_hs))?);
        Ok(claim.holds(policy - starts.mean(&model.value(mean, Followed::Logged(behaviour))?)))
    };
    let mut out = Vec::new();
    let unrecorded = log.unrecorded();
    if unrecorded.lacks_payments() && model.expected().is_none() {
        let average = |end: Fill, part: f64| unrecorded.average(model.evidence(), end, part);
        let tipping = |end: Fill| -> LearnResult<Option<f64>> {
            let found = tipping(|part| holds(&model.with_part_of_payments(unrecorded, end, part)?))?;
            Ok(found.map(|part| average(end, part)))
        };
        out.push(TippingPoint {
            of: Lacking::Payments,
            recorded: unrecorded.recorded(model.evidence()),
            expected: average(Fill::Least, 0.0),
            at_least: tipping(Fill::Least)?,
            at_most: tipping(Fill::Greatest)?,
            range: [Fill::Least, Fill::Greatest].map(|end| average(end, 1.0)),
        });
    }
    let per_stage = value / log.knowledge().world().horizon() as f64;
    if log.censoring().depends_on.is_some() {
        out.extend(Stops::new(log, model, starts, prior).map(|stops| stops.tipping_point(policy_hs, per_stage, claim)));
    } else if !unrecorded.dropped().is_empty() {
        let range = log.continuations();
        let shares = log.share_dropped();
        let tipping = |end: f64| -> LearnResult<Option<f64>> {
            let at = |part: f64| per_stage + part * (end - per_stage);
            let found = tipping(|part| {
                let lost = (per_stage - at(part)) * unrecorded.stages_left();
                holds(&model.with_less(&shares.iter().map(|share| share * lost).collect::<Vec<_>>())?)
            })?;
            Ok(found.map(at))
        };
        out.push(TippingPoint {
            of: Lacking::NextStates,
            recorded: per_stage,
            expected: per_stage,
            // The policy's mean per stage can be at an end already.
            at_least: if range[0] < per_stage { tipping(range[0])? } else { None },
            at_most: if range[1] > per_stage { tipping(range[1])? } else { None },
            range,
        });
    }
    out.extend(unseen_rewards(model, claim, &holds)?);
    Ok(out)
}

/// The tipping point of learned rewards without data, which move from their terms' means to the end that would overturn
/// the comparison; `None` if there are none, or if they do not matter.
fn unseen_rewards(
    model: &Model,
    claim: Claim,
    holds: &impl Fn(&Model) -> LearnResult<bool>,
) -> LearnResult<Option<TippingPoint>> {
    let end = match claim {
        Claim::Better => Fill::Least,
        Claim::Worse => Fill::Greatest,
    };
    let Some(unseen) = model.unseen_rewards(end) else { return Ok(None) };
    let found = tipping(|part| {
        let less: Vec<f64> = unseen.less_sc.iter().map(|less| part * less).collect();
        holds(&model.with_less(&less)?)
    })?;
    let [expected, least, greatest] = unseen.means;
    let at = found.map(|part| expected + part * (if end == Fill::Least { least } else { greatest } - expected));
    let [at_least, at_most] = if end == Fill::Least { [at, None] } else { [None, at] };
    let range = [least, greatest];
    let point = TippingPoint { of: Lacking::UnseenRewards, recorded: expected, expected, at_least, at_most, range };
    Ok(at.map(|_| point))
}

/// The greatest part of the way, from 0 to 1, on which something holds; `None` if it holds on all of it.
fn tipping(holds: impl Fn(f64) -> LearnResult<bool>) -> LearnResult<Option<f64>> {
    if holds(1.0)? {
        return Ok(None);
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if holds(middle)? { low = middle } else { high = middle }
    }
    Ok(Some(low))
}
