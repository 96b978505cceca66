//! Confidence radii: bounds on the distance between true probabilities of a row and their frequencies.

use std::f64::consts::LN_2;

use super::mixture;
use crate::learn::options::Sets;
use crate::learn::view::View;
use crate::loops::kl_upper::{AT_ONCE, kl_upper, kl_uppers};
use crate::math::ln;

/// The bounds of a learner's confidence sets, which hold for all rows and all numbers of visits with probability 1 − δ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Confidence {
    kind: Sets,
    /// ln(rows / δ), or ln(2 · rows · T / δ): union bound over all rows. Bounds for one number of visits at a time
    /// also need a union over these and both sides.
    log: f64,
    /// Whether balls hold only for the mean of one function of the next state at each stage, not for whole rows.
    of_mean: bool,
}

impl Confidence {
    /// Bounds for all unknown rows of a view. Only bounds that are no mixtures depend on the number of steps.
    pub(crate) fn new(kind: Sets, view: &View, delta: f64, steps: f64) -> Confidence {
        let log = match kind {
            Sets::Mixture => ln(view.rows() as f64 / delta),
            Sets::Kl | Sets::L1 => ln(2.0 * view.cells() as f64 * steps / delta),
        };
        Confidence { kind, log, of_mean: false }
    }

    /// Bounds for separately counted rows, at any number of steps.
    pub(crate) fn of_rows(rows: usize, delta: f64) -> Confidence {
        Confidence { kind: Sets::Mixture, log: ln(rows as f64 / delta), of_mean: false }
    }

    /// These bounds for `functions` fixed functions of the next state at each stage: each ball contains a distribution
    /// with the true mean of each function. Much narrower than for whole rows with many values.
    pub(crate) fn for_means(self, functions: usize) -> Confidence {
        Confidence { of_mean: true, log: self.log + ln(functions as f64), ..self }
    }

    /// Bounds with a given logarithm.
    #[cfg(test)]
    pub(crate) fn with_log(kind: Sets, log: f64) -> Confidence {
        Confidence { kind, log, of_mean: false }
    }

    /// The bounds of one of several intervals that must hold simultaneously.
    pub(crate) fn shared_by(self, intervals: usize) -> Confidence {
        Confidence { log: self.log + ln(intervals as f64), ..self }
    }

    /// The bounds if each row gets its present share of δ divided by this number.
    pub(crate) fn spread_over(self, rows: f64) -> Confidence {
        Confidence { log: self.log + ln(rows), ..self }
    }

    /// ln(1 / the share of δ of a row).
    pub(crate) fn log(&self) -> f64 {
        self.log
    }

    /// The kind of confidence sets.
    pub(crate) fn kind(&self) -> Sets {
        self.kind
    }

    /// The confidence interval for the probability of the second of two values.
    pub(crate) fn interval(&self, counts: &[u32], n: u32) -> (f64, f64) {
        if n == 0 {
            return (0.0, 1.0);
        }
        let n = f64::from(n);
        let p = f64::from(counts[1]) / n;
        match self.kind {
            Sets::L1 => self.hoeffding(p, n),
            Sets::Kl => kl_interval(p, self.log / n),
            Sets::Mixture => kl_interval(p, (self.log + mixture::of_two_counts(counts[0], counts[1])) / n),
        }
    }

    /// [`Confidence::interval`] of several rows at once. `counts(i)` gives the visits of the two values of a row and
    /// of the row; `set(i, ends)` receives each interval.
    pub(crate) fn intervals<'a>(
        &self,
        n_rows: usize,
        counts: impl Fn(usize) -> (&'a [u32], u32),
        mut set: impl FnMut(usize, (f64, f64)),
    ) {
        const ROWS: usize = AT_ONCE / 2;
        if self.kind == Sets::L1 || n_rows == 1 {
            (0..n_rows).for_each(|i| set(i, self.interval(counts(i).0, counts(i).1)));
            return;
        }
        for first in (0..n_rows).step_by(ROWS) {
            let many = ROWS.min(n_rows - first);
            // The upper ends of p, and after them those of 1 − p.
            let (mut p, mut bound) = ([1.0; AT_ONCE], [0.0; AT_ONCE]);
            for i in 0..many {
                let (counts, n) = counts(first + i);
                if n > 0 {
                    let price = match self.kind {
                        Sets::Mixture => mixture::of_two_counts(counts[0], counts[1]),
                        Sets::Kl | Sets::L1 => 0.0,
                    };
                    let n = f64::from(n);
                    p[i] = f64::from(counts[1]) / n;
                    p[ROWS + i] = 1.0 - p[i];
                    bound[i] = (self.log + price) / n;
                    bound[ROWS + i] = bound[i];
                }
            }
            let ends = kl_uppers(&p, &bound);
            for i in 0..many {
                let unseen = counts(first + i).1 == 0;
                set(first + i, if unseen { (0.0, 1.0) } else { (1.0 - ends[ROWS + i], ends[i]) });
            }
        }
    }

