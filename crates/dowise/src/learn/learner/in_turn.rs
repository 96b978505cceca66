//! Sequential episodes: the learner as an [`Agent`] with a single session.

use std::sync::Arc;

use super::{Learner, change_decisions};
use crate::learn::Agent;
use crate::learn::observation::Observation;
use crate::learn::policy::Policy;
use crate::world::Action;

impl Agent for Learner {
    fn begin_episode(&mut self) {
        self.whole = None;
        if let Some(unfinished) = self.current.take() {
            // Its steps are counted, but no episode will end with them.
            self.logged |= unfinished.observed() > 0;
            self.around.iter_mut().for_each(|a| a.gave_up(&unfinished));
            // Its number is reused, unless others have begun since.
            self.begun -= u64::from(unfinished.id() == self.begun);
            self.spare = unfinished.into_steps();
        }
        self.current = Some(self.begin());
    }

    fn act(&mut self, stage: usize, state: usize) -> Action {
        let mut session = self.current.take().expect("begin_episode comes before act");
        let action = self.decide(&session, stage, state);
        session.decided(stage, state, action);
        self.current = Some(session);
        action
    }

    fn observe(&mut self, observation: &Observation<'_>) {
        let mut session = self.current.take().expect("begin_episode comes before observe");
        if let Err(error) = session.observe(self, observation) {
            panic!("{error}");
        }
        self.current = Some(session);
    }

    fn end_episode(&mut self) {
        self.whole = None;
        if let Some(session) = self.current.take() {
            self.ended(session);
        }
    }

    fn policy(&mut self) -> Option<&[Action]> {
        self.whole = Some(self.whole_policy());
        self.whole.as_deref().map(Policy::actions)
    }
}

impl Learner {
    /// The whole policy of the loop's episode.
    pub(super) fn whole_policy(&mut self) -> Arc<Policy> {
        let Some(session) = &self.current else { return self.latest.clone() };
        if let Some(policy) = session.policy() {
            return policy.clone();
        }
        if let Some(whole) = &self.whole {
            return whole.clone();
        }
        let episode = session.id() - 1;
        let Learner { kind, around, .. } = self;
        let knowledge = kind.plans().knowledge().clone();
        let plans = kind.plans_mut();
        let (plan, evidence) = plans.planned();
        let whole = Policy::made(&mut self.latest, plan, evidence, knowledge.n_states(), |out| {
            plans.fill_policy(episode, out);
            change_decisions(around, &knowledge, episode, out);
        });
        self.whole = Some(whole.clone());
        whole
    }
}
