//! Validation problems of a world: severity, code, message, remedy and source location.

use std::fmt;

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

/// The severity of a [`Problem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The world cannot be used.
    Error,
    /// The world can be used, but is probably not what its author meant.
    Warning,
    /// Something that was corrected, such as a row off by rounding.
    Note,
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

/// Validation failure: all problems found, with the sources they point into.
#[derive(Clone, Debug)]
pub struct WorldError {
    /// All problems, in the order found; at least one is an error.
    pub problems: Vec<Problem>,
    /// The sources indexed by [`At::source`].
    pub sources: Vec<Source>,
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
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
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

impl WorldError {
    /// Line and column (both from 1) of a location, with the name of its source.
    pub fn line_column(&self, at: At) -> Option<(&str, usize, usize)> {
        let source = self.sources.get(at.source)?;
        let (line, column) = source.line_column(at.start);
        Some((&source.name, line, column))
    }
}

impl fmt::Display for WorldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errors = self.problems.iter().filter(|p| p.severity == Severity::Error);
        for (i, problem) in errors.enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            f.write_str(&problem.render(&self.sources))?;
        }
        Ok(())
    }
}

impl std::error::Error for WorldError {}
