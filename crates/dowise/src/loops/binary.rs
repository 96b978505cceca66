//! Binary factors that depend on their own value alone, in place: one or two of them, register by register.
//!
//! Rows of probabilities are `[row][value][cause]`: four numbers for every cause. Left to itself the compiler goes over tiles
//! in place of causes, and gathers numbers one by one.
//!
//! Two factors at a time in registers buy 1.5x at 64 numbers of 8 causes, 2.1x at 512, 2.6x at 2048, 2.1x at 2^17 over one
//! after the other in wide registers: `two_binary`. Chunks of known sizes are 1.4x to 1.7x of that at the innermost factors;
//! with them and the first two factors at once a whole look ahead is 1.2x faster at 3 and 6 factors, 1.5x at 14:
//! `expect_next_value`. Without anything in place (examples `plan_growth` and `episode_times`) a plan takes 1.2x to 1.3x as
//! long, judging a policy 1.5x to 2.0x, an episode of `cf-ucbvi:width=rlberry` at 64 states 1.6x.

use pulp::{Simd, WithSimd};

use crate::loops::simd;

/// One factor for `n` causes, tile by tile, in every chunk that has its values outside of `inner` numbers each.
#[inline(always)]
pub(crate) fn one_plainly(prob: &[f64], n: usize, inner: usize, array: &mut [f64]) {
    for chunk in array.chunks_exact_mut(2 * inner) {
        let (x, y) = chunk.split_at_mut(inner);
        for (x, y) in x.chunks_exact_mut(n).zip(y.chunks_exact_mut(n)) {
            both_rows_of_tile(prob, x, y);
        }
    }
}

/// Both rows of a binary factor in one tile each, for any number of causes.
#[inline(always)]
fn both_rows_of_tile(prob: &[f64], x: &mut [f64], y: &mut [f64]) {
    let n = x.len();
    let (y, p, q) = (&mut y[..n], &prob[..n], &prob[n..2 * n]);
    let (r, t) = (&prob[2 * n..3 * n], &prob[3 * n..4 * n]);
    for c in 0..n {
        (x[c], y[c]) = (p[c] * x[c] + q[c] * y[c], r[c] * x[c] + t[c] * y[c]);
    }
}

/// Tiles of other sizes never get here.
const OTHERS: &str = "invariant: tiles that do not fill registers are summed out one at a time";

/// Causes from which on those left over after whole registers do not count.
const MANY: usize = 32;

/// Whether the causes of a tile fill one, two or four registers: known sizes let the probabilities stay in registers.
fn fills_registers(n: usize) -> bool {
    [1, 2, 4].iter().any(|k| n == k * simd::lanes())
}

/// Whether this number of causes is worth the loops of this file.
pub(crate) fn suits(n: usize) -> bool {
    n.is_multiple_of(simd::lanes()) || n >= MANY
}

/// [`one_plainly`] in registers.
pub(crate) fn one(prob: &[f64], n: usize, inner: usize, array: &mut [f64]) {
    if fills_registers(n) {
        simd::wide_registers(One { prob, n, inner, array });
        return;
    }
    simd::wide(
        #[inline(always)]
        || one_plainly(prob, n, inner, array),
    );
}

/// Two factors, the inner one outside of `size` numbers.
pub(crate) fn two(outer: &[f64], inner: &[f64], n: usize, size: usize, array: &mut [f64]) {
    if fills_registers(n) {
        simd::wide_registers(Two { outer, inner, n, size, array });
        return;
    }
    simd::wide(
        #[inline(always)]
        || {
            for chunk in array.chunks_exact_mut(4 * size) {
                four_rows_of_tiles(outer, inner, n, quarters(chunk));
            }
        },
    );
}

/// Two factors in the same places of the four quarters of a chunk.
pub(crate) fn in_parts(outer: &[f64], inner: &[f64], n: usize, parts: [&mut [f64]; 4]) {
    if fills_registers(n) {
        simd::wide_registers(Quarters { outer, inner, n, parts });
        return;
    }
    simd::wide(
        #[inline(always)]
        || four_rows_of_tiles(outer, inner, n, parts),
    );
}

