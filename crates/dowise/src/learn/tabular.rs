//! Tabular learner: evidence, an estimator, and a replanning trigger.

use std::sync::Arc;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::belief::{Belief, Estimator, Terms, mean_kernel};
use super::error::{LearnError, LearnResult, check};
use super::evidence::{Changed, Evidence, EvidenceError};
use super::memory::{hold, hold_belief};
use super::observation::Observation;
use super::options::{Cap, Estimate, Options, Schedule};
use super::replanning::Grown;
use super::selector::Selector;
use super::view::View;
use super::{Knowledge, Plans};
use crate::kernel::Kernel;
use crate::memory::Held;
use crate::plan::{Buffers, Chooser, Follow, Lookahead, Plan, Ties, backward_induction, tie_tolerance};
use crate::random::splitmix64;
use crate::world::Action;

/// A tabular learner without wrappers.
#[derive(Clone, Debug)]
pub(crate) struct Tabular {
    pub(crate) options: Options,
    pub(crate) evidence: Evidence,
    pub(crate) belief: Belief,
    pub(crate) selector: Selector,
    pub(crate) plan: Plan,
    buffers: Buffers,
    tolerance: f64,
    /// Number of plans, and the fingerprint of the last plan's evidence.
    pub(crate) plans: u64,
    pub(crate) planned_from: u64,
    /// Fingerprint of the evidence at the start of the latest episode with this plan: it may have grown since the
    /// plan.
    pub(crate) followed_from: u64,
    /// Whether a plan is due for learners that do not plan before each episode.
    pub(crate) doubled: bool,
    /// Visits since the last plan, for [`Schedule::Growing`].
    pub(crate) grown: Grown,
    /// Its reserved memory, including the cache of good interventions.
    _held: Held,
}

/// Most bytes of the cache of nearly best settings across plans: the size of a core's caches.
pub(super) const MOST_MEMORY: usize = 16 << 20;

/// Prior weight, in visits of a row, of posterior samples of optimistic learners: that of the samplers' presets.
const PRIOR: f64 = 2.0;

impl Tabular {
    /// A learner without data.
    pub(crate) fn new(knowledge: &Knowledge, options: Options) -> LearnResult<Tabular> {
        check(&options)?;
        let held = hold(knowledge, &options)?;
        Tabular::inside(knowledge, options, held)
    }

    fn inside(knowledge: &Knowledge, options: Options, held: Held) -> LearnResult<Tabular> {
        let view = Arc::new(View::of(knowledge, &options)?);
        Tabular::held(Evidence::of(&view), options, held)
    }

    /// A learner with given evidence.
    pub(crate) fn with(evidence: Evidence, options: Options) -> LearnResult<Tabular> {
        let held = hold(&evidence.view.knowledge, &options)?;
        Tabular::held(evidence, options, held)
    }

    /// A learner with reserved memory.
    fn held(evidence: Evidence, options: Options, held: Held) -> LearnResult<Tabular> {
        let reading = reading(&options)?;
        let view = evidence.view.clone();
        let (layout, world) = (&view.layout, view.knowledge.world());
        let (horizon, n_states) = (layout.horizon, layout.n_states());
        let terms = terms(&view, &options);
        let selector = match (&view.actions, &view.mechanisms) {
            (Some(list), _) => Selector::Listed(list.clone()),
            (None, None) => match view.decomposed.as_ref().and_then(|parts| parts.known.as_ref()) {
                None => Selector::Kernel(Box::new(Kernel::new(world)?)),
                // Rebuilt before every plan.
                Some((kernel, _)) => Selector::Kernel(Box::new((**kernel).clone())),
            },
            // Rebuilt before every plan; here to check that it can be built.
            (None, Some(rows)) => Selector::Kernel(Box::new(mean_kernel(&evidence, rows)?)),
        };
        let tolerance = tie_tolerance(horizon, terms.range, view.knowledge.world());
        let belief = Belief::new(&evidence, reading, terms);
        let mut plan = Plan::new(horizon, n_states);
        if options.schedule == Schedule::Visited {
            let caps = belief.caps().iter().flat_map(|&cap| std::iter::repeat_n(cap, n_states));
            plan.value_hs.iter_mut().zip(caps).for_each(|(v, cap)| *v = cap);
            // Terminal states have no optimistic value.
            let ended = |i: usize| world.has_ended(i % n_states);
            plan.value_hs.iter_mut().enumerate().filter(|(i, _)| ended(*i)).for_each(|(_, v)| *v = 0.0);
        }
        // If P(c | s, a) is learned, it changes from plan to plan, and no warm start applies.
        let anchors = match &selector {
            Selector::Kernel(kernel) if view.mechanisms.is_none() && view.decomposed.is_none() => {
                match kernel.anchor_bytes(horizon) {
                    1..=MOST_MEMORY => kernel.anchors(horizon),
                    _ => Vec::new(),
                }
            }
            Selector::Kernel(_) | Selector::Listed(_) | Selector::Parts(_) => Vec::new(),
        };
        let grown = match options.schedule {
            Schedule::Growing => Grown::new(&evidence),
            Schedule::Episode | Schedule::Doubling | Schedule::Visited => Grown::unused(),
        };
        let buffers = Buffers { anchors, ..Buffers::default() };
        Ok(Tabular {
            options,
            evidence,
            belief,
            selector,
            plan,
            buffers,
            tolerance,
            plans: 0,
            planned_from: 0,
            followed_from: 0,
            doubled: true,
            grown,
            _held: held,
        })
    }

