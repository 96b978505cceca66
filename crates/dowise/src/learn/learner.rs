//! The learner: a tabular or linear core, its wrappers, and its running episodes (sessions).

mod estimates;
mod in_turn;
mod wrapped;

use std::sync::Arc;

use super::error::{LearnError, LearnResult};
use super::evidence::{Evidence, EvidenceError};
use super::observation::Observation;
use super::options::{Estimate, Forget, Options};
use super::policy::Policy;
use super::session::{Session, SessionStep};
use super::tabular::Tabular;
use super::wrappers::{Explore, Forgetting, Guard, Wrapper, brought};
use super::{Knowledge, Plans};
use crate::learn::linear::{LinearLearner, LinearOptions};
use crate::plan::Plan;
use crate::world::Action;

/// A learner: it plans from its evidence, decides, and updates with observations.
///
/// Many episodes may be under way at once, each with a [`Session`]; a loop that plays one after the other can use the learner as
/// an [`Agent`](super::Agent).
///
/// ```
/// use dowise::learn::Observation;
/// use dowise::{Knowledge, Learner, Preset, World, worlds};
/// let world = World::from_toml(&worlds::text("treatment", &[])?, "treatment.toml")?;
/// let knowledge = Knowledge::of(&world);
/// let mut learner = Learner::new(&knowledge, "graph-psrl".parse::<Preset>()?.options(1000, 1))?;
/// let (mut ann, mut bob) = (learner.begin(), learner.begin());
/// let [first, second] = [ann.act(&mut learner, 0)?, bob.act(&mut learner, 3)?];
/// // Days later, and in another order.
/// let keys = world.keys().iter().map(|_| 0).collect::<Vec<u32>>();
/// let bob_step = Observation::at(&knowledge, 0, 3)?.did_action(&knowledge, second)?.saw(&knowledge, &keys[..])?.then(&knowledge, 1)?;
/// bob.observe(&mut learner, &bob_step)?;
/// let wrong = ann.observe(&mut learner, &bob_step).unwrap_err();
/// assert!(wrong.to_string().starts_with("at stage 1 episode 1 is in state 0, not in state 3"));
/// let ann_step = Observation::at(&knowledge, 0, 0)?.did_action(&knowledge, first)?.saw(&knowledge, &keys[..])?.then(&knowledge, 2)?;
/// ann.observe(&mut learner, &ann_step)?;
/// ann.end(&mut learner);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Learner {
    pub(super) kind: Kind,
    /// Innermost first.
    pub(super) around: Vec<Wrapper>,
    /// Episodes begun, and ended.
    pub(super) begun: u64,
    pub(super) ended: u64,
    /// Whether it has counted steps of no episode of its own.
    pub(super) logged: bool,
    /// The latest policy: its memory is reused once no session follows it.
    latest: Arc<Policy>,
    /// Memory of the last session that ended.
    spare: Vec<SessionStep>,
    /// The running episode of a sequential loop.
    current: Option<Session>,
    /// The whole policy of that episode, if it was requested although decisions are computed on demand.
    whole: Option<Arc<Policy>>,
}

/// The kind of the inner learner.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Tabular(Box<Tabular>),
    Linear(Box<LinearLearner>),
}

impl Kind {
    pub(super) fn plans(&self) -> &dyn Plans {
        match self {
            Kind::Tabular(tabular) => tabular.as_ref(),
            Kind::Linear(linear) => linear.as_ref(),
        }
    }

    fn plans_mut(&mut self) -> &mut dyn Plans {
        match self {
            Kind::Tabular(tabular) => tabular.as_mut(),
            Kind::Linear(linear) => linear.as_mut(),
        }
    }
}

impl Learner {
    /// A tabular learner without data.
    pub fn new(knowledge: &Knowledge, options: Options) -> LearnResult<Learner> {
        Learner::around(Tabular::new(knowledge, options)?)
    }

