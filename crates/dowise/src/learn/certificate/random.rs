//! The uniformly random policy as a reference: it does not depend on the data.
//!
//! Its value is a fixed function, so the narrow sets of `difference.rs` hold for it. If its effects are known exactly,
//! other policies are compared with it configuration by configuration.

use super::difference::{Difference, raise};
use super::step::{Effect, sparse};
use crate::learn::selector::Selector;
use crate::plan::{Buffers, Chooser, FollowMixed, Plan, Ties, backward_induction};

/// Effects of the random policy, and bounds on its value.
pub(super) struct AtRandom {
    /// `[state]`, the same at all stages.
    pub(super) effects: Vec<Effect>,
    /// `[stage][state]`
    pub(super) up: Vec<f64>,
    pub(super) low: Vec<f64>,
}

impl Difference<'_> {
    /// The effect of the random policy in a state, if known.
    pub(super) fn random_effect(&self, state: usize) -> &Effect {
        &self.random.as_ref().expect("invariant: only policies that are there are compared with").effects[state]
    }

    /// The random policy with bounds on its value, if its effects are known exactly.
    pub(super) fn at_random(&mut self) -> Option<AtRandom> {
        let (n, n_causes) = (self.up.n_states, self.best_selector.n_causes());
        let follow = match &self.best_selector {
            Selector::Kernel(kernel) => {
                let random = kernel.is_certain().then(|| kernel.at_random()).filter(|random| random.exact)?;
                FollowMixed { n_states: n, n_causes, prob: random.prob_sc, cost: random.cost_s }
            }
            Selector::Parts(_) => return None,
            Selector::Listed(_) => {
                let corners = self.corners.as_ref()?;
                let (mut prob, mut cost) = (vec![0.0; n * n_causes], vec![0.0; n]);
                for (state, effects) in corners.iter().enumerate() {
                    let share = 1.0 / effects.len() as f64;
                    for effect in effects {
                        cost[state] += share * effect.cost;
                        effect.at.iter().for_each(|&(c, p)| prob[state * n_causes + c as usize] += share * p);
                    }
                }
                FollowMixed { n_states: n, n_causes, prob, cost }
            }
        };
        let [up, mut low] = [&mut self.best, &mut self.worst].map(|belief| {
            let mut plan = Plan::new(self.up.horizon, n);
            backward_induction(belief, &follow, 0.0, Ties::First, &mut Buffers::default(), &mut plan);
            plan.value_hs
        });
        raise(&mut low, &self.floors, n);
        let rows = follow.prob.chunks_exact(n_causes).zip(&follow.cost);
        let effects = rows.map(|(prob, &cost)| Effect { cost, at: sparse(prob) }).collect();
        Some(AtRandom { effects, up, low })
    }
}
