//! A linear learner as a file: the sums it regresses on, so that going on gives the same as never having stopped.
//!
//! The file is JSON, `"dowise linear learner"` version 1. It holds the options, fingerprints of what the learner was told
//! and of its features, the present plan, and for each design the sums as (row, column, sum) triples with the columns
//! seen since the factor was last computed from them. Factor, widths and weights are not saved; they follow from these to
//! the last bit.

use nalgebra::{DMatrix, DMatrixView};
use serde::{Deserialize, Serialize};

use super::design::Design;
use super::error::LinearError;
use super::features::Features;
use super::learner::LinearLearner;
use super::options::LinearOptions;
use crate::learn::{Header, Knowledge, LearnError, RestoreError};
use crate::world::Action;

/// What a saved linear learner calls itself.
pub(crate) const FORMAT: &str = "dowise linear learner";

/// No sum of rewards comes near this.
const LARGEST_SUM: f64 = 1e100;

/// Entries of a matrix that are not zero, by column: (row, column, sum).
type Sums = Vec<(u32, u32, f64)>;

#[derive(Serialize, Deserialize)]
struct Saved {
    #[serde(flatten)]
    header: Header,
    fingerprint: String,
    features: String,
    options: LinearOptions,
    episode: u64,
    plans: u64,
    due: bool,
    designs: Vec<SavedDesign>,
    value: Vec<f64>,
    policy: Vec<Action>,
}

#[derive(Serialize, Deserialize)]
struct SavedDesign {
    seen: u64,
    /// Λ as of the last refresh, lower triangle and diagonal; nothing if there was none yet.
    gram: Sums,
    /// ln(det Λ / λ^d) then.
    gained: f64,
    /// The same at the last plan.
    planned: f64,
    recent: Vec<u32>,
    next: Sums,
    reward: Vec<f64>,
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
        let saved = Saved {
            header: Header::new(FORMAT),
            fingerprint: self.knowledge.fingerprint(),
            features: self.features.fingerprint(),
            options: self.options().clone(),
            episode: self.episode,
            plans: self.plans,
            due: self.due,
            designs: self.model.designs.iter().map(saved).collect(),
            value: self.plan.value_hs.clone(),
            policy: self.plan.policy_hs.clone(),
        };
        serde_json::to_string(&saved).expect("plain data")
    }

    /// A learner that goes on where a saved one stopped, told the same things, with the features its options choose.
    pub fn restore(knowledge: &Knowledge, text: &str) -> Result<LinearLearner, RestoreError> {
        LinearLearner::restored(knowledge, text, LinearLearner::new)
    }

    /// The same for a learner that was given its features.
    pub fn restore_with_features(
        knowledge: &Knowledge,
        features: &Features,
        text: &str,
    ) -> Result<LinearLearner, RestoreError> {
        LinearLearner::restored(knowledge, text, |k, o| LinearLearner::with_features(k, features, o))
    }

    fn restored(
        knowledge: &Knowledge,
        text: &str,
        make: impl FnOnce(&Knowledge, LinearOptions) -> Result<LinearLearner, LinearError>,
    ) -> Result<LinearLearner, RestoreError> {
        Header::check(text, FORMAT)?;
        let saved: Saved = serde_json::from_str(text)?;
        let here = knowledge.fingerprint();
        if saved.fingerprint != here {
            return Err(RestoreError::OtherWorld { saved: saved.fingerprint, here });
        }
        let mut learner = make(knowledge, saved.options.clone()).map_err(LearnError::from)?;
        let here = learner.features.fingerprint();
        if saved.features != here {
            return Err(RestoreError::OtherFeatures { saved: saved.features, here });
        }
        if learner.take(saved) { Ok(learner) } else { Err(RestoreError::Damaged) }
    }

    /// Takes over what was saved; `false` if it does not fit.
    fn take(&mut self, saved: Saved) -> bool {
        let same_len = saved.value.len() == self.plan.value_hs.len()
            && saved.policy.len() == self.plan.policy_hs.len()
            && saved.designs.len() == self.model.designs.len();
        // Every step went into one design, and no episode has more steps than stages; a plan goes before an episode.
        let steps: u128 = saved.designs.iter().map(|d| u128::from(d.seen)).sum();
        let most = u128::from(saved.episode) * self.knowledge.horizon() as u128;
        let counted = steps <= most && saved.plans <= saved.episode.saturating_add(1) && saved.episode <= u64::MAX / 2;
        if !same_len || !counted || !self.could_have_planned(&saved) {
            return false;
        }
        let columns: DMatrixView<'_, f64> = self.model.columns.as_view();
        for (design, saved) in self.model.designs.iter_mut().zip(&saved.designs) {
            if !put(design, saved, columns.ncols()) || !design.replay(columns, &saved.recent) {
                return false;
            }
        }
        self.episode = saved.episode;
        self.plans = saved.plans;
        self.due = saved.due;
        self.plan.value_hs = saved.value;
        self.plan.policy_hs = saved.policy;
        true
    }

    /// Whether the policy and the values are such as this learner can have.
    fn could_have_planned(&self, saved: &Saved) -> bool {
        let all = self.knowledge.interventions();
        let n = self.plan.n_states;
        let allowed = |i: usize, a: &Action| all.allows(&self.knowledge.state_space().digits(i % n), *a);
        // Nothing was planned yet: the policy is all zeros.
        let undecided = saved.due && saved.plans == 0 && saved.policy.iter().all(|&a| a == Action(0));
        let policy = undecided || saved.policy.iter().enumerate().all(|(i, a)| allowed(i, a));
        let most = self.model.clip.iter().flatten().chain(&all.cost_range()).map(|x| x.abs()).sum::<f64>();
        policy && saved.value.iter().all(|v| v.abs() <= most + 1.0)
    }
}

