//! Evaluation and safe plans from logs: exact where they must be, and right as often as they say.

mod advice;
mod attacked;
#[path = "../common/mod.rs"]
mod common;
mod coverage;
mod experiments;
mod harm;
mod hidden_causes;
mod identification;
mod logger;
mod missing;
mod missingness;
mod propensities;
mod refusals;
mod sensitivity;
mod values;
