//! Learn good interventions when there are too many to try: causal Markov decision processes.

// Results have the same bits on every machine: see `math.rs`. Tests may compare with the system's functions.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod draw;
pub mod file;
pub mod kernel;
pub mod learn;
pub mod linear;
mod math;
pub mod plan;
#[doc(hidden)]
pub mod probes;
mod simd;
pub mod simulate;
mod space;
mod variates;
pub mod world;
pub mod worlds;

pub use kernel::{Kernel, KernelError};
pub use learn::{Agent, Knowledge, LearnError, Learner, LearnerSpec, Options, Preset};
pub use plan::{Plan, PlanError, Planner};
pub use simulate::{Run, Simulator};
pub use space::Space;
pub use world::{Action, World, WorldError};
