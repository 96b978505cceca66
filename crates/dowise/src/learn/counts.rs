//! What was seen: how often each row of each factor, and what came of it. Only counts are stored; all else is derived.

use serde::{Deserialize, Serialize};

/// Visits of the rows of one factor, for one block of stages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub(crate) n_values: usize,
    /// N(row)
    pub(crate) n_r: Vec<u32>,
    /// N(row, value), `[row][value]`
    pub(crate) n_rv: Vec<u32>,
    /// Rows seen since [`Counts::take_touched`], each once or more.
    #[serde(skip)]
    touched: Vec<u32>,
}

impl Counts {
    pub(crate) fn new(n_rows: usize, n_values: usize) -> Counts {
        Counts { n_values, n_r: vec![0; n_rows], n_rv: vec![0; n_rows * n_values], touched: Vec::new() }
    }

    pub(crate) fn add(&mut self, row: usize, value: usize) {
        self.n_r[row] += 1;
        self.n_rv[row * self.n_values + value] += 1;
        self.touched.push(row as u32);
    }

    /// Counts of the values of a row.
    pub(crate) fn values(&self, row: usize) -> &[u32] {
        &self.n_rv[row * self.n_values..(row + 1) * self.n_values]
    }

    /// Rows seen since the last call, moved into `out`, each once.
    pub(crate) fn take_touched(&mut self, out: &mut Vec<u32>) {
        out.clear();
        out.append(&mut self.touched);
        out.sort_unstable();
        out.dedup();
    }
}