    /// A tabular learner that starts with given evidence, which must have the view of the options.
    pub fn with_evidence(evidence: Evidence, options: Options) -> LearnResult<Learner> {
        super::error::check(&options)?;
        let view = &evidence.view;
        let blocks = if options.stage_dependent { view.layout.horizon } else { 1 };
        if (view.states, view.causes, view.n_blocks) != (options.states, options.causes, blocks) {
            return Err(LearnError::OtherEvidence);
        }
        if options.guard {
            // Graph repair counts every step again after a revision, and evidence stores no steps.
            return Err(LearnError::GuardNeedsSteps);
        }
        if matches!(options.forget, Forget::Window { .. } | Forget::Discount { .. }) {
            return Err(LearnError::Forgets {
                what: "evidence that others have counted",
                why: "it does not say when each step was seen; let the learner take the steps in one by one, or use forget=reset",
            });
        }
        let mut learner = Learner::around(Tabular::with(evidence, options)?)?;
        learner.logged = true;
        Ok(learner)
    }

    /// A linear learner over all states without data.
    pub fn linear(knowledge: &Knowledge, options: LinearOptions) -> LearnResult<Learner> {
        Ok(Learner::of(Kind::Linear(Box::new(LinearLearner::over_all_states(knowledge, options)?)), Vec::new()))
    }

    /// Adds the wrappers of the options to a tabular learner.
    fn around(tabular: Tabular) -> LearnResult<Learner> {
        let Options { estimate, seed, guard, .. } = tabular.options;
        let probability = match estimate {
            Estimate::EpsilonGreedy { epsilon } => Some(epsilon),
            Estimate::Uniform => Some(1.0),
            Estimate::Width(_)
            | Estimate::Sets(_)
            | Estimate::Posterior { .. }
            | Estimate::Greedy
            | Estimate::Linear => None,
        };
        let mut around = Vec::new();
        around.extend(probability.map(|probability| Wrapper::Explore(Explore { probability, seed })));
        around.extend(Forgetting::new(&tabular).map(|forget| Wrapper::Forget(Box::new(forget))));
        if guard {
            around.push(Wrapper::Guard(Box::new(Guard::new(&tabular)?)));
        }
        Ok(Learner::of(Kind::Tabular(Box::new(tabular)), around))
    }

    pub(super) fn of(kind: Kind, around: Vec<Wrapper>) -> Learner {
        let latest = Arc::new(Policy::default());
        Learner {
            kind,
            around,
            begun: 0,
            ended: 0,
            logged: false,
            latest,
            spare: Vec::new(),
            current: None,
            whole: None,
        }
    }

    /// Its knowledge.
    pub fn knowledge(&self) -> &Knowledge {
        self.kind.plans().knowledge()
    }

    /// Its options, if it is tabular.
    pub fn options(&self) -> Option<&Options> {
        match &self.kind {
            Kind::Tabular(tabular) => Some(&tabular.options),
            Kind::Linear(_) => None,
        }
    }

    /// The inner learner, if it is linear.
    pub fn as_linear(&self) -> Option<&LinearLearner> {
        match &self.kind {
            Kind::Tabular(_) => None,
            Kind::Linear(linear) => Some(linear),
        }
    }

    /// Its evidence, if it is tabular.
    pub fn evidence(&self) -> Option<&Evidence> {
        match &self.kind {
            Kind::Tabular(tabular) => Some(&tabular.evidence),
            Kind::Linear(_) => None,
        }
    }

    /// Episodes ended.
    pub fn episodes(&self) -> u64 {
        self.ended
    }

    /// Number of episodes in the widths' logarithms.
    pub fn planned_episodes(&self) -> u64 {
        match &self.kind {
            Kind::Tabular(tabular) => tabular.options.episodes,
            Kind::Linear(linear) => linear.options().episodes,
        }
    }

    /// Number of distributions and rewards, or of weights, to learn: rows of tables, parametric ones included.
    pub fn cells(&self) -> usize {
        match &self.kind {
            Kind::Tabular(tabular) => tabular.view().to_learn()[0],
            Kind::Linear(linear) => linear.cells(),
        }
    }

