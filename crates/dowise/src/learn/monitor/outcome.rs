//! One monitored outcome: its rows, the statistics of each claim about it, and the update by a step.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::MOST_ROWS;
use super::claims::{Claimed, MOST_GROUPS, Outcome, group, row_of, share};
use super::e_process::{EProcess, log_mean};
use super::known_parameters::{KnownParameterCounts, KnownParameters};
use crate::learn::Knowledge;
use crate::learn::observation::Observation;

/// One outcome with its rows and claims.
#[derive(Clone, Debug)]
pub(super) struct Watched {
    pub(super) claimed: Claimed,
    /// Number of binary questions about it: one for two values or a reward, otherwise one for each group of values.
    pub(super) n_parts: usize,
    /// Numbers of groups of the variables that should not matter.
    pub(super) n_groups: Vec<usize>,
    /// Its known parameters.
    pub(super) known: Option<KnownParameters>,
    pub(super) numbers: Numbers,
}

/// Sufficient statistics of an outcome, as saved.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Numbers {
    /// Position of each visited row.
    pub(super) rows: BTreeMap<u64, u32>,
    pub(super) visits: Vec<f64>,
    /// Sum of each part, `[row][part]`.
    pub(super) sums: Vec<f64>,
    pub(super) claims: Vec<ClaimNumbers>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "told")]
    pub(super) known: Option<KnownParameterCounts>,
}

/// Sufficient statistics of a claim.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ClaimNumbers {
    /// Visits of each group, `[row][group]`.
    pub(super) groups: Vec<f64>,
    /// One for each part.
    pub(super) bets: Vec<EProcess>,
}

/// An outcome in the present step: its row, value and expectation.
#[derive(Clone, Debug, Default)]
pub(super) struct Now {
    pub(super) row: Option<usize>,
    pub(super) group: usize,
    pub(super) parts: Vec<f64>,
    pub(super) expected: Vec<f64>,
    /// The observed reward, if it is outside the range.
    pub(super) beyond: Option<f64>,
}

impl Watched {
    pub(super) fn new(knowledge: &Knowledge, claimed: Claimed) -> Watched {
        let n_parts = match claimed.n_values {
            2 => 1,
            n => n.min(MOST_GROUPS),
        };
        let n_groups: Vec<usize> = claimed.others.iter().map(|other| other.n_groups(knowledge.world())).collect();
        let of_claim = |&n: &usize| ClaimNumbers { groups: Vec::new(), bets: vec![EProcess::new(n); n_parts] };
        let claims = n_groups.iter().map(of_claim).collect();
        let of = KnownParameters::of(knowledge.world(), &claimed);
        let numbers =
            Numbers { claims, known: of.as_ref().map(|_| KnownParameterCounts::default()), ..Numbers::default() };
        Watched { claimed, n_parts, n_groups, known: of, numbers }
    }

    /// Computes the row, value and expectation of the outcome in a step.
    pub(super) fn look(&mut self, knowledge: &Knowledge, observation: &Observation<'_>, now: &mut Now) {
        (now.row, now.beyond) = (None, None);
        let Claimed { outcome, ref scope, ref next, n_values, .. } = self.claimed;
        if let Outcome::Paid(term) = outcome {
            let paid = observation.rewards[term];
            match share(paid, knowledge.rewards()[term].range) {
                _ if paid.is_nan() => return,
                Ok(share) => now.parts[0] = share,
                Err(paid) => {
                    now.beyond = Some(paid);
                    return;
                }
            }
        }
        if !self.claimed.counts(knowledge, observation) {
            return;
        }
        let Some(at) = row_of(knowledge, observation, scope, next) else { return };
        if !matches!(outcome, Outcome::Paid(_)) {
            let Some(value) = outcome.value(knowledge, observation) else { return };
            now.group = group(value, n_values);
            match self.n_parts {
                1 => now.parts[0] = now.group as f64,
                _ => now.parts.iter_mut().enumerate().for_each(|(v, part)| *part = f64::from(u8::from(v == now.group))),
            }
        }
        let Some(row) = self.row(at) else { return };
        now.row = Some(row);
        if let Outcome::Next(_) = outcome {
            let (n, sums) = (self.numbers.visits[row], &self.numbers.sums[row * self.n_parts..][..self.n_parts]);
            now.expected.clear();
            if self.n_parts == 1 {
                let p = (sums[0] + 0.5) / (n + 1.0);
                now.expected.extend([1.0 - p, p]);
            } else {
                now.expected.extend(sums.iter().map(|sum| (sum + 0.5) / (n + 0.5 * self.n_parts as f64)));
            }
        }
    }

