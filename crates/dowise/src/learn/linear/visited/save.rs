//! Saved learners over visited states: the steps in order, which determine the regression, and the weights of the
//! plan.
//!
//! The file is JSON, `"dowise non-enumerable learner"` version 1.

use nalgebra::DVector;
use serde::{Deserialize, Serialize};

use super::error::VisitedStatesError;
use super::learner::VisitedStatesLearner;
use crate::learn::linear::model::kernel_rule;
use crate::learn::linear::{LinearOptions, Weights};
use crate::learn::{Entry, Header, Knowledge, MOST_SAVED, RestoreError};
use crate::plan::FeatureFunction;

const FORMAT: &str = "dowise non-enumerable learner";
const VERSION: u32 = 1;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Saved {
    format: String,
    version: u32,
    /// Name of the learner, if any.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    name: String,
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

impl VisitedStatesLearner {
    /// The learner as text, between episodes. The same learner gives the same bytes.
    ///
    /// ```
    /// use dowise::linear::{LinearPreset, VisitedStatesLearner};
    /// use dowise::{Knowledge, worlds};
    /// let knowledge = Knowledge::of(&worlds::LinearCode::default().world()?);
    /// let learner = VisitedStatesLearner::new(&knowledge, "c-blsvi".parse::<LinearPreset>()?.options(20, 1))?;
    /// assert_eq!(VisitedStatesLearner::restore(&knowledge, &learner.save())?.save(), learner.save());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn save(&self) -> String {
        let state_of = |place: u32| self.states.met[place as usize].state;
        let designs = self.designs.iter().map(|design| SavedDesign {
            steps: design.steps.iter().map(|s| (s.stage, s.state, s.cause, s.reward, state_of(s.next))).collect(),
            planned: design.planned_steps,
        });
        let saved = Saved {
            format: FORMAT.to_owned(),
            version: VERSION,
            name: self.name.clone(),
            fingerprint: self.knowledge.fingerprint(),
            dimension: self.dimension(),
            options: self.options.clone(),
            episode: self.episode,
            plans: self.plans,
            planned_for: self.planned_for,
            due: self.due,
            designs: designs.collect(),
            weights: self.weights.iter().map(|w| w.as_slice().to_vec()).collect(),
            mechanisms: self
                .mechanisms
                .as_ref()
                .zip(self.planned_mechanisms.as_ref())
                .map(|(now, planned)| SavedMechanisms { now: now.entries(), planned: planned.entries() }),
        };
        serde_json::to_string(&saved).expect("invariant: numbers and words can be written")
    }

    /// Restores a saved learner, given the same knowledge, with the features of its options.
    ///
    /// # Cost
    /// That of adding all its steps again.
    pub fn restore(knowledge: &Knowledge, text: &str) -> Result<VisitedStatesLearner, RestoreError> {
        let saved = read(knowledge, text)?;
        let learner =
            VisitedStatesLearner::new(knowledge, saved.options.clone()).map_err(|e| damaged("options", &e))?;
        learner.take(saved)
    }

    /// The same for a learner with features from code.
    pub fn restore_with_function(
        knowledge: &Knowledge,
        dimension: usize,
        function: FeatureFunction,
        text: &str,
    ) -> Result<VisitedStatesLearner, RestoreError> {
        let saved = read(knowledge, text)?;
        let learner = VisitedStatesLearner::with_function(knowledge, dimension, function, saved.options.clone());
        learner.map_err(|e| damaged("options", &e))?.take(saved)
    }

    /// The name of a saved learner, which determines its knowledge; `None` if it has none.
    pub fn name_in(text: &str) -> Result<Option<String>, RestoreError> {
        Header::check(text, FORMAT, VERSION)?;
        let saved: Saved = serde_json::from_str(text)?;
        Ok(Some(saved.name).filter(|name| !name.is_empty()))
    }

    fn take(mut self, saved: Saved) -> Result<VisitedStatesLearner, RestoreError> {
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
            self.take_steps(place, &design.steps[..design.planned])?;
            self.mark_planned(place);
        }
        let weights: Vec<DVector<f64>> = saved.weights.into_iter().map(DVector::from_vec).collect();
        (self.episode, self.plans, self.planned_for) = (saved.episode, saved.plans, saved.planned_for);
        self.take_mechanisms(saved.mechanisms)?;
        if self.options.weights == Weights::Variance && self.plans > 0 {
            // Weights of steps depend on the next values, so widths follow from the plan alone.
            self.solve(kernel_rule(&self.options, self.planned_for));
            if self.weights != weights {
                return wrong("weights", "they are not those of a plan from these steps");
            }
        }
        self.weights = weights;
        for (place, design) in saved.designs.iter().enumerate() {
            self.take_steps(place, &design.steps[design.planned..])?;
        }
        (self.due, self.name) = (saved.due, saved.name);
        Ok(self)
    }

    fn take_steps(&mut self, place: usize, steps: &[SavedStep]) -> Result<(), RestoreError> {
        for &(stage, state, cause, reward, next) in steps {
            if self.designs.len() > 1 && stage as usize != place {
                return Err(RestoreError::damaged("steps", "a step is of another stage than its design"));
            }
            let took = self.regress((stage as usize, state), cause as usize, reward, next);
            took.map_err(|e| damaged("steps", &e))?;
        }
        Ok(())
    }
}

impl VisitedStatesLearner {
    fn take_mechanisms(&mut self, saved: Option<SavedMechanisms>) -> Result<(), RestoreError> {
        let wrong = |why: &str| RestoreError::damaged("mechanisms", why);
        let (now, planned, saved) = match (&mut self.mechanisms, &mut self.planned_mechanisms, saved) {
            (Some(now), Some(planned), Some(saved)) => (now, planned, saved),
            (_, _, Some(_)) => return Err(wrong("all mechanisms are known in this world")),
            (Some(_), _, None) => return Err(wrong("what was seen of the mechanisms that are learned is missing")),
            (None, _, None) => return Ok(()),
        };
        for (into, entries) in [(now, &saved.now), (planned, &saved.planned)] {
            into.restore(entries).map_err(|e| wrong(&e.to_string()))?;
        }
        let episode = self.planned_for;
        self.read_mechanisms(kernel_rule(&self.options, episode));
        Ok(())
    }
}

fn read(knowledge: &Knowledge, text: &str) -> Result<Saved, RestoreError> {
    Header::check(text, FORMAT, VERSION)?;
    let saved: Saved = serde_json::from_str(text)?;
    let here = knowledge.fingerprint();
    if saved.fingerprint != here {
        return Err(RestoreError::OtherWorld { saved: saved.fingerprint, here });
    }
    Ok(saved)
}

fn damaged(field: &str, error: &VisitedStatesError) -> RestoreError {
    RestoreError::damaged(field, &error.to_string())
}