    /// Number of parameters to learn: the probabilities of each row less one, the parameters of forms, rewards,
    /// weights.
    pub fn numbers(&self) -> usize {
        match &self.kind {
            Kind::Tabular(tabular) => tabular.view().to_learn()[1],
            Kind::Linear(linear) => linear.numbers(),
        }
    }

    /// Whether it needs observed rewards: some are unknown, or a wrapper uses them.
    pub fn learns_rewards(&self) -> bool {
        match &self.kind {
            Kind::Tabular(tabular) => {
                !tabular.view().payments.is_known() || self.around.iter().any(Wrapper::looks_at_rewards)
            }
            Kind::Linear(linear) => linear.learns_rewards(),
        }
    }

    /// Episodes begun, unfinished ones included.
    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// The last plan: its policy and estimated values.
    pub fn plan(&self) -> &Plan {
        self.kind.plans().plan()
    }

    /// Begins an episode: plans if a plan is due, and fixes the policy of the episode.
    ///
    /// Each episode has its own sample and tie-breaking, by its number. If several episodes begin before any
    /// observation, an optimistic learner (`ucbvi` and similar) uses its plan for the first and posterior samples for
    /// the others, since ten equal plans would teach the same ten times (`docs/theory/guarantees.md`, many episodes
    /// side by side).
    pub fn begin(&mut self) -> Session {
        if self.begun == 0 && self.logged {
            self.compare_with_log();
        }
        let episode = self.begun;
        self.begun += 1;
        let planned = self.policy_of(episode);
        let policy = self.around.iter_mut().fold(planned, |policy, a| a.replaces(policy));
        let steps = std::mem::take(&mut self.spare);
        Session::new(episode + 1, self.knowledge().horizon(), policy, steps)
    }

    /// The policy of an episode; `None` if decisions are computed on demand.
    fn policy_of(&mut self, episode: u64) -> Option<Arc<Policy>> {
        let Learner { kind, around, latest, .. } = self;
        let knowledge = kind.plans().knowledge().clone();
        let n = knowledge.n_states();
        for wrapper in around.iter().rev() {
            let Some((plan, evidence)) = wrapper.takes_over() else { continue };
            // Plan numbers continue those of the inner learner.
            let plan = if plan == 0 { 0 } else { kind.plans().planned().0 + plan };
            return Some(Policy::made(latest, plan, evidence, n, |out| wrapper.fill_policy(&knowledge, episode, out)));
        }
        let plans = kind.plans_mut();
        let changes = around.iter().any(|a| a.changes_decisions());
        if let Some(policy_hs) = plans.beside(episode) {
            let (plan, evidence) = plans.planned();
            return Some(Policy::made(latest, plan, evidence, n, |out| {
                out.extend_from_slice(&policy_hs);
                if changes {
                    change_decisions(around, &knowledge, episode, out);
                }
            }));
        }
        plans.prepare(episode);
        if plans.looks_when_asked() {
            return None;
        }
        let (plan, evidence) = plans.planned();
        if !changes && latest.plan() == plan {
            return Some(latest.clone());
        }
        Some(Policy::made(latest, plan, evidence, n, |out| {
            plans.fill_policy(episode, out);
            if changes {
                change_decisions(around, &knowledge, episode, out);
            }
        }))
    }

    /// The decision of a session in a state.
    pub(super) fn decide(&mut self, session: &Session, stage: usize, state: usize) -> Action {
        if let Some(policy) = session.policy() {
            return policy.action(stage, state);
        }
        let episode = session.id() - 1;
        let Learner { kind, around, .. } = self;
        let decided = kind.plans_mut().decide(episode, stage, state);
        let knowledge = kind.plans().knowledge();
        around.iter().fold(decided, |action, a| a.instead(knowledge, episode, stage, state).unwrap_or(action))
    }

    /// Adds one step of another source, such as a log.
    pub fn learn(&mut self, observation: &Observation<'_>) -> Result<(), EvidenceError> {
        self.learn_times(observation, 1)
    }

