//! Reward observations: for each row their number and their exact sum.

use serde::{Deserialize, Serialize};

use super::EvidenceError;

/// One reward of the whole range, in the unit of the sums.
pub(crate) const WHOLE: u128 = 1 << 64;

/// Prior weight of the mean of a reward term in each of its rows, in reward observations.
const PRIOR_PAYMENTS: f64 = 2.0;

/// Reward observations of the rows of one term, each as a share of the term's range in 2⁻⁶⁴: sums do not depend on
/// order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Payments {
    pub(crate) n: Vec<u32>,
    sum: Vec<u128>,
}

/// (row, payments, sum as a hexadecimal number)
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PaymentEntry(u32, u32, String);

impl Payments {
    pub(crate) fn new(n_rows: usize) -> Payments {
        Payments { n: vec![0; n_rows], sum: vec![0; n_rows] }
    }

    pub(crate) fn add(&mut self, row: usize, share: u128) {
        self.n[row] += 1;
        self.sum[row] += share;
    }

    pub(crate) fn add_times(&mut self, row: usize, share: u128, times: u32) {
        self.n[row] += times;
        self.sum[row] += share * u128::from(times);
    }

    /// Whether this reward can have been among those of the row.
    pub(crate) fn has(&self, row: usize, share: u128) -> bool {
        let left = u128::from(self.n[row]).saturating_sub(1) * WHOLE;
        self.n[row] > 0 && self.sum[row] >= share && self.sum[row] - share <= left
    }

    pub(crate) fn remove(&mut self, row: usize, share: u128, times: u32) {
        self.n[row] -= times;
        self.sum[row] -= share * u128::from(times);
    }

    /// Number of a row's rewards, and their exact sum.
    pub(crate) fn of_row(&self, row: usize) -> (u32, u128) {
        (self.n[row], self.sum[row])
    }

    /// Replaces the rewards of a row.
    pub(crate) fn replace(&mut self, row: usize, n: u32, sum: u128) {
        (self.n[row], self.sum[row]) = (n, sum);
    }

    /// Sum of a row's shares, between 0 and their number.
    pub(crate) fn sum(&self, row: usize) -> f64 {
        self.sum[row] as f64 / WHOLE as f64
    }

    /// Centre of shrinkage for rows with few rewards: the mean share of all rewards of the term, with half a reward at
    /// either end of the range (Jeffreys' prior). So a range that is far too wide has little influence.
    pub(crate) fn centre(&self) -> f64 {
        let sum: f64 = (0..self.n.len()).map(|row| self.sum(row)).sum();
        (0.5 + sum) / (1.0 + self.total() as f64)
    }

    /// The prior of a row's share as two numbers of rewards: at the upper and at the lower end of the range. Their
    /// total is [`PRIOR_PAYMENTS`], with mean at the [centre](Payments::centre).
    pub(crate) fn prior_at(centre: f64) -> [f64; 2] {
        [PRIOR_PAYMENTS * centre, PRIOR_PAYMENTS * (1.0 - centre)]
    }

    /// Posterior mean of a row's share of the range.
    pub(crate) fn mean_at(&self, centre: f64, row: usize) -> f64 {
        (Payments::prior_at(centre)[0] + self.sum(row)) / (PRIOR_PAYMENTS + f64::from(self.n[row]))
    }

    /// Rows, visits and exact sums, where there are any.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (usize, u32, u128)> {
        let rows = self.n.iter().zip(&self.sum).enumerate();
        rows.filter(|(_, (n, _))| **n > 0).map(|(row, (&n, &sum))| (row, n, sum))
    }

    pub(crate) fn fits_with(&self, other: &Payments) -> bool {
        self.n.iter().zip(&other.n).all(|(a, b)| a.checked_add(*b).is_some())
    }

    pub(crate) fn merge(&mut self, other: &Payments) {
        self.n.iter_mut().zip(&other.n).for_each(|(a, b)| *a += b);
        self.sum.iter_mut().zip(&other.sum).for_each(|(a, b)| *a += b);
    }

    /// Removes other rewards of the same term; `None` if there are fewer.
    pub(crate) fn subtract(&mut self, part: &Payments) -> Option<()> {
        for (n, part) in self.n.iter_mut().zip(&part.n) {
            *n = n.checked_sub(*part)?;
        }
        for (sum, part) in self.sum.iter_mut().zip(&part.sum) {
            *sum = sum.checked_sub(*part)?;
        }
        Some(())
    }

    pub(crate) fn total(&self) -> u128 {
        self.n.iter().map(|&n| u128::from(n)).sum()
    }

    pub(crate) fn entries(&self) -> Vec<PaymentEntry> {
        self.rows().map(|(row, n, sum)| PaymentEntry(row as u32, n, format!("{sum:x}"))).collect()
    }

    /// Fills empty payments with saved entries.
    pub(crate) fn restore(&mut self, entries: &[PaymentEntry], field: &str) -> Result<(), EvidenceError> {
        let damaged = |why: String| EvidenceError::Damaged { field: field.to_owned(), why };
        for PaymentEntry(row, n, sum) in entries {
            let r = *row as usize;
            if r >= self.n.len() || *n == 0 || self.n[r] > 0 {
                return Err(damaged(format!("row {row} is not there, is empty or comes twice")));
            }
            let sum = u128::from_str_radix(sum, 16).map_err(|_| damaged(format!("row {row}: {sum} is no number")))?;
            if sum > u128::from(*n) * WHOLE {
                return Err(damaged(format!("row {row}: {n} payments cannot sum up to that much")));
            }
            (self.n[r], self.sum[r]) = (*n, sum);
        }
        Ok(())
    }
}
