//! E-process against one conditional independence, updated in constant time: a bet that an outcome depends on more.
//!
//! By the declared graph, the row of an outcome y in [0, 1] alone determines its mean m. Before y is observed, c is
//! fixed from the other variables, and the bet gains 1 + c (y − p) for any prediction p of the row's mean. Whatever m
//! is, M_m = Π (1 + c (y − p)) / (1 + c (m − p)) has mean 1 at every time, so the least M_m over all m is an
//! e-process. The penalty, sup over m of Σ ln(1 + c (m − p)), is bounded by the cubic x − x²/2 + x³/3 ≥ ln(1 + x),
//! whose sum over the visits of a row is four numbers. `docs/theory/guarantees.md` has the proof.

use serde::{Deserialize, Serialize};

use crate::math::{exp, ln};

/// Shrinkage of the effect common to all rows towards zero, in units of information about a log-odds effect.
const SHRINK: f64 = 5.0;

/// Shrinkage of the effect within a row towards the common one.
const SHRINK_ROW: f64 = 10.0;

/// Largest bet: both factors of M_m stay positive.
const MOST: f64 = 0.7;

/// Two betting strategies, which share the stake equally: one effect for all rows, and row effects shrunk towards it.
const WAYS: usize = 2;

/// Numbers of a row before those for each value: for each strategy, four coefficients of its cubic and the penalty of
/// the row.
const OF_WAYS: usize = 5 * WAYS;

/// Largest increase of any number of a bet in a step: the bet is at most [`MOST`], and all else at most 1.
const MOST_STEP: f64 = 8.0;

/// E-process against the independence of one outcome from one variable with a few values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct EProcess {
    /// ln of the wealth of each strategy.
    gain: [f64; WAYS],
    /// Penalty of each strategy for the unknown means of the rows.
    price: [f64; WAYS],
    /// For each value of the variable: covariance with the outcome's residual, and information about it.
    shared: Vec<[f64; 2]>,
    /// For each row: coefficients and penalties, then covariance and information for each value.
    rows: Vec<f64>,
}

impl EProcess {
    pub(super) fn new(n_values: usize) -> EProcess {
        EProcess { shared: vec![[0.0; 2]; n_values], ..EProcess::default() }
    }

    /// Number of numbers per row.
    pub(super) fn width(n_values: usize) -> usize {
        OF_WAYS + 2 * n_values
    }

    /// Whether saved numbers have this shape.
    pub(super) fn fits(&self, n_values: usize, n_rows: usize) -> bool {
        self.shared.len() == n_values && self.rows.len() == n_rows * EProcess::width(n_values)
    }

    /// Whether these numbers are possible after this number of steps, so that all derived numbers are finite.
    pub(super) fn is_plausible(&self, steps: f64) -> bool {
        let within = |x: &f64| x.abs() <= MOST_STEP * steps;
        let known = |cov: &f64, information: &f64| within(cov) && (0.0..=steps).contains(information);
        let row = |row: &[f64]| {
            let (of_ways, of_values) = row.split_at(OF_WAYS);
            of_ways.iter().all(within) && of_values.chunks_exact(2).all(|v| known(&v[0], &v[1]))
        };
        self.gain.iter().chain(&self.price).all(within)
            && self.shared.iter().all(|[cov, information]| known(cov, information))
            && self.rows.chunks_exact(EProcess::width(self.shared.len())).all(row)
    }

    /// Adds one row.
    pub(super) fn add_row(&mut self) {
        self.rows.resize(self.rows.len() + EProcess::width(self.shared.len()), 0.0);
    }

    /// Updates with an outcome `y` of a row, predicted as `p`, where `x` is the deviation of the variable from its
    /// expectation.
    pub(super) fn step(&mut self, row: usize, p: f64, y: f64, x: &[f64]) {
        let n = self.shared.len();
        let (of_ways, of_values) = self.rows[row * EProcess::width(n)..][..EProcess::width(n)].split_at_mut(OF_WAYS);
        // With one effect per value against all others, two values count every difference twice.
        let share = (n as f64 - 1.0) / n as f64;
        let mut bets = [0.0; WAYS];
        for ((of_value, &[cov, information]), &x) in of_values.chunks_exact(2).zip(&self.shared).zip(x) {
            let effect = cov / (information + SHRINK);
            bets[0] += share * x * effect;
            bets[1] += share * x * (of_value[0] + SHRINK_ROW * effect) / (of_value[1] + SHRINK_ROW);
        }
        for (way, numbers) in of_ways.chunks_exact_mut(5).enumerate() {
            let c = bets[way].clamp(-MOST, MOST);
            if c == 0.0 {
                continue;
            }
            self.gain[way] += ln(1.0 + c * (y - p));
            let before = numbers[4];
            add_cubic(numbers, -c * p, c);
            numbers[4] = greatest(numbers);
            self.price[way] += numbers[4] - before;
        }
        let variance = p * (1.0 - p);
        for ((of_value, shared), &x) in of_values.chunks_exact_mut(2).zip(&mut self.shared).zip(x) {
            let (cov, information) = (x * (y - p), x * x * variance);
            shared[0] += cov;
            shared[1] += information;
            of_value[0] += cov;
            of_value[1] += information;
        }
    }

