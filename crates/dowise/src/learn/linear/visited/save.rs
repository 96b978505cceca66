//! Saved learners over visited states: the steps in order, which determine the regression, and the weights of the
//! plan.
//!
//! The file is JSON, `"dowise non-enumerable learner"` version 1.

use nalgebra::DVector;
use serde::{Deserialize, Serialize};

use super::storage::VisitedStates;
use crate::learn::linear::learner::{LinearLearner, Storage};
use crate::learn::linear::model::kernel_rule;
use crate::learn::linear::problem::Problem;
use crate::learn::linear::{LinearError, LinearOptions, Weights};
use crate::learn::{Entry, Knowledge, MOST_SAVED, Mechanisms, RestoreError};
use crate::saved::Envelope;

const FORMAT: &str = "dowise non-enumerable learner";
const VERSION: u32 = 1;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in crate::learn::linear) struct SavedVisited {
    format: String,
    version: u32,
    /// Name of the learner, if any.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(in crate::learn::linear) name: String,
    fingerprint: String,
    dimension: usize,
    options: LinearOptions,
    episode: u64,
    plans: u64,
    planned_for: u64,
    due: bool,
    designs: Vec<SavedDesign>,
    weights: Vec<Vec<f64>>,
    /// Unknown mechanisms, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mechanisms: Option<SavedMechanisms>,
}

/// (row, value, visits) of every unknown mechanism.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedMechanisms {
    now: Vec<Vec<Entry>>,
    /// The counts of the present plan.
    planned: Vec<Vec<Entry>>,
}

/// (stage, state, cause, reward, next state)
type SavedStep = (u32, usize, u32, f64, usize);

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedDesign {
    /// In chronological order.
    steps: Vec<SavedStep>,
    /// Number of steps at the present plan.
    planned: usize,
}

/// Whether a text names this kind of file.
pub(in crate::learn::linear) fn is_saved(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Kind {
        format: String,
    }
    serde_json::from_str::<Kind>(text).is_ok_and(|kind| kind.format == FORMAT)
}

impl SavedVisited {
    /// The payload of a learner.
    pub(in crate::learn::linear) fn of(learner: &LinearLearner, states: &VisitedStates) -> SavedVisited {
        let state_of = |place: u32| states.states.met[place as usize].state;
        let designs = states.designs.iter().map(|design| SavedDesign {
            steps: design.steps.iter().map(|s| (s.stage, s.state, s.cause, s.reward, state_of(s.next))).collect(),
            planned: design.planned_steps,
        });
        let mechanisms = learner.mechanisms.as_ref().zip(states.planned_mechanisms.as_ref());
        SavedVisited {
            format: FORMAT.to_owned(),
            version: VERSION,
            name: learner.name.clone(),
            fingerprint: learner.knowledge().fingerprint(),
            dimension: learner.dimension(),
            options: learner.options().clone(),
            episode: learner.episode,
            plans: learner.plans,
            planned_for: states.planned_for,
            due: learner.due,
            designs: designs.collect(),
            weights: states.weights.iter().map(|w| w.as_slice().to_vec()).collect(),
            mechanisms: mechanisms
                .map(|(now, planned)| SavedMechanisms { now: now.entries(), planned: planned.entries() }),
        }
    }

    /// Reads it from a text.
    pub(in crate::learn::linear) fn parse(text: &str) -> Result<SavedVisited, RestoreError> {
        Envelope::fields(FORMAT, VERSION).check(text)?;
        Ok(serde_json::from_str(text)?)
    }

    /// The same; refuses one of other knowledge.
    pub(in crate::learn::linear) fn read(knowledge: &Knowledge, text: &str) -> Result<SavedVisited, RestoreError> {
        let (saved, here) = (SavedVisited::parse(text)?, knowledge.fingerprint());
        match saved.fingerprint == here {
            true => Ok(saved),
            false => Err(RestoreError::OtherWorld { saved: saved.fingerprint, here }),
        }
    }

