//! Posterior samples of rows over many next states, kept by the few that have nearly all of the mass.
//!
//! Of a symmetric Dirichlet distribution over m values with weight α each, the value of a unit of mass picked at random has the share
//! Beta(α + 1, (m − 1) α), whichever value it is; what is left is again such a distribution over the other values. So values that were never seen
//! are drawn one after the other, each with its share of what the earlier ones left, until nearly nothing is left: with a prior of two
//! visits about 35 of them, however many there are. With every value drawn an episode of `psrl` at 1,440 states took about a second.

use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use crate::kernel::{scale, splitmix64};
use crate::learn::belief::frame::Frame;
use crate::learn::belief::stale::Stale;
use crate::learn::evidence::Evidence;
use crate::math::{exp, ln};
use crate::variates::{exponential, gamma};

/// States from which on rows are kept in this way; with fewer, whole tables are drawn about as fast.
const MANY: usize = 256;

/// Prior weights up to which few values have nearly all of the mass.
const MOST_PRIOR: f64 = 8.0;

/// What may be left of a row's mass, and goes to the value drawn last: single precision, as in whole tables.
const LEFT: f64 = 1.0 / (1u64 << 24) as f64;

/// Rows for which a thread is worth asking.
const PARALLEL_ROWS: usize = 1 << 10;

/// Sampled rows by the next states that have mass, `[block][row]`.
#[derive(Clone, Debug)]
pub(crate) struct ThinBelief {
    n_states: usize,
    prior: f64,
    rows: Vec<Vec<Row>>,
    touched: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Row {
    /// (next state, visits) of those seen, in increasing order.
    seen: Vec<(u32, u32)>,
    /// (next state, probability) of the sample.
    sample: Vec<(u32, f32)>,
}

impl ThinBelief {
    /// Whether few next states have nearly all of the mass.
    pub(crate) fn pays(n_states: usize, prior: f64) -> bool {
        n_states >= MANY && prior <= MOST_PRIOR
    }

    /// Bytes of one row at most: what was seen and what is drawn.
    pub(crate) fn row_bytes(n_states: u128) -> u128 {
        n_states.saturating_mul(8 + 8).saturating_add(size_of::<Row>() as u128)
    }

    pub(crate) fn new(frame: &Frame, prior: f64) -> ThinBelief {
        let (n_states, n_rows) = (frame.layout().n_states(), frame.layout().cells());
        let rows = vec![vec![Row::default(); n_rows]; frame.view.n_blocks];
        ThinBelief { n_states, prior, rows, touched: Vec::new() }
    }

    /// Draws every row anew; a function of the evidence and the seed, whatever the threads.
    pub(crate) fn update(&mut self, evidence: &Evidence, stale: &mut Stale, mut seed: u64) {
        for (block, counts) in evidence.transitions.iter().enumerate() {
            stale.take(block, 0, &mut self.touched);
            for row in self.touched.iter().map(|&row| row as usize) {
                let seen = &mut self.rows[block][row].seen;
                seen.clear();
                seen.extend(counts[0].values(row).iter().zip(0..).filter(|(n, _)| **n > 0).map(|(&n, v)| (v, n)));
            }
            seed = splitmix64(seed);
            let (n_states, prior) = (self.n_states, self.prior);
            self.rows[block].par_iter_mut().enumerate().with_min_len(PARALLEL_ROWS).for_each(|(i, row)| {
                let mut rng = Xoshiro256PlusPlus::seed_from_u64(splitmix64(seed ^ i as u64));
                row.draw(n_states, prior, &mut rng);
            });
        }
    }

    /// E[next value] of every row.
    fn expect(&self, block: usize, next_value: &[f64], q: &mut Vec<f64>) {
        q.resize(self.rows[block].len(), 0.0);
        let rows = self.rows[block].par_iter().with_min_len(PARALLEL_ROWS);
        rows.zip(q.par_iter_mut()).for_each(|(row, q)| *q = row.mean(next_value));
    }

    /// q of a stage; whether losses were written in its place, as `LOSSES` asks.
    pub(crate) fn look<const LOSSES: bool>(
        &self,
        frame: &Frame,
        stage: usize,
        next_value: &[f64],
        q: &mut Vec<f64>,
    ) -> bool {
        self.expect(frame.view.block(stage), next_value, q);
        frame.values::<LOSSES>(stage, q);
        LOSSES
    }

    /// q(s, ·) of one state.
    pub(crate) fn look_at(&self, frame: &Frame, stage: usize, state: usize, next_value: &[f64], q: &mut Vec<f64>) {
        let n = frame.n_causes();
        q.clear();
        for row in state * n..(state + 1) * n {
            let mean = self.rows[frame.view.block(stage)][row].mean(next_value);
            q.push(frame.value(stage, row, mean, 0.0));
        }
    }
}

impl Row {
    fn mean(&self, next_value: &[f64]) -> f64 {
        self.sample.iter().fold(0.0, |sum, &(v, p)| sum + f64::from(p) * next_value[v as usize])
    }

