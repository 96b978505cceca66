//! Kullback–Leibler balls around the frequencies of rows, the best or worst member of which is taken.

use super::Side;
use super::l1::FEW_VALUES;
use crate::loops::kl_ball::{Ball, least_loss};
use crate::plan::Mix;

/// A ball for every count row, kept by the values that were seen, and the rows that cells share.
#[derive(Clone, Debug)]
pub(super) struct KlBalls {
    /// The values that were seen of each row, `[row][place]`, with their frequencies.
    seen: Vec<u32>,
    prob: Vec<f64>,
    /// Number of values that were seen, `[row]`.
    n_seen: Vec<u32>,
    /// `[row]`
    ball: Vec<Ball>,
    /// Row of every cell; without it, their own numbering.
    row_of: Option<Vec<u32>>,
    pub(super) n_values: usize,
    side: Side,
    /// The best of the next values, and what each loses against it, where they are the same for all rows and were found
    /// beforehand; values times the sign of the side.
    best: f64,
    losses: Vec<f64>,
}

impl KlBalls {
    /// Balls that allow anything.
    pub(super) fn new(n_rows: usize, n_values: usize, row_of: Option<Vec<u32>>, side: Side) -> KlBalls {
        KlBalls {
            seen: vec![0; n_rows * n_values],
            prob: vec![0.0; n_rows * n_values],
            n_seen: vec![0; n_rows],
            ball: vec![Ball::new(f64::INFINITY); n_rows],
            row_of,
            n_values,
            side,
            best: 0.0,
            losses: Vec::new(),
        }
    }

    /// Sets a row's centre and its radius.
    pub(super) fn set(&mut self, row: usize, frequencies: impl Iterator<Item = f64>, radius: f64) {
        let first = row * self.n_values;
        let mut n = 0;
        for (v, p) in frequencies.enumerate().filter(|(_, p)| *p > 0.0) {
            (self.seen[first + n], self.prob[first + n]) = (v as u32, p);
            n += 1;
        }
        self.n_seen[row] = n as u32;
        self.ball[row] = Ball::new(radius);
    }

    /// Finds what the next values that all rows and causes share lose against the best, once for all of them.
    pub(super) fn prepare(&mut self, next_value: &[f64]) {
        let sign = self.side.sign();
        self.best = next_value.iter().fold(f64::NEG_INFINITY, |best, v| best.max(sign * v));
        self.losses.clear();
        self.losses.extend(next_value.iter().map(|v| self.best - sign * v));
    }

    /// The least that a member of a row's ball loses.
    #[inline(always)]
    fn least(&self, row: usize, loss: impl Fn(usize) -> f64) -> f64 {
        let n = self.n_seen[row] as usize;
        // Where nothing was seen, everything may be.
        if n == 0 {
            return 0.0;
        }
        let first = row * self.n_values;
        let (seen, prob) = (&self.seen[first..][..n], &self.prob[first..][..n]);
        if n > FEW_VALUES {
            return least_loss(prob, |i| loss(seen[i] as usize), self.ball[row]);
        }
        let mut losses = [0.0; FEW_VALUES];
        let losses = &mut losses[..n];
        losses.iter_mut().zip(seen).for_each(|(l, &v)| *l = loss(v as usize));
        least_loss(prob, |i| losses[i], self.ball[row])
    }
}

impl Mix for KlBalls {
    #[inline(always)]
    fn mix<'a>(&self, row: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
        let n = out.len();
        let sign = self.side.sign();
        let row_of = |c: usize| match &self.row_of {
            None => row * n + c,
            Some(rows) => rows[row * n + c] as usize,
        };
        let best_of = |c: usize| (0..self.n_values).fold(f64::NEG_INFINITY, |best, v| best.max(sign * at(v)[c]));
        let shared = at(0).len() == 1;
        let prepared = shared && !self.losses.is_empty();
        let mut best = match (prepared, shared) {
            (true, _) => self.best,
            (false, true) => best_of(0),
            (false, false) => 0.0,
        };
        for (c, out) in out.iter_mut().enumerate() {
            let least = if prepared {
                self.least(row_of(c), |v| self.losses[v])
            } else {
                let place = if shared { 0 } else { c };
                if !shared {
                    best = best_of(c);
                }
                self.least(row_of(c), |v| best - sign * at(v)[place])
            };
            *out = sign * (best - least);
        }
    }
}
