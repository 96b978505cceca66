//! Report of a fit: visits, posterior mean and interval of every row, and unidentified quantities.

use serde::Serialize;

use super::confounded::Confounded;
use super::structure::Marginalised;
use crate::offline::{AssumptionRecord, GraphCheck, MissingnessTest};

/// The report of a fit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FitReport {
    /// Steps of the log, with multiplicity.
    pub steps: u64,
    /// Episodes of the log.
    pub episodes: u64,
    /// Fingerprint of the evidence.
    pub evidence: String,
    /// Level of the intervals.
    pub level: f64,
    /// Fitted tables: transitions, mechanisms, rewards, then initial states.
    pub tables: Vec<FitTable>,
    /// Names whose numbers were kept.
    pub kept: Vec<String>,
    /// Confounded levers: their effects were not fitted.
    pub confounded: Vec<Confounded>,
    /// Hidden variables that were marginalised out.
    pub marginalised: Vec<Marginalised>,
    /// Missing values and the number of steps without them.
    pub missing: Vec<Missing>,
    /// One missingness test for each variable and payment.
    pub missingness: Vec<MissingnessTest>,
    /// Result of the graph test; `None` if steps came one by one instead of in episodes.
    pub graph: Option<GraphCheck>,
    /// Unidentified quantities, the reasons, and the experiments that would identify them.
    pub open: Vec<OpenQuestion>,
    /// The EM run, if one was requested.
    pub em: Option<EmReport>,
    /// The assumptions behind the numbers, and whether the log contradicts them.
    #[serde(flatten)]
    pub record: AssumptionRecord,
}

/// A variable or payment that is missing in some steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// Such as `key variable opened`.
    pub what: String,
    /// Steps without it.
    pub steps: u64,
}

/// A quantity that the log does not identify.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OpenQuestion {
    /// The quantity.
    pub what: String,
    /// The reason, and its substitute.
    pub why: String,
    /// The experiment that would identify it.
    pub experiment: String,
}

/// Record of an EM run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EmReport {
    /// Steps with imputed values.
    pub steps: u64,
    /// Steps left out because they have too many joint missing values.
    pub left_out: u64,
    /// Log posterior density after each round, up to a constant; it never falls.
    pub density: Vec<f64>,
}

/// The kind of a fitted table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FitPart {
    /// P(next value | scope) of a state factor.
    Transition,
    /// P(children | parents) within a step.
    Mechanism,
    /// A reward term.
    Reward,
    /// The initial-state distribution.
    Start,
}

/// The method behind intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum IntervalKind {
    /// The Beta marginal of each row's posterior. It begins at 0 for a value never observed, and ends at 1 for the only
    /// one observed.
    Beta,
    /// Laplace approximation of the posterior of a form's parameters.
    Laplace,
}

/// One distribution or reward term with all of its rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FitTable {
    /// Such as `P(next loyalty | loyalty, opened, price)`.
    pub what: String,
    /// Its kind.
    pub part: FitPart,
    /// Its form, such as `logit, through on_top`.
    pub form: String,
    /// The method behind its intervals.
    pub interval: IntervalKind,
    /// The variables that index its rows, the first slowest.
    pub given: Vec<FitAxis>,
    /// The columns of a row: values, or `reward`.
    pub outcomes: Vec<String>,
    /// Range of the numbers: 0 and 1, or the range of a reward term.
    pub range: [f64; 2],
    /// The rows.
    pub rows: Vec<FitRow>,
    /// Estimate used for unvisited rows.
    pub unseen: String,
    /// Rows of terminal states: they cannot be visited, and need not be known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<usize>,
}

/// A variable that indexes rows.
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
    /// Its number of visits.
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
    /// The parent values of a row: one of each variable of `given`.
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

    /// Unvisited rows, without those of terminal states.
    pub fn unseen_rows(&self) -> impl Iterator<Item = usize> {
        (0..self.rows.len()).filter(|row| self.rows[*row].visits == 0 && self.ended.binary_search(row).is_err())
    }

    /// The number of unvisited rows.
    pub fn never_seen(&self) -> usize {
        self.unseen_rows().count()
    }

    /// Scale of widths: 1 for probabilities, the length of the range for rewards.
    pub fn scale(&self) -> f64 {
        let [low, high] = self.range;
        if high > low { high - low } else { 1.0 }
    }

    /// The widest interval of a row relative to its scale.
    pub fn share(&self, row: usize) -> f64 {
        self.rows[row].width() / self.scale()
    }
}
