//! Learn good interventions when there are too many to try: causal Markov decision processes.

pub mod draw;
mod space;
pub mod world;
pub mod worlds;

pub use space::Space;
pub use world::{Action, World, WorldError};
