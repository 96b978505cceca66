//! Validates the initial-state distribution.

use std::collections::BTreeMap;

use super::check::Check;
use super::distribution::Mended;
use crate::Space;
use crate::messages::number_text;
use crate::world::{
    At, Condition, Kind, Located, Number, Outcome, Problem, Start, StartPart, StartRow, StartSpec, VarId,
};

impl Check {
    /// Compiles the initial-state distribution, without terminal states.
    pub(crate) fn start(
        &mut self,
        spec: &StartSpec,
        state: &[VarId],
        space: &Space,
        ended: Option<&[bool]>,
    ) -> Option<Start> {
        let anywhere = || StartPart { when: Condition::default(), weight: 1.0.into(), at: None };
        match (spec, ended) {
            (StartSpec::Uniform, None) => self.start_product(&[], state).map(Start::Product),
            (StartSpec::PerFactor(factors), None) => self.start_product(factors, state).map(Start::Product),
            (StartSpec::Uniform, _) => self.start_mixture(&[], &[anywhere()], state, space, ended),
            (StartSpec::PerFactor(factors), _) => self.start_mixture(factors, &[anywhere()], state, space, ended),
            (StartSpec::States(rows), _) => self.start_states(rows, state, space, ended),
            (StartSpec::Mixture { factors, parts }, _) => self.start_mixture(factors, parts, state, space, ended),
        }
    }

    /// Each component draws the factors independently, conditional on its condition and on non-terminal states.
    fn start_mixture(
        &mut self,
        factors: &[(Located<String>, Outcome)],
        parts: &[StartPart],
        state: &[VarId],
        space: &Space,
        ended: Option<&[bool]>,
    ) -> Option<Start> {
        let before = self.errors();
        let product = self.start_product(factors, state);
        let mut weights: BTreeMap<usize, f64> = BTreeMap::new();
        for part in parts {
            let weight = self.weight(&part.weight);
            let rule = self.rule(&part.when, state, "state factors of the world");
            let (Some(product), Some(rule)) = (&product, rule) else { continue };
            let mut matching: Vec<(usize, f64)> = Vec::new();
            rule.each(space, |s| {
                let p: f64 = product.iter().enumerate().map(|(f, p)| p[space.digit(s, f)]).product();
                if p > 0.0 && !ended.is_some_and(|ended| ended[s]) {
                    matching.push((s, p));
                }
            });
            let total: f64 = matching.iter().map(|(_, p)| p).sum();
            if matching.is_empty() {
                let message = match ended {
                    Some(_) => "no state matches in which an episode can start and has not ended",
                    None => "no state matches in which an episode can start",
                };
                let help = "ask for less in `when`, or change the `start` of the state factors";
                self.push(Problem::error("no-start", message).help(help).at(part.at));
            }
            matching.iter().for_each(|&(s, p)| *weights.entry(s).or_insert(0.0) += weight * (p / total));
        }
        if self.errors() > before {
            return None;
        }
        self.normalised(weights, parts.first().and_then(|p| p.weight.at))
    }

    /// A weight, which must be finite and nonnegative; 0 if it is unreadable.
    fn weight(&mut self, weight: &Number) -> f64 {
        let Some(weight) = self.read_at(weight) else { return 0.0 };
        if !weight.value.is_finite() || weight.value < 0.0 {
            let message = format!("the weight of a starting state is {}", number_text(weight.value));
            self.push(Problem::error("not-a-number", message).help("write a number of 0 or more").at(weight.at));
        }
        weight.value
    }