    pub(crate) fn view(&self) -> &View {
        &self.evidence.view
    }

    /// Tolerance within which two interventions count as equally good.
    pub(crate) fn tolerance(&self) -> f64 {
        self.tolerance
    }

    fn ties(&self, episode: u64) -> Ties {
        Ties::Seeded(splitmix64(self.options.seed ^ splitmix64(episode)))
    }

    /// Makes a plan from all data due for the next episode, whatever the replanning trigger.
    pub(crate) fn make_due(&mut self) {
        self.doubled = true;
        self.followed_from = !self.evidence.fingerprint();
    }

    /// Updates belief and kernel from the evidence; samples are those of an episode.
    pub(crate) fn refresh(&mut self, episode: u64) -> LearnResult<()> {
        let seed = splitmix64(self.options.seed ^ splitmix64(episode ^ 0x726f_7773));
        let options_seed = self.options.seed;
        let rng = || {
            let mut rng = ChaCha8Rng::seed_from_u64(splitmix64(options_seed ^ 0x706f_7374));
            rng.set_stream(episode);
            rng
        };
        // Only unknown rewards and mechanisms need the generator, which is slow to create.
        let view = &self.evidence.view;
        let made_anew = view.mechanisms.is_some() || view.decomposed.is_some();
        let mut rng = (made_anew || !view.payments.is_known()).then(rng);
        self.belief.update(&self.evidence, seed, rng.as_mut());
        if let Some(rng) = &mut rng
            && let Some(selector) = self.belief.selector(&self.evidence, rng)?
        {
            self.selector = selector;
        }
        Ok(())
    }

    /// One-step lookahead from a state with the present values: its value and decision.
    fn look(&mut self, episode: u64, stage: usize, state: usize) -> (f64, Action) {
        let n = self.plan.n_states;
        let next = &self.plan.value_hs[(stage + 1) * n..(stage + 2) * n];
        let q = &mut self.buffers.q_sc;
        self.belief.look_at(stage, state, next, q);
        let cap = self.belief.caps()[stage];
        q.iter_mut().for_each(|q| *q = cap - *q);
        let tie = Ties::Seeded(splitmix64(self.options.seed ^ splitmix64(episode))).at(stage, state);
        let found = self.selector.best(stage, state, q, self.tolerance, tie, &mut self.buffers.scratch);
        (cap - found.least, found.action)
    }

    /// The plan by another estimator, its belief, and its selector of interventions.
    ///
    /// It takes no more memory than the learner; the caller reserves it.
    pub(crate) fn read(&self, reading: Estimator, seed: u64, ties: Ties) -> LearnResult<(Plan, Belief, Selector)> {
        reading.fits(self.view(), false)?;
        let mut terms = terms(self.view(), &self.options);
        terms.monotone = false;
        let mut belief = Belief::new(&self.evidence, reading, terms);
        let selector = self.draw(&mut belief, seed)?;
        let mut plan = Plan::new(self.plan.horizon, self.plan.n_states);
        backward_induction(&mut belief, &selector, self.tolerance, ties, &mut Buffers::default(), &mut plan);
        Ok((plan, belief, selector))
    }

