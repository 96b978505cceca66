//! Confidence sets for rows of probabilities, and the best or worst member of each.

use std::f64::consts::LN_2;

use super::frame::Frame;
use super::stale::Stale;
use crate::learn::evidence::Evidence;
use crate::learn::options::Sets;
use crate::learn::view::FactorLayout;
use crate::loops::balls::{best_of_ball, best_of_balls};
use crate::math::{exp, ln};
use crate::plan::Mix;

/// Which member of a set is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Best,
    Worst,
}

impl Side {
    /// The worst member is the best one for values times −1, times −1 again.
    fn sign(self) -> f64 {
        match self {
            Side::Best => 1.0,
            Side::Worst => -1.0,
        }
    }
}

/// Rows of confidence sets, `[block][factor]`.
#[derive(Clone, Debug)]
pub(crate) struct SetsBelief {
    confidence: Confidence,
    tables: Vec<Vec<Table>>,
    touched: Vec<u32>,
}

/// One factor's sets.
#[derive(Clone, Debug)]
enum Table {
    Intervals(Intervals),
    Balls(Balls),
}

impl Mix for Table {
    #[inline(always)]
    fn mix<'a>(&self, row: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
        match self {
            Table::Intervals(t) => t.mix(row, at, out),
            Table::Balls(t) => t.mix(row, at, out),
        }
    }

    #[inline(always)]
    fn mix_run<'a>(&self, row: usize, n_blocks: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
        match self {
            Table::Intervals(t) => t.mix_run(row, n_blocks, at, out),
            Table::Balls(t) => t.mix_run(row, n_blocks, at, out),
        }
    }
}

impl Table {
    /// Sets that allow anything, or a transition that is known.
    fn new(factor: &FactorLayout, n_causes: usize, side: Side) -> Table {
        let (cells, n_values) = (factor.n_state_rows * n_causes, factor.n_values);
        match (&factor.known, n_values) {
            (None, 2) => Table::Intervals(Intervals { lo: vec![0.0; cells], hi: vec![1.0; cells], side }),
            (None, _) => Table::Balls(Balls::new(cells, n_values, side)),
            (Some(known), 2) => {
                // Of `[state row][value][cause]` the second value.
                let second = |cell: usize| known[(cell / n_causes * 2 + 1) * n_causes + cell % n_causes];
                let p: Vec<f64> = (0..cells).map(second).collect();
                Table::Intervals(Intervals { lo: p.clone(), hi: p, side })
            }
            (Some(known), _) => {
                let mut balls = Balls::new(cells, n_values, side);
                balls.prob.copy_from_slice(known);
                balls.movable.fill(0.0);
                Table::Balls(balls)
            }
        }
    }

    /// Sets the entries of the cells that a row of counts stands for.
    fn set(
        &mut self,
        confidence: &Confidence,
        factor: &FactorLayout,
        row: usize,
        n_causes: usize,
        counts: &[u32],
        n: u32,
    ) {
        match self {
            Table::Intervals(t) => {
                let (lo, hi) = confidence.interval(counts[1], n);
                factor.for_each_cell(row, |cell| (t.lo[cell], t.hi[cell]) = (lo, hi));
            }
            Table::Balls(t) => {
                let movable = confidence.movable(counts.len(), n);
                factor.for_each_cell(row, |cell| {
                    t.movable[cell] = movable;
                    let (state_row, cause) = (cell / n_causes, cell % n_causes);
                    for (v, &count) in counts.iter().enumerate() {
                        let frequency = if n == 0 { 0.0 } else { f64::from(count) / f64::from(n) };
                        t.prob[(state_row * counts.len() + v) * n_causes + cause] = frequency;
                    }
                });
            }
        }
    }
}

impl SetsBelief {
    pub(crate) fn new(frame: &Frame, confidence: Confidence, side: Side) -> SetsBelief {
        let layout = frame.layout();
        let tables = || layout.factors.iter().map(|f| Table::new(f, layout.n_causes, side)).collect();
        let tables = (0..frame.view.n_blocks).map(|_| tables()).collect();
        SetsBelief { confidence, tables, touched: Vec::new() }
    }

    /// Reads the rows that have changed.
    pub(crate) fn update(&mut self, frame: &Frame, evidence: &Evidence, stale: &mut Stale) {
        let layout = frame.layout();
        for (block, counts) in evidence.transitions.iter().enumerate() {
            for (i, (factor, counts)) in layout.factors.iter().zip(counts).enumerate() {
                stale.take(block, i, &mut self.touched);
                for &row in &self.touched {
                    let row = row as usize;
                    let (values, n) = (counts.values(row), counts.n_r[row]);
                    self.tables[block][i].set(&self.confidence, factor, row, layout.n_causes, values, n);
                }
            }
        }
    }

