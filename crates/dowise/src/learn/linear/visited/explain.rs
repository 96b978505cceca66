//! Explanations of a decision in any state, visited or not.

use super::error::VisitedStatesError;
use super::learner::{VisitedStatesLearner, check_place};
use crate::learn::linear::Looked;
use crate::learn::linear::model::kernel_rule;
use crate::learn::{Explanation, MechanismRule, Selector, explain_looked};

impl VisitedStatesLearner {
    /// The `n` interventions with the greatest values in any state at a stage (from 0), from all data: as
    /// [`Learner::explain`](crate::Learner::explain).
    ///
    /// # Cost
    /// Two plans, and an evaluation of every intervention (or, beyond 65,536, of those that differ from the best in
    /// one lever).
    pub fn explain(&self, stage: usize, state: usize, n: usize) -> Result<Explanation, VisitedStatesError> {
        check_place(&self.knowledge, stage, state)?;
        let optimistic = self.looked((stage, state), true)?;
        let mean = self.looked((stage, state), false)?;
        let visits = self.steps_behind(stage, state)?;
        Ok(explain_looked(&self.knowledge, (stage, state), &optimistic, &mean, &visits, n))
    }

    /// The value of each configuration by a plan computed now, and the best intervention: optimistic or sampled, or by
    /// means.
    fn looked(&self, (stage, state): (usize, usize), optimistic: bool) -> Result<Looked, VisitedStatesError> {
        let mut now = self.clone();
        if !optimistic {
            now.options.beta_scale = 0.0;
        }
        now.plan_with(if optimistic { kernel_rule(&self.options, self.episode) } else { MechanismRule::Frequencies });
        let best = now.decide(stage, state)?;
        let q = now.ahead.values_of(stage, &now.room);
        Ok(Looked { q, best, selector: Selector::Kernel(Box::new((*now.ahead.kernel).clone())) })
    }

    /// Effective number of steps for each configuration: n = 1/(φᵀΛ⁻¹φ) − λ/‖φ‖², which with one-hot features is the
    /// number of visits.
    fn steps_behind(&self, stage: usize, state: usize) -> Result<Vec<f64>, VisitedStatesError> {
        let d = self.states.rows.dimension;
        let mut states = self.states.clone();
        let phi = states.phi(&self.knowledge, state)?;
        let factor = self.designs[self.design(stage)].factor();
        let of = |phi: &[f64]| {
            let column = nalgebra::DVector::from_column_slice(phi);
            let (square, norm) = (column.dot(&factor.solve(&column)), column.norm_squared());
            if square > 0.0 { (1.0 / square - self.options.lambda / norm).max(0.0) } else { f64::INFINITY }
        };
        Ok(phi.chunks_exact(d).map(of).collect())
    }
}
