//! Assumptions about unknown mechanisms: a parametric form, a prior, a guess.

use std::sync::Arc;

use super::Mechanism;

/// The parametric form of an unknown mechanism.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum LearnedForm {
    /// None: every row is learned separately.
    #[default]
    Table,
    /// Additive logit: P(value) ∝ exp(base + Σ effects of the parents' values); the first value of each parent is the
    /// reference.
    Logit {
        /// Sets of parents (positions) with interaction effects.
        interactions: Vec<Vec<usize>>,
    },
    /// Noisy-or: P(second value) = 1 − (1 − leak) Π (1 − push of each parent's value); the first value of each parent
    /// has no push.
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

/// The parameters of a form as in a world file; parents by position.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FormNumbers {
    /// P(value) ∝ exp(base + Σ effects); for a binary variable a single number, the log-odds of the second value.
    Logit { base: Vec<f64>, effects: Vec<FormEffect> },
    /// P(second value) = 1 − (1 − leak) Π (1 − push).
    NoisyOr { leak: f64, effects: Vec<FormEffect> },
}

/// The effect of a parent's value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FormEffect {
    pub(crate) parent: usize,
    pub(crate) value: usize,
    pub(crate) amounts: Vec<f64>,
}

/// Assumptions of learners about a mechanism.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Assumed {
    /// Its parametric form.
    pub form: LearnedForm,
    /// Prior standard deviation of each effect; `None`: the default.
    pub sd: Option<f64>,
    /// The mechanism's numbers are a guess with this prior weight in visits of every row.
    pub weight: Option<f64>,
    /// The guess, after the numbers themselves were removed.
    pub guess: Option<Arc<[f64]>>,
    /// Whether the numbers are unknown to learners, although the world may have them.
    pub learned: bool,
}

impl Mechanism {
    /// Removes the numbers; keeps a guess.
    pub(crate) fn forget(&mut self) {
        let table = self.table.take();
        if self.assumed.weight.is_some() && table.is_some() {
            self.assumed.guess = table;
        }
    }
}
