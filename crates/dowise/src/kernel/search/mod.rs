//! Search for the optimal intervention in a state without enumerating interventions.

mod branch;
mod few;
#[cfg(test)]
mod tests;

use super::Kernel;
use crate::loops::pick::{least, n_within, nth_within};
use crate::loops::simd;
use crate::loops::weigh::weigh;
use crate::random::scale;
use crate::tolerance::WITHIN_TIE;
use crate::world::Action;

/// Tie-breaking between interventions whose values differ by no more than the tolerance.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tie {
    /// The intervention with the smallest number, among those that pruning keeps.
    First,
    /// The intervention selected by this random number, uniformly (but see [`branch::MOST_TIES`]).
    Random(u64),
}

/// Result of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Found {
    /// The least value of any intervention, up to rounding.
    pub(crate) least: f64,
    /// The value of the choice among ties (an upper bound if all tie).
    pub(crate) chosen: f64,
    /// The chosen intervention.
    pub(crate) action: Action,
}

impl Found {
    /// The result of a single candidate.
    pub(crate) fn only(value: f64, action: Action) -> Found {
        Found { least: value, chosen: value, action }
    }
}

/// Buffers for [`Kernel::best`], to be reused from state to state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) values: Vec<f64>,
    /// Values and positions, for partial sorting.
    pub(crate) order: Vec<(f64, u32)>,
    few: few::Buffers,
    branch: branch::Buffers,
}

/// Precision of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Within {
    /// Difference within which interventions count as equally good.
    pub(crate) ties: f64,
    /// Permitted error of the least value, so that rounding differences between ties are not searched: two dozen tied
    /// groups have millions of sums.
    pub(crate) rounding: f64,
}

impl Within {
    /// A tie tolerance far above rounding.
    pub(crate) fn ties(tolerance: f64) -> Within {
        Within { ties: tolerance, rounding: WITHIN_TIE * tolerance }
    }
}

/// Maximum number of combinations of settings that are enumerated.
const FEW: usize = 256;

impl Kernel {
    /// Minimises Σ_c P(c | state, a) · loss(c) + cost(a) over the allowed interventions a.
    ///
    /// With loss = cap − q this is cap − max_a Q. If every q equals the cap it is exactly 0, so ties are exact.
    ///
    /// # Cost
    /// One group: (configurations) × (kept settings). Several groups with few combinations of kept settings: all of
    /// them, each group marginalised once. Otherwise branch and bound, which usually follows one path to its end.
    pub(crate) fn best(&self, state: usize, loss: &[f64], tolerance: f64, tie: Tie, scratch: &mut Scratch) -> Found {
        self.best_within(state, loss, Within::ties(tolerance), tie, scratch)
    }

    /// The same with an explicit permitted error.
    pub(crate) fn best_within(
        &self,
        state: usize,
        loss: &[f64],
        within: Within,
        tie: Tie,
        scratch: &mut Scratch,
    ) -> Found {
        debug_assert_eq!(loss.len(), self.n_causes());
        let tied = self.all_tied(state, loss, within.ties, tie);
        tied.unwrap_or_else(|| self.search(state, loss, within, tie, scratch))
    }

    /// Whether all candidates of a state have zero net cost.
    pub(crate) fn is_free(&self, state: usize) -> bool {
        self.groups.iter().all(|group| {
            let row = group.row(group.row_of(state));
            (0..row.n).all(|i| group.settings[row.setting(i)].cost == 0.0)
        })
    }

    /// If all configurations are equally good up to rounding and there are no costs: with random ties, any allowed
    /// intervention, including pruned ones.
    pub(crate) fn all_tied(&self, state: usize, loss: &[f64], tolerance: f64, tie: Tie) -> Option<Found> {
        let Tie::Random(random) = tie else { return None };
        let most = WITHIN_TIE * tolerance;
        // Mostly two losses suffice to rule this out.
        if self.has_costs || (loss[0] - loss[loss.len() - 1]).abs() > most {
            return None;
        }
        let (least, greatest) = extremes(loss);
        if greatest - least > most {
            return None;
        }
        let action = crate::world::any_allowed(&self.interventions, &self.state_space, state, random);
        Some(Found { least, chosen: greatest, action })
    }

