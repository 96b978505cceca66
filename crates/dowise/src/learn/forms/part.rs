//! One mechanism of a parametric model: known, additive logit, noisy-or, or a table of logits.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Axes, Prior, Scale};
use crate::Space;
use crate::math::exp;
use crate::world::{FormEffect, FormNumbers, Kind, LearnedForm, Mechanism, VarId, World};

/// Standard deviation of the prior of a base: log-odds from about −3 to 3.
const BASE_SD: f64 = 1.5;
/// Initial scale of effects without a given `sd`, before the counts determine a common scale ([`super::Scale`]): an
/// effect from probability 0.1 to 0.9 is within two standard deviations.
pub(super) const EFFECT_SD: f64 = 2.5;
/// Prior mean of a hidden variable's effect on its child, from its first value to its last. The sign is not
/// identifiable: renaming the values of a hidden variable changes no observation.
const HIDDEN_EFFECT: f64 = 1.5;
/// Standard deviation of that effect, without an estimated scale: the effect and the frequency of a hidden variable
/// are hardly identifiable, and a wide prior would leave both open.
const HIDDEN_SD: f64 = 1.0;
/// Standard deviation of the log-odds of a separately learned row, around the base.
const ROW_SD: f64 = 1.0;
/// Log-odds of a push of a noisy-or: a push of about 0.2.
const PUSH: f64 = -1.4;
/// Number of values from which on the information of a logit is computed by its formula.
const MANY: usize = 8;

/// One mechanism of a model.
#[derive(Clone, Debug)]
pub(super) struct Part {
    n_rows: usize,
    n_values: usize,
    link: Link,
    /// The first of its parameters.
    first: usize,
    /// The features of each row, one list after another, and the end of each list.
    features: Vec<u32>,
    ends: Vec<u32>,
    n_features: usize,
    /// A prior guess with its weight in visits of every row.
    guess: Option<(Arc<[f64]>, f64)>,
    /// Contribution of a joint value of observed parents, observed children and hidden variables to the position in
    /// the table.
    places: [Vec<u32>; 3],
}

/// The link from features to probabilities.
#[derive(Clone, Debug)]
enum Link {
    Known(Arc<[f64]>),
    /// P(value) ∝ exp(Σ parameters of the features), the first value at 0.
    Softmax,
    /// P(first value) = Π (1 − push), the log-odds of the pushes being the parameters of the features.
    NoisyOr,
}

impl Part {
    pub(super) fn new(
        knowledge: &World,
        mechanism: &Mechanism,
        members: &[&Mechanism],
        axes: &Axes<'_>,
        prior: &mut Prior,
    ) -> Part {
        let rows = Space::new(&knowledge.sizes(&mechanism.parents)).expect("invariant: a world's tables were counted");
        let n_values: usize = knowledge.sizes(&mechanism.children).iter().product();
        let (n_rows, first) = (rows.len(), prior.parameters.len());
        let link = match (&mechanism.table, &mechanism.assumed.form) {
            (Some(table), _) => Link::Known(table.clone()),
            (None, LearnedForm::NoisyOr) => Link::NoisyOr,
            (None, LearnedForm::Logit { .. } | LearnedForm::Table) => Link::Softmax,
        };
        let mut part = Part {
            n_rows,
            n_values,
            link,
            first,
            features: Vec::new(),
            ends: Vec::new(),
            n_features: 0,
            guess: mechanism.assumed.guess.clone().zip(mechanism.assumed.weight),
            places: places(knowledge, mechanism, axes),
        };
        if !matches!(part.link, Link::Known(_)) {
            let names = part.list_features(mechanism, &rows);
            part.write_prior(knowledge, mechanism, members, &names, prior);
        }
        part
    }

