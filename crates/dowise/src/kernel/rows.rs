//! Row indices of tables over state factors and joint key values.

use super::CauseSpace;
use crate::Space;
use crate::world::{VarId, World};

/// Positions of the state factors among these variables, in the order of the state.
pub(crate) fn state_scope(world: &World, ids: &[VarId]) -> Vec<usize> {
    (0..world.state().len()).filter(|&i| ids.contains(&world.state()[i])).collect()
}

/// (factor, stride) pairs that map a state's digits to a row over some of its factors.
pub(crate) fn scope_strides(states: &Space, scope: &[usize]) -> Vec<(usize, usize)> {
    let sizes: Vec<usize> = scope.iter().map(|&f| states.sizes()[f]).collect();
    let space = Space::new(&sizes).expect("invariant: some state factors have no more values than all of them");
    scope.iter().copied().zip(space.strides().iter().copied()).collect()
}

/// For every row over the state factors in `scope` and all joint key values: the row of a table over `parents` (first
/// slowest).
pub(crate) fn rows_by_cause(world: &World, parents: &[VarId], scope: &[usize], causes: &CauseSpace) -> Vec<usize> {
    let table = Space::new(&world.sizes(parents)).expect("invariant: a world's tables are countable");
    let sizes: Vec<usize> = scope.iter().map(|&f| world.state_space().sizes()[f]).collect();
    let rows = Space::new(&sizes).expect("invariant: some state factors have no more values than all of them");
    let n_causes = causes.len();
    let mut out = Vec::with_capacity(rows.len() * n_causes);
    for row in 0..rows.len() {
        for c in 0..n_causes {
            let index = parents.iter().zip(table.strides()).map(|(id, stride)| {
                let digit = match scope.iter().position(|&f| world.state()[f] == *id) {
                    Some(p) => rows.digit(row, p),
                    None => {
                        let place = causes.variables().iter().position(|k| k == id);
                        causes.digit(c, place.expect("invariant: a parent is a state factor or a cause"))
                    }
                };
                digit * stride
            });
            out.push(index.sum());
        }
    }
    out
}