    /// One sample of the posterior with this prior weight in all.
    ///
    /// # Cost
    /// A gamma variate for each value that was seen, and for the others an exponential one for each that is drawn.
    fn draw(&mut self, n_values: usize, prior: f64, rng: &mut impl Rng) {
        let each = prior / n_values as f64;
        let Row { seen, sample } = self;
        sample.clear();
        let mut sum = 0.0;
        for &(v, n) in &*seen {
            let variate = gamma(each + f64::from(n), rng);
            sum += variate;
            sample.push((v, variate as f32));
        }
        let unseen = n_values - seen.len();
        let of_unseen = match (seen.is_empty(), unseen) {
            (true, _) => 1.0,
            (false, 0) => 0.0,
            (false, _) => gamma(each * unseen as f64, rng),
        };
        let over = 1.0 / (sum + of_unseen);
        sample.iter_mut().for_each(|(_, p)| *p = (f64::from(*p) * over) as f32);
        let mut left = of_unseen * over;
        let mut drawn = 0;
        while left > LEFT && drawn < unseen {
            let others = unseen - drawn - 1;
            let share = if others == 0 { 1.0 } else { share(each, each * others as f64, rng) };
            // Drawn again until it is a new one; with nearly all of them taken, the list of the others is short.
            let value = loop {
                let value = scale(rng.next_u64(), n_values as u64) as u32;
                if !sample.iter().any(|(v, _)| *v == value) {
                    break value;
                }
            };
            sample.push((value, (left * share) as f32));
            left -= left * share;
            drawn += 1;
        }
        if let Some((_, last)) = sample.last_mut() {
            *last += left as f32;
        }
    }
}

/// A variate of Beta(1 + a, b).
///
/// With a = 0 one less a uniform number to the power of 1/b; of these a share to the power of a is kept.
fn share(a: f64, b: f64, rng: &mut impl Rng) -> f64 {
    loop {
        let share = 1.0 - exp(-exponential(rng) / b);
        let uniform: f64 = rng.random();
        // Surely kept, since ln x ≥ 1 − 1/x; else asked exactly.
        if uniform < 1.0 - a * (1.0 / share - 1.0) || (share > 0.0 && uniform < exp(a * ln(share))) {
            return share;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::assert_moments;
    use super::*;

    #[test]
    fn rows_have_the_mean_and_variance_of_their_posterior() {
        // Many, for with little prior weight the mass is rarely where nothing was seen.
        let (rounds, n_values) = (200_000, 6);
        for (counts, prior) in [([0u32; 6], 2.0), ([3, 0, 1, 9, 0, 0], 2.0), ([1, 0, 0, 0, 0, 0], 0.3), ([2; 6], 1.0)] {
            let seen = counts.iter().zip(0..).filter(|(n, _)| **n > 0).map(|(&n, v)| (v, n)).collect();
            let mut row = Row { seen, sample: Vec::new() };
            let (mut sums, mut squares) = ([0.0; 6], [0.0; 6]);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
            for _ in 0..rounds {
                row.draw(n_values, prior, &mut rng);
                assert!((row.mean(&[1.0; 6]) - 1.0).abs() < 1e-5);
                for &(v, p) in &row.sample {
                    sums[v as usize] += f64::from(p);
                    squares[v as usize] += f64::from(p) * f64::from(p);
                }
            }
            assert_moments(&counts, prior, rounds, &sums, &squares);
        }
    }

    #[test]
    fn the_mean_of_values_has_the_spread_of_whole_tables_and_few_states_are_drawn() {
        let n_values = 1440;
        let values: Vec<f64> = (0..n_values).map(|v| (v as f64 * 0.618_034).fract()).collect();
        let mut row = Row { seen: vec![(3, 2), (700, 5)], sample: Vec::new() };
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
        let (rounds, mut drawn, mut means) = (20_000, 0, Vec::new());
        for _ in 0..rounds {
            row.draw(n_values, 2.0, &mut rng);
            drawn += row.sample.len();
            means.push(row.mean(&values));
        }
        assert!(drawn / rounds < 60, "{} values of a row", drawn / rounds);
        // The mean and variance of Σ p x for Dirichlet weights: Σ w x / w, and (mean of squares less square of the mean) / (w + 1).
        let weight = |v: usize| {
            2.0 / n_values as f64
                + if v == 3 {
                    2.0
                } else if v == 700 {
                    5.0
                } else {
                    0.0
                }
        };
        let of = |power: i32| (0..n_values).map(|v| weight(v) * values[v].powi(power)).sum::<f64>() / 9.0;
        let (mean, variance) = (of(1), (of(2) - of(1) * of(1)) / 10.0);
        let found = means.iter().sum::<f64>() / rounds as f64;
        assert!((found - mean).abs() < 4.0 * (variance / rounds as f64).sqrt(), "{found} for {mean}");
        let spread = means.iter().map(|x| (x - found).powi(2)).sum::<f64>() / rounds as f64;
        assert!((spread / variance - 1.0).abs() < 0.05, "variance {spread} for {variance}");
    }
}
