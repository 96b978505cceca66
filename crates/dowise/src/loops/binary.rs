//! In-place marginalisation of binary factors that depend on their own value only: one, or the first two at once.
//!
//! Rows of probabilities are `[row][value][cause]`: four numbers for every cause. A tile has one number for every cause. The
//! plain way is that of all factors, from array to array (`Mean::expect_run`). Without anything in place a plan takes 1.2x (64
//! states) to 1.3x (2^17) as long, an evaluation 1.5x to 1.9x, an episode of `cf-ucbvi:width=rlberry` at 8 states 1.2x as many
//! instructions.
//!
//! Left to itself the compiler goes over tiles in place of causes, and gathers numbers one by one. Register by register,
//! and with the first two factors at once, buys 1.05x to 1.1x of a plan, 1.16x of an evaluation, and 1.06x of that episode: less
//! than a fifth, and kept because nothing else takes an array once in place of twice before it has causes. Two factors at
//! once after that bought 1.02x and is gone.

use pulp::{Simd, WithSimd};

use crate::loops::simd;

/// One factor for `n` causes in the tiles of its two values.
#[inline(always)]
fn halves_plainly(prob: &[f64], n: usize, x: &mut [f64], y: &mut [f64]) {
    let (p, q, r, t) = (&prob[..n], &prob[n..2 * n], &prob[2 * n..3 * n], &prob[3 * n..4 * n]);
    for (x, y) in x.chunks_exact_mut(n).zip(y.chunks_exact_mut(n)) {
        for c in 0..n {
            (x[c], y[c]) = (p[c] * x[c] + q[c] * y[c], r[c] * x[c] + t[c] * y[c]);
        }
    }
}

/// Tiles of other sizes never get here.
const OTHERS: &str = "invariant: tiles that do not fill registers are marginalised out by the plain loop";

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

/// One factor, in every chunk that has its values outside of `inner` numbers each.
pub(crate) fn one(prob: &[f64], n: usize, inner: usize, array: &mut [f64]) {
    if fills_registers(n) {
        simd::wide_registers(One { prob, n, inner, array });
        return;
    }
    simd::wide(
        #[inline(always)]
        || {
            for chunk in array.chunks_exact_mut(2 * inner) {
                let (x, y) = chunk.split_at_mut(inner);
                halves_plainly(prob, n, x, y);
            }
        },
    );
}

/// One factor in the same places of both halves of a chunk.
pub(crate) fn halves(prob: &[f64], n: usize, x: &mut [f64], y: &mut [f64]) {
    if fills_registers(n) {
        simd::wide_registers(Halves { prob, n, x, y });
        return;
    }
    simd::wide(
        #[inline(always)]
        || halves_plainly(prob, n, x, y),
    );
}

/// Two factors at once in the same places of the four quarters of a chunk, from values that all causes share.
pub(crate) fn two_from_shared(outer: &[f64], inner: &[f64], n: usize, values: [&[f64]; 4], parts: [&mut [f64]; 4]) {
    if fills_registers(n) {
        simd::wide_registers(FromShared { outer, inner, n, values, parts });
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
                halves_plainly(outer, n, x, z);
                halves_plainly(outer, n, y, w);
                halves_plainly(inner, n, x, y);
                halves_plainly(inner, n, z, w);
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
    for chunk in array.chunks_exact_mut(2 * inner) {
        let (x, y) = chunk.split_at_mut(inner);
        halves_of::<S, N>(simd, prob, x, y);
    }
}

/// One binary factor in two halves.
struct Halves<'a> {
    prob: &'a [f64],
    n: usize,
    x: &'a mut [f64],
    y: &'a mut [f64],
}

impl WithSimd for Halves<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Halves { prob, n, x, y } = self;
        let prob = S::as_simd_f64s(prob).0;
        let [x, y] = [x, y].map(|half| S::as_mut_simd_f64s(half).0);
        match n / S::F64_LANES {
            1 => halves_of::<S, 1>(simd, prob, x, y),
            2 => halves_of::<S, 2>(simd, prob, x, y),
            4 => halves_of::<S, 4>(simd, prob, x, y),
            _ => unreachable!("{OTHERS}"),
        }
    }
}

