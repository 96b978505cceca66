//! Shows what is wrong with a world: each problem with its line, the place underlined, and what to do.

use std::fmt;
use std::io::{self, Write};

use dowise::world::{Finding, Problem, Severity, Source};
use dowise::{World, WorldError};
use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};
use serde::Serialize;

use crate::output::{Failure, Output};
use crate::table;

/// Prints every problem on standard error, then how many there are.
pub(crate) fn problems(error: &WorldError, output: &Output) {
    for problem in &error.problems {
        show(problem, &error.sources, output);
    }
    let n = error.problems.iter().filter(|p| p.severity == Severity::Error).count();
    output.error(if n == 1 { "1 problem found".to_owned() } else { format!("{n} problems found") });
}

/// What is wrong with a world, as `dowise check --json` says it.
#[derive(Serialize)]
struct Refused<'a> {
    schema: &'static str,
    file: &'a str,
    ok: bool,
    findings: Vec<Finding>,
}

/// Says what is wrong with a world that a command cannot go on with: for people, or as JSON where the answer would have been JSON.
pub(crate) fn refused(file: &str, error: &WorldError, json: bool, output: &Output) -> Failure {
    if json {
        let findings = error.problems.iter().map(|p| p.finding(&error.sources)).collect();
        if let Err(failure) = output.json(&Refused { schema: "dowise-check/1", file, ok: false, findings }) {
            return failure;
        }
    } else {
        problems(error, output);
    }
    Failure::Shown
}

/// Prints one problem on standard error.
pub(crate) fn show(problem: &Problem, sources: &[Source], output: &Output) {
    let theme = if output.colour_err() { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler =
        GraphicalReportHandler::new_themed(theme).with_width(table::width()).with_links(false).with_context_lines(1);
    let source = problem.at.and_then(|at| sources.get(at.source));
    let shown = Shown {
        problem,
        source: source.map(|s| NamedSource::new(&s.name, s.text.clone())),
        length: source.map_or(0, |s| s.text.len()),
    };
    let mut text = String::new();
    let rendered = handler.render_report(&mut text, &shown);
    if rendered.is_err() {
        // The place could not be shown; the message still can.
        text = format!("{}\n", problem.message);
    }
    let _ = writeln!(io::stderr(), "{text}");
}

/// The findings that every answer should come with, not only `dowise check`: numbers that rounding may hide, and rows that were
/// written and never count.
pub(crate) fn decisive(world: &World) -> impl Iterator<Item = &Problem> {
    world.findings().iter().filter(|finding| ["badly-scaled", "dead-row"].contains(&finding.code))
}

/// A problem with the text that it points into.
#[derive(Debug)]
struct Shown<'a> {
    problem: &'a Problem,
    source: Option<NamedSource<String>>,
    length: usize,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem.message)
    }
}

impl std::error::Error for Shown<'_> {}

impl Diagnostic for Shown<'_> {
    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.problem.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
            Severity::Note => miette::Severity::Advice,
        })
    }

    fn help(&self) -> Option<Box<dyn fmt::Display + '_>> {
        self.problem.help.as_ref().map(|h| Box::new(h) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|s| s as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.source.as_ref()?;
        let at = self.problem.at?;
        let start = at.start.min(self.length);
        let end = at.end.clamp(start, self.length);
        Some(Box::new(std::iter::once(LabeledSpan::new(None, start, end - start))))
    }
}
