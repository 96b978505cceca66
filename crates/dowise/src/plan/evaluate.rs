//! Exact policy evaluation: backward induction with a chooser that follows a given policy.

use super::follow::Follow;
use super::{Buffers, Lookahead, Plan, Planner, Ties, backward_induction};
use crate::kernel::Effects;
use crate::world::Action;

/// Evaluates one policy after another, reusing its buffers.
#[derive(Clone, Debug)]
pub(crate) struct Evaluator<'a> {
    look: EvaluationLookahead<'a>,
    follow: Follow,
    buffers: Buffers,
    plan: Plan,
}

impl<'a> Evaluator<'a> {
    pub(crate) fn new(planner: &'a Planner) -> Evaluator<'a> {
        Evaluator {
            look: EvaluationLookahead { planner, spare: Vec::new(), sizes: false },
            follow: Follow::default(),
            buffers: Buffers::default(),
            plan: Plan::new(planner.horizon(), planner.kernel().n_states()),
        }
    }

    /// An evaluator of the absolute values of all rewards and costs: the scale of a value's rounding error.
    pub(crate) fn of_sizes(planner: &'a Planner) -> Evaluator<'a> {
        let mut evaluator = Evaluator::new(planner);
        evaluator.look.sizes = true;
        evaluator.follow = Follow::of_sizes();
        evaluator
    }

    /// V_h(s) = Σ_c P(c | s, π) q_h(s, c) − cost(π), for an allowed policy: that policy, with its values.
    pub(crate) fn evaluate(&mut self, policy_hs: &[Action]) -> &Plan {
        let (planner, sizes) = (self.look.planner, self.look.sizes);
        match planner.split() {
            None => self.follow(planner.kernel(), policy_hs),
            Some(split) => self.follow(&split.acting(planner.kernel(), sizes), policy_hs),
        }
        &self.plan
    }

    fn follow(&mut self, effects: &impl Effects, policy_hs: &[Action]) {
        self.follow.decode(effects, policy_hs);
        let following = self.follow.through(effects, self.plan.n_states);
        backward_induction(&mut self.look, &following, 0.0, Ties::First, &mut self.buffers, &mut self.plan);
    }

    /// The last evaluated policy, with its values.
    pub(crate) fn last(&self) -> &Plan {
        &self.plan
    }

    /// Value of the last evaluated policy under the initial-state distribution.
    pub(crate) fn worth_at_start(&self) -> f64 {
        self.look.planner.from_start(&self.plan.value_hs[..self.plan.n_states])
    }

    /// The values alone, `[stage][state]` with one further stage of zeros.
    pub(crate) fn into_values(self) -> Vec<f64> {
        self.plan.value_hs
    }
}

/// Look-ahead of the true model, measured from zero.
///
/// With a cap of 0, losses are −q, and 0 − (Σ P (−q) + cost) equals Σ P q − cost bit for bit: rounding is relative to
/// the values. Plans need the greatest value as their cap, so that equal values are bit-identical; evaluation compares
/// nothing.
#[derive(Clone, Debug)]
pub(super) struct EvaluationLookahead<'a> {
    pub(super) planner: &'a Planner,
    pub(super) spare: Vec<f64>,
    /// Whether absolute values of rewards are used.
    pub(super) sizes: bool,
}

impl Lookahead for EvaluationLookahead<'_> {
    fn look(&mut self, _stage: usize, next_value: &[f64], q: &mut Vec<f64>) {
        if self.sizes {
            self.planner.look_at_sizes(next_value, q, &mut self.spare);
        } else {
            self.planner.look(next_value, q, &mut self.spare);
        }
    }

    fn ended(&self) -> Option<&[bool]> {
        self.planner.ended()
    }

    fn is_shared(&self) -> bool {
        self.planner.is_split()
    }

    fn cap(&self, _stage: usize) -> f64 {
        0.0
    }
}
