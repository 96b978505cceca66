//! Factors that depend on their own value alone, summed out in place.
//!
//! The value now takes the place of the next one, so an array keeps its shape, and numbers meet only with those of the same
//! places. Two binary factors at a time pass through registers, which halves the traffic; then each quarter of the array
//! goes on by itself, so that all further factors find it in the nearest cache.

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
    let Some(first) = factors.first().map(own) else { return };
    // Two at once if they are neighbours.
    let second = factors.get(1).map(own).filter(|second| first.inner == 2 * second.inner);
    let (rest, inner) = match &second {
        Some(second) => (&factors[2..], second.inner),
        None => (&factors[1..], first.inner),
    };
    if array.len() <= NEAR {
        pass(&first, second.as_ref(), array);
        sum_out(rest, own, array);
        return;
    }
    for chunk in array.chunks_exact_mut(2 * first.inner) {
        pass(&first, second.as_ref(), chunk);
        // What is inside of these factors no longer meets.
        if chunk.len() < PARALLEL {
            chunk.chunks_exact_mut(inner).for_each(|part| sum_out(rest, own, part));
        } else {
            chunk.par_chunks_exact_mut(inner).for_each(|part| sum_out(rest, own, part));
        }
    }
}

/// The first two factors at once, from values that all causes share.
pub(super) fn spread(first: &Own<'_>, second: &Own<'_>, values: &[f64], out: &mut [f64]) {
    let (size, n, tiles) = (4 * second.inner, first.n_causes(), first.tiles_per_task());
    let (outer, inner) = (&first.factor.prob, &second.factor.prob);
    for (values, out) in values.chunks_exact(size / n).zip(out.chunks_exact_mut(size)) {
        let ([e, f, g, h], [a, b, c, d]) = (quarters_of(values), quarters(out));
        if size < PARALLEL {
            binary::spread(outer, inner, n, [e, f, g, h], [a, b, c, d]);
            continue;
        }
        let parts = a.par_chunks_mut(tiles * n).zip(b.par_chunks_mut(tiles * n));
        let parts = parts.zip(c.par_chunks_mut(tiles * n)).zip(d.par_chunks_mut(tiles * n));
        let values = e.par_chunks(tiles).zip(f.par_chunks(tiles)).zip(g.par_chunks(tiles)).zip(h.par_chunks(tiles));
        parts.zip(values).for_each(|((((a, b), c), d), (((e, f), g), h))| {
            binary::spread(outer, inner, n, [e, f, g, h], [a, b, c, d]);
        });
    }
}

/// One or two factors, in all of an array.
fn pass(first: &Own<'_>, second: Option<&Own<'_>>, array: &mut [f64]) {
    let (outer, n) = (&first.factor.prob, first.n_causes());
    let Some(second) = second else { return binary::one(outer, n, first.inner, array) };
    let inner = &second.factor.prob;
    if array.len() < PARALLEL || array.len() > 4 * second.inner {
        return binary::two(outer, inner, n, second.inner, array);
    }
    // A single large chunk: threads take the same places of all four parts.
    let places = first.tiles_per_task() * n;
    let [a, b, c, d] = quarters(array);
    let parts = a.par_chunks_mut(places).zip(b.par_chunks_mut(places));
    let parts = parts.zip(c.par_chunks_mut(places)).zip(d.par_chunks_mut(places));
    parts.for_each(|(((a, b), c), d)| binary::in_parts(outer, inner, n, [a, b, c, d]));
}

fn quarters_of<T>(array: &[T]) -> [&[T]; 4] {
    let (ab, cd) = array.split_at(array.len() / 2);
    let ((a, b), (c, d)) = (ab.split_at(ab.len() / 2), cd.split_at(cd.len() / 2));
    [a, b, c, d]
}
