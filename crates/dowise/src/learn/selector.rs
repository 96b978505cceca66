//! Selection of interventions from the values of configurations: through a kernel, or from a list.

use std::sync::Arc;

use super::belief::PartsSelector;
use super::view::ActionList;
use crate::kernel::Effects;
use crate::kernel::{Found, Kernel, Scratch, Tie, WarmStart};
use crate::plan::Chooser;
use crate::world::Action;

/// Picks interventions from what causes are worth.
#[derive(Clone, Debug)]
pub(crate) enum Selector {
    /// Interventions are the causes.
    Listed(Arc<ActionList>),
    /// P(c | s, a) says what interventions set off.
    Kernel(Box<Kernel>),
    /// Next states take the place of causes, by components.
    Parts(Box<PartsSelector>),
}

impl Chooser for Selector {
    fn n_causes(&self) -> usize {
        match self {
            Selector::Listed(list) => Chooser::n_causes(&**list),
            Selector::Kernel(kernel) => kernel.n_causes(),
            Selector::Parts(parts) => parts.n_causes(),
        }
    }

    fn best(&self, stage: usize, state: usize, loss: &[f64], tolerance: f64, tie: Tie, scratch: &mut Scratch) -> Found {
        match self {
            Selector::Listed(list) => list.best(stage, state, loss, tolerance, tie, scratch),
            Selector::Kernel(kernel) => kernel.best(state, loss, tolerance, tie, scratch),
            Selector::Parts(parts) => parts.search(stage).best(state, loss, tolerance, tie, scratch),
        }
    }

    fn best_anchored(
        &self,
        stage: usize,
        state: usize,
        loss: &[f64],
        tolerance: f64,
        tie: Tie,
        anchor: &mut WarmStart,
        scratch: &mut Scratch,
    ) -> Found {
        match self {
            Selector::Listed(list) => list.best(stage, state, loss, tolerance, tie, scratch),
            Selector::Kernel(kernel) => kernel.best_anchored(state, loss, tolerance, tie, anchor, scratch),
            Selector::Parts(parts) => parts.search(stage).best(state, loss, tolerance, tie, scratch),
        }
    }
}

impl Effects for Selector {
    fn n_causes(&self) -> usize {
        Chooser::n_causes(self)
    }

    fn n_parts(&self) -> usize {
        match self {
            Selector::Listed(list) => list.n_parts(),
            Selector::Kernel(kernel) => kernel.n_parts(),
            Selector::Parts(parts) => parts.kernel.n_parts(),
        }
    }

    fn decode(&self, action: Action, out: &mut Vec<u32>) {
        match self {
            Selector::Listed(list) => list.decode(action, out),
            Selector::Kernel(kernel) => kernel.decode(action, out),
            Selector::Parts(parts) => parts.kernel.decode(action, out),
        }
    }

    fn cost(&self, action: Action) -> f64 {
        match self {
            Selector::Listed(list) => list.cost(action),
            Selector::Kernel(kernel) => kernel.cost(action),
            Selector::Parts(parts) => parts.kernel.cost(action),
        }
    }

    fn expect(&self, stage: usize, state: usize, parts: &[u32], of: &[f64], scratch: &mut Scratch) -> f64 {
        match self {
            Selector::Listed(list) => list.expect(stage, state, parts, of, scratch),
            Selector::Kernel(kernel) => Effects::expect(&**kernel, stage, state, parts, of, scratch),
            Selector::Parts(own) => own.expect(stage, state, parts, of, scratch),
        }
    }
}

impl Selector {
    /// Σ_c P(c | s, a) of(c) at a stage; by components, with what is paid, and what is not one number at its best.
    pub(crate) fn average(&self, stage: usize, state: usize, action: Action, of: &[f64]) -> f64 {
        match self {
            Selector::Listed(list) => of[list.rank(action)],
            Selector::Kernel(kernel) => {
                let mut prob = vec![0.0; of.len()];
                kernel.distribution(state, action, &mut prob);
                prob.iter().zip(of).map(|(p, x)| p * x).sum()
            }
            Selector::Parts(parts) => parts.worth(stage, state, action, of),
        }
    }

    /// The same, with what is not known of P(c | s, a) taken at its best.
    pub(crate) fn optimistic_value(&self, stage: usize, state: usize, action: Action, of: &[f64]) -> f64 {
        match self {
            Selector::Kernel(kernel) if !kernel.is_certain() => kernel.optimistic_value(state, action, of),
            Selector::Kernel(_) | Selector::Listed(_) | Selector::Parts(_) => self.average(stage, state, action, of),
        }
    }
}
