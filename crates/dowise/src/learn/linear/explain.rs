//! Explanations of linear learners: optimistic and mean values of a decision, and the learned policy without optimism.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::learner::LinearLearner;
use super::model::{LinearModel, kernel_rule};
use crate::learn::{MechanismRule, Selector};
use crate::plan::{Lookahead, Plan, Ties, backward_induction};
use crate::random::splitmix64;
use crate::world::Action;

/// Lookahead of a learner from one state at a stage.
pub(crate) struct Looked {
    /// Value of each configuration.
    pub(crate) q: Vec<f64>,
    /// The chosen intervention.
    pub(crate) best: Action,
    /// Estimated effects of interventions.
    pub(crate) selector: Selector,
}

/// A lookahead that records its values at one stage and state.
struct Noted<'a> {
    inside: &'a mut LinearModel,
    stage: usize,
    /// Range of the state's configurations.
    at: std::ops::Range<usize>,
    q: Vec<f64>,
}

impl Lookahead for Noted<'_> {
    fn look(&mut self, stage: usize, next_value: &[f64], q: &mut Vec<f64>) {
        self.inside.look(stage, next_value, q);
        if stage == self.stage {
            self.q = q[self.at.clone()].to_vec();
        }
    }

    fn ended(&self) -> Option<&[bool]> {
        self.inside.ended()
    }

    fn cap(&self, stage: usize) -> f64 {
        self.inside.cap(stage)
    }
}

impl LinearLearner {
    /// The values of a state's configurations and the decision there, in a plan computed now for an episode:
    /// optimistic or sampled, or by posterior means.
    ///
    /// # Cost
    /// A plan.
    pub(crate) fn looked(&self, episode: u64, (stage, state): (usize, usize), optimistic: bool) -> Looked {
        let mut now = self.clone();
        now.read_mechanisms(if optimistic { kernel_rule(self.options(), episode) } else { MechanismRule::Frequencies });
        if !optimistic {
            now.model.options.beta_scale = 0.0;
        }
        let seed = now.model.options.seed;
        now.model.rng = ChaCha8Rng::seed_from_u64(splitmix64(seed ^ 0x6c69_6e65));
        now.model.rng.set_stream(episode);
        let ties = Ties::Seeded(splitmix64(seed ^ splitmix64(episode)));
        let n = now.model.columns.len() / now.plan.n_states;
        let LinearLearner { model, selector, tolerance, buffers, plan, .. } = &mut now;
        let mut noted = Noted { inside: model, stage, at: state * n..(state + 1) * n, q: Vec::new() };
        backward_induction(&mut noted, &*selector, *tolerance, ties, buffers, plan);
        let q = noted.q;
        Looked { q, best: now.plan.action(stage, state), selector: now.selector }
    }

    /// The learned plan without optimism or noise: the plan of mean weights and mean mechanisms from all data.
    ///
    /// # Cost
    /// A plan, and a copy of the learner.
    pub fn learned_plan(&self) -> Plan {
        let mut now = self.clone();
        now.read_mechanisms(MechanismRule::Mean);
        now.model.options.beta_scale = 0.0;
        let LinearLearner { model, selector, tolerance, buffers, plan, .. } = &mut now;
        backward_induction(model, &*selector, *tolerance, Ties::First, buffers, plan);
        now.plan
    }

    /// Effective number of steps for each configuration of a state at a stage: n = 1/(φᵀΛ⁻¹φ) − λ/‖φ‖², which with
    /// one-hot features is the number of visits.
    pub(crate) fn steps_behind(&self, stage: usize, state: usize) -> Vec<f64> {
        let n = self.model.columns.len() / self.plan.n_states;
        let design = &self.model.designs[self.model.design(stage)];
        let all = design.squares(self.model.columns.as_view());
        let squares = &all[state * n..(state + 1) * n];
        let of = |(cause, square): (usize, &f64)| {
            let norm: f64 = self.model.columns.of(state * n + cause).iter().map(|x| x * x).sum();
            if *square > 0.0 { (1.0 / square - self.model.options.lambda / norm).max(0.0) } else { f64::INFINITY }
        };
        squares.iter().enumerate().map(of).collect()
    }
}
