//! The one learner: count, plan optimistically (or from a sample), act, and count again. Published names are presets.

mod actions;
mod counts;
mod explain;
mod explore;
mod guard;
mod knowledge;
mod layout;
mod mechanisms;
mod model;
mod options;
mod posterior;
mod preset;
mod rewards;
mod save;
mod sets;
mod sparse;
mod spec;
mod width;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

pub(crate) use self::actions::ActionList;
use self::counts::Counts;
use self::guard::Guard;
use self::layout::Layout;
use self::mechanisms::Mechanisms;
use self::model::{Model, Rule};
use self::rewards::Rewards;
use self::sets::Confidence;
use self::width::{Sizes, Widths};
use crate::kernel::{Anchor, CauseSpace, Kernel, KernelError, Scratch, Tie, mix};
use crate::linear::LinearError;
use crate::plan::{Buffers, Chooser, Plan, TIE_TOLERANCE, Ties, backward_induction, rewards_by_cause};
use crate::world::{Action, VarId};

pub use explain::{Explanation, Preferred};
pub use knowledge::Knowledge;
pub use options::{Cap, Causes, Estimate, Options, Schedule, Sets, States, Width};
pub use preset::{Preset, UnknownPreset};
pub use save::RestoreError;
pub use spec::{LearnerSpec, SpecError};

/// Counters that a learner may have; above that it refuses (4 GiB).
pub(crate) const MOST_CELLS: usize = 1 << 30;

/// Interventions that a learner without key variables may list.
pub(crate) const MOST_ACTIONS: u64 = 1 << 24;

/// Why a learner cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LearnError {
    /// P(c | s, do(a)) cannot be computed from what is known.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// An option outside its range.
    #[error("{name} = {value}: {expected}")]
    Option {
        /// The option.
        name: &'static str,
        /// What was given.
        value: f64,
        /// What is allowed.
        expected: &'static str,
    },
    /// A width that does not exist for factored states.
    #[error(
        "the width `{width}` is defined for flat states only; use hoeffding-v, weissman or sets with factored states"
    )]
    FlatOnly {
        /// Its name.
        width: &'static str,
    },
    /// Posterior samples under a rule that only ever lowers values.
    #[error(
        "values that never rise rest on optimism, and samples are not optimistic; use a width or sets, or another schedule without `monotone`"
    )]
    NotOptimistic,
    /// Too many counters.
    #[error(
        "{what} would have {} counters, the limit is {MOST_CELLS}; use a learner that knows more structure (factors, key variables)",
        .cells.map_or("more than 2^64".to_owned(), |n| n.to_string())
    )]
    TooManyCells {
        /// What is counted.
        what: String,
        /// How many; `None` if that number overflows.
        cells: Option<u128>,
    },
    /// Too many interventions to list.
    #[error(
        "there are {count} interventions and this learner counts each of them (limit {MOST_ACTIONS}); use one that knows the key variables"
    )]
    TooManyActions {
        /// How many.
        count: u64,
    },
    /// A guard cannot watch this learner.
    #[error(
        "a guard compares key variables with interventions: it needs a learner with key variables and counts shared by all stages"
    )]
    NothingToGuard,
    /// A learner that regresses on features cannot be made.
    #[error(transparent)]
    Linear(#[from] LinearError),
    /// Options for a learner that regresses on features.
    #[error("a learner that counts cannot regress on features; make it by name, or as a LinearLearner")]
    NotLinear,
    /// A hidden variable acts on a lever left alone and on a key variable.
    #[error(
        "the lever {lever} is moved by something unobserved when left alone, so what is seen then says nothing about setting it; \
         give the mechanisms, or allow only interventions that set it"
    )]
    Confounded {
        /// The lever.
        lever: String,
    },
}

pub(crate) type LearnResult<T> = Result<T, LearnError>;

/// One step as a learner sees it.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// Stage, from 0.
    pub stage: usize,
    /// State before.
    pub state: usize,
    /// What was done.
    pub action: Action,
    /// Values of all variables by [`VarId`]: levers as they were, key variables as observed; others are ignored.
    pub values: &'a [u16],
    /// What each reward term paid.
    pub rewards: &'a [f64],
    /// State after.
    pub next_state: usize,
}

/// Who decides: one of ours, or anything else with these words.
pub trait Agent {
    /// Prepares an episode; decisions are fixed from here on until the episode ends.
    fn begin_episode(&mut self);

    /// What to do at a stage (from 0) in a state.
    fn act(&mut self, stage: usize, state: usize) -> Action;

