//! Propensities against frequencies: whether interventions occur as often as the log says (sample-ratio test).
//!
//! In a state, every intervention a is compared with its propensity p(a):
//!
//! * If the propensities of the logged interventions are constant and sum to 1, the number of steps with a is binomial,
//!   and both tails are exact. States are compared as a whole, else by stage, else by `randomised`. A policy that comes
//!   back to the state within an episode makes the number of steps random, which matters little.
//! * Otherwise Y = 1{a} / p has a mean of at most 1 in every step, whatever happened before. Then Π (1 + λ (Y − 1)) is
//!   a nonnegative supermartingale for 0 < λ < 1, and by Markov's inequality it exceeds 1/α with probability at most α.
//!   The mean over several λ bounds the p-value. If some interventions are rarer than their propensities say, others
//!   are more frequent, so one side suffices.
//!
//! The smallest p-value is multiplied by the number of comparisons (Bonferroni), those without a result included: which
//! of them have one depends on the log.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::data::LogStep;
use crate::learn::Knowledge;
use crate::math::{exp, ln, ln_gamma, powi};
use crate::world::Action;

/// Level at which propensities are rejected.
const LEVEL: f64 = 0.001;

/// Relative difference of a propensity that is taken for rounding, such as 0.33 for 1/3.
const ROUNDING: f64 = 0.02;

/// Tolerance on the sum of the propensities of a state.
const COMPLETE: f64 = 0.01;

/// Relative difference up to which propensities of an intervention count as the same.
const SAME: f64 = 1e-3;

/// Steps with propensities below which their frequencies say too little.
const FEW_STEPS: u64 = 20;

/// Bets λ of the supermartingales: 1/2, 1/4, ….
const BETS: usize = 8;

/// Result of the sample-ratio test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PropensityTest {
    /// Steps with a propensity, by their weights.
    pub steps: u64,
    /// Frequencies compared: interventions in states.
    pub compared: usize,
    /// p-value, adjusted for all comparisons; 1 if nothing was compared.
    pub p: f64,
    /// The clearest difference; `None` if nothing was compared.
    pub clearest: Option<PropensityMismatch>,
}

/// An intervention that occurs more or less often than its propensities say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PropensityMismatch {
    /// The state, and the stage if stages were compared one by one.
    pub place: String,
    /// The intervention.
    pub intervention: String,
    /// Steps there.
    pub steps: u64,
    /// Of these, steps with the intervention.
    pub found: u64,
    /// The number that propensities lead one to expect; `None` if they differ between steps.
    pub expected: Option<f64>,
}

impl PropensityTest {
    /// Whether there are enough steps to compare.
    pub fn is_tested(&self) -> bool {
        self.steps >= FEW_STEPS || self.is_contradicted()
    }

    /// Whether the log contradicts its propensities.
    pub fn is_contradicted(&self) -> bool {
        self.p < LEVEL
    }
}

/// Where interventions are counted: state, stage, whether the step was randomised, intervention.
type Place = (usize, usize, bool, Action);

/// Counts of interventions by state, stage and `randomised`, with their propensities.
#[derive(Clone, Debug)]
pub struct PropensityCounts {
    knowledge: Knowledge,
    cells: BTreeMap<Place, Cell>,
}

/// Steps with one intervention.
#[derive(Clone, Copy, Debug)]
struct Cell {
    n: u64,
    least: f64,
    greatest: f64,
    /// Σ ln(1 + λ (Y − 1)) for each bet.
    bets: [f64; BETS],
}

impl PropensityCounts {
    /// No counts yet.
    pub fn new(knowledge: &Knowledge) -> PropensityCounts {
        PropensityCounts { knowledge: knowledge.clone(), cells: BTreeMap::new() }
    }

