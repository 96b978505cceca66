//! The regression of one stage: least squares, a sample of the weights, or least squares weighted by variance.

use nalgebra::{Cholesky, DVector, Dyn};
use rand_chacha::ChaCha8Rng;

use super::gram::{Gram, perturb};
use super::options::{Beta, LinearEstimate, Weights};
use super::problem::Problem;
use super::residuals::Posterior;
use super::weighted::{Weighable, Weighted};
use crate::random::normal;

/// The steps of one regression: counts of pairs if states are enumerated, one by one if only visited states are kept.
///
/// `worth` is the continuation value of every next state that steps can name, measured from the least target.
pub(super) trait Steps {
    /// Λ and its factor.
    fn gram(&self) -> &Gram;

    /// Number of steps.
    fn count(&self) -> u64;

    /// Σ φ (r + worth(s')).
    fn sums(&self, worth: &[f64]) -> DVector<f64>;

    /// Σ φ worth(s').
    fn sums_of_next(&self, worth: &[f64]) -> DVector<f64>;

    /// (Σ φφᵀ + λI), factorised.
    fn factor_with(&self, lambda: f64) -> Cholesky<f64, Dyn>;

    /// Σ over steps of the variance of rewards that is not stored: the greatest possible one, if only means are.
    fn spread(&self) -> f64;

    /// Calls `with` for all residuals r + worth(s') − ⟨φ, w⟩: (state, cause), number of such steps, residual.
    fn each(&self, weights: &DVector<f64>, worth: &[f64], with: impl FnMut((usize, usize), f64, f64));

    /// The steps as a weighted regression takes them.
    fn weighable(&self, worth: &[f64]) -> impl Iterator<Item = Weighable<'_>>;
}

/// A fitted stage.
pub(super) struct Fit {
    pub(super) weights: DVector<f64>,
    /// Factor of √(φᵀΛ⁻¹φ); 0 for samples.
    pub(super) width: f64,
    /// Λ of the width, if it is not that of the steps.
    pub(super) weighted: Option<Gram>,
}

impl Fit {
    /// The weights of a stage for these continuation values.
    ///
    /// # Cost
    /// That of [`Steps::sums`] and O(d²); O(d³) more, and a pass over the steps, for residuals and variance weights.
    pub(super) fn new(steps: &impl Steps, problem: &Problem, stage: usize, worth: &[f64], rng: &mut ChaCha8Rng) -> Fit {
        let (gram, Problem { sizes, options, .. }) = (steps.gram(), problem);
        let (d, so_far) = (gram.dimension(), (gram.gained, steps.count()));
        if options.weights == Weights::Variance {
            let regress = |targets| Weighted::new(steps, options.lambda, worth, targets);
            let (weighted, width) = sizes.weigh(options, d, stage, so_far, regress);
            return Fit { weights: weighted.weights, width, weighted: Some(weighted.gram) };
        }
        let sums = steps.sums(worth);
        let mut noise = || DVector::from_iterator(d, std::iter::repeat_with(|| normal(rng)).take(d));
        if options.beta == Beta::Residuals {
            let posterior = Posterior::new(steps, &sums, worth, sizes.range_left(stage));
            let weights = posterior.sample(options.beta_scale, noise());
            return Fit { weights, width: 0.0, weighted: None };
        }
        let mut weights = gram.factor().solve(&sums);
        let beta = problem.beta(stage, gram, steps.count());
        match options.estimate {
            LinearEstimate::Width => Fit { weights, width: beta, weighted: None },
            LinearEstimate::Sampled => {
                perturb(gram.factor(), beta, noise(), &mut weights);
                Fit { weights, width: 0.0, weighted: None }
            }
        }
    }
}