    /// Takes in what happened.
    fn observe(&mut self, step: &Step<'_>);

    /// Ends the episode.
    fn end_episode(&mut self);

    /// The whole policy of this episode, `[stage][state]`, so that it can be judged exactly.
    fn policy(&mut self) -> &[Action];
}

/// Picks interventions from what causes are worth.
#[derive(Clone, Debug)]
pub(crate) enum Choice {
    Actions(ActionList),
    Keys(Box<Kernel>),
}

impl Chooser for Choice {
    fn n_causes(&self) -> usize {
        match self {
            Choice::Actions(list) => list.n_causes(),
            Choice::Keys(kernel) => kernel.n_causes(),
        }
    }

    fn best(&self, state: usize, loss: &[f64], tolerance: f64, tie: Tie, scratch: &mut Scratch) -> (f64, Action) {
        match self {
            Choice::Actions(list) => list.best(state, loss, tolerance, tie, scratch),
            Choice::Keys(kernel) => kernel.best(state, loss, tolerance, tie, scratch),
        }
    }

    fn best_anchored(
        &self,
        state: usize,
        loss: &[f64],
        tolerance: f64,
        tie: Tie,
        anchor: &mut Anchor,
        scratch: &mut Scratch,
    ) -> (f64, Action) {
        match self {
            Choice::Actions(list) => list.best(state, loss, tolerance, tie, scratch),
            Choice::Keys(kernel) => kernel.best_anchored(state, loss, tolerance, tie, anchor, scratch),
        }
    }
}

/// A learner: options, what it was told, what it has seen, and its present plan.
#[derive(Clone, Debug)]
pub struct Learner {
    options: Options,
    knowledge: Knowledge,
    key_causes: CauseSpace,
    layout: Layout,
    choice: Choice,
    mechanisms: Option<Mechanisms>,
    rewards: Rewards,
    /// `[block][factor]`
    counts: Vec<Vec<Counts>>,
    model: Model,
    plan: Plan,
    buffers: Buffers,
    tolerance: f64,
    /// Episodes finished.
    episode: u64,
    /// Whether counts have moved enough since the last plan.
    due: bool,
    /// For real-time dynamic programming: whether `plan.policy_hs` is this episode's.
    policy_ready: bool,
    /// Whether this episode's policy was decided by the guard.
    guarded: bool,
    /// What the plan says where this episode explores instead, to be put back when it ends.
    planned: Vec<(usize, Action)>,
    guard: Option<Box<Guard>>,
}

impl Learner {
    /// A learner that has seen nothing.
    pub fn new(knowledge: &Knowledge, options: Options) -> LearnResult<Learner> {
        check(&options)?;
        let key_causes = CauseSpace::new(knowledge);
        let by_action = options.causes == Causes::Actions;
        let mechanisms = if by_action { None } else { Mechanisms::new(knowledge)? };
        let list = if by_action {
            let count = knowledge.interventions().count();
            Some(ActionList::new(knowledge, MOST_ACTIONS).ok_or(LearnError::TooManyActions { count })?)
        } else {
            None
        };
        let n_actions = list.as_ref().map_or(0, |l| l.actions.len());
        let layout = Layout::new(knowledge, &key_causes, options.states, options.causes, n_actions);
        let n_blocks = if options.stage_dependent { knowledge.horizon() } else { 1 };
        let cells =
            layout.factors.iter().map(|f| f.n_rows as u128 * f.n_values as u128).sum::<u128>() * n_blocks as u128;
        if cells > MOST_CELLS as u128 {
            return Err(LearnError::TooManyCells { what: "what this learner counts".to_owned(), cells: Some(cells) });
        }
        let known_sc = rewards_by_cause(knowledge, &key_causes);
        let (choice, rewards) = match list {
            Some(list) => {
                let n = list.actions.len();
                // R(s, a) is known only if both what an intervention sets off and what that pays are.
                let kernel = if knowledge.knows_rewards() { Kernel::new(knowledge).ok() } else { None };
                let rewards = match kernel {
                    Some(kernel) => {
                        Rewards::new(knowledge, &key_causes, options.causes, true, n, list.average(&kernel, &known_sc))
                    }
                    None => {
                        let told = knowledge.clone().without_rewards();
                        Rewards::new(&told, &key_causes, options.causes, true, n, vec![0.0; knowledge.n_states() * n])
                    }
                };
                (Choice::Actions(list), rewards)
            }
            None => {
                let kernel = match &mechanisms {
                    None => Kernel::new(knowledge)?,
                    Some(m) => m.kernel::<ChaCha8Rng>(mechanisms::Reading::Mean)?,
                };
                let rewards =
                    Rewards::new(knowledge, &key_causes, options.causes, layout.flat, layout.n_causes, known_sc);
                (Choice::Keys(Box::new(kernel)), rewards)
            }
        };
        let [lo, hi] = knowledge.reward_range();
        let cost = knowledge.interventions().cost_range();
        let literal = options.cap == Cap::Literal;
        let range = if literal { 1.0 } else { (hi - cost[0]) - (lo - cost[1]) };
        let horizon = knowledge.horizon();
        let sizes = Sizes { horizon: horizon as f64, episodes: options.episodes as f64, delta: options.delta, range };
        let (rule, widths) = match options.estimate {
            Estimate::Width(width) => {
                (Rule::Mean, Some(Widths::new(width, options.causes, &layout, sizes, options.scale)))
            }
            Estimate::Sets(kind) => {
                (Rule::Sets(Confidence { kind, log: union_log(&layout, &rewards, &mechanisms, sizes) }), None)
            }
            Estimate::Posterior { prior } => (Rule::Posterior { prior }, None),
            // A width of nothing: infinite where nothing was seen, zero elsewhere.
            _ => (Rule::Mean, Some(Widths::new(Width::Quasi, options.causes, &layout, sizes, 0.0))),
        };
        let caps = (0..horizon)
            .map(|stage| match options.cap {
                Cap::Literal => horizon as f64,
                Cap::Horizon => hi + (horizon as f64 - 1.0) * (hi - cost[0]),
                Cap::Stage => hi + (horizon - 1 - stage) as f64 * (hi - cost[0]),
            })
            .collect();
        // Real-time dynamic programming never lets a value rise by itself.
        let monotone = options.monotone && options.schedule != Schedule::Visited;
        let mut model = Model::new(rule, widths, &layout, n_blocks, caps, monotone);
        rewards.read(&layout.state_space, rewards::Reading::<ChaCha8Rng>::Mean, &mut model.reward_sc);
        let counts =
            (0..n_blocks).map(|_| layout.factors.iter().map(|f| Counts::new(f.n_rows, f.n_values)).collect()).collect();
        let mut plan = Plan::new(horizon, layout.n_states());
        if options.schedule == Schedule::Visited {
            let n = layout.n_states();
            plan.value_hs.iter_mut().take(horizon * n).enumerate().for_each(|(i, v)| *v = model.caps[i / n]);
        }
        let tolerance = TIE_TOLERANCE * horizon as f64 * range.max(f64::MIN_POSITIVE);
        // What is learned about P(c | s, a) changes from plan to plan; then there is nothing to hold on to.
        let remembers = !by_action && mechanisms.is_none();
        let anchors = if remembers { vec![Anchor::default(); horizon * layout.n_states()] } else { Vec::new() };
        let mut learner = Learner {
            knowledge: knowledge.clone(),
            key_causes,
            layout,
            choice,
            mechanisms,
            rewards,
            counts,
            model,
            plan,
            buffers: Buffers { anchors, ..Buffers::default() },
            tolerance,
            episode: 0,
            due: true,
            policy_ready: false,
            guarded: false,
            planned: Vec::new(),
            guard: None,
            options,
        };
        if learner.options.guard {
            if by_action || learner.options.stage_dependent {
                return Err(LearnError::NothingToGuard);
            }
            learner.guard = Some(Box::new(Guard::new(&learner)?));
        }
        Ok(learner)
    }

