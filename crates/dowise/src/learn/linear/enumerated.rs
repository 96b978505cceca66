//! Storage over enumerated states: the regressors of all states, counts of visited pairs, and a plan of every state.

use nalgebra::DVector;

use super::design::Counted;
use super::error::LinearError;
use super::evidence::MetStep;
use super::explain::{Lookahead, effective_steps};
use super::features::Features;
use super::model::{Columns, LinearModel, Looking};
use super::options::{LinearOptions, Regression, Rewards};
use super::problem::Problem;
use super::residuals::Residuals;
use super::setup::{by_intervention, hold, learned_kernel};
use crate::kernel::{CauseSpace, Kernel};
use crate::learn::{
    ActionList, EvidenceError, Knowledge, MISSING, MOST_ACTIONS, MechanismRule, Mechanisms, Observation, Selector,
};
use crate::memory::Held;
use crate::plan::{Buffers, Plan, Ties, backward_induction, rewards_by_cause};
use crate::random::splitmix64;

/// What a [`LinearLearner`](super::LinearLearner) over enumerated states stores: regressors, counts, and its plan.
#[derive(Clone, Debug)]
pub struct EnumeratedStates {
    features: Features,
    key_causes: CauseSpace,
    selector: Selector,
    pub(super) model: LinearModel,
    pub(super) plan: Plan,
    buffers: Buffers,
    /// Fingerprint of the last plan's evidence.
    pub(super) planned_from: u64,
    _held: Held,
}

impl EnumeratedStates {
    /// Reserves the memory of a learner; an error if the features are of another world or there is too little of it.
    pub(super) fn hold(
        knowledge: &Knowledge,
        features: &Features,
        options: &LinearOptions,
    ) -> Result<Held, LinearError> {
        let (n_states, n_keys) = (knowledge.n_states(), CauseSpace::new(knowledge.world()).len());
        if features.n_cells() != n_states * n_keys {
            return Err(LinearError::OtherWorld { found: features.n_cells(), expected: n_states * n_keys });
        }
        let (count, most) = (knowledge.interventions().count(), MOST_ACTIONS);
        let n_causes = match options.regression {
            Regression::Causes => n_keys,
            Regression::Interventions if count > most => return Err(LinearError::TooManyActions { count, most }),
            Regression::Interventions => count as usize,
        };
        hold(knowledge, features.dimension(), n_states * n_causes, options)
    }

    /// No steps, with these features.
    pub(super) fn new(
        problem: &Problem,
        features: &Features,
        kernel: Kernel,
        held: Held,
    ) -> Result<EnumeratedStates, LinearError> {
        let Problem { knowledge, options, .. } = problem;
        let (count, most, world) = (knowledge.interventions().count(), MOST_ACTIONS, knowledge.world());
        let key_causes = kernel.causes().clone();
        let known_reward = match options.rewards {
            Rewards::Regressed => vec![0.0; knowledge.n_states() * key_causes.len()],
            Rewards::Known => rewards_by_cause(world, &key_causes),
        };
        let (columns, reward, selector) = match options.regression {
            Regression::Causes => (features.shared_rows(), known_reward, Selector::Kernel(Box::new(kernel))),
            Regression::Interventions => {
                let list = ActionList::new(world, most).ok_or(LinearError::TooManyActions { count, most })?;
                let columns = by_intervention(features, &kernel, &list).as_slice().into();
                (columns, list.average(&kernel, &known_reward), Selector::Listed(list.into()))
            }
        };
        Ok(EnumeratedStates {
            features: features.clone(),
            key_causes,
            selector,
            model: LinearModel::new(problem, Columns::new(features.dimension(), columns), reward),
            plan: Plan::new(knowledge.horizon(), knowledge.n_states()),
            buffers: Buffers::default(),
            planned_from: 0,
            _held: held,
        })
    }

    /// Features of every state and configuration.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// The present plan: policy of this episode, and estimated values.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The regressor of a step: φ(s, c), or ψ(s, a) for the intervention of rank `cause`.
    pub fn regressor(&self, state: usize, cause: usize) -> &[f64] {
        self.model.columns.of(state * self.model.n_causes + cause)
    }

