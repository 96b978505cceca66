//! A component as a group: distributions over its next values and net costs of its settings.

use super::part::Part;
use super::reach::SetOff;
use super::{Next, Numbers};
use crate::kernel::bounds::{MOST_VALUES, corners, distance, most_corners};
use crate::kernel::group::{Columns, Group};
use crate::kernel::prune::{Setting, prune};

/// Settings of a row, or extreme points of their distributions over the component's next values.
struct Points {
    settings: Vec<Setting>,
    /// `[next value][point]`
    table: Vec<f64>,
    /// Total-variation radius of each point; empty if all are exact.
    radius: Vec<f64>,
}

/// Maximum number of points of one setting, for next values with interval bounds.
pub(super) fn most_points(block: usize) -> usize {
    if block <= MOST_VALUES { most_corners(block) } else { 1 }
}

impl Part {
    /// The component as a group of a kernel whose configurations are next values.
    pub(super) fn group(&self, reach: &[SetOff], numbers: Numbers<'_>, limited: bool, work: &mut i64) -> Group {
        let rows = reach.iter().enumerate();
        let columns = rows.map(|(row, of)| self.columns(row, of, numbers, limited, work)).collect();
        Group::of_columns(self.group.clone(), self.block.clone(), self.rows_of_states.clone(), columns)
    }

    /// The same for one state and the remaining settings there.
    pub(super) fn group_at(&self, state: usize, of: &SetOff, numbers: Numbers<'_>) -> Group {
        let columns = self.columns(self.row_of(state), of, numbers, false, &mut 0);
        Group::of_columns(self.group.clone(), self.block.clone(), Vec::new(), vec![columns])
    }

    /// The unpruned settings of a row with their distributions, and their costs less rewards.
    fn columns(&self, row: usize, of: &SetOff, numbers: Numbers<'_>, limited: bool, work: &mut i64) -> Columns {
        let paying = self.paying(row, of, numbers);
        let Points { settings, table, radius } = self.points(row, of, paying, numbers);
        let (n, m) = (settings.len(), self.block.len());
        // Uncertain points cannot be compared by their centres alone, so none is pruned.
        let doubtful = |i: &u32| radius.get(*i as usize).is_some_and(|r| *r > 0.0);
        let (mut kept, exact): (Vec<u32>, Vec<u32>) = (0..n as u32).partition(doubtful);
        kept.extend(prune(&exact, &settings, &table, m, limited, work));
        kept.sort_unstable();
        let prob = (0..m).flat_map(|b| kept.iter().map(move |&i| (b, i)));
        Columns {
            prob: prob.map(|(b, i)| table[b * n + i as usize]).collect(),
            settings: kept.iter().map(|&i| settings[i as usize]).collect(),
            radius: if radius.is_empty() { radius } else { kept.iter().map(|&i| radius[i as usize]).collect() },
        }
    }

    /// The settings of a row with their costs less optimistic rewards.
    fn paying(&self, row: usize, of: &SetOff, numbers: Numbers<'_>) -> Vec<Setting> {
        let (n, mut out) = (of.settings.len(), of.settings.clone());
        if self.shape.terms.is_empty() {
            return out;
        }
        let paid: Vec<f64> = (0..self.n_causes).map(|cause| self.paid(numbers.rewards, row, cause)).collect();
        for (paid, of_cause) in paid.iter().zip(of.prob.chunks_exact(n)) {
            out.iter_mut().zip(of_cause).for_each(|(setting, p)| setting.cost -= p * paid);
        }
        let (least, most) = paid.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), &x| (l.min(x), m.max(x)));
        for ((setting, own), radius) in out.iter_mut().zip(&of.settings).zip(&of.radius) {
            // Optimistic extra reward: bounded by the movable mass, and by the best configuration.
            let mean = own.cost - setting.cost;
            setting.cost -= (radius * (most - least)).min(most - mean).max(0.0);
        }
        out
    }

    fn points(&self, row: usize, of: &SetOff, settings: Vec<Setting>, numbers: Numbers<'_>) -> Points {
        let (n, m) = (settings.len(), self.block.len());
        let weigh = |x: &dyn Fn(usize) -> f64| {
            let mut out = vec![0.0; n];
            for cause in 0..self.n_causes {
                let x = x(cause);
                out.iter_mut().zip(&of.prob[cause * n..(cause + 1) * n]).for_each(|(o, p)| *o += p * x);
            }
            out
        };
        // Distributions of next values for one end of the factors' intervals.
        let moved = |end: usize| -> Vec<Vec<f64>> {
            let next = |f: usize, n_values: usize, own: usize, value: usize| match numbers.next[f] {
                Next::Exact(table) => table[own * n_values + value],
                Next::Within(ends) => ends[end][own * n_values + value],
            };
            (0..m).map(|b| weigh(&|cause| self.moved(row, cause, b, next))).collect()
        };
        let mut factors = self.shape.factors.iter();
        if factors.all(|&f| matches!(numbers.next[f], Next::Exact(_))) {
            return Points { settings, table: moved(0).concat(), radius: of.radius.clone() };
        }
        let of_setting = |end: &[Vec<f64>], i: usize| -> Vec<f64> { end.iter().map(|of_value| of_value[i]).collect() };
        let [lo, hi] = [moved(0), moved(1)];
        // Points of one setting are adjacent, so that they stay in order.
        let (mut points, mut all, mut radius) = (Vec::new(), Vec::new(), Vec::new());
        for (i, setting) in settings.into_iter().enumerate() {
            let (lo, hi) = (of_setting(&lo, i), of_setting(&hi, i));
            let off = of.radius.get(i).copied().unwrap_or(0.0);
            let centre = centre(&lo, &hi);
            let (listed, off) = if m <= MOST_VALUES {
                (corners(&lo, &hi, &centre), off)
            } else {
                let far = distance(&lo, &hi, &centre);
                (centre, (off + far).min(1.0))
            };
            let many = listed.len() / m;
            points.extend(std::iter::repeat_n(setting, many));
            radius.extend(std::iter::repeat_n(off, many));
            all.extend(listed);
        }
        let n = points.len();
        let table = (0..m).flat_map(|b| (0..n).map(move |i| (b, i))).map(|(b, i)| all[i * m + b]).collect();
        let exact = radius.iter().all(|r| *r == 0.0);
        Points { settings: points, table, radius: if exact { Vec::new() } else { radius } }
    }
}

/// A distribution within interval bounds: equally far, proportionally, from lower and upper ends.
fn centre(lo: &[f64], hi: &[f64]) -> Vec<f64> {
    let (left, room) = (1.0 - lo.iter().sum::<f64>(), hi.iter().zip(lo).map(|(hi, lo)| hi - lo).sum::<f64>());
    let share = if room > 0.0 { (left / room).clamp(0.0, 1.0) } else { 0.0 };
    lo.iter().zip(hi).map(|(lo, hi)| lo + share * (hi - lo)).collect()
}
