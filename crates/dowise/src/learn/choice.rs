//! How a learner picks interventions from what causes are worth: through a kernel, or from a list.

use super::actions::ActionList;
use crate::kernel::{Anchor, Kernel, Scratch, Tie};
use crate::plan::Chooser;
use crate::world::Action;

/// Picks interventions from what causes are worth.
#[derive(Clone, Debug)]
pub(crate) enum Choice {
    Actions(ActionList),
    Keys(Box<Kernel>),
}

impl Chooser for Choice {
    fn n_causes(&self) -> usize {
        match self {
            Choice::Actions(list) => list.n_causes(),
            Choice::Keys(kernel) => kernel.n_causes(),
        }
    }

    fn best(&self, state: usize, loss: &[f64], tolerance: f64, tie: Tie, scratch: &mut Scratch) -> (f64, Action) {
        match self {
            Choice::Actions(list) => list.best(state, loss, tolerance, tie, scratch),
            Choice::Keys(kernel) => kernel.best(state, loss, tolerance, tie, scratch),
        }
    }

    fn best_anchored(
        &self,
        state: usize,
        loss: &[f64],
        tolerance: f64,
        tie: Tie,
        anchor: &mut Anchor,
        scratch: &mut Scratch,
    ) -> (f64, Action) {
        match self {
            Choice::Actions(list) => list.best(state, loss, tolerance, tie, scratch),
            Choice::Keys(kernel) => kernel.best_anchored(state, loss, tolerance, tie, anchor, scratch),
        }
    }
}
