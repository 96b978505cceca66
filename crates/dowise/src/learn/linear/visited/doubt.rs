//! Misspecification checks of a linear fit over visited states.

use super::design::Step;
use super::learner::VisitedStatesLearner;
use crate::learn::linear::doubt::{Doubt, OffBy};
use crate::learn::linear::residuals::Noise;

/// Share of the range of payments up to which the greatest one seen is far from what can be paid; ranges are often stated a little too wide.
const FAR: f64 = 0.5;

impl VisitedStatesLearner {
    /// The most that a step paid so far of what is regressed, and the most that one can pay, where the first is in the lower half of what is possible: what pays more
    /// was never met, or nothing does. `None` elsewhere, and where rewards are given or nothing was seen.
    pub fn unseen_reward(&self) -> Option<[f64; 2]> {
        let [lo, hi] = self.sizes.regressed;
        let paid = self.designs.iter().flat_map(|design| &design.steps).map(|step| step.reward);
        let most = paid.fold(f64::NEG_INFINITY, f64::max);
        (self.learns_rewards() && most.is_finite() && most < lo + FAR * (hi - lo)).then_some([most, hi])
    }

    /// Reasons to doubt the fit: too few steps, and the variable whose residuals are farthest from 0 on average: as
    /// [`LinearLearner::doubts`](crate::learn::linear::LinearLearner::doubts), for the values of the present plan at the states that were met.
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
            // Not the ridge: what λ takes off the weights of features that were seen rarely is no misfit.
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
