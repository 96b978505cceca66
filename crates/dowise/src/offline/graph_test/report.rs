//! Report of a graph test: each claim with its p-value and effect size, and the verdict.

use serde::Serialize;

use super::effect::Effect;
use crate::offline::MissingnessTest;

/// Result of testing a declared graph against a log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GraphReport {
    /// A true graph is rejected with at most this probability.
    pub level: f64,
    /// Episodes read.
    pub episodes: u64,
    /// Steps read.
    pub steps: u64,
    /// Steps with a missing value that some claim needed.
    pub incomplete_steps: u64,
    /// Tested claims, smallest p-value first.
    pub tested: Vec<Tested>,
    /// Claims with too little data.
    pub untested: Vec<Untested>,
    /// Tested claims of the Markov property (an outcome and a variable of one of the two steps before), smallest p-value first.
    /// They are a family of their own: a true property is rejected with at most the probability `level`.
    pub markov: Vec<Tested>,
    /// Claims of the Markov property with too little data.
    pub markov_untested: Vec<Untested>,
    /// Tested claims of stationarity (an outcome and the time of its episode), smallest p-value first. They are a family
    /// of their own, too.
    pub stationarity: Vec<Tested>,
    /// Claims of stationarity with too little data.
    pub stationarity_untested: Vec<Untested>,
    /// Tested claims of no unmeasured confounding (an outcome, and whether the levers were set by a draw), smallest
    /// p-value first. They are a family of their own, too; empty unless some steps were randomised and others not.
    pub confounding: Vec<Tested>,
    /// Claims of no unmeasured confounding with too little data.
    pub confounding_untested: Vec<Untested>,
    /// Missingness tests. They do not affect the verdict, since the graph implies nothing about them.
    pub missingness: Vec<MissingnessTest>,
}

/// A tested conditional independence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tested {
    /// Such as `next loyalty ⊥ subject | loyalty, opened, price`.
    pub claim: String,
    /// The consequence for the graph if the claim is wrong.
    pub meaning: String,
    /// Permutation p-value.
    pub p: f64,
    /// Holm-adjusted p-value: the least family-wise level at which the claim is rejected.
    pub adjusted_p: f64,
    /// Whether p comes from sampled permutations rather than from permutation moments.
    pub drawn: bool,
    /// Rows in which both sides vary.
    pub rows: usize,
    /// Visits of these rows.
    pub visits: u64,
    /// Steps left out because of missing values.
    pub missing: u64,
    /// The difference in a probability that the test detects with a probability of 80 %.
    pub detectable: f64,
    /// Effect size.
    pub effect: Effect,
}

/// A conditional independence with too little data to test.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Untested {
    /// Such as `next purse ⊥ subject | purse`.
    pub claim: String,
    /// The reason.
    pub why: String,
    /// Visits of rows in which both sides vary.
    pub visits: u64,
    /// Steps left out because of missing values.
    pub missing: u64,
    /// Whether the outcome is the same in all visits of a row while the other side varies: nothing contradicts the
    /// claim, and there is nothing to compute a p-value from.
    pub outcome_is_constant: bool,
}

impl GraphReport {
    /// Claims about one step rejected at the level, smallest p-value first.
    pub fn contradictions(&self) -> &[Tested] {
        rejected(&self.tested, self.level)
    }

    /// Claims of the Markov property rejected at the level, smallest p-value first.
    pub fn markov_contradictions(&self) -> &[Tested] {
        rejected(&self.markov, self.level)
    }

    /// Claims of stationarity rejected at the level, smallest p-value first.
    pub fn stationarity_contradictions(&self) -> &[Tested] {
        rejected(&self.stationarity, self.level)
    }

    /// The verdict on stationarity in one sentence; `None` if nothing about it could be tested.
    pub fn stationarity_verdict(&self) -> Option<String> {
        let (n, level) = (self.stationarity.len(), self.level);
        match self.stationarity_contradictions() {
            [] if n == 0 => None,
            [] => {
                Some(format!("stationarity not contradicted at level {level}: none of {n} independences of time fails"))
            }
            [one, ..] => Some(format!("stationarity contradicted at level {level}: {}", one.meaning)),
        }
    }

    /// Claims of no unmeasured confounding rejected at the level, smallest p-value first.
    pub fn confounding_contradictions(&self) -> &[Tested] {
        rejected(&self.confounding, self.level)
    }

    /// The verdict on no unmeasured confounding in one sentence; `None` if nothing about it could be tested.
    pub fn confounding_verdict(&self) -> Option<String> {
        let (n, level) = (self.confounding.len(), self.level);
        match self.confounding_contradictions() {
            [] if n == 0 => None,
            [] => Some(format!(
                "no unmeasured confounding found at level {level}: none of {n} outcomes differs between randomised and other rows"
            )),
            [one, ..] => Some(format!("unmeasured confounding at level {level}: {}", one.meaning)),
        }
    }

    /// Whether the graph is rejected at the level.
    pub fn is_contradicted(&self) -> bool {
        !self.contradictions().is_empty()
    }

    /// The verdict on the Markov property in one sentence; `None` if nothing about it could be tested.
    pub fn markov_verdict(&self) -> Option<String> {
        let n = self.markov.len();
        let level = self.level;
        match self.markov_contradictions() {
            [] if n == 0 => None,
            [] => Some(format!("Markov property not contradicted at level {level}: none of {n} independences fails")),
            [one, ..] => Some(format!("Markov property contradicted at level {level}: {}", one.meaning)),
        }
    }

    /// The verdict in one sentence.
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

/// The claims rejected at a level, of claims sorted by p-value.
pub(crate) fn rejected(tested: &[Tested], level: f64) -> &[Tested] {
    &tested[..tested.iter().take_while(|t| t.adjusted_p <= level).count()]
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
        // Adjusted p-values are monotone.
        assert_eq!(holm(&[0.0101, 0.01]), [0.02, 0.02]);
    }
}
