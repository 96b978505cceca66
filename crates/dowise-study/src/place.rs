//! Chosen worlds made ready to be played and judged: exactly where states can be listed, by playing where they cannot.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use dowise::learn::LearnerSpec;
use dowise::{Arena, ArenaError, World};

use crate::by_play::{self, ByPlay};
use crate::{RunRecord, StudyError, WorldChoice, run};

/// A world with its judge.
#[derive(Clone, Debug)]
pub enum Place {
    /// Policies are judged exactly.
    Listed(Arc<Arena>),
    /// States are too many to list, and policies are judged by playing.
    Unlisted(Box<ByPlay>),
}

impl Place {
    /// Makes a world ready; `name` is for messages, and the seed for a judge that plays.
    pub fn new(world: &World, name: &str, seed: u64) -> Result<Place, StudyError> {
        match world.is_listed() {
            true => Ok(Place::Listed(arena(world, name)?.into())),
            false => Ok(Place::Unlisted(ByPlay::new(world, name, seed)?.into())),
        }
    }

    /// The world.
    pub fn world(&self) -> &World {
        match self {
            Place::Listed(arena) => arena.world(),
            Place::Unlisted(by_play) => by_play.world(),
        }
    }

    /// Plays up to the last checkpoint; `None` if `stop` was set before that.
    ///
    /// The run's draws and the learner's own come from separate streams of the seed, so learners that share a seed start every
    /// episode alike. `after` is told the episode, its regret and the sum so far.
    pub fn play(
        &self,
        learner: &LearnerSpec,
        seed: u64,
        checkpoints: &[u64],
        stop: &AtomicBool,
        after: impl FnMut(u64, f64, f64),
    ) -> Result<Option<RunRecord>, StudyError> {
        match self {
            Place::Listed(arena) => run::play(arena, learner, seed, checkpoints, stop, after),
            Place::Unlisted(by_play) => by_play.play(learner, seed, checkpoints, stop, after),
        }
    }
}

/// An error if the learner cannot be made for this world.
pub(crate) fn check_learner(
    learner: &LearnerSpec,
    world: &World,
    name: &str,
    episodes: u64,
    seed: u64,
) -> Result<(), StudyError> {
    if !world.is_listed() {
        return by_play::check(learner, world, episodes, seed);
    }
    learner.learner(world, episodes, seed).map(|_| ()).map_err(|source| StudyError::Learn {
        learner: learner.to_string(),
        world: name.to_owned(),
        source: source.into(),
    })
}

impl WorldChoice {
    /// The world, ready to be played and judged exactly; `seed` is for fresh ones.
    pub fn arena(&self, seed: u64) -> Result<Arena, StudyError> {
        arena(&self.make(seed)?, &self.to_string())
    }
}

fn arena(world: &World, name: &str) -> Result<Arena, StudyError> {
    let world_name = || name.to_owned();
    Arena::new(world).map_err(|error| match error {
        ArenaError::NotSimulable(error) => StudyError::NotSimulable { world: world_name(), message: error.to_string() },
        ArenaError::Plan(source) => StudyError::Plan { world: world_name(), source },
    })
}
