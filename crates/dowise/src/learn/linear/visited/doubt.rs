//! Misspecification checks of a linear fit over visited states.

use super::design::Step;
use super::learner::VisitedStatesLearner;
use crate::learn::linear::doubt::{Doubt, OffBy};
use crate::learn::linear::residuals::Noise;

/// Share of the range of rewards up to which the greatest observed one is far from the maximum; stated ranges are
/// often a little too wide.
const FAR: f64 = 0.5;

impl VisitedStatesLearner {
    /// The greatest observed regressed reward of a step, and the greatest possible one, if the first is in the lower
    /// half of the range: larger rewards are unobserved or impossible. `None` otherwise, and for known rewards or
    /// without data.
    pub fn unseen_reward(&self) -> Option<[f64; 2]> {
        let [lo, hi] = self.sizes.regressed;
        let paid = self.designs.iter().flat_map(|design| &design.steps).map(|step| step.reward);
        let most = paid.fold(f64::NEG_INFINITY, f64::max);
        (self.learns_rewards() && most.is_finite() && most < lo + FAR * (hi - lo)).then_some([most, hi])
    }

    /// Warnings about the fit: too few steps, and the variable with the largest mean residual, as
    /// [`LinearLearner::doubts`](crate::learn::linear::LinearLearner::doubts), for the values of the present plan at
    /// visited states.
    ///
    /// # Cost
    /// O(d³ + n · d) for n steps, and the values of the second stage.
    pub fn doubts(&self) -> Vec<Doubt> {
        let (dimension, steps) = (self.dimension(), self.designs.iter().map(|d| d.steps.len() as u64).sum());
        let mut out = Vec::new();
        if steps < dimension as u64 {
            out.push(Doubt::FewSteps { steps, dimension });
        }
        if self.plans > 0 && steps > dimension as u64 && self.knowledge.horizon() > 1 {
            out.extend(self.worst_residuals());
        }
        out
    }

    fn worst_residuals(&self) -> Option<Doubt> {
        let ahead = self.values_at(1, &self.all_squares());
        let mut off_by = OffBy::new(self.knowledge.world(), self.ahead.kernel.causes());
        let floor = self.sizes.floor(0);
        let target = |step: &Step| step.reward + self.discount * ahead[step.next as usize] - floor;
        for design in &self.designs {
            // Without the ridge: its shrinkage of rarely observed features is no misfit.
            let sums = design.sums(target);
            let prior = Noise::new(self.sizes.range_left(0), design.steps.len() as f64);
            let first = design.factor_with(prior.first_lambda()).solve(&sums);
            let variance = prior.variance(design.squares(&first, target));
            let weights = design.factor_with(prior.lambda(variance)).solve(&sums);
            for step in &design.steps {
                off_by.add((step.state, step.cause as usize), 1.0, target(step) - step.fitted(&weights));
            }
        }
        off_by.worst(self.sizes.range_left(0))
    }
}
