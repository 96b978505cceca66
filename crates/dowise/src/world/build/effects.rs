//! Mechanisms written as effects of single parents: noisy-or and additive logit, compiled to a table.

use super::check::{Check, number_text};
use super::forms::Target;
use crate::math::exp;
use crate::world::{At, Effect, Located, Problem, VarId};

impl Check {
    /// The effects by axis and value: `out[axis][value]` is a list of `width` amounts.
    pub(crate) fn effects(
        &mut self,
        effects: &[Effect],
        parents: &[VarId],
        role: &str,
        width: usize,
    ) -> Option<Vec<Vec<Vec<f64>>>> {
        let before = self.errors();
        let mut out: Vec<Vec<Vec<f64>>> = parents.iter().map(|&id| vec![vec![0.0; width]; self.size(id)]).collect();
        for effect in effects {
            let Some(axis) = self.axis(&effect.parent, parents, role) else { continue };
            let Some(value) = self.value(parents[axis], &effect.value) else { continue };
            let name = format!("the effect of {} = \"{}\"", effect.parent.value, effect.value.value);
            if effect.amounts.len() != width {
                let s = if width == 1 { "" } else { "s" };
                let message = format!("{name} has {} numbers, expected {width} number{s}", effect.amounts.len());
                self.push(Problem::error("shape", message).help("as many as `base` has").at(effect.at));
                continue;
            }
            if effect.amounts.iter().all(|&a| self.finite(a, &name, effect.at)) {
                out[axis][value].clone_from(&effect.amounts);
            }
        }
        (self.errors() == before).then_some(out)
    }

    pub(crate) fn noisy_or(
        &mut self,
        leak: &Located<f64>,
        effects: &[Effect],
        target: &Target<'_>,
    ) -> Option<Vec<f64>> {
        let before = self.errors();
        if target.columns != 2 || target.children.len() != 1 {
            let message = format!("noisy_or needs a variable with two values; {} has {}", target.names, target.columns);
            self.push(Problem::error("not-binary", message).help("use `rows` or `logit`").at(target.at));
        }
        self.unit(leak.value, &format!("the leak of {}", target.names), leak.at.or(target.at));
        let pushes = self.effects(effects, target.parents, &target.role, 1);
        for effect in effects {
            let name = format!("the effect of {} = \"{}\"", effect.parent.value, effect.value.value);
            effect.amounts.iter().filter(|a| a.is_finite()).for_each(|&a| {
                self.unit(a, &name, effect.at);
            });
        }
        let pushes = pushes.filter(|_| self.errors() == before)?;
        let mut table = Vec::with_capacity(target.space.len() * 2);
        for index in 0..target.space.len() {
            let mut off = 1.0 - leak.value;
            for (axis, push) in pushes.iter().enumerate() {
                off *= 1.0 - push[target.space.digit(index, axis)][0];
            }
            table.extend([off, 1.0 - off]);
        }
        Some(table)
    }

    /// A number from 0 to 1, or a problem.
    fn unit(&mut self, number: f64, what: &str, at: Option<At>) {
        if !(0.0..=1.0).contains(&number) {
            let message = format!("{what} is {}, not a number from 0 to 1", number_text(number));
            self.push(Problem::error("not-a-probability", message).at(at));
        }
    }

    pub(crate) fn logit(&mut self, base: &[f64], effects: &[Effect], target: &Target<'_>) -> Option<Vec<f64>> {
        let log_odds = base.len() == 1 && target.columns == 2;
        if target.children.len() != 1 || (base.len() != target.columns && !log_odds) {
            let message =
                format!("`base` has {} numbers for the {} values of {}", base.len(), target.columns, target.names);
            let help = "write one for each value; for two values one number, the log-odds of the second, is enough";
            self.push(Problem::error("shape", message).help(help).at(target.at));
            return None;
        }
        let name = format!("the base of {}", target.names);
        let good = base.iter().all(|&b| self.finite(b, &name, target.at));
        let added = self.effects(effects, target.parents, &target.role, base.len()).filter(|_| good)?;
        let mut table = vec![0.0; target.space.len() * target.columns];
        for (index, row) in table.chunks_exact_mut(target.columns).enumerate() {
            let scores = &mut row[target.columns - base.len()..];
            scores.copy_from_slice(base);
            for (axis, amounts) in added.iter().enumerate() {
                let amounts = &amounts[target.space.digit(index, axis)];
                scores.iter_mut().zip(amounts).for_each(|(s, a)| *s += a);
            }
            softmax(row);
        }
        if table.iter().any(|p| !p.is_finite()) {
            let message = format!("the effects on {} add up to more than numbers can hold", target.names);
            self.push(Problem::error("not-a-number", message).help("use smaller ones").at(target.at));
            return None;
        }
        Some(table)
    }
}

/// Scores to probabilities; the greatest is taken off first so that nothing overflows.
fn softmax(row: &mut [f64]) {
    let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    row.iter_mut().for_each(|s| *s = exp(*s - most));
    let sum: f64 = row.iter().sum();
    row.iter_mut().for_each(|s| *s /= sum);
}
