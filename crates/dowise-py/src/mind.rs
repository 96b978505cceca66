//! What is inside a learner: one that counts, or one that regresses on features.

use dowise::learn::LearnerSpec;
use dowise::linear::LinearLearner;
use dowise::{Agent, Knowledge, LearnError, Plan};
use pyo3::prelude::*;

use crate::error::learn;

/// A learner of the library.
pub(crate) enum Mind {
    Counts(Box<dowise::Learner>),
    Linear(Box<LinearLearner>),
}

impl Mind {
    pub(crate) fn new(spec: &LearnerSpec, world: &dowise::World, episodes: u64, seed: u64) -> Result<Mind, LearnError> {
        let knowledge = spec.knowledge(world);
        Ok(match spec.linear_options(episodes, seed) {
            Some(options) => Mind::Linear(Box::new(LinearLearner::new(&knowledge, options)?)),
            None => Mind::Counts(Box::new(dowise::Learner::new(&knowledge, spec.options(episodes, seed))?)),
        })
    }

    pub(crate) fn agent(&mut self) -> &mut (dyn Agent + Send) {
        match self {
            Mind::Counts(learner) => learner.as_mut(),
            Mind::Linear(learner) => learner.as_mut(),
        }
    }

    pub(crate) fn knowledge(&self) -> &Knowledge {
        match self {
            Mind::Counts(learner) => learner.knowledge(),
            Mind::Linear(learner) => learner.knowledge(),
        }
    }

    pub(crate) fn plan(&self) -> &Plan {
        match self {
            Mind::Counts(learner) => learner.plan(),
            Mind::Linear(learner) => learner.plan(),
        }
    }

    pub(crate) fn episodes(&self) -> u64 {
        match self {
            Mind::Counts(learner) => learner.episodes(),
            Mind::Linear(learner) => learner.episodes(),
        }
    }

    pub(crate) fn cells(&self) -> usize {
        match self {
            Mind::Counts(learner) => learner.cells(),
            Mind::Linear(learner) => learner.cells(),
        }
    }

    pub(crate) fn gave_up_causes(&self) -> Option<u64> {
        match self {
            Mind::Counts(learner) => learner.gave_up_causes(),
            Mind::Linear(_) => None,
        }
    }

    pub(crate) fn save(&self) -> PyResult<String> {
        match self {
            Mind::Counts(learner) => Ok(learner.save()),
            Mind::Linear(_) => Err(learn("learners that regress on features cannot be saved; choose one that counts")),
        }
    }
}
