//! One step of a log: an observation, and what a log says beside it.

use crate::learn::Observation;

/// One step of a log.
///
/// Whatever reads a log takes steps, or whole episodes as slices of steps in the order of their stages; it does not know
/// whether they came from a file, a frame or a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct LogStep<'a> {
    /// Number of the episode, from 0 in the order in which episodes first appear.
    pub episode: u64,
    /// Line of the file, from 1; 0 where there is no file.
    pub line: u64,
    /// What was seen, checked against the world.
    pub observation: Observation<'a>,
    /// What was received for the whole step, the cost of the intervention taken off, where the log says it: in its column
    /// `reward`, or by a payment for every reward term.
    pub reward: Option<f64>,
    /// The probability with which the intervention was chosen, where the log says it.
    pub propensity: Option<f64>,
    /// Which policy chose, as a position in [`LogReport::policies`](super::LogReport::policies), where the log says it.
    pub policy: Option<u32>,
    /// How often the row counts: at least once.
    pub weight: u32,
    /// How the episode ended, if it ended here.
    pub end: Option<End>,
}

/// How an episode ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself: nothing follows, and nothing more is paid.
    Terminated,
    /// The record stops, and what would have followed is not known.
    Truncated,
}

impl End {
    /// The word in a log.
    pub fn word(self) -> &'static str {
        match self {
            End::Terminated => "terminated",
            End::Truncated => "truncated",
        }
    }
}

impl<'a> LogStep<'a> {
    /// A step that says nothing but what was seen, and counts once.
    pub fn new(episode: u64, observation: Observation<'a>) -> LogStep<'a> {
        let (reward, propensity, policy) = (None, None, None);
        LogStep { episode, line: 0, observation, reward, propensity, policy, weight: 1, end: None }
    }

    /// The same step with values of its own, to be kept.
    pub fn into_owned(self) -> LogStep<'static> {
        let LogStep { episode, line, observation, reward, propensity, policy, weight, end } = self;
        LogStep { episode, line, observation: observation.into_owned(), reward, propensity, policy, weight, end }
    }
}
