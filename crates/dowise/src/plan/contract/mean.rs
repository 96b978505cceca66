//! The plain expectation: a known distribution for every row and cause.

use super::{Mix, binary};

/// A known distribution for every row and cause: the plain expectation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mean {
    /// `[row][value][cause]`
    pub(crate) prob: Vec<f64>,
    pub(crate) n_values: usize,
    pub(crate) n_causes: usize,
}

impl Mix for Mean {
    #[inline(always)]
    fn mix<'a>(&self, row: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
        self.mix_run(row, 1, at, out);
    }

    fn in_place(&self) -> Option<&Mean> {
        let fits = self.n_values == 2 && self.prob.len() == 4 * self.n_causes && binary::suits(self.n_causes);
        fits.then_some(self)
    }

    #[inline(always)]
    fn mix_run<'a>(&self, row: usize, n_blocks: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
        let n = self.n_causes;
        let block = &self.prob[row * self.n_values * n..][..self.n_values * n];
        let shared = at(0).len() == n_blocks && n > 1;
        match (n, shared) {
            // Known sizes let the compiler keep the probabilities in registers.
            (2, false) => blend::<2>(block, at, out),
            (4, false) => blend::<4>(block, at, out),
            (8, false) => blend::<8>(block, at, out),
            (16, false) => blend::<16>(block, at, out),
            (_, false) => {
                for (b, out) in out.chunks_exact_mut(n).enumerate() {
                    sum_up(block, out, |v, c| at(v)[b * n + c]);
                }
            }
            (2, true) => spread::<2>(block, at, out),
            (4, true) => spread::<4>(block, at, out),
            (8, true) => spread::<8>(block, at, out),
            (16, true) => spread::<16>(block, at, out),
            (STREAM.., true) => {
                for (b, out) in out.chunks_exact_mut(n).enumerate() {
                    stream(block, |v| at(v)[b], out);
                }
            }
            (_, true) => {
                for (b, out) in out.chunks_exact_mut(n).enumerate() {
                    sum_up(block, out, |v, _| at(v)[b]);
                }
            }
        }
    }
}

/// Causes from which on sums are not kept in registers.
const STREAM: usize = 128;

/// Σ_v p(v) x(v) value by value, so that a large table is read in long runs; the sums stay in the nearest cache.
#[inline(always)]
fn stream(prob: &[f64], x: impl Fn(usize) -> f64, out: &mut [f64]) {
    out.fill(0.0);
    for (v, p) in prob.chunks_exact(out.len()).enumerate() {
        let x = x(v);
        for (out, p) in out.iter_mut().zip(p) {
            *out += p * x;
        }
    }
}

/// out(c) = Σ_v p(v, c) x(v, c), many causes at a time, so that sums stay in registers while the values pass.
///
/// Plain loops: adapters with closures are not always inlined, and what is not inlined does not use wide registers.
#[inline(always)]
fn sum_up(prob: &[f64], out: &mut [f64], x: impl Fn(usize, usize) -> f64) {
    let n = out.len();
    let mut done = 0;
    while done + 32 <= n {
        out[done..][..32].copy_from_slice(&lanes::<32>(prob, n, done, &x));
        done += 32;
    }
    while done + 8 <= n {
        out[done..][..8].copy_from_slice(&lanes::<8>(prob, n, done, &x));
        done += 8;
    }
    for c in done..n {
        out[c] = lanes::<1>(prob, n, c, &x)[0];
    }
}

/// The sums of N causes from number `first` on.
#[inline(always)]
fn lanes<const N: usize>(prob: &[f64], n: usize, first: usize, x: impl Fn(usize, usize) -> f64) -> [f64; N] {
    let mut sum = [0.0; N];
    for (v, p) in prob.chunks_exact(n).enumerate() {
        let p: &[f64; N] = p[first..][..N].try_into().expect("so many");
        for lane in 0..N {
            sum[lane] += p[lane] * x(v, first + lane);
        }
    }
    sum
}

/// Σ_v p(v) x(v) for N causes that share x.
#[inline(always)]
fn spread<'a, const N: usize>(prob: &[f64], at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
    let (prob, _) = prob.as_chunks::<N>();
    for (b, out) in out.as_chunks_mut::<N>().0.iter_mut().enumerate() {
        let mut sum = [0.0; N];
        for (v, p) in prob.iter().enumerate() {
            let x = at(v)[b];
            for c in 0..N {
                sum[c] += p[c] * x;
            }
        }
        *out = sum;
    }
}

/// Σ_v p(v) x(v) for N causes at a time.
#[inline(always)]
fn blend<'a, const N: usize>(prob: &[f64], at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
    let (prob, _) = prob.as_chunks::<N>();
    let (out, _) = out.as_chunks_mut::<N>();
    if let [p, q] = prob {
        let (x, y) = (at(0).as_chunks::<N>().0, at(1).as_chunks::<N>().0);
        for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
            for c in 0..N {
                out[c] = p[c] * x[c] + q[c] * y[c];
            }
        }
        return;
    }
    for (v, p) in prob.iter().enumerate() {
        for (out, x) in out.iter_mut().zip(at(v).as_chunks::<N>().0) {
            for c in 0..N {
                out[c] = if v == 0 { p[c] * x[c] } else { out[c] + p[c] * x[c] };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(n: usize, from: usize) -> Vec<f64> {
        (0..n).map(|i| ((i + from) as f64 * 0.618_034).fract()).collect()
    }

    /// Causes for every way of going over them.
    const CAUSES: [usize; 12] = [1, 2, 3, 4, 8, 12, 16, 20, 33, 64, 130, 300];

    #[test]
    fn every_number_of_causes_gives_the_bits_of_the_plain_sum() {
        for n in CAUSES {
            for n_values in [2, 3, 5] {
                let mean = Mean { prob: numbers(2 * n_values * n, 1), n_values, n_causes: n };
                for (width, n_blocks) in [(1, 1), (1, 3), (n, 1), (n, 3)] {
                    let input = numbers(n_values * width * n_blocks, 5);
                    let at = |v: usize| &input[v * width * n_blocks..][..width * n_blocks];
                    let mut out = vec![f64::NAN; n * n_blocks];
                    mean.mix_run(1, n_blocks, at, &mut out);
                    for (i, out) in out.iter().enumerate() {
                        let x = |v: usize| at(v)[if width == 1 { i / n } else { i }];
                        let sum = (0..n_values).fold(0.0, |sum, v| sum + mean.prob[(n_values + v) * n + i % n] * x(v));
                        assert_eq!(*out, sum, "{n} causes, {n_values} values, {n_blocks} blocks of {width}");
                    }
                }
            }
        }
    }
}
