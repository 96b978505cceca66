//! Least-squares value iteration as an agent: regress, plan optimistically (or from a sample), act, and regress again.

use nalgebra::DMatrix;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::MOST_BYTES;
use super::design::REFRESH_EVERY;
use super::error::LinearError;
use super::evidence::MetStep;
use super::features::Features;
use super::model::{Columns, LinearModel, Sizes, kernel_rule, tracks_widths};
use super::options::LinearEstimate;
use super::options::{Beta, FeatureChoice, LinearOptions, Regression, Rewards, Switching};
use crate::kernel::{CauseSpace, Kernel, splitmix64};
use crate::learn::{
    ActionList, Agent, Cap, EvidenceError, KernelRule, Knowledge, MISSING, MOST_ACTIONS, Mechanisms, Observation,
    Plans, Selector, kernel_bytes,
};
use crate::memory::Held;
use crate::plan::{Buffers, Lookahead, Plan, Ties, backward_induction, rewards_by_cause, tie_tolerance};
use crate::world::{Action, Feature, FeatureMap, Onward};

/// A linear learner: options, what it was told, its regressions, and its present plan.
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
    pub(super) key_causes: CauseSpace,
    selector: Selector,
    /// Mechanisms that have to be learned; the selector is made anew from them before every plan.
    pub(super) mechanisms: Option<Mechanisms>,
    pub(super) model: LinearModel,
    /// Reward terms that are regressed.
    regressed: Vec<usize>,
    pub(super) plan: Plan,
    buffers: Buffers,
    tolerance: f64,
    /// Episodes finished.
    pub(super) episode: u64,
    /// Plans made, and the fingerprint of what the last one was made from.
    pub(super) plans: u64,
    pub(super) planned_from: u64,
    /// Whether to plan before the next episode.
    pub(super) due: bool,
    _held: Held,
}

impl LinearLearner {
    /// A learner that has seen nothing, with the features that its options choose.
    pub fn new(knowledge: &Knowledge, options: LinearOptions) -> Result<LinearLearner, LinearError> {
        let features = match feature_map(knowledge, &options) {
            None => Features::of(knowledge.world())?,
            Some(map) => Features::new(knowledge.world(), &map)?,
        };
        LinearLearner::with_features(knowledge, &features, options)
    }

