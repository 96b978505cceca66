//! Confidence sets for rows of probabilities, and the best member of a set.

use crate::plan::Mix;

use super::options::Sets;

/// Logarithms of a learner's confidence sets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Confidence {
    pub(crate) kind: Sets,
    /// ln(2 · cells · T / δ): union over all rows of all factors, numbers of visits, and two sides.
    pub(crate) log: f64,
}

impl Confidence {
    /// The interval for the probability of the second of two values.
    pub(crate) fn interval(&self, successes: u32, n: u32) -> (f64, f64) {
        if n == 0 {
            return (0.0, 1.0);
        }
        let p = f64::from(successes) / f64::from(n);
        match self.kind {
            Sets::L1 => {
                let e = (self.log / (2.0 * f64::from(n))).sqrt();
                ((p - e).max(0.0), (p + e).min(1.0))
            }
            Sets::Kl => {
                let bound = self.log / f64::from(n);
                (1.0 - kl_upper(1.0 - p, bound), kl_upper(p, bound))
            }
        }
    }

    /// Half the radius of the L1 ball around the empirical row: how much mass may be moved.
    pub(crate) fn movable(&self, n_values: usize, n: u32) -> f64 {
        if n == 0 {
            return 1.0;
        }
        // Weissman et al.: P(‖p^ − p‖₁ ≥ ε) ≤ (2^m − 2) exp(−n ε²/2).
        let log = self.log + n_values as f64 * 2f64.ln() - 2f64.ln();
        ((2.0 * log / f64::from(n)).sqrt() / 2.0).min(1.0)
    }
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
        return 1.0 - (-bound).exp();
    }
    let negative_entropy = p * p.ln() + (1.0 - p) * (1.0 - p).ln();
    let mut q = (p + (bound / 2.0).sqrt()).min(1.0 - (-(bound - negative_entropy) / (1.0 - p)).exp());
    for _ in 0..30 {
        let excess = negative_entropy - p * q.ln() - (1.0 - p) * (1.0 - q).ln() - bound;
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

/// An interval for the second of two values, for every row and cause; the better end is taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Intervals {
    /// `[row][cause]`
    pub(crate) lo: Vec<f64>,
    pub(crate) hi: Vec<f64>,
}

impl Mix for Intervals {
    fn mix<'a>(&self, row: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
        let n = out.len();
        let (lo, hi) = (&self.lo[row * n..][..n], &self.hi[row * n..][..n]);
        let best = |base: f64, gain: f64, lo: f64, hi: f64| base + (lo * gain).max(hi * gain);
        match (at(0), at(1)) {
            ([a], [b]) => {
                let gain = b - a;
                for c in 0..n {
                    out[c] = best(*a, gain, lo[c], hi[c]);
                }
            }
            (a, b) => {
                for c in 0..n {
                    out[c] = best(a[c], b[c] - a[c], lo[c], hi[c]);
                }
            }
        }
    }
}

/// An L1 ball around the empirical row, for every row and cause; the best member is taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Balls {
    /// `[row][value][cause]`
    pub(crate) prob: Vec<f64>,
    /// Mass that may be moved, `[row][cause]`.
    pub(crate) movable: Vec<f64>,
    pub(crate) n_values: usize,
}

impl Mix for Balls {
    fn mix<'a>(&self, row: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
        let n = out.len();
        let prob = &self.prob[row * self.n_values * n..][..self.n_values * n];
        let shared = at(0).len() == 1;
        let mut order: Vec<usize> = (0..self.n_values).collect();
        let value = |v: usize, c: usize| at(v)[if shared { 0 } else { c }];
        for (c, out) in out.iter_mut().enumerate() {
            if c == 0 || !shared {
                order.sort_unstable_by(|&a, &b| value(a, c).total_cmp(&value(b, c)).then(a.cmp(&b)));
            }
            *out = best_in_ball(&order, |v| prob[v * n + c], |v| value(v, c), self.movable[row * n + c]);
        }
    }
}

/// Σ p(v) x(v) after moving as much mass as allowed from the worst values to the best. `order` sorts values, worst first.
///
/// Written as the best value less what each other value loses against it, so that equal values give exactly that value.
pub(crate) fn best_in_ball(order: &[usize], p: impl Fn(usize) -> f64, x: impl Fn(usize) -> f64, movable: f64) -> f64 {
    let Some((&top, others)) = order.split_last() else { return 0.0 };
    let best = x(top);
    let mut left = movable;
    let mut loss = 0.0;
    for &v in others {
        let mass = p(v);
        let taken = mass.min(left);
        left -= taken;
        loss += (mass - taken) * (best - x(v));
    }
    best - loss
}
