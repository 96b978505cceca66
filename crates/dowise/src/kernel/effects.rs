//! Interface to the effects of interventions, P(c | s, do(a)), independent of their computation.

use super::{Kernel, Scratch};
use crate::world::Action;

/// Effects of single interventions: a kernel, or a list of interventions that are the configurations themselves.
pub(crate) trait Effects: Sync {
    /// Number of joint key values.
    fn n_causes(&self) -> usize;

    /// Numbers into which an intervention is decoded.
    fn n_parts(&self) -> usize;

    /// Appends the parts of an intervention to `out`.
    fn decode(&self, action: Action, out: &mut Vec<u32>);

    /// Cost of an intervention.
    fn cost(&self, action: Action) -> f64;

    /// Σ_c P(c | state, parts) · of(c) of a decoded intervention, without costs. Uncertain P takes the member that the
    /// search uses, optimistic or pessimistic. The stage matters only for stage-dependent beliefs.
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
