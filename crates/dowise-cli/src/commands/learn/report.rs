//! What `dowise learn` found out, for people and as JSON: what every run reports, and what its evaluation adds.

mod exact;
mod monte_carlo;

use dowise::{LearnerSpec, World};
use dowise_study::Evaluation;
use serde::Serialize;

pub(super) use self::exact::{Exact, knowledge};
pub(super) use self::monte_carlo::MonteCarlo;

use crate::output::Output;
use crate::table;

/// The whole answer.
#[derive(Serialize)]
pub(super) struct Report {
    schema: &'static str,
    world: String,
    /// Number of states, and how policies are evaluated; only if that is not exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    states: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evaluation: Option<Evaluation>,
    learner: String,
    /// How it gets from counts to values; only if policies are evaluated exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimate: Option<String>,
    episodes: u64,
    seed: u64,
    #[serde(flatten)]
    found: Found,
}

/// What depends on how policies are evaluated.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Found {
    Exact(Box<Exact>),
    MonteCarlo(Box<MonteCarlo>),
}

impl Report {
    /// Of this many episodes in a world.
    pub(super) fn new((name, world): (&str, &World), of: (&LearnerSpec, u64), episodes: u64, found: Found) -> Report {
        let (spec, seed) = of;
        let (schema, estimated) = match &found {
            Found::Exact(_) => ("dowise-learn/1", false),
            Found::MonteCarlo(_) => ("dowise-learn-unlisted/1", true),
        };
        Report {
            schema,
            world: name.to_owned(),
            states: estimated.then(|| world.n_states()),
            evaluation: estimated.then_some(Evaluation::MonteCarlo),
            learner: spec.to_string(),
            estimate: (!estimated).then(|| spec.estimate()),
            episodes,
            seed,
            found,
        }
    }

    /// What was noticed and is no part of the JSON, as sentences.
    pub(super) fn noticed(&self) -> &[String] {
        match &self.found {
            Found::Exact(found) => found.noticed(),
            Found::MonteCarlo(_) => &[],
        }
    }

    pub(super) fn text(&self, output: &Output) -> String {
        let episodes = table::count(self.episodes);
        match &self.found {
            Found::Exact(found) => {
                let estimate = self.estimate.as_deref().unwrap_or_default();
                let first = format!("{} in {}: {episodes} episodes, {estimate}.", self.learner, self.world);
                format!("{}\n\n{}", table::wrapped(&first), found.text(output))
            }
            Found::MonteCarlo(found) => format!("after {episodes} episodes: {}", found.text()),
        }
    }
}
