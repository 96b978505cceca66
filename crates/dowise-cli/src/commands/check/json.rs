//! What `dowise check --json` prints.

use dowise::WorldError;
use dowise::world::{Analysis, Finding};
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
    #[serde(skip_serializing_if = "Option::is_none")]
    analysis: Option<Analysis>,
    /// Only if the world carries features.
    #[serde(skip_serializing_if = "Option::is_none")]
    features: Option<FeatureReport>,
    /// What planning and learning take.
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<Effort>,
    /// What has to be learned where nothing but the graph is told.
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
            analysis,
            features,
            effort,
            learning,
        }
    }
}
