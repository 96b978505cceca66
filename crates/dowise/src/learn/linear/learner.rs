//! Least-squares value iteration (LSVI-UCB and posterior sampling) as a learner: regress, plan, act, repeat.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::error::LinearError;
use super::evidence::MetStep;
use super::features::Features;
use super::findings::{FeatureFinding, found};
use super::model::{Columns, LinearModel, Sizes, kernel_rule};
use super::options::LinearEstimate;
use super::options::{LinearOptions, Regression, Rewards, Switching};
use super::setup::{by_intervention, bytes, check, clip_values, feature_map, hold, regressed_terms};
use crate::kernel::{CauseSpace, Kernel};
use crate::learn::{
    ActionList, Agent, EvidenceError, Knowledge, MISSING, MOST_ACTIONS, MechanismRule, Mechanisms, Observation, Plans,
    Selector,
};
use crate::memory::Held;
use crate::plan::{Buffers, Plan, Ties, backward_induction, rewards_by_cause, tie_tolerance};
use crate::random::splitmix64;
use crate::world::{Action, Continuation, Feature, FeatureMap};

/// A linear learner: options, knowledge, regressions, and the present plan.
///
/// For h = H, …, 1, with Λ_h = λI + Σ φφᵀ over the steps seen at stage h (at all stages, if they share a design):
///
///   w_h       = Λ_h⁻¹ Σ φ \[r + V_{h+1}(s')\]
///   q_h(s, c) = clip(⟨w_h, φ(s, c)⟩ + β √(φ(s, c)ᵀ Λ_h⁻¹ φ(s, c)))
///   V_h(s)    = max_a { Σ_c P(c | s, a) q_h(s, c) − cost(a) }
///
/// On causes φ(s, c) is that of the observed key variables; on interventions the causes are the interventions and
/// φ = ψ(s, a), which is LSVI-UCB (Jin et al. 2019, algorithm 1) applied as the paper does.
///
/// # Cost
/// For one episode O(H (d² + d S + cells · d)) and H · S searches for the best intervention, cells being S times the
/// number of causes (or interventions); nothing depends on how many episodes there were. Memory
/// O(cells · d + designs · (d² + d S + cells)).
///
/// ```
/// use dowise::linear::{LinearLearner, LinearPreset};
/// use dowise::{Arena, Knowledge, World, worlds};
/// # use std::ops::ControlFlow::Continue;
/// let world = World::new(worlds::Paper::default().spec()?)?;
/// let preset: LinearPreset = "c-lsvi-ucb".parse()?;
/// let mut learner = LinearLearner::new(&Knowledge::of(&world), preset.options(20, 1))?;
/// let arena = Arena::new(&world)?;
/// let mut regret = 0.0;
/// arena.run(1).episodes(20, &mut learner, |e| {
///     regret += e.regret;
///     Continue(())
/// });
/// assert!(regret >= 0.0 && learner.episodes() == 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LinearLearner {
    pub(super) knowledge: Knowledge,
    pub(super) features: Features,
    /// Whether the features are indicators of scopes, chosen by name or by the world.
    indicators: bool,
    pub(super) key_causes: CauseSpace,
    pub(super) selector: Selector,
    /// Unknown mechanisms; the selector is rebuilt from them before every plan.
    pub(super) mechanisms: Option<Mechanisms>,
    pub(super) model: LinearModel,
    /// Regressed reward terms.
    regressed: Vec<usize>,
    pub(super) plan: Plan,
    pub(super) buffers: Buffers,
    pub(super) tolerance: f64,
    /// Episodes finished.
    pub(super) episode: u64,
    /// Number of plans, and the fingerprint of the last plan's evidence.
    pub(super) plans: u64,
    pub(super) planned_from: u64,
    /// Whether to plan before the next episode.
    pub(super) due: bool,
    _held: Held,
}

impl LinearLearner {
    /// A learner without steps, with the features of its options.
    pub fn new(knowledge: &Knowledge, options: LinearOptions) -> Result<LinearLearner, LinearError> {
        let chosen = feature_map(knowledge, &options);
        let features = match &chosen {
            None => Features::of(knowledge.world())?,
            Some(map) => Features::new(knowledge.world(), map)?,
        };
        let map = chosen.as_ref().or(knowledge.world().features());
        let indicators = map.is_none_or(|map| matches!(map, FeatureMap::Indicators { .. }));
        Ok(LinearLearner { indicators, ..LinearLearner::with_features(knowledge, &features, options)? })
    }

