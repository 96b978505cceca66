//! Variance-weighted regression (`weights=variance`): a second regression of every stage weights steps by inverse
//! variance bounds.
//!
//! A first, unweighted regression of v = V − least and of v² bounds the variance of next values from above, cell by
//! cell. A step then counts u = (ρ/2)² / σ̄² times, between once and [`MOST`] times. With all weights 1 it is the
//! unweighted regression, width included.

use nalgebra::{DVector, DVectorView};

use super::covering_number::Cover;
use super::fit::Steps;
use super::gram::Gram;
use crate::math::{ln, ln_1p};

/// U: the greatest weight of a step.
pub(super) const MOST: f64 = 16.0;

/// Inputs of the weights of a stage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Targets {
    /// Least continuation value, and ρ_V, the range of continuation values.
    pub(super) least: f64,
    pub(super) ahead: f64,
    /// Range of the regressed reward, and ρ, the range of the targets.
    pub(super) regressed: [f64; 2],
    pub(super) range: f64,
    /// Width of the first regression, for targets of range 1.
    pub(super) width: f64,
}

impl Targets {
    /// u = (ρ/2)²/σ̄² of a cell, from the fits of v and v² there and √(φᵀΛ⁻¹φ).
    fn weight(&self, mean: f64, square: f64, norm: f64) -> f64 {
        let Targets { ahead, regressed: [lo, hi], width, range, .. } = *self;
        let paid = hi - lo;
        let least = (mean - width * ahead * norm).clamp(0.0, ahead);
        let most = (square + width * ahead * ahead * norm).clamp(0.0, ahead * ahead);
        let variance = (most - least * least).max(0.0);
        // Var(r + V) ≤ 2 Var V + 2 (range of r)²/4, for any dependence between the two.
        let variance = if paid > 0.0 { 2.0 * variance + paid * paid / 2.0 } else { variance };
        let greatest = range * range / 4.0;
        // Without variation, any weight is valid.
        if greatest > 0.0 { greatest / variance.clamp(greatest / MOST, greatest) } else { 1.0 }
    }
}

/// One weighted regression.
#[derive(Clone, Debug)]
pub(super) struct Weighted {
    pub(super) gram: Gram,
    pub(super) weights: DVector<f64>,
}

/// Data of one pair of state and configuration, or of one step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weighable<'a> {
    pub(super) phi: &'a [f64],
    /// Number of visits, and the sum of the targets.
    pub(super) visits: f64,
    pub(super) target: f64,
    /// φᵀΛ⁻¹φ in the first regression.
    pub(super) square: f64,
}

impl Weighted {
    /// The regression of a stage over all steps; `worth` holds continuation values of next states.
    ///
    /// # Cost
    /// O(d²) for each pair or step, and O(d³).
    pub(super) fn new(steps: &impl Steps, lambda: f64, worth: &[f64], targets: Targets) -> Weighted {
        let shifted: Vec<f64> = worth.iter().map(|v| v - targets.least).collect();
        let squared: Vec<f64> = shifted.iter().map(|v| v * v).collect();
        // The weights of the first regression for v and v².
        let fits = [&shifted, &squared].map(|of| steps.gram().factor().solve(&steps.sums_of_next(of)));
        let d = fits[0].len();
        let mut gram = Gram::new(d, lambda);
        let mut sums = DVector::zeros(d);
        for Weighable { phi, visits, target, square } in steps.weighable(worth) {
            let [mean, mean_square] = [0, 1].map(|i| phi.iter().zip(fits[i].iter()).map(|(x, w)| x * w).sum::<f64>());
            let u = targets.weight(mean, mean_square, square.max(0.0).sqrt());
            let phi = DVectorView::from_slice(phi, d);
            gram.accumulate(u * visits, phi);
            sums.axpy(u * target, &phi, 1.0);
        }
        gram.refactor();
        gram.regain();
        Weighted { weights: gram.factor().solve(&sums), gram }
    }
}

/// Widths with proven optimism, for targets of range ρ at a stage (`docs/theory/guarantees.md`, same notation).
#[derive(Clone, Copy, Debug)]
pub(super) struct WeightedCover {
    pub(super) cover: Cover,
    /// ρ_V
    pub(super) ahead: f64,
}

impl WeightedCover {
    /// Width of the first regression for targets of range 1, and β of the weighted one; with ln(det Λ/λ^d) of both.
    pub(super) fn betas(&self, gained: f64, gained_weighted: f64) -> [f64; 2] {
        let Cover { dimension: d, lambda, steps, range, .. } = self.cover;
        if range <= 0.0 {
            return [0.0; 2];
        }
        let most = d * ln(1.0 + steps / (d * lambda));
        let most_weighted = d * ln(1.0 + MOST * steps / (d * lambda));
        // The least self-consistent bound B of the weighted widths, from below.
        let mut bound = range;
        for _ in 0..100 {
            let first = self.first(most, bound);
            bound = bound.max(self.second(most_weighted, first, bound));
        }
        let greatest = self.first(most, bound);
        [self.first(gained.min(most), bound), self.second(gained_weighted.min(most_weighted), greatest, bound)]
    }

