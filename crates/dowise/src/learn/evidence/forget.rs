//! Forgetting in evidence: removal of old steps, and of a row's visits before its change point.

use super::{Changed, Counted, Evidence, EvidenceError};
use crate::learn::observation::Observation;

/// A row of one of the counted tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowAt {
    /// Of a factor's transitions.
    Transition { block: usize, factor: usize, row: usize },
    /// Of an unknown mechanism.
    Mechanism { index: usize, row: usize },
    /// Of an unknown reward term.
    Payment { term: usize, row: usize },
}

impl RowAt {
    fn changed(self) -> Changed {
        match self {
            RowAt::Transition { block, factor, row } => Changed::Transition { block, factor, row },
            RowAt::Mechanism { .. } => Changed::Mechanism,
            RowAt::Payment { .. } => Changed::Payment,
        }
    }

    /// The counted cell of a value of the row, or of a reward.
    fn counted(self, value: u128) -> Counted {
        match self {
            RowAt::Transition { block, factor, row } => {
                Counted::Transition { block, factor, row, value: value as usize }
            }
            RowAt::Mechanism { index, row } => Counted::Mechanism { index, row, value: value as usize },
            RowAt::Payment { term, row } => Counted::Payment { term, row, share: value },
        }
    }
}

impl Counted {
    /// The row, and the value or the share of the reward.
    pub(crate) fn row(self) -> (RowAt, u128) {
        match self {
            Counted::Transition { block, factor, row, value } => {
                (RowAt::Transition { block, factor, row }, value as u128)
            }
            Counted::Mechanism { index, row, value } => (RowAt::Mechanism { index, row }, value as u128),
            Counted::Payment { term, row, share } => (RowAt::Payment { term, row }, share),
        }
    }
}

impl Evidence {
    /// Whether such a visit can have been counted.
    pub(crate) fn has(&self, place: Counted) -> bool {
        match place {
            Counted::Transition { block, factor, row, value } => self.transitions[block][factor].has(row, value),
            Counted::Mechanism { index, row, value } => self.mechanisms[index].has(row, value),
            Counted::Payment { term, row, share } => self.payments[term].has(row, share),
        }
    }

    /// Calls `at` for every cell that counts an observation of this world.
    pub(crate) fn places_of(
        &self,
        observation: &Observation<'_>,
        at: impl FnMut(Counted),
    ) -> Result<(), EvidenceError> {
        let done = self.check(observation)?;
        super::places(&self.view, observation, done, at);
        Ok(())
    }

    /// Removes an observation with this multiplicity, which must still be counted.
    pub(crate) fn forget(&mut self, observation: &Observation<'_>, times: u32, tell: impl FnMut(Changed)) {
        let done = self.check(observation).expect("invariant: what is forgotten was counted");
        self.take_out(observation, done, times, |_| true, tell);
    }

    /// Removes an observation from the cells that, by `remembers`, still count it.
    pub(crate) fn remove_remembered(
        &mut self,
        observation: &Observation<'_>,
        remembers: impl FnMut(Counted) -> bool,
        tell: impl FnMut(Changed),
    ) -> Result<(), EvidenceError> {
        let done = self.check(observation)?;
        if self.visits_hs[observation.stage * self.view.layout.n_states() + observation.state] == 0 {
            return Err(EvidenceError::NotThere);
        }
        self.take_out(observation, done, 1, remembers, tell);
        Ok(())
    }

    /// Visits of a row by value, or its number of rewards and their exact sum.
    pub(crate) fn row_of(&self, at: RowAt) -> RowSeen<'_> {
        match at {
            RowAt::Transition { block, factor, row } => RowSeen::Values(self.transitions[block][factor].values(row)),
            RowAt::Mechanism { index, row } => RowSeen::Values(self.mechanisms[index].values(row)),
            RowAt::Payment { term, row } => {
                let (n, sum) = self.payments[term].of_row(row);
                RowSeen::Paid(n, sum)
            }
        }
    }

    /// Reduces a row to these values, or rewards, with multiplicities; none may exceed the present counts.
    pub(crate) fn keep_of_row(
        &mut self,
        at: RowAt,
        kept: impl Iterator<Item = (u128, u32)>,
        mut tell: impl FnMut(Changed),
    ) {
        let mut hash = 0u128;
        match at {
            RowAt::Transition { .. } | RowAt::Mechanism { .. } => {
                let (counts, row) = match at {
                    RowAt::Transition { block, factor, row } => (&mut self.transitions[block][factor], row),
                    RowAt::Mechanism { index, row } => (&mut self.mechanisms[index], row),
                    RowAt::Payment { .. } => unreachable!("invariant: payments are not counted by value"),
                };
                for value in 0..counts.n_values {
                    let n = counts.values(row)[value];
                    hash = hash.wrapping_sub(at.counted(value as u128).hash().wrapping_mul(n.into()));
                    counts.remove(row, value, n);
                }
                for (value, times) in kept {
                    hash = hash.wrapping_add(at.counted(value).hash().wrapping_mul(times.into()));
                    counts.add_times(row, value as usize, times);
                }
            }
            RowAt::Payment { term, row } => {
                // The hash is linear in the number of rewards and in their sum.
                let of = |n: u32, sum: u128| {
                    let [none, all] = [0, sum].map(|share| at.counted(share).hash());
                    all.wrapping_sub(none).wrapping_add(none.wrapping_mul(n.into()))
                };
                let (n, sum) = self.payments[term].of_row(row);
                hash = hash.wrapping_sub(of(n, sum));
                let (mut n, mut sum) = (0, 0);
                for (share, times) in kept {
                    n += times;
                    sum += share * u128::from(times);
                }
                hash = hash.wrapping_add(of(n, sum));
                self.payments[term].replace(row, n, sum);
            }
        }
        self.hash = self.hash.wrapping_add(hash);
        tell(at.changed());
    }
}

/// Sufficient statistics of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowSeen<'a> {
    /// Visits by value.
    Values(&'a [u32]),
    /// Number of rewards, and the exact sum of their shares.
    Paid(u32, u128),
}