    /// A learner without steps, with these features of the same world.
    pub fn with_features(
        knowledge: &Knowledge,
        features: &Features,
        options: LinearOptions,
    ) -> Result<LinearLearner, LinearError> {
        check(&options)?;
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
        let held = hold(knowledge, features.dimension(), n_states * n_causes, &options)?;
        knowledge.world().refuse("regression on features", &[Feature::NextReward])?;
        let mut mechanisms = match options.regression {
            Regression::Causes => Mechanisms::new(knowledge)?,
            Regression::Interventions => None,
        };
        let kernel = match &mut mechanisms {
            None => Kernel::new(knowledge.world())?,
            // Checks that the kernel can be built.
            Some(mechanisms) => mechanisms.kernel(kernel_rule(&options, 0))?,
        };
        let list = match options.regression {
            Regression::Causes => None,
            Regression::Interventions => {
                let list = ActionList::new(knowledge.world(), most);
                Some(list.ok_or(LinearError::TooManyActions { count, most })?)
            }
        };

        let (regressed, own) = regressed_terms(knowledge, &options);
        let known_reward = match options.rewards {
            Rewards::Regressed => vec![0.0; n_states * n_keys],
            Rewards::Known => rewards_by_cause(knowledge.world(), kernel.causes()),
        };
        let (columns, reward) = match &list {
            None => (features.shared_rows(), known_reward),
            Some(list) => {
                (by_intervention(features, &kernel, list).as_slice().into(), list.average(&kernel, &known_reward))
            }
        };
        let horizon = knowledge.horizon();
        let (range, clip) = clip_values(knowledge, &options);
        let sizes = Sizes::new(knowledge, &options, (range, &clip), own, mechanisms.as_ref());
        let tolerance = tie_tolerance(horizon, range, knowledge.world());
        let rng = ChaCha8Rng::seed_from_u64(0);
        let columns = Columns::new(features.dimension(), columns);
        let mut model = LinearModel::new(columns, n_states, reward, clip, sizes, options, rng);
        model.continuation = Continuation::of(knowledge.world());
        model.ended = knowledge.world().ends().map(|ends| ends.states.clone());
        Ok(LinearLearner {
            knowledge: knowledge.clone(),
            features: features.clone(),
            indicators: false,
            key_causes: kernel.causes().clone(),
            selector: match list {
                Some(list) => Selector::Listed(list.into()),
                None => Selector::Kernel(Box::new(kernel)),
            },
            mechanisms,
            model,
            regressed,
            plan: Plan::new(horizon, n_states),
            buffers: Buffers::default(),
            tolerance,
            episode: 0,
            plans: 0,
            planned_from: 0,
            due: true,
            _held: held,
        })
    }

    /// Most bytes of the learner with the features of its options, computed before any allocation.
    pub fn bytes(knowledge: &Knowledge, options: &LinearOptions) -> u128 {
        let map = feature_map(knowledge, options);
        match map.as_ref().or(knowledge.world().features()) {
            Some(map) => bytes(knowledge, map.dimension(knowledge.world()).unwrap_or(u128::MAX), options),
            None => {
                let one_hot = FeatureMap::one_hot(knowledge.world());
                bytes(knowledge, one_hot.dimension(knowledge.world()).unwrap_or(u128::MAX), options)
            }
        }
    }

    /// The same of this learner.
    pub(crate) fn bytes_taken(&self) -> u128 {
        bytes(&self.knowledge, self.features.dimension() as u128, self.options())
    }

    /// Its options.
    pub fn options(&self) -> &LinearOptions {
        &self.model.options
    }

    /// Its knowledge.
    pub fn knowledge(&self) -> &Knowledge {
        &self.knowledge
    }

    /// Features of every state and configuration.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// Episodes finished.
    pub fn episodes(&self) -> u64 {
        self.episode
    }

    /// Number of plans: one for each episode, or fewer with rare switching.
    pub fn plans(&self) -> u64 {
        self.plans
    }

    /// The present plan: policy of this episode, and estimated values.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Number of weights (d, or d for each stage) and of rows of unknown mechanisms.
    pub fn cells(&self) -> usize {
        self.n_weights() + self.mechanisms.as_ref().map_or(0, |mechanisms| mechanisms.to_learn()[0])
    }

