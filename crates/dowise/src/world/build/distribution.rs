//! Validates rows of probabilities: each from 0 to 1, with sum 1.

use super::check::Check;
use crate::messages::number_text;
use crate::tolerance::STATED_PROBABILITIES;
use crate::world::{At, Problem, Written};

/// Normalised rows of one table, for a single note.
#[derive(Default)]
pub(crate) struct Mended {
    rows: usize,
    worst: f64,
    first: Option<At>,
}

impl Check {
    /// Validates one row, and normalises it if it is off by rounding.
    ///
    /// `what` returns `probabilities of "x" given …` and is called only for messages.
    pub(crate) fn distribution(
        &mut self,
        row: &mut [f64],
        what: impl Fn(&Check) -> String,
        at: Option<At>,
        mended: &mut Mended,
    ) -> bool {
        for &p in row.iter() {
            if !p.is_finite() {
                let message = format!("one of the {} is {}", what(self), number_text(p));
                self.push(Problem::error("not-a-number", message).help("write a number from 0 to 1").at(at));
                return false;
            }
            if p < 0.0 {
                let message = format!("one of the {} is {}, less than 0", what(self), number_text(p));
                self.push(Problem::error("negative", message).help("write a number from 0 to 1").at(at));
                return false;
            }
        }
        let sum: f64 = row.iter().sum();
        let off = (sum - 1.0).abs();
        if off.is_nan() || off > STATED_PROBABILITIES {
            let message = format!("the {} sum to {}, not 1", what(self), number_text(sum));
            let help = if sum < 1.0 {
                format!("add the missing {} or rescale", number_text(1.0 - sum))
            } else {
                format!("take {} off or rescale", number_text(sum - 1.0))
            };
            self.push(Problem::error("row-sum", message).help(help).at(at));
            return false;
        }
        // Sums of exact decimals differ from 1 by a few ulps: those rows stay unchanged.
        if off > 1e-12 + row.len() as f64 * f64::EPSILON {
            row.iter_mut().for_each(|p| *p /= sum);
            mended.rows += 1;
            mended.worst = mended.worst.max(off);
            mended.first = mended.first.or(at);
        }
        true
    }

    /// [`Check::distribution`] of numbers as written; the row if it is valid.
    pub(crate) fn written_distribution(
        &mut self,
        row: &[Written<f64>],
        what: impl Fn(&Check) -> String,
        at: Option<At>,
        mended: &mut Mended,
    ) -> Option<Vec<f64>> {
        let mut row = self.all_read(row)?;
        self.distribution(&mut row, what, at, mended).then_some(row)
    }

    /// All numbers; counts one reported error if some are unreadable.
    pub(crate) fn all_read(&mut self, numbers: &[Written<f64>]) -> Option<Vec<f64>> {
        let all: Option<Vec<f64>> = numbers.iter().map(|number| number.get().copied()).collect();
        if all.is_none() {
            self.pass_over();
        }
        all
    }

    /// Reports once per table how many rows were normalised.
    pub(crate) fn note_mended(&mut self, what: &str, mended: &Mended) {
        if mended.rows == 0 {
            return;
        }
        let (rows, were) = match mended.rows {
            1 => ("1 row".to_owned(), "was"),
            n => (format!("{n} rows"), "were"),
        };
        let message = format!("{rows} of {what} summed to 1 only up to {:.0e} and {were} rescaled", mended.worst);
        self.push(Problem::note("rounded", message).at(mended.first));
    }
}
