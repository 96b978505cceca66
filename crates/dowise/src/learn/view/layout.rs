//! Table layouts: the row of each factor's counts for a state and a configuration, for every view of a world.

use std::ops::Range;
use std::sync::Arc;

use super::payments::needs;
use super::row_of::RowOf;
use crate::Space;
use crate::kernel::CauseSpace;
use crate::kernel::{rows_by_cause, scope_strides, state_scope};
use crate::learn::options::{Causes, States};
use crate::learn::{LearnError, LearnResult};
use crate::world::World;

/// Sizes and rows of all counted tables.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) horizon: usize,
    /// One axis for each counted factor: states keep the numbers of the world, since only neighbours are joined.
    pub(crate) state_space: Space,
    pub(crate) n_causes: usize,
    pub(crate) factors: Vec<FactorLayout>,
    /// Whether there is one factor for the whole state and every configuration.
    pub(crate) flat: bool,
    /// For each state factor: the factors whose state rows depend on its value, with strides.
    moves: Vec<Vec<(usize, usize)>>,
}

/// Buffers of [`Layout::for_each_state`], kept between calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Walk {
    rows: Vec<usize>,
    digits: Vec<usize>,
}

/// Rows of one factor.
#[derive(Clone, Debug)]
pub(crate) struct FactorLayout {
    /// Axis of the layout's state space; `None` for the whole state.
    pub(crate) factor: Option<usize>,
    /// Positions of the world's state factors whose next values are counted jointly: one, unless some were joined.
    pub(crate) members: Range<usize>,
    /// Number of counted values (S_i, or S).
    pub(crate) n_values: usize,
    /// (axis of the layout's state space, stride): the state row is the sum of value times stride (s\[I_i\]).
    pub(crate) scope: Vec<(usize, usize)>,
    /// Number of state rows (S\[I_i\]).
    pub(crate) n_state_rows: usize,
    /// Count row of `[state row][cause]`; without it, their own numbering.
    count_row: Option<Vec<u32>>,
    /// For joint key values too many to enumerate: the count row as a function of the state row and the configuration.
    computed: Option<RowOf>,
    /// If several state rows and configurations share a count row: the cells of each row, and their offsets.
    shared: Option<(Vec<u32>, Vec<u32>)>,
    /// Number of count rows; none for a known transition.
    pub(crate) n_rows: usize,
    /// Positions of the key variables that a row depends on, as bits.
    pub(crate) needs: u64,
    /// The transition, if known: `[state row][value][cause]`; for computed rows, `[row][value]`.
    pub(crate) known: Option<Arc<[f64]>>,
}

impl FactorLayout {
    /// Rows of the state factor at a position, by its own parents alone, computed on demand.
    fn computed(world: &World, key_causes: &CauseSpace, i: usize) -> FactorLayout {
        let space = world.state_space();
        let transition = &world.transitions()[i];
        let parents = &transition.parents;
        let scope = scope_strides(space, &state_scope(world, parents));
        let rows = RowOf::new(world, key_causes, parents, &scope);
        FactorLayout {
            factor: Some(i),
            members: i..i + 1,
            n_values: space.sizes()[i],
            n_state_rows: scope.first().map_or(1, |&(f, stride)| stride * space.sizes()[f]),
            count_row: None,
            shared: None,
            n_rows: if transition.table.is_some() { 0 } else { rows.len() },
            computed: Some(rows),
            needs: needs(key_causes, parents),
            known: transition.table.clone(),
            scope,
        }
    }

