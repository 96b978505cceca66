//! Stick-breaking samples of Dirichlet posteriors over many next states, stored as the few entries with nearly all
//! mass.
//!
//! A symmetric Dirichlet distribution over m values with total weight α is a Dirichlet process whose base measure is
//! uniform on them (Sethuraman 1994). Each piece takes a share Beta(1, α) of the remaining mass and falls on a value
//! drawn uniformly, with replacement. With n_v visits of the observed values, their total mass is Beta(Σ n, α),
//! distributed as Dirichlet(n). Pieces are drawn until the remaining mass is negligible: about 34 for a prior of two
//! visits, however many values there are.

use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use crate::learn::belief::frame::Frame;
use crate::learn::belief::stale::Stale;
use crate::learn::evidence::Evidence;
use crate::learn::view::Layout;
use crate::math::exp;
use crate::random::{exponential, gamma};
use crate::random::{scale, splitmix64};

/// Number of states from which on this representation is used; with fewer, whole tables are about as fast.
const MANY: usize = 256;

/// Prior weights up to which few values have nearly all of the mass.
const MOST_PRIOR: f64 = 8.0;

/// Negligible remaining mass of a row, which goes to the last drawn value: single precision, as in whole tables.
const LEFT: f64 = 1.0 / (1u64 << 24) as f64;

/// ln(1 / [`LEFT`])
const LN_LEFT: f64 = 24.0 * std::f64::consts::LN_2;

/// Number of rows from which on threads are used.
const PARALLEL_ROWS: usize = 1 << 10;

/// Sampled rows by next states with mass, `[block][row]`, if one factor is the whole state.
#[derive(Clone, Debug)]
pub(crate) struct StickBreaking {
    n_states: usize,
    prior: f64,
    rows: Vec<Vec<Row>>,
    touched: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Row {
    /// (next state, visits) of the observed ones, in increasing order.
    seen: Vec<(u32, u32)>,
    /// (next state, probability) of the sample.
    sample: Vec<(u32, f32)>,
}

impl StickBreaking {
    /// Whether few next states have nearly all of the mass.
    pub(crate) fn pays(n_states: usize, prior: f64) -> bool {
        n_states >= MANY && prior <= MOST_PRIOR
    }

    /// Whether the whole state is one unknown factor with enough states.
    pub(crate) fn fits(layout: &Layout, prior: f64) -> bool {
        matches!(&layout.factors[..], [only] if only.known.is_none()) && Self::pays(layout.n_states(), prior)
    }

    /// Most bytes of one row: observed values, their samples, and pieces of the prior, a Poisson number with mean α
    /// ln(1/[`LEFT`]). Lists have room for up to twice as many.
    pub(crate) fn row_bytes(n_states: u128, prior: f64) -> u128 {
        let mean = prior * LN_LEFT;
        let pieces = (mean + 10.0 * mean.sqrt() + 16.0) as u128;
        n_states.saturating_mul(2 * (8 + 8)).saturating_add(2 * 8 * pieces).saturating_add(size_of::<Row>() as u128)
    }

    pub(crate) fn new(frame: &Frame, prior: f64) -> StickBreaking {
        let (n_states, n_rows) = (frame.layout().n_states(), frame.layout().cells());
        let rows = vec![vec![Row::default(); n_rows]; frame.view.n_blocks];
        StickBreaking { n_states, prior, rows, touched: Vec::new() }
    }

    /// Samples every row again; a function of the evidence and the seed, for any number of threads.
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

    /// E[next value] of every state and configuration, `[state][cause]`.
    fn mean(&self, frame: &mut Frame, block: usize, next_value: &[f64], q: &mut Vec<f64>) {
        let Frame { view, spare, .. } = frame;
        let (layout, factor) = (&view.layout, &view.layout.factors[0]);
        let own_numbering = factor.rows_of_cells().is_none() && factor.n_state_rows == layout.n_states();
        let of_row = if own_numbering { &mut *q } else { &mut *spare };
        of_row.resize(self.rows[block].len(), 0.0);
        let rows = self.rows[block].par_iter().with_min_len(PARALLEL_ROWS);
        rows.zip(of_row.par_iter_mut()).for_each(|(row, mean)| *mean = row.mean(next_value));
        if own_numbering {
            return;
        }
        let n_causes = layout.n_causes;
        q.resize(layout.n_states() * n_causes, 0.0);
        for (state, q) in q.chunks_exact_mut(n_causes).enumerate() {
            let state_row = factor.state_row(&layout.state_space, state);
            q.iter_mut().enumerate().for_each(|(c, q)| *q = spare[factor.row(state_row, c, n_causes)]);
        }
    }

