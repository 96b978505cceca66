//! Saved linear learners: a restored learner continues exactly as if it had never stopped.
//!
//! The file of a learner over visited states is described in `visited/save.rs`. That of a learner over all states is
//! JSON, `"dowise linear learner"` version 2. It holds the options, fingerprints of the learner's
//! knowledge and features, and the present plan. For each design it holds the counts of visited pairs and the steps
//! since its sums were last computed from the counts. Sums, factor, widths and weights are not saved; they follow from
//! these to the last bit.

use nalgebra::DMatrixView;
use serde::{Deserialize, Serialize};

use super::design::Design;
use super::enumerated::EnumeratedStates;
use super::error::LinearError;
use super::evidence::{Met, MetStep};
use super::features::Features;
use super::learner::{LinearLearner, Storage};
use super::model::LinearModel;
use super::options::LinearOptions;
use super::problem::Problem;
use super::visited::{SavedVisited, is_saved};
use crate::learn::{Entry, Knowledge, LearnError, MOST_SAVED, Mechanisms, RestoreError};
use crate::plan::FeatureFunction;
use crate::saved::Envelope;
use crate::world::Action;

const FORMAT: &str = "dowise linear learner";
const VERSION: u32 = 2;

/// Serialised form of a linear learner.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedLinear {
    format: String,
    version: u32,
    /// Name of the learner, if any.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    name: String,
    fingerprint: String,
    features: String,
    options: LinearOptions,
    episode: u64,
    plans: u64,
    planned_from: String,
    due: bool,
    /// Whether it has counted steps of no episode of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    logged: bool,
    designs: Vec<SavedDesign>,
    /// Unknown mechanisms, if any: (row, value, visits) of each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mechanisms: Option<Vec<Vec<Entry>>>,
    value: Vec<f64>,
    policy: Vec<Action>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedDesign {
    /// (column of the features, next state, visits), in increasing order.
    next: Vec<(u32, u32, u32)>,
    /// (column of the features, sum of rewards as a hexadecimal number), in increasing order.
    paid: Vec<(u32, String)>,
    /// ln(det Λ / λ^d) at the last refresh.
    gained: f64,
    /// The same at the last plan.
    planned: f64,
    recent: Vec<MetStep>,
}

