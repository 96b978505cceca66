//! Factors that depend on their own value alone, marginalised out in place.
//!
//! The value now takes the place of the next one, so an array keeps its shape, and numbers meet only with those of the same
//! places. The first two are marginalised out at once while causes are added to the array; after that each half of a large array goes
//! on by itself, so that all further factors find it in the nearest cache.

use rayon::prelude::*;

use super::{Binary, Mean};
use crate::loops::binary::{self, quarters};

/// Numbers that fit a core's nearest cache.
const NEAR: usize = 1 << 11;

/// Numbers from which on a pass is shared between threads.
const PARALLEL: usize = 1 << 16;

/// A binary factor to be marginalised out.
pub(super) struct Own<'a> {
    pub(super) factor: Binary<'a>,
    /// Numbers inside of one of its values.
    pub(super) inner: usize,
}

impl Binary<'_> {
    fn n_causes(&self) -> usize {
        match self {
            Binary::Mean(mean) => mean.n_causes,
            Binary::Ends(ends) => ends.n_causes(),
        }
    }

    /// In every chunk that has the factor's values outside of `inner` numbers each.
    fn one(&self, inner: usize, array: &mut [f64]) {
        match self {
            Binary::Mean(mean) => binary::one(&mean.prob, mean.n_causes, inner, array),
            Binary::Ends(ends) => ends.one(inner, array),
        }
    }

    /// In the same places of both halves of a chunk.
    fn halves(&self, x: &mut [f64], y: &mut [f64]) {
        match self {
            Binary::Mean(mean) => binary::halves(&mean.prob, mean.n_causes, x, y),
            Binary::Ends(ends) => ends.halves(x, y),
        }
    }
}

/// Tiles of this number of causes that a thread takes at a time.
fn tiles_per_task(n_causes: usize) -> usize {
    (PARALLEL / 16 / n_causes).max(1)
}

/// Sums factors out of an array, outer ones first: each lies inside of the one before.
pub(super) fn sum_out<'a, T: Sync>(factors: &[T], own: &(impl Fn(&T) -> Own<'a> + Sync), array: &mut [f64]) {
    if array.len() <= NEAR {
        for Own { factor, inner } in factors.iter().map(own) {
            factor.one(inner, array);
        }
        return;
    }
    let Some((first, rest)) = factors.split_first() else { return };
    let Own { factor, inner } = own(first);
    for chunk in array.chunks_exact_mut(2 * inner) {
        let (x, y) = chunk.split_at_mut(inner);
        // What is inside of this factor no longer meets.
        if 2 * inner < PARALLEL {
            factor.halves(x, y);
            chunk.chunks_exact_mut(inner).for_each(|half| sum_out(rest, own, half));
        } else {
            let places = tiles_per_task(factor.n_causes()) * factor.n_causes();
            let both = x.par_chunks_mut(places).zip(y.par_chunks_mut(places));
            both.for_each(|(x, y)| factor.halves(x, y));
            chunk.par_chunks_exact_mut(inner).for_each(|half| sum_out(rest, own, half));
        }
    }
}

/// The first two factors at once, from values that all causes share; `inside` numbers lie inside of a value of the second.
pub(super) fn sum_out_two(first: &Mean, second: &Mean, inside: usize, values: &[f64], out: &mut [f64]) {
    let (size, n, tiles) = (4 * inside, first.n_causes, tiles_per_task(first.n_causes));
    let (outer, inner) = (&first.prob, &second.prob);
    for (values, out) in values.chunks_exact(size / n).zip(out.chunks_exact_mut(size)) {
        let ([e, f, g, h], [a, b, c, d]) = (quarters_of(values), quarters(out));
        if size < PARALLEL {
            binary::two_from_shared(outer, inner, n, [e, f, g, h], [a, b, c, d]);
            continue;
        }
        let parts = a.par_chunks_mut(tiles * n).zip(b.par_chunks_mut(tiles * n));
        let parts = parts.zip(c.par_chunks_mut(tiles * n)).zip(d.par_chunks_mut(tiles * n));
        let values = e.par_chunks(tiles).zip(f.par_chunks(tiles)).zip(g.par_chunks(tiles)).zip(h.par_chunks(tiles));
        parts.zip(values).for_each(|((((a, b), c), d), (((e, f), g), h))| {
            binary::two_from_shared(outer, inner, n, [e, f, g, h], [a, b, c, d]);
        });
    }
}

fn quarters_of<T>(array: &[T]) -> [&[T]; 4] {
    let (ab, cd) = array.split_at(array.len() / 2);
    let ((a, b), (c, d)) = (ab.split_at(ab.len() / 2), cd.split_at(cd.len() / 2));
    [a, b, c, d]
}
