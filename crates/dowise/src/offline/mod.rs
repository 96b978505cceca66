//! Offline analysis of a log: fit, graph and missingness tests, off-policy evaluation, safe policy improvement.

mod assumptions;
mod episodes;
mod evaluate;
pub mod fit;
mod graph_test;
mod missingness;
mod safe;
mod summary;

pub use assumptions::{About, Assumption, GraphCheck, Status};
pub use episodes::{EpisodeError, Episodes, LeftOut};
pub use evaluate::{
    Bin, Calibration, Evaluation, Interval, Logged, OfflineError, OfflineOptions, OfflineValue, Return, Robust, Starts,
    Support, Unsupported, Variable, calibrate, evaluate, evaluate_logged,
};
pub use graph_test::{Effect, GraphReport, GraphTest, RowEffect, Tested, Untested};
pub use missingness::{MissingnessCounts, MissingnessTest};
pub use safe::{Candidate, Recommendation, SafePlan, plan_from_evidence, plan_safely};
pub use summary::LogSummary;
