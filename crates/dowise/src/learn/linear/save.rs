//! Saved linear learners: a restored learner continues exactly as if it had never stopped.
//!
//! The file is JSON, `"dowise linear learner"` version 2. It holds the options, fingerprints of the learner's
//! knowledge and features, and the present plan. For each design it holds the counts of visited pairs and the steps
//! since its sums were last computed from the counts. Sums, factor, widths and weights are not saved; they follow from
//! these to the last bit.

use nalgebra::DMatrixView;
use serde::{Deserialize, Serialize};

use super::design::Design;
use super::error::LinearError;
use super::evidence::{Met, MetStep};
use super::features::Features;
use super::learner::LinearLearner;
use super::options::LinearOptions;
use crate::learn::{Entry, Header, Knowledge, LearnError, MOST_SAVED, Mechanisms, RestoreError};
use crate::world::Action;

const FORMAT: &str = "dowise linear learner";
const VERSION: u32 = 2;

/// Serialised form of a linear learner.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedLinear {
    format: String,
    version: u32,
    fingerprint: String,
    features: String,
    options: LinearOptions,
    episode: u64,
    plans: u64,
    planned_from: String,
    due: bool,
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
        serde_json::to_string(&self.saved()).expect("invariant: numbers and words can be written")
    }

    pub(crate) fn saved(&self) -> SavedLinear {
        SavedLinear {
            format: FORMAT.to_owned(),
            version: VERSION,
            fingerprint: self.knowledge.fingerprint(),
            features: self.features.fingerprint(),
            options: self.options().clone(),
            episode: self.episode,
            plans: self.plans,
            planned_from: format!("{:016x}", self.planned_from),
            due: self.due,
            designs: self.model.designs.iter().map(saved).collect(),
            mechanisms: self.mechanisms.as_ref().map(Mechanisms::entries),
            value: self.plan.value_hs.clone(),
            policy: self.plan.policy_hs.clone(),
        }
    }

    /// Restores a saved learner, given the same knowledge, with the features of its options.
    pub fn restore(knowledge: &Knowledge, text: &str) -> Result<LinearLearner, RestoreError> {
        Header::check(text, FORMAT, VERSION)?;
        let saved: SavedLinear = serde_json::from_str(text)?;
        let episodes = Some(saved.episode);
        LinearLearner::restored(knowledge, saved, episodes, LinearLearner::new)
    }

    /// The same for a learner with given features.
    pub fn restore_with_features(
        knowledge: &Knowledge,
        features: &Features,
        text: &str,
    ) -> Result<LinearLearner, RestoreError> {
        Header::check(text, FORMAT, VERSION)?;
        let make = |k: &Knowledge, o| LinearLearner::with_features(k, features, o);
        let saved: SavedLinear = serde_json::from_str(text)?;
        let episodes = Some(saved.episode);
        LinearLearner::restored(knowledge, saved, episodes, make)
    }

    /// The same from parsed text; `begun`: the number of episodes of its steps and plans, `None` if some belong to no
    /// episode.
    pub(crate) fn from_saved(
        knowledge: &Knowledge,
        saved: SavedLinear,
        begun: Option<u64>,
    ) -> Result<LinearLearner, RestoreError> {
        LinearLearner::restored(knowledge, saved, begun, LinearLearner::new)
    }

    fn restored(
        knowledge: &Knowledge,
        saved: SavedLinear,
        begun: Option<u64>,
        make: impl FnOnce(&Knowledge, LinearOptions) -> Result<LinearLearner, LinearError>,
    ) -> Result<LinearLearner, RestoreError> {
        let here = knowledge.fingerprint();
        if saved.fingerprint != here {
            return Err(RestoreError::OtherWorld { saved: saved.fingerprint, here });
        }
        let mut learner = make(knowledge, saved.options.clone()).map_err(LearnError::from)?;
        let here = learner.features.fingerprint();
        if saved.features != here {
            return Err(RestoreError::OtherFeatures { saved: saved.features, here });
        }
        learner.take(saved, begun)?;
        Ok(learner)
    }

    /// Restores the saved state.
    fn take(&mut self, saved: SavedLinear, begun: Option<u64>) -> Result<(), RestoreError> {
        let damaged = |field: &str, why: &str| Err(RestoreError::damaged(field, why));
        if saved.value.len() != self.plan.value_hs.len()
            || saved.policy.len() != self.plan.policy_hs.len()
            || saved.designs.len() != self.model.designs.len()
        {
            return damaged("value", "values, policy or designs do not have the size of this world");
        }
        if begun.is_some_and(|begun| saved.plans > begun.saturating_add(1)) || saved.episode > MOST_SAVED {
            return damaged("plans", "there were more plans than episodes");
        }
        let Ok(planned_from) = u64::from_str_radix(&saved.planned_from, 16) else {
            return damaged("planned_from", "it is not a fingerprint");
        };
        if !self.could_have_planned(&saved) {
            return damaged("policy", "there is an intervention or a value that this world does not allow");
        }
        let n_states = self.plan.n_states;
        let columns: DMatrixView<'_, f64> = self.model.columns.as_view();
        let mut steps = 0u128;
        for (design, saved) in self.model.designs.iter_mut().zip(&saved.designs) {
            let Some(met) = met(saved, columns.ncols(), n_states) else {
                return damaged("designs", "the pairs that were met are not in order, or not of this world");
            };
            steps += u128::from(met.steps);
            let in_order = saved.recent.len() < design.period();
            let numbers = [saved.gained, saved.planned].iter().all(|x| x.is_finite() && *x >= 0.0);
            design.gained_then = saved.gained;
            design.planned = saved.planned;
            if !in_order || !numbers || !design.replay(columns, met, &saved.recent) {
                return damaged("designs", "the recent steps are not among those that were met");
            }
        }
        match (&mut self.mechanisms, &saved.mechanisms) {
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
        let horizon = self.knowledge.horizon() as u128;
        if begun.is_some_and(|begun| steps > u128::from(begun) * horizon) {
            return damaged("designs", "there are more steps than episodes could have");
        }
        self.episode = saved.episode;
        (self.plans, self.planned_from) = (saved.plans, planned_from);
        self.due = saved.due;
        self.plan.value_hs = saved.value;
        self.plan.policy_hs = saved.policy;
        Ok(())
    }

    /// Whether the policy and the values are possible for this learner.
    fn could_have_planned(&self, saved: &SavedLinear) -> bool {
        let all = self.knowledge.interventions();
        let n = self.plan.n_states;
        let allowed = |i: usize, a: &Action| all.allows(&self.knowledge.state_space().digits(i % n), *a);
        // Before the first plan the policy is all zeros.
        let undecided = saved.due && saved.plans == 0 && saved.policy.iter().all(|&a| a == Action(0));
        let policy = undecided || saved.policy.iter().enumerate().all(|(i, a)| allowed(i, a));
        let most = self.model.clip.iter().flatten().chain(&all.cost_range()).map(|x| x.abs()).sum::<f64>();
        policy && saved.value.iter().all(|v| v.abs() <= most + 1.0)
    }
}

fn saved(design: &Design) -> SavedDesign {
    SavedDesign {
        next: design.met.next.iter().map(|(&(cell, next), &n)| (cell, next, n)).collect(),
        paid: design.met.paid.iter().map(|(&cell, paid)| (cell, format!("{paid:x}"))).collect(),
        gained: design.gained_then,
        planned: design.planned,
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