fn saved(design: &Design) -> SavedDesign {
    let refreshed = design.seen > design.recent.len() as u64;
    SavedDesign {
        seen: design.seen,
        gram: if refreshed { sums(&design.gram, true) } else { Vec::new() },
        gained: design.gained_then,
        planned: design.planned,
        recent: design.recent.clone(),
        next: sums(&design.next, false),
        reward: design.reward.as_slice().to_vec(),
    }
}

/// Entries that are not zero, column by column; only the lower triangle, if so asked.
fn sums(matrix: &DMatrix<f64>, lower: bool) -> Sums {
    let mut out = Sums::new();
    for (j, column) in matrix.column_iter().enumerate() {
        let from = if lower { j } else { 0 };
        let entries = column.iter().enumerate().skip(from).filter(|(_, x)| **x != 0.0);
        out.extend(entries.map(|(i, &x)| (i as u32, j as u32, x)));
    }
    out
}

/// Puts saved sums into a design that has seen nothing; `false` if they do not fit.
fn put(design: &mut Design, saved: &SavedDesign, cells: usize) -> bool {
    let refreshed = saved.seen > saved.recent.len() as u64;
    let in_order = saved.recent.len() as u64 == saved.seen % design.period() as u64;
    let inside = saved.recent.iter().all(|&cell| (cell as usize) < cells);
    let lambda = design.gram[(0, 0)];
    // No feature is longer than 1, so no sum of features exceeds their number, up to rounding.
    let most = saved.seen as f64 * (1.0 + 1e-6);
    let numbers = [saved.gained, saved.planned].iter().all(|x| x.is_finite() && *x >= 0.0)
        && saved.reward.iter().all(|x| x.abs() <= LARGEST_SUM)
        && saved.next.iter().all(|(_, _, x)| x.abs() <= most)
        && saved.gram.iter().all(|&(i, j, x)| x.abs() <= most + lambda && i >= j && (i != j || x >= lambda));
    let shapes = saved.reward.len() == design.reward.len() && (refreshed || saved.gram.is_empty());
    if !(in_order && inside && numbers && shapes) {
        return false;
    }
    if refreshed {
        design.gram.fill(0.0);
    }
    design.reward.copy_from_slice(&saved.reward);
    design.seen = saved.seen;
    design.gained_then = saved.gained;
    design.planned = saved.planned;
    fill(&mut design.gram, &saved.gram) && fill(&mut design.next, &saved.next)
}

/// Writes entries into a matrix; `false` if one lies outside, or does not come after the one before it.
fn fill(matrix: &mut DMatrix<f64>, sums: &Sums) -> bool {
    let ordered = sums.windows(2).all(|w| (w[0].1, w[0].0) < (w[1].1, w[1].0));
    let (rows, columns) = matrix.shape();
    let inside = sums.iter().all(|&(i, j, x)| (i as usize) < rows && (j as usize) < columns && x != 0.0);
    if ordered && inside {
        sums.iter().for_each(|&(i, j, x)| matrix[(i as usize, j as usize)] = x);
    }
    ordered && inside
}
