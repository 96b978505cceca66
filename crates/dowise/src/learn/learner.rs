//! The learner itself: what it was told, what it has seen, and its present plan.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::Knowledge;
use super::actions::ActionList;
use super::agent::{Agent, Step};
use super::choice::Choice;
use super::counts::Counts;
use super::error::{LearnError, LearnResult, MOST_ACTIONS, MOST_CELLS, check};
use super::guard::Guard;
use super::layout::Layout;
use super::mechanisms::{self, Mechanisms};
use super::model::{Model, Rule};
use super::options::{Cap, Causes, Estimate, Options, Schedule, Width};
use super::posterior::Contenders;
use super::rewards::{self, Rewards};
use super::sets::Confidence;
use super::width::{Sizes, Widths};
use crate::kernel::{CauseSpace, Kernel, mix};
use crate::plan::{Buffers, Chooser, Plan, TIE_TOLERANCE, Ties, backward_induction, rewards_by_cause};
use crate::world::{Action, VarId};

/// A learner: options, what it was told, what it has seen, and its present plan.
#[derive(Clone, Debug)]
pub struct Learner {
    pub(super) options: Options,
    pub(super) knowledge: Knowledge,
    pub(super) key_causes: CauseSpace,
    pub(super) layout: Layout,
    pub(super) choice: Choice,
    pub(super) mechanisms: Option<Mechanisms>,
    pub(super) rewards: Rewards,
    /// `[block][factor]`
    pub(super) counts: Vec<Vec<Counts>>,
    pub(super) model: Model,
    pub(super) plan: Plan,
    pub(super) buffers: Buffers,
    pub(super) tolerance: f64,
    /// Episodes finished.
    pub(super) episode: u64,
    /// Whether counts have moved enough since the last plan.
    pub(super) due: bool,
    /// For real-time dynamic programming: whether `plan.policy_hs` is this episode's.
    pub(super) policy_ready: bool,
    /// Whether this episode's policy was decided by the guard.
    pub(super) guarded: bool,
    /// What the plan says where this episode explores instead, to be put back when it ends.
    pub(super) planned: Vec<(usize, Action)>,
    pub(super) guard: Option<Box<Guard>>,
}

/// Bytes up to which nearly best settings are remembered from plan to plan: what a core's caches hold.
const MOST_MEMORY: usize = 16 << 20;

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
        let caps: Vec<f64> = (0..horizon)
            .map(|stage| match options.cap {
                Cap::Literal => horizon as f64,
                Cap::Horizon => hi + (horizon as f64 - 1.0) * (hi - cost[0]),
                Cap::Stage => hi + (horizon - 1 - stage) as f64 * (hi - cost[0]),
            })
            .collect();
        // Real-time dynamic programming never lets a value rise by itself.
        let monotone = options.monotone && options.schedule != Schedule::Visited;
        let tolerance = TIE_TOLERANCE * horizon as f64 * range.max(f64::MIN_POSITIVE);
        let mut reward_sc = vec![0.0; layout.n_states() * layout.n_causes];
        rewards.read(&layout.state_space, rewards::Reading::<ChaCha8Rng>::Mean, &mut reward_sc);
        let contenders = match (&rule, &choice) {
            // Not where a plan is made of single looks, nor where the cap may be less than what a row is worth.
            (Rule::Posterior { prior }, Choice::Actions(list))
                if layout.flat
                    && rewards.is_known()
                    && Contenders::pays(layout.n_states(), layout.n_causes)
                    && options.schedule != Schedule::Visited
                    && !literal =>
            {
                let net = list.net(&reward_sc);
                // Wider than ties, by more than what rounding may add where rewards are large and differ little.
                let largest = caps.iter().fold(0.0, |most: f64, cap| most.max(cap.abs()));
                let margin = 2.0 * tolerance + 1e-14 * largest;
                Some(Box::new(Contenders::new(layout.n_states(), &net, n_blocks, *prior, margin)))
            }
            _ => None,
        };
        let mut model = Model::new(rule, widths, &layout, n_blocks, caps, monotone, contenders);
        model.reward_sc = reward_sc;
        let counts =
            (0..n_blocks).map(|_| layout.factors.iter().map(|f| Counts::new(f.n_rows, f.n_values)).collect()).collect();
        let mut plan = Plan::new(horizon, layout.n_states());
        if options.schedule == Schedule::Visited {
            let n = layout.n_states();
            plan.value_hs.iter_mut().take(horizon * n).enumerate().for_each(|(i, v)| *v = model.caps[i / n]);
        }
        // What is learned about P(c | s, a) changes from plan to plan; then there is nothing to hold on to.
        let anchors = match &choice {
            Choice::Keys(kernel)
                if mechanisms.is_none() && (1..=MOST_MEMORY).contains(&kernel.anchor_bytes(horizon)) =>
            {
                kernel.anchors(horizon)
            }
            _ => Vec::new(),
        };
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

    pub(super) fn ties(&self) -> Ties {
        Ties::Seeded(mix(self.options.seed ^ mix(self.episode)))
    }

    pub(super) fn rng(&self) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(mix(self.options.seed ^ 0x706f_7374));
        rng.set_stream(self.episode);
        rng
    }

    /// Brings rewards, kernel and transitions up to date with what was seen.
    pub(super) fn refresh(&mut self) -> LearnResult<()> {
        let sampled = matches!(self.options.estimate, Estimate::Posterior { .. });
        if sampled {
            let seed = mix(self.options.seed ^ mix(self.episode ^ 0x726f_7773));
            self.model.sample(&self.layout, &mut self.counts, seed);
        } else {
            self.model.refresh(&self.layout, &mut self.counts);
        }
        if self.rewards.is_known() && self.mechanisms.is_none() {
            return Ok(());
        }
        let log = match &self.model_rule() {
            Rule::Sets(confidence) => confidence.log,
            _ => union_log(&self.layout, &self.rewards, &self.mechanisms, self.sizes()),
        };
        let mut rng = self.rng();
        let scale = match self.options.estimate {
            Estimate::Sets(_) => 1.0,
            Estimate::Width(_) => self.options.scale,
            _ => 0.0,
        };
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

    pub(super) fn model_rule(&self) -> &Rule {
        self.model.rule()
    }

    pub(super) fn sizes(&self) -> Sizes {
        Sizes {
            horizon: self.layout.horizon as f64,
            episodes: self.options.episodes as f64,
            delta: self.options.delta,
            range: 1.0,
        }
    }

    /// One look ahead from every state, without storing values: the policy that real-time dynamic programming follows.
    pub(super) fn policy_from_values(&mut self) {
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
    pub(super) fn follows_plan(&self) -> bool {
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
    crate::math::ln(2.0 * cells as f64 * sizes.episodes * sizes.horizon / sizes.delta)
}