    /// Lists the features of every row; returns the meaning of each feature.
    fn list_features(&mut self, mechanism: &Mechanism, rows: &Space) -> Vec<Feature> {
        let mut names = vec![Feature::Base];
        let interactions = match &mechanism.assumed.form {
            LearnedForm::Logit { interactions } => &interactions[..],
            LearnedForm::Table | LearnedForm::NoisyOr => &[],
        };
        let mut numbers: HashMap<Feature, u32> = HashMap::new();
        let mut number = |feature: Feature| {
            *numbers.entry(feature).or_insert_with(|| {
                names.push(feature);
                (names.len() - 1) as u32
            })
        };
        for row in 0..rows.len() {
            self.features.push(0);
            if mechanism.assumed.form == LearnedForm::Table {
                self.features.push(number(Feature::Row(row)));
            } else {
                let digit = |p: usize| rows.digit(row, p);
                for parent in (0..mechanism.parents.len()).filter(|&p| digit(p) > 0) {
                    self.features.push(number(Feature::Effect { parent, value: digit(parent) }));
                }
                for (set, parents) in interactions.iter().enumerate() {
                    if parents.iter().all(|&p| digit(p) > 0) {
                        let joint = parents.iter().fold(0, |joint, &p| joint * rows.sizes()[p] + digit(p));
                        self.features.push(number(Feature::Interaction { set, joint }));
                    }
                }
            }
            self.ends.push(self.features.len() as u32);
        }
        self.n_features = names.len();
        names
    }

    fn write_prior(
        &self,
        knowledge: &World,
        mechanism: &Mechanism,
        members: &[&Mechanism],
        names: &[Feature],
        prior: &mut Prior,
    ) {
        let stated = mechanism.assumed.sd;
        // Log-odds of a push differ about twice as much as effects on log-odds.
        let pushed = |sd: f64| if stated.is_some() { 2.0 * sd } else { sd };
        let mut scaled = Vec::new();
        let precision = |sd: f64| 1.0 / (sd * sd);
        // The sign of a hidden variable's effect is arbitrary unless its own mechanism is known.
        let nameless = |id: VarId| {
            let own = members.iter().find(|m| m.children.contains(&id));
            knowledge.variable(id).kind == Kind::Hidden && own.is_some_and(|m| m.table.is_none())
        };
        let columns = if matches!(self.link, Link::NoisyOr) { 1 } else { self.n_values - 1 };
        // Rank of a value among a parent's values, if their names are arbitrary.
        let rank = |parent: usize, value: usize| {
            let id = mechanism.parents[parent];
            nameless(id).then(|| value as f64 / (knowledge.variable(id).size() - 1).max(1) as f64)
        };
        let rows = Space::new(&knowledge.sizes(&mechanism.parents)).expect("invariant: a world's tables were counted");
        let of_row = |row: usize| -> f64 {
            let parents = 0..mechanism.parents.len();
            parents.filter_map(|parent| rank(parent, rows.digit(row, parent))).sum()
        };
        for column in 1..=columns {
            for name in names {
                // With equal initial effects of a hidden variable's values, a fit would start on a symmetry ridge and
                // never distinguish them.
                let effect = HIDDEN_EFFECT * column as f64 / columns as f64;
                let of_hidden = matches!(*name, Feature::Effect { parent, value } if rank(parent, value).is_some());
                let sd = match stated {
                    Some(sd) => sd,
                    None if of_hidden => HIDDEN_SD,
                    None => EFFECT_SD,
                };
                let (mean, sd) = match (&self.link, *name) {
                    (Link::NoisyOr, Feature::Base) => (PUSH, BASE_SD),
                    (Link::NoisyOr, Feature::Effect { parent, value }) => {
                        (PUSH + effect * (rank(parent, value).unwrap_or(1.0) - 1.0), pushed(sd))
                    }
                    (Link::NoisyOr, Feature::Row(_) | Feature::Interaction { .. }) => (PUSH, pushed(sd)),
                    (_, Feature::Base) => (0.0, BASE_SD),
                    (_, Feature::Row(row)) => (effect * of_row(row), stated.map_or(ROW_SD, |sd| 2.0 * sd)),
                    (_, Feature::Effect { parent, value }) => (effect * rank(parent, value).unwrap_or(0.0), sd),
                    (_, Feature::Interaction { .. }) => (0.0, sd),
                };
                if matches!(name, Feature::Effect { .. } | Feature::Interaction { .. }) && !of_hidden {
                    scaled.push(prior.parameters.len());
                }
                prior.parameters.push((mean, precision(sd)));
            }
        }
        if stated.is_none() && !scaled.is_empty() {
            prior.scales.push(Scale { effects: scaled });
        }
    }