    /// Rows of the factor on an axis of `space`, which has one for each of `blocks`.
    fn new(
        world: &World,
        (space, blocks): (&Space, &[Range<usize>]),
        key_causes: &CauseSpace,
        causes: Causes,
        n_causes: usize,
        i: usize,
    ) -> LearnResult<FactorLayout> {
        // Factors that were joined have the same parents.
        let transition = &world.transitions()[blocks[i].start];
        let parents = &transition.parents;
        let positions = state_scope(world, parents);
        let touched = |block: &Range<usize>| positions.iter().any(|f| block.contains(f));
        let axes: Vec<usize> = (0..blocks.len()).filter(|&b| touched(&blocks[b])).collect();
        let scope = scope_strides(space, &axes);
        let n_state_rows = scope.first().map_or(1, |&(f, stride)| stride * space.sizes()[f]);
        let n_values = space.sizes()[i];
        let own = needs(key_causes, parents);
        let single = single_rows(world, blocks, &axes, &positions);
        // From cells of rows over single factors to those of rows over blocks.
        let widened = |cells: Vec<usize>| match &single {
            None => cells,
            Some(rows) => rows.iter().flat_map(|r| &cells[r * n_causes..][..n_causes]).copied().collect(),
        };
        let mut layout = FactorLayout {
            factor: Some(i),
            members: blocks[i].clone(),
            n_values,
            scope,
            n_state_rows,
            count_row: None,
            computed: None,
            shared: None,
            n_rows: n_state_rows * n_causes,
            needs: match causes {
                Causes::Actions => 0,
                Causes::Keys => u64::MAX,
                Causes::OwnKeys => own,
            },
            known: None,
        };
        if let Some(table) = transition.table.as_deref() {
            // A row of the table for each state row and configuration; the same for all interventions if no key
            // variable matters.
            let rows: Vec<usize> = match causes {
                Causes::Keys | Causes::OwnKeys => widened(rows_by_cause(world, parents, &positions, key_causes)),
                Causes::Actions if own == 0 => {
                    let of_state = rows_by_cause(world, parents, &positions, key_causes);
                    widened(of_state.into_iter().step_by(key_causes.len()).flat_map(|r| vec![r; n_causes]).collect())
                }
                Causes::Actions => {
                    let factor = world.variable(world.state()[blocks[i].start]).name.clone();
                    return Err(LearnError::KnownNeedsKeys { factor });
                }
            };
            let cell = |at: usize| {
                let (row, v, cause) = (at / n_causes / n_values, at / n_causes % n_values, at % n_causes);
                table[rows[row * n_causes + cause] * n_values + v]
            };
            layout.known = Some((0..n_state_rows * n_values * n_causes).map(cell).collect());
            layout.n_rows = 0;
        } else if causes == Causes::OwnKeys || single.is_some() {
            let rows = widened(match causes {
                Causes::OwnKeys => rows_by_cause(world, parents, &positions, key_causes),
                Causes::Keys | Causes::Actions => {
                    let n_rows = positions.iter().map(|&f| world.state_space().sizes()[f]).product::<usize>();
                    (0..n_rows * n_causes).collect()
                }
            });
            layout.n_rows = rows.iter().max().map_or(0, |m| m + 1);
            if rows.iter().enumerate().any(|(cell, &row)| row != cell) {
                let rows: Vec<u32> = rows.into_iter().map(|r| r as u32).collect();
                layout.shared = Some(invert(&rows, layout.n_rows));
                layout.count_row = Some(rows);
            }
        }
        Ok(layout)
    }

    #[inline]
    pub(crate) fn state_row(&self, states: &Space, state: usize) -> usize {
        match self.factor {
            None => state,
            Some(_) => self.scope.iter().map(|&(f, stride)| states.digit(state, f) * stride).sum(),
        }
    }

    pub(crate) fn row(&self, state_row: usize, cause: usize, n_causes: usize) -> usize {
        if let Some(rows) = &self.computed {
            return rows.row(state_row, cause);
        }
        let cell = state_row * n_causes + cause;
        self.count_row.as_ref().map_or(cell, |rows| rows[cell] as usize)
    }

    /// A state row and a configuration that a row counts. All of them agree on the parents of the row.
    pub(crate) fn of_row(&self, row: usize, n_causes: usize) -> (usize, usize) {
        if let Some(rows) = &self.computed {
            return rows.of_row(row);
        }
        let mut cell = row;
        self.for_each_cell(row, |of| cell = of);
        (cell / n_causes, cell % n_causes)
    }

    /// Count row of `[state row][cause]`; `None` for their own numbering.
    pub(crate) fn rows_of_cells(&self) -> Option<&[u32]> {
        self.count_row.as_deref()
    }

