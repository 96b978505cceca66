//! Evidence of a linear learner: exact transition counts and reward sums of every pair.
//!
//! Sums of features depend on the order of addition; these counts do not, and the sums follow from them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Counts of one design.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Met {
    /// Visits by (column of the features, next state).
    pub(super) next: BTreeMap<(u32, u32), u32>,
    /// Sum of the rewards of each column, as shares of their range in 2⁻⁶⁴.
    pub(super) paid: BTreeMap<u32, u128>,
    /// Number of steps.
    pub(super) steps: u64,
}

/// One step as a regression counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MetStep {
    /// Column of the features.
    pub(super) cell: u32,
    pub(super) next: u32,
    /// Reward as a share of its range in 2⁻⁶⁴, except for 1, which is `u64::MAX`.
    pub(super) share: u64,
}

impl MetStep {
    /// A reward within a range; an empty range leaves nothing to regress.
    pub(super) fn new(cell: usize, next: usize, reward: f64, [lo, hi]: [f64; 2]) -> MetStep {
        let share = if hi > lo { ((reward - lo) / (hi - lo)).clamp(0.0, 1.0) } else { 0.0 };
        // A cast to an integer saturates, so the upper end is the greatest share.
        MetStep { cell: cell as u32, next: next as u32, share: (share * 18_446_744_073_709_551_616.0) as u64 }
    }

    fn exact(self) -> u128 {
        if self.share == u64::MAX { 1 << 64 } else { u128::from(self.share) }
    }

    /// The reward.
    pub(super) fn reward(self, [lo, hi]: [f64; 2]) -> f64 {
        lo + (hi - lo) * (self.exact() as f64 / 18_446_744_073_709_551_616.0)
    }
}

impl Met {
    pub(super) fn add(&mut self, step: MetStep, times: u32) {
        *self.next.entry((step.cell, step.next)).or_default() += times;
        *self.paid.entry(step.cell).or_default() += step.exact() * u128::from(times);
        self.steps += u64::from(times);
    }

    /// Whether this many more steps of this pair can be counted.
    pub(super) fn has_room(&self, step: MetStep, times: u32) -> bool {
        self.next.get(&(step.cell, step.next)).is_none_or(|&n| n.checked_add(times).is_some())
    }

    /// Removes a step; `false` if it is not counted.
    pub(super) fn remove(&mut self, step: MetStep) -> bool {
        let visits = u128::from(self.visits(step.cell));
        let (Some(n), Some(paid)) = (self.next.get_mut(&(step.cell, step.next)), self.paid.get_mut(&step.cell)) else {
            return false;
        };
        // The remaining sum must be possible for the other visits, each at most 1.
        if paid.checked_sub(step.exact()).is_none_or(|left| left > (visits - 1) << 64) {
            return false;
        }
        *n -= 1;
        *paid -= step.exact();
        if *n == 0 {
            self.next.remove(&(step.cell, step.next));
        }
        if self.visits(step.cell) == 0 {
            self.paid.remove(&step.cell);
        }
        self.steps -= 1;
        true
    }

    /// Visits of a column.
    pub(super) fn visits(&self, cell: u32) -> u64 {
        self.next.range((cell, 0)..=(cell, u32::MAX)).map(|(_, &n)| u64::from(n)).sum()
    }

    /// Every column with its visits and the sum of its rewards in this range.
    pub(super) fn columns(&self, [lo, hi]: [f64; 2]) -> impl Iterator<Item = (usize, f64, f64)> {
        self.paid.iter().map(move |(&cell, &paid)| {
            let visits = self.visits(cell) as f64;
            let reward = visits * lo + (hi - lo) * (paid as f64 / 18_446_744_073_709_551_616.0);
            (cell as usize, visits, reward)
        })
    }

    /// Every column with its visits and the sum of its targets, given the continuation values of next states.
    pub(super) fn targets(&self, regressed: [f64; 2], worth: &[f64]) -> Vec<(usize, f64, f64)> {
        let mut out: Vec<(usize, f64, f64)> = self.columns(regressed).collect();
        let mut at = 0;
        for (&(cell, next), &n) in &self.next {
            while out[at].0 != cell as usize {
                at += 1;
            }
            out[at].2 += f64::from(n) * worth[next as usize];
        }
        out
    }

    pub(super) fn fingerprint(&self) -> u64 {
        use crate::random::splitmix64;
        let next = self.next.iter().fold(0, |h, (&(c, s), &n)| {
            splitmix64(h ^ u64::from(c) << 32 ^ splitmix64(u64::from(s) << 32 ^ u64::from(n)))
        });
        self.paid.iter().fold(next, |h, (&c, &p)| {
            splitmix64(h ^ splitmix64(u64::from(c) ^ (p as u64) ^ splitmix64((p >> 64) as u64)))
        })
    }
}
