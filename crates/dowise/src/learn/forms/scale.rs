//! Hierarchical prior of parametric effects: normal, with an estimated scale where none is given.
//!
//! A fixed narrow scale overrides the data. With a standard deviation of 0.5, an effect of 4 in log-odds is eight
//! deviations away: samplers never try it and intervals exclude it. So effects without a given `sd` are N(m, σ²) with
//! σ² ~ Inv-χ²(ν, s₀²), and σ² is its posterior mode (EM). Samples draw each effect's own scale from the mixture of a
//! Student distribution, whose tails are heavy.

use nalgebra::{Cholesky, DVector, Dyn};
use rand::Rng;

use crate::math::ln;

/// ν: weight of the hyperprior in effects.
const WORTH: f64 = 2.0;
/// Standard deviation of a nearly flat prior, in log-odds: a probability of 10⁻⁴ is within two of them.
const WIDE_SD: f64 = 5.0;
/// Relative change below which a scale has converged.
const SETTLED: f64 = 0.05;

/// The prior of all parameters of a model.
#[derive(Clone, Debug, Default)]
pub(super) struct Prior {
    /// Mean and precision (one over the variance) of each parameter; for effects with an estimated scale the initial
    /// one.
    pub(super) parameters: Vec<(f64, f64)>,
    /// Effects that share an estimated scale.
    pub(super) scales: Vec<Scale>,
}

/// Effects that share one scale, by their parameters.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    pub(super) effects: Vec<usize>,
}

impl Prior {
    /// The same with standard deviations of at least 5, all of them fixed.
    pub(super) fn widened(&self) -> Prior {
        let wide = 1.0 / (WIDE_SD * WIDE_SD);
        let parameters = self.parameters.iter().map(|&(mean, precision)| (mean, precision.min(wide))).collect();
        Prior { parameters, scales: Vec::new() }
    }

    /// One EM step for the scales: σ² = (Σ ((θ − m)² + Var θ) + ν s₀²) / (q + ν), in units of each effect's own prior.
    /// Returns whether some scale has changed enough to fit again.
    pub(super) fn rescale(
        &self,
        theta: &[f64],
        information: &Cholesky<f64, Dyn>,
        parameters: &mut [(f64, f64)],
    ) -> bool {
        let mut moved = false;
        for Scale { effects } in &self.scales {
            let squares: f64 = effects
                .iter()
                .map(|&i| {
                    let (mean, precision) = self.parameters[i];
                    let off = theta[i] - mean;
                    precision * (off * off + variance(information, i))
                })
                .sum();
            let ratio = (squares + WORTH) / (effects.len() as f64 + WORTH);
            let before = self.parameters[effects[0]].1 / parameters[effects[0]].1;
            moved |= (ratio / before - 1.0).abs() > SETTLED;
            effects.iter().for_each(|&i| parameters[i].1 = self.parameters[i].1 / ratio);
        }
        moved
    }

    /// Factors by which a sample reduces each precision: 1 for given scales, and draws of a Student distribution's
    /// mixture (two degrees of freedom, never narrower than the normal) for estimated ones.
    pub(super) fn tails(&self, rng: &mut impl Rng) -> Vec<(usize, f64)> {
        let effects = self.scales.iter().flat_map(|scale| &scale.effects);
        // ν/χ² for ν = 2 is one over an exponential variable.
        let draw = |rng: &mut _| 1.0 / -ln(uniform(rng));
        effects.map(|&i| (i, draw(rng))).filter(|(_, wider)| *wider > 1.0).collect()
    }
}

/// (F⁻¹)ᵢᵢ
fn variance(information: &Cholesky<f64, Dyn>, i: usize) -> f64 {
    let mut unit = DVector::zeros(information.l_dirty().nrows());
    unit[i] = 1.0;
    let solved = information.l_dirty().solve_lower_triangular_mut(&mut unit);
    debug_assert!(solved, "the information matrix has a positive diagonal");
    unit.norm_squared()
}

/// A number above 0 and below 1.
fn uniform(rng: &mut impl Rng) -> f64 {
    (f64::from((rng.next_u64() >> 32) as u32) + 0.5) / 4_294_967_296.0
}