    /// Least-squares weights of a stage for targets r + V(s'), for any function V of the next state.
    pub fn weights(&self, stage: usize, next_value: &[f64]) -> Vec<f64> {
        let mut out = DVector::zeros(self.features.dimension());
        self.model.of_stage(stage).weights(next_value, &mut out);
        out.as_slice().to_vec()
    }

    /// φᵀΛ⁻¹φ of a stage, `[state][cause]` (or `[state][intervention]`, in the order of their numbers).
    ///
    /// # Cost
    /// None for learners with widths that plan before each episode, which cache them; O(d²) for each column for
    /// others.
    pub fn squared_widths(&self, stage: usize) -> Vec<f64> {
        self.model.of_stage(stage).squares(self.model.columns.as_view()).into_owned()
    }

    /// Estimated P(s' | s, c) at a stage (c an intervention's rank for regression on interventions).
    ///
    /// A least-squares estimate: it need not be a distribution, but tends to one if the world is linear.
    pub fn transition(&self, stage: usize, state: usize, cause: usize) -> Vec<f64> {
        let columns = self.model.columns.as_view();
        self.model.of_stage(stage).transition(columns, state * self.model.n_causes + cause)
    }

    /// Features of at most 65,536 evenly spread states and configurations.
    pub(super) fn spread_features(&self) -> impl Iterator<Item = &[f64]> {
        let n_causes = self.key_causes.len();
        let spread = self.features.n_cells().div_ceil(1 << 16);
        let cells = (0..self.features.n_cells()).step_by(spread | 1);
        cells.map(move |cell| self.features.row(cell / n_causes, cell % n_causes))
    }

    /// Joint values of the key variables.
    pub(super) fn key_causes(&self) -> &CauseSpace {
        &self.key_causes
    }

    /// A fingerprint of the data, independent of their order.
    pub(super) fn fingerprint(&self, mechanisms: Option<&Mechanisms>) -> u64 {
        let designs = self.model.designs.iter().fold(0, |h, design| splitmix64(h ^ design.met.fingerprint()));
        mechanisms.map_or(designs, |mechanisms| splitmix64(designs ^ mechanisms.fingerprint()))
    }

    /// Number of visited next states.
    pub(super) fn met(&self) -> usize {
        let all = self.model.designs.iter().flat_map(|design| design.met.next.keys().map(|&(_, next)| next));
        all.collect::<std::collections::BTreeSet<u32>>().len()
    }

