//! What a log says of a declared graph: each claim with its p-value, and the verdict.

use serde::Serialize;

use super::effect::Effect;
use crate::offline::MissingnessTest;

/// What a log says of a declared graph.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GraphReport {
    /// A true graph is contradicted with at most this probability.
    pub level: f64,
    /// Episodes read.
    pub episodes: u64,
    /// Steps read.
    pub steps: u64,
    /// Steps with a cell missing that some claim needed.
    pub incomplete_steps: u64,
    /// Claims that were tested, the most doubtful first.
    pub tested: Vec<Tested>,
    /// Claims of the graph about which this log says nothing.
    pub untested: Vec<Untested>,
    /// Whether what is missing depends on what followed. No part of the verdict: it is no promise of the graph.
    pub missingness: Vec<MissingnessTest>,
}

/// One implied independence, tested.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tested {
    /// Such as `next loyalty ⊥ subject | loyalty, opened, price`.
    pub claim: String,
    /// What it means for the graph if the claim is wrong.
    pub meaning: String,
    /// How often permutations are as far from independence, if the claim is true.
    pub p: f64,
    /// Holm's: the least level at which the claim is contradicted while all claims together keep that level.
    pub adjusted_p: f64,
    /// Whether p comes from permutations drawn, and not from the moments of all permutations.
    pub drawn: bool,
    /// Rows in which both sides vary, and their visits.
    pub rows: usize,
    /// See `rows`.
    pub visits: u64,
    /// Steps left out because a cell was missing.
    pub missing: u64,
    /// How large the dependence is.
    pub effect: Effect,
}

/// One implied independence about which a log says nothing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Untested {
    /// Such as `next purse ⊥ subject | purse`.
    pub claim: String,
    /// Why.
    pub why: String,
    /// Visits of rows in which both sides vary.
    pub visits: u64,
    /// Steps left out because a cell was missing.
    pub missing: u64,
}

impl GraphReport {
    /// Claims that are contradicted at the level, the most doubtful first.
    pub fn contradictions(&self) -> &[Tested] {
        let n = self.tested.iter().take_while(|t| t.adjusted_p <= self.level).count();
        &self.tested[..n]
    }

    /// Whether the graph is contradicted at the level.
    pub fn is_contradicted(&self) -> bool {
        !self.contradictions().is_empty()
    }

    /// One sentence.
    pub fn verdict(&self) -> String {
        let (level, n) = (self.level, self.tested.len());
        match self.contradictions() {
            [] if n == 0 => "nothing could be tested: the log says too little about this graph".to_owned(),
            [] => format!("not contradicted at level {level}: none of {n} implied independences fails"),
            [one] => format!("contradicted at level {level}: {}", one.meaning),
            several => format!("contradicted at level {level}: {} of {n} implied independences fail", several.len()),
        }
    }
}

/// Holm's adjusted p-values: with p sorted, max over earlier ones of (tests left) · p, at most 1.
pub(super) fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]).then(a.cmp(&b)));
    let mut adjusted = vec![0.0; p.len()];
    let mut most = 0.0f64;
    for (rank, &i) in order.iter().enumerate() {
        most = most.max((p.len() - rank) as f64 * p[i]).min(1.0);
        adjusted[i] = most;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holm_multiplies_by_the_tests_that_are_left() {
        assert_eq!(holm(&[0.25, 0.01, 0.02]), [0.25, 0.03, 0.04]);
        assert_eq!(holm(&[0.5, 0.9]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
        // A later one is never below an earlier one.
        assert_eq!(holm(&[0.0101, 0.01]), [0.02, 0.02]);
    }
}
