//! Bayesian linear regression without tuning constants: the residuals determine the noise, the target range the prior.

use nalgebra::{Cholesky, DVector, Dyn};

use super::evidence::Met;
use super::fit::Steps;
use super::gram::perturb;
use super::model::Columns;

/// The posterior of the weights of one stage, under targets y = ⟨φ, w⟩ + noise.
///
/// Targets are measured from the least that they can be. The prior is w ~ N(0, τ² I) with τ their range ρ, so that what was never seen may be anything; the noise is
/// normal with a variance estimated from the residuals of a first fit, to which one step of the greatest variance that targets in
/// a range of ρ can have, ρ²/4, is added:
///
///   σ² = (Σ (y − ⟨φ, w₀⟩)² + ρ²/4) / (n + 1),   w ~ N((G + λI)⁻¹ Σ φ y, σ² (G + λI)⁻¹),   λ = σ²/ρ²
///
/// with G = Σ φφᵀ. Where values hardly differ between the states that features lead to, σ² falls as fast as steps come in, and with it
/// the spread in the directions that were seen; in all others it stays ρ. Rewards that were paid in one state under one cause
/// are taken for as spread as their mean allows.
pub(super) struct Posterior {
    factor: Cholesky<f64, Dyn>,
    pub(super) mean: DVector<f64>,
    /// σ
    pub(super) deviation: f64,
}

/// All steps, flat: the residuals of every stage of a plan are sums over them.
#[derive(Clone, Debug, Default)]
pub(super) struct Residuals {
    /// Column of the features, mean of its rewards, and the end of its next states in `next`.
    columns: Vec<(u32, f64, usize)>,
    /// (next state, visits), column by column.
    next: Vec<(u32, f64)>,
    /// Σ over steps of the greatest variance of rewards with the mean of their column.
    pub(super) spread: f64,
}

impl Residuals {
    /// Rewards lie in this range.
    pub(super) fn of(met: &Met, [lo, hi]: [f64; 2]) -> Residuals {
        let mut out = Residuals::default();
        let mut pairs = met.next.iter().peekable();
        for (&cell, &paid) in &met.paid {
            let mut visits = 0.0;
            while let Some((&(_, next), &n)) = pairs.next_if(|((c, _), _)| *c == cell) {
                out.next.push((next, f64::from(n)));
                visits += f64::from(n);
            }
            let mean = lo + (hi - lo) * (paid as f64 / 18_446_744_073_709_551_616.0) / visits;
            out.spread += visits * ((hi - mean) * (mean - lo)).max(0.0);
            out.columns.push((cell, mean, out.next.len()));
        }
        out
    }

    /// Calls `with` for all steps of a column to one next state: the column, their number, and r + V(s') − ⟨φ, w⟩.
    pub(super) fn each(
        &self,
        columns: &Columns,
        weights: &DVector<f64>,
        next_value: &[f64],
        mut with: impl FnMut(usize, f64, f64),
    ) {
        let mut begin = 0;
        for &(cell, paid, end) in &self.columns {
            let fitted: f64 = columns.of(cell as usize).iter().zip(weights.iter()).map(|(x, w)| x * w).sum();
            for &(next, n) in &self.next[begin..end] {
                with(cell as usize, n, paid + next_value[next as usize] - fitted);
            }
            begin = end;
        }
    }
}

impl Posterior {
    /// The posterior for targets r + worth(s') in a range of ρ; `sums` is Σ φ y.
    ///
    /// # Cost
    /// O(d³) and a pass over the residuals.
    pub(super) fn new(steps: &impl Steps, sums: &DVector<f64>, worth: &[f64], range: f64) -> Posterior {
        let noise = Noise::new(range, steps.count() as f64);
        let first = steps.factor_with(noise.first_lambda()).solve(sums);
        let mut squares = steps.spread();
        steps.each(&first, worth, |_, n, off| squares += n * off * off);
        let variance = noise.variance(squares);
        let factor = steps.factor_with(noise.lambda(variance));
        Posterior { mean: factor.solve(sums), factor, deviation: variance.sqrt() }
    }

    /// w + scale · σ · L⁻ᵀξ; standard normal ξ make a sample.
    pub(super) fn sample(&self, scale: f64, noise: DVector<f64>) -> DVector<f64> {
        let mut weights = self.mean.clone();
        perturb(&self.factor, scale * self.deviation, noise, &mut weights);
        weights
    }
}

/// Estimated noise of n targets in a range of ρ, and the corresponding λ.
#[derive(Clone, Copy, Debug)]
struct Noise {
    /// τ² = ρ²
    prior: f64,
    /// Whether targets can differ at all.
    varies: bool,
    steps: f64,
}

impl Noise {
    fn new(range: f64, steps: f64) -> Noise {
        // With an empty range there is no noise, and any positive number keeps the matrices regular.
        Noise { prior: if range > 0.0 { range * range } else { 1.0 }, varies: range > 0.0, steps }
    }

