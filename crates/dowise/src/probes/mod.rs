//! The inner loops with a public handle, and what the machine could do at best: for benchmarks only.

pub mod loops;

use std::hint::black_box;

use pulp::{Simd, WithSimd};

use crate::loops::simd;
use crate::loops::weigh::weigh;
use crate::plan::{Contraction, Mean};

/// Work of one call.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Multiplications and additions.
    pub flops: f64,
    /// Bytes that have to be read.
    pub read: f64,
    /// Bytes that have to be written.
    pub written: f64,
    /// Bytes in use at a time: they say which cache holds them.
    pub resident: f64,
}

/// Numbers that look random, for benchmarks.
fn numbers(n: usize) -> Vec<f64> {
    (0..n).map(|i| (i as f64 * 0.618_034).fract() + 0.1).collect()
}

/// Weighted losses of every setting in every state: Σ_c P(c | s, a) · loss(c), tables streamed.
#[derive(Clone, Debug)]
pub struct Weighing {
    n_settings: usize,
    n_causes: usize,
    prob: Vec<f64>,
    loss: Vec<f64>,
    values: Vec<f64>,
}

impl Weighing {
    /// Tables `[state][cause][setting]`.
    pub fn new(n_states: usize, n_causes: usize, n_settings: usize) -> Weighing {
        Weighing {
            n_settings,
            n_causes,
            prob: numbers(n_states * n_causes * n_settings),
            loss: numbers(n_causes),
            values: vec![0.0; n_settings],
        }
    }

    /// What one call does.
    pub fn work(&self) -> Work {
        let read = 8.0 * self.prob.len() as f64;
        let written = read / self.n_causes as f64;
        Work { flops: 2.0 * self.prob.len() as f64, read, written, resident: read }
    }

    /// As learners and planners do it.
    pub fn run(&mut self) {
        for prob in self.prob.chunks_exact(self.n_causes * self.n_settings) {
            weigh(prob, &self.loss, &mut self.values);
            black_box(&self.values);
        }
    }

    /// One setting after the other, one cause after the other.
    pub fn run_plainly(&mut self) {
        for prob in self.prob.chunks_exact(self.n_causes * self.n_settings) {
            for i in 0..self.n_settings {
                self.values[i] = (0..self.n_causes).map(|c| prob[c * self.n_settings + i] * self.loss[c]).sum();
            }
            black_box(&self.values);
        }
    }
}

/// E[V(s') | s, c] for binary factors that depend on themselves and the cause.
#[derive(Clone, Debug)]
pub struct Expectation {
    n_causes: usize,
    contraction: Contraction,
    factors: Vec<Mean>,
    value: Vec<f64>,
    out: Vec<f64>,
    spare: Vec<f64>,
}

impl Expectation {
    /// `m` binary factors: 2^m states.
    pub fn new(m: usize, n_causes: usize) -> Expectation {
        let scopes: Vec<Vec<usize>> = (0..m).map(|i| vec![i]).collect();
        Expectation {
            n_causes,
            contraction: Contraction::new(&vec![2; m], &scopes, n_causes),
            factors: (0..m).map(|_| Mean { prob: numbers(4 * n_causes), n_values: 2, n_causes }).collect(),
            value: numbers(1 << m),
            out: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Two products and a sum for each number and factor; every next value has to be read once, and every number written once.
    pub fn work(&self) -> Work {
        let array = (self.value.len() * self.n_causes) as f64;
        let (read, written) = (8.0 * self.value.len() as f64, 8.0 * array);
        Work { flops: 3.0 * array * self.factors.len() as f64, read, written, resident: read + written }
    }

    /// As learners and planners do it.
    pub fn run(&mut self) {
        self.contraction.apply(&self.factors, &self.value, &mut self.out, &mut self.spare);
        black_box(&self.out);
    }

    /// Factor by factor over the whole array, digit by digit, with nothing else thought of.
    pub fn run_plainly(&mut self) {
        let (n, m, z) = (self.value.len(), self.factors.len(), self.n_causes);
        let mut now: Vec<f64> = self.value.iter().flat_map(|&v| std::iter::repeat_n(v, z)).collect();
        for (i, factor) in self.factors.iter().enumerate() {
            let mut next = vec![0.0; n * z];
            let bit = 1 << (m - 1 - i);
            for s in 0..n {
                let row = usize::from(s & bit != 0);
                for c in 0..z {
                    for v in 0..2 {
                        let from = if v == 0 { s & !bit } else { s | bit };
                        next[s * z + c] += factor.prob[(row * 2 + v) * z + c] * now[from * z + c];
                    }
                }
            }
            now = next;
        }
        self.out = now;
        black_box(&self.out);
    }

    /// The result of the last call.
    pub fn result(&self) -> &[f64] {
        &self.out
    }
}

/// `rounds` rounds of multiplications and additions in the widest registers, ten of them at a time, hardly waiting for each
/// other. Gives the number of multiplications and additions.
pub fn multiply_and_add(rounds: usize) -> f64 {
    simd::wide_registers(MultiplyAndAdd { rounds })
}

struct MultiplyAndAdd {
    rounds: usize,
}

impl WithSimd for MultiplyAndAdd {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let (a, b) = (simd.splat_f64s(black_box(0.999_999)), simd.splat_f64s(black_box(1e-9)));
        let mut sums = [a; 10];
        for _ in 0..self.rounds {
            for sum in &mut sums {
                *sum = simd.add_f64s(simd.mul_f64s(*sum, a), b);
            }
        }
        black_box(sums);
        (self.rounds * 2 * sums.len() * S::F64_LANES) as f64
    }
}

/// Reads an array once: its sum, in as many lanes as it takes to be limited by memory alone.
pub fn read(array: &[f64]) -> f64 {
    simd::wide(
        #[inline(always)]
        || {
            let mut lanes = [0.0; 32];
            for chunk in array.as_chunks::<32>().0 {
                for i in 0..32 {
                    lanes[i] += chunk[i];
                }
            }
            lanes.iter().sum()
        },
    )
}

/// Writes an array once.
pub fn write(array: &mut [f64], number: f64) {
    simd::wide(
        #[inline(always)]
        || {
            for x in array {
                *x = number;
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loops_that_are_compared_compute_the_same() {
        let mut expectation = Expectation::new(5, 8);
        expectation.run();
        let fast = expectation.result().to_vec();
        expectation.run_plainly();
        assert!(fast.iter().zip(expectation.result()).all(|(a, b)| (a - b).abs() <= 1e-12 * a.abs()));
        let mut weighing = Weighing::new(1, 8, 37);
        weighing.run();
        let fast = weighing.values.clone();
        weighing.run_plainly();
        assert!(fast.iter().zip(&weighing.values).all(|(a, b)| (a - b).abs() <= 1e-12 * a.abs()));
    }
}
