//! In-place marginalisation of binary factors that depend on their own value only.
//!
//! The present value replaces the next value, so an array keeps its shape, and only corresponding entries combine. The
//! first two factors are contracted together while the configuration axis is added. After that, each half of a large
//! array proceeds separately, so that further factors find it in the L1 cache.

use rayon::prelude::*;

use super::{Binary, Mean};
use crate::loops::binary::{self, quarters};

/// Numbers that fit into a core's L1 cache.
const NEAR: usize = 1 << 11;

/// Numbers from which on a pass runs on several threads.
const PARALLEL: usize = 1 << 16;

/// A binary factor to be marginalised.
pub(super) struct Own<'a> {
    pub(super) factor: Binary<'a>,
    /// Contiguous numbers for one of its values.
    pub(super) inner: usize,
}

impl Binary<'_> {
    fn n_causes(&self) -> usize {
        match self {
            Binary::Mean(mean) => mean.n_causes,
            Binary::Ends(ends) => ends.n_causes(),
        }
    }

    /// Applies the factor to every chunk of two runs of `inner` numbers.
    fn one(&self, inner: usize, array: &mut [f64]) {
        match self {
            Binary::Mean(mean) => binary::one(&mean.prob, mean.n_causes, inner, array),
            Binary::Ends(ends) => ends.one(inner, array),
        }
    }

    /// Applies the factor to corresponding entries of both halves of a chunk.
    fn halves(&self, x: &mut [f64], y: &mut [f64]) {
        match self {
            Binary::Mean(mean) => binary::halves(&mean.prob, mean.n_causes, x, y),
            Binary::Ends(ends) => ends.halves(x, y),
        }
    }
}

/// Tiles of one task of a thread.
fn tiles_per_task(n_causes: usize) -> usize {
    (PARALLEL / 16 / n_causes).max(1)
}

/// Marginalises factors in place, outermost first: each is nested in the one before.
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
        // The halves inside this factor are now independent.
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

/// The first two factors at once, from values shared by all joint key values; `inside` numbers per value of the second
/// factor.
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