    /// E[next value | s, c] at the first stage, `[state][cause]`: no rewards.
    pub(crate) fn expect(&self, frame: &mut Frame, next_value: &[f64], out: &mut Vec<f64>) {
        self.mean(frame, 0, next_value, out);
    }

    /// q of a stage; returns whether losses were written instead, as `LOSSES` requests.
    pub(crate) fn look<const LOSSES: bool>(
        &self,
        frame: &mut Frame,
        stage: usize,
        next_value: &[f64],
        q: &mut Vec<f64>,
    ) -> bool {
        self.mean(frame, frame.view.block(stage), next_value, q);
        frame.values::<LOSSES>(stage, q);
        LOSSES
    }

    /// q(s, ·) of one state.
    pub(crate) fn look_at(&self, frame: &Frame, stage: usize, state: usize, next_value: &[f64], q: &mut Vec<f64>) {
        let (layout, n) = (frame.layout(), frame.n_causes());
        let factor = &layout.factors[0];
        let state_row = factor.state_row(&layout.state_space, state);
        q.clear();
        for cause in 0..n {
            let row = &self.rows[frame.view.block(stage)][factor.row(state_row, cause, n)];
            q.push(frame.value(stage, state * n + cause, row.mean(next_value), 0.0));
        }
    }
}

impl Row {
    /// Σ p V(s'): four sums at a time, so that additions do not wait for each other; the order is fixed.
    fn mean(&self, next_value: &[f64]) -> f64 {
        let of = |&(v, p): &(u32, f32)| f64::from(p) * next_value[v as usize];
        let (fours, rest) = self.sample.as_chunks::<4>();
        let mut sums = [0.0; 4];
        for four in fours {
            (0..4).for_each(|i| sums[i] += of(&four[i]));
        }
        (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest.iter().map(of).sum::<f64>()
    }

    /// One posterior sample with this total prior weight.
    ///
    /// # Cost
    /// A gamma variate for each observed value, and two words of random bits for each piece of the prior.
    fn draw(&mut self, n_values: usize, prior: f64, rng: &mut impl Rng) {
        let Row { seen, sample } = self;
        sample.clear();
        let mut left = 1.0;
        if !seen.is_empty() {
            let mut sum = gamma(prior, rng);
            left = sum;
            for &(v, n) in &*seen {
                let variate = gamma(f64::from(n), rng);
                sum += variate;
                sample.push((v, variate as f32));
            }
            let over = 1.0 / sum;
            sample.iter_mut().for_each(|(_, p)| *p = (f64::from(*p) * over) as f32);
            left *= over;
        }
        while left > LEFT {
            let kept = left * kept(prior, rng);
            let value = scale(rng.next_u64(), n_values as u64) as u32;
            sample.push((value, (left - kept) as f32));
            left = kept;
        }
        if let Some((_, last)) = sample.last_mut() {
            *last += left as f32;
        }
    }
}

/// The remaining share after a piece: a variate of Beta(α, 1), which is a uniform number to the power of 1/α.
#[inline]
fn kept(prior: f64, rng: &mut impl Rng) -> f64 {
    if prior == 2.0 {
        return rng.random::<f64>().sqrt();
    }
    exp(-exponential(rng) / prior)
}

#[cfg(test)]
mod tests {
    use super::super::assert_moments;
    use super::*;

    #[test]
    fn rows_have_the_mean_and_variance_of_their_posterior() {
        // Many rounds, since with little prior weight unobserved values rarely have mass.
        let (rounds, n_values) = (200_000, 6);
        for (counts, prior) in [([0u32; 6], 2.0), ([3, 0, 1, 9, 0, 0], 2.0), ([1, 0, 0, 0, 0, 0], 0.3), ([2; 6], 1.0)] {
            let seen = counts.iter().zip(0..).filter(|(n, _)| **n > 0).map(|(&n, v)| (v, n)).collect();
            let mut row = Row { seen, sample: Vec::new() };
            let (mut sums, mut squares) = ([0.0; 6], [0.0; 6]);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
            for _ in 0..rounds {
                row.draw(n_values, prior, &mut rng);
                assert!((row.mean(&[1.0; 6]) - 1.0).abs() < 1e-5);
                // Several pieces may have fallen on one value.
                let mut of_value = [0.0; 6];
                row.sample.iter().for_each(|&(v, p)| of_value[v as usize] += f64::from(p));
                for v in 0..n_values {
                    sums[v] += of_value[v];
                    squares[v] += of_value[v] * of_value[v];
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
