//! Least-squares value iteration (LSVI-UCB and posterior sampling) as a learner, over enumerated or visited states.

use super::enumerated::EnumeratedStates;
use super::error::{FeatureError, LinearError};
use super::features::Features;
use super::findings::{FeatureFinding, found};
use super::options::{LinearOptions, Regression};
use super::problem::Problem;
use super::setup::{bytes, check, feature_map, first_kernel};
use super::visited::{VisitedStates, rows_of};
use super::{Lookahead, MOST_BYTES};
use crate::kernel::Kernel;
use crate::learn::{Knowledge, MechanismRule, Mechanisms, Session, kernel_bytes};
use crate::plan::{FeatureFunction, RowsAt};
use crate::world::{Feature, FeatureMap};

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
/// # States
/// Over all states, the learner stores the regressors of all of them, counts of visited pairs, and a plan of every
/// state: see [`EnumeratedStates`]. The weights need values only at observed next states, so that over visited states
/// it stores the steps and these states, for any number of states; a decision looks at φ(s, ·) of the state at hand.
/// The values are the same. [`LinearLearner::new`] enumerates states if that is possible.
///
/// # Cost
/// Over all states: for one episode O(H (d² + d S + cells · d)) and H · S searches for the best intervention, cells
/// being S times the number of causes (or interventions); nothing depends on how many episodes there were. Memory
/// O(cells · d + designs · (d² + d S + cells)).
///
/// Over visited states: a step costs O(d² + Z · d) and a search; a plan O(H · (n · d + m · Z · d)) for n steps and m
/// visited states, and H · m searches; with widths O(m · Z · d²) more (with variance weights, O(H · (n + m · Z) · d²)).
/// With [`Switching::Doubling`](super::Switching) there are O(d ln n) plans. Memory O(d² + n · d), and Z · d numbers
/// for each visited state (only nonzero ones, if most are 0) up to half a gigabyte; those of further states are
/// recomputed for every plan.
///
/// ```
/// use dowise::linear::{LinearLearner, LinearPreset};
/// use dowise::simulate::Play;
/// use dowise::{Arena, Knowledge, Simulator, World, worlds};
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
/// assert!(regret >= 0.0 && learner.episodes() == 20 && learner.enumerated().is_some());
///
/// let large = worlds::LinearCode::default().world()?; // 10^13 states
/// let preset: LinearPreset = "c-blsvi".parse()?;
/// let mut learner = LinearLearner::new(&Knowledge::of(&large), preset.options(20, 1))?;
/// let simulator = Simulator::new(&large)?;
/// let mut play = Play::new(&simulator, 1);
/// let total: f64 = (0..20).map(|_| play.episode(&mut learner).1).sum();
/// assert!(total >= 0.0 && learner.enumerated().is_none() && learner.met() <= 20 * 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LinearLearner {
    pub(super) problem: Problem,
    /// Unknown mechanisms; plans compute P(c | s, a) from them.
    pub(super) mechanisms: Option<Mechanisms>,
    pub(super) storage: Storage,
    /// Episodes ended.
    pub(super) episode: u64,
    pub(super) plans: u64,
    /// Whether to plan before the next episode.
    pub(super) due: bool,
    /// Whether it has counted steps of no episode of its own.
    pub(super) logged: bool,
    /// Whether the features are indicators of scopes, chosen by name or by the world.
    indicators: bool,
    /// The running episode: its decisions and observations.
    pub(super) session: Option<Session>,
    /// Its name, if any.
    pub(super) name: String,
}

/// What is stored of states and steps.
#[derive(Clone, Debug)]
pub(super) enum Storage {
    Enumerated(Box<EnumeratedStates>),
    Visited(Box<VisitedStates>),
}

impl LinearLearner {
    /// A learner without steps, with the features of its options: over all states if they can be enumerated,
    /// otherwise over visited states.
    pub fn new(knowledge: &Knowledge, options: LinearOptions) -> Result<LinearLearner, LinearError> {
        match knowledge.world().is_enumerable() {
            true => LinearLearner::over_all_states(knowledge, options),
            false => LinearLearner::over_visited_states(knowledge, options),
        }
    }

    /// The same over all states.
    pub fn over_all_states(knowledge: &Knowledge, options: LinearOptions) -> Result<LinearLearner, LinearError> {
        let chosen = feature_map(knowledge, &options);
        let features = match &chosen {
            None => Features::of(knowledge.world())?,
            Some(map) => Features::new(knowledge.world(), map)?,
        };
        let map = chosen.as_ref().or(knowledge.world().features());
        let indicators = map.is_none_or(|map| matches!(map, FeatureMap::Indicators { .. }));
        Ok(LinearLearner { indicators, ..LinearLearner::with_features(knowledge, &features, options)? })
    }

