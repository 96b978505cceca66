//! What interventions set off, whatever computes it.

use super::{Kernel, Scratch};
use crate::world::Action;

/// What interventions set off, one at a time: a kernel, or a list of interventions that are the causes themselves.
pub(crate) trait Effects: Sync {
    /// Number of causes.
    fn n_causes(&self) -> usize;

    /// Numbers into which an intervention is decoded.
    fn n_parts(&self) -> usize;

    /// Adds the parts of an intervention to `out`.
    fn decode(&self, action: Action, out: &mut Vec<u32>);

    /// What an intervention costs.
    fn cost(&self, action: Action) -> f64;

    /// Σ_c P(c | state, parts) · of(c) of a decoded intervention, costs left out; what is not known of P is taken as a search
    /// for the least sum takes it, at its best or at its worst. Only what is believed stage by stage depends on the stage.
    fn expect(&self, stage: usize, state: usize, parts: &[u32], of: &[f64], scratch: &mut Scratch) -> f64;
}

impl Effects for Kernel {
    fn n_causes(&self) -> usize {
        Kernel::n_causes(self)
    }

    fn n_parts(&self) -> usize {
        self.n_groups()
    }

    fn decode(&self, action: Action, out: &mut Vec<u32>) {
        Kernel::decode(self, action, out);
    }

    fn cost(&self, action: Action) -> f64 {
        self.interventions().cost(action)
    }

    fn expect(&self, _stage: usize, state: usize, parts: &[u32], of: &[f64], scratch: &mut Scratch) -> f64 {
        if self.is_certain() {
            Kernel::expect(self, state, parts, of, &mut scratch.values)
        } else {
            self.expect_member(state, parts, of, scratch)
        }
    }
}
