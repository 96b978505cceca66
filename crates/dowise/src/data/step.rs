//! One step of a log: an observation with reward, propensity, policy, weight and end.

use crate::learn::Observation;

/// One step of a log.
///
/// Consumers of a log take steps, or whole episodes as slices of steps in the order of their stages. They do not depend
/// on the source: a file, a frame or a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct LogStep<'a> {
    /// Number of the episode, from 0 in order of first appearance.
    pub episode: u64,
    /// Line of the file, from 1; 0 without a file.
    pub line: u64,
    /// The observation, validated against the world.
    pub observation: Observation<'a>,
    /// Net reward of the step, if recorded: in the column `reward`, or as payments of all reward terms.
    pub reward: Option<f64>,
    /// Propensity of the intervention, if recorded.
    pub propensity: Option<f64>,
    /// The behaviour policy, as a position in [`LogReport::policies`](super::LogReport::policies), if recorded.
    pub policy: Option<u32>,
    /// Multiplicity of the row, at least 1.
    pub weight: u32,
    /// The end of the episode, if it is here.
    pub end: Option<End>,
    /// Whether all levers were set by a draw given recorded variables only, if recorded.
    pub randomised: Option<bool>,
}

/// The kind of an episode's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Terminated: no further step and no further reward.
    Terminated,
    /// Truncated (censored): the record stops, and the continuation is unknown.
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
    /// A step with an observation only, counted once.
    pub fn new(episode: u64, observation: Observation<'a>) -> LogStep<'a> {
        let (reward, propensity, policy, end, randomised) = (None, None, None, None, None);
        LogStep { episode, line: 0, observation, reward, propensity, policy, weight: 1, end, randomised }
    }

    /// The same step with owned values.
    pub fn into_owned(self) -> LogStep<'static> {
        LogStep { observation: self.observation.into_owned(), ..self }
    }
}
