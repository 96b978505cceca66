//! Noisy-or and additive logit mechanisms, compiled to tables.

use super::check::Check;
use super::forms::Target;
use crate::math::exp;
use crate::messages::number_text;
use crate::world::{At, Effect, Number, Problem, VarId, Written};

impl Check {
    /// The effects by axis and value: `out[axis][value]` has `width` amounts; `None` if the width is unknown.
    pub(crate) fn effects(
        &mut self,
        effects: &[Effect],
        parents: &[VarId],
        role: &str,
        width: Option<usize>,
    ) -> Option<Vec<Vec<Vec<f64>>>> {
        let before = self.errors();
        let zeros = vec![0.0; width.unwrap_or(0)];
        let mut out: Vec<Vec<Vec<f64>>> = parents.iter().map(|&id| vec![zeros.clone(); self.size(id)]).collect();
        for effect in effects {
            let axis = self.axis(&effect.parent, parents, role);
            let value = axis.and_then(|axis| self.value(parents[axis], &effect.value));
            let name = format!("the effect of {} = \"{}\"", effect.parent.value, effect.value.value);
            let unread = is_unread(&effect.amounts);
            if let Some(width) = width.filter(|&width| effect.amounts.len() != width && !unread) {
                let s = if width == 1 { "" } else { "s" };
                let message = format!("{name} has {} numbers, expected {width} number{s}", effect.amounts.len());
                self.push(Problem::error("shape", message).help("as many as `base` has").at(effect.at));
                continue;
            }
            // Infinite amounts are handled by the caller, which checks first.
            let amounts = self.not_nan(&effect.amounts, &name, effect.at);
            if let (Some(amounts), Some(axis), Some(value)) = (amounts, axis, value) {
                out[axis][value] = amounts;
            }
        }
        (self.errors() == before).then_some(out)
    }

    /// Numbers that are finite or infinite; stops at the first that is not.
    fn not_nan(&mut self, numbers: &[Written<f64>], what: &str, at: Option<At>) -> Option<Vec<f64>> {
        let mut out = Vec::with_capacity(numbers.len());
        for number in numbers {
            let number = self.read(number)?;
            if !number.is_infinite() && !self.finite(number, what, at) {
                return None;
            }
            out.push(number);
        }
        Some(out)
    }

    pub(crate) fn noisy_or(&mut self, leak: &Number, effects: &[Effect], target: &Target<'_>) -> Option<Vec<f64>> {
        let before = self.errors();
        if (target.columns != 2 && !target.open_child(self)) || target.children.len() != 1 {
            let message = format!("noisy_or needs a variable with two values; {} has {}", target.names, target.columns);
            self.push(Problem::error("not-binary", message).help("use `rows` or `logit`").at(target.at));
        }
        let leak = self.unit(&leak.value, &format!("the leak of {}", target.names), leak.at.or(target.at));
        let pushes = self.effects(effects, target.parents, &target.role, Some(1));
        for effect in effects {
            let name = format!("the effect of {} = \"{}\"", effect.parent.value, effect.value.value);
            // Amounts that are unreadable or not a number were already reported.
            for amount in effect.amounts.iter().filter(|a| a.get().is_some_and(|a| !a.is_nan())) {
                self.unit(amount, &name, effect.at);
            }
        }
        let leak = leak?;
        let pushes = pushes.filter(|_| self.errors() == before && target.sound)?;
        let mut table = Vec::with_capacity(target.space.len() * 2);
        for index in 0..target.space.len() {
            let mut off = 1.0 - leak;
            for (axis, push) in pushes.iter().enumerate() {
                off *= 1.0 - push[target.space.digit(index, axis)][0];
            }
            table.extend([off, 1.0 - off]);
        }
        Some(table)
    }

    /// A number, which must lie in [0, 1].
    fn unit(&mut self, number: &Written<f64>, what: &str, at: Option<At>) -> Option<f64> {
        let number = self.read(number)?;
        if !(0.0..=1.0).contains(&number) {
            let message = format!("{what} is {}, not a number from 0 to 1", number_text(number));
            self.push(Problem::error("not-a-probability", message).at(at));
        }
        Some(number)
    }