    /// Position of a row; `None` for a new one if the limit of monitored rows is reached.
    fn row(&mut self, at: u64) -> Option<usize> {
        let Numbers { rows, visits, sums, claims, .. } = &mut self.numbers;
        if let Some(&row) = rows.get(&at) {
            return Some(row as usize);
        }
        let row = visits.len();
        if row == MOST_ROWS {
            return None;
        }
        rows.insert(at, row as u32);
        visits.push(0.0);
        sums.resize(sums.len() + self.n_parts, 0.0);
        for (numbers, n_groups) in claims.iter_mut().zip(&self.n_groups) {
            numbers.groups.resize(numbers.groups.len() + n_groups, 0.0);
            numbers.bets.iter_mut().for_each(EProcess::add_row);
        }
        Some(row)
    }

    /// The reported claim if one of them is contradicted. A missing edge also makes known parameters look wrong, so
    /// these are reported only if no variable is suspected.
    pub(super) fn named(&self, bar: f64) -> usize {
        let of_known = self.numbers.known.as_ref().map_or(f64::NEG_INFINITY, KnownParameterCounts::log_e);
        let most = self.numbers.claims.iter().map(ClaimNumbers::log_e).fold(f64::NEG_INFINITY, f64::max);
        if of_known >= bar && most < 0.5 * bar { self.n_groups.len() } else { self.best() }
    }

    /// The claim whose variable predicts the outcome best.
    fn best(&self) -> usize {
        let gain = |c: &ClaimNumbers| c.bets.iter().map(EProcess::gain).fold(f64::NEG_INFINITY, f64::max);
        let gains: Vec<f64> = self.numbers.claims.iter().map(gain).collect();
        (0..gains.len()).max_by(|&a, &b| gains[a].total_cmp(&gains[b])).unwrap_or(0)
    }

    /// Whether saved numbers have the shape of this outcome.
    pub(super) fn fits(&self, numbers: &Numbers) -> bool {
        let n_rows = numbers.rows.len();
        let mut positions: Vec<u32> = numbers.rows.values().copied().collect();
        positions.sort_unstable();
        let claim = |(of, &n): (&ClaimNumbers, &usize)| {
            of.groups.len() == n_rows * n && of.bets.len() == self.n_parts && of.bets.iter().all(|b| b.fits(n, n_rows))
        };
        n_rows <= MOST_ROWS
            && positions.iter().enumerate().all(|(i, &p)| p as usize == i)
            && numbers.visits.len() == n_rows
            && numbers.sums.len() == n_rows * self.n_parts
            && numbers.claims.len() == self.n_groups.len()
            && numbers.claims.iter().zip(&self.n_groups).all(claim)
    }
}

impl Numbers {
    /// Whether they are possible after this number of steps: visits are whole and add up, and no sum exceeds its
    /// visits.
    pub(super) fn is_plausible(&self, steps: f64) -> bool {
        let whole = |n: &f64| *n >= 0.0 && *n <= steps && n.fract() == 0.0;
        // Sums of shares are rounded.
        let most = |n: f64| n * (1.0 + 1e-9);
        let n_parts = self.sums.len() / self.visits.len().max(1);
        let of_row = |(row, &n): (usize, &f64)| {
            let sums = &self.sums[row * n_parts..][..n_parts];
            let claim = |c: &ClaimNumbers| {
                let n_groups = c.groups.len() / self.visits.len();
                let groups = &c.groups[row * n_groups..][..n_groups];
                groups.iter().all(whole) && groups.iter().sum::<f64>() <= n
            };
            n > 0.0
                && whole(&n)
                && sums.iter().all(|sum| (0.0..=most(n)).contains(sum))
                && self.claims.iter().all(claim)
        };
        self.visits.iter().enumerate().all(of_row)
            && self.visits.iter().sum::<f64>() <= steps
            && self.claims.iter().flat_map(|c| &c.bets).all(|bet| bet.is_plausible(steps))
    }
}

impl ClaimNumbers {
    /// ln of the e-value: all bets share the stake equally.
    pub(super) fn log_e(&self) -> f64 {
        log_mean(self.bets.iter().flat_map(EProcess::log_e))
    }
}
