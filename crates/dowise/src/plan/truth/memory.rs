//! Memory of exact planning: its bound in bytes before anything is computed.

use super::layout::{contraction, is_split};
use super::{Planner, is_enumerable};
use crate::kernel::{CauseSpace, Components, Kernel, Sure};
use crate::memory::Held;
use crate::plan::PlanError;
use crate::plan::follow::MOST_REMEMBERED;
use crate::world::{Continuation, World};

impl Planner {
    /// Bytes that planning in a world takes at most, known before anything is computed: kernel, tables by cause or by
    /// part, one plan, and what is held while it is made or its policy evaluated.
    pub fn bytes(world: &World) -> u128 {
        if is_split(world) { Planner::bytes_split(world) } else { Planner::bytes_joint(world) }
    }

    /// The same by components.
    pub(super) fn bytes_split(world: &World) -> u128 {
        let entries = (world.horizon() as u128 + 1).saturating_mul(world.n_states() as u128);
        let differ = entries.min(u128::from(world.interventions().count()));
        // Values and policy, of a plan that is made again those of both, or what its policy is worth and how large that
        // is; while it is made or evaluated, one row of next values and what a search holds of it for each part, on
        // every thread; the interventions of a policy.
        let row = world.n_states() as u128 * 8 * (4 + world.state().len() as u128);
        let threads = rayon::current_num_threads() as u128;
        (entries.saturating_mul(6 * 8))
            .saturating_add(threads.saturating_mul(row))
            .saturating_add(evaluation_bytes(world, differ))
            .saturating_add(Components::bytes(world, Sure::Numbers))
            .saturating_add(Kernel::bytes(world))
    }

    /// The same over joint causes.
    pub(super) fn bytes_joint(world: &World) -> u128 {
        let (n_states, n_causes) = (world.n_states() as u128, CauseSpace::new(world).len() as u128);
        let cells = n_states.saturating_mul(n_causes);
        let (largest, tables) = match world.low_rank() {
            // A place for each state and cause; weights and anchors are the world's.
            Some(_) => (cells, (n_states + n_causes) / 2 + 1),
            None => joint_tables(world, n_causes as usize),
        };
        let entries = (world.horizon() as u128 + 1).saturating_mul(n_states);
        // While a plan is made: q and two intermediate arrays, and a size and a flag for every state.
        let making = cells.saturating_add(2 * largest).saturating_mul(8).saturating_add(9 * n_states);
        // What next states are worth, where that is not their value.
        let making = making.saturating_add(if Continuation::of(world).is_some() { 17 * n_states } else { 0 });
        // While it is evaluated: a second array of values, and the interventions that were found to be allowed.
        let differ = entries.min(u128::from(world.interventions().count()));
        let evaluating =
            evaluation_bytes(world, differ).saturating_add(entries.saturating_mul(8)).saturating_add(32 * differ);
        // Rewards and tables; values and policy for every stage.
        let kept = cells.saturating_add(tables).saturating_add(entries.saturating_mul(2)).saturating_mul(8);
        kept.saturating_add(making.max(evaluating)).saturating_add(Kernel::bytes(world))
    }

    /// Bytes that evaluating policies one after the other takes at most, besides the planner.
    pub(crate) fn evaluation_bytes(world: &World) -> u128 {
        let most = (world.n_states() + MOST_REMEMBERED) as u128;
        evaluation_bytes(world, most.min(u128::from(world.interventions().count())))
    }

    /// Bytes that a judge of policies takes besides.
    pub(crate) fn own_judge_bytes(&self) -> u128 {
        self.evaluation_bytes
    }

    /// Holds memory, or says that a plan would not fit.
    pub(crate) fn ask(world: &World, bytes: u128) -> Result<Held, PlanError> {
        is_enumerable(world)?;
        Held::ask(bytes).map_err(|left| PlanError::TooLarge {
            bytes,
            n_states: world.n_states(),
            n_causes: CauseSpace::new(world).len(),
            limit: u128::from(left),
            part: Components::too_large(world, Sure::Numbers),
        })
    }
}

/// Bytes of an evaluation in which this many different interventions are met with.
fn evaluation_bytes(world: &World, interventions: u128) -> u128 {
    let (n_states, horizon) = (world.n_states() as u128, world.horizon() as u128);
    let n_causes = CauseSpace::new(world).len();
    let largest = match (is_split(world), world.low_rank()) {
        (true, _) => world.n_states(),
        (false, Some(_)) => world.n_states() * n_causes,
        (false, None) => contraction(world, n_causes).0.largest(),
    };
    // Two arrays over states and causes, the values, the policy evaluated last, and where each of its entries was
    // decoded.
    let arrays = (16 * largest as u128).saturating_add(n_states.saturating_mul(20 * horizon + 8));
    // A hash map and three lists that grow by doubling; an intervention has a part for every group.
    let parts = 12 * crate::kernel::groups::groups(world).len() as u128;
    arrays.saturating_add(interventions.saturating_mul(88 + parts))
}

/// Numbers of the largest array while transitions are marginalised out, and of all their tables by cause.
fn joint_tables(world: &World, n_causes: usize) -> (u128, u128) {
    let (contraction, scopes) = contraction(world, n_causes);
    let tables = world.transitions().iter().zip(&scopes).fold(0u128, |sum, (m, scope)| {
        let rows = scope.iter().map(|&f| world.state_space().sizes()[f] as u128).product::<u128>();
        let values = world.variable(m.children[0]).size() as u128;
        sum.saturating_add(rows.saturating_mul(n_causes as u128).saturating_mul(values))
    });
    (contraction.largest() as u128, tables)
}
