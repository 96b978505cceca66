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
    /// `None`: decisions are computed on demand.
    policy: Option<Arc<Policy>>,
    /// One for each stage.
    steps: Vec<SessionStep>,
}

/// State of one step of an episode.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SessionStep {
    /// State, once it is known.
    pub(crate) state: Option<usize>,
    /// The decision, or else the observed intervention.
    pub(crate) action: Option<Action>,
    /// Fingerprint of the observation.
    pub(crate) observed: Option<u64>,
    /// Bounds on its reward, once observed, for a baseline.
    pub(crate) paid: [f64; 2],
}

/// Errors of steps that do not belong to their session.
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
        /// The terminal state.
        state: usize,
    },
    /// A state that differs from the known one.
    #[error(
        "at stage {stage} episode {session} is in state {known}, not in state {given}; \
         if this step is of another episode, give it to that one's session"
    )]
    OtherState {
        /// Number of the episode, from 1.
        session: u64,
        /// From 1.
        stage: usize,
        /// From the decision, or from the step before.
        known: usize,
        /// The given state.
        given: usize,
    },
    /// A next state that differs from the state of the next decision.
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
    /// A session that reuses the memory of an earlier one.
    pub(crate) fn new(id: u64, horizon: usize, policy: Option<Arc<Policy>>, mut steps: Vec<SessionStep>) -> Session {
        steps.clear();
        steps.resize(horizon, SessionStep::default());
        Session { id, policy, steps }
    }

    /// Number of the episode, from 1.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The policy of the episode; `None` if decisions are computed on demand.
    pub fn policy(&self) -> Option<&Arc<Policy>> {
        self.policy.as_ref()
    }

    /// The stage (from 0) of the next decision: the first without decision or observation.
    pub fn stage(&self) -> usize {
        self.steps.iter().position(|s| s.action.is_none()).unwrap_or(self.steps.len())
    }

    /// The first stage (from 0) without observation.
    pub fn next_to_observe(&self) -> usize {
        self.steps.iter().position(|s| s.observed.is_none()).unwrap_or(self.steps.len())
    }

    /// Number of observed steps.
    pub fn observed(&self) -> usize {
        self.steps.iter().filter(|s| s.observed.is_some()).count()
    }

    /// The decision in a state at the next stage.
    pub fn act(&mut self, learner: &mut Learner, state: usize) -> Result<Action, SessionError> {
        self.act_at(learner, self.stage(), state)
    }

    /// The decision in a state at a stage (from 0); the same as before if it was decided already.
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

    /// Passes one step to the learner; an error changes nothing.
    pub fn observe(&mut self, learner: &mut Learner, observation: &Observation<'_>) -> Result<(), SessionError> {
        self.check(observation)?;
        self.check_not_ended(learner, observation.stage, observation.state)?;
        learner.take_in(observation)?;
        self.note(observation, learner.brought(observation));
        Ok(())
    }

    /// Removes an earlier observation, so that the step can be observed again; any other one is refused.
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

    /// Ends the episode, whether or not all of its steps were observed.
    pub fn end(self, learner: &mut Learner) {
        learner.ended(self);
    }

    /// Whether no decision is left: all steps are decided, or the last observation led to a terminal state.
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

    /// Records a decision.
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

    /// Records an observation of this session. The observed intervention counts, whatever was decided.
    pub(crate) fn note(&mut self, observation: &Observation<'_>, paid: [f64; 2]) {
        let stage = observation.stage;
        let step = &mut self.steps[stage];
        (step.state, step.action) = (Some(observation.state), observation.action);
        (step.observed, step.paid) = (Some(observation.fingerprint()), paid);
        if let (Some(next), Some(state)) = (self.steps.get_mut(stage + 1), observation.next_state) {
            next.state = Some(state);
        }
    }

    /// The start state, once known.
    pub(crate) fn start(&self) -> Option<usize> {
        self.steps.first()?.state
    }

    /// Bounds on the discounted return; an unobserved step has a reward in this range, and after a terminal state
    /// there are none.
    pub(crate) fn brought(&self, unknown: [f64; 2], world: &World) -> [f64; 2] {
        let (mut sum, mut weight) = ([0.0; 2], 1.0);
        for step in self.steps.iter().take_while(|step| step.state.is_none_or(|state| !world.has_ended(state))) {
            let paid = if step.observed.is_some() { step.paid } else { unknown };
            sum = [sum[0] + weight * paid[0], sum[1] + weight * paid[1]];
            weight *= world.discount();
        }
        sum
    }

    /// Whether it has no decision or observation.
    pub(crate) fn is_untouched(&self) -> bool {
        self.steps.iter().all(|s| s.state.is_none())
    }

    /// Its memory, for the next one.
    pub(crate) fn into_steps(self) -> Vec<SessionStep> {
        self.steps
    }
}
