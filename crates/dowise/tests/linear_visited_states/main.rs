//! Learners over visited states: the same as learners over enumerable states, where states can be enumerated.

mod enumerated;
mod features;
mod learner;
mod worlds;

use dowise::linear::{Beta, LinearOptions, LinearPreset, Switching, Weights};

pub(crate) fn options(name: &str, seed: u64) -> LinearOptions {
    let options = name.parse::<LinearPreset>().unwrap().options(200, seed);
    LinearOptions { switching: Switching::Doubling, ..options }
}

/// `c-lsvi-ucb` with steps weighed by variance, at a scale of β at which weights differ.
pub(crate) fn weighed(beta: Beta, beta_scale: f64) -> LinearOptions {
    LinearOptions { weights: Weights::Variance, beta, beta_scale, ..options("c-lsvi-ucb", 3) }
}