    /// As [`Kernel::best`], but chooses unpruned settings only.
    fn search(&self, state: usize, loss: &[f64], within: Within, tie: Tie, scratch: &mut Scratch) -> Found {
        match &self.groups[..] {
            [] => Found::only(loss[0], Action(0)),
            // Groups merged into one component may still be forbidden together.
            [_] if self.cross.is_empty() => self.best_of_one(state, loss, within.ties, tie, scratch),
            _ if self.n_combinations(state) <= FEW => self.best_of_few(state, loss, within.ties, tie, &mut scratch.few),
            _ => self.best_of_many(state, loss, within, tie, &mut scratch.branch),
        }
    }

    fn n_combinations(&self, state: usize) -> usize {
        self.groups.iter().fold(1, |n, group| n.saturating_mul(group.row(group.row_of(state)).n))
    }

    fn best_of_one(&self, state: usize, loss: &[f64], tolerance: f64, tie: Tie, scratch: &mut Scratch) -> Found {
        let group = &self.groups[0];
        let row = group.row(group.row_of(state));
        scratch.values.resize(row.n, 0.0);
        if let Some(boxes) = group.boxes() {
            boxes.weigh(group.row_of(state), |i| row.setting(i), loss, &mut scratch.values);
        } else {
            weigh(row.prob, loss, &mut scratch.values);
        }
        if !group.is_exact() && group.boxes().is_none() {
            let (range, floor) = (range(loss), floor(loss));
            for i in 0..row.n {
                let gain = range * group.radius(group.row_of(state), row.setting(i));
                scratch.values[i] = (scratch.values[i] - gain).max(floor);
            }
        }
        if self.has_costs {
            for i in 0..row.n {
                scratch.values[i] += group.settings[row.setting(i)].cost;
            }
        }
        let (least, i) = pick(&scratch.values[..row.n], tolerance, tie);
        Found { least, chosen: scratch.values[i], action: Action(group.settings[row.setting(i)].part) }
    }

    /// Greatest less least loss if the kernel is uncertain, else 0: times a radius, it bounds the optimistic gain.
    fn doubt(&self, loss: &[f64]) -> f64 {
        if self.groups.iter().all(|g| g.is_exact()) { 0.0 } else { range(loss) }
    }
}

/// The least value, and the position chosen among those within the tolerance.
pub(crate) fn pick(values: &[f64], tolerance: f64, tie: Tie) -> (f64, usize) {
    simd::wide(
        #[inline(always)]
        || pick_here(values, tolerance, tie),
    )
}

/// [`pick`], as part of a larger loop that runs with wide registers.
#[inline(always)]
pub(crate) fn pick_here(values: &[f64], tolerance: f64, tie: Tie) -> (f64, usize) {
    let best = least(values);
    let limit = best + tolerance;
    let chosen = match tie {
        Tie::First => nth_within(values, limit, 0),
        Tie::Random(random) => nth_within(values, limit, scale(random, n_within(values, limit))),
    };
    (best, chosen.expect("invariant: every state has an allowed intervention"))
}

/// Greatest less least.
fn range(loss: &[f64]) -> f64 {
    let (lo, hi) = extremes(loss);
    hi - lo
}

/// Lower bound of every member: 0 for losses measured from a cap; values of next states may be below it.
fn floor(loss: &[f64]) -> f64 {
    extremes(loss).0.min(0.0)
}

/// Least and greatest.
fn extremes(loss: &[f64]) -> (f64, f64) {
    loss.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), &x| (lo.min(x), hi.max(x)))
}
