//! Summary of a log without its steps: the sufficient statistics for a model and a plan.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::assumptions::{AssumptionRecord, Declared, of_summary};
use super::evaluate::{moments, possible};
use super::fit::{Completed, Incomplete};
use super::unrecorded::Unrecorded;
use super::{GraphCheck, MissingnessTest, PropensityTest};
use crate::learn::{Evidence, Knowledge, NextStateRewards};

/// Summary of a log without its steps.
///
/// Evidence alone is a summary: then next-state terms are estimated by their means, EM imputes nothing, and there are
/// no returns to compare a plan with.
#[derive(Clone, Debug)]
pub struct LogSummary {
    pub(crate) evidence: Evidence,
    /// Payments of next-state reward terms by next values; `None` if they were not counted.
    pub(crate) next_state_rewards: Option<Arc<NextStateRewards>>,
    /// Steps with missing key variables, if EM is to impute them.
    pub(crate) incomplete: Option<Incomplete>,
    pub(crate) returns: Option<ReturnSums>,
    /// Missing payments and next states, by row; `None` if they were not counted.
    pub(crate) unrecorded: Option<Arc<Unrecorded>>,
    /// Missingness tests.
    pub(crate) missingness: Vec<MissingnessTest>,
    /// Result of the graph test; `None` if it was not run.
    pub(crate) graph: Option<GraphCheck>,
    /// Result of the sample-ratio test; `None` if there are no propensities.
    pub(crate) propensities: Option<PropensityTest>,
    /// Statements about the log that its rows do not contain.
    pub(crate) declared: Declared,
}

impl LogSummary {
    /// A summary of evidence and next-state rewards.
    pub(crate) fn new(evidence: Evidence, next_state_rewards: Option<Arc<NextStateRewards>>) -> LogSummary {
        LogSummary {
            evidence,
            next_state_rewards,
            incomplete: None,
            returns: None,
            unrecorded: None,
            missingness: Vec::new(),
            graph: None,
            propensities: None,
            declared: Declared::default(),
        }
    }

    /// The evidence.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// The assumptions that answers from the summary rest on, and whether the log contradicts them.
    pub fn assumptions(&self) -> AssumptionRecord {
        of_summary(self, false)
    }

    /// One missingness test for each variable and payment that is missing in some steps.
    pub fn missingness(&self) -> &[MissingnessTest] {
        &self.missingness
    }

    /// The log with missing key variables imputed this many times, if EM is to impute any.
    pub(crate) fn completed(&self, prior: f64, n: usize, seed: u64) -> Option<Completed> {
        let incomplete = self.incomplete.as_ref().filter(|incomplete| !incomplete.is_empty())?;
        Some(incomplete.complete(&self.evidence, prior, n, seed))
    }
}

impl From<Evidence> for LogSummary {
    fn from(evidence: Evidence) -> LogSummary {
        LogSummary::new(evidence, None)
    }
}

/// Number, mean and variance (divided by n − 1) of a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Moments {
    pub(crate) n: f64,
    pub(crate) mean: f64,
    pub(crate) variance: f64,
}

impl Moments {
    fn of(numbers: impl Iterator<Item = (f64, u32)> + Clone) -> Moments {
        let (n, mean, variance) = moments(numbers);
        Moments { n, mean, variance }
    }

    /// Adds a number with this multiplicity.
    fn add(&mut self, x: f64, weight: u32) {
        let (before, weight) = (self.n, f64::from(weight));
        if weight == 0.0 {
            return;
        }
        let squares = self.variance * (before - 1.0).max(0.0);
        self.n += weight;
        let off = x - self.mean;
        self.mean += off * weight / self.n;
        let squares = squares + weight * off * (x - self.mean);
        self.variance = if self.n > 1.0 { squares / (self.n - 1.0) } else { 0.0 };
    }

    fn is_right(&self) -> bool {
        self.n >= 0.0 && self.variance >= 0.0 && [self.n, self.mean, self.variance].iter().all(|x| x.is_finite())
    }
}

/// Moments of the lower bounds, upper bounds and midpoints of logged returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ReturnSums {
    pub(crate) least: Moments,
    pub(crate) most: Moments,
    pub(crate) middle: Moments,
    /// Episodes with an unknown payment.
    pub(crate) incomplete: f64,
    /// Whether episodes may be shorter than the horizon.
    pub(crate) ends_early: bool,
}

impl ReturnSums {
    /// From the bounds, multiplicity and completeness of each episode.
    pub(crate) fn of(episodes: impl Iterator<Item = ([f64; 2], u32, bool)> + Clone, ends_early: bool) -> ReturnSums {
        let lacking = |e: &([f64; 2], u32, bool)| if e.2 { 0.0 } else { f64::from(e.1) };
        ReturnSums {
            least: Moments::of(episodes.clone().map(|(bounds, weight, _)| (bounds[0], weight))),
            most: Moments::of(episodes.clone().map(|(bounds, weight, _)| (bounds[1], weight))),
            middle: Moments::of(episodes.clone().map(|(bounds, weight, _)| (middle(bounds), weight))),
            incomplete: episodes.map(|e| lacking(&e)).sum(),
            ends_early,
        }
    }

    /// Adds an episode whose return lies between the bounds, with this multiplicity.
    pub(crate) fn add(&mut self, [least, most]: [f64; 2], weight: u32, is_complete: bool) {
        self.least.add(least, weight);
        self.most.add(most, weight);
        self.middle.add(middle([least, most]), weight);
        self.incomplete += if is_complete { 0.0 } else { f64::from(weight) };
    }

    /// Why a log of this many steps cannot have these moments; `None` if it can.
    pub(crate) fn wrong(&self, knowledge: &Knowledge, steps: u64) -> Option<String> {
        let all = [self.least, self.most, self.middle];
        let consistent = all.iter().all(Moments::is_right)
            && self.least.n == self.most.n
            && self.least.n == self.middle.n
            && self.least.mean <= self.most.mean
            && (0.0..=self.least.n).contains(&self.incomplete);
        if !consistent {
            return Some("it cannot have been counted in this world".to_owned());
        }
        // Every step of a complete episode has an intervention.
        let complete = self.middle.n - self.incomplete;
        if complete > steps as f64 {
            return Some(format!("{complete} complete episodes cannot have had {steps} steps in all"));
        }
        let [low, high] = possible(knowledge, if self.ends_early { 1 } else { knowledge.horizon() });
        let (range, n) = (high - low, self.middle.n);
        // Tolerance for rounding of sums.
        let slack = 1e-9 * (range + low.abs().max(high.abs()));
        let out = all.iter().find(|of| of.n > 0.0 && !(low - slack..=high + slack).contains(&of.mean));
        if let Some(of) = out {
            return Some(format!(
                "an episode brings between {low} and {high} here, and their mean is said to be {}",
                of.mean
            ));
        }
        let most = 0.25 * range * range * if n > 1.0 { n / (n - 1.0) } else { 1.0 };
        let wide = all.iter().find(|of| of.variance > most * (1.0 + 1e-9) + slack * slack);
        wide.map(|of| {
            format!(
                "numbers between {low} and {high} have a variance of at most {most}, and theirs is said to be {}",
                of.variance
            )
        })
    }
}

fn middle([least, most]: [f64; 2]) -> f64 {
    0.5 * (least + most)
}
