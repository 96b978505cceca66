//! Where episodes start.

use std::collections::BTreeMap;

use super::check::{Check, number_text};
use super::distribution::Mended;
use crate::Space;
use crate::world::{Kind, Outcome, Problem, Start, StartRow, StartSpec, VarId};

impl Check {
    /// Compiles the start.
    pub(crate) fn start(&mut self, spec: &StartSpec, state: &[VarId], space: &Space) -> Option<Start> {
        match spec {
            StartSpec::Uniform => self.start_product(&[], state),
            StartSpec::PerFactor(factors) => self.start_product(factors, state),
            StartSpec::States(rows) => self.start_states(rows, state, space),
        }
    }

    fn start_product(
        &mut self,
        factors: &[(crate::world::Located<String>, Outcome)],
        state: &[VarId],
    ) -> Option<Start> {
        let before = self.errors();
        let mut product: Vec<Option<Vec<f64>>> = vec![None; state.len()];
        for (name, outcome) in factors {
            let Some(id) = self.variable(name, &[Kind::State], "the start") else { continue };
            let Some(position) = state.iter().position(|&s| s == id) else { continue };
            let what = format!("probabilities of \"{}\" at the start", name.value);
            let Some(mut row) = self.plain_outcome(outcome, &[id], &what, name.at) else { continue };
            let mut mended = Mended::default();
            self.distribution(&mut row, |_| what.clone(), name.at, &mut mended);
            self.note_mended(&format!("the start of \"{}\"", name.value), &mended);
            if product[position].replace(row).is_some() {
                let message = format!("the start of \"{}\" is given twice", name.value);
                self.push(Problem::error("duplicate-name", message).help("take one out").at(name.at));
            }
        }
        let uniform = |id: VarId| vec![1.0 / self.size(id) as f64; self.size(id)];
        let product = state.iter().zip(product).map(|(&id, row)| row.unwrap_or_else(|| uniform(id))).collect();
        (self.errors() == before).then_some(Start::Product(product))
    }

    fn start_states(&mut self, rows: &[StartRow], state: &[VarId], space: &Space) -> Option<Start> {
        let before = self.errors();
        let mut weights: BTreeMap<usize, f64> = BTreeMap::new();
        for row in rows {
            let mut digits: Vec<Option<usize>> = vec![None; state.len()];
            for (name, value) in &row.state {
                let Some(id) = self.variable(name, &[Kind::State], "the start") else { continue };
                let Some(value) = self.value(id, value) else { continue };
                let Some(position) = state.iter().position(|&s| s == id) else { continue };
                if digits[position].replace(value).is_some() {
                    let message = format!("\"{}\" stands twice in one starting state", name.value);
                    self.push(Problem::error("duplicate-name", message).help("take one out").at(name.at));
                }
            }
            let weight = row.weight.value;
            if !weight.is_finite() || weight < 0.0 {
                let message = format!("the weight of a starting state is {}", number_text(weight));
                self.push(
                    Problem::error("not-a-number", message).help("write a number of 0 or more").at(row.weight.at),
                );
            }
            let given: Option<Vec<usize>> = digits.iter().copied().collect();
            match given {
                Some(digits) => *weights.entry(space.index(&digits)).or_insert(0.0) += weight,
                None if self.errors() == before => {
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
        let total: f64 = weights.values().sum();
        if total <= 0.0 || !total.is_finite() {
            let message = format!("the weights of the starting states sum to {}", number_text(total));
            let at = rows.first().and_then(|r| r.weight.at);
            self.push(Problem::error("row-sum", message).help("give at least one a positive weight").at(at));
            return None;
        }
        // Weights that already are probabilities stay as they are, bit by bit.
        let total = if (total - 1.0).abs() <= 1e-12 + weights.len() as f64 * f64::EPSILON { 1.0 } else { total };
        let states = weights.into_iter().filter(|&(_, w)| w > 0.0).map(|(s, w)| (s, w / total));
        Some(Start::States(states.collect()))
    }
}
