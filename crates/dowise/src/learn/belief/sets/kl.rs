//! Kullback–Leibler balls around the frequencies of rows, the best or worst member of which is taken.

use super::Side;
use crate::learn::belief::confidence::kl_interval;
use crate::loops::kl_ball::{Ball, LANES, Lot, least_loss};
use crate::loops::simd;
use crate::plan::Expect;

/// A ball for every count row, kept by the values that were seen, and the rows that cells share.
#[derive(Clone, Debug)]
pub(super) struct KlBalls {
    /// The values that were seen of each row, `[row][place]`.
    seen: Vec<u32>,
    /// Their frequencies, in whole lots: `[row][lot][place]`.
    prob: Vec<Lot>,
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
            prob: vec![[0.0; LANES]; n_rows * n_values.div_ceil(LANES)],
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
        let lots = self.n_values.div_ceil(LANES);
        let (seen, prob) = (&mut self.seen[row * self.n_values..], &mut self.prob[row * lots..][..lots]);
        prob.fill([0.0; LANES]);
        let mut n = 0;
        for (v, p) in frequencies.enumerate().filter(|(_, p)| *p > 0.0) {
            (seen[n], prob[n / LANES][n % LANES]) = (v as u32, p);
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
        let lots = n.div_ceil(LANES);
        let (seen, prob) = (self.seen_of(row), &self.prob[row * self.n_values.div_ceil(LANES)..][..lots]);
        // On the stack, and no more of it than needed.
        let (mut few, mut some, mut many, mut more);
        let losses: &mut [Lot] = if lots <= 2 {
            few = [[1.0; LANES]; 2];
            &mut few[..lots]
        } else if lots <= 16 {
            some = [[1.0; LANES]; 16];
            &mut some[..lots]
        } else if lots <= 128 {
            many = [[1.0; LANES]; 128];
            &mut many[..lots]
        } else {
            more = vec![[1.0; LANES]; lots];
            &mut more
        };
        losses.as_flattened_mut().iter_mut().zip(seen).for_each(|(l, &v)| *l = loss(v as usize));
        least_loss(prob, losses, n, self.ball[row])
    }

    fn seen_of(&self, row: usize) -> &[u32] {
        &self.seen[row * self.n_values..][..self.n_seen[row] as usize]
    }

    /// Within what the probability of each value lies in a cell: a ball is a Kullback–Leibler interval in every single coordinate.
    pub(super) fn entries(&self, cell: usize, add: &mut impl FnMut((f64, f64))) {
        let row = self.row_of.as_ref().map_or(cell, |rows| rows[cell] as usize);
        let (seen, radius) = (self.seen_of(row), self.ball[row].radius);
        let first = &self.prob[row * self.n_values.div_ceil(LANES)..].as_flattened()[..seen.len()];
        let unseen = if seen.is_empty() { (0.0, 1.0) } else { kl_interval(0.0, radius) };
        let mut place = 0;
        for v in 0..self.n_values {
            if seen.get(place).is_some_and(|&at| at as usize == v) {
                add(kl_interval(first[place], radius));
                place += 1;
            } else {
                add(unseen);
            }
        }
    }

    /// The best (or worst) expected next value of every row, where all rows have the same next values, kept from stage to stage and
    /// from plan to plan: a row is computed anew only if it was seen since, or what a value that it has seen loses has changed.
    pub(super) fn look(&mut self, next_value: &[f64], kept: &mut Kept, q: &mut Vec<f64>) {
        self.prepare(next_value);
        let sign = self.side.sign();
        let mut any = false;
        kept.changed.clear();
        kept.changed.extend(self.losses.iter().zip(&kept.losses).map(|(now, before)| {
            let changed = now.to_bits() != before.to_bits();
            any |= changed;
            changed
        }));
        kept.losses.copy_from_slice(&self.losses);
        let Kept { least, changed, .. } = kept;
        q.clear();
        simd::wide(
            #[inline(always)]
            || {
                q.extend(least.iter_mut().enumerate().map(|(row, least)| {
                    if least.is_nan() || (any && self.seen_of(row).iter().any(|&v| changed[v as usize])) {
                        *least = self.least(row, |v| self.losses[v]);
                    }
                    sign * (self.best - *least)
                }));
            },
        );
    }
}