    /// The same over visited states, also if states can be enumerated.
    pub fn over_visited_states(knowledge: &Knowledge, options: LinearOptions) -> Result<LinearLearner, LinearError> {
        let rows = rows_of(knowledge, feature_map(knowledge, &options).as_ref())?;
        LinearLearner::with_rows(knowledge, rows, options)
    }

    /// A learner over all states without steps, with these features of the same world.
    pub fn with_features(
        knowledge: &Knowledge,
        features: &Features,
        options: LinearOptions,
    ) -> Result<LinearLearner, LinearError> {
        check(&options)?;
        let held = EnumeratedStates::hold(knowledge, features, &options)?;
        LinearLearner::build(knowledge, options, |problem, kernel, _| {
            Ok(Storage::Enumerated(EnumeratedStates::new(problem, features, kernel, held)?.into()))
        })
    }

    /// A learner over visited states without steps, with features from code: `function(state, out)` writes φ(s, c) of
    /// every configuration, `[cause][feature]`, numbered as in [`CauseSpace`](crate::kernel::CauseSpace). At
    /// construction it is called for 256 random states, so that invalid features are reported early, and then once for
    /// each visited state. It may fail for some random states, which need not be reachable, but not for all of them.
    pub fn with_function(
        knowledge: &Knowledge,
        dimension: usize,
        function: FeatureFunction,
        options: LinearOptions,
    ) -> Result<LinearLearner, LinearError> {
        if dimension == 0 {
            return Err(FeatureError::Empty.into());
        }
        let rows = RowsAt::of_function(knowledge.world(), function, dimension);
        let learner = LinearLearner::with_rows(knowledge, rows, options)?;
        if let Storage::Visited(states) = &learner.storage {
            states.sampled_features(knowledge)?;
        }
        Ok(learner)
    }

    fn with_rows(knowledge: &Knowledge, rows: RowsAt, options: LinearOptions) -> Result<LinearLearner, LinearError> {
        check(&options)?;
        VisitedStates::check(knowledge, &rows, &options)?;
        LinearLearner::build(knowledge, options, |problem, kernel, mechanisms| {
            Ok(Storage::Visited(VisitedStates::new(problem, rows, kernel, mechanisms).into()))
        })
    }

    fn build(
        knowledge: &Knowledge,
        options: LinearOptions,
        storage: impl FnOnce(&Problem, Kernel, Option<&Mechanisms>) -> Result<Storage, LinearError>,
    ) -> Result<LinearLearner, LinearError> {
        let world = knowledge.world();
        world.refuse("regression on features", &[Feature::NextReward])?;
        let mut mechanisms = match options.regression {
            Regression::Causes => Mechanisms::new(knowledge)?,
            Regression::Interventions => None,
        };
        let bytes = kernel_bytes(world, options.estimate == super::LinearEstimate::Width);
        if mechanisms.is_some() && bytes > MOST_BYTES {
            return Err(LinearError::KernelTooLarge { bytes, limit: MOST_BYTES });
        }
        let kernel = first_kernel(knowledge, &mut mechanisms, &options)?;
        let problem = Problem::new(knowledge, options, mechanisms.as_ref());
        let storage = storage(&problem, kernel, mechanisms.as_ref())?;
        let (session, name) = (None, String::new());
        Ok(LinearLearner {
            problem,
            mechanisms,
            storage,
            episode: 0,
            plans: 0,
            due: true,
            logged: false,
            indicators: false,
            session,
            name,
        })
    }

    /// Most bytes of a learner over all states with the features of its options, computed before any allocation.
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

    /// Bytes of this learner: the most there can be over all states, and approximately those of the data over visited
    /// states.
    pub fn bytes_taken(&self) -> u128 {
        match &self.storage {
            Storage::Enumerated(_) => bytes(self.knowledge(), self.dimension() as u128, self.options()),
            Storage::Visited(states) => states.bytes() as u128,
        }
    }

    /// The same learner under a name, such as the text of its [`LearnerSpec`](crate::LearnerSpec), which is saved with
    /// it.
    pub fn named(mut self, name: impl Into<String>) -> LinearLearner {
        self.name = name.into();
        self
    }

    /// Its name; empty if it has none.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its options.
    pub fn options(&self) -> &LinearOptions {
        &self.problem.options
    }

    /// Its knowledge.
    pub fn knowledge(&self) -> &Knowledge {
        &self.problem.knowledge
    }

    /// Features, regressions and the plan of all states; `None` if it learns over visited states.
    pub fn enumerated(&self) -> Option<&EnumeratedStates> {
        match &self.storage {
            Storage::Enumerated(states) => Some(states),
            Storage::Visited(_) => None,
        }
    }

