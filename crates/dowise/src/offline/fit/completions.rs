//! Multiple imputation of missing key variables by data augmentation: the posterior given an incomplete log.
//!
//! Data augmentation (Tanner and Wong, 1987) alternates two draws: all tables θ from their posterior given a completed
//! log, and every missing value from P(z | rest of the step, θ). It converges to draws of θ and of the missing values
//! given the recorded data. Valid if values are missing at random given the recorded step, s′ included.

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::em::{Case, Fitted, Incomplete, Tables};
use super::tables::{Rule, Tallies};
use crate::learn::Evidence;
use crate::random::splitmix64;

/// Burn-in sweeps, starting from the EM solution.
const BEFORE: usize = 30;
/// Sweeps between two kept imputations.
const APART: usize = 5;

/// A log with imputed values.
#[derive(Clone, Debug)]
pub(crate) struct Completed {
    /// EM expectations, rounded to whole counts.
    pub(crate) mean: Evidence,
    /// Imputations.
    pub(crate) draws: Vec<Evidence>,
    /// For each pattern of [`Incomplete`], the joint key values of its imputations with their EM probabilities; empty
    /// if they stay unknown.
    pub(crate) causes: Vec<Vec<(u32, f64)>>,
}

impl Incomplete {
    /// The log with EM expectations, and with n imputations.
    ///
    /// # Cost
    /// EM, and [`BEFORE`] + [`APART`] · n times a draw of all tables and a pass over the missingness patterns.
    pub(crate) fn complete(&self, evidence: &Evidence, prior: f64, n: usize, seed: u64) -> Completed {
        let rule = Rule { prior, level: 0.95 };
        let mut tallies = Tallies::of(evidence);
        self.expect(evidence, &mut tallies, rule);
        let tables = Tables::new(evidence, rule);
        let cases = self.cases(&tables);
        let now = tables.fit(&tallies.all());
        let mean = with_expected(evidence, &tables, &tallies.all());
        let draws = self.draws(evidence, &tallies, rule, n, seed);
        let mut causes = vec![Vec::new(); self.n_patterns()];
        cases.iter().for_each(|(id, case)| causes[*id] = causes_of(case, &tables, &now));
        Completed { mean, draws, causes }
    }

    /// n imputations, starting from the EM expectations.
    pub(super) fn draws(
        &self,
        evidence: &Evidence,
        expected: &Tallies,
        rule: Rule,
        n: usize,
        seed: u64,
    ) -> Vec<Evidence> {
        let tables = Tables::new(evidence, rule);
        let cases = self.cases(&tables);
        let mut rng = ChaCha8Rng::seed_from_u64(splitmix64(seed ^ 0x636f_6d70));
        let (mut current, mut draws) = (with_expected(evidence, &tables, &expected.all()), Vec::with_capacity(n));
        for turn in 1..=BEFORE + APART * n {
            let now = tables.draw(&current, &mut rng);
            current = evidence.clone();
            cases.iter().for_each(|(_, case)| fill(case, &tables, &now, &mut current, &mut rng));
            if turn > BEFORE && (turn - BEFORE).is_multiple_of(APART) {
                draws.push(current.clone());
            }
        }
        draws
    }
}

/// Adds expected counts in whole numbers. Rounds cumulative sums along a table instead of cells, so that no visit is
/// lost.
fn with_expected(evidence: &Evidence, tables: &Tables<'_>, expected: &[Vec<f64>]) -> Evidence {
    let mut out = evidence.clone();
    for (table, counts) in expected.iter().enumerate().filter(|(table, _)| tables.is_learned(*table)) {
        let (mut sum, mut given) = (0.0f64, 0.0);
        for (cell, n) in counts.iter().enumerate() {
            sum += n - f64::from(tables.counted(evidence, table).n_rv[cell]);
            let more = (sum - given).round().max(0.0);
            given += more;
            tables.counted_mut(&mut out, table).add_cell(cell, more as u32);
        }
    }
    out
}

/// Unnormalised probabilities of the joint missing values of a case.
fn weights(case: &Case<'_>, tables: &Tables<'_>, now: &Fitted) -> Vec<f64> {
    let weight = |joint: usize| -> f64 {
        let values = case.filled(joint);
        let of = |open| now.tables[tables.table_of(open)].get(tables.cell(open, &values)).copied().unwrap_or(0.0);
        case.open.iter().map(of).product()
    };
    (0..case.joint.len()).map(weight).collect()
}

fn causes_of(case: &Case<'_>, tables: &Tables<'_>, now: &Fitted) -> Vec<(u32, f64)> {
    let weights = weights(case, tables, now);
    let total: f64 = weights.iter().sum();
    let mut out: Vec<(u32, f64)> = Vec::new();
    for (joint, weight) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
        let Some(cause) = tables.cause(&case.filled(joint)) else { return Vec::new() };
        match out.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, p)) => *p += weight / total,
            None => out.push((cause, weight / total)),
        }
    }
    out
}

/// Draws the missing values of a case's steps, and counts them.
fn fill(case: &Case<'_>, tables: &Tables<'_>, now: &Fitted, out: &mut Evidence, rng: &mut impl Rng) {
    let weights = weights(case, tables, now);
    let total: f64 = weights.iter().sum();
    if total <= 0.0 {
        // Kept tables give this step probability zero.
        return;
    }
    let mut times = vec![0u32; weights.len()];
    for _ in 0..case.times as u64 {
        let mut left = rng.random::<f64>() * total;
        let drawn = weights.iter().position(|w| {
            left -= w;
            left < 0.0
        });
        times[drawn.unwrap_or(weights.len() - 1)] += 1;
    }
    for (joint, &times) in times.iter().enumerate().filter(|(_, n)| **n > 0) {
        let values = case.filled(joint);
        for open in case.open.iter().filter(|open| tables.is_learned(tables.table_of(open))) {
            let cell = tables.cell(open, &values);
            tables.counted_mut(out, tables.table_of(open)).add_cell(cell, times);
        }
    }
}