    /// Number of learned parameters: weights, and for every row of an unknown mechanism its values less one, or the
    /// parameters of its form.
    pub(crate) fn numbers(&self) -> usize {
        self.n_weights() + self.mechanisms.as_ref().map_or(0, |mechanisms| mechanisms.to_learn()[1])
    }

    /// Number of learned weights: d, or d for each stage.
    pub fn n_weights(&self) -> usize {
        self.features.dimension() * self.model.designs.len()
    }

    /// Whether some reward term is regressed, so that the learner needs observed rewards.
    pub fn learns_rewards(&self) -> bool {
        !self.regressed.is_empty()
    }

    /// The design of an observation and its encoded step; `None` if a value is missing.
    fn step_of(&self, observation: &Observation<'_>) -> Result<Option<(usize, MetStep)>, EvidenceError> {
        let action = observation.done(&self.knowledge, self.knowledge.variables().iter().map(|v| v.size() as u32))?;
        let (cause, n_causes) = match &self.selector {
            Selector::Listed(list) => (list.find(action).ok_or(EvidenceError::OtherWorld)?, list.actions.len()),
            Selector::Kernel(_) | Selector::Parts(_) => match self.key_causes.of_seen(&observation.values, MISSING) {
                (cause, 0) => (cause, self.key_causes.len()),
                (_, _) => return Ok(None),
            },
        };
        let reward: f64 = self.regressed.iter().map(|&i| observation.rewards[i]).sum();
        let Some(next_state) = observation.next_state.filter(|_| !reward.is_nan()) else { return Ok(None) };
        let design = self.model.design(observation.stage);
        let cell = observation.state * n_causes + cause;
        Ok(Some((design, self.model.designs[design].step(cell, reward, next_state))))
    }

    /// A fingerprint of the data, independent of their order.
    pub(crate) fn fingerprint(&self) -> u64 {
        let designs = self.model.designs.iter().fold(0, |h, design| splitmix64(h ^ design.met.fingerprint()));
        self.mechanisms.as_ref().map_or(designs, |mechanisms| splitmix64(designs ^ mechanisms.fingerprint()))
    }

    /// Rebuilds P(c | s, a) from the counts of unknown mechanisms.
    pub(super) fn read_mechanisms(&mut self, rule: MechanismRule) {
        if let Some(mechanisms) = &mut self.mechanisms {
            let kernel = mechanisms.kernel(rule);
            let kernel =
                kernel.expect("invariant: what was learned has the shape that it had when the learner was made");
            self.selector = Selector::Kernel(Box::new(kernel));
        }
    }

    /// The present β at a stage (from 0).
    pub fn beta(&self, stage: usize) -> f64 {
        self.model.beta(stage)
    }

    /// The regressor of a step: φ(s, c), or ψ(s, a) for the intervention of rank `cause`.
    pub fn regressor(&self, state: usize, cause: usize) -> &[f64] {
        let n_causes = self.model.columns.len() / self.plan.n_states;
        self.model.columns.of(state * n_causes + cause)
    }

    /// Warnings about its features before learning: see [`FeatureFinding`]. Indicators of several scopes are always
    /// collinear, so there is no warning about that.
    ///
    /// # Cost
    /// O(d²) for each of at most 65,536 evenly spread states and configurations, and O(d³); no check beyond 512
    /// features.
    pub fn findings(&self) -> Vec<FeatureFinding> {
        let steps = self.options().episodes.saturating_mul(self.knowledge.horizon() as u64);
        let (features, d) = (&self.features, self.features.dimension());
        let n_causes = self.key_causes.len();
        let spread = features.n_cells().div_ceil(1 << 16);
        let cells = (0..features.n_cells()).step_by(spread | 1);
        let none = self.indicators || d > 512;
        let rows = cells.filter(|_| !none).map(|cell| features.row(cell / n_causes, cell % n_causes));
        found(rows, d, steps)
    }

    /// Least-squares weights of a stage for targets r + V(s'), for any function V of the next state.
    pub fn weights(&self, stage: usize, next_value: &[f64]) -> Vec<f64> {
        self.model.weights(stage, next_value).as_slice().to_vec()
    }

    /// φᵀΛ⁻¹φ of a stage, `[state][cause]` (or `[state][intervention]`, in the order of their numbers).
    ///
    /// # Cost
    /// None for learners with widths that plan before each episode, which cache them; O(d²) for each column for
    /// others.
    pub fn squared_widths(&self, stage: usize) -> Vec<f64> {
        self.model.designs[self.model.design(stage)].squares(self.model.columns.as_view()).into_owned()
    }

