//! Learn good interventions when there are too many to try: causal Markov decision processes.

pub mod file;
mod space;
pub mod world;

pub use space::Space;
pub use world::{Action, World, WorldError};