    /// Evaluation of an allowed policy by another estimator: that policy, with its values.
    pub(crate) fn follow(&self, reading: Estimator, seed: u64, policy_hs: &[Action]) -> LearnResult<Plan> {
        reading.fits(self.view(), true)?;
        let mut belief = self.belief_by(reading);
        let selector = self.draw(&mut belief, seed)?;
        let mut plan = Plan::new(self.plan.horizon, self.plan.n_states);
        let mut policy = Follow::default();
        policy.decode(&selector, policy_hs);
        let following = policy.through(&selector, plan.n_states);
        backward_induction(&mut belief, &following, 0.0, Ties::First, &mut Buffers::default(), &mut plan);
        Ok(plan)
    }

    /// The belief of another estimator, before any sampling.
    pub(crate) fn belief_by(&self, reading: Estimator) -> Belief {
        self.belief_with(reading, &self.options, None)
    }

    /// The same with the δ and the ceiling of other options. For whole states, the sets need only hold for the means
    /// of a number of fixed value functions.
    pub(crate) fn belief_with(&self, reading: Estimator, options: &Options, values: Option<usize>) -> Belief {
        let mut terms = Terms { values, ..terms(self.view(), options) };
        terms.monotone = false;
        // Policy evaluation needs every row, not only those that can be optimal.
        terms.whole_stages = false;
        Belief::new(&self.evidence, reading, terms)
    }

    /// Updates such a belief, with the samples of a seed, and returns its selector of interventions.
    pub(crate) fn draw(&self, belief: &mut Belief, seed: u64) -> LearnResult<Selector> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        belief.update(&self.evidence, splitmix64(seed), Some(&mut rng));
        Ok(match belief.selector(&self.evidence, &mut rng)? {
            Some(selector) => selector,
            None => self.selector.clone(),
        })
    }
}

impl Plans for Tabular {
    fn knowledge(&self) -> &Knowledge {
        &self.evidence.view.knowledge
    }

