//! A learner of least-squares value iteration over visited states: setup, decisions, and observed steps.

use nalgebra::DVector;
use std::sync::Arc;

use super::design::{Design, Step};
use super::error::VisitedStatesError;
use super::policy::{Ahead, Room, VisitedStatesPolicy};
use super::states::{Rows, States, check as check_rows, state_text};
use crate::kernel::Kernel;
use crate::learn::linear::findings::found;
use crate::learn::linear::model::{Sizes, kernel_rule};
use crate::learn::linear::options::{LinearEstimate, LinearOptions, Regression, Rewards, Switching, Weights};
use crate::learn::linear::setup::{check, clip_values, feature_map, regressed_terms};
use crate::learn::linear::{FeatureError, FeatureFinding, LinearError, MOST_BYTES};
use crate::learn::{
    Agent, EvidenceError, Knowledge, MISSING, MechanismRule, Mechanisms, Observation, Session, kernel_bytes,
};
use crate::plan::{FeatureFunction, RewardsAt, RowsAt, tie_tolerance};
use crate::random::{scale, splitmix64};
use crate::world::{Action, Feature};

/// Random states on which features from code are checked at construction.
const SAMPLED: u64 = 256;

/// A linear learner over visited states, for any number of states: it stores the observed steps and their next states.
///
/// Its values are those of [`LinearLearner`](crate::learn::linear::LinearLearner) with the same options, at the states that matter to them:
///
///   w_h = Λ_h⁻¹ Σ φ [r + V_{h+1}(s')]     over the steps made
///   V_h(s') at the next states of these steps, and at no others
///
/// and a decision looks at φ(s, ·) of the state at hand. Features come from the world, or from a function.
///
/// # Cost
/// A step: O(d² + Z · d) and a search. A plan: O(H · (n · d + m · Z · d)) for n steps and m states met, and H · m searches; with
/// widths O(m · Z · d²) more (where steps are weighed, O(H · (n + m · Z) · d²)). With [`Switching::Doubling`] there are
/// O(d ln n) plans. Memory O(d² + n · d), and Z · d numbers for each state met (only those that are not 0, where most are) up to half a gigabyte; beyond that they are computed anew for every plan.
///
/// ```
/// use dowise::linear::{LinearPreset, VisitedStatesLearner};
/// use dowise::simulate::Play;
/// use dowise::{Knowledge, Simulator, worlds};
/// let world = worlds::LinearCode::default().world()?; // 10^13 states
/// let preset: LinearPreset = "c-blsvi".parse()?;
/// let mut learner = VisitedStatesLearner::new(&Knowledge::of(&world), preset.options(20, 1))?;
/// let simulator = Simulator::new(&world)?;
/// let mut play = Play::new(&simulator, 1);
/// let total: f64 = (0..20).map(|_| play.episode(&mut learner).1).sum();
/// assert!(total >= 0.0 && learner.episodes() == 20 && learner.met() <= 20 * 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct VisitedStatesLearner {
    pub(super) knowledge: Knowledge,
    pub(super) options: LinearOptions,
    pub(super) states: States,
    pub(super) designs: Vec<Design>,
    pub(super) ahead: Ahead,
    /// Unknown mechanisms: the present counts, and those of the present plan, which determine its kernel.
    pub(super) mechanisms: Option<Mechanisms>,
    pub(super) planned_mechanisms: Option<Mechanisms>,
    regressed: Vec<usize>,
    pub(super) sizes: Sizes,
    pub(super) discount: f64,
    /// Weights of the present plan, stage by stage.
    pub(super) weights: Vec<DVector<f64>>,
    /// Λ⁻¹ of the present plan, if there are widths: by design, or by stage with variance weights. β, by stage.
    pub(super) inverse: Vec<Vec<f64>>,
    pub(super) beta: Vec<f64>,
    /// Episodes ended.
    pub(super) episode: u64,
    pub(super) plans: u64,
    /// The episode of the present plan, which determines its tie-breaking.
    pub(super) planned_for: u64,
    pub(super) due: bool,
    /// The running episode: its decisions and observations.
    session: Option<Session>,
    /// Its name, if any.
    pub(super) name: String,
    pub(super) room: Room,
}

