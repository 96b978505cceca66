//! Policies of linear learners for deployment: no optimism, no noise, no learning.

use super::error::LinearError;
use super::learner::{LinearLearner, Storage, check_place};
use super::problem::Problem;
use super::visited::WeightsPolicy;
use crate::learn::{Agent, MechanismRule, Observation};
use crate::plan::{Plan, Ties};
use crate::world::Action;

/// The learned policy for deployment without learning: the best intervention under mean weights, without optimism.
#[derive(Clone, Debug)]
pub struct LinearPolicy(Kind);

#[derive(Clone, Debug)]
enum Kind {
    /// A plan of all states.
    Planned(Box<(Problem, Plan)>),
    /// Computed at the current state.
    Weights(Box<WeightsPolicy>),
}

impl LinearLearner {
    /// The learned policy without optimism or noise: that of mean weights and mean mechanisms from all data.
    ///
    /// # Cost
    /// A plan, and a copy of the learner.
    pub fn learned_policy(&self) -> LinearPolicy {
        let (mut problem, mut mechanisms) = (self.problem.clone(), self.mechanisms.clone());
        problem.options.beta_scale = 0.0;
        let rule = MechanismRule::Mean;
        LinearPolicy(match self.storage.clone() {
            Storage::Enumerated(mut states) => {
                states.solve(&problem, &mut mechanisms, (self.episode, Ties::First), rule, None);
                Kind::Planned(Box::new((problem, states.plan)))
            }
            Storage::Visited(mut states) => {
                states.solve(&problem, mechanisms.as_ref(), self.episode, rule);
                Kind::Weights(Box::new(states.into_policy(problem)))
            }
        })
    }

    /// The plan of the learned policy, and the fingerprint of its evidence, of a learner over all states.
    pub(crate) fn learned_plan(&self) -> (Plan, u64) {
        match (self.learned_policy().0, self.enumerated()) {
            (Kind::Planned(planned), Some(states)) => (planned.1, states.fingerprint(self.mechanisms.as_ref())),
            (Kind::Planned(_) | Kind::Weights(_), _) => panic!("invariant: its states are enumerated"),
        }
    }
}

impl LinearPolicy {
    /// The decision at a stage (from 0) in any state.
    pub fn decide(&mut self, stage: usize, state: usize) -> Result<Action, LinearError> {
        match &mut self.0 {
            Kind::Planned(planned) => {
                check_place(&planned.0.knowledge, stage, state)?;
                Ok(planned.1.action(stage, state))
            }
            Kind::Weights(weights) => weights.decide(stage, state),
        }
    }

    /// The plan of all states; `None` if decisions are computed at the current state.
    pub fn plan(&self) -> Option<&Plan> {
        match &self.0 {
            Kind::Planned(planned) => Some(&planned.1),
            Kind::Weights(_) => None,
        }
    }
}

impl Agent for LinearPolicy {
    fn act(&mut self, stage: usize, state: usize) -> Action {
        self.decide(stage, state).unwrap_or_else(|error| panic!("{error}"))
    }

    fn observe(&mut self, _: &Observation<'_>) {}

    fn policy(&mut self) -> Option<&[Action]> {
        self.plan().map(|plan| &plan.policy_hs[..])
    }
}