/// The same from values that all causes share.
pub(crate) fn spread(outer: &[f64], inner: &[f64], n: usize, values: [&[f64]; 4], parts: [&mut [f64]; 4]) {
    if fills_registers(n) {
        simd::wide_registers(SpreadQuarters { outer, inner, n, values, parts });
        return;
    }
    simd::wide(
        #[inline(always)]
        || {
            let ([x, y, z, w], [e, f, g, h]) = (parts, values);
            let tiles = x.chunks_exact_mut(n).zip(y.chunks_exact_mut(n));
            let tiles = tiles.zip(z.chunks_exact_mut(n)).zip(w.chunks_exact_mut(n));
            for (i, (((x, y), z), w)) in tiles.enumerate() {
                x.fill(e[i]);
                y.fill(f[i]);
                z.fill(g[i]);
                w.fill(h[i]);
                four_rows_of_tile(outer, inner, [x, y, z, w]);
            }
        },
    );
}

/// Four parts of an array, one after another.
#[inline(always)]
pub(crate) fn quarters<T>(array: &mut [T]) -> [&mut [T]; 4] {
    let (ab, cd) = array.split_at_mut(array.len() / 2);
    let (a, b) = ab.split_at_mut(ab.len() / 2);
    let (c, d) = cd.split_at_mut(cd.len() / 2);
    [a, b, c, d]
}

/// All rows of two binary factors in four tiles.
#[inline(always)]
fn four_rows_of_tile(outer: &[f64], inner: &[f64], [x, y, z, w]: [&mut [f64]; 4]) {
    both_rows_of_tile(outer, x, z);
    both_rows_of_tile(outer, y, w);
    both_rows_of_tile(inner, x, y);
    both_rows_of_tile(inner, z, w);
}

/// The same in every tile of four parts of an array.
#[inline(always)]
fn four_rows_of_tiles(outer: &[f64], inner: &[f64], n: usize, [x, y, z, w]: [&mut [f64]; 4]) {
    let tiles = x.chunks_exact_mut(n).zip(y.chunks_exact_mut(n)).zip(z.chunks_exact_mut(n)).zip(w.chunks_exact_mut(n));
    for (((x, y), z), w) in tiles {
        four_rows_of_tile(outer, inner, [x, y, z, w]);
    }
}

/// One binary factor in place.
struct One<'a> {
    /// `[row][value][cause]`
    prob: &'a [f64],
    n: usize,
    inner: usize,
    array: &'a mut [f64],
}

impl WithSimd for One<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let One { prob, n, inner, array } = self;
        let (prob, n, inner) = (S::as_simd_f64s(prob).0, n / S::F64_LANES, inner / S::F64_LANES);
        let array = S::as_mut_simd_f64s(array).0;
        match n {
            1 => one_of::<S, 1>(simd, prob, inner, array),
            2 => one_of::<S, 2>(simd, prob, inner, array),
            4 => one_of::<S, 4>(simd, prob, inner, array),
            _ => unreachable!("{OTHERS}"),
        }
    }
}

#[inline(always)]
fn one_of<S: Simd, const N: usize>(simd: S, prob: &[S::f64s], inner: usize, array: &mut [S::f64s]) {
    let &[p, q, r, t] = prob.as_chunks::<N>().0 else {
        unreachable!("invariant: a binary factor has two rows of two values")
    };
    for chunk in array.chunks_exact_mut(2 * inner) {
        let (x, y) = chunk.split_at_mut(inner);
        for (x, y) in x.as_chunks_mut::<N>().0.iter_mut().zip(y.as_chunks_mut::<N>().0) {
            for c in 0..N {
                (x[c], y[c]) = both_rows(simd, [p[c], q[c], r[c], t[c]], x[c], y[c]);
            }
        }
    }
}

/// Two binary factors in place, one inside of the other.
struct Two<'a> {
    outer: &'a [f64],
    inner: &'a [f64],
    n: usize,
    /// Numbers inside of the inner one.
    size: usize,
    array: &'a mut [f64],
}