    /// Whether several state rows and configurations share a count row.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Calls `visit(cell)` for every cell (state row times causes plus cause) of a count row.
    pub(crate) fn for_each_cell(&self, row: usize, mut visit: impl FnMut(usize)) {
        match &self.shared {
            None => visit(row),
            Some((cells, first)) => {
                cells[first[row] as usize..first[row + 1] as usize].iter().for_each(|&cell| visit(cell as usize));
            }
        }
    }

    /// The counted value of a next state.
    #[inline]
    pub(crate) fn value(&self, states: &Space, next_state: usize) -> usize {
        self.factor.map_or(next_state, |f| states.digit(next_state, f))
    }
}

impl Layout {
    /// Number of counters of a layout, computed without building it.
    pub(crate) fn counters(
        world: &World,
        key_causes: &CauseSpace,
        states: States,
        causes: Causes,
        n_actions: usize,
    ) -> u128 {
        let n_causes = if causes == Causes::Actions { n_actions } else { key_causes.len() } as u128;
        let n_states = world.n_states() as u128;
        let product = |sizes: Vec<usize>| sizes.iter().fold(1u128, |n, &size| n.saturating_mul(size as u128));
        match states {
            States::Flat => n_states.saturating_mul(n_states).saturating_mul(n_causes),
            States::Factored => (blocks(world).into_iter())
                .filter(|block| world.transitions()[block.start].table.is_none())
                .map(|block| {
                    let parents = &world.transitions()[block.start].parents;
                    let state: Vec<_> = state_scope(world, parents).iter().map(|&f| world.state()[f]).collect();
                    let rows = match causes {
                        Causes::OwnKeys => product(world.sizes(parents)),
                        Causes::Keys | Causes::Actions => product(world.sizes(&state)).saturating_mul(n_causes),
                    };
                    block.fold(rows, |n, i| n.saturating_mul(world.state_space().sizes()[i] as u128))
                })
                .fold(0, u128::saturating_add),
        }
    }

    /// Rows by the own parents of every factor, without a table over joint key values.
    pub(crate) fn computed(world: &World, key_causes: &CauseSpace) -> Layout {
        let space = world.state_space().clone();
        let factors = (0..space.n_axes()).map(|i| FactorLayout::computed(world, key_causes, i)).collect();
        Layout::of_factors(world, space, key_causes.len(), factors, false)
    }

    /// `key_causes` numbers the configurations, unless they are the `n_actions` interventions.
    pub(crate) fn new(
        world: &World,
        key_causes: &CauseSpace,
        states: States,
        causes: Causes,
        n_actions: usize,
    ) -> LearnResult<Layout> {
        let blocks = blocks(world);
        let sizes = |block: &Range<usize>| world.state_space().sizes()[block.clone()].iter().product();
        let space = Space::new(&blocks.iter().map(sizes).collect::<Vec<usize>>());
        let space = space.expect("invariant: as many as the states of the world");
        let n_causes = if causes == Causes::Actions { n_actions } else { key_causes.len() };
        let name = |i: usize| world.variable(world.state()[i]).name.clone();
        let factors: Vec<FactorLayout> = match states {
            States::Flat => {
                if let Some(i) = (0..world.state().len()).find(|&i| world.transitions()[i].table.is_some()) {
                    let factor = name(i);
                    return Err(match world.time_index() == Some(world.state()[i]) {
                        true => LearnError::StageNeedsFactors { factor },
                        false => LearnError::KnownNeedsFactors { factor },
                    });
                }
                let scope = (0..space.n_axes()).zip(space.strides().iter().copied()).collect();
                let n = space.len();
                vec![FactorLayout {
                    factor: None,
                    members: 0..world.state().len(),
                    n_values: n,
                    scope,
                    n_state_rows: n,
                    count_row: None,
                    computed: None,
                    shared: None,
                    n_rows: n * n_causes,
                    needs: if causes == Causes::Actions { 0 } else { u64::MAX },
                    known: None,
                }]
            }
            States::Factored => (0..space.n_axes())
                .map(|i| FactorLayout::new(world, (&space, &blocks), key_causes, causes, n_causes, i))
                .collect::<LearnResult<_>>()?,
        };
        Ok(Layout::of_factors(world, space, n_causes, factors, states == States::Flat))
    }