    /// λ of the first fit: with no residuals except one step of the greatest variance.
    fn first_lambda(&self) -> f64 {
        least(self.at_most() / (self.steps + 1.0) / self.prior)
    }

    /// σ² from the squares of the residuals of the first fit.
    fn variance(&self, squares: f64) -> f64 {
        if !self.varies {
            return 0.0;
        }
        ((squares + self.at_most()) / (self.steps + 1.0)).min(self.at_most())
    }

    /// λ = σ²/ρ².
    fn lambda(&self, variance: f64) -> f64 {
        least(variance / self.prior)
    }

    /// ρ²/4: no target in a range of ρ has a greater variance.
    fn at_most(&self) -> f64 {
        self.prior / 4.0
    }
}

/// λ keeps a minimum, so that unobserved directions keep their precision.
fn least(lambda: f64) -> f64 {
    lambda.max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::linear::design::{Counted, Design};
    use crate::learn::linear::evidence::MetStep;
    use nalgebra::DMatrix;

    fn seen(steps: &[(usize, usize, f64)]) -> (Columns, Design) {
        let columns = Columns::new(2, vec![1.0, 0.0, 0.0, 1.0, 0.6, 0.8].into());
        let mut design = Design::new(columns.as_view(), 2, 1.0, [0.0, 1.0]);
        for &(cell, next, paid) in steps {
            design.add(columns.as_view(), MetStep::new(cell, next, paid, [0.0, 1.0]));
        }
        (columns, design)
    }

    fn posterior(columns: &Columns, design: &Design, next_value: &[f64], range: f64) -> Posterior {
        let residuals = &Residuals::of(&design.met, [0.0, 1.0]);
        let steps = Counted::new(design, columns, 1, residuals);
        Posterior::new(&steps, &steps.sums(next_value), next_value, range)
    }

    #[test]
    fn it_is_the_formula_step_by_step() {
        let steps = [(0, 0, 0.0), (0, 1, 1.0), (1, 1, 1.0), (2, 0, 1.0), (2, 1, 0.0), (0, 0, 0.0)];
        let (columns, design) = seen(&steps);
        let (value, range) = ([0.3, 1.7], 4.0f64);
        let found = posterior(&columns, &design, &value, range);
        let phi = |cell: usize| DVector::from_column_slice(columns.of(cell));
        let mean = |cell: usize| {
            let paid: Vec<f64> = steps.iter().filter(|s| s.0 == cell).map(|s| s.2).collect();
            paid.iter().sum::<f64>() / paid.len() as f64
        };
        let fit = |lambda: f64| {
            let mut gram = DMatrix::identity(2, 2) * lambda;
            let mut sums = DVector::zeros(2);
            for &(cell, next, paid) in &steps {
                gram += phi(cell) * phi(cell).transpose();
                sums += phi(cell) * (paid + value[next]);
            }
            (gram.clone().try_inverse().unwrap() * sums, gram)
        };
        let (first, _) = fit(1.0 / 4.0 / 7.0);
        let residual = |&(cell, next, _): &(usize, usize, f64)| {
            let m = mean(cell);
            (m + value[next] - phi(cell).dot(&first)).powi(2) + m * (1.0 - m)
        };
        let variance = (steps.iter().map(residual).sum::<f64>() + range * range / 4.0) / 7.0;
        let (weights, gram) = fit(variance / (range * range));
        assert!((found.deviation - variance.sqrt()).abs() < 1e-12, "{} {}", found.deviation, variance.sqrt());
        assert!((&found.mean - weights).abs().max() < 1e-12);
        // Σ_i (L⁻ᵀe_i)(L⁻ᵀe_i)ᵀ = (G + λI)⁻¹.
        let mut covariance = DMatrix::zeros(2, 2);
        for i in 0..2 {
            let mut noise = DVector::zeros(2);
            noise[i] = 1.0;
            let off = found.sample(1.0, noise) - &found.mean;
            covariance += &off * off.transpose();
        }
        assert!((covariance - gram.try_inverse().unwrap() * variance).abs().max() < 1e-12);
    }

    #[test]
    fn unobserved_values_may_be_anything_and_constant_ones_are_soon_known() {
        let (columns, design) = seen(&[(0, 0, 0.0); 200]);
        let found = posterior(&columns, &design, &[0.0, 5.0], 10.0);
        let spread = |i: usize| {
            let mut noise = DVector::zeros(2);
            noise[i] = 1.0;
            (found.sample(1.0, noise) - &found.mean).norm()
        };
        assert!((spread(1) - 10.0).abs() < 1e-9, "{}", spread(1));
        // σ = 5/√201 shared by 200 visits.
        assert!(spread(0) < 0.03, "{}", spread(0));
    }
}
