//! Near ties of exact plans, settled at the scale of their own state.
//!
//! Ties are settled within a share of what a whole episode can be worth. Among a million states some hold two interventions that
//! are nearer to each other than that and yet differ by more than is good for a state of a smaller value. Those states alone
//! are searched again.

use super::Chooser;
use super::per_state_scale::GOOD_CHOICE;
use crate::kernel::{Found, Kernel, Scratch, Tie};

/// Times the size of what is added up, what rounding can have made of a sum of a search, and more.
const ROUNDING: f64 = 64.0 * f64::EPSILON;

/// Picks interventions by a kernel; of ties that are none at the scale of a state, the better one.
pub(super) struct NearTies<'a> {
    pub(super) kernel: &'a Kernel,
    /// What losses are measured from, stage by stage.
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
        // Where values are so small beside the cap that rounding would settle it, `careful` does.
        if found.chosen - found.least <= good || ROUNDING * (cap.abs() + found.least.abs()) > good {
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
                // Every cause is worth about 1, the last one a little more, and the first a little less.
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
