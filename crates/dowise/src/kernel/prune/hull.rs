//! Convex hull of settings with three or more configurations: extreme points by random directions and membership tests.

use std::ops::RangeInclusive;

use super::Points;
use super::nnls::{Membership, membership};
use crate::random::splitmix64;

/// The settings of `within` that are extreme points of the lower hull, as far as `work` (multiplications) lasts;
/// without work, everything not proven redundant stays.
///
/// A setting is dropped only if a mixture of others with the same distribution, up to 1e-14, costs no more. Each test
/// is against the known extreme points. A failed test yields a direction to a new one, so the effort grows with the
/// number of extreme points rather than of settings (Clarkson 1994).
///
/// Costs are compared relative to their range, so settings with outlying costs are exempt and stay. Otherwise a
/// prohibitive cost or an outstanding reward would make all others equal.
pub(super) fn corners(within: &[u32], points: &Points, work: &mut i64) -> Vec<u32> {
    let usual_cost = usual_costs(within, points);
    let (usual, mut kept): (Vec<u32>, Vec<u32>) = within.iter().partition(|&&i| usual_cost.contains(&points.cost(i)));
    if usual.len() <= points.n_causes || *work <= 0 {
        return within.to_vec();
    }
    let mut hull = Hull::new(&usual, points);
    hull.look_around(work);
    hull.test_the_rest(work);
    hull.test_the_corners(work);
    kept.extend((0..usual.len()).filter(|&i| hull.status[i] != Status::Dropped).map(|i| usual[i]));
    kept.sort_unstable();
    kept
}

/// The range of non-outlying costs: within a thousand times the median distance from the cheapest, or from the dearest,
/// of the remaining ones.
fn usual_costs(within: &[u32], points: &Points) -> RangeInclusive<f64> {
    let mut costs: Vec<f64> = within.iter().map(|&i| points.cost(i)).collect();
    costs.sort_unstable_by(f64::total_cmp);
    let mut left = &costs[..];
    while let [least, .., greatest] = *left {
        let above = median(left.iter().map(|c| c - least))
            .map_or(left.len(), |m| left.partition_point(|&c| c <= least + FAR * m));
        let below = median(left.iter().rev().map(|c| greatest - c))
            .map_or(0, |m| left.partition_point(|&c| c < greatest - FAR * m));
        if (below, above) == (0, left.len()) {
            break;
        }
        // One side at a time: without the outliers above, the former middle may be far below.
        left = if above < left.len() { &left[..above] } else { &left[below..] };
    }
    match *left {
        [] => f64::NEG_INFINITY..=f64::INFINITY,
        [only] => only..=only,
        [least, .., greatest] => least..=greatest,
    }
}

/// Multiple of the median beyond which a cost is an outlier.
const FAR: f64 = 1e3;

/// The lower median of the positive distances, in increasing order: of two distances, the smaller.
fn median(more: impl Iterator<Item = f64>) -> Option<f64> {
    let more: Vec<f64> = more.filter(|more| *more > 0.0).collect();
    more.get(more.len().saturating_sub(1) / 2).copied()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Unknown,
    Corner,
    Dropped,
}

struct Hull {
    /// One column for each setting: its probabilities and, if there are costs, its cost scaled to [0, 1].
    columns: Vec<Vec<f64>>,
    status: Vec<Status>,
    has_costs: bool,
}

impl Hull {
    fn new(within: &[u32], points: &Points) -> Hull {
        let costs = within.iter().map(|&i| points.cost(i));
        let (lo, hi) = costs.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), c| (lo.min(c), hi.max(c)));
        let has_costs = hi > lo;
        let column = |&i: &u32| {
            let mut column: Vec<f64> = (0..points.n_causes).map(|c| points.prob(c, i)).collect();
            if has_costs {
                column.push((points.cost(i) - lo) / (hi - lo));
            }
            column
        };
        Hull { columns: within.iter().map(column).collect(), status: vec![Status::Unknown; within.len()], has_costs }
    }

    /// The setting farthest in a direction among those not dropped, the first on ties.
    fn farthest(&self, direction: &[f64], work: &mut i64) -> usize {
        *work -= (self.columns.len() * direction.len()) as i64;
        let along = |i: &usize| self.columns[*i].iter().zip(direction).map(|(x, d)| x * d).sum::<f64>();
        let open = (0..self.columns.len()).filter(|&i| self.status[i] != Status::Dropped);
        let farthest = open.map(|i| (along(&i), i)).max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        farthest.expect("invariant: pruning keeps at least one setting").1
    }

    /// Marks extreme points in pseudo-random directions, which do not depend on the settings.
    fn look_around(&mut self, work: &mut i64) {
        let m = self.columns[0].len();
        let number = |seed: usize| 2.0 * (splitmix64(seed as u64) as f64 / u64::MAX as f64) - 1.0;
        for look in 0..(6 * m).min(self.columns.len()) {
            let mut direction: Vec<f64> = (0..m).map(|c| number(look * m + c)).collect();
            if look < 2 * m {
                // Nearly along an axis; exactly along it, whole faces of the hull would tie.
                direction.iter_mut().for_each(|d| *d *= 1e-3);
                direction[look / 2] += if look % 2 == 0 { 1.0 } else { -1.0 };
            }
            if self.has_costs {
                direction[m - 1] = -direction[m - 1].abs();
            }
            let farthest = self.farthest(&direction, work);
            self.status[farthest] = Status::Corner;
        }
    }

    /// Every setting not known to be an extreme point is dropped, or yields an extreme point.
    fn test_the_rest(&mut self, work: &mut i64) {
        for i in 0..self.columns.len() {
            while self.status[i] == Status::Unknown && *work > 0 {
                match self.membership_of(i, work) {
                    Membership::Inside => self.status[i] = Status::Dropped,
                    Membership::Apart(direction) => {
                        let farthest = self.farthest(&direction, work);
                        // If rounding leads to a known extreme point, the setting counts as one.
                        let new = if self.status[farthest] == Status::Unknown { farthest } else { i };
                        self.status[new] = Status::Corner;
                    }
                }
            }
        }
    }

    /// Settings found first in a direction may lie between others that tie with them.
    fn test_the_corners(&mut self, work: &mut i64) {
        for i in (0..self.columns.len()).rev() {
            if self.status[i] == Status::Corner && *work > 0 && self.membership_of(i, work) == Membership::Inside {
                self.status[i] = Status::Dropped;
            }
        }
    }

    /// Position of a setting relative to the known extreme points other than itself.
    fn membership_of(&self, i: usize, work: &mut i64) -> Membership {
        let m = self.columns[i].len();
        let mut slack = vec![0.0; m];
        slack[m - 1] = 1.0;
        let corners = (0..self.columns.len()).filter(|&j| j != i && self.status[j] == Status::Corner);
        let mut columns: Vec<&[f64]> = corners.map(|j| &self.columns[j][..]).collect();
        if self.has_costs {
            // A slack variable: a mixture may cost less.
            columns.push(&slack);
        }
        membership(&columns, &self.columns[i], work)
    }
}
