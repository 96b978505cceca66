//! Dirichlet posterior samples of a whole table of rows: gamma variates in batches, then each row divided by its sum.

use crate::loops::gamma::{BATCH, Gammas, Lanes};
use crate::loops::normalise::normalise;
use crate::loops::simd;

/// Dirichlet posteriors of many rows, laid out `[panel][value][lane]`: lane l of panel b is row b · lanes + l.
#[derive(Clone, Debug)]
pub(crate) struct Posterior {
    n_values: usize,
    n_lanes: usize,
    /// Prior weight of each value.
    prior: f64,
    gammas: Gammas,
}

impl Posterior {
    /// Rows of `n_values` values with this prior weight in all, nothing seen yet.
    pub(crate) fn new(n_panels: usize, n_values: usize, n_lanes: usize, prior: f64) -> Posterior {
        let n_batches = (n_panels * n_values * n_lanes).div_ceil(BATCH);
        let prior = prior / n_values as f64;
        Posterior { n_values, n_lanes, prior, gammas: Gammas::new(n_batches, prior) }
    }

    /// Sets the counts of one row.
    pub(crate) fn set(&mut self, row: usize, counts: &[u32]) {
        let (panel, lane) = (row / self.n_lanes, row % self.n_lanes);
        for (v, &n) in counts.iter().enumerate() {
            let cell = (panel * self.n_values + v) * self.n_lanes + lane;
            self.gammas.set(cell, self.prior + f64::from(n));
        }
    }

    /// Samples all rows into `out`, `[panel][value][lane]`; a function of the seed.
    ///
    /// # Cost
    /// One gamma variate per cell, in single precision and in wide registers. Sums and quotients are in double
    /// precision.
    pub(crate) fn sample(&mut self, seed: u64, out: &mut [f64]) {
        let mut random = Lanes::new(seed);
        simd::wide(
            #[inline(always)]
            || self.gammas.draw(0..self.gammas.variates.len(), &mut random),
        );
        let gammas = self.gammas.variates.as_flattened();
        let panel = self.n_values * self.n_lanes;
        simd::wide(
            #[inline(always)]
            || {
                for (gammas, out) in gammas.chunks_exact(panel).zip(out.chunks_exact_mut(panel)) {
                    normalise(gammas, self.n_lanes, out);
                }
            },
        );
        // Every variate of a row underflowed: with a tiny prior the sample is a corner of the simplex.
        for out in out.chunks_exact_mut(panel) {
            for lane in 0..self.n_lanes {
                if out[lane].is_nan() {
                    let [bits] = random.draw();
                    let corner = crate::random::scale(u64::from(bits[0]) << 32, self.n_values as u64) as usize;
                    (0..self.n_values).for_each(|v| out[v * self.n_lanes + lane] = f64::from(u8::from(v == corner)));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::assert_moments;
    use super::*;

    #[test]
    fn rows_have_the_mean_and_variance_of_their_posterior() {
        // 3 panels of 5 lanes with 4 values each; row 7 has visits.
        let mut posterior = Posterior::new(3, 4, 5, 2.0);
        posterior.set(7, &[3, 0, 1, 9]);
        let (rounds, mut sums, mut squares) = (20_000, [[0.0; 4]; 2], [[0.0; 4]; 2]);
        let mut out = vec![0.0; 60];
        for seed in 0..rounds {
            posterior.sample(seed, &mut out);
            for (i, row) in [7usize, 8].into_iter().enumerate() {
                let at = |v: usize| out[(row / 5 * 4 + v) * 5 + row % 5];
                assert!(((0..4).map(at).sum::<f64>() - 1.0).abs() < 1e-14);
                for v in 0..4 {
                    sums[i][v] += at(v);
                    squares[i][v] += at(v) * at(v);
                }
            }
        }
        for (i, counts) in [[3, 0, 1, 9], [0; 4]].into_iter().enumerate() {
            assert_moments(&counts, 2.0, rounds, &sums[i], &squares[i]);
        }
    }

    #[test]
    fn a_tiny_prior_gives_corners() {
        let mut posterior = Posterior::new(1, 3, 2, 1e-6);
        let mut out = vec![0.0; 6];
        let mut corners = [0; 3];
        for seed in 0..300 {
            posterior.sample(seed, &mut out);
            let corner = (0..3).find(|v| out[2 * v] == 1.0).expect("a corner");
            corners[corner] += 1;
            assert_eq!(out[0] + out[2] + out[4], 1.0);
        }
        assert!(corners.iter().all(|&n| n > 60), "{corners:?}");
    }
}
