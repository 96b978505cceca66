//! Explanations of decisions: preferred interventions in a state, their optimistic values, and the evidence behind
//! them.

use std::collections::BTreeMap;

use super::belief::{Estimator, PartsSelector};
use super::learner::Kind;
use super::memory::hold_belief;
use super::selector::Selector;
use super::tabular::Tabular;
use super::{Knowledge, LearnResult, Learner, Plans};
use crate::learn::linear::Lookahead;
use crate::plan::{Plan, Ties};
use crate::world::{Action, Interventions, VarId};

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
    /// Value by the empirical means.
    pub mean: f64,
    /// Steps behind it, the smallest of two numbers. One: the least visited learned row (transitions, rewards) of each
    /// configuration, averaged over the configurations; if these are too many to list, the least mean over the factors.
    /// The other: of each learned mechanism, the steps that agree with the state and the intervention on its parents.
    /// `None` if everything that it leads to is known.
    pub visits: Option<f64>,
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
            Kind::Linear(linear) => Ok(linear.explain_for(self.ended, (stage, state), n)?),
        }
    }
}

/// From what is of optimism and expected of each cause, and the steps that speak about it.
pub(crate) fn explain_looked(
    knowledge: &Knowledge,
    (stage, state): (usize, usize),
    optimistic: &Lookahead,
    mean: &Lookahead,
    visits: &[f64],
    n: usize,
) -> Explanation {
    let all = knowledge.interventions();
    let digits = knowledge.state_space().digits(state);
    let preferred = considered(all, optimistic.best).into_iter().filter(|&a| all.allows(&digits, a)).map(|action| {
        let (cost, average) = (all.cost(action), |q: &[f64]| mean.selector.average(stage, state, action, q));
        let best = optimistic.selector.optimistic_value(stage, state, action, &optimistic.q);
        Preferred { action, optimistic: best - cost, mean: average(&mean.q) - cost, visits: counted(average(visits)) }
    });
    Explanation { stage, state, preferred: best_first(preferred.collect(), optimistic.best, n) }
}

/// Stands for the visits of a configuration with nothing to learn: finite, because averages multiply it by zero.
const ALL_KNOWN: f64 = 1e300;

