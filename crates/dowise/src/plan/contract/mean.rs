//! Expectation of one factor under a known distribution (posterior mean or truth).

use super::{Binary, Expect};
use crate::loops::binary;
use crate::loops::mean::mean_of_run;

/// A known distribution for every row and joint key values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mean {
    /// `[row][value][cause]`
    pub(crate) prob: Vec<f64>,
    pub(crate) n_values: usize,
    pub(crate) n_causes: usize,
}

impl Expect for Mean {
    #[inline(always)]
    fn expect_next<'a>(&self, row: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
        self.expect_run(row, 1, at, out);
    }

    fn in_place(&self) -> Option<Binary<'_>> {
        let fits = self.n_values == 2 && self.prob.len() == 4 * self.n_causes && binary::suits(self.n_causes);
        fits.then_some(Binary::Mean(self))
    }

    #[inline(always)]
    fn expect_run<'a>(&self, row: usize, n_tiles: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
        let n = self.n_causes;
        let tile = &self.prob[row * self.n_values * n..][..self.n_values * n];
        mean_of_run(tile, n, n_tiles, at, out);
    }
}
