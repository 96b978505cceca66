//! What a world says about mechanisms whose numbers have to be learned: a form, a prior, a guess.

use std::sync::Arc;

use super::Mechanism;

/// How the rows of a mechanism hang together where its numbers have to be learned.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum LearnedForm {
    /// They do not: every row is learned by itself.
    #[default]
    Table,
    /// P(value) ∝ exp(base + Σ effects of the parents' values), the first value of each parent having none.
    Logit {
        /// Sets of parents (positions among the parents) whose joint values have effects of their own.
        interactions: Vec<Vec<usize>>,
    },
    /// P(second value) = 1 − (1 − leak) Π (1 − push of each parent's value), the first value of each parent pushing nothing.
    NoisyOr,
}

impl LearnedForm {
    /// Its name in a world file.
    pub fn word(&self) -> &'static str {
        match self {
            LearnedForm::Table => "table",
            LearnedForm::Logit { .. } => "logit",
            LearnedForm::NoisyOr => "noisy_or",
        }
    }
}

/// The numbers of a form, as a world file writes them; parents by their positions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FormNumbers {
    /// P(value) ∝ exp(base + Σ effects); one number in place of two where there are two values: the log-odds of the second.
    Logit { base: Vec<f64>, effects: Vec<FormEffect> },
    /// P(second value) = 1 − (1 − leak) Π (1 − push).
    NoisyOr { leak: f64, effects: Vec<FormEffect> },
}

/// What a value of a parent adds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FormEffect {
    pub(crate) parent: usize,
    pub(crate) value: usize,
    pub(crate) amounts: Vec<f64>,
}

/// What is assumed of a mechanism by those who have to learn it.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Assumed {
    /// How its rows hang together.
    pub form: LearnedForm,
    /// Standard deviation of the prior of each effect; `None`: the usual one.
    pub sd: Option<f64>,
    /// The numbers of the mechanism are a guess that is worth this many visits of every row.
    pub weight: Option<f64>,
    /// The guess, once the numbers themselves were taken away.
    pub guess: Option<Arc<[f64]>>,
    /// Whether learners are not known the numbers, although the world may have them.
    pub learned: bool,
}

impl Mechanism {
    /// Takes the numbers away; a guess stays as what it is.
    pub(crate) fn forget(&mut self) {
        let table = self.table.take();
        if self.assumed.weight.is_some() && table.is_some() {
            self.assumed.guess = table;
        }
    }
}
