//! Learn good interventions when there are too many to try: causal Markov decision processes.

mod arena;
pub mod draw;
pub mod file;
pub mod kernel;
pub mod learn;
pub mod linear;
pub mod plan;
#[doc(hidden)]
pub mod probes;
mod simd;
pub mod simulate;
mod space;
pub mod world;
pub mod worlds;

pub use arena::{Arena, ArenaError};
pub use kernel::{Kernel, KernelError};
pub use learn::{Agent, Knowledge, LearnError, Learner, LearnerSpec, Options, Preset};
pub use plan::{Plan, PlanError, Planner};
pub use simulate::{Run, Simulator};
pub use space::Space;
pub use world::{Action, World, WorldError};
