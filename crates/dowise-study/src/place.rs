//! Chosen worlds made ready to be played and judged: exactly, or by playing.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use dowise::learn::LearnerSpec;
use dowise::{Arena, ArenaError, World};

use crate::by_play::{self, ByPlay};
use crate::{Judge, RunRecord, StudyError, WorldChoice, run};

/// A world with its judge.
#[derive(Clone, Debug)]
pub enum Place {
    /// Policies are judged exactly.
    Exact(Arc<Arena>),
    /// Policies are judged by playing.
    ByPlay(Box<ByPlay>),
}

impl Place {
    /// Makes a world ready, with the judge that was chosen or else [the usual one](Judge::of); `name` is for messages, and the seed for a judge
    /// that plays.
    pub fn new(world: &World, name: &str, judge: Option<Judge>, seed: u64) -> Result<Place, StudyError> {
        match Judge::of(judge, world, name)? {
            Judge::Exact => Ok(Place::Exact(arena(world, name)?.into())),
            Judge::Play => Ok(Place::ByPlay(ByPlay::new(world, name, seed)?.into())),
        }
    }

    /// The world.
    pub fn world(&self) -> &World {
        match self {
            Place::Exact(arena) => arena.world(),
            Place::ByPlay(by_play) => by_play.world(),
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
            Place::Exact(arena) => run::play(arena, learner, seed, checkpoints, stop, after),
            Place::ByPlay(by_play) => by_play.play(learner, seed, checkpoints, stop, after),
        }
    }
}

/// Who judges a learner in a world, or why it cannot be made there.
pub fn check(
    learner: &LearnerSpec,
    world: &World,
    judge: Option<Judge>,
    episodes: u64,
    seed: u64,
) -> Result<Judge, StudyError> {
    let judge = Judge::of(judge, world, world.name())?;
    check_learner(learner, world, world.name(), judge, episodes, seed).map(|()| judge)
}

/// An error if the learner cannot be made for this world and judge.
pub(crate) fn check_learner(
    learner: &LearnerSpec,
    world: &World,
    name: &str,
    judge: Judge,
    episodes: u64,
    seed: u64,
) -> Result<(), StudyError> {
    if judge == Judge::Play {
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
