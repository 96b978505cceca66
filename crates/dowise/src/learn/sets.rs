//! Confidence sets for rows of probabilities, and the best member of a set.

use std::f64::consts::LN_2;

use crate::math::{exp, ln};
use crate::plan::Mix;

use super::options::Sets;

/// Logarithms of a learner's confidence sets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Confidence {
    pub(crate) kind: Sets,
    /// ln(2 · cells · T / δ): union over all rows of all factors, numbers of visits, and two sides.
    pub(crate) log: f64,
}

impl Confidence {
    /// The interval for the probability of the second of two values.
    pub(crate) fn interval(&self, successes: u32, n: u32) -> (f64, f64) {
        if n == 0 {
            return (0.0, 1.0);
        }
        let p = f64::from(successes) / f64::from(n);
        match self.kind {
            Sets::L1 => {
                let e = (self.log / (2.0 * f64::from(n))).sqrt();
                ((p - e).max(0.0), (p + e).min(1.0))
            }
            Sets::Kl => {
                let bound = self.log / f64::from(n);
                (1.0 - kl_upper(1.0 - p, bound), kl_upper(p, bound))
            }
        }
    }

    /// Half the radius of the L1 ball around the empirical row: how much mass may be moved.
    pub(crate) fn movable(&self, n_values: usize, n: u32) -> f64 {
        if n == 0 {
            return 1.0;
        }
        // Weissman et al.: P(‖p^ − p‖₁ ≥ ε) ≤ (2^m − 2) exp(−n ε²/2).
        let log = self.log + n_values as f64 * LN_2 - LN_2;
        ((2.0 * log / f64::from(n)).sqrt() / 2.0).min(1.0)
    }
}

/// The greatest q ≥ p with KL(p ‖ q) ≤ bound, up to rounding from above.
///
/// KL(p ‖ ·) is convex and increasing on [p, 1), so Newton's method started above the solution stays above it: stopping early
/// can only widen the interval. Two starting points that are surely above: Pinsker's inequality, and dropping p ln(1/q) ≥ 0.
fn kl_upper(p: f64, bound: f64) -> f64 {
    if p >= 1.0 {
        return 1.0;
    }
    if p <= 0.0 {
        return 1.0 - exp(-bound);
    }
    let negative_entropy = p * ln(p) + (1.0 - p) * ln(1.0 - p);
    let mut q = (p + (bound / 2.0).sqrt()).min(1.0 - exp(-(bound - negative_entropy) / (1.0 - p)));
    for _ in 0..30 {
        let excess = negative_entropy - p * ln(q) - (1.0 - p) * ln(1.0 - q) - bound;
        let slope = (q - p) / (q * (1.0 - q));
        let step = excess / slope;
        // Not a number or not downwards: rounding has the last word.
        if step.is_nan() || step <= 1e-15 {
            break;
        }
        q -= step;
    }
    q.clamp(p, 1.0)
}

/// An interval for the second of two values, for every row and cause; the better end is taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Intervals {
    /// `[row][cause]`
    pub(crate) lo: Vec<f64>,
    pub(crate) hi: Vec<f64>,
}

impl Mix for Intervals {
    fn mix<'a>(&self, row: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
        let n = out.len();
        let (lo, hi) = (&self.lo[row * n..][..n], &self.hi[row * n..][..n]);
        let best = |base: f64, gain: f64, lo: f64, hi: f64| base + (lo * gain).max(hi * gain);
        match (at(0), at(1)) {
            ([a], [b]) => {
                let gain = b - a;
                for c in 0..n {
                    out[c] = best(*a, gain, lo[c], hi[c]);
                }
            }
            (a, b) => {
                for c in 0..n {
                    out[c] = best(a[c], b[c] - a[c], lo[c], hi[c]);
                }
            }
        }
    }
}

/// An L1 ball around the empirical row, for every row and cause; the best member is taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Balls {
    /// `[row][value][cause]`
    pub(crate) prob: Vec<f64>,
    /// Mass that may be moved, `[row][cause]`.
    pub(crate) movable: Vec<f64>,
    pub(crate) n_values: usize,
    /// The order of the next values, worst first, where it is the same for all rows and was found beforehand.
    order: Vec<usize>,
}

impl Balls {
    /// Balls that allow anything, for so many rows times causes.
    pub(crate) fn new(cells: usize, n_values: usize) -> Balls {
        Balls { prob: vec![0.0; cells * n_values], movable: vec![1.0; cells], n_values, order: Vec::new() }
    }

    /// Finds the order of next values that all rows and causes share, once for all of them.
    pub(crate) fn prepare(&mut self, next_value: &[f64]) {
        self.order.clear();
        self.order.extend(0..next_value.len());
        sort(&mut self.order, |v| next_value[v]);
    }
}

/// Puts values in order, worst first.
fn sort(order: &mut [usize], value: impl Fn(usize) -> f64) {
    order.sort_unstable_by(|&a, &b| value(a).total_cmp(&value(b)).then(a.cmp(&b)));
}

impl Mix for Balls {
    #[inline(always)]
    fn mix<'a>(&self, row: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
        let n = out.len();
        let prob = &self.prob[row * self.n_values * n..][..self.n_values * n];
        let movable = &self.movable[row * n..][..n];
        let shared = at(0).len() == 1;
        let value = |v: usize, c: usize| at(v)[if shared { 0 } else { c }];
        if shared && !self.order.is_empty() {
            mix_shared(&self.order, prob, movable, |v| value(v, 0), out);
            return;
        }
        let (mut few, mut many) = ([0; FEW_VALUES], Vec::new());
        let order: &mut [usize] = if self.n_values <= FEW_VALUES {
            &mut few[..self.n_values]
        } else {
            many.resize(self.n_values, 0);
            &mut many
        };
        order.iter_mut().enumerate().for_each(|(v, o)| *o = v);
        if shared {
            sort(order, |v| value(v, 0));
            mix_shared(order, prob, movable, |v| value(v, 0), out);
            return;
        }
        for c in 0..n {
            sort(order, |v| value(v, c));
            out[c] = best_in_ball(order, |v| prob[v * n + c], |v| value(v, c), movable[c]);
        }
    }
}

