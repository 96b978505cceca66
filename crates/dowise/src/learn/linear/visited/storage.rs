//! Storage over visited states: the steps, the next states that they led to, and the weights of the plan.

use nalgebra::DVector;
use std::sync::Arc;

use super::design::{Design, Step};
use super::policy::{Ahead, Room};
use super::states::{Rows, States, check, state_text};
use crate::kernel::{CauseSpace, Kernel};
use crate::learn::linear::explain::{Lookahead, effective_steps};
use crate::learn::linear::learner::check_place;
use crate::learn::linear::options::{LinearEstimate, LinearOptions, Regression, Rewards, Weights};
use crate::learn::linear::problem::Problem;
use crate::learn::linear::{FeatureError, LinearError, MOST_BYTES};
use crate::learn::{EvidenceError, Knowledge, MISSING, MechanismRule, Mechanisms, Observation, Selector};
use crate::plan::{RewardsAt, RowsAt};
use crate::random::{scale, splitmix64};
use crate::world::{Action, FeatureMap};

/// Random states on which features from code are checked at construction.
const SAMPLED: u64 = 256;

/// Share of the range of rewards up to which the greatest observed one is far from the maximum; stated ranges are
/// often a little too wide.
const FAR: f64 = 0.5;

/// What a linear learner over visited states stores.
#[derive(Clone, Debug)]
pub(in crate::learn::linear) struct VisitedStates {
    pub(super) states: States,
    pub(super) designs: Vec<Design>,
    pub(super) ahead: Ahead,
    /// The counts of unknown mechanisms in the present plan, which determine its kernel.
    pub(super) planned_mechanisms: Option<Mechanisms>,
    /// Weights of the present plan, stage by stage.
    pub(super) weights: Vec<DVector<f64>>,
    /// Λ⁻¹ of the present plan, if there are widths: by design, or by stage with variance weights. β, by stage.
    pub(super) inverse: Vec<Vec<f64>>,
    pub(super) beta: Vec<f64>,
    /// The episode of the present plan, which determines its tie-breaking.
    pub(super) planned_for: u64,
    room: Room,
}

/// Features of a map, computed state by state.
pub(in crate::learn::linear) fn rows_of(
    knowledge: &Knowledge,
    map: Option<&FeatureMap>,
) -> Result<RowsAt, LinearError> {
    let world = knowledge.world();
    let Some(map) = map.or(world.features()) else {
        let causes = world.sizes(&world.cause_variables()).iter().map(|&n| n as u128).product::<u128>();
        return Err(FeatureError::Missing { states: world.n_states() as u128 * causes }.into());
    };
    let dimension = map.dimension(world);
    let Some(d) = dimension.filter(|d| *d <= 1 << 14) else {
        let (cells, bytes) = (1, dimension.and_then(|d| d.checked_mul(8)?.checked_mul(d)));
        return Err(FeatureError::TooLarge { dimension, cells, bytes, limit: MOST_BYTES }.into());
    };
    Ok(RowsAt::of_map(world, map, d as usize))
}

impl VisitedStates {
    /// Refuses options and numbers of features that it cannot store.
    pub(in crate::learn::linear) fn check(
        knowledge: &Knowledge,
        rows: &RowsAt,
        options: &LinearOptions,
    ) -> Result<(), LinearError> {
        if options.regression == Regression::Interventions {
            return Err(LinearError::Interventions);
        }
        let (d, horizon) = (rows.dimension, knowledge.horizon());
        let designs = if options.stage_dependent { horizon } else { 1 };
        // Λ, its factor and its inverse; with variance weights, one more inverse for each stage, and one in
        // construction.
        let weighed = if options.weights == Weights::Variance { horizon + 3 } else { 0 };
        let bytes = (3 * designs + weighed) as u128 * 8 * (d as u128).pow(2);
        match bytes > MOST_BYTES {
            true => {
                let cells = rows.n_causes();
                Err(LinearError::TooLarge { dimension: d, designs, cells, bytes, limit: MOST_BYTES })
            }
            false => Ok(()),
        }
    }

