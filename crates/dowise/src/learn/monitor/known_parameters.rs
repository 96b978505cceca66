//! Tests of known parameters: for every row of a known table an e-process that grows if other probabilities fit
//! better.
//!
//! The known parameters give the visits of a row the probabilities p. The Krichevsky-Trofimov mixture of all
//! distributions gives the next value the probability (n_v + ½) / (n + K/2). The product of its ratios to p has mean 1
//! at every step if p is right. For a known mean m of rewards scaled to [0, 1], 1 + c (y − m) has mean 1 for any c
//! fixed before. Rows are combined in two ways that share the error probability: the product over all rows, and the
//! mean over all rows. `docs/theory/guarantees.md` has the proof.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::MOST_ROWS;
use super::claims::{Claimed, Outcome, row_of, share};
use crate::learn::Knowledge;
use crate::learn::observation::Observation;
use crate::math::ln;
use crate::world::{VarId, World};

/// Largest increase of the logarithm of an e-value in a step: a value with known probability 0 may be observed
/// repeatedly.
const MOST_GAIN: f64 = 300.0;

/// Shrinkage of bets on rewards towards zero, in squared residuals.
const SHRINK: f64 = 1.0;

/// Largest bet on rewards.
const MOST_BET: f64 = 0.9;

/// A known table.
#[derive(Clone, Debug)]
pub(super) struct KnownParameters {
    outcome: Outcome,
    scope: Vec<VarId>,
    /// Positions of the factors whose next values are the last of a row.
    next: Vec<usize>,
    sizes: Vec<usize>,
    /// Number of values of the outcome; none for a reward.
    n_values: usize,
    /// `[row][value]`, or the mean of a row as a share of the range.
    table: Arc<[f64]>,
    n_rows: usize,
}

/// Its sufficient statistics, as saved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct KnownParameterCounts {
    rows: BTreeMap<u64, u32>,
    /// `[row]`: visits of each value; for rewards the sums of rewards, of residuals, of their squares, and visits.
    counts: Vec<f64>,
    log_e: Vec<f64>,
    /// ln of the product over all rows.
    product: f64,
    /// ln of the greatest lower bound so far of the mean over rows, or of the product.
    now: f64,
}

impl KnownParameters {
    /// The known table of an outcome, if there is one.
    pub(super) fn of(world: &World, claimed: &Claimed) -> Option<KnownParameters> {
        let (outcome, mut next) = (claimed.outcome, Vec::new());
        let (scope, table, n_values) = match outcome {
            Outcome::Next(i) => {
                let transition = world.transitions().get(i)?;
                let is_time_index = world.time_index() == Some(world.state()[i]);
                let table = transition.table.clone().filter(|_| !is_time_index)?;
                (transition.parents.clone(), table, world.variable(world.state()[i]).size())
            }
            Outcome::Key(_) | Outcome::Alone(_) => {
                let within = claimed.within.as_ref()?;
                (within.scope.clone(), within.table(world).ok()??, claimed.n_values)
            }
            Outcome::Paid(i) => {
                let term = world.rewards().get(i).filter(|term| term.range[1] > term.range[0])?;
                let ([lo, hi], table) = (term.range, term.table.as_deref()?);
                next.clone_from(&claimed.next);
                let share = |x: &f64| ((x - lo) / (hi - lo)).clamp(0.0, 1.0);
                (term.scope.clone(), table.iter().map(share).collect(), 0)
            }
        };
        let mut sizes = world.sizes(&scope);
        sizes.extend(next.iter().map(|&i| world.state_space().sizes()[i]));
        let n_rows = table.len() / n_values.max(1);
        Some(KnownParameters { outcome, scope, next, sizes, n_values, table, n_rows })
    }

    fn width(&self) -> usize {
        if self.n_values == 0 { 4 } else { self.n_values }
    }

    /// Bytes that a row takes at most.
    pub(super) fn row_bytes(&self) -> u128 {
        24 * (self.width() as u128 + 1) + 32
    }

    pub(super) fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Updates with a step; returns a lower bound on ln of the e-value, or `None` if the step is uninformative.
    pub(super) fn observe(
        &self,
        numbers: &mut KnownParameterCounts,
        knowledge: &Knowledge,
        observation: &Observation<'_>,
    ) -> Option<f64> {
        let at = row_of(knowledge, observation, &self.scope, &self.next)? as usize;
        let seen = match self.outcome {
            Outcome::Paid(term) => {
                let (range, paid) = (knowledge.rewards()[term].range, observation.rewards[term]);
                // A reward outside its range is a separate alarm.
                (!paid.is_nan()).then(|| share(paid, range).ok()).flatten()?
            }
            Outcome::Next(_) | Outcome::Key(_) | Outcome::Alone(_) => {
                self.outcome.value(knowledge, observation)? as f64
            }
        };
        let row = numbers.row(at as u64, self.width())?;
        let counts = &mut numbers.counts[row * self.width()..][..self.width()];
        let gain = if self.n_values == 0 {
            let away = seen - self.table[at];
            let bet = (counts[1] / (counts[2] + SHRINK)).clamp(-MOST_BET, MOST_BET);
            for (sum, more) in counts.iter_mut().zip([seen, away, away * away, 1.0]) {
                *sum += more;
            }
            ln(1.0 + bet * away)
        } else {
            let (value, n) = (seen as usize, counts.iter().sum::<f64>());
            let mixed = (counts[value] + 0.5) / (n + 0.5 * self.n_values as f64);
            counts[value] += 1.0;
            let p = self.table[at * self.n_values + value];
            if p > 0.0 { (ln(mixed) - ln(p)).min(MOST_GAIN) } else { MOST_GAIN }
        };
        numbers.log_e[row] += gain;
        numbers.product += gain;
        let of_row = numbers.log_e[row] - ln(self.n_rows as f64);
        numbers.now = of_row.max(numbers.product) - std::f64::consts::LN_2;
        Some(numbers.now)
    }

