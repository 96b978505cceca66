//! Simulation of a world: samples episodes with an agent, and evaluates its policies exactly or by Monte Carlo.

mod arena;
mod changing;
mod low_rank;
mod rollout;
mod run;
mod sampled_value_iteration;
mod simulator;
mod table_row;

pub use arena::{Arena, ArenaError};
pub use changing::{Changing, ChangingError, ChangingRun};
pub use rollout::{AtRandom, Play};
pub use run::{Episode, Position, Run};
pub use sampled_value_iteration::{Estimate, SampledValueIteration, SampledValueIterationError};
pub use simulator::{NotSimulable, Outcome, Simulator};