    /// ½ √(gained + 2 ln(3H N/δ)) + ½ + √(λd): the first regression, of v and of v², for range 1.
    fn first(&self, gained: f64, bound: f64) -> f64 {
        let Cover { dimension: d, lambda, delta, horizon, steps, .. } = self.cover;
        if self.ahead <= 0.0 {
            return 0.0;
        }
        let log = ln(3.0 * horizon / delta) + self.values(self.ahead / (8.0 * (steps * d).sqrt()), bound);
        0.5 * (gained + 2.0 * log).sqrt() + 0.5 + (lambda * d).sqrt()
    }

    /// √(1+κ) (least of both + ρ/4) + √(λd) ρ: the weighted regression, `first` being the greatest width of the first.
    fn second(&self, gained: f64, first: f64, bound: f64) -> f64 {
        let Cover { dimension: d, lambda, delta, horizon, steps, range, .. } = self.cover;
        let root = (MOST * steps * d).sqrt();
        let kappa = 1.0 / (8.0 * root);
        let log = ln(6.0 * horizon / delta) + self.values(range / (16.0 * root), bound) + self.weights(kappa, first);
        // The determinant of a pair of the cover is at most (1 + κ)^d times that of the plan's own.
        let gained = gained + d * ln_1p(kappa);
        let hoeffding = MOST.sqrt() * range / 2.0 * (gained + 2.0 * log).sqrt();
        let of_steps = log + ln(4.0 * steps * steps);
        let bernstein = 4.8 * range * (d * ln(1.0 + MOST * steps / (d * lambda)) * of_steps).sqrt()
            + 4.0 * MOST.sqrt() * range * of_steps;
        (1.0 + kappa).sqrt() * (hoeffding.min(bernstein) + range / 4.0) + (lambda * d).sqrt() * range
    }

    /// ln of a cover of the values to within ε: ln M + d ln(1 + 4W/ε) + d(d+1)/2 ln(1 + 8 √d B²/(λ ε²)), W = ρ √(U T d/λ).
    fn values(&self, epsilon: f64, bound: f64) -> f64 {
        let Cover { dimension: d, lambda, steps, range, kernels, .. } = self.cover;
        let weights = range * (MOST * steps * d / lambda).sqrt();
        kernels
            + d * ln(1.0 + 4.0 * weights / epsilon)
            + d * (d + 1.0) / 2.0 * ln(1.0 + 8.0 * d.sqrt() * bound * bound / (lambda * epsilon * epsilon))
    }

    /// ln of a cover of the weight functions to within a share κ: ε' = κ ρ²/(48 U ρ_V), 2d ln(1 + 2 ρ_V √(Td/λ)/ε') +
    /// d(d+1)/2 ln(1 + 2 √d B₁²/(λ ε'²)), B₁ = ρ_V times the greatest width of the first regression.
    fn weights(&self, kappa: f64, first: f64) -> f64 {
        let Cover { dimension: d, lambda, steps, range, .. } = self.cover;
        if self.ahead <= 0.0 {
            return 0.0;
        }
        let epsilon = kappa * range * range / (48.0 * MOST * self.ahead);
        let widest = self.ahead * first;
        2.0 * d * ln(1.0 + 2.0 * self.ahead * (steps * d / lambda).sqrt() / epsilon)
            + d * (d + 1.0) / 2.0 * ln(1.0 + 2.0 * d.sqrt() * widest * widest / (lambda * epsilon * epsilon))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_of_the_variance_bound_and_stay_within_their_limits() {
        let targets = Targets { least: 0.0, ahead: 4.0, regressed: [0.0, 0.0], range: 4.0, width: 1.0 };
        // E v = 2, E v² = 5: variance 1 of at most 4.
        assert!((targets.weight(2.0, 5.0, 0.0) - 4.0).abs() < 1e-12);
        assert_eq!(targets.weight(2.0, 4.0, 0.0), MOST);
        assert_eq!(targets.weight(2.0, 5.0, 10.0), 1.0);
        let paid = Targets { regressed: [0.0, 1.0], range: 5.0, ..targets };
        // ρ = 5, σ̄² = 2 · 1 + ½.
        assert!((paid.weight(2.0, 5.0, 0.0) - 6.25 / 2.5).abs() < 1e-12);
    }
}