impl VisitedStatesLearner {
    /// A learner without steps, with the features of its options.
    pub fn new(knowledge: &Knowledge, options: LinearOptions) -> Result<VisitedStatesLearner, VisitedStatesError> {
        let chosen = feature_map(knowledge, &options);
        let world = knowledge.world();
        let Some(map) = chosen.as_ref().or(world.features()) else {
            let causes = world.sizes(&world.cause_variables()).iter().map(|&n| n as u128).product::<u128>();
            return Err(VisitedStatesError::NoFeatures { states: world.n_states() as u128 * causes });
        };
        let dimension = map.dimension(world).filter(|d| *d <= 1 << 14);
        let Some(d) = dimension else {
            let (cells, bytes) = (1, map.dimension(world).and_then(|d| d.checked_mul(8)?.checked_mul(d)));
            let error = FeatureError::TooLarge { dimension: map.dimension(world), cells, bytes, limit: MOST_BYTES };
            return Err(LinearError::from(error).into());
        };
        VisitedStatesLearner::with_rows(knowledge, RowsAt::of_map(world, map, d as usize), options)
    }

    /// The same with features from code: `function(state, out)` writes φ(s, c) of every configuration,
    /// `[cause][feature]`, numbered as in [`CauseSpace`](crate::kernel::CauseSpace). At construction it is called for
    /// 256 random states, so that invalid features are reported early, and then once for each visited state. It may
    /// fail for some random states, which need not be reachable, but not for all of them.
    pub fn with_function(
        knowledge: &Knowledge,
        dimension: usize,
        function: FeatureFunction,
        options: LinearOptions,
    ) -> Result<VisitedStatesLearner, VisitedStatesError> {
        if dimension == 0 {
            return Err(LinearError::from(FeatureError::Empty).into());
        }
        let learner = VisitedStatesLearner::with_rows(
            knowledge,
            RowsAt::of_function(knowledge.world(), function, dimension),
            options,
        )?;
        learner.sampled_features()?;
        Ok(learner)
    }

    /// The checked features of random states, `[state][cause][feature]`; an error if they can be computed for none.
    fn sampled_features(&self) -> Result<Vec<f64>, VisitedStatesError> {
        let (rows, n_states) = (&self.states.rows, self.knowledge.n_states() as u64);
        let mut all = Vec::new();
        let mut failed = None;
        for draw in 0..SAMPLED {
            let state = scale(splitmix64(draw), n_states) as usize;
            let mut phi = vec![0.0; rows.n_causes() * rows.dimension];
            match rows.fill(state, &mut phi) {
                Ok(()) => {
                    check_rows(&self.knowledge, state, &phi, rows.dimension)?;
                    all.extend(phi);
                }
                Err(why) => {
                    failed =
                        failed.or(Some(VisitedStatesError::Function { state: state_text(&self.knowledge, state), why }))
                }
            }
        }
        match failed {
            Some(error) if all.is_empty() => Err(error),
            Some(_) | None => Ok(all),
        }
    }

    /// Warnings about its features before learning, from 256 random states: see [`FeatureFinding`].
    pub fn findings(&self) -> Vec<FeatureFinding> {
        let d = self.states.rows.dimension;
        let steps = self.options.episodes.saturating_mul(self.knowledge.horizon() as u64);
        let all = if d <= 512 { self.sampled_features().unwrap_or_default() } else { Vec::new() };
        found(all.chunks_exact(d), d, steps)
    }

