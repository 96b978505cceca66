//! Studies of learners: settings become runs, runs become tables, tables become figures and reports.
//!
//! Everything is a function of the settings: the tables are the same bytes on any number of threads and after any
//! number of interruptions. Nothing here prints; who calls is told through [`Event`]s.

mod arena;
mod atomic;
mod batch;
mod checkpoints;
mod directory;
mod error;
mod execute;
mod figure;
mod figures;
mod file;
pub mod paper;
mod report;
mod resolve;
mod run;
mod summary;
mod tables;
mod threads;
mod world;

pub use atomic::write_file;
pub use batch::{Job, Listener, Place, play_batch};
pub use checkpoints::Checkpoints;
pub use directory::Directory;
pub use error::StudyError;
pub use execute::{Ending, Event, execute};
pub use figure::{Axis, Dash, Drawing, Figure, Marker, Point, Scale, Series, Shape, Style};
pub use figures::figures;
pub use file::{StudyFile, Sweep};
pub use report::report;
pub use resolve::{Setting, Study};
pub use run::{RunRecord, play};
pub use summary::Summary;
pub use tables::{CurveRow, RunRow, Tables};
pub use threads::threads;
pub use world::WorldChoice;