    /// The confidence interval for the mean of rewards between 0 and 1 with this sum.
    pub(crate) fn mean_interval(&self, sum: f64, n: u32) -> (f64, f64) {
        if n == 0 {
            return (0.0, 1.0);
        }
        let n = f64::from(n);
        let sum = sum.clamp(0.0, n);
        match self.kind {
            Sets::L1 | Sets::Kl => self.hoeffding(sum / n, n),
            Sets::Mixture => kl_interval(sum / n, (self.log + mixture::of_two(n - sum, sum)) / n),
        }
    }

    /// ε of the ball { q : KL(p, q) ≤ ε } around the frequencies p of a row.
    pub(crate) fn divergence(&self, counts: &[u32], n: u32) -> f64 {
        match n {
            0 => f64::INFINITY,
            _ if self.of_mean => (self.log + mixture::of_mean(n).min(mixture::of_many(counts, n))) / f64::from(n),
            _ => (self.log + mixture::of_many(counts, n)) / f64::from(n),
        }
    }

    /// Half the radius of the L1 ball around the frequencies of a row: the mass that may move.
    pub(crate) fn movable(&self, n_values: usize, n: u32) -> f64 {
        if n == 0 {
            return 1.0;
        }
        // Weissman et al.: P(‖p^ − p‖₁ ≥ ε) ≤ (2^m − 2) exp(−n ε²/2).
        let log = self.log + n_values as f64 * LN_2 - LN_2;
        ((2.0 * log / f64::from(n)).sqrt() / 2.0).min(1.0)
    }

    fn hoeffding(&self, p: f64, n: f64) -> (f64, f64) {
        let e = (self.log / (2.0 * n)).sqrt();
        ((p - e).max(0.0), (p + e).min(1.0))
    }
}

