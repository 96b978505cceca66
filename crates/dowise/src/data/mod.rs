//! Logs (offline data): read from tables into observations, written as tables, or simulated.
//!
//! The format is described in `docs/reference/logs.md`.

mod columns;
mod csv;
mod endings;
mod episodes;
mod error;
mod findings;
mod labels;
mod map;
mod map_file;
mod reader;
mod records;
mod row;
mod simulate;
mod step;
mod table;
mod write;

pub(crate) use columns::{all as all_columns, role_of};
pub use csv::CsvTable;
pub use error::LogError;
pub use findings::{Effect, FindingKind, Findings, LogFinding, LogPlace};
pub(crate) use map::Bins;
pub use map::LogMap;
pub use reader::{BinnedVariable, ColumnReport, LogReader, LogReport, PolicyReport, has_randomised_row};
pub use simulate::{Chooser, simulate_log, uniform_propensity};
pub use step::{End, LogStep};
pub use table::{Coded, Table};
pub use write::{LogWriter, WrittenColumns};

pub use crate::diagnostics::Severity;
