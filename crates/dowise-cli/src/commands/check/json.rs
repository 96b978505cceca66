//! What `dowise check --json` prints.

use dowise::world::{Analysis, Finding};
use dowise::{World, WorldError};
use serde::Serialize;

use super::effort::Effort;
use super::features::FeatureReport;
use super::learning::Learning;

/// The whole answer.
#[derive(Serialize)]
pub(super) struct Report {
    /// Changes when a field changes its meaning or goes away.
    schema: &'static str,
    file: String,
    ok: bool,
    findings: Vec<Finding>,
    /// What a reward one step later is worth beside one now.
    #[serde(skip_serializing_if = "Option::is_none")]
    discount: Option<f64>,
    /// Number of states in which an episode has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_states: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    analysis: Option<Analysis>,
    /// Only if the world carries features.
    #[serde(skip_serializing_if = "Option::is_none")]
    features: Option<FeatureReport>,
    /// What planning and learning take.
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<Effort>,
    /// What has to be learned where only the graph is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    learning: Option<Learning>,
}

const SCHEMA: &str = "dowise-check/1";

impl Report {
    /// Without an analysis the world is not sound.
    pub(super) fn new(
        file: String,
        found: &WorldError,
        analysis: Option<Analysis>,
        features: Option<FeatureReport>,
        effort: Option<Effort>,
        learning: Option<Learning>,
    ) -> Report {
        let findings = found.problems.iter().map(|p| p.finding(&found.sources));
        Report {
            schema: SCHEMA,
            file,
            ok: analysis.is_some(),
            findings: findings.collect(),
            discount: None,
            ended_states: None,
            analysis,
            features,
            effort,
            learning,
        }
    }

    /// With how long the episodes of a sound world are and how much later steps count.
    pub(super) fn with_episodes(self, world: &World) -> Report {
        let ended = (0..world.n_states()).filter(|&s| world.has_ended(s)).count();
        Report { discount: Some(world.discount()), ended_states: Some(ended), ..self }
    }
}
