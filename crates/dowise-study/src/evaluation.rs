//! How policies are evaluated policies: the exact values of all states, or episodes that are played.

use std::fmt;
use std::str::FromStr;

use dowise::World;
use dowise::learn::LearnerSpec;
use dowise::simulate::SampledValueIterationError;
use serde::{Deserialize, Serialize};

use crate::StudyError;
use crate::monte_carlo::learns_from_visited_states;

/// How policies are evaluated; a study, `dowise learn` and `dowise.compare` know it once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Evaluation {
    /// By exact values of all states: of the best policy, and of every policy that is followed.
    Exact,
    /// By playing: against a plan by sampled states, with the same random numbers. Learners that regress on features learn from the
    /// states that they meet, so that nothing is as large as the number of states.
    #[serde(rename = "play", alias = "monte-carlo")]
    MonteCarlo,
}

/// States times causes times stages up to which `dowise learn` evaluates exactly without being asked.
///
/// An exact plan looks at every one of these, and so does evaluation a policy; a learner that regresses does both for almost every one of
/// its first episodes. With so many that takes about 45 ms an episode (38 ms measured for S = 2,048, Z = 64, H = 10, and 84 ms for twice the states).
pub const EXACT_WORK: u128 = 1_500_000;

impl Evaluation {
    /// All of them.
    pub const ALL: [Evaluation; 2] = [Evaluation::Exact, Evaluation::MonteCarlo];

    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Evaluation::Exact => "exact",
            Evaluation::MonteCarlo => "monte-carlo",
        }
    }

    /// The judge of a world for whom `chosen` was asked: exact where states can be enumerated, if nothing was. `name` is for messages.
    pub fn of(chosen: Option<Evaluation>, world: &World, name: &str) -> Result<Evaluation, StudyError> {
        match (chosen, world.is_enumerable()) {
            (Some(Evaluation::Exact), false) => Err(StudyError::Invalid(format!(
                "{name}: exact values need all states enumerated, and {} are more than can be enumerated; evaluate by Monte Carlo (`--evaluate monte-carlo`; `evaluate = \"monte-carlo\"` in files and Python)",
                world.n_states()
            ))),
            (Some(Evaluation::MonteCarlo), true) if !can_be_drawn(world) => Err(StudyError::NotSimulable {
                world: name.to_owned(),
                message: format!(
                    "whoever is evaluated by Monte Carlo is compared with a plan by sampled states: {}; or evaluate exactly",
                    SampledValueIterationError::NoAnchors
                ),
            }),
            (None, false) | (Some(Evaluation::MonteCarlo), _) => Ok(Evaluation::MonteCarlo),
            (None | Some(Evaluation::Exact), true) => Ok(Evaluation::Exact),
        }
    }

    /// The judge of one run that somebody waits for, and who has chosen none: by playing as well where states could be enumerated, if the world is of
    /// low rank, the learner can learn from the states that it meets, and exact values would be more than [`EXACT_WORK`].
    pub fn while_waiting(world: &World, learner: &LearnerSpec) -> Evaluation {
        let can_play = || {
            can_be_drawn(world)
                && world.rewards().iter().all(|term| term.table.is_some())
                && learns_from_visited_states(learner, world)
        };
        match world.is_enumerable() && (exact_work(world) <= EXACT_WORK || !can_play()) {
            true => Evaluation::Exact,
            false => Evaluation::MonteCarlo,
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

impl FromStr for Evaluation {
    type Err = String;

    fn from_str(text: &str) -> Result<Evaluation, String> {
        // `play` is what files called Monte Carlo before.
        let word = if text == "play" { "monte-carlo" } else { text };
        let known = Evaluation::ALL.into_iter().find(|evaluation| evaluation.word() == word);
        known.ok_or_else(|| format!("\"{text}\" is no way to evaluate policies; there are exact and monte-carlo"))
    }
}

impl fmt::Display for Evaluation {
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
        assert!(Evaluation::ALL.into_iter().all(|evaluation| evaluation.to_string().parse() == Ok(evaluation)));
        assert!("guess".parse::<Evaluation>().unwrap_err().contains("there are exact and monte-carlo"));
    }

    #[test]
    fn interactive_runs_use_monte_carlo_only_where_exact_values_take_long() {
        let of = |world: &str, learner: &str| {
            Evaluation::while_waiting(&WorldChoice::read(world).make(0).unwrap(), &learner.parse().unwrap())
        };
        let large = "linear-lock:states=16384,causes=64,dimension=8,levels=9";
        assert_eq!(of(large, "c-blsvi"), Evaluation::MonteCarlo);
        // Tables, and ψ(s, a) of every intervention, need the list.
        assert_eq!(of(large, "c-ucbvi"), Evaluation::Exact);
        assert_eq!(of(large, "lsvi-ucb"), Evaluation::Exact);
        assert_eq!(of("linear-lock:states=1024,causes=16,dimension=8,levels=9", "c-blsvi"), Evaluation::Exact);
        assert_eq!(of("paper", "c-blsvi"), Evaluation::Exact);
        assert_eq!(of("linear-code", "c-blsvi"), Evaluation::MonteCarlo);
    }

    #[test]
    fn exact_values_are_refused_for_non_enumerable_states() {
        let code = WorldChoice::read("linear-code").make(0).unwrap();
        let error = Evaluation::of(Some(Evaluation::Exact), &code, "linear-code").unwrap_err().to_string();
        assert!(error.contains("more than can be enumerated") && error.contains("--evaluate monte-carlo"), "{error}");
        assert_eq!(Evaluation::of(None, &code, "").unwrap(), Evaluation::MonteCarlo);
    }
}