#[inline(always)]
fn halves_of<S: Simd, const N: usize>(simd: S, prob: &[S::f64s], x: &mut [S::f64s], y: &mut [S::f64s]) {
    let &[p, q, r, t] = prob.as_chunks::<N>().0 else {
        unreachable!("invariant: a binary factor has two rows of two values")
    };
    for (x, y) in x.as_chunks_mut::<N>().0.iter_mut().zip(y.as_chunks_mut::<N>().0) {
        for c in 0..N {
            (x[c], y[c]) = both_rows(simd, [p[c], q[c], r[c], t[c]], x[c], y[c]);
        }
    }
}

/// Two binary factors in the same places of the four quarters of a chunk, from values that all causes share.
struct FromShared<'a> {
    outer: &'a [f64],
    inner: &'a [f64],
    n: usize,
    values: [&'a [f64]; 4],
    parts: [&'a mut [f64]; 4],
}

impl WithSimd for FromShared<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let FromShared { outer, inner, n, values: [e, f, g, h], parts } = self;
        let [outer, inner] = [S::as_simd_f64s(outer).0, S::as_simd_f64s(inner).0];
        let n = n / S::F64_LANES;
        let [x, y, z, w] = parts.map(|part| S::as_mut_simd_f64s(part).0.chunks_exact_mut(n));
        let (parts, values) = (x.zip(y).zip(z).zip(w), e.iter().zip(f).zip(g).zip(h));
        for ((((x, y), z), w), (((e, f), g), h)) in parts.zip(values) {
            let [e, f, g, h] = [e, f, g, h].map(|v| simd.splat_f64s(*v));
            for c in 0..n {
                let p = [0, 1, 2, 3].map(|k| outer[k * n + c]);
                let q = [0, 1, 2, 3].map(|k| inner[k * n + c]);
                let ((e, g), (f, h)) = (both_rows(simd, p, e, g), both_rows(simd, p, f, h));
                ((x[c], y[c]), (z[c], w[c])) = (both_rows(simd, q, e, f), both_rows(simd, q, g, h));
            }
        }
    }
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
    use super::super::numbers;
    use super::*;
    use crate::plan::{Expect, Mean};

    /// One factor from array to array, row by row, with `size` numbers inside of each of its values.
    fn row_after_row(mean: &Mean, size: usize, input: &[f64]) -> Vec<f64> {
        let mut out = vec![f64::NAN; input.len()];
        for (input, out) in input.chunks_exact(2 * size).zip(out.chunks_exact_mut(2 * size)) {
            for (row, out) in out.chunks_exact_mut(size).enumerate() {
                mean.expect_run(row, size / mean.n_causes, |v| &input[v * size..][..size], out);
            }
        }
        out
    }

    #[test]
    fn in_place_has_the_bits_of_one_row_after_the_other() {
        for n in [1, 2, 3, 4, 8, 12, 16, 20, 33, 64, 130, 300] {
            let [outer, inner] = [1, 7].map(|from| Mean { prob: numbers(4 * n, from), n_values: 2, n_causes: n });
            for n_tiles in [1, 2, 5, 40] {
                let size = n_tiles * n;
                let input = numbers(2 * size * 3, 9);
                let plain = row_after_row(&outer, size, &input);
                let mut array = input.clone();
                one(&outer.prob, n, size, &mut array);
                assert_eq!(array, plain, "{n} causes, {n_tiles} tiles");
                let mut array = input;
                for chunk in array.chunks_exact_mut(2 * size) {
                    let (x, y) = chunk.split_at_mut(size);
                    halves(&outer.prob, n, x, y);
                }
                assert_eq!(array, plain, "{n} causes, {n_tiles} tiles in halves");
                // Values that all causes share, four for each place of the quarters.
                let values = numbers(4 * n_tiles, 3);
                let for_each_cause: Vec<f64> = values.iter().flat_map(|&v| vec![v; n]).collect();
                let both = row_after_row(&inner, size, &row_after_row(&outer, 2 * size, &for_each_cause));
                let mut array = vec![f64::NAN; 4 * size];
                let [e, f, g, h] = [0, 1, 2, 3].map(|k| &values[k * n_tiles..][..n_tiles]);
                two_from_shared(&outer.prob, &inner.prob, n, [e, f, g, h], quarters(&mut array));
                assert_eq!(array, both, "{n} causes, {n_tiles} tiles, two at once");
            }
        }
    }
}