impl LinearLearner {
    /// The learner as text, between episodes. The same learner gives the same bytes.
    ///
    /// ```
    /// use dowise::linear::{LinearLearner, LinearPreset};
    /// use dowise::{Knowledge, World, worlds};
    /// let world = World::new(worlds::Paper::default().spec()?)?;
    /// let preset: LinearPreset = "c-rlsvi".parse()?;
    /// let learner = LinearLearner::new(&Knowledge::of(&world), preset.options(20, 1))?;
    /// let again = LinearLearner::restore(&Knowledge::of(&world), &learner.save())?;
    /// assert_eq!(again.save(), learner.save());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn save(&self) -> String {
        let text = match &self.storage {
            Storage::Enumerated(states) => serde_json::to_string(&self.saved_over(states)),
            Storage::Visited(states) => serde_json::to_string(&SavedVisited::of(self, states)),
        };
        text.expect("invariant: numbers and words can be written")
    }

    /// The payload of a learner over all states.
    pub(crate) fn saved(&self) -> SavedLinear {
        self.saved_over(self.enumerated().expect("invariant: its states are enumerated"))
    }

    fn saved_over(&self, states: &EnumeratedStates) -> SavedLinear {
        SavedLinear {
            format: FORMAT.to_owned(),
            version: VERSION,
            name: self.name.clone(),
            fingerprint: self.knowledge().fingerprint(),
            features: states.features().fingerprint(),
            options: self.options().clone(),
            episode: self.episode,
            plans: self.plans,
            planned_from: format!("{:016x}", states.planned_from),
            due: self.due,
            logged: self.logged,
            designs: states.model.designs.iter().map(saved).collect(),
            mechanisms: self.mechanisms.as_ref().map(Mechanisms::entries),
            value: states.plan.value_hs.clone(),
            policy: states.plan.policy_hs.clone(),
        }
    }

    /// Restores a saved learner, given the same knowledge, with the features of its options.
    ///
    /// # Cost
    /// Over visited states, that of adding all its steps again.
    pub fn restore(knowledge: &Knowledge, text: &str) -> Result<LinearLearner, RestoreError> {
        match is_saved(text) {
            true => SavedVisited::read(knowledge, text)?.restored(knowledge, LinearLearner::over_visited_states),
            false => {
                let saved = read(text)?;
                let begun = saved.begun();
                saved.restored(knowledge, begun, LinearLearner::over_all_states)
            }
        }
    }

    /// The same for a learner with given features.
    pub fn restore_with_features(
        knowledge: &Knowledge,
        features: &Features,
        text: &str,
    ) -> Result<LinearLearner, RestoreError> {
        let saved = read(text)?;
        let begun = saved.begun();
        saved.restored(knowledge, begun, |k, o| LinearLearner::with_features(k, features, o))
    }

    /// The same for a learner with features from code.
    pub fn restore_with_function(
        knowledge: &Knowledge,
        dimension: usize,
        function: FeatureFunction,
        text: &str,
    ) -> Result<LinearLearner, RestoreError> {
        let make = |k: &Knowledge, o| LinearLearner::with_function(k, dimension, function, o);
        SavedVisited::read(knowledge, text)?.restored(knowledge, make)
    }

    /// The name of a saved learner, which determines its knowledge; `None` if it has none.
    pub fn name_in(text: &str) -> Result<Option<String>, RestoreError> {
        let name = if is_saved(text) { SavedVisited::parse(text)?.name } else { read(text)?.name };
        Ok(Some(name).filter(|name| !name.is_empty()))
    }

    /// The same from parsed text; `begun`: the number of episodes of its steps and plans, `None` if some belong to no
    /// episode.
    pub(crate) fn from_saved(
        knowledge: &Knowledge,
        saved: SavedLinear,
        begun: Option<u64>,
    ) -> Result<LinearLearner, RestoreError> {
        saved.restored(knowledge, begun, LinearLearner::over_all_states)
    }

    /// Restores the saved state.
    fn take(&mut self, saved: SavedLinear, begun: Option<u64>) -> Result<(), RestoreError> {
        let LinearLearner { problem, mechanisms, storage, .. } = self;
        let Storage::Enumerated(states) = storage else { panic!("invariant: its states are enumerated") };
        let damaged = |field: &str, why: &str| Err(RestoreError::damaged(field, why));
        if saved.value.len() != states.plan.value_hs.len()
            || saved.policy.len() != states.plan.policy_hs.len()
            || saved.designs.len() != states.model.designs.len()
        {
            return damaged("value", "values, policy or designs do not have the size of this world");
        }
        if begun.is_some_and(|begun| saved.plans > begun.saturating_add(1)) || saved.episode > MOST_SAVED {
            return damaged("plans", "there were more plans than episodes");
        }
        let Ok(planned_from) = u64::from_str_radix(&saved.planned_from, 16) else {
            return damaged("planned_from", "it is not a fingerprint");
        };
        if !saved.could_be_of(problem) {
            return damaged("policy", "there is an intervention or a value that this world does not allow");
        }
        let n_states = states.plan.n_states;
        let LinearModel { columns, designs, .. } = &mut states.model;
        let columns: DMatrixView<'_, f64> = columns.as_view();
        let mut steps = 0u128;
        for (design, saved) in designs.iter_mut().zip(&saved.designs) {
            let Some(met) = met(saved, columns.ncols(), n_states) else {
                return damaged("designs", "the pairs that were met are not in order, or not of this world");
            };
            steps += u128::from(met.steps);
            let in_order = saved.recent.len() < design.gram.period();
            let numbers = [saved.gained, saved.planned].iter().all(|x| x.is_finite() && *x >= 0.0);
            design.gained_then = saved.gained;
            design.gram.planned = saved.planned;
            if !in_order || !numbers || !design.replay(columns, met, &saved.recent) {
                return damaged("designs", "the recent steps are not among those that were met");
            }
        }
        match (mechanisms, &saved.mechanisms) {
            (None, None) => {}
            (Some(mechanisms), Some(entries)) => {
                mechanisms.restore(entries).map_err(|e| RestoreError::damaged("mechanisms", &e.to_string()))?;
                steps = steps.max(mechanisms.steps());
            }
            (Some(_), None) => {
                return damaged("mechanisms", "what was seen of the mechanisms that are learned is missing");
            }
            (None, Some(_)) => return damaged("mechanisms", "all mechanisms are known in this world"),
        }
        // Every step belongs to one design, and no episode has more steps than stages.
        let horizon = problem.sizes.horizon as u128;
        if begun.is_some_and(|begun| steps > u128::from(begun) * horizon) {
            return damaged("designs", "there are more steps than episodes could have");
        }
        states.planned_from = planned_from;
        states.plan.value_hs = saved.value;
        states.plan.policy_hs = saved.policy;
        (self.episode, self.plans, self.due) = (saved.episode, saved.plans, saved.due);
        (self.name, self.logged) = (saved.name, saved.logged);
        Ok(())
    }
}