    /// q of a stage; whether losses were written in its place, as `LOSSES` asks.
    pub(crate) fn look<const LOSSES: bool>(
        &mut self,
        frame: &mut Frame,
        stage: usize,
        next_value: &[f64],
        q: &mut Vec<f64>,
    ) -> bool {
        let block = frame.view.block(stage);
        self.prepare(block, next_value);
        frame.contraction.apply(&self.tables[block], next_value, q, &mut frame.spare);
        if frame.ceiling.is_empty() {
            frame.values::<LOSSES>(stage, q);
            return LOSSES;
        }
        for (cell, q) in q.iter_mut().enumerate() {
            *q = frame.value(stage, cell, *q, 0.0);
        }
        frame.lower_ceiling(stage, q);
        false
    }

    /// q(s, ·) of one state.
    pub(crate) fn look_at(&mut self, frame: &Frame, stage: usize, state: usize, next_value: &[f64], q: &mut Vec<f64>) {
        let block = frame.view.block(stage);
        self.prepare(block, next_value);
        frame.expect_at(&self.tables[block], state, next_value, q);
        for (c, q) in q.iter_mut().enumerate() {
            *q = frame.value(stage, state * frame.n_causes() + c, *q, 0.0);
        }
    }

    /// Where the state is seen whole, every row has the same next values.
    fn prepare(&mut self, block: usize, next_value: &[f64]) {
        if let [Table::Balls(balls)] = &mut self.tables[block][..]
            && balls.n_values == next_value.len()
        {
            balls.prepare(next_value);
        }
    }
}

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

/// An interval for the second of two values, for every row and cause; the better or the worse end is taken.
#[derive(Clone, Debug)]
struct Intervals {
    /// `[row][cause]`
    lo: Vec<f64>,
    hi: Vec<f64>,
    side: Side,
}

impl Intervals {
    #[inline(always)]
    fn mix_side<'a, const WORST: bool>(&self, row: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
        let n = out.len();
        let (lo, hi) = (&self.lo[row * n..][..n], &self.hi[row * n..][..n]);
        let end = |a: f64, b: f64| if WORST { a.min(b) } else { a.max(b) };
        match (at(0), at(1)) {
            ([a], [b]) => {
                let gain = b - a;
                for c in 0..n {
                    out[c] = *a + end(lo[c] * gain, hi[c] * gain);
                }
            }
            (a, b) => {
                for c in 0..n {
                    let gain = b[c] - a[c];
                    out[c] = a[c] + end(lo[c] * gain, hi[c] * gain);
                }
            }
        }
    }
}

impl Mix for Intervals {
    #[inline(always)]
    fn mix<'a>(&self, row: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
        match self.side {
            Side::Best => self.mix_side::<false>(row, at, out),
            Side::Worst => self.mix_side::<true>(row, at, out),
        }
    }
}

/// An L1 ball around the empirical row, for every row and cause; the best or the worst member is taken.
#[derive(Clone, Debug)]
struct Balls {
    /// `[row][value][cause]`
    prob: Vec<f64>,
    /// Mass that may be moved, `[row][cause]`.
    movable: Vec<f64>,
    n_values: usize,
    side: Side,
    /// The order of the next values, those that lose mass first, where it is the same for all rows and was found beforehand.
    order: Vec<usize>,
    /// Those next values times the sign of the side.
    next: Vec<f64>,
}

impl Balls {
    /// Balls that allow anything; `cells` is the number of rows times causes.
    fn new(cells: usize, n_values: usize, side: Side) -> Balls {
        Balls {
            prob: vec![0.0; cells * n_values],
            movable: vec![1.0; cells],
            n_values,
            side,
            order: Vec::new(),
            next: Vec::new(),
        }
    }

    /// Finds the order of next values that all rows and causes share, once for all of them.
    fn prepare(&mut self, next_value: &[f64]) {
        let sign = self.side.sign();
        self.next.clear();
        self.next.extend(next_value.iter().map(|v| sign * v));
        self.order.clear();
        self.order.extend(0..next_value.len());
        sort(&mut self.order, &self.next);
    }

    /// The best member of each ball for the values of `at` times the sign of the side.
    #[inline(always)]
    fn mix_with<'a>(&self, row: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64], sign: f64) {
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

/// Values up to which their order is found without a list on the heap.
const FEW_VALUES: usize = 128;

/// Puts values in order, worst first.
fn sort(order: &mut [usize], next: &[f64]) {
    order.sort_unstable_by(|&a, &b| next[a].total_cmp(&next[b]).then(a.cmp(&b)));
}

impl Mix for Balls {
    #[inline(always)]
    fn mix<'a>(&self, row: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
        self.mix_with(row, at, out, self.side.sign());
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
                balls.mix(0, |v| &for_each[v], &mut expected);
                let mut out = vec![f64::NAN; n];
                balls.mix(0, |v| &next[v..=v], &mut out);
                assert_eq!(out, expected, "{n} causes, {side:?}, order found there");
                balls.prepare(&next);
                out.fill(f64::NAN);
                balls.mix(0, |v| &next[v..=v], &mut out);
                assert_eq!(out, expected, "{n} causes, {side:?}, order found beforehand");
            }
        }
    }
}
