//! Visit counts of one table: visits of every row and of every outcome in it.

use super::EvidenceError;

/// Visits of the rows of one table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Counts {
    pub(crate) n_values: usize,
    /// N(row)
    pub(crate) n_r: Vec<u32>,
    /// N(row, value), `[row][value]`
    pub(crate) n_rv: Vec<u32>,
}

impl Counts {
    pub(crate) fn new(n_rows: usize, n_values: usize) -> Counts {
        Counts { n_values, n_r: vec![0; n_rows], n_rv: vec![0; n_rows * n_values] }
    }

    #[inline]
    pub(crate) fn add(&mut self, row: usize, value: usize) {
        self.n_r[row] += 1;
        self.n_rv[row * self.n_values + value] += 1;
    }

    pub(crate) fn add_times(&mut self, row: usize, value: usize, times: u32) {
        self.n_r[row] += times;
        self.n_rv[row * self.n_values + value] += times;
    }

    /// Adds visits of a cell, row times values plus value.
    pub(crate) fn add_cell(&mut self, cell: usize, times: u32) {
        self.add_times(cell / self.n_values, cell % self.n_values, times);
    }

    /// Whether this value of a row has visits.
    pub(crate) fn has(&self, row: usize, value: usize) -> bool {
        self.n_rv[row * self.n_values + value] > 0
    }

    /// Removes visits.
    pub(crate) fn remove(&mut self, row: usize, value: usize, times: u32) {
        self.n_r[row] -= times;
        self.n_rv[row * self.n_values + value] -= times;
    }

    /// Counts of the values of a row.
    pub(crate) fn values(&self, row: usize) -> &[u32] {
        &self.n_rv[row * self.n_values..(row + 1) * self.n_values]
    }

    /// All counts, as (row, value, visits), in order.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        let cells = self.n_rv.iter().enumerate().filter(|(_, n)| **n > 0);
        cells.map(|(i, &n)| ((i / self.n_values) as u32, (i % self.n_values) as u32, n)).collect()
    }

    /// Visited rows.
    pub(crate) fn visited(&self) -> impl Iterator<Item = usize> {
        self.n_r.iter().enumerate().filter(|(_, n)| **n > 0).map(|(row, _)| row)
    }

    /// Visits of all rows.
    pub(crate) fn total(&self) -> u128 {
        self.n_r.iter().map(|&n| u128::from(n)).sum()
    }

    /// Whether the visits of another table of the same shape can be added without overflow.
    pub(crate) fn fits_with(&self, other: &Counts) -> bool {
        self.n_r.iter().zip(&other.n_r).all(|(a, b)| a.checked_add(*b).is_some())
    }

    pub(crate) fn merge(&mut self, other: &Counts) {
        self.n_r.iter_mut().zip(&other.n_r).for_each(|(a, b)| *a += b);
        self.n_rv.iter_mut().zip(&other.n_rv).for_each(|(a, b)| *a += b);
    }

    /// Removes the visits of another table of the same shape; `None` if there are fewer.
    pub(crate) fn subtract(&mut self, part: &Counts) -> Option<()> {
        let tables = self.n_r.iter_mut().zip(&part.n_r).chain(self.n_rv.iter_mut().zip(&part.n_rv));
        for (n, part) in tables {
            *n = n.checked_sub(*part)?;
        }
        Some(())
    }

    /// Fills an empty table with saved entries.
    pub(crate) fn restore(&mut self, entries: &[Entry], table: &str) -> Result<(), EvidenceError> {
        let damaged = |why: String| Err(EvidenceError::Damaged { field: table.to_owned(), why });
        for &(row, value, n) in entries {
            let (r, v) = (row as usize, value as usize);
            if r >= self.n_r.len() || v >= self.n_values {
                let (rows, values) = (self.n_r.len(), self.n_values);
                return damaged(format!("there is no row {row}, value {value} in a table of {rows} × {values}"));
            }
            if n == 0 || self.has(r, v) {
                return damaged(format!("row {row}, value {value} is counted twice, or not at all"));
            }
            let Some(total) = self.n_r[r].checked_add(n) else {
                return damaged(format!("row {row} has more visits than can be counted"));
            };
            self.n_r[r] = total;
            self.n_rv[r * self.n_values + v] = n;
        }
        Ok(())
    }
}

/// (row, value, visits)
pub(crate) type Entry = (u32, u32, u32);
