//! A learner of either kind, one that counts or one that regresses on features: what is made by name, saved and restored.

use super::agent::{Agent, Step};
use super::save::{Header, RestoreError};
use super::{Knowledge, LearnError, Learner, LearnerSpec};
use crate::linear::{self, LinearLearner};
use crate::plan::Plan;
use crate::world::{Action, World};

/// A learner of either kind.
///
/// ```
/// use dowise::learn::{AnyLearner, LearnerSpec};
/// use dowise::{World, worlds};
/// let world = World::new(worlds::Paper::default().spec()?)?;
/// let spec: LearnerSpec = "c-lsvi-ucb:features=factors".parse()?;
/// let learner = AnyLearner::new(&spec, &world, 20, 1)?;
/// let again = AnyLearner::restore(&world, &learner.save())?;
/// assert_eq!(again.save(), learner.save());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub enum AnyLearner {
    /// One that counts.
    Counts(Box<Learner>),
    /// One that regresses on features.
    Linear(Box<LinearLearner>),
}

impl AnyLearner {
    /// A learner that has seen nothing, for so many episodes and a seed.
    pub fn new(spec: &LearnerSpec, world: &World, episodes: u64, seed: u64) -> Result<AnyLearner, LearnError> {
        let knowledge = spec.knowledge(world);
        Ok(match spec.linear_options(episodes, seed) {
            Some(options) => AnyLearner::Linear(Box::new(LinearLearner::new(&knowledge, options)?)),
            None => AnyLearner::Counts(Box::new(Learner::new(&knowledge, spec.options(episodes, seed))?)),
        })
    }

    /// The learner as text, between episodes. The same learner gives the same bytes.
    pub fn save(&self) -> String {
        match self {
            AnyLearner::Counts(learner) => learner.save(),
            AnyLearner::Linear(learner) => learner.save(),
        }
    }

    /// A learner that goes on where a saved one stopped, in the same world.
    pub fn restore(world: &World, text: &str) -> Result<AnyLearner, RestoreError> {
        let header: Header = serde_json::from_str(text)?;
        let restore = |told: &Knowledge| match header.format == linear::FORMAT {
            true => LinearLearner::restore(told, text).map(|l| AnyLearner::Linear(Box::new(l))),
            false => Learner::restore(told, text).map(|l| AnyLearner::Counts(Box::new(l))),
        };
        // What it was told is not written down, only its fingerprint: all that, or less.
        let told = Knowledge::of(world);
        let less = [told.clone().without_mechanisms(), told.clone().without_rewards()];
        let least = less[0].clone().without_rewards();
        less.iter().chain([&least]).fold(restore(&told), |found, told| match found {
            Err(RestoreError::OtherWorld { .. }) => restore(told).or(found),
            found => found,
        })
    }

    /// What it was told.
    pub fn knowledge(&self) -> &Knowledge {
        match self {
            AnyLearner::Counts(learner) => learner.knowledge(),
            AnyLearner::Linear(learner) => learner.knowledge(),
        }
    }

    /// The present plan: policy of this episode, and values as the learner believes them.
    pub fn plan(&self) -> &Plan {
        match self {
            AnyLearner::Counts(learner) => learner.plan(),
            AnyLearner::Linear(learner) => learner.plan(),
        }
    }

    /// Episodes finished.
    pub fn episodes(&self) -> u64 {
        match self {
            AnyLearner::Counts(learner) => learner.episodes(),
            AnyLearner::Linear(learner) => learner.episodes(),
        }
    }

    /// Episodes that its widths count on.
    pub fn planned_episodes(&self) -> u64 {
        match self {
            AnyLearner::Counts(learner) => learner.options().episodes,
            AnyLearner::Linear(learner) => learner.options().episodes,
        }
    }

    /// Number of distributions, or of weights, that it has to learn.
    pub fn cells(&self) -> usize {
        match self {
            AnyLearner::Counts(learner) => learner.cells(),
            AnyLearner::Linear(learner) => learner.cells(),
        }
    }

    /// Whether it learns from the rewards that it is shown: some are not known to it, or it regresses on them all the same.
    pub fn learns_rewards(&self) -> bool {
        match self {
            AnyLearner::Counts(learner) => !learner.knowledge().knows_rewards(),
            AnyLearner::Linear(learner) => learner.learns_rewards(),
        }
    }

    fn agent(&mut self) -> &mut dyn Agent {
        match self {
            AnyLearner::Counts(learner) => learner.as_mut(),
            AnyLearner::Linear(learner) => learner.as_mut(),
        }
    }
}

impl Agent for AnyLearner {
    fn begin_episode(&mut self) {
        self.agent().begin_episode();
    }

    fn act(&mut self, stage: usize, state: usize) -> Action {
        self.agent().act(stage, state)
    }

    fn observe(&mut self, step: &Step<'_>) {
        self.agent().observe(step);
    }

    fn end_episode(&mut self) {
        self.agent().end_episode();
    }

    fn policy(&mut self) -> &[Action] {
        self.agent().policy()
    }
}