    /// Calls `then` with the steps of every design, for residuals.
    pub(super) fn with_steps<T>(&self, problem: &Problem, then: impl FnOnce(&[Counted<'_>]) -> T) -> T {
        let (designs, range) = (&self.model.designs, problem.sizes.regressed);
        let residuals: Vec<Residuals> = designs.iter().map(|d| Residuals::of(&d.met, range)).collect();
        let steps = designs.iter().zip(&residuals);
        let steps = steps.map(|(d, r)| Counted::new(d, &self.model.columns, self.model.n_causes, r));
        then(&steps.collect::<Vec<_>>())
    }
}

impl EnumeratedStates {
    /// Plans for an episode, with an estimator of unknown mechanisms; the values that were asked for at a stage and
    /// state.
    pub(super) fn solve(
        &mut self,
        problem: &Problem,
        mechanisms: &mut Option<Mechanisms>,
        (episode, ties): (u64, Ties),
        rule: MechanismRule,
        note: Option<(usize, usize)>,
    ) -> Vec<f64> {
        if let Some(kernel) = learned_kernel(mechanisms, rule) {
            self.selector = Selector::Kernel(Box::new(kernel));
        }
        let n = self.model.n_causes;
        let at = note.map(|(stage, state)| (stage, state * n..(state + 1) * n));
        let EnumeratedStates { selector, model, plan, buffers, .. } = self;
        let mut looking = Looking { model, problem, rng: problem.noise(episode), at, noted: Vec::new() };
        backward_induction(&mut looking, &*selector, problem.tolerance, ties, buffers, plan);
        let noted = looking.noted;
        self.model.designs.iter_mut().for_each(|d| d.gram.mark_planned());
        noted
    }

    /// The values of a state's configurations and the decision there, in a plan computed now for an episode.
    ///
    /// # Cost
    /// A plan.
    pub(super) fn looked(
        mut self,
        problem: &Problem,
        mechanisms: &mut Option<Mechanisms>,
        episode: u64,
        rule: MechanismRule,
        (stage, state): (usize, usize),
    ) -> Lookahead {
        let q = self.solve(problem, mechanisms, (episode, problem.ties(episode)), rule, Some((stage, state)));
        Lookahead { q, best: self.plan.action(stage, state), selector: self.selector }
    }

    /// Effective number of steps for each configuration of a state at a stage.
    pub(super) fn steps_behind(&self, problem: &Problem, stage: usize, state: usize) -> Vec<f64> {
        let n = self.model.n_causes;
        let all = self.model.of_stage(stage).squares(self.model.columns.as_view());
        let squares = &all[state * n..(state + 1) * n];
        let of = |(cause, square): (usize, &f64)| {
            let norm: f64 = self.regressor(state, cause).iter().map(|x| x * x).sum();
            effective_steps(*square, norm, problem.options.lambda)
        };
        squares.iter().enumerate().map(of).collect()
    }
}

impl EnumeratedStates {
    /// The design of an observation and its encoded step; `None` if a value is missing.
    fn step_of(
        &self,
        problem: &Problem,
        observation: &Observation<'_>,
    ) -> Result<Option<(usize, MetStep)>, EvidenceError> {
        let knowledge = &problem.knowledge;
        let action = observation.done(knowledge, knowledge.variables().iter().map(|v| v.size() as u32))?;
        let cause = match &self.selector {
            Selector::Listed(list) => list.find(action).ok_or(EvidenceError::OtherWorld)?,
            Selector::Kernel(_) | Selector::Parts(_) => match self.key_causes.of_seen(&observation.values, MISSING) {
                (cause, 0) => cause,
                (_, _) => return Ok(None),
            },
        };
        let reward = problem.reward(observation);
        let Some(next_state) = observation.next_state.filter(|_| !reward.is_nan()) else { return Ok(None) };
        let design = problem.design(observation.stage);
        let cell = observation.state * self.model.n_causes + cause;
        Ok(Some((design, self.model.designs[design].step(cell, reward, next_state))))
    }

    /// Adds a step by numbers; whether the determinant of its design has doubled.
    pub(super) fn regress(
        &mut self,
        problem: &Problem,
        (stage, state): (usize, usize),
        cause: usize,
        reward: f64,
        next_state: usize,
    ) -> Result<bool, LinearError> {
        let LinearModel { columns, designs, n_causes, .. } = &mut self.model;
        problem.check_step((stage, state), (cause, *n_causes), reward, next_state)?;
        let design = &mut designs[problem.design(stage)];
        let step = design.step(state * *n_causes + cause, reward, next_state);
        if !design.met.has_room(step, 1) {
            return Err(EvidenceError::Full.into());
        }
        design.add(columns.as_view(), step);
        Ok(design.gram.doubled())
    }

    /// Adds a step this many times; whether the determinant of its design has doubled, or `None` if a value that
    /// the regression needs is missing.
    pub(super) fn add(
        &mut self,
        problem: &Problem,
        mechanisms: Option<&Mechanisms>,
        observation: &Observation<'_>,
        times: u32,
    ) -> Result<Option<bool>, EvidenceError> {
        let step = self.step_of(problem, observation)?;
        let fits = mechanisms.is_none_or(|m| m.has_room(&problem.knowledge, observation, times))
            && step.is_none_or(|(design, step)| self.model.designs[design].met.has_room(step, times));
        if !fits {
            return Err(EvidenceError::Full);
        }
        let Some((design, step)) = step else { return Ok(None) };
        let LinearModel { columns, designs, .. } = &mut self.model;
        designs[design].add_times(columns.as_view(), step, times);
        Ok(Some(designs[design].gram.doubled()))
    }

    /// Removes a step that was added; whether the regression had it.
    pub(super) fn remove(
        &mut self,
        problem: &Problem,
        mechanisms: Option<&Mechanisms>,
        observation: &Observation<'_>,
    ) -> Result<bool, EvidenceError> {
        let step = self.step_of(problem, observation)?;
        if mechanisms.is_some_and(|m| !m.has(&problem.knowledge, observation)) {
            return Err(EvidenceError::NotThere);
        }
        let LinearModel { columns, designs, .. } = &mut self.model;
        if let Some((design, step)) = step
            && !designs[design].remove(columns.as_view(), step)
        {
            return Err(EvidenceError::NotThere);
        }
        Ok(step.is_some())
    }
}