    /// The prior guess with its weight in visits of every row.
    pub(super) fn guess(&self) -> Option<(&[f64], f64)> {
        self.guess
            .as_ref()
            .filter(|_| !matches!(self.link, Link::Known(_)))
            .map(|(table, weight)| (&table[..], *weight))
    }

    pub(super) fn bytes(&self) -> usize {
        let places: usize = self.places.iter().map(Vec::len).sum();
        4 * (self.features.len() + self.ends.len() + places) + 8 * self.n_rows * self.n_values
    }

    /// Position in its table, with parents' values as rows and its own as columns.
    #[inline]
    pub(super) fn entry(&self, row: usize, value: usize, hidden: usize) -> usize {
        (self.places[0][row] + self.places[1][value] + self.places[2][hidden]) as usize
    }

    /// Contribution of a row of observed parents to the position.
    #[inline]
    pub(super) fn first_entry(&self, row: usize) -> usize {
        self.places[0][row] as usize
    }

    /// Contribution of each hidden value and observed value, `[hidden][value]`.
    pub(super) fn inner(&self) -> Vec<u32> {
        let [_, values, hidden] = &self.places;
        hidden.iter().flat_map(|h| values.iter().map(move |v| h + v)).collect()
    }

    fn features_of(&self, row: usize) -> &[u32] {
        let begin = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.features[begin as usize..self.ends[row] as usize]
    }

    /// Its table for these parameters of the model.
    pub(super) fn table(&self, theta: &[f64], out: &mut Vec<f64>) {
        out.clear();
        match &self.link {
            Link::Known(table) => out.extend_from_slice(table),
            Link::NoisyOr => {
                let held: Vec<f64> =
                    theta[self.first..][..self.n_features].iter().map(|t| 1.0 / (1.0 + exp(*t))).collect();
                for row in 0..self.n_rows {
                    let off: f64 = self.features_of(row).iter().map(|&f| held[f as usize]).product();
                    out.extend([off, 1.0 - off]);
                }
            }
            Link::Softmax => {
                out.resize(self.n_rows * self.n_values, 0.0);
                for (row, out) in out.chunks_exact_mut(self.n_values).enumerate() {
                    let mut most = 0.0f64;
                    for (column, out) in out[1..].iter_mut().enumerate() {
                        let first = self.first + column * self.n_features;
                        *out = self.features_of(row).iter().map(|&f| theta[first + f as usize]).sum();
                        most = most.max(*out);
                    }
                    out.iter_mut().for_each(|score| *score = exp(*score - most));
                    let sum: f64 = out.iter().sum();
                    out.iter_mut().for_each(|p| *p /= sum);
                }
            }
        }
    }

    /// Its parameters in the form of world files; `None` if that is a table: free rows, interactions, known
    /// parameters.
    pub(super) fn numbers(&self, theta: &[f64], form: &LearnedForm, rows: &Space) -> Option<FormNumbers> {
        let parameter = |column: usize, feature: u32| theta[self.first + column * self.n_features + feature as usize];
        // The row in which one parent alone has not its first value has one feature beside the base.
        let effects = |amounts: &dyn Fn(u32) -> Vec<f64>| {
            let sizes = rows.sizes().iter().enumerate();
            let pairs = sizes.flat_map(|(parent, &size)| (1..size).map(move |value| (parent, value)));
            let of = |(parent, value): (usize, usize)| {
                let feature = self.features_of(value * rows.strides()[parent])[1];
                FormEffect { parent, value, amounts: amounts(feature) }
            };
            pairs.map(of).collect::<Vec<_>>()
        };
        match (&self.link, form) {
            (Link::Known(_), _) | (_, LearnedForm::Table) => None,
            (Link::NoisyOr, _) => {
                let push = |feature: u32| 1.0 / (1.0 + exp(-parameter(0, feature)));
                Some(FormNumbers::NoisyOr { leak: push(0), effects: effects(&|f| vec![push(f)]) })
            }
            (Link::Softmax, LearnedForm::Logit { interactions }) if interactions.is_empty() => {
                let columns = self.n_values - 1;
                let scores = |feature: u32| {
                    let own = (0..columns).map(|column| parameter(column, feature));
                    if columns == 1 { own.collect() } else { std::iter::once(0.0).chain(own).collect() }
                };
                Some(FormNumbers::Logit { base: scores(0), effects: effects(&scores) })
            }
            (Link::Softmax, LearnedForm::Logit { .. } | LearnedForm::NoisyOr) => None,
        }
    }

