//! Fits the parameters of a world to a log: posterior means, credible intervals, and unidentified quantities.
//!
//! ```
//! use dowise::data::LogStep;
//! use dowise::learn::Observation;
//! use dowise::offline::fit::{FitOptions, Fitting};
//! use dowise::{World, worlds};
//! let world = worlds::world("river-swim", &[])?;
//! let mut fitting = Fitting::new(&world, FitOptions::default())?;
//! let knowledge = fitting.knowledge().clone();
//! let step = Observation::at(&knowledge, 0, 0)?.did(&knowledge, 1)?.saw(&knowledge, [("push", "forward")])?.then(&knowledge, 1)?;
//! fitting.add(&LogStep::new(0, step))?;
//! let fitted = fitting.fit()?;
//! assert_eq!(World::from_toml(fitted.text(), "fitted.toml")?.to_toml(), fitted.world().to_toml());
//! assert_eq!(fitted.report().steps, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod beta;
mod completions;
mod confounded;
mod em;
mod error;
mod experiments;
mod fitted;
mod fitting;
mod identify;
mod keep;
mod report;
mod seen;
mod structure;
mod tables;
mod warm_start;

pub(crate) use completions::Completed;
pub use confounded::Confounded;
pub(crate) use em::Incomplete;
pub use error::FitError;
pub(crate) use experiments::{Experiments, RandomisedOnly};
pub use fitted::{Fitted, NotFitted, fingerprint_in, logged_return_in, not_fitted_in, read_evidence, read_summary};
pub use fitting::{FitOptions, Fitting};
pub use report::{EmReport, FitAxis, FitPart, FitReport, FitRow, FitTable, IntervalKind, Missing, OpenQuestion};
pub use structure::Marginalised;
pub use warm_start::WarmStartCheck;