    /// Estimated P(s' | s, c) at a stage (c an intervention's rank for regression on interventions).
    ///
    /// A least-squares estimate: it need not be a distribution, but tends to one if the world is linear.
    pub fn transition(&self, stage: usize, state: usize, cause: usize) -> Vec<f64> {
        let n_causes = self.model.columns.len() / self.plan.n_states;
        let design = &self.model.designs[self.model.design(stage)];
        design.transition(self.model.columns.as_view(), state * n_causes + cause)
    }
}

impl Plans for LinearLearner {
    fn knowledge(&self) -> &Knowledge {
        &self.knowledge
    }

    fn planned(&self) -> (u64, u64) {
        (self.plans, self.planned_from)
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn prepare(&mut self, episode: u64) -> bool {
        if !self.due {
            return false;
        }
        let seed = self.model.options.seed;
        if self.model.options.estimate == LinearEstimate::Sampled {
            self.model.rng = ChaCha8Rng::seed_from_u64(splitmix64(seed ^ 0x6c69_6e65));
            self.model.rng.set_stream(episode);
        }
        self.read_mechanisms(kernel_rule(self.options(), episode));
        let ties = Ties::Seeded(splitmix64(seed ^ splitmix64(episode)));
        let (model, selector) = (&mut self.model, &self.selector);
        backward_induction(model, selector, self.tolerance, ties, &mut self.buffers, &mut self.plan);
        self.model.designs.iter_mut().for_each(|d| d.mark_planned());
        self.plans += 1;
        self.planned_from = self.fingerprint();
        self.due = false;
        true
    }

    fn decide(&mut self, _: u64, stage: usize, state: usize) -> Action {
        self.plan.action(stage, state)
    }

    fn fill_policy(&mut self, _: u64, out: &mut Vec<Action>) {
        out.extend_from_slice(&self.plan.policy_hs);
    }

    fn ended(&mut self) {
        self.episode += 1;
    }

    /// A step with a missing key variable, next state or regressed reward has no target and is skipped.
    fn learn(&mut self, observation: &Observation<'_>) -> Result<(), EvidenceError> {
        self.learn_times(observation, 1)
    }

    fn learn_times(&mut self, observation: &Observation<'_>, times: u32) -> Result<(), EvidenceError> {
        let step = self.step_of(observation)?;
        let LinearLearner { knowledge, mechanisms, model, due, .. } = self;
        let fits = mechanisms.as_ref().is_none_or(|m| m.has_room(knowledge, observation, times))
            && step.is_none_or(|(design, step)| model.designs[design].met.has_room(step, times));
        if !fits {
            return Err(EvidenceError::Full);
        }
        let every = model.options.switching == Switching::Episode;
        if let Some(mechanisms) = mechanisms {
            *due |= mechanisms.add(knowledge, observation, times) || every;
        }
        let Some((design, step)) = step else { return Ok(()) };
        let LinearModel { columns, designs, .. } = model;
        let design = &mut designs[design];
        design.add_times(columns.as_view(), step, times);
        *due |= every || design.doubled();
        Ok(())
    }

    fn unlearn(&mut self, observation: &Observation<'_>) -> Result<(), EvidenceError> {
        let step = self.step_of(observation)?;
        let LinearLearner { knowledge, mechanisms, model, due, .. } = self;
        if mechanisms.as_ref().is_some_and(|m| !m.has(knowledge, observation)) {
            return Err(EvidenceError::NotThere);
        }
        let LinearModel { columns, designs, .. } = model;
        if let Some((design, step)) = step
            && !designs[design].remove(columns.as_view(), step)
        {
            return Err(EvidenceError::NotThere);
        }
        *due |= step.is_some() || mechanisms.is_some();
        if let Some(mechanisms) = mechanisms {
            mechanisms.remove(knowledge, observation);
        }
        Ok(())
    }
}

impl Agent for LinearLearner {
    fn begin_episode(&mut self) {
        self.prepare(self.episode);
    }

    fn act(&mut self, stage: usize, state: usize) -> Action {
        self.plan.action(stage, state)
    }

    fn observe(&mut self, observation: &Observation<'_>) {
        if let Err(error) = self.learn(observation) {
            panic!("{error}");
        }
    }

    fn end_episode(&mut self) {
        self.episode += 1;
    }

    fn policy(&mut self) -> Option<&[Action]> {
        Some(&self.plan.policy_hs)
    }
}