    /// Counts a step with its weight, if it has an intervention and a propensity.
    pub fn add(&mut self, step: &LogStep<'_>) {
        let (Some(action), Some(p)) = (step.observation.action(), step.propensity) else { return };
        if step.weight == 0 || !(p > 0.0 && p <= 1.0) {
            return;
        }
        let seen = &step.observation;
        let place = (seen.state(), seen.stage(), step.randomised == Some(true), action);
        let new = Cell { n: 0, least: p, greatest: p, bets: [0.0; BETS] };
        let cell = self.cells.entry(place).or_insert(new);
        cell.n += u64::from(step.weight);
        (cell.least, cell.greatest) = (cell.least.min(p), cell.greatest.max(p));
        let ratio = 1.0 / (p * (1.0 + ROUNDING));
        for (sum, bet) in cell.bets.iter_mut().zip(bets()) {
            *sum += f64::from(step.weight) * ln(1.0 + bet * (ratio - 1.0));
        }
    }

    /// Compares the frequencies with the propensities.
    ///
    /// # Cost
    /// O(√n) for each intervention in each state, with n steps there.
    pub fn test(&self) -> PropensityTest {
        let cells: Vec<(Place, Cell)> = self.cells.iter().map(|(&place, &cell)| (place, cell)).collect();
        let mut found = Found { knowledge: &self.knowledge, comparisons: 0, compared: 0, least: None };
        for of_state in cells.chunk_by(|a, b| a.0.0 == b.0.0) {
            let mut left = Vec::new();
            found.exact(of_state, 0, &mut left);
            found.bet(&left);
        }
        let steps = cells.iter().map(|(_, cell)| cell.n).sum();
        let (p, clearest) = found.least.map_or((1.0, None), |(p, of)| (p, Some(of)));
        PropensityTest { steps, compared: found.compared, p: (p * found.comparisons as f64).min(1.0), clearest }
    }
}

fn bets() -> impl Iterator<Item = f64> {
    (1..=BETS as u32).map(|i| powi(0.5, i))
}

/// Results of all comparisons so far.
struct Found<'a> {
    knowledge: &'a Knowledge,
    /// Comparisons, those without a result included.
    comparisons: usize,
    compared: usize,
    least: Option<(f64, PropensityMismatch)>,
}

impl Found<'_> {
    /// Compares a group if its propensities are complete; otherwise its parts, finer and finer. Cells of incomplete
    /// groups are left.
    fn exact(&mut self, group: &[(Place, Cell)], finer: usize, left: &mut Vec<(Place, Cell)>) {
        let actions = by_action(group);
        self.comparisons += 2 * actions.len();
        if let Some(p) = complete(&actions) {
            let n: u64 = actions.iter().map(|(_, cell)| cell.n).sum();
            for ((action, cell), p) in actions.iter().zip(p) {
                self.compared += 1;
                let more = upper_tail(n, cell.n, (p * (1.0 + ROUNDING)).min(1.0));
                let fewer = upper_tail(n, n - cell.n, (1.0 - p / (1.0 + ROUNDING)).min(1.0));
                self.keep(more.min(fewer), group, *action, (n, cell.n, Some(p * n as f64)));
            }
            return;
        }
        let key = |&((_, stage, randomised, _), _): &(Place, Cell)| match finer {
            0 => (stage, false),
            _ => (stage, randomised),
        };
        if finer == 2 {
            left.extend_from_slice(group);
            return;
        }
        let mut parts: BTreeMap<(usize, bool), Vec<(Place, Cell)>> = BTreeMap::new();
        group.iter().for_each(|cell| parts.entry(key(cell)).or_default().push(*cell));
        parts.values().for_each(|part| self.exact(part, finer + 1, left));
    }

    /// Compares cells whose propensities are not complete.
    fn bet(&mut self, cells: &[(Place, Cell)]) {
        let actions = by_action(cells);
        let n: u64 = actions.iter().map(|(_, cell)| cell.n).sum();
        for (action, cell) in &actions {
            (self.comparisons, self.compared) = (self.comparisons + 1, self.compared + 1);
            let others = (n - cell.n) as f64;
            let logs = cell.bets.iter().zip(bets()).map(|(sum, bet)| sum + others * ln(1.0 - bet));
            let most = logs.fold(f64::NEG_INFINITY, f64::max);
            // The mean over bets is at least the greatest divided by their number.
            let p = exp((ln(BETS as f64) - most).min(0.0));
            self.keep(p, cells, *action, (n, cell.n, None));
        }
    }

    fn keep(&mut self, p: f64, group: &[(Place, Cell)], action: Action, (n, k, expected): (u64, u64, Option<f64>)) {
        if self.least.as_ref().is_some_and(|(least, _)| *least <= p) {
            return;
        }
        let world = self.knowledge.world();
        let (state, stage, _, _) = group[0].0;
        let one_stage = world.horizon() > 1 && group.iter().all(|(place, _)| place.1 == stage);
        let stage = if one_stage { format!(" at stage {}", stage + 1) } else { String::new() };
        let mismatch = PropensityMismatch {
            place: format!("{}{stage}", world.describe_state(state)),
            intervention: world.describe_intervention(action),
            steps: n,
            found: k,
            expected,
        };
        self.least = Some((p, mismatch));
    }
}

