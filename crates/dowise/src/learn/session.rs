//! Session: one running episode with its policy, decisions and observations. Thousands may run at a time.

use std::sync::Arc;

use super::Learner;
use super::evidence::EvidenceError;
use super::observation::Observation;
use super::policy::Policy;
use crate::world::{Action, World};

/// One episode, begun by [`Learner::begin`].
///
/// Sessions may be interleaved at will; observations may come late and out of order. A step that does not belong to its
/// session is refused: see [`SessionError`].
#[derive(Clone, Debug, PartialEq)]
pub struct Session {
    id: u64,
    /// `None`: decisions are made state by state, when they are asked for.
    policy: Option<Arc<Policy>>,
    /// One for each stage.
    steps: Vec<SessionStep>,
}

/// What is known of one step of an episode.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SessionStep {
    /// State, once it is known.
    pub(crate) state: Option<usize>,
    /// What was decided, or else what was done.
    pub(crate) action: Option<Action>,
    /// Fingerprint of what was observed.
    pub(crate) observed: Option<u64>,
    /// Between what it paid, once it was observed, where a baseline is kept to.
    pub(crate) paid: [f64; 2],
}

/// Why a step does not belong to its session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// A stage that the episode does not have.
    #[error("episode {session} has {horizon} steps, and there is no stage {stage}; begin another episode")]
    Over {
        /// Number of the episode, from 1.
        session: u64,
        /// From 1.
        stage: usize,
        /// Steps of an episode.
        horizon: usize,
    },
    /// A state that the world does not have.
    #[error("there is no state {state}; states run from 0 to {last}")]
    NoState {
        /// As given.
        state: usize,
        /// The last there is.
        last: usize,
    },
    /// A state in which the episode has ended.
    #[error(
        "episode {session} has ended: state {state} at stage {stage} is one of those that the world's `ends` name; begin another episode"
    )]
    Ended {
        /// Number of the episode, from 1.
        session: u64,
        /// From 1.
        stage: usize,
        /// Where it has ended.
        state: usize,
    },
    /// Another state than the one that is known already.
    #[error(
        "at stage {stage} episode {session} is in state {known}, not in state {given}; \
         if this step is of another episode, give it to that one's session"
    )]
    OtherState {
        /// Number of the episode, from 1.
        session: u64,
        /// From 1.
        stage: usize,
        /// As decided for, or as it followed from the step before.
        known: usize,
        /// As given.
        given: usize,
    },
    /// A next state that is not where the next step was decided.
    #[error(
        "stage {stage} of episode {session} was decided in state {known}, so the step before cannot have led to state {given}"
    )]
    OtherNext {
        /// Number of the episode, from 1.
        session: u64,
        /// The next stage, from 1.
        stage: usize,
        /// Where it was decided.
        known: usize,
        /// As given.
        given: usize,
    },
    /// A step that was observed before.
    #[error(
        "stage {stage} of episode {session} has been observed already; a correction takes the first observation back"
    )]
    Twice {
        /// Number of the episode, from 1.
        session: u64,
        /// From 1.
        stage: usize,
    },
    /// The evidence does not take the observation.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
}

impl Session {
    /// A session in the memory of an earlier one.
    pub(crate) fn new(id: u64, horizon: usize, policy: Option<Arc<Policy>>, mut steps: Vec<SessionStep>) -> Session {
        steps.clear();
        steps.resize(horizon, SessionStep::default());
        Session { id, policy, steps }
    }

    /// Number of the episode, from 1.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The policy that it follows; `None` if decisions are made state by state when they are asked for.
    pub fn policy(&self) -> Option<&Arc<Policy>> {
        self.policy.as_ref()
    }

    /// The stage (from 0) that is decided next: the first at which nothing was decided or observed yet.
    pub fn stage(&self) -> usize {
        self.steps.iter().position(|s| s.action.is_none()).unwrap_or(self.steps.len())
    }

    /// The first stage (from 0) that was not observed yet.
    pub fn next_to_observe(&self) -> usize {
        self.steps.iter().position(|s| s.observed.is_none()).unwrap_or(self.steps.len())
    }

    /// Steps that were observed.
    pub fn observed(&self) -> usize {
        self.steps.iter().filter(|s| s.observed.is_some()).count()
    }

    /// What to do in a state at the next stage.
    pub fn act(&mut self, learner: &mut Learner, state: usize) -> Result<Action, SessionError> {
        self.act_at(learner, self.stage(), state)
    }

    /// What to do in a state at a stage (from 0); the same as before if it was decided already.
    pub fn act_at(&mut self, learner: &mut Learner, stage: usize, state: usize) -> Result<Action, SessionError> {
        let n_states = learner.knowledge().n_states();
        if state >= n_states {
            return Err(SessionError::NoState { state, last: n_states - 1 });
        }
        self.check_state(stage, state)?;
        self.check_not_ended(learner, stage, state)?;
        if let Some(decided) = self.steps[stage].action {
            return Ok(decided);
        }
        let action = learner.decide(self, stage, state);
        self.decided(stage, state, action);
        Ok(action)
    }

