//! Who decides: the three words that every learner, baseline and outside agent shares.

use crate::world::Action;

/// One step as a learner sees it.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// Stage, from 0.
    pub stage: usize,
    /// State before.
    pub state: usize,
    /// What was done.
    pub action: Action,
    /// Values of all variables by [`VarId`](crate::world::VarId): levers as they were, key variables as observed; others are ignored.
    pub values: &'a [u32],
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
