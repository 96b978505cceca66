//! Wrappers of a learner, one file each: they may replace a policy, change a decision, and monitor observations.

mod conservative;
mod explore;
mod graph_repair;
#[cfg(test)]
mod graph_repair_decomposed_tests;
mod graph_revision;
mod history;
mod log_check;
mod nonstationary;
mod return_bound;
mod row_words;
mod safety_budget;

pub use conservative::BaselineReport;
pub(crate) use conservative::{Baseline, SavedBaseline, brought};
pub(crate) use explore::Explore;
pub use graph_repair::Amendment;
pub(crate) use graph_repair::{Guard, SavedGuard};
pub use log_check::LogContradicted;
pub(crate) use log_check::{LogCheck, SavedLogCheck};
pub use nonstationary::ChangeNoticed;
pub(crate) use nonstationary::{Forgetting, SavedForgetting};
pub use safety_budget::{SafetyBudget, share_of_episode, share_of_step};

use std::sync::Arc;

use super::Knowledge;
use super::evidence::EvidenceError;
use super::learner::Kind;
use super::monitor::Monitor;
use super::observation::Observation;
use super::policy::Policy;
use super::session::Session;
use crate::world::Action;

/// The closed list of wrappers; `match`es on it are here and in `save.rs`.
#[derive(Clone, Debug)]
pub(crate) enum Wrapper {
    Explore(Explore),
    Guard(Box<Guard>),
    /// Tests the graph and reports, nothing more.
    Watch(Box<Monitor>),
    Baseline(Box<Baseline>),
    Forget(Box<Forgetting>),
    /// Compares live steps with the log that the learner began with.
    LogCheck(Box<LogCheck>),
}

impl Wrapper {
    /// If it replaces the policy of an episode: the number of its own plan and the fingerprint of the evidence behind
    /// it, zeros for random interventions. `None` leaves the episode to the inner learner.
    pub(crate) fn takes_over(&self) -> Option<(u64, u64)> {
        match self {
            Wrapper::Explore(explore) => explore.takes_over(),
            Wrapper::Guard(_)
            | Wrapper::Watch(_)
            | Wrapper::Baseline(_)
            | Wrapper::Forget(_)
            | Wrapper::LogCheck(_) => None,
        }
    }

    /// Fills the whole policy, `[stage][state]`, of an episode that it takes over.
    pub(crate) fn fill_policy(&self, knowledge: &Knowledge, episode: u64, out: &mut Vec<Action>) {
        match self {
            Wrapper::Explore(explore) => explore.fill_policy(knowledge, episode, out),
            Wrapper::Guard(_)
            | Wrapper::Watch(_)
            | Wrapper::Baseline(_)
            | Wrapper::Forget(_)
            | Wrapper::LogCheck(_) => {
                unreachable!("invariant: only who takes over is asked")
            }
        }
    }

    /// Whether it changes single decisions.
    pub(crate) fn changes_decisions(&self) -> bool {
        match self {
            Wrapper::Explore(explore) => explore.probability > 0.0,
            Wrapper::Guard(_)
            | Wrapper::Watch(_)
            | Wrapper::Baseline(_)
            | Wrapper::Forget(_)
            | Wrapper::LogCheck(_) => false,
        }
    }

    /// The replacement of a decision in a state, if any.
    pub(crate) fn instead(&self, knowledge: &Knowledge, episode: u64, stage: usize, state: usize) -> Option<Action> {
        match self {
            Wrapper::Explore(explore) => explore.instead(knowledge, episode, stage, state),
            Wrapper::Guard(_)
            | Wrapper::Watch(_)
            | Wrapper::Baseline(_)
            | Wrapper::Forget(_)
            | Wrapper::LogCheck(_) => None,
        }
    }

    /// Whether it needs rewards that the inner learner may know already.
    pub(crate) fn looks_at_rewards(&self) -> bool {
        match self {
            Wrapper::Explore(_) | Wrapper::Baseline(_) | Wrapper::Forget(_) | Wrapper::LogCheck(_) => false,
            Wrapper::Guard(_) | Wrapper::Watch(_) => true,
        }
    }

    /// Whether it can remove an observation.
    pub(crate) fn check_unlearn(&self, observation: &Observation<'_>) -> Result<(), EvidenceError> {
        match self {
            Wrapper::Explore(_)
            | Wrapper::Watch(_)
            | Wrapper::Baseline(_)
            | Wrapper::Forget(_)
            | Wrapper::LogCheck(_) => Ok(()),
            Wrapper::Guard(guard) => guard.check_unlearn(observation),
        }
    }

    /// Updates with an observation of an episode (from 1) that the inner learner has counted this many times.
    ///
    /// A test of the graph counts it once: repetitions by a weight are not new observations.
    pub(crate) fn learn(&mut self, inside: &mut Kind, observation: &Observation<'_>, times: u32, episode: u64) {
        match self {
            Wrapper::Explore(_) | Wrapper::Baseline(_) => {}
            Wrapper::Guard(guard) => guard.learn(inside, observation, times, episode),
            Wrapper::Watch(monitor) => monitor.observe(observation),
            Wrapper::LogCheck(check) => check.learn(inside, episode),
            Wrapper::Forget(forget) => forget.learn(inside, observation, times),
        }
    }

    /// Removes an observation that the inner learner has removed.
    pub(crate) fn unlearn(&mut self, observation: &Observation<'_>) {
        match self {
            // Forgetting removes steps itself; the baseline keeps the return of a session until it ends.
            Wrapper::Explore(_)
            | Wrapper::Watch(_)
            | Wrapper::Forget(_)
            | Wrapper::Baseline(_)
            | Wrapper::LogCheck(_) => {}
            Wrapper::Guard(guard) => guard.unlearn(observation),
        }
    }

    /// Records the end of an episode.
    pub(crate) fn end(&mut self, session: &Session) {
        match self {
            Wrapper::Explore(_) | Wrapper::Guard(_) | Wrapper::Watch(_) | Wrapper::Forget(_) | Wrapper::LogCheck(_) => {
            }
            Wrapper::Baseline(baseline) => baseline.end(session),
        }
    }

    /// Records an abandoned episode, which will not end.
    pub(crate) fn gave_up(&mut self, session: &Session) {
        match self {
            Wrapper::Explore(_) | Wrapper::Guard(_) | Wrapper::Watch(_) | Wrapper::Forget(_) | Wrapper::LogCheck(_) => {
            }
            Wrapper::Baseline(baseline) => baseline.end(session),
        }
    }

    /// The policy of a new episode in place of the planned one; `None` if decisions are computed on demand.
    pub(crate) fn replaces(&mut self, planned: Option<Arc<Policy>>) -> Option<Arc<Policy>> {
        match self {
            Wrapper::Explore(_) | Wrapper::Guard(_) | Wrapper::Watch(_) | Wrapper::Forget(_) | Wrapper::LogCheck(_) => {
                planned
            }
            Wrapper::Baseline(baseline) => baseline.replaces(planned),
        }
    }
}
