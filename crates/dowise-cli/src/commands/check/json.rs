//! What `dowise check --json` prints.

use dowise::WorldError;
use dowise::world::{Analysis, Problem, Severity};
use serde::Serialize;

use super::features::FeatureReport;

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
}

#[derive(Serialize)]
struct Finding {
    severity: &'static str,
    code: &'static str,
    message: String,
    help: Option<String>,
    /// Line and column from 1, where the place is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<Place>,
}

#[derive(Serialize)]
struct Place {
    file: String,
    line: usize,
    column: usize,
}

const SCHEMA: &str = "dowise-check/1";

impl Report {
    /// Without an analysis the world is not sound.
    pub(super) fn new(
        file: String,
        found: &WorldError,
        analysis: Option<Analysis>,
        features: Option<FeatureReport>,
    ) -> Report {
        let findings = found.problems.iter().map(|p| {
            let place = p.at.and_then(|at| found.line_column(at));
            finding(p, place.map(|(file, line, column)| Place { file: file.to_owned(), line, column }))
        });
        Report { schema: SCHEMA, file, ok: analysis.is_some(), findings: findings.collect(), analysis, features }
    }
}

fn finding(problem: &Problem, place: Option<Place>) -> Finding {
    let severity = match problem.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let Problem { code, message, help, .. } = problem.clone();
    Finding { severity, code, message, help, place }
}
