//! Plays a world: draws what happens, lets an agent decide, and judges its policies exactly.

mod place;
mod run;
mod simulator;

pub use run::{Episode, Position, Run};
pub use simulator::{NotSimulable, Outcome, Simulator};
