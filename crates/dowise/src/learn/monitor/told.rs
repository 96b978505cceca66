//! Whether numbers that were told are right: for every row of a told table an e-process that grows where what was seen fits others better.
//!
//! Visits of a row have, by what was told, the probabilities p. The Krichevsky-Trofimov mixture of all distributions gives the next
//! value the probability (n_v + ½) / (n + K/2); the product of its ratios to p has mean 1 at every step if p is right. For a told mean m
//! of payments scaled to [0, 1], 1 + c (y − m) has mean 1 for any c that is fixed before. Rows are joined in two ways that share
//! the stake: the product over all rows, and the mean over all rows. `docs/guarantees.md` has the proof.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::claims::Outcome;
use super::{MISSING, MOST_ROWS};
use crate::learn::Knowledge;
use crate::learn::observation::Observation;
use crate::math::ln;
use crate::world::{Kind, VarId, World};

/// Most that one step adds to the logarithm of an e-value: what was told to be impossible may be seen again and again.
const MOST_GAIN: f64 = 300.0;

/// Squares of residuals that a bet on payments is drawn to zero with.
const SHRINK: f64 = 1.0;

/// Largest bet on payments.
const MOST_BET: f64 = 0.9;

/// A table that was told.
#[derive(Clone, Debug)]
pub(super) struct Told {
    outcome: Outcome,
    scope: Vec<VarId>,
    sizes: Vec<usize>,
    /// Values of the outcome; none where it is a payment.
    n_values: usize,
    /// `[row][value]`, or the mean of a row as a share of the range.
    table: Arc<[f64]>,
    n_rows: usize,
}

/// What was counted of it, as it is saved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ToldNumbers {
    rows: BTreeMap<u64, u32>,
    /// `[row]`: visits of each value; for payments the sums of what was paid, of residuals, of their squares, and visits.
    counts: Vec<f64>,
    log_e: Vec<f64>,
    /// ln of the product over all rows.
    product: f64,
    /// ln of the greatest that the mean over rows, or the product, was known to be.
    now: f64,
}

