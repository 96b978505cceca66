//! Findings about a text that a person wrote: severity, code, place, statement and remedy.
//!
//! World files, maps of logs and graphs of other tools share [`Problem`]. Three kinds of finding are apart:
//! `data::LogFinding` is a group of rows with a count and the treatment of these rows, and shares the [`Severity`];
//! `linear::FeatureFinding` and `learn::GraphFinding` are numbers that a program compares, about no text at all.

use serde::Serialize;

/// A byte range in one of the sources of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// The source: 0 is the world file, others are its tables, in reading order.
    pub source: usize,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// A value with its source location, if it comes from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Its location.
    pub at: Option<At>,
}

impl<T> Located<T> {
    /// A value with its place.
    pub fn new(value: T, at: Option<At>) -> Self {
        Located { value, at }
    }
}

impl<T> From<T> for Located<T> {
    fn from(value: T) -> Self {
        Located { value, at: None }
    }
}

impl From<&str> for Located<String> {
    fn from(value: &str) -> Self {
        Located { value: value.to_owned(), at: None }
    }
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The text cannot be used, or rows of a log are left out.
    Error,
    /// The text can be used, but is probably not what its author meant.
    Warning,
    /// Something was corrected, is missing, or is ignored; nothing is wrong.
    Note,
}

impl Severity {
    /// `error`, `warning` or `note`.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

/// One finding about a world.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Its severity.
    pub severity: Severity,
    /// A stable, short code such as `row-sum`.
    pub code: &'static str,
    /// The problem, with the names as the user wrote them.
    pub message: String,
    /// The remedy.
    pub help: Option<String>,
    /// Its location.
    pub at: Option<At>,
}

impl Problem {
    /// An error.
    pub fn error(code: &'static str, message: impl Into<String>) -> Problem {
        Problem { severity: Severity::Error, code, message: message.into(), help: None, at: None }
    }

    /// A warning.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Problem {
        Problem { severity: Severity::Warning, ..Problem::error(code, message) }
    }

    /// A note.
    pub fn note(code: &'static str, message: impl Into<String>) -> Problem {
        Problem { severity: Severity::Note, ..Problem::error(code, message) }
    }

    /// Adds the remedy.
    pub fn help(mut self, help: impl Into<String>) -> Problem {
        self.help = Some(help.into());
        self
    }

    /// Adds the location.
    pub fn at(mut self, at: Option<At>) -> Problem {
        self.at = at;
        self
    }
}

/// A source of a world: a name to show and the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// File name as given, or a placeholder such as `<text>`.
    pub name: String,
    /// The whole text.
    pub text: String,
}

impl Source {
    /// Line and column (both from 1) of a byte; an offset inside a character counts as that character's.
    pub fn line_column(&self, byte: usize) -> (usize, usize) {
        let mut end = byte.min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &self.text[..end];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        (line, column)
    }
}

/// A [`Problem`] as plain data, with its location in lines and columns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// `error`, `warning` or `note`.
    pub severity: &'static str,
    /// Its code.
    pub code: &'static str,
    /// The problem.
    pub message: String,
    /// The remedy.
    pub help: Option<String>,
    /// Where, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
}

/// A location in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The file name as given.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
}

impl Problem {
    /// The finding as plain data.
    pub fn finding(&self, sources: &[Source]) -> Finding {
        let severity = self.severity.word();
        let place = self.at.and_then(|at| Some((sources.get(at.source)?, at))).map(|(source, at)| {
            let (line, column) = source.line_column(at.start);
            Place { file: source.name.clone(), line, column }
        });
        let Problem { code, message, help, .. } = self.clone();
        Finding { severity, code, message, help, place }
    }

    /// The finding on one line: `file:line:column: message; help`.
    pub fn render(&self, sources: &[Source]) -> String {
        let mut out = String::new();
        if let Some((source, at)) = self.at.and_then(|at| Some((sources.get(at.source)?, at))) {
            let (line, column) = source.line_column(at.start);
            out.push_str(&format!("{}:{line}:{column}: ", source.name));
        } else if let Some(source) = sources.first() {
            out.push_str(&format!("{}: ", source.name));
        }
        out.push_str(&self.message);
        if let Some(help) = &self.help {
            out.push_str("; ");
            out.push_str(help);
        }
        out
    }
}

/// Problems that are listed one by one; of the rest, errors are counted.
const MOST_PROBLEMS: usize = 100;

/// All problems of a text so far, so that they are reported together.
#[derive(Debug, Default)]
pub struct Problems {
    list: Vec<Problem>,
    errors: usize,
    left_out: usize,
}

impl Problems {
    /// Adds a problem.
    pub fn push(&mut self, problem: Problem) {
        let error = usize::from(problem.severity == Severity::Error);
        self.errors += error;
        if self.list.len() < MOST_PROBLEMS {
            self.list.push(problem);
        } else {
            self.left_out += error;
        }
    }

    /// Counts an error that was reported elsewhere.
    pub fn pass_over(&mut self) {
        self.errors += 1;
    }

    /// Withdraws notes and warnings with this code.
    pub fn forget(&mut self, code: &str) {
        self.list.retain(|p| p.code != code);
    }

    /// Number of errors so far.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// Number of problems that are listed so far.
    pub fn listed(&self) -> usize {
        self.list.len()
    }

    /// The problems that are listed, in the order found.
    pub fn into_list(self) -> Vec<Problem> {
        self.list
    }

    /// All problems in the order of the text, those without a place last; `Err` if one is an error.
    pub fn finish(mut self) -> Result<Vec<Problem>, Vec<Problem>> {
        self.list.sort_by_key(|p| p.at.map_or((usize::MAX, 0), |at| (at.source, at.start)));
        if self.left_out > 0 {
            self.list.push(Problem::error("more", format!("and {} more problems", self.left_out)));
        }
        if self.errors > 0 { Err(self.list) } else { Ok(self.list) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_come_in_the_order_of_the_text_and_the_rest_is_counted() {
        let at = |start| Some(At { source: 0, start, end: start + 1 });
        let mut some = Problems::default();
        some.push(Problem::note("last", "has no place"));
        some.push(Problem::note("second", "is later").at(at(7)));
        some.push(Problem::note("first", "is earlier").at(at(3)));
        some.push(Problem::note("withdrawn", "is none"));
        some.forget("withdrawn");
        let codes: Vec<&str> = some.finish().unwrap().iter().map(|p| p.code).collect();
        assert_eq!(codes, ["first", "second", "last"]);

        let mut many = Problems::default();
        (0..MOST_PROBLEMS + 5).for_each(|i| many.push(Problem::error("wrong", "is wrong").at(at(i))));
        assert_eq!((many.errors(), many.listed()), (MOST_PROBLEMS + 5, MOST_PROBLEMS));
        assert_eq!(many.finish().unwrap_err().last().unwrap().message, "and 5 more problems");

        let mut elsewhere = Problems::default();
        elsewhere.pass_over();
        assert!(elsewhere.finish().unwrap_err().is_empty());
    }
}
