//! The error of making a world: all problems found, with the sources they point into.

use std::fmt;

use crate::diagnostics::{At, Problem, Severity, Source};

/// Validation failure: all problems found, with the sources they point into.
#[derive(Clone, Debug)]
pub struct WorldError {
    /// All problems, in the order found; at least one is an error.
    pub problems: Vec<Problem>,
    /// The sources indexed by [`At::source`].
    pub sources: Vec<Source>,
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