    /// Its options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// What it was told.
    pub fn knowledge(&self) -> &Knowledge {
        &self.knowledge
    }

    /// Episodes finished.
    pub fn episodes(&self) -> u64 {
        self.episode
    }

    /// Number of cells it has to learn: rows of transitions, of unknown mechanisms and of unknown rewards.
    pub fn cells(&self) -> usize {
        self.layout.cells() + self.mechanisms.as_ref().map_or(0, |m| m.cells()) + self.rewards.cells()
    }

    /// The present plan: policy of this episode, and values as the learner believes them.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// With a guard: the episode after which the causal model was given up, if it was.
    pub fn gave_up_causes(&self) -> Option<u64> {
        self.guard.as_ref().and_then(|g| g.ledger.tripped)
    }

    fn ties(&self) -> Ties {
        Ties::Seeded(mix(self.options.seed ^ mix(self.episode)))
    }

    fn rng(&self) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(mix(self.options.seed ^ 0x706f_7374));
        rng.set_stream(self.episode);
        rng
    }

    /// Brings rewards, kernel and transitions up to date with what was seen.
    fn refresh(&mut self) -> LearnResult<()> {
        let log = match &self.model_rule() {
            Rule::Sets(confidence) => confidence.log,
            _ => union_log(&self.layout, &self.rewards, &self.mechanisms, self.sizes()),
        };
        let mut rng = self.rng();
        let sampled = matches!(self.options.estimate, Estimate::Posterior { .. });
        let scale = match self.options.estimate {
            Estimate::Sets(_) => 1.0,
            Estimate::Width(_) => self.options.scale,
            _ => 0.0,
        };
        if sampled {
            self.model.sample(&self.layout, &self.counts, &mut rng);
        } else {
            self.model.refresh(&self.layout, &mut self.counts);
        }
        if !self.rewards.is_known() {
            let reading =
                if sampled { rewards::Reading::Sampled(&mut rng) } else { rewards::Reading::Optimistic { log, scale } };
            self.rewards.read(&self.layout.state_space, reading, &mut self.model.reward_sc);
            self.model.rewards_changed();
        }
        if let Some(mechanisms) = &self.mechanisms {
            let reading = match self.options.estimate {
                Estimate::Posterior { prior } => mechanisms::Reading::Sampled { prior, rng: &mut rng },
                _ => mechanisms::Reading::Optimistic { log, scale },
            };
            self.choice = Choice::Keys(Box::new(mechanisms.kernel(reading)?));
        }
        Ok(())
    }