    fn planned(&self) -> (u64, u64) {
        (self.plans, self.planned_from)
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn prepare(&mut self, episode: u64) -> bool {
        self.followed_from = self.evidence.fingerprint();
        let due = match self.options.schedule {
            Schedule::Episode | Schedule::Visited => true,
            Schedule::Doubling | Schedule::Growing => self.doubled,
        };
        if !due {
            return false;
        }
        self.refresh(episode).expect("invariant: what was learned has the shape that it had when the learner was made");
        self.doubled = false;
        self.grown.planned();
        self.plans += 1;
        self.planned_from = self.followed_from;
        if self.options.schedule != Schedule::Visited {
            let ties = self.ties(episode);
            backward_induction(
                &mut self.belief,
                &self.selector,
                self.tolerance,
                ties,
                &mut self.buffers,
                &mut self.plan,
            );
        }
        true
    }

    /// Another episode with an optimistic plan, before any new observation, would teach the same: parallel episodes
    /// use plans for posterior samples.
    fn beside(&mut self, episode: u64) -> Option<Vec<Action>> {
        let optimistic = matches!(self.options.estimate, Estimate::Width(_) | Estimate::Sets(_));
        let begun = self.plans > 0 && self.followed_from == self.evidence.fingerprint();
        if !(optimistic && begun && self.options.schedule != Schedule::Visited) {
            return None;
        }
        // Without memory for a second belief, the same plan is used.
        let _held = hold_belief(self).ok()?;
        let seed = splitmix64(self.options.seed ^ splitmix64(episode ^ 0x6265_7369_6465));
        let (plan, ..) = self.read(Estimator::Sample { prior: PRIOR }, seed, self.ties(episode)).ok()?;
        self.plans += 1;
        Some(plan.policy_hs)
    }

    fn looks_when_asked(&self) -> bool {
        self.options.schedule == Schedule::Visited
    }

    fn decide(&mut self, episode: u64, stage: usize, state: usize) -> Action {
        if !self.looks_when_asked() {
            return self.plan.action(stage, state);
        }
        let (value, action) = self.look(episode, stage, state);
        // Real-time dynamic programming never lets a value rise.
        let now = &mut self.plan.value_hs[stage * self.plan.n_states + state];
        *now = now.min(value);
        action
    }

    fn fill_policy(&mut self, episode: u64, out: &mut Vec<Action>) {
        if !self.looks_when_asked() {
            out.extend_from_slice(&self.plan.policy_hs);
            return;
        }
        let (n, n_causes, ties) = (self.plan.n_states, self.view().layout.n_causes, self.ties(episode));
        for stage in 0..self.plan.horizon {
            let next = &self.plan.value_hs[(stage + 1) * n..(stage + 2) * n];
            self.belief.losses(stage, next, &mut self.buffers.q_sc);
            for (s, loss) in self.buffers.q_sc.chunks_exact(n_causes).enumerate() {
                let tie = ties.at(stage, s);
                out.push(self.selector.best(stage, s, loss, self.tolerance, tie, &mut self.buffers.scratch).action);
            }
        }
    }

    fn learn(&mut self, observation: &Observation<'_>) -> Result<(), EvidenceError> {
        let Tabular { evidence, belief, doubled, grown, options, .. } = self;
        evidence.add_and_tell(observation, |changed, n| {
            belief.touch(changed);
            *doubled |=
                if let (Schedule::Growing, Changed::Transition { block, factor, row }) = (options.schedule, changed) {
                    grown.add((block, factor, row), n, 1)
                } else {
                    // After 1, 2, 4, 8, … visits.
                    n.is_power_of_two()
                };
        })
    }

    fn learn_times(&mut self, observation: &Observation<'_>, times: u32) -> Result<(), EvidenceError> {
        let Tabular { evidence, belief, doubled, grown, options, .. } = self;
        evidence.add_times_and_tell(observation, times, |changed, n| {
            belief.touch(changed);
            *doubled |=
                if let (Schedule::Growing, Changed::Transition { block, factor, row }) = (options.schedule, changed) {
                    grown.add((block, factor, row), n, times)
                } else {
                    // As above: 1, 2, 4, 8, … was passed.
                    n.checked_ilog2() != (n - times).checked_ilog2()
                };
        })
    }

    fn unlearn(&mut self, observation: &Observation<'_>) -> Result<(), EvidenceError> {
        let Tabular { evidence, belief, doubled, .. } = self;
        evidence.remove_and_tell(observation, |changed| {
            belief.touch(changed);
            // The present plan may be wrong, so the next plan is due at once.
            *doubled = true;
        })
    }
}

/// The estimator of an option.
fn reading(options: &Options) -> LearnResult<Estimator> {
    Ok(match options.estimate {
        Estimate::Width(width) => Estimator::Width(width, options.scale),
        Estimate::Sets(kind) => Estimator::Optimistic(kind),
        Estimate::Posterior { prior } => Estimator::Sample { prior },
        Estimate::Greedy | Estimate::EpsilonGreedy { .. } | Estimate::Uniform => Estimator::Greedy,
        Estimate::Linear => return Err(LearnError::NotLinear),
    })
}

/// The scale of a sampler; with scale 0 every sample would be the mean, without exploration.
fn spread(options: &Options) -> f64 {
    match options.estimate {
        Estimate::Posterior { .. } => options.scale.clamp(1e-3, 1e3),
        Estimate::Width(_)
        | Estimate::Sets(_)
        | Estimate::Greedy
        | Estimate::EpsilonGreedy { .. }
        | Estimate::Uniform
        | Estimate::Linear => 1.0,
    }
}

fn terms(view: &View, options: &Options) -> Terms {
    let hi = view.knowledge.reward_range()[1];
    let [least, most] = view.knowledge.world().step_range();
    let literal = options.cap == Cap::Literal;
    let range = if literal { 1.0 } else { most - least };
    let horizon = view.layout.horizon;
    let caps: Vec<f64> = (0..horizon)
        .map(|stage| match options.cap {
            Cap::Literal => horizon as f64,
            Cap::Horizon => hi + (horizon as f64 - 1.0) * most,
            Cap::Stage => hi + (horizon - 1 - stage) as f64 * most,
        })
        .collect();
    let mut terms = Terms {
        episodes: options.episodes,
        delta: options.delta,
        range,
        // Real-time dynamic programming never lets a value rise by itself.
        monotone: options.monotone && options.schedule != Schedule::Visited,
        whole_stages: options.schedule != Schedule::Visited && !literal,
        margin: 0.0,
        spread: spread(options),
        values: None,
        caps,
    };
    // Wider than ties, by more than what rounding may add where rewards are large and differ little.
    let largest = terms.caps.iter().fold(0.0, |most: f64, cap| most.max(cap.abs()));
    terms.margin = 2.0 * tie_tolerance(horizon, terms.range, view.knowledge.world()) + 1e-14 * largest;
    terms
}