/// The cells of each intervention together.
fn by_action(cells: &[(Place, Cell)]) -> Vec<(Action, Cell)> {
    let mut out: BTreeMap<Action, Cell> = BTreeMap::new();
    for ((.., action), cell) in cells {
        out.entry(*action)
            .and_modify(|all| {
                all.n += cell.n;
                (all.least, all.greatest) = (all.least.min(cell.least), all.greatest.max(cell.greatest));
                all.bets.iter_mut().zip(cell.bets).for_each(|(sum, bet)| *sum += bet);
            })
            .or_insert(*cell);
    }
    out.into_iter().collect()
}

/// The propensities of a group, if each intervention has one and they sum to 1.
fn complete(actions: &[(Action, Cell)]) -> Option<Vec<f64>> {
    let constant = actions.iter().all(|(_, cell)| cell.greatest - cell.least <= SAME * cell.least);
    let total: f64 = actions.iter().map(|(_, cell)| cell.least).sum();
    (constant && (total - 1.0).abs() <= COMPLETE).then(|| actions.iter().map(|(_, c)| c.least / total).collect())
}

/// P(X ≥ k) for X binomial; 1 if k is at most its mean.
fn upper_tail(n: u64, k: u64, p: f64) -> f64 {
    let (n, k) = (n as f64, k as f64);
    if k <= n * p || p >= 1.0 {
        return 1.0;
    }
    if p <= 0.0 {
        return 0.0;
    }
    let choose = ln_gamma(n + 1.0) - ln_gamma(k + 1.0) - ln_gamma(n - k + 1.0);
    // The least number where n = k leaves no failure.
    let failures = if k < n { (n - k) * ln(1.0 - p) } else { 0.0 };
    let mut term = exp(choose + k * ln(p) + failures);
    let (mut sum, mut i) = (0.0, k);
    while term > 0.0 && i <= n {
        sum += term;
        if term < sum * 1e-16 {
            break;
        }
        term *= (n - i) / (i + 1.0) * p / (1.0 - p);
        i += 1.0;
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::upper_tail;

    #[test]
    fn the_tail_is_the_sum_of_the_binomial_probabilities() {
        for (n, p) in [(1u64, 0.3f64), (7, 0.5), (40, 0.05), (60, 0.9)] {
            let mut terms = vec![(1.0 - p).powi(n as i32)];
            for i in 0..n {
                terms.push(terms[i as usize] * (n - i) as f64 / (i + 1) as f64 * p / (1.0 - p));
            }
            for k in 0..=n {
                let plain: f64 = terms[k as usize..].iter().sum();
                let found = upper_tail(n, k, p);
                let expected = if k as f64 <= n as f64 * p { 1.0 } else { plain };
                assert!((found - expected).abs() < 1e-10 * expected, "{n} {p} {k}: {found} {expected}");
            }
        }
        // Far out, where a normal approximation is of no use.
        assert!((upper_tail(1000, 12, 0.001) / 7.865873023975423e-10 - 1.0).abs() < 1e-9);
        assert_eq!(upper_tail(5, 5, 1.0), 1.0);
    }
}
