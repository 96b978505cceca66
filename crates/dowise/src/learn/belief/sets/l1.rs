//! L1 balls around the frequencies of rows, and their optimistic or pessimistic distribution.

use super::Side;
use crate::loops::balls::{best_of_ball, best_of_balls};
use crate::plan::Expect;

/// An L1 ball around the frequencies, for every row and configuration, with its optimistic or pessimistic
/// distribution.
#[derive(Clone, Debug)]
pub(super) struct Balls {
    /// `[row][value][cause]`
    pub(super) prob: Vec<f64>,
    /// Mass that may be moved, `[row][cause]`.
    pub(super) movable: Vec<f64>,
    pub(super) n_values: usize,
    side: Side,
    /// The order of the next values, those that lose mass first, if all rows share it and it is prepared.
    order: Vec<usize>,
    /// Those next values times the sign of the side.
    next: Vec<f64>,
}

impl Balls {
    /// Balls that contain all distributions; `cells` is the number of rows times causes.
    pub(super) fn new(cells: usize, n_values: usize, side: Side) -> Balls {
        Balls {
            prob: vec![0.0; cells * n_values],
            movable: vec![1.0; cells],
            n_values,
            side,
            order: Vec::new(),
            next: Vec::new(),
        }
    }

    /// Bounds of the probability of a value in a cell.
    pub(super) fn entry(&self, cell: usize, n_causes: usize, value: usize) -> (f64, f64) {
        let p = self.prob[(cell / n_causes * self.n_values + value) * n_causes + cell % n_causes];
        ((p - self.movable[cell]).max(0.0), (p + self.movable[cell]).min(1.0))
    }

    /// Computes the order of next values, once for all rows and configurations.
    pub(super) fn prepare(&mut self, next_value: &[f64]) {
        let sign = self.side.sign();
        self.next.clear();
        self.next.extend(next_value.iter().map(|v| sign * v));
        self.order.clear();
        self.order.extend(0..next_value.len());
        sort(&mut self.order, &self.next);
    }

    /// The optimistic distribution of each ball for the values of `at` times the sign of the side.
    #[inline(always)]
    fn expect_with<'a>(&self, row: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64], sign: f64) {
        let n = out.len();
        let prob = &self.prob[row * self.n_values * n..][..self.n_values * n];
        let movable = &self.movable[row * n..][..n];
        let shared = at(0).len() == 1;
        if shared && !self.order.is_empty() {
            best_of_balls(&self.order, &self.next, prob, movable, out);
            return;
        }
        let (mut few, mut many) = (([0; FEW_VALUES], [0.0; FEW_VALUES]), (Vec::new(), Vec::new()));
        let (order, next): (&mut [usize], &mut [f64]) = if self.n_values <= FEW_VALUES {
            (&mut few.0[..self.n_values], &mut few.1[..self.n_values])
        } else {
            many.0.resize(self.n_values, 0);
            many.1.resize(self.n_values, 0.0);
            (&mut many.0, &mut many.1)
        };
        order.iter_mut().enumerate().for_each(|(v, o)| *o = v);
        for c in 0..if shared { 1 } else { n } {
            next.iter_mut().enumerate().for_each(|(v, next)| *next = sign * at(v)[c]);
            sort(order, next);
            if shared {
                best_of_balls(order, next, prob, movable, out);
            } else {
                out[c] = best_of_ball(order, next, prob, n, c, movable[c]);
            }
        }
    }
}

/// Number of values up to which sorting needs no heap.
const FEW_VALUES: usize = 128;

/// Sorts values, worst first.
fn sort(order: &mut [usize], next: &[f64]) {
    order.sort_unstable_by(|&a, &b| next[a].total_cmp(&next[b]).then(a.cmp(&b)));
}

impl Expect for Balls {
    #[inline(always)]
    fn expect_next<'a>(&self, row: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
        self.expect_with(row, at, out, self.side.sign());
        if self.side == Side::Worst {
            out.iter_mut().for_each(|q| *q = -*q);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_found_beforehand_gives_the_bits_of_one_found_there_or_for_each_cause() {
        let number = |i: usize| (i as f64 * 0.618_034).fract();
        for (n, n_values) in [(1, 3), (7, 5), (8, 4), (23, 3), (130, 6), (300, 2)] {
            for side in [Side::Best, Side::Worst] {
                let mut balls = Balls::new(n, n_values, side);
                (0..n * n_values).for_each(|i| balls.prob[i] = number(i) / n_values as f64);
                (0..n).for_each(|c| balls.movable[c] = number(c + 7));
                let next: Vec<f64> = (0..n_values).map(|v| number(v * v + 3)).collect();
                let for_each: Vec<Vec<f64>> = next.iter().map(|&v| vec![v; n]).collect();
                let mut expected = vec![f64::NAN; n];
                balls.expect_next(0, |v| &for_each[v], &mut expected);
                let mut out = vec![f64::NAN; n];
                balls.expect_next(0, |v| &next[v..=v], &mut out);
                assert_eq!(out, expected, "{n} causes, {side:?}, order found there");
                balls.prepare(&next);
                out.fill(f64::NAN);
                balls.expect_next(0, |v| &next[v..=v], &mut out);
                assert_eq!(out, expected, "{n} causes, {side:?}, order found beforehand");
            }
        }
    }
}