    fn with_rows(
        knowledge: &Knowledge,
        rows: RowsAt,
        options: LinearOptions,
    ) -> Result<VisitedStatesLearner, VisitedStatesError> {
        check(&options)?;
        let world = knowledge.world();
        world.refuse("regression on features", &[Feature::NextReward]).map_err(LinearError::from)?;
        if options.regression == Regression::Interventions {
            return Err(VisitedStatesError::Interventions);
        }
        let (d, horizon) = (rows.dimension, knowledge.horizon());
        let designs = if options.stage_dependent { horizon } else { 1 };
        // Λ, its factor and its inverse; with variance weights, one more inverse for each stage, and one in
        // construction.
        let weighed = if options.weights == Weights::Variance { horizon + 3 } else { 0 };
        let bytes = (3 * designs + weighed) as u128 * 8 * (d as u128).pow(2);
        if bytes > MOST_BYTES {
            let cells = rows.n_causes();
            return Err(LinearError::TooLarge { dimension: d, designs, cells, bytes, limit: MOST_BYTES }.into());
        }
        let mut mechanisms = Mechanisms::new(knowledge).map_err(LinearError::from)?;
        let bytes = kernel_bytes(world, options.estimate == LinearEstimate::Width);
        if mechanisms.is_some() && bytes > MOST_BYTES {
            return Err(VisitedStatesError::Kernel { bytes, limit: MOST_BYTES });
        }
        let kernel = match &mut mechanisms {
            None => Kernel::new(world).map_err(LinearError::from)?,
            // Checks that the kernel can be built.
            Some(mechanisms) => mechanisms.kernel(kernel_rule(&options, 0)).map_err(LinearError::from)?,
        };
        let kernel = Arc::new(kernel);
        let (regressed, regressed_range) = regressed_terms(knowledge, &options);
        let rewards = match options.rewards {
            Rewards::Regressed => RewardsAt::none(world, kernel.causes()),
            Rewards::Known => RewardsAt::new(world, kernel.causes()),
        };
        let (range, clip) = clip_values(knowledge, &options);
        let tolerance = tie_tolerance(horizon, range, world);
        let sizes = Sizes::new(knowledge, &options, (range, &clip), regressed_range, mechanisms.as_ref());
        let floor = (0..horizon).map(|stage| sizes.floor(stage)).collect();
        Ok(VisitedStatesLearner {
            knowledge: knowledge.clone(),
            states: States::new(rows),
            designs: vec![Design::new(d, options.lambda); designs],
            ahead: Ahead { kernel, rewards, clip, floor, tolerance },
            sizes,
            planned_mechanisms: mechanisms.clone(),
            mechanisms,
            regressed,
            discount: world.discount(),
            weights: vec![DVector::zeros(d); horizon],
            inverse: Vec::new(),
            beta: vec![0.0; horizon],
            episode: 0,
            plans: 0,
            planned_for: 0,
            due: true,
            session: None,
            name: String::new(),
            room: Room::default(),
            options,
        })
    }

    /// Its knowledge.
    pub fn knowledge(&self) -> &Knowledge {
        &self.knowledge
    }

    /// Its options.
    pub fn options(&self) -> &LinearOptions {
        &self.options
    }

    /// Episodes ended.
    pub fn episodes(&self) -> u64 {
        self.episode
    }

    /// Plans made so far.
    pub fn plans(&self) -> u64 {
        self.plans
    }

    /// Number of visited next states.
    pub fn met(&self) -> usize {
        self.states.met.len()
    }

    /// Approximate bytes of the data: steps, and features of states.
    pub fn bytes(&self) -> usize {
        let steps: usize = self.designs.iter().map(|design| design.steps.len()).sum();
        self.states.kept() + steps * (8 * self.states.rows.dimension + size_of::<Step>()) + 64 * self.met()
    }

    /// Number of features (d).
    pub fn dimension(&self) -> usize {
        self.states.rows.dimension
    }

    /// Whether some reward term is regressed, so that the learner needs observed rewards.
    pub fn learns_rewards(&self) -> bool {
        !self.regressed.is_empty()
    }

