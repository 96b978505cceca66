//! Continuation value of the next state: discounting, terminal states, and next-state rewards.
//!
//! Planners and learners look ahead from V_{h+1}. Terminal states, discounting and pure next-state rewards transform
//! that function before its expectation:
//!
//! ```text
//! u(s') = arrival(s') + discount · 1{s' has not ended} · V_{h+1}(s')
//! ```
//!
//! so that every estimator of expectations, bounds or samples of next values applies unchanged.

use super::{RewardTerm, VarId, World};
use crate::Space;

/// Transformation of next-stage values; none for worlds without terminal states, discount and next-state rewards.
#[derive(Clone, Debug)]
pub(crate) struct Continuation {
    discount: f64,
    ended: Option<std::sync::Arc<[bool]>>,
    /// Reward of arriving in a state; empty if there is none.
    arrival: Vec<f64>,
}

impl Continuation {
    /// The continuation of a world; `None` if next values stay unchanged.
    pub(crate) fn of(world: &World) -> Option<Continuation> {
        let arrival = arrival(world);
        if world.discount == 1.0 && world.ends.is_none() && arrival.is_empty() {
            return None;
        }
        Some(Continuation { discount: world.discount, ended: world.ends.as_ref().map(|e| e.states.clone()), arrival })
    }

    /// u from the values of the next stage.
    pub(crate) fn worth(&self, next_value: &[f64], out: &mut Vec<f64>) {
        self.later(next_value, out);
        out.iter_mut().zip(&self.arrival).for_each(|(u, a)| *u += a);
    }

    /// The same for sums of absolute values.
    pub(crate) fn size(&self, next_size: &[f64], out: &mut Vec<f64>) {
        self.later(next_size, out);
        out.iter_mut().zip(&self.arrival).for_each(|(u, a)| *u += a.abs());
    }

    /// Without arrival rewards: the effect of a difference between next-stage values.
    pub(crate) fn later(&self, next: &[f64], out: &mut Vec<f64>) {
        out.clear();
        out.extend(next.iter().map(|v| self.discount * v));
        if let Some(ended) = &self.ended {
            out.iter_mut().zip(ended.iter()).filter(|(_, ended)| **ended).for_each(|(u, _)| *u = 0.0);
        }
    }

    /// Reward of arriving in a state.
    pub(crate) fn arrival_of(&self, state: usize) -> f64 {
        self.arrival.get(state).copied().unwrap_or(0.0)
    }

    /// Range of arrival rewards, including 0.
    pub(crate) fn arrival_range(&self) -> f64 {
        let (lo, hi) = self.arrival.iter().fold((0.0f64, 0.0f64), |(lo, hi), &a| (lo.min(a), hi.max(a)));
        hi - lo
    }
}

fn arrival(world: &World) -> Vec<f64> {
    let mut out = Vec::new();
    for term in world.rewards.iter().filter(|t| t.pays_on_next_state()) {
        let Some(table) = &term.table else { continue };
        out.resize(world.n_states(), 0.0);
        let axes: Vec<usize> = term.next.iter().map(|&id| world.state_axis(id)).collect();
        for (s, out) in out.iter_mut().enumerate() {
            let digit = |&f: &usize| world.state_space.digit(s, f);
            let row = axes.iter().fold(0, |row, f| row * world.state_space.sizes()[*f] + digit(f));
            *out += table[row];
        }
    }
    out
}

impl RewardTerm {
    /// Whether it depends on next values only.
    pub(crate) fn pays_on_next_state(&self) -> bool {
        self.scope.is_empty() && !self.next.is_empty()
    }
}

impl World {
    /// Arrival reward of each state: the sum of the known terms that depend on next values only; empty if there are
    /// none.
    pub fn arrival(&self) -> Vec<f64> {
        arrival(self)
    }

    /// Position of a state factor.
    pub(crate) fn state_axis(&self, id: VarId) -> usize {
        self.state.iter().position(|&s| s == id).expect("invariant: next values are those of state factors")
    }

