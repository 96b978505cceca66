//! Replanning trigger: visits of every row since the last plan, and whether another plan is due.

use super::evidence::Evidence;

/// Visits below which a row has to double until it counts as grown: learners that list interventions have many rows that are seen a few
/// times and never again, and would plan for little else.
const FEW: u32 = 8;

/// Rows of transitions that were seen since the last plan, with their visits then.
#[derive(Clone, Debug)]
pub(crate) struct Grown {
    n_factors: usize,
    /// Where the rows of a table begin, `[block][factor]`.
    begins: Vec<usize>,
    /// Visits at the last plan, of every row that was seen since; [`NOT_SEEN`] of the others.
    then: Vec<u32>,
    /// Rows that were.
    seen: Vec<u32>,
}

const NOT_SEEN: u32 = u32::MAX;

impl Grown {
    /// Nothing was seen since the last plan.
    pub(crate) fn new(evidence: &Evidence) -> Grown {
        let (mut begins, mut n_rows) = (Vec::new(), 0);
        for counts in evidence.transitions.iter().flatten() {
            begins.push(n_rows);
            n_rows += counts.n_r.len();
        }
        let seen = Vec::with_capacity(n_rows);
        Grown { n_factors: evidence.transitions[0].len(), begins, then: vec![NOT_SEEN; n_rows], seen }
    }

    /// Nothing that is asked for: a learner whose plans do not wait for it.
    pub(crate) fn unused() -> Grown {
        Grown { n_factors: 0, begins: Vec::new(), then: Vec::new(), seen: Vec::new() }
    }

    /// Bytes that this takes for a number of rows.
    pub(crate) fn bytes(n_rows: u128) -> u128 {
        n_rows.saturating_mul(8)
    }

    /// A row was seen another number of times, n in all; whether it has grown by half since the last plan, or doubled if it had few visits.
    #[inline]
    pub(crate) fn add(&mut self, (block, factor, row): (usize, usize, usize), n: u32, times: u32) -> bool {
        let i = self.begins[block * self.n_factors + factor] + row;
        if self.then[i] == NOT_SEEN {
            self.then[i] = n - times;
            self.seen.push(i as u32);
        }
        let then = u64::from(self.then[i]);
        let more = if self.then[i] < FEW { then } else { then.div_ceil(2) };
        u64::from(n) >= then + more
    }

    /// A plan was made.
    pub(crate) fn planned(&mut self) {
        for i in self.seen.drain(..) {
            self.then[i as usize] = NOT_SEEN;
        }
    }

    /// Rows that were seen since the last plan, with their visits then, to be written: whatever the order in which they were.
    pub(crate) fn saved(&self) -> Vec<(u32, u32)> {
        let mut saved: Vec<(u32, u32)> = self.seen.iter().map(|&i| (i, self.then[i as usize])).collect();
        saved.sort_unstable();
        saved
    }

    /// As it was written; `None` if no such learner can have been.
    pub(crate) fn restored(evidence: &Evidence, saved: &[(u32, u32)]) -> Option<Grown> {
        let mut grown = Grown::new(evidence);
        for &(i, then) in saved {
            let is_new = grown.then.get(i as usize).is_some_and(|then| *then == NOT_SEEN);
            if !is_new || then == NOT_SEEN {
                return None;
            }
            grown.then[i as usize] = then;
            grown.seen.push(i);
        }
        Some(grown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One table of three rows.
    fn three() -> Grown {
        Grown { n_factors: 1, begins: vec![0], then: vec![NOT_SEEN; 3], seen: Vec::new() }
    }

    #[test]
    fn a_row_that_is_seen_time_and_again_makes_a_plan_due_ever_more_rarely() {
        let mut grown = three();
        let mut due = Vec::new();
        for n in 1..=40 {
            if grown.add((0, 0, 1), n, 1) {
                due.push(n);
                grown.planned();
            }
        }
        assert_eq!(due, [1, 2, 4, 8, 12, 18, 27]);
    }

    #[test]
    fn a_plan_counts_for_all_rows_and_many_visits_at_once_as_if_they_came_one_by_one() {
        let mut grown = three();
        assert!(grown.add((0, 0, 0), 10, 10));
        assert!(!grown.add((0, 0, 1), 17, 1), "one more than 16");
        assert!((18..24).all(|n| !grown.add((0, 0, 1), n, 1)) && grown.add((0, 0, 1), 24, 1));
        grown.planned();
        assert!(!grown.add((0, 0, 1), 30, 6) && !grown.add((0, 0, 1), 35, 5) && grown.add((0, 0, 1), 36, 1));
        assert_eq!(grown.saved(), [(1, 24)]);
    }
}