    /// Adds one step of another source with a multiplicity, such as a row of a log with its weight. The cost does not
    /// depend on the multiplicity.
    pub fn learn_times(&mut self, observation: &Observation<'_>, times: u32) -> Result<(), EvidenceError> {
        self.logged = true;
        self.take_in_times(observation, times)?;
        self.around.iter_mut().try_for_each(|around| match around {
            Wrapper::LogCheck(check) => check.add(observation, times),
            Wrapper::Explore(_) | Wrapper::Guard(_) | Wrapper::Watch(_) | Wrapper::Baseline(_) | Wrapper::Forget(_) => {
                Ok(())
            }
        })
    }

    /// Removes one step that was added before, such as a wrong one; see [`Evidence::remove`]. A learner that forgets
    /// removes the latest equal step, if one is in memory.
    pub fn take_back(&mut self, observation: &Observation<'_>) -> Result<(), EvidenceError> {
        self.take_back_step(observation)?;
        for around in &mut self.around {
            match around {
                // It may belong to an ended episode.
                Wrapper::Baseline(baseline) => baseline.doubt(),
                Wrapper::Explore(_)
                | Wrapper::Guard(_)
                | Wrapper::Watch(_)
                | Wrapper::Forget(_)
                | Wrapper::LogCheck(_) => {}
            }
        }
        Ok(())
    }

    /// Removes a step of an unfinished episode.
    pub(super) fn take_back_step(&mut self, observation: &Observation<'_>) -> Result<(), EvidenceError> {
        let Learner { kind, around, .. } = self;
        for around in &mut *around {
            if let Wrapper::Forget(forget) = around {
                // The other wrappers do not use observations.
                return forget.take_back(kind, observation);
            }
        }
        if let Kind::Tabular(tabular) = kind {
            tabular.evidence.check_removal(observation)?;
        }
        around.iter().try_for_each(|a| a.check_unlearn(observation))?;
        kind.plans_mut().unlearn(observation)?;
        around.iter_mut().for_each(|a| a.unlearn(observation));
        Ok(())
    }

    /// Bounds on the reward of a step, for a baseline; nothing without one.
    pub(super) fn brought(&self, observation: &Observation<'_>) -> [f64; 2] {
        match self.around.last() {
            Some(Wrapper::Baseline(_)) => brought(self.knowledge(), observation),
            Some(
                Wrapper::Explore(_) | Wrapper::Guard(_) | Wrapper::Watch(_) | Wrapper::Forget(_) | Wrapper::LogCheck(_),
            )
            | None => [0.0; 2],
        }
    }

    pub(super) fn take_in(&mut self, observation: &Observation<'_>) -> Result<(), EvidenceError> {
        self.take_in_times(observation, 1)
    }

    fn take_in_times(&mut self, observation: &Observation<'_>, times: u32) -> Result<(), EvidenceError> {
        let Learner { kind, around, ended, .. } = self;
        match times {
            0 => return Ok(()),
            1 => kind.plans_mut().learn(observation)?,
            2.. => kind.plans_mut().learn_times(observation, times)?,
        }
        around.iter_mut().for_each(|a| a.learn(kind, observation, times, *ended + 1));
        Ok(())
    }

    /// Counts an episode as ended.
    pub(super) fn ended(&mut self, session: Session) {
        self.around.iter_mut().for_each(|a| a.end(&session));
        self.kind.plans_mut().ended();
        self.ended += 1;
        self.spare = session.into_steps();
    }

    /// Switches to dense tables, for comparison.
    #[cfg(test)]
    pub(super) fn use_tables(&mut self) {
        match &mut self.kind {
            Kind::Tabular(tabular) => tabular.belief.use_tables(&tabular.evidence),
            Kind::Linear(_) => panic!("a learner that regresses has no tables"),
        }
    }
}

/// Replaces decisions of a plan by those of the wrappers.
fn change_decisions(around: &[Wrapper], knowledge: &Knowledge, episode: u64, actions: &mut [Action]) {
    let n = knowledge.n_states();
    for (i, action) in actions.iter_mut().enumerate() {
        *action = around.iter().fold(*action, |a, w| w.instead(knowledge, episode, i / n, i % n).unwrap_or(a));
    }
}
