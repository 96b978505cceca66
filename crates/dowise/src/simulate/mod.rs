//! Plays a world: draws what happens, lets an agent decide, and judges its policies exactly.

mod changing;
mod low_rank;
mod run;
mod simulator;
mod table_row;

pub use changing::{Changing, ChangingError, ChangingRun};
pub use run::{Episode, Position, Run};
pub use simulator::{NotSimulable, Outcome, Simulator};