impl WithSimd for Two<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Two { outer, inner, n, size, array } = self;
        let [outer, inner] = [S::as_simd_f64s(outer).0, S::as_simd_f64s(inner).0];
        let (n, size) = (n / S::F64_LANES, size / S::F64_LANES);
        let array = S::as_mut_simd_f64s(array).0;
        // Known sizes let short loops be unrolled.
        match (n, size / n) {
            (1, 1) => in_chunks_of::<S, 1, 1>(simd, outer, inner, array),
            (1, 2) => in_chunks_of::<S, 1, 2>(simd, outer, inner, array),
            (1, 4) => in_chunks_of::<S, 1, 4>(simd, outer, inner, array),
            (2, 1) => in_chunks_of::<S, 2, 1>(simd, outer, inner, array),
            (2, 2) => in_chunks_of::<S, 2, 2>(simd, outer, inner, array),
            (2, 4) => in_chunks_of::<S, 2, 4>(simd, outer, inner, array),
            (4, 1) => in_chunks_of::<S, 4, 1>(simd, outer, inner, array),
            (4, 2) => in_chunks_of::<S, 4, 2>(simd, outer, inner, array),
            (4, 4) => in_chunks_of::<S, 4, 4>(simd, outer, inner, array),
            _ => array.chunks_exact_mut(4 * size).for_each(
                #[inline(always)]
                |chunk| in_quarters(simd, outer, inner, n, quarters(chunk)),
            ),
        }
    }
}

/// Chunks of four times Q tiles of N registers.
#[inline(always)]
fn in_chunks_of<S: Simd, const N: usize, const Q: usize>(
    simd: S,
    outer: &[S::f64s],
    inner: &[S::f64s],
    array: &mut [S::f64s],
) {
    let (&[a, b, c, d], &[e, f, g, h]) = (outer.as_chunks::<N>().0, inner.as_chunks::<N>().0) else {
        unreachable!("invariant: a binary factor has two rows of two values")
    };
    let chunks = array.as_chunks_mut::<N>().0.as_chunks_mut::<Q>().0.as_chunks_mut::<4>().0;
    for tile in chunks.chunks_mut(AT_ONCE / Q) {
        for k in 0..N {
            let (p, q) = ([a[k], b[k], c[k], d[k]], [e[k], f[k], g[k], h[k]]);
            for [x, y, z, w] in &mut *tile {
                for i in 0..Q {
                    [x[i][k], y[i][k], z[i][k], w[i][k]] = four_rows(simd, p, q, [x[i][k], y[i][k], z[i][k], w[i][k]]);
                }
            }
        }
    }
}

/// Two binary factors in the same places of the four quarters of a chunk.
struct Quarters<'a> {
    outer: &'a [f64],
    inner: &'a [f64],
    n: usize,
    parts: [&'a mut [f64]; 4],
}

impl WithSimd for Quarters<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Quarters { outer, inner, n, parts } = self;
        let parts = parts.map(|part| S::as_mut_simd_f64s(part).0);
        in_quarters(simd, S::as_simd_f64s(outer).0, S::as_simd_f64s(inner).0, n / S::F64_LANES, parts);
    }
}

/// The same from values that all causes share.
struct SpreadQuarters<'a> {
    outer: &'a [f64],
    inner: &'a [f64],
    n: usize,
    values: [&'a [f64]; 4],
    parts: [&'a mut [f64]; 4],
}

impl WithSimd for SpreadQuarters<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let SpreadQuarters { outer, inner, n, values: [e, f, g, h], parts } = self;
        let [outer, inner] = [S::as_simd_f64s(outer).0, S::as_simd_f64s(inner).0];
        let n = n / S::F64_LANES;
        let [x, y, z, w] = parts.map(|part| S::as_mut_simd_f64s(part).0.chunks_exact_mut(n));
        let (parts, values) = (x.zip(y).zip(z).zip(w), e.iter().zip(f).zip(g).zip(h));
        for ((((x, y), z), w), (((e, f), g), h)) in parts.zip(values) {
            let values = [e, f, g, h].map(|v| simd.splat_f64s(*v));
            for c in 0..n {
                let p = [0, 1, 2, 3].map(|k| outer[k * n + c]);
                let q = [0, 1, 2, 3].map(|k| inner[k * n + c]);
                [x[c], y[c], z[c], w[c]] = four_rows(simd, p, q, values);
            }
        }
    }
}

#[inline(always)]
fn in_quarters<S: Simd>(simd: S, outer: &[S::f64s], inner: &[S::f64s], n: usize, parts: [&mut [S::f64s]; 4]) {
    match n {
        1 => in_quarters_of::<S, 1>(simd, outer, inner, parts),
        2 => in_quarters_of::<S, 2>(simd, outer, inner, parts),
        4 => in_quarters_of::<S, 4>(simd, outer, inner, parts),
        _ => unreachable!("{OTHERS}"),
    }
}

/// Tiles that pass for one register of causes after another: they fit the nearest cache.
const AT_ONCE: usize = 16;