    /// The same learner under a name, such as the text of its [`LearnerSpec`](crate::LearnerSpec), which is saved with it.
    pub fn named(mut self, name: impl Into<String>) -> VisitedStatesLearner {
        self.name = name.into();
        self
    }

    /// Its name; empty if it has none.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Begins an episode: plans if a plan is due.
    pub fn begin(&mut self) {
        if self.due {
            self.plan();
        }
        self.session = Some(Session::new(self.episode + 1, self.knowledge.horizon(), None, Vec::new()));
    }

    /// The decision at a stage (from 0) in a state of the running episode, which begins if none runs. The decision is
    /// recorded, so that only its own step can be observed.
    pub fn act_at(&mut self, stage: usize, state: usize) -> Result<Action, VisitedStatesError> {
        if self.session.is_none() {
            self.begin();
        }
        check_place(&self.knowledge, stage, state)?;
        self.session.as_ref().map_or(Ok(()), |session| session.check_state(stage, state))?;
        let action = self.decide(stage, state)?;
        if let Some(session) = &mut self.session {
            session.decided(stage, state, action);
        }
        Ok(action)
    }

    /// Adds a step of the running episode. A step that does not belong to it (another state, another successor, or
    /// observed before) is refused as by [`Session::observe`], and changes nothing. The intervention in the step
    /// counts, whatever was decided.
    pub fn observe_step(&mut self, observation: &Observation<'_>) -> Result<(), VisitedStatesError> {
        if self.session.is_none() {
            self.begin();
        }
        self.session.as_ref().map_or(Ok(()), |session| session.check(observation))?;
        self.learn_observation(observation)?;
        if let Some(session) = &mut self.session {
            session.note(observation, [0.0; 2]);
        }
        Ok(())
    }

    /// The decision at a stage (from 0) in a state of the present episode.
    pub fn decide(&mut self, stage: usize, state: usize) -> Result<Action, VisitedStatesError> {
        check_place(&self.knowledge, stage, state)?;
        if self.plans == 0 && self.due {
            self.plan();
        }
        let d = self.states.rows.dimension;
        let rows = Rows::Dense(self.states.phi(&self.knowledge, state)?.into());
        let mut squares = Vec::new();
        if self.options.estimate == LinearEstimate::Width {
            squares.resize(self.states.rows.n_causes(), 0.0);
            rows.squares(self.inverse_at(stage), d, &mut squares);
        }
        let width = (!squares.is_empty()).then_some((self.beta[stage], &squares[..]));
        let tie = self.ties().at(stage, state);
        let weights = self.weights[stage].as_slice();
        Ok(self.ahead.best((stage, state), &rows, weights, width, tie, &mut self.room).0)
    }

    /// Adds one step by numbers: the observed configuration, numbered as in [`CauseSpace`](crate::kernel::CauseSpace),
    /// and the regressed reward. Such a step lacks the intervention, so it is refused if mechanisms are unknown.
    pub fn learn(
        &mut self,
        at: (usize, usize),
        cause: usize,
        reward: f64,
        next_state: usize,
    ) -> Result<(), VisitedStatesError> {
        match self.mechanisms {
            None => self.regress(at, cause, reward, next_state),
            Some(_) => Err(VisitedStatesError::NothingDone),
        }
    }

