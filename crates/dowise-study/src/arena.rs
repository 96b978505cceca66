//! Chosen worlds made ready to be played and judged.

use dowise::{Arena, ArenaError, World};

use crate::{StudyError, WorldChoice};

impl WorldChoice {
    /// The world, ready to be played and judged; `seed` is for fresh ones.
    pub fn arena(&self, seed: u64) -> Result<Arena, StudyError> {
        arena(&self.make(seed)?, &self.to_string())
    }
}

/// Makes a world ready; `name` is for messages.
pub(crate) fn arena(world: &World, name: &str) -> Result<Arena, StudyError> {
    let world_name = || name.to_owned();
    Arena::new(world).map_err(|error| match error {
        ArenaError::NotSimulable(error) => StudyError::NotSimulable { world: world_name(), message: error.to_string() },
        ArenaError::Plan(source) => StudyError::Plan { world: world_name(), source },
    })
}