    /// Episodes ended.
    pub fn episodes(&self) -> u64 {
        self.episode
    }

    /// Number of plans: one for each episode, or fewer with rare switching.
    pub fn plans(&self) -> u64 {
        self.plans
    }

    /// Number of visited next states.
    pub fn met(&self) -> usize {
        match &self.storage {
            Storage::Enumerated(states) => states.met(),
            Storage::Visited(states) => states.met(),
        }
    }

    /// Number of features (d).
    pub fn dimension(&self) -> usize {
        match &self.storage {
            Storage::Enumerated(states) => states.features().dimension(),
            Storage::Visited(states) => states.dimension(),
        }
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
        self.dimension() * self.problem.n_designs()
    }

    /// Whether some reward term is regressed, so that the learner needs observed rewards.
    pub fn learns_rewards(&self) -> bool {
        !self.problem.regressed.is_empty()
    }

    /// The present β at a stage (from 0).
    pub fn beta(&self, stage: usize) -> f64 {
        match &self.storage {
            Storage::Enumerated(states) => {
                let design = states.model.of_stage(stage);
                self.problem.beta(stage, &design.gram, design.met.steps)
            }
            Storage::Visited(states) => states.present_beta(&self.problem, stage),
        }
    }

    /// Values of the states that it stores at a stage (from 0), by state, in the present plan: of all states, or of
    /// visited ones.
    pub fn values(&self, stage: usize) -> Vec<(usize, f64)> {
        match &self.storage {
            Storage::Enumerated(states) => {
                let plan = &states.plan;
                (0..plan.n_states).map(|state| (state, plan.value(stage, state))).collect()
            }
            Storage::Visited(states) => states.values(&self.problem, stage),
        }
    }

    /// The greatest observed regressed reward of a step, and the greatest possible one, if the first is in the lower
    /// half of the range: larger rewards are unobserved or impossible. `None` otherwise, for known rewards, without
    /// data, and over all states, where only sums of rewards are stored.
    pub fn unseen_reward(&self) -> Option<[f64; 2]> {
        match &self.storage {
            Storage::Visited(states) if self.learns_rewards() => states.unseen_reward(&self.problem),
            Storage::Enumerated(_) | Storage::Visited(_) => None,
        }
    }

    /// Warnings about its features before learning: see [`FeatureFinding`]. Indicators of several scopes are always
    /// collinear, so there is no warning about that.
    ///
    /// # Cost
    /// O(d²) for each of at most 65,536 evenly spread states and configurations (256 random states if it learns over
    /// visited ones), and O(d³); no check beyond 512 features.
    pub fn findings(&self) -> Vec<FeatureFinding> {
        let (d, horizon) = (self.dimension(), self.problem.sizes.horizon as u64);
        let (steps, few) = (self.options().episodes.saturating_mul(horizon), d <= 512);
        match &self.storage {
            Storage::Enumerated(states) => {
                found(states.spread_features().filter(|_| few && !self.indicators), d, steps)
            }
            Storage::Visited(states) => {
                let sampled = if few { states.sampled_features(self.knowledge()).ok() } else { None };
                found(sampled.unwrap_or_default().chunks_exact(d), d, steps)
            }
        }
    }

    /// The values of a state's configurations and the decision there, in a plan computed now for an episode:
    /// optimistic or sampled, or by posterior means.
    ///
    /// # Cost
    /// A plan.
    pub(super) fn looked(
        &self,
        episode: u64,
        place: (usize, usize),
        optimistic: bool,
    ) -> Result<Lookahead, LinearError> {
        let (mut problem, mut mechanisms) = (self.problem.clone(), self.mechanisms.clone());
        let rule = match optimistic {
            true => super::model::kernel_rule(&problem.options, episode),
            false => {
                problem.options.beta_scale = 0.0;
                MechanismRule::Frequencies
            }
        };
        match self.storage.clone() {
            Storage::Enumerated(states) => Ok(states.looked(&problem, &mut mechanisms, episode, rule, place)),
            Storage::Visited(states) => states.looked(&problem, mechanisms.as_ref(), episode, rule, place),
        }
    }
}

/// Whether the stage and the state exist.
pub(super) fn check_place(knowledge: &Knowledge, stage: usize, state: usize) -> Result<(), LinearError> {
    if stage >= knowledge.horizon() {
        return Err(LinearError::NoStage { stage, last: knowledge.horizon() - 1 });
    }
    if state >= knowledge.n_states() {
        return Err(LinearError::NoState { state, last: knowledge.n_states() - 1 });
    }
    Ok(())
}