/// A number of visits, unless it stands for having nothing to learn.
fn counted(visits: f64) -> Option<f64> {
    // Tables are known or learned as a whole, so either all configurations have something to learn or none has.
    (visits < 1e-9 * ALL_KNOWN).then_some(visits)
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

/// Visits of a mechanism's rows that agree with a state, by the values of the levers among its parents.
struct LeverVisits {
    levers: Vec<usize>,
    by_values: BTreeMap<Vec<usize>, u64>,
}

impl Tabular {
    fn explain(&self, episode: u64, stage: usize, state: usize, n: usize) -> LearnResult<Explanation> {
        // A copy that plans and reserves its own memory, and a second belief.
        drop((hold_belief(self)?, hold_belief(self)?));
        let mut now = self.clone();
        let _held = hold_belief(self)?;
        now.make_due();
        now.prepare(episode);
        let best = now.decide(episode, stage, state);
        let value_next = |plan: &Plan| plan.value_hs[(stage + 1) * plan.n_states..(stage + 2) * plan.n_states].to_vec();
        let mut optimistic_q = Vec::new();
        now.belief.look_at(stage, state, &value_next(&now.plan), &mut optimistic_q);
        let (plan, mut belief, selector) = self
            .read(Estimator::Mean { prior: 0.0 }, 0, Ties::First)
            .expect("invariant: what was learned has the shape that it had when the learner was made");
        let mut mean_q = Vec::new();
        belief.look_at(stage, state, &value_next(&plan), &mut mean_q);
        let visits = match self.view().decomposed {
            None => (0..self.view().layout.n_causes).map(|c| self.visits(stage, state, c)).collect(),
            Some(_) => Vec::new(),
        };
        let of_mechanisms = self.mechanism_visits(state);

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
                    optimistic: now
                        .selector
                        .optimistic_value(stage, state, action, &optimistic_q)
                        .min(now.belief.caps()[stage])
                        - cost,
                    mean: selector.average(stage, state, action, &mean_q) - cost,
                    visits: counted(
                        match &selector {
                            Selector::Parts(parts) => self.visits_by_parts(parts, stage, state, action),
                            Selector::Kernel(_) | Selector::Listed(_) => {
                                selector.average(stage, state, action, &visits)
                            }
                        }
                        .min(of_mechanisms(&all.levers(action))),
                    ),
                }
            })
            .collect();
        Ok(Explanation { stage, state, preferred: best_first(preferred, best, n) })
    }

    /// The least, among the factors that have to be learned, of the mean visits of the rows that an intervention leads to;
    /// infinite if all are known.
    fn visits_by_parts(&self, parts: &PartsSelector, stage: usize, state: usize, action: Action) -> f64 {
        let (factors, counts) = (&self.view().layout.factors, &self.evidence.transitions[self.view().block(stage)]);
        let n = |f: usize, row: usize| counts[f].n_r.get(row).map_or(0.0, |&n| f64::from(n));
        let means = parts.acting(stage).mean_of_rows(state, action, n);
        let learned = means.into_iter().filter(|(f, _)| factors[*f].known.is_none());
        learned.map(|(_, n)| n).fold(f64::INFINITY, f64::min)
    }

    /// Visits of the least visited row among the factors and rewards that have to be learned; very many if all are
    /// known.
    fn visits(&self, stage: usize, state: usize, cause: usize) -> f64 {
        let view = self.view();
        let layout = &view.layout;
        let tables = layout.factors.iter().zip(&self.evidence.transitions[view.block(stage)]);
        let learned = tables.filter(|(factor, _)| factor.known.is_none() && factor.n_values > 1);
        let rows = learned.map(|(factor, counts)| {
            counts.n_r[factor.row(factor.state_row(&layout.state_space, state), cause, layout.n_causes)]
        });
        let terms = view.payments.terms.iter().zip(&self.evidence.payments);
        let paid = terms.map(|(term, paid)| paid.n[term.row(&layout.state_space, state, cause, layout.n_causes)]);
        rows.chain(paid).min().map_or(ALL_KNOWN, f64::from)
    }

    /// A function from an intervention's lever values to the least number of steps, among the mechanisms that have to be
    /// learned, that agree with the state and with it on the mechanism's parents; infinite if all are known.
    fn mechanism_visits(&self, state: usize) -> impl Fn(&[Option<usize>]) -> f64 {
        let view = self.view();
        let (knowledge, digits) = (self.knowledge(), view.layout.state_space.digits(state));
        let unknown = view.mechanisms.iter().flat_map(|m| m.unknown.iter().map(|of| (&m.world, of)));
        let mut tables: Vec<LeverVisits> = Vec::new();
        for ((world, of), counts) in unknown.zip(&self.evidence.mechanisms) {
            let parents = &world.mechanisms()[of.position].parents;
            let place = |ids: &[VarId], id: &VarId| ids.iter().position(|other| other == id);
            let states: Vec<(usize, usize)> = (0..parents.len())
                .filter_map(|axis| place(knowledge.state(), &parents[axis]).map(|f| (axis, digits[f])))
                .collect();
            let levers: Vec<(usize, usize)> = (0..parents.len())
                .filter_map(|axis| place(knowledge.levers(), &parents[axis]).map(|lever| (axis, lever)))
                .collect();
            let mut by_levers = BTreeMap::new();
            for row in counts.visited() {
                if states.iter().all(|&(axis, value)| of.rows.digit(row, axis) == value) {
                    let values = levers.iter().map(|&(axis, _)| of.rows.digit(row, axis)).collect();
                    *by_levers.entry(values).or_insert(0) += u64::from(counts.n_r[row]);
                }
            }
            tables.push(LeverVisits {
                levers: levers.into_iter().map(|(_, lever)| lever).collect(),
                by_values: by_levers,
            });
        }
        move |set| {
            let agreeing = |of: &LeverVisits| {
                let agrees =
                    |values: &[usize]| of.levers.iter().zip(values).all(|(&l, &v)| set[l].is_none_or(|x| x == v));
                of.by_values.iter().filter(|(values, _)| agrees(values)).map(|(_, n)| n).sum::<u64>() as f64
            };
            tables.iter().map(agreeing).fold(f64::INFINITY, f64::min)
        }
    }
}