impl Told {
    /// The told table of an outcome, if there is one whose rows are seen.
    pub(super) fn of(world: &World, outcome: Outcome) -> Option<Told> {
        let (scope, table, n_values) = match outcome {
            Outcome::Next(i) => {
                let transition = world.transitions().get(i)?;
                let is_clock = world.clock() == Some(world.state()[i]);
                let table = transition.table.clone().filter(|_| !is_clock)?;
                (transition.parents.clone(), table, world.variable(world.state()[i]).size())
            }
            Outcome::Key(id) => {
                let id = VarId(id);
                let mechanism = world.mechanisms().iter().find(|m| m.children.contains(&id))?;
                let (table, n) = (mechanism.table.as_deref()?, world.variable(id).size());
                let sizes = world.sizes(&mechanism.children);
                let place = mechanism.children.iter().position(|c| *c == id)?;
                let inner: usize = sizes[place + 1..].iter().product();
                let width: usize = sizes.iter().product();
                // One of several children: what the joint table says of it alone.
                let of_row = |row: &[f64]| {
                    let mut out = vec![0.0; n];
                    row.iter().enumerate().for_each(|(v, p)| out[v / inner % n] += p);
                    out
                };
                (mechanism.parents.clone(), table.chunks_exact(width).flat_map(of_row).collect(), n)
            }
            Outcome::Paid(i) => {
                let term = world.rewards().get(i).filter(|term| term.next.is_empty())?;
                let ([lo, hi], table) = (term.range, term.table.as_deref()?);
                let share = |x: &f64| ((x - lo) / (hi - lo)).clamp(0.0, 1.0);
                (term.scope.clone(), table.iter().map(share).collect(), 0)
            }
        };
        let seen = scope.iter().all(|id| world.variable(*id).kind != Kind::Hidden);
        let sizes = world.sizes(&scope);
        let n_rows = table.len() / n_values.max(1);
        seen.then_some(Told { outcome, scope, sizes, n_values, table, n_rows })
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

    /// Takes in a step; `ln` of the e-value after it, at least, or nothing if the step says nothing about it.
    pub(super) fn observe(
        &self,
        numbers: &mut ToldNumbers,
        told: &Knowledge,
        observation: &Observation<'_>,
    ) -> Option<f64> {
        let mut at = 0usize;
        for (id, size) in self.scope.iter().zip(&self.sizes) {
            let value = observation.values[id.ix()];
            if value == MISSING {
                return None;
            }
            at = at * size + value as usize;
        }
        let seen = match self.outcome {
            Outcome::Next(i) => told.state_space().digit(observation.next_state?, i) as f64,
            Outcome::Key(id) => Some(observation.values[usize::from(id)]).filter(|&v| v != MISSING)?.into(),
            Outcome::Paid(term) => {
                let ([lo, hi], paid) = (told.rewards()[term].range, observation.rewards[term]);
                (!paid.is_nan()).then(|| ((paid - lo) / (hi - lo)).clamp(0.0, 1.0))?
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

    /// The row that is contradicted most, in words: where it is, what was told, and what was seen.
    pub(super) fn words(&self, numbers: &ToldNumbers, world: &World) -> Option<(String, f64)> {
        let (at, row) = numbers
            .rows
            .iter()
            .max_by(|a, b| numbers.log_e[*a.1 as usize].total_cmp(&numbers.log_e[*b.1 as usize]))
            .map(|(&at, &row)| (at as usize, row as usize))?;
        let counts = &numbers.counts[row * self.width()..][..self.width()];
        let mut rest = at;
        let mut given: Vec<String> = Vec::new();
        for (&id, size) in self.scope.iter().zip(&self.sizes).rev() {
            given.push(format!("{} = {}", world.variable(id).name, world.variable(id).values[rest % size]));
            rest /= size;
        }
        given.reverse();
        let given = if given.is_empty() { String::new() } else { format!(" where {}", given.join(", ")) };
        let name = self.outcome.name(world);
        if self.n_values == 0 {
            let (told, seen) = (self.table[at], counts[0] / counts[3].max(1.0));
            let Outcome::Paid(term) = self.outcome else { return None };
            let [lo, hi] = world.rewards()[term].range;
            let amount = |share: f64| (1e4 * (lo + (hi - lo) * share)).round() / 1e4;
            let what = format!("{name} was told to pay {}{given} and paid {} on average", amount(told), amount(seen));
            return Some((format!("{what} of {} times", counts[3]), seen - told));
        }
        let n = counts.iter().sum::<f64>().max(1.0);
        let away = |v: usize| counts[v] / n - self.table[at * self.n_values + v];
        let worst = (0..self.n_values).max_by(|&a, &b| away(a).abs().total_cmp(&away(b).abs()))?;
        let id = match self.outcome {
            Outcome::Next(i) => world.state()[i],
            Outcome::Key(id) => VarId(id),
            Outcome::Paid(_) => return None,
        };
        let value = &world.variable(id).values[worst];
        let told = self.table[at * self.n_values + worst];
        let what = format!(
            "P({name} = {value}) was told to be {told:.2}{given} and it was so in {:.2} of {n} times",
            told + away(worst)
        );
        Some((what, away(worst)))
    }
}

impl ToldNumbers {
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

    /// ln of the e-value, at least, after the last step that said something.
    pub(super) fn log_e(&self) -> f64 {
        self.now
    }

    /// Whether saved numbers have the shape of this table and can have come about in these steps.
    pub(super) fn is_of(&self, told: &Told, steps: f64) -> bool {
        let n = self.rows.len();
        let mut positions: Vec<u32> = self.rows.values().copied().collect();
        positions.sort_unstable();
        n <= MOST_ROWS
            && positions.iter().enumerate().all(|(i, &p)| p as usize == i)
            && self.rows.keys().all(|&at| (at as usize) < told.n_rows)
            && self.counts.len() == n * told.width()
            && self.log_e.len() == n
            && self.counts.iter().all(|x| x.abs() <= steps)
            && (told.n_values == 0 || self.counts.iter().all(|x| *x >= 0.0))
            && self
                .log_e
                .iter()
                .chain([&self.product, &self.now])
                .all(|x| x.abs() <= (MOST_GAIN + 50.0) * (steps + 1.0))
    }
}
