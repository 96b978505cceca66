//! Factors that depend on their own value alone, summed out in place.
//!
//! The value now takes the place of the next one, so an array keeps its shape, and numbers meet only with those of the same
//! places. The first two are summed out at once while causes are added to the array; after that each half of a large array goes
//! on by itself, so that all further factors find it in the nearest cache.

use rayon::prelude::*;

use super::Mean;
use crate::loops::binary::{self, quarters};

/// Numbers that fit a core's nearest cache.
const NEAR: usize = 1 << 11;

/// Numbers from which on a pass is shared between threads.
const PARALLEL: usize = 1 << 16;

/// A binary factor to be summed out.
pub(super) struct Own<'a> {
    pub(super) factor: &'a Mean,
    /// Numbers inside of one of its values.
    pub(super) inner: usize,
}

impl Own<'_> {
    fn n_causes(&self) -> usize {
        self.factor.n_causes
    }

    /// Tiles that a thread takes at a time.
    fn tiles_per_task(&self) -> usize {
        (PARALLEL / 16 / self.n_causes()).max(1)
    }
}

/// Sums factors out of an array, outer ones first: each lies inside of the one before.
pub(super) fn sum_out<'a, T: Sync>(factors: &[T], own: &(impl Fn(&T) -> Own<'a> + Sync), array: &mut [f64]) {
    if array.len() <= NEAR {
        for Own { factor, inner } in factors.iter().map(own) {
            binary::one(&factor.prob, factor.n_causes, inner, array);
        }
        return;
    }
    let Some((first, rest)) = factors.split_first() else { return };
    let first = own(first);
    let (prob, n, inner) = (&first.factor.prob, first.n_causes(), first.inner);
    for chunk in array.chunks_exact_mut(2 * inner) {
        let (x, y) = chunk.split_at_mut(inner);
        // What is inside of this factor no longer meets.
        if 2 * inner < PARALLEL {
            binary::halves(prob, n, x, y);
            chunk.chunks_exact_mut(inner).for_each(|half| sum_out(rest, own, half));
        } else {
            let places = first.tiles_per_task() * n;
            let both = x.par_chunks_mut(places).zip(y.par_chunks_mut(places));
            both.for_each(|(x, y)| binary::halves(prob, n, x, y));
            chunk.par_chunks_exact_mut(inner).for_each(|half| sum_out(rest, own, half));
        }
    }
}

/// The first two factors at once, from values that all causes share.
pub(super) fn sum_out_two(first: &Own<'_>, second: &Own<'_>, values: &[f64], out: &mut [f64]) {
    let (size, n, tiles) = (4 * second.inner, first.n_causes(), first.tiles_per_task());
    let (outer, inner) = (&first.factor.prob, &second.factor.prob);
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