    /// A learner that has seen nothing, with these features of the same world.
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
            // Here to find out whether it can be made.
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
        let told = match options.rewards {
            Rewards::Regressed => vec![0.0; n_states * n_keys],
            Rewards::Told => rewards_by_cause(knowledge.world(), kernel.causes()),
        };
        let (columns, reward) = match &list {
            None => (features.shared_rows(), told),
            Some(list) => (by_intervention(features, &kernel, list).as_slice().into(), list.average(&kernel, &told)),
        };
        let horizon = knowledge.horizon();
        let (range, clip) = clip_values(knowledge, &options);
        let sizes = Sizes::new(knowledge, &options, range, own, mechanisms.as_ref());
        let tolerance = tie_tolerance(horizon, range, knowledge.world());
        let rng = ChaCha8Rng::seed_from_u64(0);
        let columns = Columns::new(features.dimension(), columns);
        let mut model = LinearModel::new(columns, n_states, reward, clip, sizes, options, rng);
        model.onward = Onward::of(knowledge.world());
        model.ended = knowledge.world().ends().map(|ends| ends.states.clone());
        Ok(LinearLearner {
            knowledge: knowledge.clone(),
            features: features.clone(),
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

    /// Bytes that the learner takes at most, with the features that its options choose; known before anything is allocated.
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

    /// What it was told.
    pub fn knowledge(&self) -> &Knowledge {
        &self.knowledge
    }

    /// Features of every state and cause.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// Episodes finished.
    pub fn episodes(&self) -> u64 {
        self.episode
    }

    /// Plans made so far: one for each episode, or fewer with rare switching.
    pub fn plans(&self) -> u64 {
        self.plans
    }

    /// The present plan: policy of this episode, and values as the learner believes them.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Number of weights that it learns (d, or d for each stage) and of rows of mechanisms that are not known.
    pub fn cells(&self) -> usize {
        self.n_weights() + self.mechanisms.as_ref().map_or(0, |mechanisms| mechanisms.to_learn()[0])
    }

    /// Numbers that it learns: weights, and of every row of a mechanism that is not known one less than it has values, or the parameters
    /// of its form.
    pub(crate) fn numbers(&self) -> usize {
        self.n_weights() + self.mechanisms.as_ref().map_or(0, |mechanisms| mechanisms.to_learn()[1])
    }

    /// Number of weights that it learns: d, or d for each stage.
    pub fn n_weights(&self) -> usize {
        self.features.dimension() * self.model.designs.len()
    }

    /// Whether some reward term is regressed, so that what is paid must be shown to it.
    pub fn learns_rewards(&self) -> bool {
        !self.regressed.is_empty()
    }

    /// The design that an observation belongs to and how it is counted there; `None` if something of it is missing.
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

    /// A number for exactly what it has seen, whatever the order.
    fn fingerprint(&self) -> u64 {
        let designs = self.model.designs.iter().fold(0, |h, design| splitmix64(h ^ design.met.fingerprint()));
        self.mechanisms.as_ref().map_or(designs, |mechanisms| splitmix64(designs ^ mechanisms.fingerprint()))
    }

    /// Makes P(c | s, a) anew from what was seen of mechanisms, where they have to be learned.
    fn read_mechanisms(&mut self, rule: KernelRule) {
        if let Some(mechanisms) = &mut self.mechanisms {
            let kernel = mechanisms.kernel(rule);
            let kernel =
                kernel.expect("invariant: what was learned has the shape that it had when the learner was made");
            self.selector = Selector::Kernel(Box::new(kernel));
        }
    }

    /// β at a stage (from 0), as it is now.
    pub fn beta(&self, stage: usize) -> f64 {
        self.model.beta(stage)
    }

    /// What a step is regressed on: φ(s, c), or ψ(s, a) for the intervention of rank `cause`.
    pub fn regressor(&self, state: usize, cause: usize) -> &[f64] {
        let n_causes = self.model.columns.len() / self.plan.n_states;
        self.model.columns.of(state * n_causes + cause)
    }

    /// Least-squares weights of a stage for targets r + V(s'), V being any value of the next state.
    pub fn weights(&self, stage: usize, next_value: &[f64]) -> Vec<f64> {
        self.model.weights(stage, next_value).as_slice().to_vec()
    }

    /// φᵀΛ⁻¹φ of a stage, `[state][cause]` (or `[state][intervention]`, in the order of their numbers).
    ///
    /// # Cost
    /// Nothing for learners with widths that plan before each episode, which keep them; O(d²) for each column for others.
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

/// A look ahead that keeps what it saw at one stage and state.
struct Noted<'a> {
    inside: &'a mut LinearModel,
    stage: usize,
    /// Where the state's causes are.
    at: std::ops::Range<usize>,
    q: Vec<f64>,
}

impl Lookahead for Noted<'_> {
    fn look(&mut self, stage: usize, next_value: &[f64], q: &mut Vec<f64>) {
        self.inside.look(stage, next_value, q);
        if stage == self.stage {
            self.q = q[self.at.clone()].to_vec();
        }
    }

    fn ended(&self) -> Option<&[bool]> {
        self.inside.ended()
    }

    fn cap(&self, stage: usize) -> f64 {
        self.inside.cap(stage)
    }
}

impl LinearLearner {
    /// What the causes of a state are worth at a stage, and what is done there, in a plan made now for an episode; with the width or the
    /// noise (what it hopes for), or by plain averages.
    ///
    /// # Cost
    /// A plan.
    pub(crate) fn looked(&self, episode: u64, (stage, state): (usize, usize), hoped: bool) -> Looked {
        let mut now = self.clone();
        now.read_mechanisms(if hoped { kernel_rule(self.options(), episode) } else { KernelRule::Frequencies });
        if !hoped {
            now.model.options.beta_scale = 0.0;
        }
        let seed = now.model.options.seed;
        now.model.rng = ChaCha8Rng::seed_from_u64(splitmix64(seed ^ 0x6c69_6e65));
        now.model.rng.set_stream(episode);
        let ties = Ties::Seeded(splitmix64(seed ^ splitmix64(episode)));
        let n = now.model.columns.len() / now.plan.n_states;
        let LinearLearner { model, selector, tolerance, buffers, plan, .. } = &mut now;
        let mut noted = Noted { inside: model, stage, at: state * n..(state + 1) * n, q: Vec::new() };
        backward_induction(&mut noted, &*selector, *tolerance, ties, buffers, plan);
        let q = noted.q;
        Looked { q, best: now.plan.action(stage, state), selector: now.selector }
    }

