//! Policy: the immutable, cheaply shared result of a plan, with the identity of its plan and evidence.

use std::sync::Arc;

use crate::world::Action;

/// What to do at every stage and state.
///
/// Shared as `Arc<Policy>`: a thousand episodes can follow one while the learner makes the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    plan: u64,
    evidence: u64,
    n_states: usize,
    /// `[stage][state]`
    actions: Vec<Action>,
}

impl Policy {
    /// What to do at a stage (from 0) in a state.
    ///
    /// # Panics
    /// If there is no such stage or state.
    pub fn action(&self, stage: usize, state: usize) -> Action {
        assert!(state < self.n_states, "there is no state {state}; there are {} states", self.n_states);
        self.actions[stage * self.n_states + state]
    }

    /// What to do, `[stage][state]`.
    pub fn actions(&self) -> &[Action] {
        &self.actions
    }

    /// Number of states.
    pub fn n_states(&self) -> usize {
        self.n_states
    }

    /// Number of the plan that it came from, from 1; 0 for interventions drawn at random, for a baseline and for what is better with high confidence.
    pub fn plan(&self) -> u64 {
        self.plan
    }

    /// [Fingerprint](super::Evidence::fingerprint) of the evidence that the plan was made from.
    pub fn evidence(&self) -> u64 {
        self.evidence
    }

    /// A policy in the memory of `last`, unless somebody else still follows it.
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
