//! Confidence intervals for binary variables: the optimistic or pessimistic end of the interval is used.

use super::Side;
use crate::loops::binary;
use crate::loops::ends::Ends;
use crate::plan::{Binary, Expect};

/// A confidence interval for the second of two values, for every row and configuration; the optimistic or pessimistic
/// end is used.
#[derive(Clone, Debug)]
pub(super) struct Intervals {
    /// `[row][cause]`
    pub(super) lo: Vec<f64>,
    pub(super) hi: Vec<f64>,
    pub(super) side: Side,
    pub(super) n_causes: usize,
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

    fn in_place(&self) -> Option<Binary<'_>> {
        // Rows are the factor's own values.
        let fits = self.lo.len() == 2 * self.n_causes && binary::suits(self.n_causes);
        fits.then_some(Binary::Ends(Ends { lo: &self.lo, hi: &self.hi, worst: self.side == Side::Worst }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Contraction;

    /// A factor that does not announce in-place marginalisation.
    struct Moved<'a>(&'a Intervals);

    impl Expect for Moved<'_> {
        fn expect_next<'a>(&self, row: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
            self.0.expect_next(row, at, out);
        }
    }

    /// Configurations that fill registers and others, and arrays below and above every size at which they are split or
    /// shared.
    #[test]
    fn in_place_has_the_bits_of_array_to_array() {
        let mut numbers = (1..).map(|i| (f64::from(i) * 0.618_034).fract());
        let cases =
            (1..=8).map(|m| (m, 8)).chain([(3, 4), (4, 16), (5, 12), (3, 64), (6, 343), (14, 8), (2, 33), (11, 35)]);
        for (m, n_causes) in cases {
            for side in [Side::Best, Side::Worst] {
                let factors: Vec<Intervals> = (0..m)
                    .map(|_| {
                        let lo: Vec<f64> = (&mut numbers).take(2 * n_causes).map(|x| 0.5 * x).collect();
                        let hi = lo.iter().zip(&mut numbers).map(|(lo, x)| lo + 0.5 * x).collect();
                        Intervals { lo, hi, side, n_causes }
                    })
                    .collect();
                // Some values are equal, so that there is no gain.
                let value: Vec<f64> = (&mut numbers).take(1 << m).map(|x| (8.0 * x).floor()).collect();
                let scopes: Vec<Vec<usize>> = (0..m).map(|i| vec![i]).collect();
                let contraction = Contraction::new(&vec![2; m], &scopes, n_causes);
                let (mut in_place, mut moved, mut spare) = (Vec::new(), Vec::new(), Vec::new());
                contraction.apply(&factors, &value, &mut in_place, &mut spare);
                let factors: Vec<Moved<'_>> = factors.iter().map(Moved).collect();
                contraction.apply(&factors, &value, &mut moved, &mut spare);
                assert!(in_place == moved, "{m} factors, {n_causes} causes, {side:?}");
            }
        }
    }
}
