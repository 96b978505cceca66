//! Samples next states of low-rank transitions: a latent factor, then each state factor; or by cumulative sums.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::table_row::{TableRow, draw, draw_from};
use crate::world::{LowRank, World};

/// Precomputed data for sampling.
#[derive(Clone, Debug)]
pub(super) struct DrawnLowRank {
    low_rank: LowRank,
    place: TableRow,
    /// For every state factor: its stride, its number of values, and cumulative sums of each latent factor's row.
    factors: Vec<(usize, usize, Vec<f64>)>,
}

impl DrawnLowRank {
    pub(super) fn new(world: &World, low_rank: &LowRank) -> DrawnLowRank {
        let space = world.state_space();
        let sums = |i: usize, n: usize| -> Vec<f64> {
            if !low_rank.is_mixture() {
                return Vec::new();
            }
            let up_to = |row: &[f64]| {
                let mut sum = 0.0;
                let step = |&p: &f64| {
                    sum += p;
                    sum
                };
                row.iter().map(step).collect::<Vec<_>>()
            };
            low_rank.next(i).chunks_exact(n).flat_map(up_to).collect()
        };
        let factors = space.strides().iter().zip(space.sizes()).enumerate();
        DrawnLowRank {
            place: TableRow::new(world, low_rank.scope()),
            factors: factors.map(|(i, (&stride, &n))| (stride, n, sums(i, n))).collect(),
            low_rank: low_rank.clone(),
        }
    }

    /// Samples a next state, given the values of all variables.
    ///
    /// # Cost
    /// O(d) and a binary search for each state factor; O(d · S) with signed weights or rows.
    pub(super) fn draw(&self, values: &[u32], rng: &mut ChaCha8Rng) -> usize {
        if let Some(basis) = self.low_rank.basis() {
            let digits: Vec<usize> = values.iter().map(|&v| v as usize).collect();
            let mut weights = vec![0.0; self.low_rank.dimension()];
            basis.fill(&digits, &mut weights);
            return self.by_anchor(&weights, rng);
        }
        let weights = self.low_rank.weights(self.place.of(values));
        if !self.low_rank.is_mixture() {
            // With one state factor, its value is the state.
            let (n, rows) = (self.factors[0].1, self.low_rank.next(0));
            let p = |s: usize| weights.iter().enumerate().map(|(j, w)| w * rows[j * n + s]).sum::<f64>().max(0.0);
            return draw((0..n).map(p), rng);
        }
        self.by_anchor(weights, rng)
    }

    fn by_anchor(&self, weights: &[f64], rng: &mut ChaCha8Rng) -> usize {
        self.after_anchor(draw_from(weights, rng), rng)
    }

    /// Samples a next state from a latent factor, if every row is a distribution.
    pub(super) fn after_anchor(&self, anchor: usize, rng: &mut ChaCha8Rng) -> usize {
        let next = self.factors.iter().map(|(stride, n, sums)| {
            let sums = &sums[anchor * n..][..*n];
            // The last sum is 1 up to rounding: scaling by it keeps draws within the possible values.
            let at = rng.random::<f64>() * sums[n - 1];
            sums.partition_point(|sum| *sum <= at).min(n - 1) * stride
        });
        next.sum()
    }
}