/// What the rows of a stage lost at least, at the last look.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    /// Least losses, `[row]`; not a number where the row was seen since.
    pub(super) least: Vec<f64>,
    /// What each value lost then.
    losses: Vec<f64>,
    changed: Vec<bool>,
}

impl Kept {
    /// Nothing yet.
    pub(super) fn new(n_rows: usize, n_values: usize) -> Kept {
        Kept { least: vec![f64::NAN; n_rows], losses: vec![f64::NAN; n_values], changed: Vec::with_capacity(n_values) }
    }
}

impl Expect for KlBalls {
    #[inline(always)]
    fn expect_next<'a>(&self, row: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn number(i: usize) -> f64 {
        (i as f64 * 0.618_034).fract()
    }

    #[test]
    fn what_is_kept_has_the_bits_of_what_is_computed_anew_and_of_causes_with_values_of_their_own() {
        for (n_states, n_causes) in [(3, 2), (8, 5), (20, 3)] {
            for side in [Side::Best, Side::Worst] {
                let mut balls = KlBalls::new(n_states * n_causes, n_states, None, side);
                let mut kept = Kept::new(n_states * n_causes, n_states);
                let mut next: Vec<f64> = (0..n_states).map(|v| number(v * v + 3)).collect();
                let mut q = Vec::new();
                for step in 0..60 {
                    // A row is seen, and now and then one value changes, or all of them.
                    let row = step * 7 % (n_states * n_causes);
                    let counts: Vec<u32> = (0..n_states).map(|v| (step * (v + row) % 5) as u32).collect();
                    let n: u32 = counts.iter().sum();
                    if n > 0 {
                        let shares = counts.iter().map(|&k| f64::from(k) / f64::from(n));
                        balls.set(row, shares, 3.0 / f64::from(n));
                        kept.least[row] = f64::NAN;
                    }
                    match step % 5 {
                        1 => next[step % n_states] = number(step),
                        3 => next.iter_mut().for_each(|v| *v += 0.1),
                        _ => {}
                    }
                    balls.look(&next, &mut kept, &mut q);
                    let for_each: Vec<Vec<f64>> = next.iter().map(|&v| vec![v; n_causes]).collect();
                    let mut fresh = balls.clone();
                    fresh.losses.clear();
                    for state in 0..n_states {
                        let expected = &q[state * n_causes..][..n_causes];
                        let mut out = vec![f64::NAN; n_causes];
                        fresh.expect_next(state, |v| &for_each[v], &mut out);
                        assert_eq!(out, expected, "{side:?} step {step} state {state}, values of each cause");
                        fresh.expect_next(state, |v| &next[v..=v], &mut out);
                        assert_eq!(out, expected, "{side:?} step {step} state {state}, values found there");
                        balls.expect_next(state, |v| &next[v..=v], &mut out);
                        assert_eq!(out, expected, "{side:?} step {step} state {state}, values found beforehand");
                    }
                }
            }
        }
    }

    #[test]
    fn hundreds_of_values_are_solved_like_few() {
        for n_values in [15, 120, 1000, 1500] {
            // Twice the values with half the mass each are the same ball.
            let mut out = [[0.0]; 2];
            for (twice, out) in out.iter_mut().enumerate() {
                let m = n_values << twice;
                let mut balls = KlBalls::new(1, m, None, Side::Best);
                balls.set(0, (0..m).map(|_| 1.0 / m as f64), 0.01);
                let next: Vec<f64> = (0..m).map(|v| number(v >> twice)).collect();
                balls.expect_next(0, |v| &next[v..=v], out);
            }
            let [[one], [other]] = out;
            assert!((one - other).abs() < 1e-12, "{n_values}: {one} {other}");
            assert!(one > 0.5 && one < 0.65);
        }
    }
}
