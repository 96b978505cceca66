//! Explanations of decisions: preferred interventions in a state, their optimistic values, and the evidence behind
//! them.

use super::belief::{Estimator, PartsSelector};
use super::learner::Kind;
use super::memory::hold_reading;
use super::selector::Selector;
use super::tabular::Tabular;
use super::{Knowledge, LearnResult, Learner, Plans};
use crate::learn::linear::{LinearLearner, Looked};
use crate::plan::{Plan, Ties};
use crate::world::{Action, Interventions};

/// Interventions that are listed one by one at most; with more, the best one and those that differ from it in one lever.
const MOST_LISTED: u64 = 1 << 16;

/// What a learner thinks of a state at a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Stage, from 0.
    pub stage: usize,
    /// State.
    pub state: usize,
    /// Interventions, the preferred one first.
    pub preferred: Vec<Preferred>,
}

/// What a learner thinks of an intervention.
#[derive(Clone, Debug, PartialEq)]
pub struct Preferred {
    /// The intervention.
    pub action: Action,
    /// Value as it plans with: optimistic, or of its sample.
    pub optimistic: f64,
    /// Value by the plain averages of what it has seen, nothing added.
    pub mean: f64,
    /// Visits behind it: of each cause the least visited row among the factors, weighted by how likely the cause is. Where causes are too
    /// many to be listed, the least among the factors of the mean visits of its rows.
    pub visits: f64,
}

impl Learner {
    /// The `n` interventions that it values most in a state at a stage (from 0), from all it has seen so far.
    ///
    /// Exploration at random has no reasons; what is explained is the plan that it departs from. Where plans are made rarely
    /// ([`Schedule::Growing`](super::Schedule)), the one that is followed may be older than the explanation, which is of a plan made now.
    ///
    /// # Cost
    /// Two plans and a look at every intervention (or, beyond 65,536, at those that differ from the best in one lever).
    pub fn explain(&self, stage: usize, state: usize, n: usize) -> LearnResult<Explanation> {
        match &self.kind {
            Kind::Tabular(tabular) => tabular.explain(self.ended, stage, state, n),
            Kind::Linear(linear) => Ok(explain_linear(linear, self.ended, stage, state, n)),
        }
    }
}

/// The same of a learner that regresses: values with width or noise and without, and the steps that speak about the features.
fn explain_linear(linear: &LinearLearner, episode: u64, stage: usize, state: usize, n: usize) -> Explanation {
    let optimistic = linear.looked(episode, (stage, state), true);
    let mean = linear.looked(episode, (stage, state), false);
    explain_looked(linear.knowledge(), (stage, state), &optimistic, &mean, &linear.steps_behind(stage, state), n)
}

/// From what is of optimism and expected of each cause, and the steps that speak about it.
pub(crate) fn explain_looked(
    knowledge: &Knowledge,
    (stage, state): (usize, usize),
    optimistic: &Looked,
    mean: &Looked,
    visits: &[f64],
    n: usize,
) -> Explanation {
    let all = knowledge.interventions();
    let digits = knowledge.state_space().digits(state);
    let preferred = considered(all, optimistic.best).into_iter().filter(|&a| all.allows(&digits, a)).map(|action| {
        let (cost, average) = (all.cost(action), |q: &[f64]| mean.selector.average(stage, state, action, q));
        let best = optimistic.selector.hope(stage, state, action, &optimistic.q);
        Preferred { action, optimistic: best - cost, mean: average(&mean.q) - cost, visits: average(visits) }
    });
    Explanation { stage, state, preferred: best_first(preferred.collect(), optimistic.best, n) }
}

/// The first n; among equals (up to rounding) the one that it takes comes first.
fn best_first(mut preferred: Vec<Preferred>, best: Action, n: usize) -> Vec<Preferred> {
    preferred.sort_by(|a, b| {
        (b.action == best)
            .cmp(&(a.action == best))
            .then(b.optimistic.total_cmp(&a.optimistic))
            .then(a.action.cmp(&b.action))
    });
    preferred.truncate(n);
    preferred
}