    /// How many steps speak about each cause of a state at a stage: n = 1/(φᵀΛ⁻¹φ) − λ/‖φ‖², which with one-hot features is the number
    /// of visits.
    pub(crate) fn steps_behind(&self, stage: usize, state: usize) -> Vec<f64> {
        let n = self.model.columns.len() / self.plan.n_states;
        let design = &self.model.designs[self.model.design(stage)];
        let all = design.squares(self.model.columns.as_view());
        let squares = &all[state * n..(state + 1) * n];
        let of = |(cause, square): (usize, &f64)| {
            let norm: f64 = self.model.columns.of(state * n + cause).iter().map(|x| x * x).sum();
            if *square > 0.0 { (1.0 / square - self.model.options.lambda / norm).max(0.0) } else { f64::INFINITY }
        };
        squares.iter().enumerate().map(of).collect()
    }
}

/// What a learner sees from one state at a stage.
pub(crate) struct Looked {
    /// What each cause is worth.
    pub(crate) q: Vec<f64>,
    /// What is done.
    pub(crate) best: Action,
    /// What interventions are believed to set off.
    pub(crate) selector: Selector,
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

    /// A step of which a key variable, the next state or a regressed reward is missing makes no target and is left out.
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

/// Positions of the reward terms that are regressed, and the least and greatest of their sum.
pub(super) fn regressed_terms(knowledge: &Knowledge, options: &LinearOptions) -> (Vec<usize>, [f64; 2]) {
    let all = 0..knowledge.rewards().len();
    match options.rewards {
        Rewards::Regressed => (all.collect(), knowledge.reward_range()),
        Rewards::Told => {
            let unknown: Vec<usize> = all.filter(|&i| knowledge.rewards()[i].table.is_none()).collect();
            let ranges = unknown.iter().map(|&i| knowledge.rewards()[i].range);
            let range = ranges.fold([0.0, 0.0], |[lo, hi], [a, b]| [lo + a, hi + b]);
            (unknown, range)
        }
    }
}

/// Greatest less least reward of a step as widths count it, and the least and greatest value of every stage.
pub(super) fn clip_values(knowledge: &Knowledge, options: &LinearOptions) -> (f64, Vec<[f64; 2]>) {
    let [lo, hi] = knowledge.reward_range();
    let [least, most] = knowledge.world().step_range();
    let range = if options.cap == Cap::Literal { 1.0 } else { most - least };
    let horizon = knowledge.horizon();
    let clip = (0..horizon).map(|stage| {
        let ahead = match options.cap {
            Cap::Literal => return [0.0, horizon as f64],
            Cap::Horizon => horizon - 1,
            Cap::Stage => horizon - 1 - stage,
        } as f64;
        [lo + ahead * least, hi + ahead * most]
    });
    (range, clip.collect())
}

/// The features that the options choose; `None` for those of the world.
pub(super) fn feature_map(knowledge: &Knowledge, options: &LinearOptions) -> Option<FeatureMap> {
    match options.features {
        FeatureChoice::World => None,
        FeatureChoice::OneHot => Some(FeatureMap::one_hot(knowledge.world())),
        FeatureChoice::Factors => Some(FeatureMap::factors(knowledge.world())),
        FeatureChoice::Polynomial { degree } => Some(FeatureMap::polynomial(knowledge.world(), degree)),
        FeatureChoice::Radial { centres, width } => Some(FeatureMap::radial(knowledge.world(), centres, width)),
    }
}

/// ψ(s, a) = Σ_z P(z | s, a) φ(s, z), one column for each state and intervention.
fn by_intervention(features: &Features, kernel: &Kernel, list: &ActionList) -> DMatrix<f64> {
    let (n_states, n_causes) = (kernel.n_states(), kernel.n_causes());
    let phi = features.columns();
    let mut psi = DMatrix::zeros(features.dimension(), n_states * list.actions.len());
    let mut prob = vec![0.0; n_causes];
    let mut column = 0;
    for s in 0..n_states {
        for &action in &list.actions {
            kernel.distribution(s, action, &mut prob);
            for (c, &p) in prob.iter().enumerate() {
                psi.column_mut(column).axpy(p, &phi.column(s * n_causes + c), 1.0);
            }
            column += 1;
        }
    }
    psi
}

/// Bytes that a linear learner takes at most: features, columns, designs, arrays over states and causes, one plan, its kernel.
fn bytes(knowledge: &Knowledge, d: u128, options: &LinearOptions) -> u128 {
    let (world, states) = (knowledge.world(), knowledge.n_states() as u128);
    let keys = states.saturating_mul(CauseSpace::new(world).len() as u128);
    let count = u128::from(knowledge.interventions().count());
    let (all, list) = match options.regression {
        Regression::Causes => (keys, 0),
        // The list of interventions, with a flag for each state where some are forbidden, and ψ beside φ.
        Regression::Interventions => (states.saturating_mul(count), count.saturating_mul(16 + states)),
    };
    let horizon = knowledge.horizon() as u128;
    let designs = if options.stage_dependent { horizon } else { 1 };
    // Λ, its factor and a copy while it is refreshed, M; three more while a posterior is computed.
    let residuals = options.beta == Beta::Residuals;
    let square = d.saturating_mul(d).saturating_mul(if residuals { 6 } else { 3 });
    let widths = match options.estimate {
        LinearEstimate::Sampled => 0,
        // As of the last plan and of this one, or as they are, as computed, and products with all features.
        LinearEstimate::Width if tracks_widths(options) => 3,
        LinearEstimate::Width => 2,
    };
    let design = square.saturating_add(d.saturating_mul(states)).saturating_add(all.saturating_mul(widths));
    // Steps since the last refresh, in a list that grows by doubling.
    let recent = 2 * d.max(REFRESH_EVERY as u128) * size_of::<MetStep>() as u128;
    // Steps met, by pair, and by pair and next state: not more than were played. Maps are half empty.
    let steps = u128::from(options.episodes).saturating_mul(horizon);
    let (columns, pairs) = (steps.min(all), steps.min(all.saturating_mul(states)));
    // Residuals have them in lists, which grow by doubling.
    let [column, pair] = if residuals { [80 + 48, 40 + 32] } else { [80, 40] };
    let met = columns.saturating_mul(column).saturating_add(pairs.saturating_mul(pair));
    // Features as given (twice while they are made, unless they are the world's table), and ψ where it is regressed on, twice while it is made.
    let shared =
        matches!((&options.features, world.features()), (FeatureChoice::World, Some(FeatureMap::Table { .. })));
    let own = if options.regression == Regression::Causes { 0 } else { all.saturating_mul(2) };
    let features = keys.saturating_mul(if shared { 1 } else { 2 }).saturating_add(own).saturating_mul(d);
    // Rewards for causes and for columns, means, q, losses; values, policy and what is followed.
    let arrays = keys.saturating_add(all.saturating_mul(4)).saturating_add((horizon + 1).saturating_mul(states) * 4);
    let numbers = features.saturating_add(designs.saturating_mul(design)).saturating_add(arrays);
    let kernel = match options.regression {
        Regression::Causes => kernel_bytes(world, options.estimate == LinearEstimate::Width),
        Regression::Interventions => Kernel::bytes(world),
    };
    numbers
        .saturating_mul(8)
        .saturating_add(designs.saturating_mul(recent))
        .saturating_add(met)
        .saturating_add(list)
        .saturating_add(kernel)
}

/// Holds the memory of a learner, if there is enough.
fn hold(knowledge: &Knowledge, d: usize, cells: usize, options: &LinearOptions) -> Result<Held, LinearError> {
    let bytes = bytes(knowledge, d as u128, options);
    let designs = if options.stage_dependent { knowledge.horizon() } else { 1 };
    let too_large = |limit| LinearError::TooLarge { dimension: d, designs, cells, bytes, limit };
    if bytes > MOST_BYTES {
        return Err(too_large(MOST_BYTES));
    }
    Held::ask(bytes).map_err(|left| too_large(u128::from(left)))
}

/// The least λ: below it Λ⁻¹ of what was never seen has no digits left.
const LEAST_LAMBDA: f64 = 1e-12;

pub(super) fn check(options: &LinearOptions) -> Result<(), LinearError> {
    let bad = |name, value, expected| Err(LinearError::Option { name, value, expected });
    let LinearOptions { lambda, beta_scale, delta, episodes, beta, .. } = *options;
    if lambda == 0.0 {
        return Err(LinearError::Singular);
    }
    if !(lambda.is_finite() && lambda >= LEAST_LAMBDA) {
        return bad("lambda", lambda, "lambda is a number from 1e-12 on");
    }
    if !(beta_scale.is_finite() && beta_scale >= 0.0) {
        return bad("beta-scale", beta_scale, "the scale of a width is a number from 0 on");
    }
    if !(delta > 0.0 && delta < 1.0) {
        return bad("delta", delta, "delta is a probability between 0 and 1, neither included");
    }
    match beta {
        Beta::Fixed(beta) if !(beta.is_finite() && beta >= 0.0) => bad("beta", beta, "beta is a number from 0 on"),
        Beta::Residuals if options.estimate != LinearEstimate::Sampled => Err(LinearError::ResidualWidth),
        Beta::Published | Beta::SelfNormalised | Beta::Covered | Beta::Deviation | Beta::Residuals | Beta::Fixed(_)
            if episodes == 0 =>
        {
            bad("episodes", 0.0, "at least one episode")
        }
        Beta::Published | Beta::SelfNormalised | Beta::Covered | Beta::Deviation | Beta::Residuals | Beta::Fixed(_) => {
            Ok(())
        }
    }
}