    /// Log-odds may be inf, which is certain; one of several scores may not, since -inf for the others says the same.
    fn no_infinity_for_one_of_many(&mut self, base: &[Written<f64>], effects: &[Effect], target: &Target<'_>) -> bool {
        if base.len() == 1 {
            return true;
        }
        let infinite = |numbers: &[Written<f64>]| numbers.iter().any(|number| *number == f64::INFINITY);
        let of_effects = effects.iter().find(|e| infinite(&e.amounts)).map(|e| e.at.or(target.at));
        let Some(at) = of_effects.or(infinite(base).then_some(target.at)) else { return true };
        let message = format!("a score of {} is inf", target.names);
        self.push(Problem::error("not-a-number", message).help("write -inf for the values that are ruled out").at(at));
        false
    }

    pub(crate) fn logit(&mut self, base: &[Written<f64>], effects: &[Effect], target: &Target<'_>) -> Option<Vec<f64>> {
        let log_odds = base.len() == 1 && target.columns == 2;
        let unread = is_unread(base);
        let fits = base.len() == target.columns || log_odds || unread || target.open_child(self);
        if target.children.len() != 1 || !fits {
            let message =
                format!("`base` has {} numbers for the {} values of {}", base.len(), target.columns, target.names);
            let help = "write one for each value; for two values one number, the log-odds of the second, is enough";
            self.push(Problem::error("shape", message).help(help).at(target.at));
        }
        let name = format!("the base of {}", target.names);
        let scores = self.not_nan(base, &name, target.at);
        let good = self.no_infinity_for_one_of_many(base, effects, target) && fits;
        // A valid base determines the number of amounts of an effect.
        let width = (fits && !unread).then_some(base.len());
        let added = self.effects(effects, target.parents, &target.role, width);
        let added = added.filter(|_| good && target.sound && target.children.len() == 1)?;
        let base = scores?;
        let mut table = vec![0.0; target.space.len() * target.columns];
        let mut too_large = false;
        for (index, row) in table.chunks_exact_mut(target.columns).enumerate() {
            let scores = &mut row[target.columns - base.len()..];
            scores.copy_from_slice(&base);
            for (axis, amounts) in added.iter().enumerate() {
                let amounts = &amounts[target.space.digit(index, axis)];
                for (score, amount) in scores.iter_mut().zip(amounts) {
                    let finite = score.is_finite() && amount.is_finite();
                    *score += amount;
                    too_large |= finite && !score.is_finite();
                }
            }
            if !too_large && !softmax(row) {
                let given = target.row_at(self, index);
                let message = format!("in the {given} everything is impossible, or -inf and inf meet");
                let help = "-inf rules a value out; leave at least one possible";
                self.push(Problem::error("not-a-number", message).help(help).at(target.at));
                return None;
            }
        }
        if too_large || table.iter().any(|p| !p.is_finite()) {
            let message = format!("the effects on {} add up to more than numbers can hold", target.names);
            self.push(Problem::error("not-a-number", message).help("use smaller ones").at(target.at));
            return None;
        }
        Some(table)
    }
}

/// Whether numbers of unknown length are unreadable.
fn is_unread(numbers: &[Written<f64>]) -> bool {
    matches!(numbers, [one] if one.get().is_none())
}

/// Softmax of scores, shifted by the greatest to avoid overflow. A score of −∞ is impossible, one of ∞ (log-odds only)
/// certain; `false` if that leaves no distribution.
fn softmax(row: &mut [f64]) -> bool {
    let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if row.iter().any(|s| s.is_nan()) || most == f64::NEG_INFINITY {
        return false;
    }
    if most == f64::INFINITY {
        row.iter_mut().for_each(|s| *s = if *s == f64::INFINITY { 1.0 } else { 0.0 });
        return true;
    }
    row.iter_mut().for_each(|s| *s = if *s == f64::NEG_INFINITY { 0.0 } else { exp(*s - most) });
    let sum: f64 = row.iter().sum();
    row.iter_mut().for_each(|s| *s /= sum);
    true
}