    /// The expected reward of a term as a function of the present: over its scope and those of its next values'
    /// transitions, which must be known. A term of the present stays unchanged.
    pub(crate) fn expected_term(&self, term: &RewardTerm) -> RewardTerm {
        let Some(table) = term.table.as_deref().filter(|_| !term.next.is_empty()) else { return term.clone() };
        let transitions: Vec<_> = term.next.iter().map(|&id| &self.transitions[self.state_axis(id)]).collect();
        let scope = self.expected_scope(term);
        let space = Space::new(&self.sizes(&scope)).expect("invariant: it was counted when the world was made");
        let next = Space::new(&self.sizes(&term.next)).expect("invariant: fewer than states");
        let row = |ids: &[VarId], index: usize| {
            ids.iter().fold(0, |row, id| {
                let axis = scope.iter().position(|s| s == id).expect("invariant: the scope holds all of them");
                row * self.variable(*id).size() + space.digit(index, axis)
            })
        };
        let mean = |index: usize| {
            let base = row(&term.scope, index) * next.len();
            let rows: Vec<usize> = transitions.iter().map(|m| row(&m.parents, index)).collect();
            (0..next.len())
                .map(|v| {
                    let p = transitions.iter().zip(&rows).enumerate().map(|(axis, (m, row))| {
                        let table = m.table.as_deref().expect("invariant: only known transitions are averaged over");
                        table[row * next.sizes()[axis] + next.digit(v, axis)]
                    });
                    p.product::<f64>() * table[base + v]
                })
                .sum()
        };
        let table: Vec<f64> = (0..space.len()).map(mean).collect();
        RewardTerm { scope, next: Vec::new(), table: Some(table.into()), ..term.clone() }
    }

    /// Whether the mean of a term has to be learned: its numbers are unknown, or it depends on the present and on next
    /// values whose transitions are unknown.
    pub(crate) fn mean_is_learned(&self, term: &RewardTerm) -> bool {
        let unknown = |&id: &VarId| self.transitions[self.state_axis(id)].table.is_none();
        term.table.is_none() || (!term.pays_on_next_state() && term.next.iter().any(unknown))
    }

    /// The scope of a term's expected reward.
    pub(crate) fn expected_scope(&self, term: &RewardTerm) -> Vec<VarId> {
        let mut scope = term.scope.clone();
        for &id in &term.next {
            let parents = &self.transitions[self.state_axis(id)].parents;
            scope.extend(parents.iter().filter(|p| !scope.contains(p)).copied().collect::<Vec<_>>());
        }
        scope
    }

    /// Upper bound on the absolute return of an episode, net of costs.
    pub fn reward_bound(&self) -> f64 {
        let size = |range: [f64; 2]| range[0].abs().max(range[1].abs());
        let terms: f64 = self.rewards().iter().map(|r| size(r.range)).sum();
        let dearest = |costs: &Vec<f64>| costs.iter().fold(0.0, |most: f64, c| most.max(c.abs()));
        let costs: f64 = self.interventions().costs().iter().map(dearest).sum();
        self.horizon() as f64 * (terms.max(size(self.reward_range())) + costs)
    }

    /// Range of a step's net reward; n times it bounds the return of n steps. It includes 0 if episodes can end early
    /// or are discounted.
    pub(crate) fn step_range(&self) -> [f64; 2] {
        let ([lo, hi], cost) = (self.reward_range, self.interventions.cost_range());
        let (least, most) = (lo - cost[1], hi - cost[0]);
        if self.ends.is_some() || self.discount < 1.0 { [least.min(0.0), most.max(0.0)] } else { [least, most] }
    }

    /// Maximum difference between the returns of two episodes: the horizon times the range of a step's net reward.
    pub fn return_range(&self) -> f64 {
        let [least, most] = self.step_range();
        self.horizon() as f64 * (most - least)
    }

    /// Whether there are next-state rewards, which linear learners and sampled value iteration do not support.
    pub fn pays_on_next_values(&self) -> bool {
        self.rewards.iter().any(|term| !term.next.is_empty())
    }

    /// Returns an error if the world has an unsupported feature.
    pub(crate) fn refuse(&self, what: &'static str, features: &[Feature]) -> Result<(), Unsupported> {
        let has = |feature: &Feature| match feature {
            Feature::NextReward => self.pays_on_next_values(),
        };
        match features.iter().find(|f| has(f)) {
            None => Ok(()),
            Some(&feature) => Err(Unsupported { what, feature }),
        }
    }
}

/// Features of worlds that not every part of dowise supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// Next-state rewards.
    NextReward,
}

/// A part of dowise does not support a feature of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} cannot deal with {}; {}", .feature.describe(), .feature.instead())]
pub struct Unsupported {
    /// The requested operation.
    pub what: &'static str,
    /// The unsupported feature.
    pub feature: Feature,
}

impl Feature {
    fn describe(&self) -> &'static str {
        match self {
            Feature::NextReward => "next-state rewards (`next.…` in a scope)",
        }
    }

    fn instead(&self) -> &'static str {
        match self {
            Feature::NextReward => {
                "pay when the state is there, with one step more, or let a key variable decide the next value"
            }
        }
    }
}
