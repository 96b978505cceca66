//! The agent trait: anything that decides in a loop of sequential episodes, such as a learner or a baseline policy.

use super::observation::Observation;
use crate::world::Action;

/// Who decides. Two methods are enough.
pub trait Agent {
    /// Prepares an episode.
    fn begin_episode(&mut self) {}

    /// What to do at a stage (from 0) in a state.
    fn act(&mut self, stage: usize, state: usize) -> Action;

    /// Takes in what happened.
    ///
    /// # Panics
    /// A [`Learner`](super::Learner) panics if the step does not belong to the episode that it began; a
    /// [`Session`](super::Session) returns an error instead.
    fn observe(&mut self, observation: &Observation<'_>);

    /// Ends the episode.
    fn end_episode(&mut self) {}

    /// The whole policy of this episode, `[stage][state]`, if decisions are fixed when it begins: then it is evaluated exactly.
    /// Otherwise it is evaluated by the rewards that it receives.
    fn policy(&mut self) -> Option<&[Action]> {
        None
    }
}
