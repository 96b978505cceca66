//! How far the true probabilities of a row may be from what was counted: the bounds behind all confidence sets.

use std::f64::consts::LN_2;

use super::mixture;
use crate::learn::options::Sets;
use crate::learn::view::View;
use crate::math::{exp, ln};

/// The bounds of a learner's confidence sets, which hold for all rows and all numbers of visits with probability 1 − δ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Confidence {
    kind: Sets,
    /// ln(rows / δ), or ln(2 · rows · T / δ): union over all rows, and where bounds are for one number of visits at a time,
    /// over these and both sides.
    log: f64,
}

impl Confidence {
    /// For everything that has to be learned in a view. Only bounds that are no mixtures count on a number of steps.
    pub(crate) fn new(kind: Sets, view: &View, delta: f64, steps: f64) -> Confidence {
        let log = match kind {
            Sets::Mixture => ln(view.rows() as f64 / delta),
            Sets::Kl | Sets::L1 => ln(2.0 * view.cells() as f64 * steps / delta),
        };
        Confidence { kind, log }
    }

    /// Which sets these are the bounds of.
    pub(crate) fn kind(&self) -> Sets {
        self.kind
    }

    /// The interval for the probability of the second of two values.
    pub(crate) fn interval(&self, counts: &[u32], n: u32) -> (f64, f64) {
        if n == 0 {
            return (0.0, 1.0);
        }
        let n = f64::from(n);
        let p = f64::from(counts[1]) / n;
        match self.kind {
            Sets::L1 => self.hoeffding(p, n),
            Sets::Kl => kl_interval(p, self.log / n),
            Sets::Mixture => {
                kl_interval(p, (self.log + mixture::of_two(f64::from(counts[0]), f64::from(counts[1]))) / n)
            }
        }
    }

    /// The interval for the mean of payments between 0 and 1 with this sum.
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
        if n == 0 { f64::INFINITY } else { (self.log + mixture::of_many(counts, n)) / f64::from(n) }
    }

    /// Half the radius of the L1 ball around the frequencies of a row: how much mass may be moved.
    pub(crate) fn movable(&self, n_values: usize, n: u32) -> f64 {
        if n == 0 {
            return 1.0;
        }
        // Weissman et al.: P(‖p^ − p‖₁ ≥ ε) ≤ (2^m − 2) exp(−n ε²/2).
        let log = self.log + n_values as f64 * LN_2 - LN_2;
        ((2.0 * log / f64::from(n)).sqrt() / 2.0).min(1.0)
    }

    /// How far frequencies may be off in total variation; more than 1 means anything.
    pub(crate) fn distance(&self, counts: &[u32], n: u32) -> f64 {
        if n == 0 {
            return 1.0;
        }
        match (self.kind, counts.len()) {
            (Sets::L1 | Sets::Kl, n_values) => {
                let extra = if n_values == 2 { 0.0 } else { (n_values as f64 - 1.0) * LN_2 };
                ((self.log + extra) / (2.0 * f64::from(n))).sqrt()
            }
            (Sets::Mixture, 2) => {
                let (lo, hi) = self.interval(counts, n);
                let p = f64::from(counts[1]) / f64::from(n);
                (hi - p).max(p - lo)
            }
            // Pinsker's inequality.
            (Sets::Mixture, _) => (self.divergence(counts, n) / 2.0).sqrt(),
        }
    }

    fn hoeffding(&self, p: f64, n: f64) -> (f64, f64) {
        let e = (self.log / (2.0 * n)).sqrt();
        ((p - e).max(0.0), (p + e).min(1.0))
    }
}

/// All q with KL(p ‖ q) ≤ bound.
fn kl_interval(p: f64, bound: f64) -> (f64, f64) {
    (1.0 - kl_upper(1.0 - p, bound), kl_upper(p, bound))
}

/// The greatest q ≥ p with KL(p ‖ q) ≤ bound, up to rounding from above.
///
/// KL(p ‖ ·) is convex and increasing on [p, 1), so Newton's method started above the solution stays above it: stopping early
/// can only widen the interval. Two starting points that are surely above: Pinsker's inequality, and dropping p ln(1/q) ≥ 0.
fn kl_upper(p: f64, bound: f64) -> f64 {
    if p >= 1.0 {
        return 1.0;
    }
    if p <= 0.0 {
        return 1.0 - exp(-bound);
    }
    let negative_entropy = p * ln(p) + (1.0 - p) * ln(1.0 - p);
    let mut q = (p + (bound / 2.0).sqrt()).min(1.0 - exp(-(bound - negative_entropy) / (1.0 - p)));
    for _ in 0..30 {
        let excess = negative_entropy - p * ln(q) - (1.0 - p) * ln(1.0 - q) - bound;
        let slope = (q - p) / (q * (1.0 - q));
        let step = excess / slope;
        // Not a number or not downwards: rounding has the last word.
        if step.is_nan() || step <= 1e-15 {
            break;
        }
        q -= step;
    }
    q.clamp(p, 1.0)
}
