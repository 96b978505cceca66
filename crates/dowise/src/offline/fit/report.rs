//! What a fit found: for every row its visits, mean and interval, and what the log could not say.

use serde::Serialize;

use super::confounded::Confounded;
use super::structure::Marginalised;
use crate::offline::{GraphCheck, MissingnessTest};

/// Everything that a fit found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FitReport {
    /// Steps of the log, each as often as its weight says.
    pub steps: u64,
    /// Episodes of the log.
    pub episodes: u64,
    /// Fingerprint of the evidence.
    pub evidence: String,
    /// Probability with which an interval holds.
    pub level: f64,
    /// What was fitted: transitions, mechanisms, rewards, then where episodes start.
    pub tables: Vec<FitTable>,
    /// What was not fitted because its numbers were to stay.
    pub kept: Vec<String>,
    /// Levers with a hidden cause in common with what they act on: nothing about those effects was fitted.
    pub confounded: Vec<Confounded>,
    /// Hidden variables that were marginalised out.
    pub marginalised: Vec<Marginalised>,
    /// What was not recorded, and in how many steps.
    pub missing: Vec<Missing>,
    /// Whether that depends on what the steps came to, for each variable and payment.
    pub missingness: Vec<MissingnessTest>,
    /// Whether the log contradicts the graph; `None` where steps came one by one and not in episodes.
    pub graph: Option<GraphCheck>,
    /// What the log cannot say, why, and what would settle it.
    pub open: Vec<OpenQuestion>,
    /// How the expectations over what is missing came out, where they were asked for.
    pub em: Option<EmReport>,
}

/// Something that was not recorded in some steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// Such as `key variable opened`.
    pub what: String,
    /// Steps without it.
    pub steps: u64,
}

/// Something that the log cannot say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OpenQuestion {
    /// What is not known.
    pub what: String,
    /// Why the log does not say it, and what stands in its place.
    pub why: String,
    /// What would settle it.
    pub experiment: String,
}

/// How an expectation-maximisation went.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EmReport {
    /// Steps in which something was missing and its expectation was used.
    pub steps: u64,
    /// Steps that were left out all the same: too many joint values of what is missing.
    pub left_out: u64,
    /// Log posterior density after each round, constants left out; it never falls.
    pub density: Vec<f64>,
}

/// What is fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FitPart {
    /// P(next value | scope) of a state factor.
    Transition,
    /// P(children | parents) within a step.
    Mechanism,
    /// A reward term.
    Reward,
    /// Where episodes start.
    Start,
}

/// Where intervals come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum IntervalKind {
    /// The Beta marginal of each row's posterior. Where a value was never seen it begins at 0, where nothing else was at 1.
    Beta,
    /// Laplace's approximation of the posterior of a form's parameters.
    Laplace,
}

/// One distribution or reward term with all of its rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FitTable {
    /// Such as `P(next loyalty | loyalty, opened, price)`.
    pub what: String,
    /// What kind of thing it is.
    pub part: FitPart,
    /// In which form it was fitted, such as `logit, through on_top`.
    pub form: String,
    /// Where its intervals come from.
    pub interval: IntervalKind,
    /// What its rows run over, the first slowest.
    pub given: Vec<FitAxis>,
    /// What each row has a number for: values, or `reward`.
    pub outcomes: Vec<String>,
    /// What the numbers lie between: 0 and 1, or the range of a reward term.
    pub range: [f64; 2],
    /// The rows.
    pub rows: Vec<FitRow>,
    /// What rows that were never seen take.
    pub unseen: String,
    /// Rows of states in which episodes have ended: no step can be there, and nothing has to be known of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<usize>,
}

/// A variable that rows run over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FitAxis {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: Vec<String>,
}

/// One row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FitRow {
    /// How often it was seen.
    pub visits: u64,
    /// The posterior mean of each outcome.
    pub mean: Vec<f64>,
    /// Lower ends of their intervals.
    pub low: Vec<f64>,
    /// Upper ends of their intervals.
    pub high: Vec<f64>,
}

impl FitRow {
    /// The widest interval of the row.
    pub fn width(&self) -> f64 {
        self.low.iter().zip(&self.high).map(|(low, high)| high - low).fold(0.0, f64::max)
    }
}

impl FitTable {
    /// What a row is for: a value of each variable of `given`.
    pub fn given_of(&self, row: usize) -> Vec<&str> {
        let mut left = row;
        let mut out: Vec<&str> = self
            .given
            .iter()
            .rev()
            .map(|axis| {
                let value = &axis.values[left % axis.values.len()];
                left /= axis.values.len();
                value.as_str()
            })
            .collect();
        out.reverse();
        out
    }

    /// The same in words, such as `loyalty=fan opened=yes`.
    pub fn row_words(&self, row: usize) -> String {
        let pairs = self.given.iter().zip(self.given_of(row)).map(|(axis, value)| format!("{}={value}", axis.name));
        let words = pairs.collect::<Vec<_>>().join(" ");
        if words.is_empty() { "always".to_owned() } else { words }
    }

    /// The rows that were never seen, though a step can be there.
    pub fn unseen_rows(&self) -> impl Iterator<Item = usize> {
        (0..self.rows.len()).filter(|row| self.rows[*row].visits == 0 && self.ended.binary_search(row).is_err())
    }

    /// Their number.
    pub fn never_seen(&self) -> usize {
        self.unseen_rows().count()
    }

    /// What widths are compared with: 1 for probabilities, the length of the term's range for rewards.
    pub fn scale(&self) -> f64 {
        let [low, high] = self.range;
        if high > low { high - low } else { 1.0 }
    }

    /// The widest interval of a row, as a share of what it could be.
    pub fn share(&self, row: usize) -> f64 {
        self.rows[row].width() / self.scale()
    }
}
