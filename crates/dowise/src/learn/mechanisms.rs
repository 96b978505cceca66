//! Mechanisms within a step, counted and estimated separately, for learners that regress on next values.

use std::sync::Arc;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::belief::{Confidence, Interval, Intervals, MechanismEstimator, read_kernel};
use super::error::LearnResult;
use super::evidence::{Counts, Entry, EvidenceError};
use super::observation::Observation;
use super::view::{MechanismRow, MechanismRows};
use super::{Knowledge, MOST_CELLS};
use crate::kernel::{Kernel, Member};
use crate::learn::LearnError;
use crate::math::ln;
use crate::random::splitmix64;

/// Weight of the prior of a row in visits, shared equally by its values: that of the samplers' presets.
const PRIOR: f64 = 2.0;

/// How counts of mechanisms become P(c | s, a).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum MechanismRule {
    /// The optimistic member of sets that hold for all rows and all counts at once with probability 1 − δ, distances from the mean times a
    /// scale. Where forms are believed, their intervals are approximations.
    Optimistic { delta: f64, scale: f64, forms: bool },
    /// A sample of the posterior, with its standard deviation times a spread; a function of the counts and this seed.
    Sample { spread: f64, seed: u64 },
    /// Frequencies, all values alike where none was seen.
    Frequencies,
    /// The mean of the posterior, where rows that are learned each by itself borrow strength from each other.
    Mean,
}

/// What was seen of the mechanisms that have to be learned, mechanism by mechanism.
///
/// Rows are the joint values of a mechanism's own parents, so nothing here is as large as the number of states.
#[derive(Clone, Debug)]
pub(crate) struct Mechanisms {
    rows: Arc<MechanismRows>,
    counts: Vec<Counts>,
    /// Kept from kernel to kernel, computed anew where counts have changed.
    intervals: Option<Intervals>,
}

impl Mechanisms {
    /// Nothing seen; `None` if P(c | s, a) is known.
    pub(crate) fn new(knowledge: &Knowledge) -> LearnResult<Option<Mechanisms>> {
        let Some(rows) = MechanismRows::new(knowledge.world())? else { return Ok(None) };
        let cells = rows.unknown.iter().map(|m| (m.rows.len() as u128).saturating_mul(m.n_values as u128)).sum();
        if cells > MOST_CELLS as u128 {
            let what = "what this learner counts of mechanisms".to_owned();
            return Err(LearnError::TooManyCells { what, cells: Some(cells) });
        }
        let counts = rows.unknown.iter().map(|m| Counts::new(m.rows.len(), m.n_values)).collect();
        Ok(Some(Mechanisms { rows: Arc::new(rows), counts, intervals: None }))
    }

    /// Counters: rows times values, over all mechanisms.
    pub(crate) fn cells(&self) -> usize {
        self.counts.iter().map(|counts| counts.n_rv.len()).sum()
    }

    /// Rows, and numbers to be learned in them: the probabilities of a row less one, or the parameters of a form.
    pub(crate) fn to_learn(&self) -> [usize; 2] {
        let of =
            |m: &MechanismRow| m.model.as_ref().map_or(m.rows.len() * (m.n_values - 1), |form| form.n_parameters());
        [self.counts.iter().map(|counts| counts.n_r.len()).sum(), self.rows.unknown.iter().map(of).sum()]
    }

    /// Logarithm of the number of ways in which T steps can be counted, at most: each row has (T + 1)^values.
    pub(crate) fn log_ways(&self, steps: f64) -> f64 {
        self.cells() as f64 * ln(1.0 + steps)
    }

    /// Row and value of each mechanism that an observation speaks about.
    fn places(&self, knowledge: &Knowledge, observation: &Observation<'_>) -> Vec<Option<(usize, usize)>> {
        let set = observation.levers_set(knowledge);
        self.rows.unknown.iter().map(|of| self.rows.place(of, set, &observation.values)).collect()
    }

