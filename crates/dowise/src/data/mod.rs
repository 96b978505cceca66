//! Logs: steps that others played, read from tables into observations.

mod step;

pub use step::{End, LogStep};
