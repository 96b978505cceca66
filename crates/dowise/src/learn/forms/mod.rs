//! Parametric mechanisms (logit, noisy-or): P(observed children | observed parents) as a function of few parameters.
//!
//! A [`FormModel`] is one mechanism, or several mechanisms connected by hidden variables. The hidden variables are
//! marginalised out: P(v | row) = Σ_h Π_parts P(child | its parents). A fit needs only counts of rows and values, so
//! evidence stays additive. [`Fit`] holds the posterior mode and the curvature there.

mod fit;
#[cfg(test)]
mod odd;
mod part;
mod scale;
#[cfg(test)]
mod tests;

pub(crate) use fit::Fit;

use self::part::Part;
use self::scale::{Prior, Scale};
use super::error::{LearnError, LearnResult};
use crate::Space;
use crate::math::{exp, ln};
use crate::world::{Assumed, FormNumbers, Kind, LearnedForm, Mechanism, VarId, World};

/// Most parameters of a fitted mechanism: a fit solves equations of this many unknowns before every plan.
pub(crate) const MOST_PARAMETERS: usize = 1000;

/// Most joint values of all variables of a model for which hidden variables are marginalised out: each fit enumerates
/// them.
const MOST_TERMS: usize = 1 << 26;

/// P(observed children | observed parents) with unknown parameters.
#[derive(Clone, Debug)]
pub(crate) struct FormModel {
    parts: Vec<Part>,
    n_rows: usize,
    n_values: usize,
    n_hidden: usize,
    prior: Prior,
    /// Whether some mechanism has a form; otherwise the model only serves prior guesses behind hidden variables.
    has_form: bool,
}

impl FormModel {
    /// The model of a projected mechanism; `None` if each of its rows is learned separately.
    pub(crate) fn new(knowledge: &World, made_from: &[usize], projected: &Mechanism) -> LearnResult<Option<FormModel>> {
        let members: Vec<&Mechanism> = made_from.iter().map(|&m| &knowledge.mechanisms()[m]).collect();
        // A prior guess of one of several mechanisms behind hidden variables is no guess of the counted distribution.
        let guessed = |m: &Mechanism| members.len() > 1 && m.assumed.guess.is_some();
        let is_model = |m: &&&Mechanism| m.table.is_none() && (m.assumed.form != LearnedForm::Table || guessed(m));
        let Some(first) = members.iter().find(is_model) else { return Ok(None) };
        let name = || knowledge.variable(first.children[0]).name.clone();
        let is_hidden = |id: &VarId| knowledge.variable(*id).kind == Kind::Hidden;
        let hidden: Vec<VarId> = members.iter().flat_map(|m| &m.children).copied().filter(is_hidden).collect();
        let free = |m: &&&Mechanism| m.table.is_none() && m.assumed.form == LearnedForm::Table;
        for m in members.iter().filter(free) {
            let rows = Space::new(&knowledge.sizes(&m.parents)).map_or(usize::MAX, |s| s.len());
            let values: usize = knowledge.sizes(&m.children).iter().product();
            // The base and one for each row, for every value but the first.
            let parameters = rows.saturating_add(1).saturating_mul(values - 1);
            if parameters > MOST_PARAMETERS {
                let variable = knowledge.variable(m.children[0]).name.clone();
                return Err(LearnError::TooManyParameters { variable, parameters, limit: MOST_PARAMETERS });
            }
        }
        let spaces =
            [&projected.parents[..], &projected.children[..], &hidden[..]].map(|ids| Space::new(&knowledge.sizes(ids)));
        let [Some(rows), Some(values), Some(states)] = spaces else {
            return Err(LearnError::TooManyCells { what: format!("the mechanism of {}", name()), cells: None });
        };
        let terms = rows.len().checked_mul(values.len()).and_then(|n| n.checked_mul(states.len()));
        if !hidden.is_empty() && terms.is_none_or(|n| n > MOST_TERMS) {
            return Err(LearnError::TooManyTerms { variable: name(), terms, limit: MOST_TERMS });
        }
        let axes = Axes { ids: [&projected.parents, &projected.children, &hidden], spaces: [&rows, &values, &states] };
        let mut prior = Prior::default();
        let (mut parts, mut most) = (Vec::new(), (0, name()));
        for m in &members {
            let before = prior.parameters.len();
            parts.push(Part::new(knowledge, m, &members, &axes, &mut prior));
            let parameters = prior.parameters.len() - before;
            if parameters > most.0 {
                most = (parameters, knowledge.variable(m.children[0]).name.clone());
            }
        }
        if prior.parameters.len() > MOST_PARAMETERS {
            let (parameters, limit) = (prior.parameters.len(), MOST_PARAMETERS);
            return Err(LearnError::TooManyParameters { variable: most.1, parameters, limit });
        }
        let has_form = members.iter().any(|m| m.table.is_none() && m.assumed.form != LearnedForm::Table);
        let (n_rows, n_values, n_hidden) = (rows.len(), values.len(), states.len());
        Ok(Some(FormModel { parts, n_rows, n_values, n_hidden, prior, has_form }))
    }

