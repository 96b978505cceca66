//! Decomposed planning: exact plans of worlds with independent components; one row of next values serves every state.

use std::sync::Arc;

use crate::kernel::{Acting, Components, Kernel, Next, Numbers, Reach};
use crate::world::World;

/// Multiplications allowed for pruning: about a tenth of a second.
const PRUNING: i64 = 200_000_000;

/// A world laid out by components.
#[derive(Clone, Debug)]
pub(super) struct Split {
    components: Components,
    /// Tables of the state factors, `[row][value]`.
    next: Vec<Arc<[f64]>>,
    /// Tables of the reward terms.
    rewards: Vec<Arc<[f64]>>,
    /// Finds the optimal intervention; its configurations are joint next values.
    search: Kernel,
}

impl Split {
    /// Lays out a known, decomposable world, with the kernel of its interventions.
    pub(super) fn new(world: &World, kernel: &Kernel) -> Split {
        let components = Components::new(world);
        let known =
            |table: &Option<Arc<[f64]>>| table.clone().expect("invariant: a planner is made only of known tables");
        let next: Vec<Arc<[f64]>> = world.transitions().iter().map(|m| known(&m.table)).collect();
        let rewards: Vec<Arc<[f64]>> = components.reward_terms().iter().map(|term| known(&term.table)).collect();
        let exact: Vec<Next<'_>> = next.iter().map(|table| Next::Exact(table)).collect();
        let of_terms: Vec<&[f64]> = rewards.iter().map(|table| &table[..]).collect();
        let numbers = Numbers { next: &exact, rewards: &of_terms };
        let search = components.kernel(kernel, &Reach::new(&components, kernel), numbers, PRUNING);
        Split { components, next, rewards, search }
    }

    /// Finds the optimal intervention from values of next states.
    pub(super) fn search(&self) -> &Kernel {
        &self.search
    }

    /// Number of components with levers.
    pub(super) fn n_parts(&self) -> usize {
        self.components.n_parts()
    }

    /// Expected values of given interventions, from rewards or from their absolute values.
    pub(super) fn acting<'a>(&'a self, kernel: &'a Kernel, sizes: bool) -> Acting<'a> {
        Acting {
            components: &self.components,
            kernel,
            next: self.next.iter().map(|table| &table[..]).collect(),
            rewards: self.rewards.iter().map(|table| &table[..]).collect(),
            sizes,
        }
    }

    /// Values of next states, in the order that the search needs.
    pub(super) fn arrange(&self, worth_s: &[f64], out: &mut Vec<f64>) {
        self.components.arrange(worth_s, out);
    }

    /// The state of each joint next value.
    pub(super) fn states(&self) -> &[u32] {
        self.components.states()
    }
}
