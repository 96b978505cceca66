//! Choosers that choose nothing: they follow a policy, so that the backward induction evaluates it.

use std::collections::{HashMap, HashSet};

use super::{Chooser, PlanError};
use crate::Space;
use crate::kernel::{Effects, Found, Scratch, Tie};
use crate::world::{Action, Interventions};

/// Interventions whose parts are remembered from one policy to the next; a policy rarely has more that differ.
pub(super) const MOST_REMEMBERED: usize = 1 << 16;

/// Whether a policy, `[stage][state]`, has an allowed intervention for every stage and state.
pub(crate) fn check_policy(
    all: &Interventions,
    states: &Space,
    horizon: usize,
    policy_hs: &[Action],
) -> Result<(), PlanError> {
    let n = states.len();
    if policy_hs.len() != horizon * n {
        return Err(PlanError::PolicySize { found: policy_hs.len(), expected: horizon * n });
    }
    // Without forbidden combinations an intervention is allowed in every state or in none, so each is checked once.
    let anywhere = all.forbid().is_empty();
    let mut known = HashSet::new();
    let mut last = None;
    let wrong = (0..policy_hs.len()).find(|&i| {
        let action = policy_hs[i];
        if anywhere && (last == Some(action) || known.contains(&action)) {
            last = Some(action);
            return false;
        }
        known.insert(action);
        !all.allows(&states.digits(i % n), action)
    });
    wrong.map_or(Ok(()), |i| Err(PlanError::PolicyNotAllowed { stage: i / n + 1, state: i % n }))
}

/// A policy, decoded: the chooser with which the backward induction is the evaluation of that policy.
///
/// # Cost
/// Memory: 4 bytes for every stage and state, and what was remembered of the interventions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Follow {
    /// Where the parts of an intervention begin in `parts`.
    known: HashMap<Action, u32>,
    /// One intervention after the other.
    parts: Vec<u32>,
    costs: Vec<f64>,
    actions: Vec<Action>,
    /// Position of the policy's intervention among those known, `[stage][state]`.
    chosen: Vec<u32>,
    /// Whether costs count by their absolute values, as gains.
    sizes: bool,
}

impl Follow {
    /// One under which costs are added with their absolute values, not taken off: for the size of what is added up.
    pub(super) fn of_sizes() -> Follow {
        Follow { sizes: true, ..Follow::default() }
    }

    /// Decodes a policy, `[stage][state]`; interventions met before are remembered, so `effects` must be of the same world.
    pub(crate) fn decode(&mut self, effects: &impl Effects, policy_hs: &[Action]) {
        if self.known.len() > MOST_REMEMBERED {
            self.known.clear();
            self.parts.clear();
            self.costs.clear();
            self.actions.clear();
        }
        self.chosen.clear();
        let mut last: Option<(Action, u32)> = None;
        for &action in policy_hs {
            let position = match last {
                Some((same, position)) if same == action => position,
                _ => *self.known.entry(action).or_insert_with(|| {
                    effects.decode(action, &mut self.parts);
                    let cost = effects.cost(action);
                    self.costs.push(if self.sizes { -cost.abs() } else { cost });
                    self.actions.push(action);
                    self.costs.len() as u32 - 1
                }),
            };
            last = Some((action, position));
            self.chosen.push(position);
        }
    }

    /// The decoded policy as a chooser, in `n_states` states.
    pub(crate) fn through<'a, E: Effects>(&'a self, effects: &'a E, n_states: usize) -> Following<'a, E> {
        Following { effects, policy: self, n_states }
    }
}

/// A decoded policy, and what its interventions set off.
#[derive(Debug)]
pub(crate) struct Following<'a, E> {
    effects: &'a E,
    policy: &'a Follow,
    n_states: usize,
}

impl<E: Effects> Chooser for Following<'_, E> {
    fn n_causes(&self) -> usize {
        self.effects.n_causes()
    }

    /// What the policy's intervention comes to; there are no others, and no ties.
    fn best(&self, stage: usize, state: usize, loss: &[f64], _: f64, _: Tie, scratch: &mut Scratch) -> Found {
        let i = self.policy.chosen[stage * self.n_states + state] as usize;
        let n_parts = self.effects.n_parts();
        let parts = &self.policy.parts[i * n_parts..][..n_parts];
        let expected = self.effects.expect(stage, state, parts, loss, scratch);
        Found::only(expected + self.policy.costs[i], self.policy.actions[i])
    }
}

/// A policy that draws its interventions: what it sets off, and what it pays for that.
#[derive(Debug)]
pub(crate) struct FollowMixed {
    pub(crate) n_states: usize,
    pub(crate) n_causes: usize,
    /// How likely each cause is, `[stage][state][cause]`, or `[state][cause]` if all stages are alike.
    pub(crate) prob: Vec<f64>,
    /// Expected costs, `[stage][state]` or `[state]`.
    pub(crate) cost: Vec<f64>,
}

impl Chooser for FollowMixed {
    fn n_causes(&self) -> usize {
        self.n_causes
    }

    /// What the draw comes to on average. No intervention stands for it: the one that is given back says nothing.
    fn best(&self, stage: usize, state: usize, loss: &[f64], _: f64, _: Tie, _: &mut Scratch) -> Found {
        let row = if self.cost.len() == self.n_states { state } else { stage * self.n_states + state };
        let prob = &self.prob[row * self.n_causes..][..self.n_causes];
        Found::only(prob.iter().zip(loss).map(|(p, x)| p * x).sum::<f64>() + self.cost[row], Action(0))
    }
}