    fn start_product(&mut self, factors: &[(Located<String>, Outcome)], state: &[VarId]) -> Option<Vec<Vec<f64>>> {
        let before = self.errors();
        let mut product: Vec<Option<Vec<f64>>> = vec![None; state.len()];
        for (name, outcome) in factors {
            let Some(id) = self.variable(name, &[Kind::State], "the start") else { continue };
            let Some(position) = state.iter().position(|&s| s == id) else { continue };
            let what = format!("probabilities of \"{}\" at the start", name.value);
            let Some(row) = self.plain_outcome(outcome, &[id], &what, name.at) else { continue };
            let mut mended = Mended::default();
            let row = self.written_distribution(&row, |_| what.clone(), name.at, &mut mended);
            self.note_mended(&format!("the start of \"{}\"", name.value), &mended);
            if product[position].replace(row.unwrap_or_default()).is_some() {
                let message = format!("the start of \"{}\" is given twice", name.value);
                self.push(Problem::error("duplicate-name", message).help("take one out").at(name.at));
            }
        }
        let uniform = |id: VarId| vec![1.0 / self.size(id) as f64; self.size(id)];
        let product = state.iter().zip(product).map(|(&id, row)| row.unwrap_or_else(|| uniform(id))).collect();
        (self.errors() == before).then_some(product)
    }

    fn start_states(
        &mut self,
        rows: &[StartRow],
        state: &[VarId],
        space: &Space,
        ended: Option<&[bool]>,
    ) -> Option<Start> {
        let before = self.errors();
        let mut weights: BTreeMap<usize, f64> = BTreeMap::new();
        for row in rows {
            let mut digits: Vec<Option<usize>> = vec![None; state.len()];
            let of_row = self.errors();
            for (name, value) in &row.state {
                let Some(name) = self.read_at(name) else { continue };
                let Some(id) = self.variable(&name, &[Kind::State], "the start") else { continue };
                let Some(value) = self.read_at(value) else { continue };
                let Some(value) = self.value(id, &value) else { continue };
                let Some(position) = state.iter().position(|&s| s == id) else { continue };
                if digits[position].replace(value).is_some() {
                    let message = format!("\"{}\" stands twice in one starting state", name.value);
                    self.push(Problem::error("duplicate-name", message).help("take one out").at(name.at));
                }
            }
            let named = self.errors() == of_row;
            let weight = self.weight(&row.weight);
            let given: Option<Vec<usize>> = digits.iter().copied().collect();
            match given {
                Some(digits) if ended.is_some_and(|ended| ended[space.index(&digits)]) => {
                    let given = self.combination(state, &digits);
                    let message = format!("an episode starts with {given}, where it has ended");
                    let at = row.state.first().and_then(|(name, _)| name.at).or(row.weight.at);
                    let help = "start elsewhere, or change `ends`";
                    self.push(Problem::error("no-start", message).help(help).at(at));
                }
                Some(digits) => *weights.entry(space.index(&digits)).or_insert(0.0) += weight,
                None if named => {
                    let missing = digits.iter().position(Option::is_none).unwrap_or(0);
                    let message = format!("a starting state does not say \"{}\"", self.name(state[missing]));
                    let at = row.state.first().and_then(|(name, _)| name.at).or(row.weight.at);
                    self.push(Problem::error("incomplete", message).help("give every state factor a value").at(at));
                }
                None => {}
            }
        }
        if self.errors() > before {
            return None;
        }
        self.normalised(weights, rows.first().and_then(|r| r.weight.at))
    }

    /// Normalises weights.
    fn normalised(&mut self, weights: BTreeMap<usize, f64>, at: Option<At>) -> Option<Start> {
        let total: f64 = weights.values().sum();
        if total <= 0.0 || !total.is_finite() {
            let message = format!("the weights of the starting states sum to {}", number_text(total));
            self.push(Problem::error("row-sum", message).help("give at least one a positive weight").at(at));
            return None;
        }
        // Weights that already are probabilities stay bit-identical.
        let total = if (total - 1.0).abs() <= 1e-12 + weights.len() as f64 * f64::EPSILON { 1.0 } else { total };
        let states = weights.into_iter().filter(|&(_, w)| w > 0.0).map(|(s, w)| (s, w / total));
        Some(Start::States(states.collect()))
    }
}
