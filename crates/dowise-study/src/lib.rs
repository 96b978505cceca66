//! Studies of learners: a study file becomes combinations of world, learner and episodes; these become runs, runs
//! become tables, tables become figures and reports.
//!
//! Everything is a function of the study file: the tables are the same bytes on any number of threads and after any
//! number of interruptions. Nothing here prints; who calls is given through [`Event`]s.

mod batch;
mod checkpoints;
mod directory;
mod error;
mod evaluation;
mod evaluator;
mod execute;
mod figure;
mod figures;
mod file;
mod files;
mod identity;
mod limits;
mod memory;
mod memory_budget;
mod merge;
mod monte_carlo;
pub mod paper;
mod record;
mod report;
mod resolve;
mod run;
mod shard;
mod summary;
mod tables;
mod threads;
mod validation;
mod world;

pub use batch::{Job, Listener, WorldSource, play_batch};
pub use checkpoints::Checkpoints;
pub use directory::Directory;
pub use error::StudyError;
pub use evaluation::{EXACT_WORK, Evaluation};
pub use evaluator::{Evaluator, check};
pub use execute::{Ending, Event, execute};
pub use figure::{Axis, Dash, Drawing, Figure, Marker, Point, Scale, Series, Shape, Strip, Strips, Style};
pub use figures::{Spread, figures};
pub use file::{StudyFile, Sweep};
pub use files::{MOST_TEXT, check_writable, create_file, make_directory, read_text_file, stream_file, write_file};
pub use identity::world_fingerprint;
pub use limits::{MOST_COMBINATIONS, MOST_EPISODES, MOST_POINTS, MOST_RUNS, MOST_THREADS};
pub use memory::{keep_to_memory, memory_allowed};
pub use merge::{Merged, merge};
pub use monte_carlo::{Evaluated, MONTE_CARLO_EPISODES, MonteCarlo, visited_states_learner};
pub use report::{percent, report};
pub use resolve::{Combination, Study};
pub use run::{RunRecord, play};
pub use shard::Shard;
pub use summary::Summary;
pub use tables::{CurveRow, RunRow, Tables, share_of_way};
pub use threads::threads;
pub use validation::episodes_fault;
pub use world::WorldChoice;