#[inline(always)]
fn in_quarters_of<S: Simd, const N: usize>(simd: S, outer: &[S::f64s], inner: &[S::f64s], parts: [&mut [S::f64s]; 4]) {
    let ([outer, inner], [x, y, z, w]) =
        ([outer.as_chunks::<N>().0, inner.as_chunks::<N>().0], parts.map(|part| part.as_chunks_mut::<N>().0));
    let (&[a, b, c, d], &[e, f, g, h]) = (outer, inner) else {
        unreachable!("invariant: a binary factor has two rows of two values")
    };
    let tiles = x.chunks_mut(AT_ONCE).zip(y.chunks_mut(AT_ONCE)).zip(z.chunks_mut(AT_ONCE)).zip(w.chunks_mut(AT_ONCE));
    for (((x, y), z), w) in tiles {
        for k in 0..N {
            let (p, q) = ([a[k], b[k], c[k], d[k]], [e[k], f[k], g[k], h[k]]);
            for (((x, y), z), w) in x.iter_mut().zip(&mut *y).zip(&mut *z).zip(&mut *w) {
                [x[k], y[k], z[k], w[k]] = four_rows(simd, p, q, [x[k], y[k], z[k], w[k]]);
            }
        }
    }
}

/// Two factors, the outer one first: from their next values to their values now.
#[inline(always)]
fn four_rows<S: Simd>(simd: S, outer: [S::f64s; 4], inner: [S::f64s; 4], [x, y, z, w]: [S::f64s; 4]) -> [S::f64s; 4] {
    let (x, z) = both_rows(simd, outer, x, z);
    let (y, w) = both_rows(simd, outer, y, w);
    let (x, y) = both_rows(simd, inner, x, y);
    let (z, w) = both_rows(simd, inner, z, w);
    [x, y, z, w]
}

/// Two rows of two values: p x + q y and r x + t y.
#[inline(always)]
fn both_rows<S: Simd>(simd: S, [p, q, r, t]: [S::f64s; 4], x: S::f64s, y: S::f64s) -> (S::f64s, S::f64s) {
    let first = simd.add_f64s(simd.mul_f64s(p, x), simd.mul_f64s(q, y));
    let second = simd.add_f64s(simd.mul_f64s(r, x), simd.mul_f64s(t, y));
    (first, second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Mean, Mix};

    fn numbers(n: usize, from: usize) -> Vec<f64> {
        (0..n).map(|i| ((i + from) as f64 * 0.618_034).fract()).collect()
    }

    #[test]
    fn in_place_has_the_bits_of_one_row_after_the_other() {
        let mut done = 0;
        for n in [1, 2, 3, 4, 8, 12, 16, 20, 33, 64, 130, 300] {
            let [outer, inner] = [1, 7].map(|from| Mean { prob: numbers(4 * n, from), n_values: 2, n_causes: n });
            if outer.in_place().is_none() {
                continue;
            }
            done += 1;
            let row_after_row = |mean: &Mean, size: usize, input: &[f64]| {
                let mut out = vec![f64::NAN; input.len()];
                for (input, out) in input.chunks_exact(2 * size).zip(out.chunks_exact_mut(2 * size)) {
                    for (row, out) in out.chunks_exact_mut(size).enumerate() {
                        mean.mix_run(row, size / n, |v| &input[v * size..][..size], out);
                    }
                }
                out
            };
            for n_tiles in [1, 2, 5, 40] {
                let (size, n_chunks) = (n_tiles * n, 3);
                let input = numbers(4 * size * n_chunks, 9);
                let first = row_after_row(&outer, 2 * size, &input);
                let mut array = input.clone();
                one(&outer.prob, n, 2 * size, &mut array);
                assert_eq!(array, first, "{n} causes, {n_tiles} tiles");
                let both = row_after_row(&inner, size, &first);
                let mut array = input.clone();
                two(&outer.prob, &inner.prob, n, size, &mut array);
                assert_eq!(array, both, "{n} causes, {n_tiles} tiles");
                let mut array = input.clone();
                array
                    .chunks_exact_mut(4 * size)
                    .for_each(|chunk| in_parts(&outer.prob, &inner.prob, n, quarters(chunk)));
                assert_eq!(array, both, "{n} causes, {n_tiles} tiles");
            }
        }
        // Those that fill registers of eight numbers, and those that are many.
        assert!(done >= 6, "{done}");
    }
}