    /// No steps, with these features.
    pub(in crate::learn::linear) fn new(
        problem: &Problem,
        rows: RowsAt,
        kernel: Kernel,
        mechanisms: Option<&Mechanisms>,
    ) -> VisitedStates {
        let Problem { knowledge, options, .. } = problem;
        let (d, horizon, world) = (rows.dimension, knowledge.horizon(), knowledge.world());
        let rewards = match options.rewards {
            Rewards::Regressed => RewardsAt::none(world, kernel.causes()),
            Rewards::Known => RewardsAt::new(world, kernel.causes()),
        };
        VisitedStates {
            states: States::new(rows),
            designs: vec![Design::new(d, options.lambda); problem.n_designs()],
            ahead: Ahead { kernel: Arc::new(kernel), rewards },
            planned_mechanisms: mechanisms.cloned(),
            weights: vec![DVector::zeros(d); horizon],
            inverse: Vec::new(),
            beta: vec![0.0; horizon],
            planned_for: 0,
            room: Room::default(),
        }
    }

    /// Number of features (d).
    pub(in crate::learn::linear) fn dimension(&self) -> usize {
        self.states.rows.dimension
    }

    /// Joint values of the key variables.
    pub(in crate::learn::linear) fn causes(&self) -> &CauseSpace {
        self.ahead.kernel.causes()
    }

    /// Number of visited next states.
    pub(in crate::learn::linear) fn met(&self) -> usize {
        self.states.met.len()
    }

    /// Approximate bytes of the data: steps, and features of states.
    pub(in crate::learn::linear) fn bytes(&self) -> usize {
        let steps: usize = self.designs.iter().map(|design| design.steps.len()).sum();
        self.states.kept() + steps * (8 * self.dimension() + size_of::<Step>()) + 64 * self.met()
    }

    /// The checked features of random states, `[state][cause][feature]`; an error if they can be computed for none.
    pub(in crate::learn::linear) fn sampled_features(&self, knowledge: &Knowledge) -> Result<Vec<f64>, LinearError> {
        let (rows, n_states) = (&self.states.rows, knowledge.n_states() as u64);
        let mut all = Vec::new();
        let mut failed = None;
        for draw in 0..SAMPLED {
            let state = scale(splitmix64(draw), n_states) as usize;
            let mut phi = vec![0.0; rows.n_causes() * rows.dimension];
            match rows.fill(state, &mut phi) {
                Ok(()) => {
                    check(knowledge, state, &phi, rows.dimension)?;
                    all.extend(phi);
                }
                Err(why) => {
                    failed = failed.or(Some(FeatureError::Function { state: state_text(knowledge, state), why }))
                }
            }
        }
        match failed {
            Some(error) if all.is_empty() => Err(error.into()),
            Some(_) | None => Ok(all),
        }
    }

    /// The greatest observed regressed reward of a step, and the greatest possible one, if the first is in the lower
    /// half of the range.
    pub(in crate::learn::linear) fn unseen_reward(&self, problem: &Problem) -> Option<[f64; 2]> {
        let [lo, hi] = problem.sizes.regressed;
        let paid = self.designs.iter().flat_map(|design| &design.steps).map(|step| step.reward);
        let most = paid.fold(f64::NEG_INFINITY, f64::max);
        (most.is_finite() && most < lo + FAR * (hi - lo)).then_some([most, hi])
    }

    /// β at a stage, scaled, with the steps so far.
    pub(in crate::learn::linear) fn present_beta(&self, problem: &Problem, stage: usize) -> f64 {
        let design = &self.designs[problem.design(stage)];
        problem.beta(stage, &design.gram, design.steps.len() as u64)
    }

    /// The decision at a stage (from 0) in a state.
    pub(in crate::learn::linear) fn decide(
        &mut self,
        problem: &Problem,
        stage: usize,
        state: usize,
    ) -> Result<Action, LinearError> {
        let d = self.dimension();
        let rows = Rows::Dense(self.states.phi(&problem.knowledge, state)?.into());
        let mut squares = Vec::new();
        if problem.options.estimate == LinearEstimate::Width {
            squares.resize(self.states.rows.n_causes(), 0.0);
            rows.squares(self.inverse_at(problem, stage), d, &mut squares);
        }
        let width = (!squares.is_empty()).then_some((self.beta[stage], &squares[..]));
        let tie = problem.ties(self.planned_for).at(stage, state);
        let weights = self.weights[stage].as_slice();
        Ok(self.ahead.best(problem, (stage, state), &rows, (weights, width), tie, &mut self.room).0)
    }