impl SavedLinear {
    fn restored(
        self,
        knowledge: &Knowledge,
        begun: Option<u64>,
        make: impl FnOnce(&Knowledge, LinearOptions) -> Result<LinearLearner, LinearError>,
    ) -> Result<LinearLearner, RestoreError> {
        let here = knowledge.fingerprint();
        if self.fingerprint != here {
            return Err(RestoreError::OtherWorld { saved: self.fingerprint, here });
        }
        let mut learner = make(knowledge, self.options.clone()).map_err(LearnError::from)?;
        let here = learner.enumerated().map_or_else(String::new, |states| states.features().fingerprint());
        if self.features != here {
            return Err(RestoreError::OtherFeatures { saved: self.features, here });
        }
        learner.take(self, begun)?;
        Ok(learner)
    }

    /// Episodes of its steps and plans; `None` if some belong to no episode.
    fn begun(&self) -> Option<u64> {
        (!self.logged).then_some(self.episode)
    }

    /// Whether the policy and the values are possible for a learner of this problem.
    fn could_be_of(&self, problem: &Problem) -> bool {
        let (all, space) = (problem.knowledge.interventions(), problem.knowledge.state_space());
        let n = problem.knowledge.n_states();
        let allowed = |i: usize, a: &Action| all.allows(&space.digits(i % n), *a);
        // Before the first plan the policy is all zeros.
        let undecided = self.due && self.plans == 0 && self.policy.iter().all(|&a| a == Action(0));
        let policy = undecided || self.policy.iter().enumerate().all(|(i, a)| allowed(i, a));
        let most = problem.clip.iter().flatten().chain(&all.cost_range()).map(|x| x.abs()).sum::<f64>();
        policy && self.value.iter().all(|v| v.abs() <= most + 1.0)
    }
}

fn read(text: &str) -> Result<SavedLinear, RestoreError> {
    Envelope::fields(FORMAT, VERSION).check(text)?;
    Ok(serde_json::from_str(text)?)
}

fn saved(design: &Design) -> SavedDesign {
    SavedDesign {
        next: design.met.next.iter().map(|(&(cell, next), &n)| (cell, next, n)).collect(),
        paid: design.met.paid.iter().map(|(&cell, paid)| (cell, format!("{paid:x}"))).collect(),
        gained: design.gained_then,
        planned: design.gram.planned,
        recent: design.recent.clone(),
    }
}

/// The counts of a design; `None` if they are impossible.
fn met(saved: &SavedDesign, cells: usize, n_states: usize) -> Option<Met> {
    let mut met = Met::default();
    for &(cell, next, n) in &saved.next {
        let inside = (cell as usize) < cells && (next as usize) < n_states && n > 0;
        if !inside || met.next.last_key_value().is_some_and(|(&last, _)| last >= (cell, next)) {
            return None;
        }
        met.next.insert((cell, next), n);
        met.steps += u64::from(n);
    }
    for (cell, paid) in &saved.paid {
        let paid = u128::from_str_radix(paid, 16).ok()?;
        let visits = met.visits(*cell);
        let ordered = met.paid.last_key_value().is_none_or(|(last, _)| last < cell);
        if visits == 0 || !ordered || paid > u128::from(visits) << 64 {
            return None;
        }
        met.paid.insert(*cell, paid);
    }
    // Every visited column has its rewards.
    let mut seen: Vec<u32> = met.next.keys().map(|&(cell, _)| cell).collect();
    seen.dedup();
    (seen.len() == met.paid.len()).then_some(met)
}
