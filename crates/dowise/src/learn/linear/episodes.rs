//! Episodes of a linear learner: plans, decisions, and observed steps.

use super::error::LinearError;
use super::learner::{LinearLearner, Storage, check_place};
use super::model::kernel_rule;
use super::options::Switching;
use crate::learn::{Agent, EvidenceError, Knowledge, Observation, Plans, Session};
use crate::plan::Plan;
use crate::world::Action;

impl LinearLearner {
    /// Begins an episode: plans if a plan is due.
    pub fn begin(&mut self) {
        self.prepare(self.episode);
        let steps = self.session.take().map(Session::into_steps).unwrap_or_default();
        self.session = Some(Session::new(self.episode + 1, self.problem.sizes.horizon, None, steps));
    }

    /// The decision at a stage (from 0) in a state of the running episode, which begins if none runs. The decision is
    /// recorded, so that only its own step can be observed.
    pub fn act_at(&mut self, stage: usize, state: usize) -> Result<Action, LinearError> {
        if self.session.is_none() {
            self.begin();
        }
        check_place(self.knowledge(), stage, state)?;
        self.session.as_ref().map_or(Ok(()), |session| session.check_state(stage, state))?;
        let action = self.decide(stage, state)?;
        if let Some(session) = &mut self.session {
            session.decided(stage, state, action);
        }
        Ok(action)
    }

    /// Adds a step of the running episode. A step that does not belong to it (another state, another successor, or
    /// observed before) is refused as by [`Session::observe`], and changes nothing. The intervention in the step
    /// counts, whatever was decided. If no episode runs, this is [`LinearLearner::learn_observation`].
    pub fn observe_step(&mut self, observation: &Observation<'_>) -> Result<(), LinearError> {
        let Some(session) = &self.session else { return self.learn_observation(observation) };
        session.check(observation)?;
        self.add(observation, 1)?;
        if let Some(session) = &mut self.session {
            session.note(observation, [0.0; 2]);
        }
        Ok(())
    }

    /// The decision at a stage (from 0) in a state of the present episode.
    pub fn decide(&mut self, stage: usize, state: usize) -> Result<Action, LinearError> {
        check_place(self.knowledge(), stage, state)?;
        if self.plans == 0 {
            self.prepare(self.episode);
        }
        match &mut self.storage {
            Storage::Enumerated(states) => Ok(states.plan.action(stage, state)),
            Storage::Visited(states) => states.decide(&self.problem, stage, state),
        }
    }

    /// Adds one observation of any step. A step with a missing key variable, next state or regressed reward is
    /// skipped.
    pub fn learn_observation(&mut self, observation: &Observation<'_>) -> Result<(), LinearError> {
        self.logged = true;
        self.add(observation, 1)
    }

    /// Adds one step by numbers: the observed configuration, numbered as in [`CauseSpace`](crate::kernel::CauseSpace)
    /// (or the rank of the intervention), and the regressed reward. Such a step lacks the intervention, so it is
    /// refused if mechanisms are unknown.
    pub fn learn(
        &mut self,
        at: (usize, usize),
        cause: usize,
        reward: f64,
        next_state: usize,
    ) -> Result<(), LinearError> {
        if self.mechanisms.is_some() {
            return Err(LinearError::NothingDone);
        }
        let doubled = match &mut self.storage {
            Storage::Enumerated(states) => states.regress(&self.problem, at, cause, reward, next_state)?,
            Storage::Visited(states) => states.regress(&self.problem, at, cause, reward, next_state)?,
        };
        self.due |= self.problem.options.switching == Switching::Episode || doubled;
        self.logged = true;
        Ok(())
    }

    /// Ends an episode.
    pub fn end(&mut self) {
        self.session = None;
        self.episode += 1;
    }

    /// Adds a step this many times, to the regression and to unknown mechanisms.
    fn add(&mut self, observation: &Observation<'_>, times: u32) -> Result<(), LinearError> {
        let LinearLearner { problem, mechanisms, storage, .. } = self;
        let regressed = match storage {
            Storage::Enumerated(states) => states.add(problem, mechanisms.as_ref(), observation, times)?,
            Storage::Visited(states) => states.add(problem, mechanisms.as_ref(), observation, times)?,
        };
        let every = problem.options.switching == Switching::Episode;
        self.due |= regressed.is_some_and(|doubled| doubled || every);
        if let Some(mechanisms) = mechanisms {
            self.due |= mechanisms.add(&problem.knowledge, observation, times) || every;
        }
        Ok(())
    }
}

/// A [`Learner`](crate::Learner) is always around a linear learner over all states.
impl Plans for LinearLearner {
    fn knowledge(&self) -> &Knowledge {
        &self.problem.knowledge
    }

    fn planned(&self) -> (u64, u64) {
        (self.plans, self.enumerated().map_or(0, |states| states.planned_from))
    }

    fn plan(&self) -> &Plan {
        self.enumerated().expect("invariant: its states are enumerated").plan()
    }

    fn prepare(&mut self, episode: u64) -> bool {
        if !self.due {
            return false;
        }
        let LinearLearner { problem, mechanisms, storage, .. } = self;
        let rule = kernel_rule(&problem.options, episode);
        match storage {
            Storage::Enumerated(states) => {
                states.solve(problem, mechanisms, (episode, problem.ties(episode)), rule, None);
                states.planned_from = states.fingerprint(mechanisms.as_ref());
            }
            Storage::Visited(states) => states.solve(problem, mechanisms.as_ref(), episode, rule),
        }
        self.plans += 1;
        self.due = false;
        true
    }

    fn decide(&mut self, _: u64, stage: usize, state: usize) -> Action {
        self.plan().action(stage, state)
    }

    fn fill_policy(&mut self, _: u64, out: &mut Vec<Action>) {
        out.extend_from_slice(&self.plan().policy_hs);
    }

    fn ended(&mut self) {
        self.episode += 1;
    }

    /// A step with a missing key variable, next state or regressed reward has no target and is skipped.
    fn learn(&mut self, observation: &Observation<'_>) -> Result<(), EvidenceError> {
        self.learn_times(observation, 1)
    }

    fn learn_times(&mut self, observation: &Observation<'_>, times: u32) -> Result<(), EvidenceError> {
        self.add(observation, times).map_err(|error| match error {
            LinearError::Evidence(error) => error,
            other => panic!("invariant: steps of enumerated states can be counted: {other}"),
        })
    }

    fn unlearn(&mut self, observation: &Observation<'_>) -> Result<(), EvidenceError> {
        let LinearLearner { problem, mechanisms, storage, .. } = self;
        // Steps of visited states are stored in their order.
        let Storage::Enumerated(states) = storage else { return Err(EvidenceError::NotThere) };
        let regressed = states.remove(problem, mechanisms.as_ref(), observation)?;
        self.due |= regressed || mechanisms.is_some();
        if let Some(mechanisms) = mechanisms {
            mechanisms.remove(&problem.knowledge, observation);
        }
        Ok(())
    }
}

impl Agent for LinearLearner {
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

    fn policy(&mut self) -> Option<&[Action]> {
        self.enumerated().map(|states| &states.plan.policy_hs[..])
    }
}