    /// Adds one step to its design.
    pub(super) fn regress(
        &mut self,
        (stage, state): (usize, usize),
        cause: usize,
        reward: f64,
        next_state: usize,
    ) -> Result<(), VisitedStatesError> {
        check_place(&self.knowledge, stage, state)?;
        check_place(&self.knowledge, stage, next_state)?;
        let last = self.states.rows.n_causes() - 1;
        if cause > last {
            return Err(VisitedStatesError::NoCause { cause, last });
        }
        let [lo, hi] = self.sizes.regressed;
        let rounding = 1e-9 * (hi - lo).max(hi.abs()).max(lo.abs());
        if !(lo - rounding..=hi + rounding).contains(&reward) {
            return Err(VisitedStatesError::Reward { reward, lo, hi });
        }
        let d = self.states.rows.dimension;
        let phi: Vec<f64> = self.states.phi(&self.knowledge, state)?[cause * d..][..d].to_vec();
        let next = self.states.enter(&self.knowledge, next_state)?;
        let place = self.design(stage);
        let design = &mut self.designs[place];
        design.add(stage, state, (cause, &phi), reward.clamp(lo, hi), next);
        self.due |= self.options.switching == Switching::Episode || design.doubled();
        Ok(())
    }

    /// Adds one observation of any step. A step with a missing key variable, next state or regressed reward is
    /// skipped.
    pub fn learn_observation(&mut self, observation: &Observation<'_>) -> Result<(), VisitedStatesError> {
        if let Some(action) = observation.action
            && !self.ahead.kernel.allows(observation.state, action)
        {
            return Err(VisitedStatesError::NotAllowed {
                state: state_text(&self.knowledge, observation.state),
                action,
            });
        }
        let (cause, missing) = self.ahead.kernel.causes().of_seen(&observation.values, MISSING);
        let reward: f64 = self.regressed.iter().map(|&i| observation.rewards[i]).sum();
        if let Some(mechanisms) = &self.mechanisms {
            if observation.action.is_none() {
                return Err(VisitedStatesError::NothingDone);
            }
            if !mechanisms.has_room(&self.knowledge, observation, 1) {
                return Err(EvidenceError::Full.into());
            }
        }
        match observation.next_state {
            Some(next) if missing == 0 && !reward.is_nan() => {
                self.regress((observation.stage, observation.state), cause, reward, next)?;
            }
            Some(_) | None => check_place(&self.knowledge, observation.stage, observation.state)?,
        }
        if let Some(mechanisms) = &mut self.mechanisms {
            self.due |= mechanisms.add(&self.knowledge, observation, 1) || self.options.switching == Switching::Episode;
        }
        Ok(())
    }

    /// Ends an episode.
    pub fn end(&mut self) {
        self.session = None;
        self.episode += 1;
    }

    /// The learned policy without optimism or noise, for deployment without learning.
    pub fn learned_policy(&self) -> VisitedStatesPolicy {
        let mut mean = self.clone();
        mean.options.beta_scale = 0.0;
        mean.plan_with(MechanismRule::Mean);
        let VisitedStatesLearner { knowledge, states, ahead, weights, .. } = mean;
        VisitedStatesPolicy { knowledge, states: States::new(states.rows), ahead, weights }
    }

    /// Values of the visited states at a stage, by state, in the present plan.
    pub fn values(&self, stage: usize) -> Vec<(usize, f64)> {
        let value = self.values_at(stage, &self.all_squares());
        self.states.met.iter().zip(value).map(|(met, v)| (met.state, v)).collect()
    }
}

impl Agent for VisitedStatesLearner {
    fn begin_episode(&mut self) {
        self.begin();
    }

    fn act(&mut self, stage: usize, state: usize) -> Action {
        self.act_at(stage, state).unwrap_or_else(|error| panic!("{error}"))
    }

    fn observe(&mut self, observation: &Observation<'_>) {
        self.observe_step(observation).unwrap_or_else(|error| panic!("{error}"));
    }

    fn end_episode(&mut self) {
        self.end();
    }
}

/// Whether the stage and the state exist.
pub(super) fn check_place(knowledge: &Knowledge, stage: usize, state: usize) -> Result<(), VisitedStatesError> {
    if stage >= knowledge.horizon() {
        return Err(VisitedStatesError::NoStage { stage, last: knowledge.horizon() - 1 });
    }
    if state >= knowledge.n_states() {
        return Err(VisitedStatesError::NoState { state, last: knowledge.n_states() - 1 });
    }
    Ok(())
}
