//! The reproduction as one self-contained page of HTML: claims, figures, settings, timings.

use std::fmt::Write;

use super::figures::figures;
use super::results::Results;
use crate::StudyError;
use crate::report::{Page, escape};

/// The page, with all figures inside.
pub fn html(results: &Results) -> Result<String, StudyError> {
    let mut page = Page::new("The paper's experiments, again");
    let claims = results.claims();
    let held = claims.iter().filter(|c| c.held).count();
    page.paragraph(&format!("{held} of {} checks held.", claims.len()));
    let rows = claims.iter().map(|c| {
        let mark = if c.held { "held" } else { "not held" };
        [c.label(), c.rule.clone(), c.claim.clone(), mark.to_owned(), c.numbers.clone()].to_vec()
    });
    page.table(&["experiment", "rule", "claim", "", "numbers"], rows);
    for (_, figure) in figures(results) {
        page.figure(&figure)?;
    }
    let mut settings = String::new();
    for (part, study, tables) in &results.parts {
        let seconds: f64 = tables.seconds.iter().sum();
        let _ = write!(
            settings,
            "<details><summary>{}: {} runs, {seconds:.1} s of computing</summary><pre>{}</pre></details>",
            escape(part.title()),
            study.n_runs(),
            escape(&study.to_toml())
        );
    }
    page.heading("Settings and timings");
    page.raw(&settings);
    Ok(page.finish())
}
