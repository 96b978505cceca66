//! Change-point test of a row (e-process, valid at every time): do its earlier and later visits differ?
//!
//! With D a fixed mixture over all distributions, let E_k = D(first k visits) · D(the rest) / (greatest likelihood of
//! all visits). If the row never changed, E_k is at most D · D / (true likelihood), which has mean 1 at every time
//! under any visiting rule. So Σ_k w_k E_k, for fixed weights that sum to one, ever reaches a bar with probability at
//! most 1/bar. `docs/theory/guarantees.md` has the proof.
//!
//! E_{k−1} follows from E_k by a few multiplications, so splits are tested from the latest visit backwards. A split
//! with `a` later visits is tested every `a`/8 visits.

use crate::learn::PAID_WHOLE;
use crate::math::{exp, ln, ln_gamma, powi};

/// The weight of a split is 0.1 · 0.9^j / 2^j for 2^j ≤ k < 2^(j+1): nearly uniform, without knowledge of the run
/// length.
const FADES: f64 = 0.9;

/// Every fourth visit tests the last 32 splits, every eighth the last 64, and so on.
const EVERY: u64 = 4;
const LOOK: u64 = 8;

/// Products beyond this number are scaled.
const LARGE: f64 = 1e200;

/// Structure of the values of a row in the test.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// Mixtures, which share the weight equally; none for rewards.
    ways: Vec<Vec<Part>>,
    /// Numbers that scratch memory needs.
    width: usize,
}

/// One part of a value, with its own Dirichlet mixture: a mixture over values with independent parts.
#[derive(Clone, Copy, Debug)]
struct Part {
    stride: usize,
    size: usize,
    /// Weight of each value.
    alpha: f64,
    /// Offset of its counts in scratch memory.
    offset: usize,
}

/// Scratch memory: counts before and after a split, and E by each mixture.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    before: Vec<f64>,
    after: Vec<f64>,
    ways: Vec<Product>,
}

/// e^log times a factor; the scale is e^log.
#[derive(Clone, Copy, Debug)]
struct Product {
    log: f64,
    scale: f64,
    factor: f64,
}

/// Visits of a row since its test began.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tally {
    /// By value.
    Values(Vec<u32>),
    /// Payments, and the exact sum of their shares.
    Paid(u32, u128),
}

impl Shape {
    /// For values composed of these parts, the last one fastest.
    pub(super) fn of_values(sizes: &[usize]) -> Shape {
        let n_values = sizes.iter().product();
        let sizes: Vec<usize> = sizes.iter().copied().filter(|&size| size > 1).collect();
        let (mut stride, mut offset) = (n_values, 0);
        let mut parts = Vec::new();
        for &size in &sizes {
            stride /= size;
            parts.push(Part { stride, size, alpha: 0.5, offset });
            offset += size;
        }
        let mut ways = vec![parts];
        if n_values > 2 {
            // If few of many values occur, a mixture with weight near the corners has a smaller penalty for the
            // others.
            ways.push(vec![Part { stride: 1, size: n_values, alpha: 1.0 / n_values as f64, offset }]);
            offset += n_values;
        }
        Shape { ways, width: offset }
    }

    /// For rewards.
    pub(super) fn of_payments() -> Shape {
        Shape { ways: Vec::new(), width: 0 }
    }

    /// Whether Σ_k w_k E_k over the splits tested after this visit reaches the bar.
    pub(super) fn alarm(
        &self,
        (tally, n): (&Tally, u64),
        recent: &impl Recent,
        bar: f64,
        scratch: &mut Scratch,
    ) -> bool {
        if n % EVERY != 0 {
            return false;
        }
        let look = LOOK << n.trailing_zeros().min(32);
        let mut sum = 0.0;
        self.splits((tally, n), recent, look, scratch, |after, e| sum += weight(n - after) * e);
        sum >= bar
    }

    /// The mean of E over the splits with `least` to `most` later visits, if they are due.
    pub(super) fn mean(
        &self,
        (tally, n): (&Tally, u64),
        recent: &impl Recent,
        [least, most]: [u64; 2],
        scratch: &mut Scratch,
    ) -> Option<f64> {
        if n % EVERY != 0 || most > LOOK << n.trailing_zeros().min(32) {
            return None;
        }
        let (mut sum, mut looked) = (0.0, 0.0);
        self.splits((tally, n), recent, most, scratch, |after, e| {
            if after >= least {
                (sum, looked) = (sum + e, looked + 1.0);
            }
        });
        (looked > 0.0).then(|| sum / looked)
    }

    /// Number of visits after the best split among the stored visits.
    pub(super) fn best(&self, of: (&Tally, u64), recent: &impl Recent, scratch: &mut Scratch) -> u64 {
        let (mut best, mut most) = (1, f64::NEG_INFINITY);
        self.splits(of, recent, u64::MAX, scratch, |after, e| {
            if e > most {
                (best, most) = (after, e);
            }
        });
        best
    }

    /// Calls `at(visits after the split, E)` for splits from the last one backwards.
    fn splits(
        &self,
        (tally, n): (&Tally, u64),
        recent: &impl Recent,
        look: u64,
        scratch: &mut Scratch,
        mut at: impl FnMut(u64, f64),
    ) {
        // At least one visit precedes a split.
        let look = look.min(recent.len() as u64).min(n.saturating_sub(1));
        match tally {
            Tally::Values(counts) => self.splits_of_values(counts, recent, look, scratch, at),
            Tally::Paid(n, sum) => {
                let (n, all) = (f64::from(*n), share(*sum));
                let greatest = fit(all) + fit(n - all) - fit(n);
                let (mut after, mut next) = (0u128, 1);
                for i in 1..=look {
                    after += recent.nth_back(i as usize - 1);
                    // Each takes six logarithms of Γ, so early splits are tested only at one in every sixteenth of the
                    // way.
                    if i == next || i == look {
                        let (a, m) = (share(after), i as f64);
                        at(i, exp(of_two(a, m - a) + of_two(all - a, n - m - (all - a)) - greatest));
                        next = i + (i / 16).max(1);
                    }
                }
            }
        }
    }