    /// The saved learner, from one without steps.
    pub(in crate::learn::linear) fn restored(
        self,
        knowledge: &Knowledge,
        make: impl FnOnce(&Knowledge, LinearOptions) -> Result<LinearLearner, LinearError>,
    ) -> Result<LinearLearner, RestoreError> {
        let mut learner = make(knowledge, self.options.clone()).map_err(|e| damaged("options", &e))?;
        (learner.episode, learner.plans) = (self.episode, self.plans);
        let due = self.due;
        learner.name.clone_from(&self.name);
        let LinearLearner { problem, mechanisms, storage, .. } = &mut learner;
        let Storage::Visited(states) = storage else { panic!("invariant: it learns over visited states") };
        states.take(problem, mechanisms, self)?;
        learner.due = due;
        Ok(learner)
    }
}

impl VisitedStates {
    /// Restores the saved steps and plan.
    fn take(
        &mut self,
        problem: &Problem,
        mechanisms: &mut Option<Mechanisms>,
        saved: SavedVisited,
    ) -> Result<(), RestoreError> {
        let wrong = |field: &str, why: &str| Err(RestoreError::damaged(field, why));
        let d = self.dimension();
        if saved.dimension != d {
            return wrong("dimension", &format!("it was saved with {} features, and there are {d}", saved.dimension));
        }
        let sized = saved.weights.len() == self.weights.len() && saved.weights.iter().all(|w| w.len() == d);
        if !sized || saved.weights.iter().flatten().any(|w| !w.is_finite()) {
            return wrong("weights", "they do not have the size of this world, or are no numbers");
        }
        if saved.designs.len() != self.designs.len() || saved.episode > MOST_SAVED || saved.plans > saved.episode + 1 {
            return wrong("designs", "designs, episodes or plans are not those of such a learner");
        }
        for (place, design) in saved.designs.iter().enumerate() {
            if design.planned > design.steps.len() {
                return wrong("planned", "the plan was made from more steps than there are");
            }
            self.take_steps(problem, place, &design.steps[..design.planned])?;
            self.mark_planned(problem, place);
        }
        let weights: Vec<DVector<f64>> = saved.weights.into_iter().map(DVector::from_vec).collect();
        self.planned_for = saved.planned_for;
        self.take_mechanisms(problem, mechanisms, saved.mechanisms)?;
        if problem.options.weights == Weights::Variance && saved.plans > 0 {
            // Weights of steps depend on the next values, so widths follow from the plan alone.
            self.solve_again(problem, kernel_rule(&problem.options, self.planned_for));
            if self.weights != weights {
                return wrong("weights", "they are not those of a plan from these steps");
            }
        }
        self.weights = weights;
        for (place, design) in saved.designs.iter().enumerate() {
            self.take_steps(problem, place, &design.steps[design.planned..])?;
        }
        Ok(())
    }

    fn take_steps(&mut self, problem: &Problem, place: usize, steps: &[SavedStep]) -> Result<(), RestoreError> {
        for &(stage, state, cause, reward, next) in steps {
            if self.designs.len() > 1 && stage as usize != place {
                return Err(RestoreError::damaged("steps", "a step is of another stage than its design"));
            }
            let took = self.regress(problem, (stage as usize, state), cause as usize, reward, next);
            took.map_err(|e| damaged("steps", &e))?;
        }
        Ok(())
    }

    fn take_mechanisms(
        &mut self,
        problem: &Problem,
        mechanisms: &mut Option<Mechanisms>,
        saved: Option<SavedMechanisms>,
    ) -> Result<(), RestoreError> {
        let wrong = |why: &str| RestoreError::damaged("mechanisms", why);
        let (now, planned, saved) = match (mechanisms, &mut self.planned_mechanisms, saved) {
            (Some(now), Some(planned), Some(saved)) => (now, planned, saved),
            (_, _, Some(_)) => return Err(wrong("all mechanisms are known in this world")),
            (Some(_), _, None) => return Err(wrong("what was seen of the mechanisms that are learned is missing")),
            (None, _, None) => return Ok(()),
        };
        for (into, entries) in [(now, &saved.now), (planned, &saved.planned)] {
            into.restore(entries).map_err(|e| wrong(&e.to_string()))?;
        }
        self.read_mechanisms(kernel_rule(&problem.options, self.planned_for));
        Ok(())
    }
}

fn damaged(field: &str, error: &LinearError) -> RestoreError {
    RestoreError::damaged(field, &error.to_string())
}