    /// The most contradicted row, in words: the row, the known parameters, and the observed frequencies.
    pub(super) fn words(&self, numbers: &KnownParameterCounts, world: &World) -> Option<(String, f64)> {
        let (at, row) = numbers
            .rows
            .iter()
            .max_by(|a, b| numbers.log_e[*a.1 as usize].total_cmp(&numbers.log_e[*b.1 as usize]))
            .map(|(&at, &row)| (at as usize, row as usize))?;
        let counts = &numbers.counts[row * self.width()..][..self.width()];
        let mut rest = at;
        let mut given: Vec<String> = Vec::new();
        let next = self.next.iter().map(|&i| ("next ", world.state()[i]));
        let names: Vec<(&str, VarId)> = self.scope.iter().map(|&id| ("", id)).chain(next).collect();
        for (&(which, id), size) in names.iter().zip(&self.sizes).rev() {
            given.push(format!("{which}{} = {}", world.variable(id).name, world.variable(id).values[rest % size]));
            rest /= size;
        }
        given.reverse();
        let given = if given.is_empty() { String::new() } else { format!(" where {}", given.join(", ")) };
        let name = self.outcome.name(world);
        if self.n_values == 0 {
            let (knowledge, seen) = (self.table[at], counts[0] / counts[3].max(1.0));
            let Outcome::Paid(term) = self.outcome else { return None };
            let [lo, hi] = world.rewards()[term].range;
            let amount = |share: f64| rounded(lo + (hi - lo) * share, hi - lo);
            let what =
                format!("{name} was given a mean of {}{given} and paid {} on average", amount(knowledge), amount(seen));
            return Some((format!("{what} of {} times", counts[3]), seen - knowledge));
        }
        let n = counts.iter().sum::<f64>().max(1.0);
        let away = |v: usize| counts[v] / n - self.table[at * self.n_values + v];
        let worst = (0..self.n_values).max_by(|&a, &b| away(a).abs().total_cmp(&away(b).abs()))?;
        let value = &world.variable(self.outcome.variable(world)?).values[worst];
        let knowledge = self.table[at * self.n_values + worst];
        let what = format!(
            "P({name} = {value}) was given as {knowledge:.2}{given} and it was so in {:.2} of {n} times",
            knowledge + away(worst)
        );
        Some((what, away(worst)))
    }
}

/// A number with the digits that distinguish ten-thousandths of a range.
pub(super) fn rounded(x: f64, range: f64) -> f64 {
    let (mut digits, mut rest) = (4usize, range);
    while rest < 0.1 && digits < 300 {
        (digits, rest) = (digits + 1, 10.0 * rest);
    }
    format!("{x:.digits$}").parse().unwrap_or(x)
}

impl KnownParameterCounts {
    fn row(&mut self, at: u64, width: usize) -> Option<usize> {
        if let Some(&row) = self.rows.get(&at) {
            return Some(row as usize);
        }
        let row = self.log_e.len();
        if row == MOST_ROWS {
            return None;
        }
        self.rows.insert(at, row as u32);
        self.log_e.push(0.0);
        self.counts.resize(self.counts.len() + width, 0.0);
        Some(row)
    }

    /// Lower bound on ln of the e-value, after the last informative step.
    pub(super) fn log_e(&self) -> f64 {
        self.now
    }

    /// Whether saved numbers have the shape of this table and are possible after these steps.
    pub(super) fn is_of(&self, knowledge: &KnownParameters, steps: f64) -> bool {
        let n = self.rows.len();
        let mut positions: Vec<u32> = self.rows.values().copied().collect();
        positions.sort_unstable();
        n <= MOST_ROWS
            && positions.iter().enumerate().all(|(i, &p)| p as usize == i)
            && self.rows.keys().all(|&at| (at as usize) < knowledge.n_rows)
            && self.counts.len() == n * knowledge.width()
            && self.log_e.len() == n
            && self.counts.iter().all(|x| x.abs() <= steps)
            && (knowledge.n_values == 0 || self.counts.iter().all(|x| *x >= 0.0))
            && self
                .log_e
                .iter()
                .chain([&self.product, &self.now])
                .all(|x| x.abs() <= (MOST_GAIN + 50.0) * (steps + 1.0))
    }
}
