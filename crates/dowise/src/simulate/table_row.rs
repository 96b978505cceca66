//! Row indices of mechanism tables, and sampling from their rows.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::world::{Mechanism, VarId, World};

/// Row index in a table: for each parent, its variable index and stride.
#[derive(Clone, Debug)]
pub(super) struct TableRow(Vec<(usize, usize)>);

impl TableRow {
    pub(super) fn new(world: &World, ids: &[VarId]) -> TableRow {
        let mut stride = 1;
        let mut of: Vec<(usize, usize)> = Vec::with_capacity(ids.len());
        for id in ids.iter().rev() {
            of.push((id.ix(), stride));
            stride *= world.variable(*id).size();
        }
        TableRow(of)
    }

    pub(super) fn of(&self, values: &[u32]) -> usize {
        self.0.iter().map(|&(id, stride)| values[id] as usize * stride).sum()
    }
}

/// Row index of next values: for each, its stride and size in the state.
#[derive(Clone, Debug)]
pub(super) struct NextRow(Vec<(usize, usize)>);

impl NextRow {
    pub(super) fn new(world: &World, ids: &[VarId]) -> NextRow {
        let space = world.state_space();
        let axis = |&id: &VarId| world.state_axis(id);
        NextRow(ids.iter().map(axis).map(|f| (space.strides()[f], space.sizes()[f])).collect())
    }

    /// The row index, given that of the present part and the next state.
    pub(super) fn of(&self, present: usize, next_state: usize) -> usize {
        self.0.iter().fold(present, |row, &(stride, size)| row * size + next_state / stride % size)
    }
}

/// Precomputed data for sampling from a mechanism.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    place: TableRow,
    /// Indices and sizes of its children, last first.
    pub(super) children: Vec<(usize, usize)>,
    /// Values of a row.
    n: usize,
    /// The levers among its children, as bits: if one is set, nothing is sampled.
    pub(super) levers: u64,
}

impl Drawn {
    pub(super) fn new(world: &World, m: &Mechanism) -> Drawn {
        let place_of = |id: &VarId| world.levers().iter().position(|l| l == id);
        let children: Vec<(usize, usize)> =
            m.children.iter().rev().map(|id| (id.ix(), world.variable(*id).size())).collect();
        Drawn {
            place: TableRow::new(world, &m.parents),
            n: children.iter().map(|(_, size)| size).product(),
            children,
            levers: m.children.iter().filter_map(place_of).fold(0, |bits, lever| bits | 1 << lever),
        }
    }

    /// Samples joint values of the children, given the values of the parents.
    pub(super) fn draw(&self, m: &Mechanism, values: &[u32], rng: &mut ChaCha8Rng) -> usize {
        let table = m.table.as_deref().expect("invariant: a simulator is made only of known tables");
        draw_from(&table[self.place.of(values) * self.n..][..self.n], rng)
    }
}

/// Samples an index with these probabilities.
pub(super) fn draw(probabilities: impl Iterator<Item = f64>, rng: &mut ChaCha8Rng) -> usize {
    let mut left: f64 = rng.random();
    let mut possible = 0;
    for (i, p) in probabilities.enumerate() {
        left -= p;
        if left < 0.0 {
            return i;
        }
        if p > 0.0 {
            possible = i;
        }
    }
    // Rounding left a remainder: it goes to the last value with positive probability.
    possible
}

pub(super) fn draw_from(probabilities: &[f64], rng: &mut ChaCha8Rng) -> usize {
    draw(probabilities.iter().copied(), rng)
}
