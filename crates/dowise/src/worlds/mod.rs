//! Ready-made worlds: hand-written ones to copy and change, and generators with parameters and a seed.

mod build;
mod deep_sea;
mod paper;
mod river_swim;

pub use deep_sea::DeepSea;
pub use paper::Paper;
pub use river_swim::RiverSwim;

/// A generator was asked for a table that would not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} would have {numbers} numbers, and at most {most} are written; choose smaller sizes")]
pub struct TooLarge {
    /// The table.
    pub what: &'static str,
    /// How many numbers it would have.
    pub numbers: u128,
    /// The most that is written.
    pub most: u128,
}
