//! Remembers, for one stage and state, which settings were nearly best, so that the next search looks at few of them.
//!
//! Between two plans the losses move little. If every loss moved by at least `lo` since they were last weighed in full, so did
//! every setting's weighted loss, for the weights sum to one. So settings are tried in the old order, and once even the
//! smallest possible new value of the next one is too large, the rest need no look. Same results, to the bit.

use super::Kernel;
use super::group::Row;
use super::search::{Scratch, Tie, pick, weigh};
use crate::world::Action;

/// Settings kept in order: one in so many, but at least [`LEAST_KEPT`].
const KEEP_ONE_IN: usize = 8;
const LEAST_KEPT: usize = 16;

/// Settings looked at in one search above which a full weighing is due: it is about as fast, and it sharpens the memory.
const LOOK_AT_MOST: usize = 12;

/// The last full weighing at one stage and state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Anchor {
    loss: Vec<f64>,
    /// (value then, position in the row), best first; only the best of all.
    best: Vec<(f64, u32)>,
    /// The least value then of those not kept.
    rest: f64,
}

impl Kernel {
    /// As [`Kernel::best`], with a memory of the last call for the same stage and state.
    pub(crate) fn best_anchored(
        &self,
        state: usize,
        loss: &[f64],
        tolerance: f64,
        tie: Tie,
        anchor: &mut Anchor,
        scratch: &mut Scratch,
    ) -> (f64, Action) {
        let [group] = &self.groups[..] else { return self.best(state, loss, tolerance, tie, scratch) };
        let row = group.row(group.row_of(state));
        if !group.is_exact() || row.n <= LEAST_KEPT {
            return self.best(state, loss, tolerance, tie, scratch);
        }
        if let Some(tied) = self.all_tied(state, loss, tolerance, tie) {
            return tied;
        }
        let cost = |i: usize| group.settings[row.setting(i)].cost;
        let (best, chosen) = match anchor.search(&row, loss, tolerance, tie, cost, scratch) {
            Some(found) => found,
            None => {
                scratch.values.resize(row.n, 0.0);
                weigh(row.prob, loss, &mut scratch.values);
                scratch.values.iter_mut().enumerate().for_each(|(i, v)| *v += cost(i));
                anchor.remember(loss, &scratch.values);
                pick(&scratch.values, tolerance, tie)
            }
        };
        (best, Action(group.settings[row.setting(chosen)].part))
    }
}

impl Anchor {
    fn remember(&mut self, loss: &[f64], values: &[f64]) {
        self.loss.clear();
        self.loss.extend_from_slice(loss);
        self.best.clear();
        self.best.extend(values.iter().zip(0..).map(|(&v, i)| (v, i)));
        let keep = (values.len() / KEEP_ONE_IN).max(LEAST_KEPT);
        let order = |a: &(f64, u32), b: &(f64, u32)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        self.rest = f64::INFINITY;
        if keep < self.best.len() {
            self.rest = self.best.select_nth_unstable_by(keep, order).1.0;
            self.best.truncate(keep);
        }
        self.best.sort_unstable_by(order);
    }

    /// The least value and the chosen position, or `None` if the memory does not settle it.
    fn search(
        &self,
        row: &Row<'_>,
        loss: &[f64],
        tolerance: f64,
        tie: Tie,
        cost: impl Fn(usize) -> f64,
        scratch: &mut Scratch,
    ) -> Option<(f64, usize)> {
        if self.loss.len() != loss.len() {
            return None;
        }
        let moved = loss.iter().zip(&self.loss).map(|(now, then)| now - then).fold(f64::INFINITY, f64::min);
        // Rounding is far below the tolerance; doubling it keeps every tie in view.
        let reach = |best: f64| best + 2.0 * tolerance - moved;
        let mut best = f64::INFINITY;
        let seen = &mut scratch.seen;
        seen.clear();
        for &(then, i) in &self.best {
            if then > reach(best) {
                break;
            }
            let i = i as usize;
            let weighed: f64 = loss.iter().enumerate().fold(0.0, |sum, (c, x)| sum + row.prob[c * row.n + i] * x);
            let value = weighed + cost(i);
            best = best.min(value);
            seen.push((value, i));
            if seen.len() > LOOK_AT_MOST.max(self.best.len() / 4) {
                return None;
            }
        }
        if seen.len() == self.best.len() && self.rest <= reach(best) {
            return None;
        }
        seen.retain(|(value, _)| *value <= best + tolerance);
        let chosen = match tie {
            Tie::First => seen.iter().map(|(_, i)| *i).min(),
            Tie::Random(_) if seen.len() == 1 => Some(seen[0].1),
            Tie::Random(random) => {
                seen.sort_unstable_by_key(|(_, i)| *i);
                seen.get(super::scale(random, seen.len() as u64) as usize).map(|(_, i)| *i)
            }
        };
        chosen.map(|chosen| (best, chosen))
    }
}
