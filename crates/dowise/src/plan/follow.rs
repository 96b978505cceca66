//! Choosers for policy evaluation: they follow a fixed or stochastic policy within backward induction.

use std::collections::{HashMap, HashSet};

use super::{Chooser, PlanError};
use crate::Space;
use crate::kernel::{Effects, Found, Scratch, Tie};
use crate::world::{Action, Interventions};

/// Maximum number of decoded interventions in the cache; a policy rarely has more distinct ones.
pub(super) const MOST_REMEMBERED: usize = 1 << 16;

/// Checks that a policy, `[stage][state]`, has an allowed intervention for every stage and state.
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

/// A decoded policy: with this chooser, backward induction evaluates the policy.
///
/// # Cost
/// Memory: 4 bytes for every stage and state, and the cached interventions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Follow {
    /// Offset of an intervention's parts in `parts`.
    known: HashMap<Action, u32>,
    /// Concatenated over interventions.
    parts: Vec<u32>,
    costs: Vec<f64>,
    actions: Vec<Action>,
    /// Index of the policy's intervention in the cache, `[stage][state]`.
    chosen: Vec<u32>,
    /// Whether absolute values of costs are added as gains.
    sizes: bool,
}

impl Follow {
    /// A chooser that adds absolute costs instead of subtracting costs: the scale of a value's rounding error.
    pub(super) fn of_sizes() -> Follow {
        Follow { sizes: true, ..Follow::default() }
    }

    /// Decodes a policy, `[stage][state]`. The cache persists between calls, so `effects` must belong to the same
    /// world.
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

/// A decoded policy with the effects of its interventions.
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

    /// The expected loss of the policy's intervention, without alternatives or ties.
    fn best(&self, stage: usize, state: usize, loss: &[f64], _: f64, _: Tie, scratch: &mut Scratch) -> Found {
        let i = self.policy.chosen[stage * self.n_states + state] as usize;
        let n_parts = self.effects.n_parts();
        let parts = &self.policy.parts[i * n_parts..][..n_parts];
        let expected = self.effects.expect(stage, state, parts, loss, scratch);
        Found::only(expected + self.policy.costs[i], self.policy.actions[i])
    }
}

/// A stochastic policy: its distribution of joint key values and its expected costs.
#[derive(Debug)]
pub(crate) struct FollowMixed {
    pub(crate) n_states: usize,
    pub(crate) n_causes: usize,
    /// P(c), `[stage][state][cause]`, or `[state][cause]` if the policy is stationary.
    pub(crate) prob: Vec<f64>,
    /// Expected costs, `[stage][state]` or `[state]`.
    pub(crate) cost: Vec<f64>,
}

impl Chooser for FollowMixed {
    fn n_causes(&self) -> usize {
        self.n_causes
    }

    /// The expected loss of the stochastic policy. The returned action is meaningless.
    fn best(&self, stage: usize, state: usize, loss: &[f64], _: f64, _: Tie, _: &mut Scratch) -> Found {
        let row = if self.cost.len() == self.n_states { state } else { stage * self.n_states + state };
        let prob = &self.prob[row * self.n_causes..][..self.n_causes];
        Found::only(prob.iter().zip(loss).map(|(p, x)| p * x).sum::<f64>() + self.cost[row], Action(0))
    }
}
