//! Planning interface of all learner kinds: plan, decide, and update with observations.

use super::Knowledge;
use super::evidence::EvidenceError;
use super::observation::Observation;
use crate::plan::Plan;
use crate::world::Action;

/// A learner that counts or regresses, without anything around it.
pub(crate) trait Plans {
    /// What it was given.
    fn knowledge(&self) -> &Knowledge;

    /// Number of the last plan, and the fingerprint of the evidence that it was made from.
    fn planned(&self) -> (u64, u64);

    /// The last plan.
    fn plan(&self) -> &Plan;

    /// Plans for an episode if a plan is due; whether it was.
    fn prepare(&mut self, episode: u64) -> bool;

    /// Whether decisions are made state by state when asked for, instead of by a plan for all states.
    fn looks_when_asked(&self) -> bool {
        false
    }

    /// What to do in a state in an episode that was prepared.
    fn decide(&mut self, episode: u64, stage: usize, state: usize) -> Action;

    /// What an episode follows that begins before anything more was observed than what the last plan was made from, `[stage][state]`; `None`
    /// if it follows that plan, or a plan of its own as any other episode.
    fn beside(&mut self, _episode: u64) -> Option<Vec<Action>> {
        None
    }

    /// Appends what it would do at every stage and state in an episode that was prepared.
    fn fill_policy(&mut self, episode: u64, out: &mut Vec<Action>);

    /// An episode has ended.
    fn ended(&mut self) {}

    /// Takes an observation in.
    fn learn(&mut self, observation: &Observation<'_>) -> Result<(), EvidenceError>;

    /// Takes an observation in that was made this many times, at least once, at the cost of a few.
    fn learn_times(&mut self, observation: &Observation<'_>, times: u32) -> Result<(), EvidenceError>;

    /// Takes an observation back that was taken in before.
    fn unlearn(&mut self, observation: &Observation<'_>) -> Result<(), EvidenceError>;
}