    /// Whether an observation that was made this many times can be counted.
    pub(crate) fn has_room(&self, knowledge: &Knowledge, observation: &Observation<'_>, times: u32) -> bool {
        let places = self.places(knowledge, observation);
        let room = |(at, counts): (Option<(usize, usize)>, &Counts)| {
            at.is_none_or(|(row, _)| counts.n_r[row].checked_add(times).is_some())
        };
        places.into_iter().zip(&self.counts).all(room)
    }

    /// Counts an observation that was made this many times; whether some row was seen its 1st, 2nd, 4th, 8th, … time.
    pub(crate) fn add(&mut self, knowledge: &Knowledge, observation: &Observation<'_>, times: u32) -> bool {
        let mut doubled = false;
        for (at, counts) in self.places(knowledge, observation).into_iter().zip(&mut self.counts) {
            let Some((row, value)) = at else { continue };
            let before = counts.n_r[row];
            counts.add_times(row, value, times);
            doubled |= before.checked_ilog2() != counts.n_r[row].checked_ilog2();
        }
        doubled
    }

    /// Whether an observation can have been counted.
    pub(crate) fn has(&self, knowledge: &Knowledge, observation: &Observation<'_>) -> bool {
        let places = self.places(knowledge, observation);
        places.into_iter().zip(&self.counts).all(|(at, counts)| at.is_none_or(|(row, value)| counts.has(row, value)))
    }

    /// Takes an observation back that was counted.
    pub(crate) fn remove(&mut self, knowledge: &Knowledge, observation: &Observation<'_>) {
        for (at, counts) in self.places(knowledge, observation).into_iter().zip(&mut self.counts) {
            at.into_iter().for_each(|(row, value)| counts.remove(row, value, 1));
        }
    }

    /// P(c | s, a) as a rule reads what was seen.
    pub(crate) fn kernel(&mut self, rule: MechanismRule) -> LearnResult<Kernel> {
        let (rows, counts) = (&*self.rows, &self.counts[..]);
        let mut rng;
        let reading = match rule {
            MechanismRule::Optimistic { delta, scale, forms } => {
                let n_rows = counts.iter().map(|counts| counts.n_r.len()).sum();
                let rule = Interval { confidence: Confidence::of_rows(n_rows, delta), scale: Some(scale) };
                let kept = self.intervals.get_or_insert_with(|| Intervals::new(rule));
                MechanismEstimator::Within(kept, Member::Optimistic, forms)
            }
            MechanismRule::Sample { spread, seed } => {
                rng = ChaCha8Rng::seed_from_u64(splitmix64(seed ^ 0x6d65_6368));
                MechanismEstimator::Sample { prior: PRIOR, spread, rng: &mut rng }
            }
            MechanismRule::Frequencies => MechanismEstimator::Mean { prior: 0.0, pooled: false },
            MechanismRule::Mean => MechanismEstimator::Mean { prior: PRIOR, pooled: true },
        };
        read_kernel(counts, rows, reading, false)
    }

    /// A number for exactly these counts.
    pub(crate) fn fingerprint(&self) -> u64 {
        let cells = self.counts.iter().flat_map(|counts| &counts.n_rv);
        cells.fold(0x7769_7468, |h, &n| splitmix64(h ^ u64::from(n)))
    }

    /// What was counted, mechanism by mechanism.
    pub(crate) fn entries(&self) -> Vec<Vec<Entry>> {
        self.counts.iter().map(Counts::entries).collect()
    }

    /// Takes saved counts over, in place of what was counted.
    pub(crate) fn restore(&mut self, entries: &[Vec<Entry>]) -> Result<(), EvidenceError> {
        if entries.len() != self.counts.len() {
            let why = "there are not as many tables as the learner counts in".to_owned();
            return Err(EvidenceError::Damaged { field: "mechanisms".to_owned(), why });
        }
        for (counts, entries) in self.counts.iter_mut().zip(entries) {
            *counts = Counts::new(counts.n_r.len(), counts.n_values);
            counts.restore(entries, "mechanisms")?;
        }
        Ok(())
    }

    /// Steps that some mechanism was counted in, at least.
    pub(crate) fn steps(&self) -> u128 {
        self.counts.iter().map(Counts::total).max().unwrap_or(0)
    }
}