    fn model_rule(&self) -> &Rule {
        self.model.rule()
    }

    fn sizes(&self) -> Sizes {
        Sizes {
            horizon: self.layout.horizon as f64,
            episodes: self.options.episodes as f64,
            delta: self.options.delta,
            range: 1.0,
        }
    }

    /// One look ahead from every state, without storing values: the policy that real-time dynamic programming follows.
    fn policy_from_values(&mut self) {
        let n = self.layout.n_states();
        let n_causes = self.layout.n_causes;
        let ties = self.ties();
        for stage in 0..self.plan.horizon {
            let next = &self.plan.value_hs[(stage + 1) * n..(stage + 2) * n];
            crate::plan::Lookahead::look(&mut self.model, stage, next, &mut self.buffers.q_sc);
            let cap = self.model.caps[stage];
            for (s, q) in self.buffers.q_sc.chunks_exact_mut(n_causes).enumerate() {
                q.iter_mut().for_each(|q| *q = cap - *q);
                let best = self.choice.best(s, q, self.tolerance, ties.at(stage, s), &mut self.buffers.scratch);
                self.plan.policy_hs[stage * n + s] = best.1;
            }
        }
        self.policy_ready = true;
        self.explore(self.exploring());
    }

    /// Whether this episode's policy stands in the plan, and is not worked out state by state.
    fn follows_plan(&self) -> bool {
        self.options.schedule != Schedule::Visited || self.guarded || self.options.estimate == Estimate::Uniform
    }
}

impl Agent for Learner {
    fn begin_episode(&mut self) {
        self.stop_exploring();
        self.policy_ready = false;
        self.guarded = false;
        if let Some(guard) = &mut self.guard {
            if guard.ledger.tripped.is_some() {
                self.plan.policy_hs.copy_from_slice(guard.begin_episode());
                self.guarded = true;
                return;
            }
            if guard.explores(self.options.seed, self.episode) {
                self.explore(1.0);
                self.guarded = true;
                return;
            }
        }
        if self.options.estimate == Estimate::Uniform {
            self.explore(1.0);
            return;
        }
        let replan = match self.options.schedule {
            Schedule::Episode | Schedule::Visited => true,
            Schedule::Doubling => self.due,
        };
        if replan {
            self.refresh().expect("what was learned has the same shape as when the learner was made");
            self.due = false;
            if self.options.schedule != Schedule::Visited {
                let ties = self.ties();
                backward_induction(
                    &mut self.model,
                    &self.choice,
                    self.tolerance,
                    ties,
                    &mut self.buffers,
                    &mut self.plan,
                );
            }
        }
        if self.options.schedule != Schedule::Visited && self.exploring() > 0.0 {
            self.explore(self.exploring());
        }
    }

