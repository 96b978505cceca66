//! Interventions at random, for one episode at a time: the baselines, and what a guard needs.

use super::{Estimate, Learner};
use crate::kernel::{Tie, mix};
use crate::world::Action;

impl Learner {
    /// With some probability, or always, an intervention drawn from all.
    pub(super) fn explored(&self, stage: usize, state: usize, probability: f64) -> Option<Action> {
        let Tie::Random(random) = self.ties().at(stage, state) else { return None };
        let coin = (mix(random ^ 0x636f_696e) >> 11) as f64 / (1u64 << 53) as f64;
        (coin < probability).then(|| self.any_allowed(state, random))
    }

    /// How likely a step explores, apart from what is optimistic.
    pub(super) fn exploring(&self) -> f64 {
        match self.options.estimate {
            Estimate::EpsilonGreedy { epsilon } => epsilon,
            Estimate::Uniform => 1.0,
            _ => 0.0,
        }
    }

    pub(super) fn explore(&mut self, probability: f64) {
        let n = self.layout.n_states();
        self.planned.reserve(self.plan.policy_hs.len());
        for i in 0..self.plan.policy_hs.len() {
            if let Some(action) = self.explored(i / n, i % n, probability) {
                self.planned.push((i, self.plan.policy_hs[i]));
                self.plan.policy_hs[i] = action;
            }
        }
    }

    /// Puts the plan back; otherwise one that is kept for many episodes would explore more and more.
    pub(super) fn stop_exploring(&mut self) {
        while let Some((i, action)) = self.planned.pop() {
            self.plan.policy_hs[i] = action;
        }
    }

    pub(super) fn any_allowed(&self, state: usize, random: u64) -> Action {
        crate::kernel::any_allowed(self.knowledge.interventions(), self.knowledge.state_space(), state, random)
    }
}