    /// The logit of a mechanism without hidden variables, for any form, with interactions of these sets of parents,
    /// each with this standard deviation; `None` beyond this many parameters.
    pub(crate) fn logit(
        world: &World,
        of: &Mechanism,
        interactions: Vec<Vec<usize>>,
        sd: f64,
        limit: usize,
    ) -> Option<FormModel> {
        let [rows, values] = [&of.parents[..], &of.children[..]].map(|ids| Space::new(&world.sizes(ids)));
        let (rows, values) = (rows?, values?);
        let effects_of = |set: &[usize]| set.iter().map(|&p| rows.sizes()[p] - 1).product::<usize>();
        let alone: usize = (0..rows.sizes().len()).map(|p| effects_of(&[p])).sum();
        let together: usize = interactions.iter().map(|set| effects_of(set)).sum();
        if (1 + alone + together).checked_mul(values.len() - 1)? > limit {
            return None;
        }
        let assumed = Assumed { form: LearnedForm::Logit { interactions }, sd: Some(sd), ..Assumed::default() };
        let plain = Mechanism { table: None, assumed, ..of.clone() };
        let none = Space::new(&[]).expect("invariant: nothing has one joint value");
        let axes = Axes { ids: [&of.parents, &of.children, &[]], spaces: [&rows, &values, &none] };
        let mut prior = Prior::default();
        let parts = vec![Part::new(world, &plain, &[&plain], &axes, &mut prior)];
        Some(FormModel { parts, n_rows: rows.len(), n_values: values.len(), n_hidden: 1, prior, has_form: true })
    }

    /// Whether its rows share a form, and not only prior guesses.
    pub(crate) fn has_form(&self) -> bool {
        self.has_form
    }

    /// Its only mechanism, if that is a logit of many values without hidden parents: rows are then its own.
    fn logit_of_many(&self) -> Option<&Part> {
        match &self.parts[..] {
            [part] if self.n_hidden == 1 && part.is_logit_of_many() => Some(part),
            _ => None,
        }
    }

    /// Number of unknown parameters.
    pub(crate) fn n_parameters(&self) -> usize {
        self.prior.parameters.len()
    }

    /// Bytes of the model, with the tables of a fit.
    pub(crate) fn bytes(&self) -> u128 {
        let parts: usize = self.parts.iter().map(Part::bytes).sum();
        let d = self.n_parameters();
        (parts + 8 * (self.n_rows * self.n_values + 4 * d * d + 8 * d * (self.n_values + 2))) as u128
    }

    /// The tables of all parts, `[part][row][value]`.
    fn tables(&self, theta: &[f64], out: &mut Vec<Vec<f64>>) {
        out.resize(self.parts.len(), Vec::new());
        self.parts.iter().zip(out).for_each(|(part, table)| part.table(theta, table));
    }

    /// P(v | row) for all values of one row, the hidden variables marginalised out.
    fn row(&self, tables: &[Vec<f64>], row: usize, out: &mut [f64]) {
        out.fill(0.0);
        for hidden in 0..self.n_hidden {
            for (value, out) in out.iter_mut().enumerate() {
                *out += self.joint(tables, row, value, hidden);
            }
        }
    }

    /// P(v, h | row)
    fn joint(&self, tables: &[Vec<f64>], row: usize, value: usize, hidden: usize) -> f64 {
        self.parts.iter().zip(tables).map(|(part, table)| table[part.entry(row, value, hidden)]).product()
    }

