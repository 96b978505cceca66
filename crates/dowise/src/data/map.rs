//! A map between a log and a world: other names of columns and values, bins of numbers, and what means missing.

/// How a log's columns and values are to be read; made by [`LogMap::from_toml`].
///
/// ```toml
/// missing = ["NA", "null"]          # these texts mean missing, in every column
///
/// [columns]                         # column of the log = what it is
/// patient = "episode"
/// bp = "pressure"
///
/// [values.kidney]                   # text in the log = value of the world, or "" for missing
/// ok = "healthy"
/// bad = "impaired"
///
/// [bins.pressure]                   # below 90, from 90 and below 140, from 140
/// edges = [90, 140]
/// labels = ["low", "normal", "high"] # without it: the variable's values in order
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogMap {
    /// (column of the log, what it is).
    pub(crate) columns: Vec<(String, String)>,
    /// By variable, or by column for those that are not variables.
    pub(crate) of: Vec<(String, ColumnMap)>,
    /// Texts that mean missing.
    pub(crate) missing: Vec<String>,
}

/// What is different in the columns of one variable.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ColumnMap {
    /// (text in the log, value; `None` where it means missing).
    pub(crate) values: Vec<(String, Option<String>)>,
    pub(crate) bins: Option<Bins>,
}

/// Numbers cut into intervals, each closed on the left.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bins {
    /// Increasing.
    pub(crate) edges: Vec<f64>,
    /// One more than edges.
    pub(crate) labels: Vec<String>,
}

impl LogMap {
    pub(super) fn column(&self, name: &str) -> Option<&ColumnMap> {
        self.of.iter().find(|(of, _)| of == name).map(|(_, map)| map)
    }

    /// What is different in the columns of this name, to be filled in.
    pub(crate) fn entry(&mut self, name: &str) -> &mut ColumnMap {
        let i = self.of.iter().position(|(of, _)| of == name).unwrap_or_else(|| {
            self.of.push((name.to_owned(), ColumnMap::default()));
            self.of.len() - 1
        });
        &mut self.of[i].1
    }

    /// What a column of the log is.
    pub(super) fn renamed<'a>(&'a self, column: &'a str) -> &'a str {
        self.columns.iter().find(|(from, _)| from == column).map_or(column, |(_, to)| to)
    }
}
