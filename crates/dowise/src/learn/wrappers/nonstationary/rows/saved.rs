//! Saved monitored rows: serialised, and validated on restoring.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::row::{Row, Visit, decoded};
use super::{MOST_RECENT, MOST_SUSPECTED, MOST_TOLD, Noticed, Rows, Suspicion};
use crate::learn::PAID_WHOLE;
use crate::learn::evidence::{Evidence, RowSeen};
use crate::learn::save::RestoreError;
use crate::learn::wrappers::nonstationary::change_point::Tally;

/// Serialised form of all rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedRows {
    clock: u64,
    count: u64,
    noticed: VecDeque<Noticed>,
    suspected: VecDeque<Suspicion>,
    rows: Vec<SavedRow>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedRow {
    table: usize,
    row: usize,
    resets: u32,
    dropped: u64,
    /// Visits since the test began that are no longer stored individually.
    older: Part,
    /// Number of the others.
    tested: usize,
    recent: Vec<Visit>,
}

/// Visits on one side of a change point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::learn::wrappers::nonstationary) enum Part {
    /// (value, visits)
    Values(Vec<(u32, u32)>),
    /// Number of rewards and the sum of their shares as a hexadecimal number.
    Paid(u32, String),
}

impl Part {
    pub(super) fn of(tally: &Tally) -> Part {
        match tally {
            Tally::Values(counts) => {
                let seen = counts.iter().enumerate().filter(|(_, n)| **n > 0);
                Part::Values(seen.map(|(value, &n)| (value as u32, n)).collect())
            }
            Tally::Paid(n, sum) => Part::Paid(*n, format!("{sum:x}")),
        }
    }

    /// The same as a tally of this kind; `None` if it is of another kind, or impossible.
    pub(super) fn tally(self, empty: Tally) -> Option<Tally> {
        match (self, empty) {
            (Part::Values(list), Tally::Values(mut counts)) => {
                let mut sum = 0u32;
                for (value, n) in list {
                    let count = counts.get_mut(value as usize).filter(|count| **count == 0 && n > 0)?;
                    *count = n;
                    sum = sum.checked_add(n)?;
                }
                Some(Tally::Values(counts))
            }
            (Part::Paid(n, sum), Tally::Paid(..)) => {
                let sum = u128::from_str_radix(&sum, 16).ok()?;
                (sum <= u128::from(n) * PAID_WHOLE).then_some(Tally::Paid(n, sum))
            }
            (Part::Values(_) | Part::Paid(..), _) => None,
        }
    }
}

impl Rows {
    pub(in crate::learn::wrappers::nonstationary) fn saved(&self) -> SavedRows {
        let mut rows = Vec::new();
        for (table, of) in self.tables.iter().enumerate() {
            for (row, state) in of.rows.iter().enumerate() {
                let Some(state) = state else { continue };
                let (tested, older) = (state.of_recent(), Part::of(&state.older(of.is_paid())));
                let recent: Vec<Visit> = state.recent.iter().copied().collect();
                let (resets, dropped) = (state.resets, state.dropped);
                rows.push(SavedRow { table, row, resets, dropped, older, tested, recent });
            }
        }
        let (noticed, suspected) = (self.noticed.clone(), self.suspected.clone());
        SavedRows { clock: self.clock, count: self.count, noticed, suspected, rows }
    }

    pub(in crate::learn::wrappers::nonstationary) fn take(&mut self, saved: SavedRows) -> Result<(), RestoreError> {
        let damaged = |why: &str| RestoreError::damaged("forget", why);
        if saved.clock > crate::learn::MOST_SAVED {
            return Err(damaged("there were more steps than can be"));
        }
        self.clock = saved.clock;
        for saved in saved.rows {
            let SavedRow { table, row, resets, dropped, older, tested, recent } = saved;
            let of = self.tables.get_mut(table).ok_or_else(|| damaged("there is no such table"))?;
            let (empty, paid, n_values) = (of.empty(), of.is_paid(), of.n_values);
            let is_value = |v: u64| n_values.is_none_or(|n| v < n as u64);
            let state = of.rows.get_mut(row).ok_or_else(|| damaged("there is no such row"))?;
            let possible = |v: &Visit| is_value(v.value) && v.times > 0;
            if state.is_some() || recent.len() > MOST_RECENT || tested > recent.len() || !recent.iter().all(possible) {
                return Err(damaged("a row comes twice, or remembers visits that it cannot have had"));
            }
            let mut counts = older.tally(empty).ok_or_else(|| damaged("a row has visits that it cannot have had"))?;
            let n_older = counts.n();
            if n_older > dropped.min(u64::from(u32::MAX / 2)) || n_older > 0 && tested < recent.len() {
                return Err(damaged("a row was tested on visits that were never dropped"));
            }
            recent[recent.len() - tested..].iter().for_each(|visit| counts.add(decoded(visit.value, paid)));
            let n_tested = n_older + tested as u64;
            *state = Some(Box::new(Row { resets, dropped, tested: counts, n_tested, recent: recent.into() }));
        }
        let possible = |n: &Noticed| {
            let table = self.tables.get(n.table);
            let fits = |part: &Part| table.is_some_and(|of| part.clone().tally(of.empty()).is_some());
            table.is_some_and(|of| n.row < of.rows.len())
                && n.since <= n.episode
                && n.episode <= self.episode()
                && fits(&n.before)
                && fits(&n.after)
        };
        let knowledge = saved.noticed.len();
        if knowledge > MOST_TOLD || knowledge as u64 > saved.count || !saved.noticed.iter().all(possible) {
            return Err(damaged("it noticed a change that cannot have been"));
        }
        let possible = |s: &Suspicion| s.from <= s.to && s.to <= self.episode().saturating_mul(2);
        if saved.suspected.len() > MOST_SUSPECTED || !saved.suspected.iter().all(possible) {
            return Err(damaged("it suspects a change at a time that has not come"));
        }
        (self.count, self.noticed, self.suspected) = (saved.count, saved.noticed, saved.suspected);
        Ok(())
    }

    /// Whether all stored visits are counted.
    pub(in crate::learn::wrappers::nonstationary) fn fits(&self, evidence: &Evidence) -> bool {
        self.tables.iter().all(|table| {
            let rows = table.rows.iter().enumerate();
            let mut visited = rows.filter_map(|(row, state)| Some((row, state.as_deref()?)));
            visited.all(|(row, state)| {
                let older = state.tested.n().saturating_sub(state.of_recent() as u64);
                match evidence.row_of(table.at(row)) {
                    RowSeen::Values(counts) => {
                        let mut left: Vec<u64> = counts.iter().map(|&n| n.into()).collect();
                        let whole = state.recent.iter().all(|visit| {
                            let left = &mut left[visit.value as usize];
                            let there = *left >= visit.times.into();
                            *left = left.saturating_sub(visit.times.into());
                            there
                        });
                        whole && left.iter().sum::<u64>() >= older
                    }
                    RowSeen::Paid(n, sum) => {
                        let (times, paid) = state.paid();
                        let left = u64::from(n).checked_sub(times);
                        let possible = |left: u64| sum - paid <= u128::from(left) * PAID_WHOLE;
                        left.is_some_and(|left| paid <= sum && possible(left) && left >= older)
                    }
                }
            })
        })
    }
}
