//! Chosen worlds made ready to be played and evaluated: exactly, or by playing.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use dowise::learn::LearnerSpec;
use dowise::{Arena, ArenaError, World};

use crate::monte_carlo::{self, MonteCarlo};
use crate::{Evaluation, RunRecord, StudyError, WorldChoice, run};

/// A world with its judge.
#[derive(Clone, Debug)]
pub enum Evaluator {
    /// Policies are evaluated exactly.
    Exact(Arc<Arena>),
    /// Policies are evaluated by Monte Carlo.
    MonteCarlo(Box<MonteCarlo>),
}

impl Evaluator {
    /// Makes a world ready, with the judge that was chosen or else [the usual one](Evaluation::of); `name` is for messages, and the seed for a judge
    /// that plays.
    pub fn new(world: &World, name: &str, evaluation: Option<Evaluation>, seed: u64) -> Result<Evaluator, StudyError> {
        match Evaluation::of(evaluation, world, name)? {
            Evaluation::Exact => Ok(Evaluator::Exact(arena(world, name)?.into())),
            Evaluation::MonteCarlo => Ok(Evaluator::MonteCarlo(MonteCarlo::new(world, name, seed)?.into())),
        }
    }

    /// The world.
    pub fn world(&self) -> &World {
        match self {
            Evaluator::Exact(arena) => arena.world(),
            Evaluator::MonteCarlo(monte_carlo) => monte_carlo.world(),
        }
    }

    /// Plays up to the last checkpoint; `None` if `stop` was set before that.
    ///
    /// The run's draws and the learner's own come from separate streams of the seed, so learners that share a seed start every
    /// episode alike. `after` knows the episode, its regret and the sum so far.
    pub fn play(
        &self,
        learner: &LearnerSpec,
        seed: u64,
        checkpoints: &[u64],
        stop: &AtomicBool,
        after: impl FnMut(u64, f64, f64),
    ) -> Result<Option<RunRecord>, StudyError> {
        match self {
            Evaluator::Exact(arena) => run::play(arena, learner, seed, checkpoints, stop, after),
            Evaluator::MonteCarlo(monte_carlo) => monte_carlo.play(learner, seed, checkpoints, stop, after),
        }
    }
}

/// How policies are evaluated a learner in a world, or why it cannot be made there.
pub fn check(
    learner: &LearnerSpec,
    world: &World,
    evaluation: Option<Evaluation>,
    episodes: u64,
    seed: u64,
) -> Result<Evaluation, StudyError> {
    let evaluation = Evaluation::of(evaluation, world, world.name())?;
    check_learner(learner, world, world.name(), evaluation, episodes, seed).map(|()| evaluation)
}

/// An error if the learner cannot be made for this world and judge.
pub(crate) fn check_learner(
    learner: &LearnerSpec,
    world: &World,
    name: &str,
    evaluation: Evaluation,
    episodes: u64,
    seed: u64,
) -> Result<(), StudyError> {
    if evaluation == Evaluation::MonteCarlo {
        return monte_carlo::check(learner, world, episodes, seed);
    }
    learner.learner(world, episodes, seed).map(|_| ()).map_err(|source| StudyError::Learn {
        learner: learner.to_string(),
        world: name.to_owned(),
        source: source.into(),
    })
}

impl WorldChoice {
    /// The world, ready to be played and evaluated exactly; `seed` is for fresh ones.
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
