//! Policy: the immutable, cheaply shared result of a plan, with the identity of its plan and evidence.

use std::sync::Arc;

use crate::world::Action;

/// A deterministic policy: an intervention for every stage and state.
///
/// Shared as `Arc<Policy>`: a thousand episodes can follow one while the learner computes the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    plan: u64,
    evidence: u64,
    n_states: usize,
    /// `[stage][state]`
    actions: Vec<Action>,
}

impl Policy {
    /// The intervention at a stage (from 0) in a state.
    ///
    /// # Panics
    /// If there is no such stage or state.
    pub fn action(&self, stage: usize, state: usize) -> Action {
        assert!(state < self.n_states, "there is no state {state}; there are {} states", self.n_states);
        self.actions[stage * self.n_states + state]
    }

    /// All interventions, `[stage][state]`.
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// Number of states.
    pub fn n_states(&self) -> usize {
        self.n_states
    }

    /// Number of its plan, from 1; 0 for random interventions, for a baseline and for a high-confidence improvement.
    pub fn plan(&self) -> u64 {
        self.plan
    }

    /// [Fingerprint](super::Evidence::fingerprint) of the plan's evidence.
    pub fn evidence(&self) -> u64 {
        self.evidence
    }

    /// A policy that reuses the memory of `last`, unless it is still in use.
    pub(crate) fn made(
        last: &mut Arc<Policy>,
        plan: u64,
        evidence: u64,
        n_states: usize,
        fill: impl FnOnce(&mut Vec<Action>),
    ) -> Arc<Policy> {
        if Arc::get_mut(last).is_none() {
            *last = Arc::new(Policy::default());
        }
        let policy = Arc::get_mut(last).expect("invariant: this policy is not shared");
        (policy.plan, policy.evidence, policy.n_states) = (plan, evidence, n_states);
        policy.actions.clear();
        fill(&mut policy.actions);
        last.clone()
    }
}