    /// Gives one step to the learner; nothing is changed if it does not belong here.
    pub fn observe(&mut self, learner: &mut Learner, observation: &Observation<'_>) -> Result<(), SessionError> {
        self.check(observation)?;
        self.check_not_ended(learner, observation.stage, observation.state)?;
        learner.take_in(observation)?;
        self.note(observation, learner.brought(observation));
        Ok(())
    }

    /// Takes an observation back that was given before, so that the step can be observed again; another one is refused.
    pub fn take_back(&mut self, learner: &mut Learner, observation: &Observation<'_>) -> Result<(), SessionError> {
        let observed = self.steps.get(observation.stage).and_then(|s| s.observed);
        if observed != Some(observation.fingerprint()) {
            return Err(SessionError::Evidence(EvidenceError::NotThere));
        }
        learner.take_back_step(observation)?;
        self.steps[observation.stage].observed = None;
        if let Some(next) = self.steps.get_mut(observation.stage + 1).filter(|s| s.action.is_none()) {
            next.state = None;
        }
        Ok(())
    }

    /// Ends the episode, whether all of its steps were observed or not.
    pub fn end(self, learner: &mut Learner) {
        learner.ended(self);
    }

    /// Whether nothing is left to decide: all steps were, or the last observation led to where episodes end.
    pub fn is_over(&self, learner: &Learner) -> bool {
        let (stage, world) = (self.stage(), learner.knowledge().world());
        self.steps.get(stage).is_none_or(|step| step.state.is_some_and(|state| world.has_ended(state)))
    }

    fn check_not_ended(&self, learner: &Learner, stage: usize, state: usize) -> Result<(), SessionError> {
        match state < learner.knowledge().n_states() && learner.knowledge().world().has_ended(state) {
            true => Err(SessionError::Ended { session: self.id, stage: stage + 1, state }),
            false => Ok(()),
        }
    }

    /// Checks that a stage can be decided in a state.
    pub(crate) fn check_state(&self, stage: usize, state: usize) -> Result<(), SessionError> {
        let (session, horizon) = (self.id, self.steps.len());
        let Some(step) = self.steps.get(stage) else {
            return Err(SessionError::Over { session, stage: stage.saturating_add(1), horizon });
        };
        match step.state {
            Some(known) if known != state => {
                Err(SessionError::OtherState { session, stage: stage + 1, known, given: state })
            }
            _ => Ok(()),
        }
    }

    /// Notes a decision.
    pub(crate) fn decided(&mut self, stage: usize, state: usize, action: Action) {
        let step = &mut self.steps[stage];
        (step.state, step.action) = (Some(state), Some(action));
    }

    /// Checks that an observation belongs here.
    pub(crate) fn check(&self, observation: &Observation<'_>) -> Result<(), SessionError> {
        let (session, stage) = (self.id, observation.stage);
        self.check_state(stage, observation.state)?;
        if self.steps[stage].observed.is_some() {
            return Err(SessionError::Twice { session, stage: stage + 1 });
        }
        let next = self.steps.get(stage + 1).and_then(|s| s.state);
        match (next, observation.next_state) {
            (Some(known), Some(given)) if known != given => {
                Err(SessionError::OtherNext { session, stage: stage + 2, known, given })
            }
            _ => Ok(()),
        }
    }

    /// Notes an observation that belongs here. What was done counts, whatever was decided.
    pub(crate) fn note(&mut self, observation: &Observation<'_>, paid: [f64; 2]) {
        let stage = observation.stage;
        let step = &mut self.steps[stage];
        (step.state, step.action) = (Some(observation.state), observation.action);
        (step.observed, step.paid) = (Some(observation.fingerprint()), paid);
        if let (Some(next), Some(state)) = (self.steps.get_mut(stage + 1), observation.next_state) {
            next.state = Some(state);
        }
    }

    /// Where it started, once that is known.
    pub(crate) fn start(&self) -> Option<usize> {
        self.steps.first()?.state
    }

    /// Between what it paid in all, later steps discounted; a step that was not observed paid within this range, and after the end of
    /// the episode there are none.
    pub(crate) fn brought(&self, unknown: [f64; 2], world: &World) -> [f64; 2] {
        let (mut sum, mut weight) = ([0.0; 2], 1.0);
        for step in self.steps.iter().take_while(|step| step.state.is_none_or(|state| !world.has_ended(state))) {
            let paid = if step.observed.is_some() { step.paid } else { unknown };
            sum = [sum[0] + weight * paid[0], sum[1] + weight * paid[1]];
            weight *= world.discount();
        }
        sum
    }

    /// Whether nothing was decided or observed in it.
    pub(crate) fn is_untouched(&self) -> bool {
        self.steps.iter().all(|s| s.state.is_none())
    }

    /// Its memory, for the next one.
    pub(crate) fn into_steps(self) -> Vec<SessionStep> {
        self.steps
    }
}
