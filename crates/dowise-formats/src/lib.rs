//! Causal graphs and Bayesian networks of other tools: into a world of dowise, and out of one.
//!
//! Files in BIF, XMLBIF, DAGitty, DOT and GML are read into one neutral [`Network`]; [`Roles`] say which of its variables can
//! be set, are observed, or are kept from step to step, and [`import`] makes a world of the two. [`export`] goes the other way.
//! Whatever is wrong with a file is said at once, each mistake with its line and what to do.

mod bif;
mod dagitty;
mod dot;
mod export;
mod findings;
mod format;
mod gml;
mod import;
mod limits;
mod network;
mod roles;
mod scan;
mod tables;
mod xmlbif;

pub use export::{Exported, export};
pub use format::{Format, read_graph};
pub use import::{Imported, import};
pub use limits::{MOST_BYTES, MOST_ENTRIES, MOST_VALUES, MOST_VARIABLES};
pub use network::{GivenVariable, GraphFile, Network, Role, Variable};
pub use roles::{Missing, Payment, Roles};
pub use tables::ROW_TOLERANCE;
