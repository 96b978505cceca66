//! What episodes paid, over time, and what the policy and the baseline are expected to pay.

use std::collections::BTreeMap;

use dowise::learn::{Estimator, Evidence, LearnError};
use dowise::world::{Kind, VarId};
use serde::Serialize;
use serde_json::{Value, json};

use super::{Past, bins, mean};
use crate::served::{Explores, Served};
use crate::snapshot::Snapshot;
use crate::step::Step;

/// Posterior samples behind an interval.
const SAMPLES: u64 = 20;

/// What one step paid, its cost taken off: as observed, or by what the learner knows; `None` if that is not known.
pub(crate) fn paid(served: &Served, step: &Step) -> Option<f64> {
    let (knowledge, parts) = (&served.knowledge, &step.parts);
    let all = knowledge.interventions();
    let action = parts.did.unwrap_or(step.action);
    let digits = knowledge.state_space().digits(step.state);
    let place = |ids: &[VarId], id: VarId| ids.iter().position(|&other| other == id);
    let value = |id: VarId| match knowledge.variable(id).kind {
        Kind::State => Some(digits[place(knowledge.state(), id)?]),
        Kind::Key => parts.keys[place(knowledge.keys(), id)?],
        Kind::Lever => {
            let lever = place(knowledge.levers(), id)?;
            all.lever(action, lever).or(parts.levers[lever])
        }
        Kind::Hidden => None,
    };
    let mut total = -all.cost(action);
    for (term, observed) in knowledge.rewards().iter().zip(&parts.rewards) {
        total += match (observed, &term.table) {
            (Some(paid), _) => *paid,
            (None, None) => return None,
            (None, Some(table)) => {
                let mut row = 0;
                for &id in &term.scope {
                    row = row * knowledge.variable(id).size() + value(id)?;
                }
                for &id in &term.next {
                    let next = knowledge.state_space().digit(parts.next?, place(knowledge.state(), id)?);
                    row = row * knowledge.variable(id).size() + next;
                }
                table[row]
            }
        };
    }
    Some(total)
}

/// An episode that was observed to its end: when it began, in which state, and what it paid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole {
    pub(crate) at: u64,
    pub(crate) state: usize,
    pub(crate) paid: f64,
}

/// The episodes of a window that were observed to their ends, in the order of their first decisions.
pub(crate) fn episodes(served: &Served, past: &[Past]) -> Vec<Whole> {
    let mut steps: BTreeMap<&str, Vec<&Past>> = BTreeMap::new();
    for one in past {
        steps.entry(&one.step.episode).or_default().push(one);
    }
    let horizon = served.world.horizon();
    let whole = |steps: &Vec<&Past>| {
        let ended = steps.len() == horizon || steps.last()?.step.parts.done;
        let all_there = steps.iter().enumerate().all(|(i, one)| one.step.stage == i);
        let weights = std::iter::successors(Some(1.0), |w| Some(w * served.world.discount()));
        let paid: Option<f64> = steps.iter().zip(weights).map(|(one, w)| Some(w * paid(served, &one.step)?)).sum();
        let first = steps.first()?;
        (ended && all_there).then_some(Whole { at: first.at, state: first.step.state, paid: paid? })
    };
    let mut out: Vec<Whole> = steps.values().filter_map(whole).collect();
    out.sort_by_key(|e| e.at);
    out
}

/// A mean with the ends between which nine of ten posterior samples lie.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Expected {
    pub(crate) mean: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// What an episode is expected to pay.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Prospects {
    /// If the mean of the policy is followed.
    pub(crate) policy: Expected,
    /// If the baseline is.
    pub(crate) baseline: Expected,
    /// How far from best the policy can be; missing where that would take too long.
    pub(crate) promised: Option<Promised>,
}

/// What can be promised of the policy, over the states in which episodes began lately, if the graph is right and the world does not change.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Promised {
    /// Probability with which anything promised since the service began may be wrong.
    pub(crate) delta: f64,
    /// What the policy pays at least.
    pub(crate) at_least: f64,
    /// By how much the best policy exceeds it at most.
    pub(crate) gap: f64,
    /// The gap as a share of the way from interventions at random to the best policy, where that can be determined.
    pub(crate) share: Option<f64>,
}

/// δ of what is promised.
const DELTA: f64 = 0.05;

/// States times stages up to which the page says what can be promised: the certificate takes several plans.
const MOST_PROMISED: usize = 1 << 16;

/// What can be promised of a policy; `None` where it takes too long, or the learner cannot.
fn promised(learner: &dowise::Learner, policy_hs: &[dowise::Action], starts: &[usize]) -> Option<Promised> {
    if policy_hs.len() > MOST_PROMISED {
        return None;
    }
    let certificate = learner.certificate_of(policy_hs, DELTA).ok()?;
    let mut start = vec![0.0; certificate.gap_s.len()];
    starts.iter().for_each(|&s| start[s] += 1.0 / starts.len() as f64);
    Some(Promised {
        delta: DELTA,
        at_least: certificate.at_least(&start),
        gap: certificate.gap(&start),
        share: certificate.share(&start),
    })
}

/// What episodes are expected to pay that begin in these states, by what a policy was made from.
///
/// # Cost
/// Two plans for every posterior sample, and a certificate.
pub(crate) fn prospects(
    served: &Served,
    snapshot: &Snapshot,
    starts: &[usize],
) -> Result<Option<Prospects>, LearnError> {
    let Ok(evidence) = Evidence::restore(&served.knowledge, &served.options, &snapshot.evidence) else {
        return Ok(None);
    };
    if starts.is_empty() {
        return Ok(None);
    }
    let learner = served.learner(evidence)?;
    let prior = match served.explores {
        Explores::Samples { prior } => prior,
        Explores::Optimism(_) | Explores::Never => 1.0,
    };
    let worth = |policy: &[dowise::Action], reading, seed| -> Result<f64, LearnError> {
        let plan = learner.read_policy(policy, reading, seed)?;
        Ok(starts.iter().map(|&s| plan.value(0, s)).sum::<f64>() / starts.len() as f64)
    };
    let expected = |policy: &[dowise::Action]| -> Result<Expected, LearnError> {
        let samples = (0..SAMPLES).map(|seed| worth(policy, Estimator::Sample { prior }, seed));
        let mut samples: Vec<f64> = samples.collect::<Result<_, _>>()?;
        samples.sort_by(f64::total_cmp);
        let n = samples.len();
        Ok(Expected {
            mean: worth(policy, Estimator::Pooled { prior }, 0)?,
            low: samples[n / 20],
            high: samples[n - 1 - n / 20],
        })
    };
    let policy_hs = &snapshot.action_values.plan().policy_hs;
    Ok(Some(Prospects {
        policy: expected(policy_hs)?,
        baseline: expected(&served.baseline)?,
        promised: promised(&learner, policy_hs, starts),
    }))
}

/// What episodes paid, over time.
pub(crate) fn series(whole: &[Whole], prospects: Option<&Prospects>) -> Value {
    let point = |range: std::ops::Range<usize>| {
        let part = &whole[range];
        let paid: Vec<f64> = part.iter().map(|e| e.paid).collect();
        let mut point = mean(&paid);
        point["from"] = json!(part[0].at);
        point["to"] = json!(part[part.len() - 1].at);
        point
    };
    let paid: Vec<f64> = whole.iter().map(|e| e.paid).collect();
    json!({
        "points": bins(whole.len()).into_iter().map(point).collect::<Vec<_>>(),
        "paid": mean(&paid),
        "expected": prospects,
    })
}