/// The best of each cause's ball where all causes share the next values.
#[inline(always)]
fn mix_shared(order: &[usize], prob: &[f64], movable: &[f64], x: impl Fn(usize) -> f64, out: &mut [f64]) {
    let n = out.len();
    let mut done = 0;
    if n >= STREAM {
        for (chunk, out) in out.chunks_mut(STREAM).enumerate() {
            stream(order, prob, n, chunk * STREAM, movable, &x, out);
        }
        return;
    }
    while done + 16 <= n {
        out[done..][..16].copy_from_slice(&best_in_balls::<16>(order, prob, n, done, movable, &x));
        done += 16;
    }
    while done + 8 <= n {
        out[done..][..8].copy_from_slice(&best_in_balls::<8>(order, prob, n, done, movable, &x));
        done += 8;
    }
    for c in done..n {
        out[c] = best_in_balls::<1>(order, prob, n, c, movable, &x)[0];
    }
}

/// Causes from which on tables are read value by value: with fewer, sums are better kept in registers.
const STREAM: usize = 128;

/// [`best_in_balls`] for many causes, value by value, so that the table is read in long runs.
#[inline(always)]
fn stream(
    order: &[usize],
    prob: &[f64],
    n: usize,
    first: usize,
    movable: &[f64],
    x: impl Fn(usize) -> f64,
    out: &mut [f64],
) {
    let Some((&top, others)) = order.split_last() else { return };
    let best = x(top);
    let mut left = [0.0; STREAM];
    let left = &mut left[..out.len()];
    left.copy_from_slice(&movable[first..][..out.len()]);
    out.fill(0.0);
    for &v in others {
        let below = best - x(v);
        for ((p, left), loss) in prob[v * n + first..][..out.len()].iter().zip(&mut *left).zip(&mut *out) {
            take(*p, below, left, loss);
        }
    }
    for loss in out {
        *loss = best - *loss;
    }
}

/// Values up to which their order is found without a list on the heap.
const FEW_VALUES: usize = 128;

/// [`best_in_ball`] for N causes from number `first` on that share x, and so the order of the values.
#[inline(always)]
fn best_in_balls<const N: usize>(
    order: &[usize],
    prob: &[f64],
    n: usize,
    first: usize,
    movable: &[f64],
    x: impl Fn(usize) -> f64,
) -> [f64; N] {
    let Some((&top, others)) = order.split_last() else { return [0.0; N] };
    let best = x(top);
    let mut left: [f64; N] = movable[first..][..N].try_into().expect("so many");
    let mut loss = [0.0; N];
    for &v in others {
        let below = best - x(v);
        let p: &[f64; N] = prob[v * n + first..][..N].try_into().expect("so many");
        for i in 0..N {
            take(p[i], below, &mut left[i], &mut loss[i]);
        }
    }
    for i in 0..N {
        loss[i] = best - loss[i];
    }
    loss
}

/// Moves what may still be moved of a value's mass to the best value, `below` which it is; what stays is lost.
#[inline(always)]
fn take(mass: f64, below: f64, left: &mut f64, loss: &mut f64) {
    let taken = if mass < *left { mass } else { *left };
    *left -= taken;
    *loss += (mass - taken) * below;
}

/// Σ p(v) x(v) after moving as much mass as allowed from the worst values to the best. `order` sorts values, worst first.
///
/// Written as the best value less what each other value loses against it, so that equal values give exactly that value.
pub(crate) fn best_in_ball(order: &[usize], p: impl Fn(usize) -> f64, x: impl Fn(usize) -> f64, movable: f64) -> f64 {
    let Some((&top, others)) = order.split_last() else { return 0.0 };
    let best = x(top);
    let mut left = movable;
    let mut loss = 0.0;
    for &v in others {
        take(p(v), best - x(v), &mut left, &mut loss);
    }
    best - loss
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balls_of_many_causes_give_the_bits_of_one_ball_after_another() {
        let number = |i: usize| (i as f64 * 0.618_034).fract();
        for (n, n_values) in [(1, 3), (7, 5), (8, 4), (23, 3), (130, 6), (300, 2)] {
            let mut balls = Balls::new(n, n_values);
            (0..n * n_values).for_each(|i| balls.prob[i] = number(i) / n_values as f64);
            (0..n).for_each(|c| balls.movable[c] = number(c + 7));
            let next: Vec<f64> = (0..n_values).map(|v| number(v * v + 3)).collect();
            let mut order: Vec<usize> = (0..n_values).collect();
            sort(&mut order, |v| next[v]);
            let expected: Vec<f64> = (0..n)
                .map(|c| best_in_ball(&order, |v| balls.prob[v * n + c], |v| next[v], balls.movable[c]))
                .collect();
            let mut out = vec![f64::NAN; n];
            balls.mix(0, |v| &next[v..=v], &mut out);
            assert_eq!(out, expected, "{n} causes, order found there");
            balls.prepare(&next);
            out.fill(f64::NAN);
            balls.mix(0, |v| &next[v..=v], &mut out);
            assert_eq!(out, expected, "{n} causes, order found beforehand");
        }
    }
}