    fn splits_of_values(
        &self,
        counts: &[u32],
        recent: &impl Recent,
        look: u64,
        scratch: &mut Scratch,
        mut at: impl FnMut(u64, f64),
    ) {
        let Scratch { before, after, ways } = scratch;
        before.clear();
        before.resize(self.width, 0.0);
        after.clear();
        after.resize(self.width, 0.0);
        let (mut n, mut greatest) = (0.0, 0.0);
        for (value, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let count = f64::from(count);
            n += count;
            greatest += fit(count);
            for part in self.ways.iter().flatten() {
                before[part.of(value)] += count;
            }
        }
        greatest -= fit(n);
        // E with no visit after the split, in two factors to avoid overflow and underflow.
        let start = |parts: &Vec<Part>| -> f64 {
            let of = |part: &Part| part.log_mixture(&before[part.offset..][..part.size], n);
            parts.iter().map(of).sum::<f64>() - greatest
        };
        ways.clear();
        ways.extend(self.ways.iter().map(start).map(|log| Product { log, scale: exp(log), factor: 1.0 }));
        let share = 1.0 / self.ways.len() as f64;
        let (mut n_before, mut n_after) = (n, 0.0);
        for i in 1..=look {
            let value = recent.nth_back(i as usize - 1) as usize;
            let mut e = 0.0;
            for (way, parts) in ways.iter_mut().zip(&self.ways) {
                for part in parts {
                    let (place, weight) = (part.of(value), part.alpha * part.size as f64);
                    let gains = (after[place] + part.alpha) * (n_before - 1.0 + weight);
                    let loses = (before[place] - 1.0 + part.alpha) * (n_after + weight);
                    way.factor *= gains / loses;
                    after[place] += 1.0;
                    before[place] -= 1.0;
                }
                if !(1.0 / LARGE..LARGE).contains(&way.factor) {
                    way.log += ln(way.factor);
                    *way = Product { log: way.log, scale: exp(way.log), factor: 1.0 };
                }
                e += share * way.scale * way.factor;
            }
            n_before -= 1.0;
            n_after += 1.0;
            at(i, e);
        }
    }
}

impl Part {
    fn of(&self, value: usize) -> usize {
        self.offset + value / self.stride % self.size
    }

    /// ln of the mixture probability of these counts, one visit after another.
    fn log_mixture(&self, counts: &[f64], n: f64) -> f64 {
        let (weight, none) = (self.alpha * self.size as f64, ln_gamma(self.alpha));
        let seen = counts.iter().filter(|count| **count > 0.0).map(|count| ln_gamma(count + self.alpha) - none);
        ln_gamma(weight) - ln_gamma(n + weight) + seen.sum::<f64>()
    }
}

/// Values or rewards of the stored visits.
pub(super) trait Recent {
    /// How many.
    fn len(&self) -> usize;
    /// From the last one, 0, backwards.
    fn nth_back(&self, i: usize) -> u128;
}

impl Tally {
    /// Visits.
    pub(super) fn n(&self) -> u64 {
        match self {
            Tally::Values(counts) => counts.iter().map(|&n| u64::from(n)).sum(),
            Tally::Paid(n, _) => (*n).into(),
        }
    }

    pub(super) fn add(&mut self, value: u128) {
        match self {
            Tally::Values(counts) => counts[value as usize] += 1,
            Tally::Paid(n, sum) => (*n, *sum) = (*n + 1, *sum + value),
        }
    }

    pub(super) fn remove(&mut self, value: u128) {
        match self {
            Tally::Values(counts) => counts[value as usize] -= 1,
            Tally::Paid(n, sum) => (*n, *sum) = (*n - 1, *sum - value),
        }
    }

    /// Whether such a visit can be among these.
    pub(super) fn has(&self, value: u128) -> bool {
        match self {
            Tally::Values(counts) => counts[value as usize] > 0,
            Tally::Paid(n, sum) => *n > 0 && *sum >= value && *sum - value <= u128::from(*n - 1) * PAID_WHOLE,
        }
    }
}

/// The weight of a split after k visits: they sum to one.
pub(super) fn weight(k: u64) -> f64 {
    let j = k.ilog2();
    (1.0 - FADES) * powi(0.5 * FADES, j)
}

fn share(sum: u128) -> f64 {
    sum as f64 / PAID_WHOLE as f64
}

/// x ln x.
fn fit(x: f64) -> f64 {
    if x > 0.0 { x * ln(x) } else { 0.0 }
}

/// ln of the mixture Dirichlet(1/2, 1/2) for rewards that sum to a, with complements that sum to b.
fn of_two(a: f64, b: f64) -> f64 {
    // ln Γ(1/2), twice
    const HALVES: f64 = 1.144_729_885_849_400_2;
    let (a, b) = (a.max(0.0), b.max(0.0));
    ln_gamma(a + 0.5) + ln_gamma(b + 0.5) - ln_gamma(a + b + 1.0) - HALVES
}

#[cfg(test)]
#[path = "change_point_tests.rs"]
mod tests;