    fn act(&mut self, stage: usize, state: usize) -> Action {
        if self.follows_plan() {
            return self.plan.action(stage, state);
        }
        let n = self.layout.n_states();
        let next = &self.plan.value_hs[(stage + 1) * n..(stage + 2) * n];
        let q = &mut self.buffers.q_sc;
        self.model.look_at(&self.layout, stage, state, next, q);
        let cap = self.model.caps[stage];
        q.iter_mut().for_each(|q| *q = cap - *q);
        let ties = Ties::Seeded(mix(self.options.seed ^ mix(self.episode)));
        let (loss, action) =
            self.choice.best(state, q, self.tolerance, ties.at(stage, state), &mut self.buffers.scratch);
        let value = &mut self.plan.value_hs[stage * n + state];
        *value = value.min(cap - loss);
        self.explored(stage, state, self.exploring()).unwrap_or(action)
    }

    fn observe(&mut self, step: &Step<'_>) {
        let cause = match &self.choice {
            Choice::Actions(list) => list.rank(step.action),
            Choice::Keys(_) => self.key_causes.of_values(step.values),
        };
        let block = if self.options.stage_dependent { step.stage } else { 0 };
        for (factor, counts) in self.layout.factors.iter().zip(&mut self.counts[block]) {
            let row = factor.row(factor.state_row(&self.layout.state_space, step.state), cause, self.layout.n_causes);
            counts.add(row, factor.value(&self.layout.state_space, step.next_state));
            // Seen 1, 2, 4, 8, … times.
            self.due |= counts.n_r[row].is_power_of_two();
        }
        if self.model.needs_visits() {
            self.model.visits_hs[step.stage * self.layout.n_states() + step.state] += 1;
        }
        self.due |= self.rewards.observe(&self.layout.state_space, step.state, cause, step.rewards);
        if let Some(guard) = &mut self.guard {
            guard.observe(cause, self.layout.n_causes, step);
        }
        if let Some(mechanisms) = &mut self.mechanisms {
            let all = self.knowledge.interventions();
            let levers = self.knowledge.levers();
            let was_set =
                |id: VarId| levers.iter().position(|l| *l == id).is_some_and(|l| all.lever(step.action, l).is_some());
            self.due |= mechanisms.observe(was_set, step.values);
        }
    }

    fn end_episode(&mut self) {
        if let Some(mut guard) = self.guard.take() {
            guard.end_episode(self);
            self.guard = Some(guard);
        }
        self.episode += 1;
        self.stop_exploring();
    }

    fn policy(&mut self) -> &[Action] {
        if !self.follows_plan() && !self.policy_ready {
            self.policy_from_values();
        }
        &self.plan.policy_hs
    }
}

/// ln(2 · cells · T / δ): the logarithm for confidence in every row at every count.
fn union_log(layout: &Layout, rewards: &Rewards, mechanisms: &Option<Mechanisms>, sizes: Sizes) -> f64 {
    let cells = layout.cells() + rewards.cells() + mechanisms.as_ref().map_or(0, |m| m.cells());
    (2.0 * cells as f64 * sizes.episodes * sizes.horizon / sizes.delta).ln()
}

fn check(options: &Options) -> LearnResult<()> {
    let bad = |name, value, expected| Err(LearnError::Option { name, value, expected });
    if !(options.scale.is_finite() && options.scale >= 0.0) {
        return bad("scale", options.scale, "a width's scale is a number from 0 on");
    }
    if !(options.delta > 0.0 && options.delta < 1.0) {
        return bad("delta", options.delta, "delta is a probability between 0 and 1, neither included");
    }
    if options.episodes == 0 {
        return bad("episodes", 0.0, "at least one episode");
    }
    match options.estimate {
        Estimate::Linear => Err(LearnError::NotLinear),
        Estimate::Posterior { prior } if !(prior.is_finite() && prior > 0.0) => {
            bad("prior", prior, "a prior weight is a number above 0")
        }
        // The least of many samples is far too low, and nothing would ever correct it.
        Estimate::Posterior { .. } if options.monotone || options.schedule == Schedule::Visited => {
            Err(LearnError::NotOptimistic)
        }
        Estimate::EpsilonGreedy { epsilon } if !(0.0..=1.0).contains(&epsilon) => {
            bad("epsilon", epsilon, "epsilon is a probability between 0 and 1")
        }
        Estimate::Width(Width::Bernstein) if options.states == States::Factored => {
            Err(LearnError::FlatOnly { width: "bernstein" })
        }
        Estimate::Width(Width::AzarBernstein) if options.states == States::Factored => {
            Err(LearnError::FlatOnly { width: "azar-bernstein" })
        }
        _ => Ok(()),
    }
}
