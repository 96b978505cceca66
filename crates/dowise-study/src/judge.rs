//! Who judges policies: the exact values of all states, or episodes that are played.

use std::fmt;
use std::str::FromStr;

use dowise::World;
use dowise::learn::LearnerSpec;
use dowise::simulate::SampledPlanError;
use serde::{Deserialize, Serialize};

use crate::StudyError;
use crate::by_play::learns_from_states_met;

/// How policies are judged; a study, `dowise learn` and `dowise.compare` are told it once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Judge {
    /// By exact values of all states: of the best policy, and of every policy that is followed.
    Exact,
    /// By playing: against a plan by sampled states, with the same random numbers. Learners that regress on features learn from the
    /// states that they meet, so that nothing is as large as the number of states.
    Play,
}

/// States times causes times stages up to which `dowise learn` judges exactly without being asked.
///
/// An exact plan looks at every one of these, and so does judging a policy; a learner that regresses does both for almost every one of
/// its first episodes. With so many that takes about 45 ms an episode (38 ms measured for S = 2,048, Z = 64, H = 10, and 84 ms for twice the states).
pub const EXACT_WORK: u128 = 1_500_000;

impl Judge {
    /// All of them.
    pub const ALL: [Judge; 2] = [Judge::Exact, Judge::Play];

    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Judge::Exact => "exact",
            Judge::Play => "play",
        }
    }

    /// The judge of a world for whom `chosen` was asked: exact where states can be listed, if nothing was. `name` is for messages.
    pub fn of(chosen: Option<Judge>, world: &World, name: &str) -> Result<Judge, StudyError> {
        match (chosen, world.is_listed()) {
            (Some(Judge::Exact), false) => Err(StudyError::Invalid(format!(
                "{name}: exact values need a list of all states, and {} are more than can be listed; judge by playing (`--judge play`; `judge = \"play\"` in files and Python)",
                world.n_states()
            ))),
            (Some(Judge::Play), true) if !can_be_drawn(world) => Err(StudyError::NotSimulable {
                world: name.to_owned(),
                message: format!(
                    "whoever is judged by playing is compared with a plan by sampled states: {}; or judge exactly",
                    SampledPlanError::NoAnchors
                ),
            }),
            (None, false) | (Some(Judge::Play), _) => Ok(Judge::Play),
            (None | Some(Judge::Exact), true) => Ok(Judge::Exact),
        }
    }

    /// The judge of one run that somebody waits for, and who has chosen none: by playing as well where states could be listed, if the world is of
    /// low rank, the learner can learn from the states that it meets, and exact values would be more than [`EXACT_WORK`].
    pub fn while_waiting(world: &World, learner: &LearnerSpec) -> Judge {
        let can_play = || {
            can_be_drawn(world)
                && world.rewards().iter().all(|term| term.table.is_some())
                && learns_from_states_met(learner, world)
        };
        match world.is_listed() && (exact_work(world) <= EXACT_WORK || !can_play()) {
            true => Judge::Exact,
            false => Judge::Play,
        }
    }
}

/// Whether states can be drawn of anchors, as a plan by sampled states does.
fn can_be_drawn(world: &World) -> bool {
    world.low_rank().is_some_and(|low_rank| low_rank.is_mixture())
}

/// States times causes times stages.
fn exact_work(world: &World) -> u128 {
    let causes: u128 = world.sizes(&world.cause_variables()).iter().map(|&n| n as u128).product();
    causes.saturating_mul(world.n_states() as u128).saturating_mul(world.horizon() as u128)
}

impl FromStr for Judge {
    type Err = String;

    fn from_str(text: &str) -> Result<Judge, String> {
        let known = Judge::ALL.into_iter().find(|judge| judge.word() == text);
        known.ok_or_else(|| format!("\"{text}\" is no way to judge; there are exact and play"))
    }
}

impl fmt::Display for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WorldChoice;

    #[test]
    fn words_are_read_back_and_others_are_refused_with_those_there_are() {
        assert!(Judge::ALL.into_iter().all(|judge| judge.to_string().parse() == Ok(judge)));
        assert!("guess".parse::<Judge>().unwrap_err().contains("there are exact and play"));
    }

    #[test]
    fn a_run_that_somebody_waits_for_is_judged_by_playing_only_where_exact_values_take_long_and_play_can_judge() {
        let of = |world: &str, learner: &str| {
            Judge::while_waiting(&WorldChoice::read(world).make(0).unwrap(), &learner.parse().unwrap())
        };
        let large = "linear-lock:states=16384,causes=64,dimension=8,levels=9";
        assert_eq!(of(large, "c-blsvi"), Judge::Play);
        // Tables, and ψ(s, a) of every intervention, need the list.
        assert_eq!(of(large, "c-ucbvi"), Judge::Exact);
        assert_eq!(of(large, "lsvi-ucb"), Judge::Exact);
        assert_eq!(of("linear-lock:states=1024,causes=16,dimension=8,levels=9", "c-blsvi"), Judge::Exact);
        assert_eq!(of("paper", "c-blsvi"), Judge::Exact);
        assert_eq!(of("linear-code", "c-blsvi"), Judge::Play);
    }

    #[test]
    fn exact_values_are_refused_where_states_cannot_be_listed() {
        let code = WorldChoice::read("linear-code").make(0).unwrap();
        let error = Judge::of(Some(Judge::Exact), &code, "linear-code").unwrap_err().to_string();
        assert!(error.contains("more than can be listed") && error.contains("--judge play"), "{error}");
        assert_eq!(Judge::of(None, &code, "").unwrap(), Judge::Play);
    }
}
