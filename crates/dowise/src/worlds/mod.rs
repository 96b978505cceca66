//! Built-in worlds (benchmarks and examples): hand-written ones to copy, and generators with settings and a seed.

mod anchored;
mod build;
mod catalogue;
mod deep_sea;
mod linear;
mod linear_chain;
mod linear_code;
mod linear_doses;
mod many_levers;
mod paper;
mod redrawn;
mod river_swim;

pub use catalogue::{TemplateError, TemplateSetting, describe, names, settings, text, world};
pub use deep_sea::DeepSea;
pub use linear::{Linear, LinearWorldError};
pub use linear_chain::{LinearLock, LinearRiver};
pub use linear_code::LinearCode;
pub use linear_doses::LinearDoses;
pub use many_levers::ManyLevers;
pub use paper::Paper;
pub use redrawn::Redrawn;
pub use river_swim::RiverSwim;

/// Why a generator failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GeneratorError {
    /// A table would be too large.
    #[error("{what} would have {:.1e} numbers, and at most {most} are written; choose smaller sizes", *.numbers as f64)]
    TooLarge {
        /// The table.
        what: &'static str,
        /// Its number of entries.
        numbers: u128,
        /// The maximum number of entries.
        most: u128,
    },
    /// A setting is out of range.
    #[error("{setting} is {value}, and must be {must}")]
    OutOfRange {
        /// The setting.
        setting: &'static str,
        /// Its value.
        value: String,
        /// The permitted values.
        must: String,
    },
}