    /// ln of the e-value of each strategy.
    pub(super) fn log_e(&self) -> [f64; WAYS] {
        [0, 1].map(|way| self.gain[way] - self.price[way])
    }

    /// Gain in predictive log-likelihood due to the variable, in nats.
    pub(super) fn gain(&self) -> f64 {
        self.gain[0].max(self.gain[1])
    }

    /// Log-odds effect of each value, common to all rows, without shrinkage.
    pub(super) fn effects(&self) -> impl Iterator<Item = Option<f64>> {
        let share = (self.shared.len() as f64 - 1.0) / self.shared.len() as f64;
        self.shared.iter().map(move |&[cov, information]| (information > 0.5).then(|| share * cov / information))
    }
}

/// Adds x − x²/2 + x³/3 with x = a + b m to the coefficients of a cubic in m.
fn add_cubic(coefficients: &mut [f64], a: f64, b: f64) {
    coefficients[0] += a * (1.0 - a * (0.5 - a / 3.0));
    coefficients[1] += b * (1.0 - a * (1.0 - a));
    coefficients[2] += b * b * (a - 0.5);
    coefficients[3] += b * b * b / 3.0;
}

/// Greatest value of a cubic over [0, 1].
fn greatest(coefficients: &[f64]) -> f64 {
    let [k, l, q, c] = [coefficients[0], coefficients[1], coefficients[2], coefficients[3]];
    let at = |m: f64| k + m * (l + m * (q + m * c));
    let mut most = at(0.0).max(at(1.0));
    // Zeros of its slope l + 2 q m + 3 c m², in the form that does not cancel.
    let root = q * q - 3.0 * c * l;
    if root >= 0.0 {
        let s = -(q + root.sqrt().copysign(q));
        for m in [s / (3.0 * c), l / s] {
            if m > 0.0 && m < 1.0 {
                most = most.max(at(m));
            }
        }
    }
    most
}

/// ln of the mean of numbers given by their logarithms.
pub(super) fn log_mean(logs: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = logs.clone().fold(f64::NEG_INFINITY, f64::max);
    let (sum, n) = logs.fold((0.0, 0.0), |(sum, n), x| (sum + exp(x - most), n + 1.0));
    most + ln(sum / n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::splitmix64;

    fn share(random: u64) -> f64 {
        (random >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The penalty from all visits by trying a thousand means, the gain by summation.
    #[test]
    fn the_price_in_four_numbers_is_the_supremum_over_all_visits_and_a_little_more() {
        let mut bet = EProcess::new(2);
        let n_rows = 3;
        (0..n_rows).for_each(|_| bet.add_row());
        let (mut seen, mut random) = (vec![(0.0, 0.0, 0.0); n_rows], 7u64);
        let mut visits: Vec<Vec<[f64; 2]>> = vec![vec![]; n_rows];
        let mut gain = 0.0;
        for _ in 0..600 {
            random = splitmix64(random);
            let row = (random % 3) as usize;
            let g = f64::from(u8::from(share(splitmix64(random)) < 0.4));
            let y = f64::from(u8::from(share(splitmix64(random ^ 5)) < 0.3 + 0.25 * g));
            let (n, sum, of) = &mut seen[row];
            let p = (*sum + 0.5) / (*n + 1.0);
            let x = if *n > 0.0 { g - *of / *n } else { 0.0 };
            let x = [-x, x];
            let effect: f64 = bet.shared.iter().zip(x).map(|([c, i], x)| 0.5 * x * c / (i + SHRINK)).sum();
            let c = effect.clamp(-MOST, MOST);
            visits[row].push([c, p]);
            gain += ln(1.0 + c * (y - p));
            bet.step(row, p, y, &x);
            (*n, *sum, *of) = (*n + 1.0, *sum + y, *of + g);
        }
        let price = |visits: &Vec<[f64; 2]>| {
            let at = |m: f64| visits.iter().map(|[c, p]| ln(1.0 + c * (m - p))).sum::<f64>();
            (0..=1000).map(|i| at(f64::from(i) / 1000.0)).fold(f64::NEG_INFINITY, f64::max)
        };
        let exact: f64 = visits.iter().map(price).sum();
        assert!((bet.gain[0] - gain).abs() < 1e-9);
        assert!(bet.price[0] >= exact - 1e-6 && bet.price[0] < exact + 0.5, "{} {exact}", bet.price[0]);
        assert!(bet.log_e()[0] > 5.0, "a real effect is found: {:?}", bet.log_e());
    }

    #[test]
    fn a_cubic_is_greatest_where_a_fine_grid_says() {
        for k in 0..2000u64 {
            let part = |i: u64| 4.0 * share(splitmix64(k * 4 + i)) - 2.0;
            let mut cubic = [part(0), part(1), part(2), part(3)];
            if k % 5 == 0 {
                cubic[3] = 0.0;
            }
            if k % 7 == 0 {
                cubic[2] = 0.0;
            }
            let at = |m: f64| cubic[0] + m * (cubic[1] + m * (cubic[2] + m * cubic[3]));
            let grid = (0..=1000).map(|i| at(f64::from(i) / 1000.0)).fold(f64::NEG_INFINITY, f64::max);
            let found = greatest(&cubic);
            assert!(found >= grid - 1e-12 && found < grid + 1e-5, "{cubic:?}: {found} {grid}");
        }
    }
}