    fn of_factors(world: &World, space: Space, n_causes: usize, factors: Vec<FactorLayout>, flat: bool) -> Layout {
        let moves = (0..space.n_axes())
            .map(|digit| {
                let scopes = factors.iter().enumerate();
                let own = |(i, f): (usize, &FactorLayout)| {
                    f.scope.iter().filter(|(d, _)| *d == digit).map(|(_, stride)| (i, *stride)).collect::<Vec<_>>()
                };
                scopes.flat_map(own).collect()
            })
            .collect();
        Layout { horizon: world.horizon(), state_space: space, n_causes, factors, flat, moves }
    }

    pub(crate) fn n_states(&self) -> usize {
        self.state_space.len()
    }

    /// Number of cells to learn: count rows of all factors.
    pub(crate) fn cells(&self) -> usize {
        self.factors.iter().map(|f| f.n_rows).sum()
    }

    /// Calls `visit(state, state rows of all factors)` for every state in order, updating rows digit by digit.
    pub(crate) fn for_each_state(&self, walk: &mut Walk, mut visit: impl FnMut(usize, &[usize])) {
        let Walk { rows, digits } = walk;
        let sizes = self.state_space.sizes();
        rows.clear();
        rows.resize(self.factors.len(), 0);
        digits.clear();
        digits.resize(sizes.len(), 0);
        for s in 0..self.n_states() {
            visit(s, rows);
            for d in (0..sizes.len()).rev() {
                digits[d] += 1;
                if digits[d] < sizes[d] {
                    self.moves[d].iter().for_each(|&(i, stride)| rows[i] += stride);
                    break;
                }
                self.moves[d].iter().for_each(|&(i, stride)| rows[i] -= stride * (sizes[d] - 1));
                digits[d] = 0;
            }
        }
    }
}

/// Positions of the state factors whose next values are counted jointly, in order: each alone unless joined.
pub(crate) fn blocks(world: &World) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    for i in 0..world.state().len() {
        let block = world.joined.iter().find(|block| block.contains(&i)).cloned().unwrap_or(i..i + 1);
        if out.last() != Some(&block) {
            out.push(block);
        }
    }
    out
}

/// The row over single factors for each row over the blocks of some axes; `None` if these are the same.
fn single_rows(world: &World, blocks: &[Range<usize>], axes: &[usize], factors: &[usize]) -> Option<Vec<usize>> {
    if axes.iter().all(|&axis| blocks[axis].len() == 1) {
        return None;
    }
    // The members of a block follow each other, the first slowest, as its values do.
    let members: Vec<usize> = axes.iter().flat_map(|&axis| blocks[axis].clone()).collect();
    let sizes: Vec<usize> = members.iter().map(|&f| world.state_space().sizes()[f]).collect();
    let rows = Space::new(&sizes).expect("invariant: some state factors have no more values than all of them");
    let strides = scope_strides(world.state_space(), factors);
    let axis = |f: usize| members.iter().position(|&m| m == f).expect("invariant: every factor is in a block");
    let axes: Vec<(usize, usize)> = strides.into_iter().map(|(f, stride)| (axis(f), stride)).collect();
    Some((0..rows.len()).map(|row| axes.iter().map(|&(axis, stride)| rows.digit(row, axis) * stride).sum()).collect())
}

/// For each row its cells: all cells by row, and the offset of each row.
fn invert(rows: &[u32], n_rows: usize) -> (Vec<u32>, Vec<u32>) {
    let mut cells: Vec<u32> = (0..rows.len() as u32).collect();
    cells.sort_by_key(|&cell| rows[cell as usize]);
    let mut first = vec![0u32; n_rows + 1];
    rows.iter().for_each(|&row| first[row as usize + 1] += 1);
    for row in 0..n_rows {
        first[row + 1] += first[row];
    }
    (cells, first)
}
