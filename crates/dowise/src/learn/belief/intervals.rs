//! Confidence intervals for the probabilities of unknown mechanisms, recomputed only for rows with changed counts.

use super::confidence::Confidence;
use crate::kernel::RowBounds;
use crate::learn::evidence::Counts;
use crate::learn::forms::{Fit, FormModel};
use crate::learn::view::MechanismRows;

/// Confidence interval of a probability.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    pub(crate) confidence: Confidence,
    /// Factor of the distances from the mean; `None`: unscaled intervals.
    pub(crate) scale: Option<f64>,
}

impl Interval {
    /// The interval of one of `n_values` probabilities. All intervals of a row hold jointly with the confidence of one
    /// interval for two values.
    fn of(self, n_values: usize, successes: u32, n: u32) -> (f64, f64) {
        // Two values need one interval; with more values each has its own, and their failure probabilities add up.
        let confidence = if n_values <= 2 { self.confidence } else { self.confidence.shared_by(n_values) };
        let (lo, hi) = confidence.interval(&[n - successes, successes], n);
        if n == 0 { (lo, hi) } else { self.scaled(f64::from(successes) / f64::from(n), lo, hi) }
    }

    /// The intervals of all probabilities of a row.
    fn of_row(self, values: &[u32], n: u32, lo: &mut [f64], hi: &mut [f64]) {
        match values {
            &[_, successes] => {
                (lo[1], hi[1]) = self.of(2, successes, n);
                (lo[0], hi[0]) = (1.0 - hi[1], 1.0 - lo[1]);
            }
            _ => (0..values.len()).for_each(|v| (lo[v], hi[v]) = self.of(values.len(), values[v], n)),
        }
    }

    fn scaled(self, mean: f64, lo: f64, hi: f64) -> (f64, f64) {
        match self.scale {
            None => (lo, hi),
            Some(scale) => ((mean - scale * (mean - lo)).max(0.0), (mean + scale * (hi - mean)).min(1.0)),
        }
    }
}

/// The intervals of all mechanisms, and the counts behind them.
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

    /// Updates the intervals of a mechanism with separately learned rows.
    pub(crate) fn count(&mut self, rows: &MechanismRows, index: usize, counts: &Counts) {
        self.resize(rows);
        let cells = counts.n_rv.len();
        let bounds = &mut self.bounds[rows.unknown[index].position];
        let bounds = bounds.get_or_insert_with(|| RowBounds { lo: vec![0.0; cells], hi: vec![1.0; cells] });
        // No row ever has that many visits, so every row is computed the first time.
        self.seen[index].resize(cells, u32::MAX);
        set(bounds, self.rule, counts, &mut self.seen[index]);
    }

    /// Sets the intervals of a parametric mechanism.
    pub(crate) fn fit(&mut self, rows: &MechanismRows, index: usize, mean: &[f64], fit: &Fit, model: &FormModel) {
        let [mut lo, mut hi] = fit.bounds(model, self.rule.confidence.log());
        for ((lo, hi), &mean) in lo.iter_mut().zip(&mut hi).zip(mean) {
            (*lo, *hi) = self.rule.scaled(mean, *lo, *hi);
        }
        self.resize(rows);
        self.bounds[rows.unknown[index].position] = Some(RowBounds { lo, hi });
    }

    /// The intervals by mechanism of the world.
    pub(crate) fn bounds(&self) -> &[Option<RowBounds>] {
        &self.bounds
    }

    fn resize(&mut self, rows: &MechanismRows) {
        self.bounds.resize(rows.world.mechanisms().len(), None);
        self.seen.resize(rows.unknown.len(), Vec::new());
    }
}

/// Bounds of every probability of a row, from the counts of its values.
pub(super) fn row_intervals(confidence: Confidence, values: &[u32], n: u32, lo: &mut [f64], hi: &mut [f64]) {
    Interval { confidence, scale: None }.of_row(values, n, lo, hi);
}

/// Recomputes the intervals of rows whose counts differ from `seen`.
fn set(bounds: &mut RowBounds, rule: Interval, counts: &Counts, seen: &mut [u32]) {
    let m = counts.n_values;
    let ends = bounds.lo.chunks_exact_mut(m).zip(bounds.hi.chunks_exact_mut(m));
    for (row, ((lo, hi), seen)) in ends.zip(seen.chunks_exact_mut(m)).enumerate() {
        let (values, n) = (counts.values(row), counts.n_r[row]);
        if seen == values {
            continue;
        }
        seen.copy_from_slice(values);
        rule.of_row(values, n, lo, hi);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::options::Sets;

    #[test]
    fn rows_that_changed_are_computed_anew_and_the_others_stay() {
        let rule = Interval { confidence: Confidence::with_log(Sets::L1, 1.0), scale: Some(1.0) };
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
