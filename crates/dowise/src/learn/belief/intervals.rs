//! An interval for every probability of a mechanism that is learned, computed anew only where counts have changed.

use super::sets::Confidence;
use crate::kernel::RowBounds;
use crate::learn::evidence::{Counts, Evidence};
use crate::learn::view::MechanismRows;

/// How far a frequency may be off.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Interval {
    /// As confidence sets say.
    Sets(Confidence),
    /// By scale · √(log/(2N)), and by anything where nothing was seen.
    Scaled { log: f64, scale: f64 },
}

impl Interval {
    /// The interval of one of `n_values` probabilities; all of a row hold at once with the confidence that one alone has of two.
    fn of(self, n_values: usize, successes: u32, n: u32) -> (f64, f64) {
        // Of two values one interval says it all; of more each has its own, and their failures add up.
        let extra = if n_values <= 2 { 0.0 } else { crate::math::ln(n_values as f64) };
        match self {
            Interval::Sets(sets) => Confidence { log: sets.log + extra, ..sets }.interval(successes, n),
            Interval::Scaled { .. } if n == 0 => (0.0, 1.0),
            Interval::Scaled { log, scale } => {
                let mean = f64::from(successes) / f64::from(n);
                let off = scale * ((log + extra) / (2.0 * f64::from(n))).sqrt();
                ((mean - off).max(0.0), (mean + off).min(1.0))
            }
        }
    }
}

/// The intervals of all mechanisms, and the counts that they were computed from.
#[derive(Clone, Debug)]
pub(crate) struct Intervals {
    rule: Interval,
    /// By mechanism of the world; `None` if it is known.
    bounds: Vec<Option<RowBounds>>,
    /// Visits of the values of all rows, by unknown mechanism.
    seen: Vec<Vec<u32>>,
}

impl Intervals {
    pub(crate) fn new(rule: Interval) -> Intervals {
        Intervals { rule, bounds: Vec::new(), seen: Vec::new() }
    }

    /// The intervals by mechanism of the world, up to date with the evidence.
    pub(crate) fn update(&mut self, evidence: &Evidence, rows: &MechanismRows) -> &[Option<RowBounds>] {
        self.bounds.resize(rows.world.mechanisms().len(), None);
        self.seen.resize(rows.unknown.len(), Vec::new());
        for ((m, counts), seen) in rows.unknown.iter().zip(&evidence.mechanisms).zip(&mut self.seen) {
            let cells = counts.n_rv.len();
            let bounds =
                self.bounds[m.position].get_or_insert_with(|| RowBounds { lo: vec![0.0; cells], hi: vec![1.0; cells] });
            // No row was ever visited that often, so every row is computed the first time.
            seen.resize(cells, u32::MAX);
            set(bounds, self.rule, counts, seen);
        }
        &self.bounds
    }
}

/// Computes the intervals of rows whose counts are not those that were `seen`.
fn set(bounds: &mut RowBounds, rule: Interval, counts: &Counts, seen: &mut [u32]) {
    let m = counts.n_values;
    let ends = bounds.lo.chunks_exact_mut(m).zip(bounds.hi.chunks_exact_mut(m));
    for (row, ((lo, hi), seen)) in ends.zip(seen.chunks_exact_mut(m)).enumerate() {
        let (values, n) = (counts.values(row), counts.n_r[row]);
        if seen == values {
            continue;
        }
        seen.copy_from_slice(values);
        match values {
            &[_, successes] => {
                (lo[1], hi[1]) = rule.of(m, successes, n);
                (lo[0], hi[0]) = (1.0 - hi[1], 1.0 - lo[1]);
            }
            _ => (0..m).for_each(|v| (lo[v], hi[v]) = rule.of(m, values[v], n)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_changed_are_computed_anew_and_the_others_stay() {
        let rule = Interval::Scaled { log: 1.0, scale: 1.0 };
        let mut counts = Counts::new(3, 3);
        let fresh = |counts: &Counts| {
            let mut bounds = RowBounds { lo: vec![f64::NAN; 9], hi: vec![f64::NAN; 9] };
            set(&mut bounds, rule, counts, &mut [u32::MAX; 9]);
            bounds
        };
        let mut bounds = fresh(&counts);
        assert_eq!(bounds, RowBounds { lo: vec![0.0; 9], hi: vec![1.0; 9] }, "nothing was seen");
        let mut seen = [0; 9];
        for (row, value) in [(1, 2), (1, 2), (2, 0), (1, 0), (0, 1)] {
            (0..20).for_each(|_| counts.add(row, value));
            set(&mut bounds, rule, &counts, &mut seen);
            assert_eq!(bounds, fresh(&counts));
        }
        // Three intervals at once: ln 3 more than for two values.
        let off = ((1.0 + 3f64.ln()) / (2.0 * 60.0)).sqrt();
        assert!((bounds.hi[3] - (20.0 / 60.0 + off)).abs() < 1e-12);
    }
}
