//! Learn good interventions when there are too many to try: causal Markov decision processes.

pub mod draw;
pub mod file;
pub mod kernel;
pub mod plan;
mod space;
pub mod world;
pub mod worlds;

pub use kernel::{Kernel, KernelError};
pub use plan::{Plan, PlanError, Planner};
pub use space::Space;
pub use world::{Action, World, WorldError};