    /// Adds a step by numbers to its design; whether the determinant of that has doubled.
    pub(in crate::learn::linear) fn regress(
        &mut self,
        problem: &Problem,
        (stage, state): (usize, usize),
        cause: usize,
        reward: f64,
        next_state: usize,
    ) -> Result<bool, LinearError> {
        let (knowledge, n_causes) = (&problem.knowledge, self.states.rows.n_causes());
        problem.check_step((stage, state), (cause, n_causes), reward, next_state)?;
        let [lo, hi] = problem.sizes.regressed;
        let d = self.dimension();
        let phi: Vec<f64> = self.states.phi(knowledge, state)?[cause * d..][..d].to_vec();
        let next = self.states.enter(knowledge, next_state)?;
        let design = &mut self.designs[problem.design(stage)];
        design.add(stage, state, (cause, &phi), reward.clamp(lo, hi), next);
        Ok(design.gram.doubled())
    }

    /// Adds a step this many times; whether the determinant of its design has doubled, or `None` if a value that the
    /// regression needs is missing.
    pub(in crate::learn::linear) fn add(
        &mut self,
        problem: &Problem,
        mechanisms: Option<&Mechanisms>,
        observation: &Observation<'_>,
        times: u32,
    ) -> Result<Option<bool>, LinearError> {
        let (knowledge, at) = (&problem.knowledge, (observation.stage, observation.state));
        if let Some(action) = observation.action
            && !self.ahead.kernel.allows(observation.state, action)
        {
            return Err(LinearError::NotAllowed { state: state_text(knowledge, observation.state), action });
        }
        if let Some(mechanisms) = mechanisms {
            if observation.action.is_none() {
                return Err(LinearError::NothingDone);
            }
            if !mechanisms.has_room(knowledge, observation, times) {
                return Err(EvidenceError::Full.into());
            }
        }
        let (cause, missing) = self.ahead.kernel.causes().of_seen(&observation.values, MISSING);
        let reward = problem.reward(observation);
        match observation.next_state {
            Some(next) if missing == 0 && !reward.is_nan() => {
                let mut add = |_| self.regress(problem, at, cause, reward, next);
                (0..times).try_fold(false, |any, i| Ok(add(i)? || any)).map(Some)
            }
            Some(_) | None => check_place(knowledge, at.0, at.1).map(|()| None),
        }
    }

    /// The value of each configuration by a plan computed now, and the best intervention.
    pub(in crate::learn::linear) fn looked(
        mut self,
        problem: &Problem,
        mechanisms: Option<&Mechanisms>,
        episode: u64,
        rule: MechanismRule,
        (stage, state): (usize, usize),
    ) -> Result<Lookahead, LinearError> {
        self.solve(problem, mechanisms, episode, rule);
        let best = self.decide(problem, stage, state)?;
        let q = self.ahead.values_of(problem, stage, &self.room);
        Ok(Lookahead { q, best, selector: Selector::Kernel(Box::new((*self.ahead.kernel).clone())) })
    }

    /// Effective number of steps for each configuration of a state at a stage.
    pub(in crate::learn::linear) fn steps_behind(
        &self,
        problem: &Problem,
        stage: usize,
        state: usize,
    ) -> Result<Vec<f64>, LinearError> {
        let mut states = States::new(self.states.rows.clone());
        let phi = states.phi(&problem.knowledge, state)?;
        let factor = self.designs[problem.design(stage)].gram.factor();
        let of = |phi: &[f64]| {
            let column = DVector::from_column_slice(phi);
            let (square, norm) = (column.dot(&factor.solve(&column)), column.norm_squared());
            effective_steps(square, norm, problem.options.lambda)
        };
        Ok(phi.chunks_exact(self.dimension()).map(of).collect())
    }
}
