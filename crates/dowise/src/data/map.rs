//! A map from a log to a world: column names, value names, bins of numbers, and missing-value codes.

/// Mapping of a log's columns and values; created by [`LogMap::from_toml`].
///
/// ```toml
/// missing = ["NA", "null"]          # these texts mean missing, in every column
/// decimal = ","                     # 4,5 is four and a half; without it a point
/// first_stage = 0                   # stages are counted from 0; without it from 1
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
    /// (column of the log, its role).
    pub(crate) columns: Vec<(String, String)>,
    /// By variable, or by column for standard columns.
    pub(crate) of: Vec<(String, ColumnMap)>,
    /// Missing-value codes.
    pub(crate) missing: Vec<String>,
    /// Whether numbers use a decimal comma.
    pub(crate) decimal_comma: bool,
    /// The number of the log's first stage, less 1.
    pub(crate) before_first_stage: i64,
}

/// The mapping of one variable's columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ColumnMap {
    /// (text in the log, value; `None` for missing).
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

    /// The mapping of this name, created if absent.
    pub(crate) fn entry(&mut self, name: &str) -> &mut ColumnMap {
        let i = self.of.iter().position(|(of, _)| of == name).unwrap_or_else(|| {
            self.of.push((name.to_owned(), ColumnMap::default()));
            self.of.len() - 1
        });
        &mut self.of[i].1
    }

    /// The mapped name of a column.
    pub(super) fn renamed<'a>(&'a self, column: &'a str) -> &'a str {
        self.columns.iter().find(|(from, _)| from == column).map_or(column, |(_, to)| to)
    }
}