/// All interventions, or the neighbours of one.
fn considered(all: &Interventions, best: Action) -> Vec<Action> {
    if all.count() <= MOST_LISTED {
        return (0..all.count()).map(|i| all.nth(i)).collect();
    }
    let base = all.levers(best);
    let mut out = vec![best];
    for lever in 0..base.len() {
        for value in std::iter::once(None).chain((0..all.sizes()[lever]).map(Some)).filter(|v| *v != base[lever]) {
            let mut levers = base.clone();
            levers[lever] = value;
            out.push(all.action(&levers));
        }
    }
    out
}

impl Tabular {
    fn explain(&self, episode: u64, stage: usize, state: usize, n: usize) -> LearnResult<Explanation> {
        // A copy that plans, which counts itself, and a second reading.
        drop((hold_reading(self)?, hold_reading(self)?));
        let mut now = self.clone();
        let _reading = hold_reading(self)?;
        now.make_due();
        now.prepare(episode);
        let best = now.decide(episode, stage, state);
        let value_next = |plan: &Plan| plan.value_hs[(stage + 1) * plan.n_states..(stage + 2) * plan.n_states].to_vec();
        let mut hoped_q = Vec::new();
        now.belief.look_at(stage, state, &value_next(&now.plan), &mut hoped_q);
        let (plan, mut belief, selector) = self
            .read(Estimator::Mean { prior: 0.0 }, 0, Ties::First)
            .expect("invariant: what was learned has the shape that it had when the learner was made");
        let mut mean_q = Vec::new();
        belief.look_at(stage, state, &value_next(&plan), &mut mean_q);
        let visits = match self.view().decomposed {
            None => (0..self.view().layout.n_causes).map(|c| f64::from(self.visits(stage, state, c))).collect(),
            Some(_) => Vec::new(),
        };

        let knowledge = self.knowledge();
        let all = knowledge.interventions();
        let digits = knowledge.state_space().digits(state);
        let preferred: Vec<Preferred> = considered(all, best)
            .into_iter()
            .filter(|&a| all.allows(&digits, a))
            .map(|action| {
                let cost = all.cost(action);
                Preferred {
                    action,
                    optimistic: now.selector.hope(stage, state, action, &hoped_q).min(now.belief.caps()[stage]) - cost,
                    mean: selector.average(stage, state, action, &mean_q) - cost,
                    visits: match &selector {
                        Selector::Parts(parts) => self.visits_by_parts(parts, stage, state, action),
                        Selector::Kernel(_) | Selector::Listed(_) => selector.average(stage, state, action, &visits),
                    },
                }
            })
            .collect();
        Ok(Explanation { stage, state, preferred: best_first(preferred, best, n) })
    }

    /// The least, among the factors that have to be learned, of the mean visits of the rows that an intervention leads to.
    fn visits_by_parts(&self, parts: &PartsSelector, stage: usize, state: usize, action: Action) -> f64 {
        let (factors, counts) = (&self.view().layout.factors, &self.evidence.transitions[self.view().block(stage)]);
        let n = |f: usize, row: usize| counts[f].n_r.get(row).map_or(0.0, |&n| f64::from(n));
        let means = parts.acting(stage).mean_of_rows(state, action, n);
        let learned = means.into_iter().filter(|(f, _)| factors[*f].known.is_none());
        learned.map(|(_, n)| n).reduce(f64::min).unwrap_or(0.0)
    }

    /// Visits of the least visited row among the factors that have to be learned.
    fn visits(&self, stage: usize, state: usize, cause: usize) -> u32 {
        let view = self.view();
        let layout = &view.layout;
        let tables = layout.factors.iter().zip(&self.evidence.transitions[view.block(stage)]);
        let rows = tables.filter(|(factor, _)| factor.known.is_none()).map(|(factor, counts)| {
            counts.n_r[factor.row(factor.state_row(&layout.state_space, state), cause, layout.n_causes)]
        });
        rows.min().unwrap_or(0)
    }
}
