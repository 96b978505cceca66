//! The one learner: count, plan optimistically (or from a sample), act, and count again. Published names are presets.

mod actions;
mod agent;
mod any;
mod choice;
mod counts;
mod error;
mod explain;
mod explore;
mod guard;
mod knowledge;
mod layout;
mod learner;
mod mechanisms;
mod memory;
mod model;
mod options;
mod posterior;
mod preset;
mod rewards;
mod save;
mod sets;
mod sparse;
mod spec;
mod width;

pub(crate) use actions::ActionList;
pub(crate) use choice::Choice;
pub(crate) use error::{LearnResult, MOST_ACTIONS, MOST_CELLS};
pub(crate) use save::Header;

pub use agent::{Agent, Step};
pub use any::AnyLearner;
pub use error::LearnError;
pub use explain::{Explanation, Preferred};
pub use knowledge::Knowledge;
pub use learner::Learner;
pub use options::{Cap, Causes, Estimate, Options, Schedule, Sets, States, Width};
pub use preset::{Preset, UnknownPreset};
pub use save::RestoreError;
pub use spec::{LearnerSpec, SpecError};

/// Which draws learners make of a seed: raised whenever an episode of some learner comes out otherwise than before, so that
/// results of different kinds are not mixed.
pub const DRAWS: u32 = 3;
