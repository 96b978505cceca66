//! Near ties of exact plans, resolved at the scale of each state.
//!
//! The usual tolerance is a share of an episode's largest value. In a state of much smaller value, two interventions
//! within it may still differ relevantly. Only such states are searched again.

use super::Chooser;
use super::per_state_scale::GOOD_CHOICE;
use crate::kernel::{Found, Kernel, Scratch, Tie};
use crate::tolerance::SEARCH_SUM;

/// Selects interventions with a kernel; resolves ties that are not ties at the scale of the state.
pub(super) struct NearTies<'a> {
    pub(super) kernel: &'a Kernel,
    /// Reference of the losses, stage by stage.
    pub(super) caps: Vec<f64>,
}

impl Chooser for NearTies<'_> {
    fn n_causes(&self) -> usize {
        self.kernel.n_causes()
    }

    fn best(&self, stage: usize, state: usize, loss: &[f64], tolerance: f64, tie: Tie, scratch: &mut Scratch) -> Found {
        let found = self.kernel.best(state, loss, tolerance, tie, scratch);
        let cap = self.caps[stage];
        let good = GOOD_CHOICE * (cap - found.least).abs();
        // If rounding relative to the cap would decide, `per_state_scale` takes over.
        if found.chosen - found.least <= good || SEARCH_SUM * (cap.abs() + found.least.abs()) > good {
            return found;
        }
        self.kernel.best(state, loss, good, tie, scratch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worlds::ManyLevers;
    use crate::{Planner, World};

    #[test]
    fn of_near_ties_the_better_one_is_chosen_and_true_ties_go_to_the_first() {
        let world = World::new(ManyLevers { factors: 3, ..ManyLevers::default() }.spec().unwrap()).unwrap();
        let planner = Planner::new(&world).unwrap();
        let kernel = planner.kernel();
        let mut scratch = Scratch::default();
        let near = NearTies { kernel, caps: vec![2.0] };
        let mut settled = 0;
        for state in 0..kernel.n_states() {
            for size in [1e-10, 1e-11, 0.0] {
                // All joint key values are worth about 1, the last slightly more, the first slightly less.
                let mut loss = vec![1.0; kernel.n_causes()];
                loss[0] += size;
                *loss.last_mut().unwrap() -= size;
                let tolerance = 1e-9;
                let wide = kernel.best(state, &loss, tolerance, Tie::First, &mut scratch);
                let found = near.best(0, state, &loss, tolerance, Tie::First, &mut scratch);
                if size == 0.0 {
                    assert_eq!(found, wide);
                } else {
                    assert!(found.chosen - found.least <= GOOD_CHOICE, "{found:?}");
                    settled += usize::from(found.action != wide.action);
                }
            }
        }
        assert!(settled > 0, "some near tie was settled the other way");
    }
}
