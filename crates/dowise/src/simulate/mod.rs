//! Plays a world: draws what happens, lets an agent decide, and judges its policies exactly.

mod arena;
mod changing;
mod low_rank;
mod play;
mod run;
mod sampled;
mod simulator;
mod table_row;

pub use arena::{Arena, ArenaError};
pub use changing::{Changing, ChangingError, ChangingRun};
pub use play::{AtRandom, Play};
pub use run::{Episode, Position, Run};
pub use sampled::{Estimate, SampledPlan, SampledPlanError};
pub use simulator::{NotSimulable, Outcome, Simulator};
