//! The plain expectation: a known distribution for every row and cause.

use super::Mix;

/// A known distribution for every row and cause: the plain expectation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mean {
    /// `[row][value][cause]`
    pub(crate) prob: Vec<f64>,
    pub(crate) n_values: usize,
    pub(crate) n_causes: usize,
}

impl Mix for Mean {
    fn mix<'a>(&self, row: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
        self.mix_run(row, 1, at, out);
    }

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
            (_, true) => {
                for (b, out) in out.chunks_exact_mut(n).enumerate() {
                    sum_up(block, out, |v, _| at(v)[b]);
                }
            }
        }
    }
}

/// out(c) = Σ_v p(v, c) x(v, c), eight causes at a time, so that sums stay in registers while the values pass.
fn sum_up(prob: &[f64], out: &mut [f64], x: impl Fn(usize, usize) -> f64) {
    let n = out.len();
    let (eights, rest) = out.as_chunks_mut::<8>();
    let done = n - rest.len();
    for (e, out) in eights.iter_mut().enumerate() {
        let mut sum = [0.0; 8];
        for (v, p) in prob.chunks_exact(n).enumerate() {
            let p: &[f64; 8] = p[e * 8..][..8].try_into().expect("eight");
            (0..8).for_each(|lane| sum[lane] += p[lane] * x(v, e * 8 + lane));
        }
        *out = sum;
    }
    for (i, out) in rest.iter_mut().enumerate() {
        *out = prob.chunks_exact(n).enumerate().fold(0.0, |sum, (v, p)| sum + p[done + i] * x(v, done + i));
    }
}

/// Σ_v p(v) x(v) for N causes at a time.
fn blend<'a, const N: usize>(prob: &[f64], at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
    let (prob, _) = prob.as_chunks::<N>();
    let (out, _) = out.as_chunks_mut::<N>();
    if let [p, q] = prob {
        let (x, y) = (at(0).as_chunks::<N>().0, at(1).as_chunks::<N>().0);
        for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
            *out = std::array::from_fn(|c| p[c] * x[c] + q[c] * y[c]);
        }
        return;
    }
    for (v, p) in prob.iter().enumerate() {
        for (out, x) in out.iter_mut().zip(at(v).as_chunks::<N>().0) {
            if v == 0 {
                *out = std::array::from_fn(|c| p[c] * x[c]);
            } else {
                *out = std::array::from_fn(|c| out[c] + p[c] * x[c]);
            }
        }
    }
}
