//! Offline analysis of a log: fit, graph and missingness tests, off-policy evaluation, safe policy improvement.

mod assumptions;
mod censoring;
mod contingency;
mod episodes;
mod evaluate;
pub mod fit;
mod form_fit;
mod graph_test;
mod missingness;
mod propensities;
mod returns;
mod safe;
mod summary;
mod unrecorded;

pub use assumptions::{
    About, Assumption, AssumptionRecord, GraphCheck, Identification, Identified, MarkovCheck, Status,
};
pub use episodes::{EpisodeError, Episodes, LeftOut};
pub use evaluate::{
    Benchmark, Bin, Calibration, Claim, Evaluation, Extrapolation, Interval, Lacking, Logged, OfflineError,
    OfflineOptions, OfflineValue, OutcomeCheck, RestsOn, Return, Robust, Sensitivity, Shortfall, Starts, Support,
    TippingPoint, Unsupported, Variable, calibrate, evaluate, evaluate_logged,
};
pub use graph_test::{Effect, GraphReport, GraphTest, RowEffect, Tested, Untested};
pub use missingness::{MissingnessCounts, MissingnessTest};
pub use propensities::{PropensityCounts, PropensityMismatch, PropensityTest};
pub use safe::{Candidate, Recommendation, SafePlan, Tier, plan_from_evidence, plan_safely};
pub use summary::LogSummary;