    /// Whether it is a logit with enough values for [`Part::information`] to be faster.
    pub(super) fn is_logit_of_many(&self) -> bool {
        matches!(self.link, Link::Softmax) && self.n_values >= MANY
    }

    /// Calls `at` with pairs of parameters, the greater one first, and the contribution of one visit of a row to their
    /// information, for a single logit: p − p² for one value, −p p' for two. By [`Part::slopes`] it would take the
    /// number of values times as long.
    pub(super) fn information(&self, table: &[f64], row: usize, mut at: impl FnMut(usize, usize, f64)) {
        let probabilities = &table[row * self.n_values + 1..(row + 1) * self.n_values];
        let features = self.features_of(row);
        for (a, &p) in probabilities.iter().enumerate() {
            for (b, &q) in probabilities[..=a].iter().enumerate() {
                let share = if a == b { p * (1.0 - p) } else { -p * q };
                let [first, second] = [a, b].map(|column| self.first + column * self.n_features);
                for &f in features {
                    let i = first + f as usize;
                    let smaller = features.iter().map(|&g| second + g as usize).filter(|&j| j <= i);
                    smaller.for_each(|j| at(i, j, share));
                }
            }
        }
    }

    /// Calls `at` with every parameter and the derivative by it of ln P(own value | own row), for an entry of its table.
    #[inline]
    pub(super) fn slopes(&self, theta: &[f64], table: &[f64], entry: usize, mut at: impl FnMut(usize, f64)) {
        let (row, own) = (entry / self.n_values, entry % self.n_values);
        let probabilities = &table[row * self.n_values..][..self.n_values];
        match &self.link {
            Link::Known(_) => {}
            Link::Softmax => {
                for column in 0..self.n_values - 1 {
                    let slope = f64::from(u8::from(own == column + 1)) - probabilities[column + 1];
                    let first = self.first + column * self.n_features;
                    self.features_of(row).iter().for_each(|&f| at(first + f as usize, slope));
                }
            }
            Link::NoisyOr => {
                // d ln(1 − push) / dθ = −push; ln P(second) = ln(1 − P(first)).
                let by_push = if own == 0 { -1.0 } else { probabilities[0] / probabilities[1].max(f64::MIN_POSITIVE) };
                for &f in self.features_of(row) {
                    let parameter = self.first + f as usize;
                    at(parameter, by_push / (1.0 + exp(-theta[parameter])));
                }
            }
        }
    }
}

/// The meaning of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Feature {
    Base,
    Row(usize),
    Effect { parent: usize, value: usize },
    Interaction { set: usize, joint: usize },
}

/// Contribution of each joint value of the three kinds of variables to the position in a mechanism's table.
fn places(knowledge: &World, mechanism: &Mechanism, axes: &Axes<'_>) -> [Vec<u32>; 3] {
    let nodes: Vec<VarId> = mechanism.parents.iter().chain(&mechanism.children).copied().collect();
    let table = Space::new(&knowledge.sizes(&nodes)).expect("invariant: a world's tables were counted");
    [0, 1, 2].map(|kind| {
        let (ids, space) = (axes.ids[kind], axes.spaces[kind]);
        let stride = |id: &VarId| nodes.iter().position(|n| n == id).map_or(0, |i| table.strides()[i]);
        let strides: Vec<usize> = ids.iter().map(stride).collect();
        (0..space.len())
            .map(|joint| strides.iter().enumerate().map(|(i, s)| s * space.digit(joint, i)).sum::<usize>() as u32)
            .collect()
    })
}
