//! Explanations of linear learners: optimistic and mean values of a decision, and the steps behind them.

use super::error::LinearError;
use super::learner::{LinearLearner, Storage, check_place};
use crate::learn::{Explanation, Selector, explain_looked};
use crate::world::Action;

/// Lookahead of a learner from one state at a stage.
pub(crate) struct Lookahead {
    /// Value of each configuration.
    pub(crate) q: Vec<f64>,
    /// The chosen intervention.
    pub(crate) best: Action,
    /// Estimated effects of interventions.
    pub(crate) selector: Selector,
}

impl LinearLearner {
    /// The `n` interventions with the greatest values in any state at a stage (from 0), from all data: as
    /// [`Learner::explain`](crate::Learner::explain).
    ///
    /// # Cost
    /// Two plans, and an evaluation of every intervention (or, beyond 65,536, of those that differ from the best in
    /// one lever).
    pub fn explain(&self, stage: usize, state: usize, n: usize) -> Result<Explanation, LinearError> {
        self.explain_for(self.episode, (stage, state), n)
    }

    /// The same with the plans of an episode.
    pub(crate) fn explain_for(
        &self,
        episode: u64,
        place: (usize, usize),
        n: usize,
    ) -> Result<Explanation, LinearError> {
        let (stage, state) = place;
        check_place(self.knowledge(), stage, state)?;
        let optimistic = self.looked(episode, place, true)?;
        let mean = self.looked(episode, place, false)?;
        let visits = match &self.storage {
            Storage::Enumerated(states) => states.steps_behind(&self.problem, stage, state),
            Storage::Visited(states) => states.steps_behind(&self.problem, stage, state)?,
        };
        Ok(explain_looked(self.knowledge(), place, &optimistic, &mean, &visits, n))
    }
}

/// Effective number of steps behind φ: n = 1/(φᵀΛ⁻¹φ) − λ/‖φ‖², which with one-hot features is the number of visits.
pub(super) fn effective_steps(square: f64, norm_squared: f64, lambda: f64) -> f64 {
    if square > 0.0 { (1.0 / square - lambda / norm_squared).max(0.0) } else { f64::INFINITY }
}
