//! One monitored row: the visits in memory, and the visits under its change-point test.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::learn::PAID_WHOLE;
use crate::learn::evidence::RowSeen;
use crate::learn::wrappers::nonstationary::change_point::{Recent, Tally};

/// One row.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Number of resets.
    pub(super) resets: u32,
    /// Counted visits since then that are no longer stored individually.
    pub(super) dropped: u64,
    /// Visits since its test began.
    pub(super) tested: Tally,
    pub(super) n_tested: u64,
    /// Stored visits, latest last.
    pub(super) recent: VecDeque<Visit>,
}

impl Row {
    pub(super) fn new(empty: Tally) -> Row {
        Row { resets: 0, dropped: 0, tested: empty, n_tested: 0, recent: VecDeque::new() }
    }

    /// Number of stored visits under test: the latest.
    pub(super) fn of_recent(&self) -> usize {
        self.recent.len().min(usize::try_from(self.n_tested).unwrap_or(usize::MAX))
    }

    /// Position of the latest visit of this value.
    pub(super) fn find(&self, value: u128, paid: bool) -> Option<usize> {
        self.recent.iter().rposition(|visit| decoded(visit.value, paid) == value)
    }

    /// Removes the latest visit of this value once; an older one if none is stored.
    pub(super) fn take_back(&mut self, value: u128, paid: bool) {
        let (first, found) = (self.recent.len() - self.of_recent(), self.find(value, paid));
        match found {
            Some(i) if self.recent[i].times > 1 => self.recent[i].times -= 1,
            Some(i) => {
                self.recent.remove(i);
                if i >= first {
                    self.tested.remove(value);
                    self.n_tested -= 1;
                }
            }
            None => {
                let (older, n) = (self.older(paid), self.n_tested - self.of_recent() as u64);
                if n > 0 && older.has(value) {
                    self.tested.remove(value);
                    self.n_tested -= 1;
                }
                // Some dropped visits may precede the beginning of the test.
                self.dropped = self.dropped.saturating_sub(1).max(self.n_tested - self.of_recent() as u64);
            }
        }
    }

    /// Visits since the test began that are no longer stored individually.
    pub(super) fn older(&self, paid: bool) -> Tally {
        let mut older = self.tested.clone();
        let tested = self.recent.iter().skip(self.recent.len() - self.of_recent());
        tested.for_each(|visit| older.remove(decoded(visit.value, paid)));
        older
    }

    /// Whether a visit that is not stored individually can be counted, besides the stored ones.
    pub(super) fn may_hold(&self, seen: RowSeen<'_>, value: u128) -> bool {
        match seen {
            RowSeen::Values(counts) => counts[value as usize] > 0,
            RowSeen::Paid(n, sum) => {
                let (times, paid) = self.paid();
                let left = Tally::Paid((u64::from(n) - times) as u32, sum - paid);
                left.has(value)
            }
        }
    }

    /// Number and sum of the individually stored rewards.
    pub(super) fn paid(&self) -> (u64, u128) {
        self.recent.iter().fold((0, 0), |(times, sum), visit| {
            (times + u64::from(visit.times), sum + decoded(visit.value, true) * u128::from(visit.times))
        })
    }
}

/// One visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Visit {
    /// The value, or the share of the reward in 2⁻⁶⁴; the full share is the largest number, which no other share is.
    pub(super) value: u64,
    /// Multiplicity.
    pub(super) times: u32,
    pub(super) episode: u32,
}

impl Visit {
    pub(super) fn new(value: u128, times: u32, episode: u64) -> Visit {
        let value = u64::try_from(value).unwrap_or(u64::MAX);
        Visit { value, times, episode: episode.min(u32::MAX.into()) as u32 }
    }
}

/// Visits under test, of a table of values or of rewards.
pub(super) struct Tested<'a>(pub(super) &'a VecDeque<Visit>, pub(super) usize, pub(super) bool);

impl Recent for Tested<'_> {
    fn len(&self) -> usize {
        self.1
    }

    fn nth_back(&self, i: usize) -> u128 {
        decoded(self.0[self.0.len() - 1 - i].value, self.2)
    }
}

/// A value as it is counted.
pub(super) fn decoded(value: u64, paid: bool) -> u128 {
    if paid && value == u64::MAX { PAID_WHOLE } else { value.into() }
}
