//! Covering-number bonus: β with proven optimism for any features, by the self-normalised bound over a cover of value
//! functions.

use crate::math::ln;

/// Parameters of the bound; `docs/theory/guarantees.md` proves it in the same notation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cover {
    /// d
    pub(super) dimension: f64,
    /// λ
    pub(super) lambda: f64,
    /// δ
    pub(super) delta: f64,
    /// H
    pub(super) horizon: f64,
    /// T: total number of steps.
    pub(super) steps: f64,
    /// ρ: range of the targets of the stage, which is also their greatest size, as they are measured from the least.
    pub(super) range: f64,
    /// ln M: log number of possible kernels of plans, 0 if P(z | s, a) is known.
    pub(super) kernels: f64,
}

impl Cover {
    /// β = ρ/2 √(ln(det Λ / λ^d) + 2 ln(H N / δ)) + ρ/2 + √(λd) ρ, with `gained` = ln(det Λ / λ^d) now.
    pub(super) fn beta(&self, gained: f64) -> f64 {
        if self.range <= 0.0 {
            return 0.0;
        }
        // The widths of all plans are at most B, which determines N: the least B with f(B) ≤ B, from below.
        let most = self.dimension * ln(1.0 + self.steps / (self.dimension * self.lambda));
        let mut bound = self.range;
        for _ in 0..100 {
            bound = bound.max(self.with(most, bound));
        }
        self.with(gained.min(most), bound)
    }

    fn with(&self, gained: f64, bound: f64) -> f64 {
        let Cover { dimension: d, lambda, delta, horizon, range, .. } = *self;
        let inside = gained + 2.0 * (ln(horizon / delta) + self.log_cover(bound));
        range / 2.0 * inside.sqrt() + range / 2.0 + (lambda * d).sqrt() * range
    }

    /// ln N = ln M + d ln(1 + 4W/ε) + d(d+1)/2 ln(1 + 8 √d B²/(λ ε²)), ε = ρ/(4√(Td)), W = ρ √(Td/λ).
    fn log_cover(&self, bound: f64) -> f64 {
        let Cover { dimension: d, lambda, steps, range, .. } = *self;
        let epsilon = range / (4.0 * (steps * d).sqrt());
        let weights = range * (steps * d / lambda).sqrt();
        self.kernels
            + d * ln(1.0 + 4.0 * weights / epsilon)
            + d * (d + 1.0) / 2.0 * ln(1.0 + 8.0 * d.sqrt() * bound * bound / (lambda * epsilon * epsilon))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_width_covers_the_class_that_it_was_counted_for() {
        for (d, steps, range) in [(1.0, 10.0, 1.0), (8.0, 2e4, 10.0), (64.0, 1e6, 20.0)] {
            let cover = Cover { dimension: d, lambda: 1.0, delta: 0.1, horizon: 10.0, steps, range, kernels: 3.0 };
            let most = d * (1.0f64 + steps / d).ln();
            let greatest = cover.beta(most);
            // No plan has a greater width, and the fixed point is reached.
            assert!((cover.with(most, greatest) - greatest).abs() < 1e-6 * greatest, "{greatest}");
            assert!(cover.beta(0.0) < greatest && cover.beta(0.0) > range);
        }
    }
}