/// All q with KL(p ‖ q) ≤ bound.
pub(super) fn kl_interval(p: f64, bound: f64) -> (f64, f64) {
    (1.0 - kl_upper(1.0 - p, bound), kl_upper(p, bound))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    const DELTA: f64 = 0.2;
    const STEPS: u32 = 2000;
    const SEQUENCES: u64 = 150;

    fn divergence(counts: &[u32], n: u32, p: &[f64]) -> f64 {
        let terms = counts.iter().zip(p).filter(|(k, _)| **k > 0);
        terms.map(|(&k, p)| f64::from(k) / f64::from(n) * (f64::from(k) / f64::from(n) / p).ln()).sum()
    }

    fn draw(p: &[f64], rng: &mut impl Rng) -> usize {
        let mut u: f64 = rng.random();
        let last = p.len() - 1;
        p.iter()
            .position(|p| {
                u -= p;
                u < 0.0
            })
            .unwrap_or(last)
    }

    /// Share of sequences whose true row is outside its set at some number of visits.
    fn missed(p: &[f64], outside: impl Fn(&[u32], u32) -> bool) -> f64 {
        let misses = |seed: u64| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let mut counts = vec![0; p.len()];
            (1..=STEPS).any(|n| {
                counts[draw(p, &mut rng)] += 1;
                outside(&counts, n)
            })
        };
        (0..SEQUENCES).filter(|&seed| misses(seed)).count() as f64 / SEQUENCES as f64
    }

    /// Two standard deviations of a share.
    fn noise() -> f64 {
        2.0 * (DELTA * (1.0 - DELTA) / SEQUENCES as f64).sqrt()
    }

    #[test]
    fn the_truth_is_inside_at_all_numbers_of_visits_at_once_as_often_as_promised() {
        let confidence = Confidence { kind: Sets::Mixture, log: (1.0 / DELTA).ln(), of_mean: false };
        let rows: [&[f64]; 7] = [
            &[0.5, 0.5],
            &[0.97, 0.03],
            &[0.2, 0.3, 0.5],
            &[0.98, 0.01, 0.01],
            &[0.125; 8],
            &[0.6, 0.3, 0.1, 0.0, 0.0, 0.0, 0.0, 0.0],
            &[0.9, 0.05, 0.02, 0.01, 0.005, 0.005, 0.005, 0.005],
        ];
        for p in rows {
            let share = missed(p, |counts, n| match p.len() {
                2 => {
                    let (lo, hi) = confidence.interval(counts, n);
                    p[1] < lo || p[1] > hi
                }
                _ => divergence(counts, n, p) > confidence.divergence(counts, n),
            });
            assert!(share <= DELTA + noise(), "{p:?}: {share}");
            // A bound for one number of visits, applied at all of them, fails in most sequences: the test has power.
            let share = missed(p, |counts, n| divergence(counts, n, p) > confidence.log / f64::from(n));
            assert!(share > 2.0 * DELTA, "{p:?} without the price of the mixture: {share}");
        }
    }

    #[test]
    fn the_mean_of_payments_is_inside_at_all_numbers_of_visits_at_once() {
        let confidence = Confidence { kind: Sets::Mixture, log: (1.0 / DELTA).ln(), of_mean: false };
        // Rewards and their probabilities.
        for (pays, p) in [([0.0, 0.5, 1.0], [0.3, 0.4, 0.3]), ([0.0, 0.1, 1.0], [0.5, 0.48, 0.02])] {
            let mean: f64 = pays.iter().zip(p).map(|(x, p)| x * p).sum();
            let sum = |counts: &[u32]| counts.iter().zip(pays).map(|(&k, x)| f64::from(k) * x).sum::<f64>();
            let share = missed(&p, |counts, n| {
                let (lo, hi) = confidence.mean_interval(sum(counts), n);
                mean < lo || mean > hi
            });
            assert!(share <= DELTA + noise(), "{pays:?} {p:?}: {share}");
            // 1.28 standard deviations: the nominal coverage at one number of visits.
            let deviation = (pays.iter().zip(p).map(|(x, p)| p * (x - mean).powi(2)).sum::<f64>()).sqrt();
            let off = |counts: &[u32], n: u32| (sum(counts) / f64::from(n) - mean).abs() * f64::from(n).sqrt();
            let share = missed(&p, |counts, n| off(counts, n) > 1.28 * deviation);
            assert!(share > 2.0 * DELTA, "an interval for one number of visits: {share}");
        }
    }

    #[test]
    fn ends_of_intervals_are_where_the_divergence_is_the_bound() {
        for k in [1, 3, 50, 99] {
            for bound in [1e-6, 0.01, 0.3, 4.0] {
                let p = f64::from(k) / 100.0;
                let (lo, hi) = kl_interval(p, bound);
                let kl = |q: f64| p * (p / q).ln() + (1.0 - p) * ((1.0 - p) / (1.0 - q)).ln();
                // An end is where the divergence crosses the bound, to 10⁻¹³.
                for (q, out) in [(lo, -1e-13), (hi, 1e-13)] {
                    assert!(kl(q - out) <= bound, "{p} {bound}: {q} is too far out");
                    let beyond = q + out;
                    assert!(beyond <= 0.0 || beyond >= 1.0 || kl(beyond) >= bound, "{p} {bound}: {q} is too far in");
                }
                assert!(lo < p && p < hi);
            }
        }
        assert_eq!(kl_interval(0.0, 0.5), (0.0, 1.0 - (-0.5f64).exp()));
        let (lo, hi) = kl_interval(1.0, 0.5);
        assert!((lo - (-0.5f64).exp()).abs() < 1e-15 && hi == 1.0);
    }
}
