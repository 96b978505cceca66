//! Two values: an interval for the second of them, the better or the worse end of which is taken.

use super::Side;
use crate::plan::Expect;

/// An interval for the second of two values, for every row and cause; the better or the worse end is taken.
#[derive(Clone, Debug)]
pub(super) struct Intervals {
    /// `[row][cause]`
    pub(super) lo: Vec<f64>,
    pub(super) hi: Vec<f64>,
    pub(super) side: Side,
}

impl Intervals {
    #[inline(always)]
    fn expect_side<'a, const WORST: bool>(&self, row: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
        let n = out.len();
        let (lo, hi) = (&self.lo[row * n..][..n], &self.hi[row * n..][..n]);
        // The end with the greater product, or the lesser one; a choice instead of two products.
        let end = |gain: f64, lo: f64, hi: f64| if (gain > 0.0) != WORST { hi } else { lo };
        match (at(0), at(1)) {
            ([a], [b]) => {
                let gain = b - a;
                for c in 0..n {
                    out[c] = *a + end(gain, lo[c], hi[c]) * gain;
                }
            }
            (a, b) => {
                let (a, b) = (&a[..n], &b[..n]);
                for c in 0..n {
                    let gain = b[c] - a[c];
                    out[c] = a[c] + end(gain, lo[c], hi[c]) * gain;
                }
            }
        }
    }
}

impl Expect for Intervals {
    #[inline(always)]
    fn expect_next<'a>(&self, row: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
        match self.side {
            Side::Best => self.expect_side::<false>(row, at, out),
            Side::Worst => self.expect_side::<true>(row, at, out),
        }
    }
}