    /// The table of each represented mechanism, and its parameters if it has a form of world files.
    pub(crate) fn members(
        &self,
        theta: &[f64],
        forms: &[(&LearnedForm, Space)],
    ) -> Vec<(Vec<f64>, Option<FormNumbers>)> {
        let mut tables = Vec::new();
        self.tables(theta, &mut tables);
        let parts = self.parts.iter().zip(forms).zip(tables);
        parts.map(|((part, (form, rows)), table)| (table, part.numbers(theta, form, rows))).collect()
    }

    /// P(v | row) of all rows, `[row][value]`.
    pub(crate) fn probabilities(&self, theta: &[f64]) -> Vec<f64> {
        let mut tables = Vec::new();
        self.tables(theta, &mut tables);
        let mut out = vec![0.0; self.n_rows * self.n_values];
        out.chunks_exact_mut(self.n_values).enumerate().for_each(|(row, out)| self.row(&tables, row, out));
        out
    }

    /// The same with nearly flat priors, so that the data dominate as far as the form allows.
    pub(crate) fn with_wide_priors(&self) -> FormModel {
        FormModel { prior: self.prior.widened(), ..self.clone() }
    }

    /// P(v | row) of all rows, with logarithms moved along their gradients by this parameter offset.
    fn moved_probabilities(&self, theta: &[f64], off: &[f64]) -> Vec<f64> {
        let mut tables = Vec::new();
        self.tables(theta, &mut tables);
        // Change of the logarithm of each entry.
        let moves: Vec<Vec<f64>> = self
            .parts
            .iter()
            .zip(&tables)
            .map(|(part, table)| {
                let of = |entry: usize| {
                    let mut moved = 0.0;
                    part.slopes(theta, table, entry, |parameter, slope| moved += slope * off[parameter]);
                    moved
                };
                (0..table.len()).map(of).collect()
            })
            .collect();
        let mut out = vec![0.0; self.n_rows * self.n_values];
        for (row, out) in out.chunks_exact_mut(self.n_values).enumerate() {
            for (value, out) in out.iter_mut().enumerate() {
                let (mut p, mut by) = (0.0, 0.0);
                for hidden in 0..self.n_hidden {
                    let joint = self.joint(&tables, row, value, hidden);
                    let moved: f64 =
                        self.parts.iter().zip(&moves).map(|(part, of)| of[part.entry(row, value, hidden)]).sum();
                    (p, by) = (p + joint, by + joint * moved);
                }
                *out = if p > 0.0 { ln(p) + by / p } else { f64::NEG_INFINITY };
            }
            let most = out.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            out.iter_mut().for_each(|score| *score = exp(*score - most));
            let sum: f64 = out.iter().sum();
            out.iter_mut().for_each(|p| *p /= sum);
        }
        out
    }

    /// P(v | row) and its derivatives: `slopes` is `[value][parameter]`; only the parameters in `active` are nonzero.
    fn row_with_slopes(&self, theta: &[f64], tables: &[Vec<f64>], row: usize, found: &mut Slopes) {
        let (d, n) = (self.n_parameters(), self.n_values);
        let Slopes { row: out, slopes, active, is_active } = found;
        for i in active.drain(..) {
            is_active[i] = false;
            (0..n).for_each(|v| slopes[v * d + i] = 0.0);
        }
        out.fill(0.0);
        for hidden in 0..self.n_hidden {
            for (value, out) in out.iter_mut().enumerate() {
                let p = self.joint(tables, row, value, hidden);
                *out += p;
                for (part, table) in self.parts.iter().zip(tables) {
                    part.slopes(theta, table, part.entry(row, value, hidden), |parameter, slope| {
                        if !std::mem::replace(&mut is_active[parameter], true) {
                            active.push(parameter);
                        }
                        slopes[value * d + parameter] += p * slope;
                    });
                }
            }
        }
    }
}

/// P(v | row) of one row with its derivatives.
struct Slopes {
    row: Vec<f64>,
    /// `[value][parameter]`
    slopes: Vec<f64>,
    /// The parameters that the row depends on, each once.
    active: Vec<usize>,
    is_active: Vec<bool>,
}

impl Slopes {
    fn new(model: &FormModel) -> Slopes {
        let d = model.n_parameters();
        Slopes {
            row: vec![0.0; model.n_values],
            slopes: vec![0.0; model.n_values * d],
            active: Vec::new(),
            is_active: vec![false; d],
        }
    }
}

/// The variables of a model: observed parents, observed children, hidden variables; each with its joint values.
struct Axes<'a> {
    ids: [&'a [VarId]; 3],
    spaces: [&'a Space; 3],
}
