//! Computed table rows as a function of a state row and a configuration, for joint key values too many to enumerate.

use crate::Space;
use crate::kernel::CauseSpace;
use crate::world::{VarId, World};

/// The row of a table over some variables for a state row and a configuration.
#[derive(Clone, Debug)]
pub(crate) struct RowOf {
    adds: Vec<Adds>,
    n_rows: usize,
}

/// Contribution of a digit of a state row or of a configuration to the row.
#[derive(Clone, Copy, Debug)]
struct Adds {
    of_cause: bool,
    divisor: usize,
    size: usize,
    stride: usize,
}

impl RowOf {
    /// Rows over the variables `ids`, the last one fastest; `scope` has the state factors among them with their
    /// strides in a state row.
    pub(super) fn new(world: &World, key_causes: &CauseSpace, ids: &[VarId], scope: &[(usize, usize)]) -> RowOf {
        let table = Space::new(&world.sizes(ids)).expect("invariant: a world's tables are countable");
        let digits = ids.iter().zip(table.strides()).zip(table.sizes());
        let adds = digits.map(|((id, &stride), &size)| {
            let of_state = scope.iter().find(|(f, _)| world.state()[*f] == *id);
            let divisor = of_state.map_or_else(|| key_causes.stride(*id), |&(_, divisor)| divisor);
            Adds { of_cause: of_state.is_none(), divisor, size, stride }
        });
        RowOf { adds: adds.collect(), n_rows: table.len() }
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.n_rows
    }

    pub(super) fn row(&self, state_row: usize, cause: usize) -> usize {
        let digit = |a: &Adds| (if a.of_cause { cause } else { state_row }) / a.divisor % a.size;
        self.adds.iter().map(|a| digit(a) * a.stride).sum()
    }

    /// A state row and a configuration of a row.
    pub(super) fn of_row(&self, row: usize) -> (usize, usize) {
        self.adds.iter().fold((0, 0), |(state_row, cause), a| {
            let more = row / a.stride % a.size * a.divisor;
            if a.of_cause { (state_row, cause + more) } else { (state_row + more, cause) }
        })
    }
}
