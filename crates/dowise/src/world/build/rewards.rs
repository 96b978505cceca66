//! Written forms of a reward term, each compiled to a table.

use super::check::{Check, Listed};
use super::limits::MOST_PAID;
use super::next_values::present_first;
use super::rows::Rule;
use crate::Space;
use crate::messages::number_text;
use crate::world::{At, Effect, Name, Number, Problem, RewardForm, RewardRow, RewardSpec, RewardTerm, VarId, Written};

/// The condition of a row, its location, and its payment.
type PaidRule = ((Rule, Option<At>), f64);

impl Check {
    /// Compiles all reward terms.
    pub(crate) fn rewards(&mut self, specs: &[RewardSpec], state: &[VarId]) -> Option<Vec<RewardTerm>> {
        let before = self.errors();
        let real = self.enter_next_values(state);
        let mut terms: Vec<RewardTerm> = Vec::new();
        for (i, spec) in specs.iter().enumerate() {
            if specs[..i].iter().any(|s| s.name.value == spec.name.value) {
                let message = format!("two rewards are called \"{}\"", spec.name.value);
                self.push(Problem::error("duplicate-name", message).help("rename one of them").at(spec.name.at));
            }
            terms.extend(self.reward(spec, real, state));
        }
        self.forget_next_values(real);
        (self.errors() == before).then_some(terms)
    }

    fn reward(&mut self, spec: &RewardSpec, real: usize, state: &[VarId]) -> Option<RewardTerm> {
        let name = format!("reward \"{}\"", spec.name.value);
        let declared = spec.range.as_ref().map(|range| (self.range(range, &format!("the range of {name}")), range.at));
        let listed = self.list(&spec.scope, &Check::SCOPE, &format!("the scope of {name}"));
        if !listed.sound {
            self.broken_reward(spec, &listed, &name);
            return None;
        }
        let scope = listed.ids;
        let space = self.table_space(&format!("the table of {name}"), &scope, 1, "shorten its `scope`", spec.at)?;
        let table = match &spec.form {
            RewardForm::Unknown => None,
            form => {
                self.reserve(&format!("the table of {name}"), space.len(), spec.at)?;
                Some(self.reward_table(form, spec, &scope, &space, &name)?)
            }
        };
        let (range, table) = match (declared, table) {
            (Some((None, _)), _) => return None, // already reported
            (None, Some(table)) if !spec.random => (super::range::extremes(&table), Some(table)),
            (None, table) => {
                let why = if table.is_some() { "is random" } else { "is to be learned" };
                let help = "add `range = [least, greatest]` of what it can pay";
                self.push(
                    Problem::error("range-needed", format!("{name} {why} and has no range")).help(help).at(spec.at),
                );
                return None;
            }
            (Some((Some(range), at)), Some(table)) => {
                let table = self.within(table, range, &name, &scope, &space, spec.at.or(at))?;
                (range, Some(table))
            }
            (Some((Some(range), _)), None) => (range, None),
        };
        let (scope, next, table) = present_first(&scope, &space, table, real, state);
        let table = table.map(Into::into);
        let (random, learned) = (spec.random, spec.learn);
        Some(RewardTerm { name: spec.name.value.clone(), scope, next, table, range, random, learned })
    }

    /// Checks everything that does not depend on an invalid scope.
    fn broken_reward(&mut self, spec: &RewardSpec, listed: &Listed, name: &str) {
        self.pass_over();
        let mut named: Vec<&String> = Vec::new();
        match &spec.form {
            RewardForm::Rows(rows) => {
                named.extend(rows.iter().flat_map(|row| row.when.names()));
                let scope = self.widened(listed, &named);
                self.reward_rules(rows, &scope, name);
            }
            RewardForm::Sum { base, effects } => {
                named.extend(effects.iter().map(|e| &e.parent.value));
                let scope = self.widened(listed, &named);
                self.sum_parts(base, effects, &scope, name);
            }
            RewardForm::Named(values) => {
                if let &[id] = listed.ids.as_slice() {
                    self.named_amounts(values, id, name);
                }
            }
            RewardForm::Unknown | RewardForm::Table(_) | RewardForm::Nested(_) | RewardForm::Grid(_) => {}
        }
    }

    fn reward_table(
        &mut self,
        form: &RewardForm,
        spec: &RewardSpec,
        scope: &[VarId],
        space: &Space,
        name: &str,
    ) -> Option<Vec<f64>> {
        let before = self.errors();
        let table = match form {
            RewardForm::Unknown => return None,
            RewardForm::Table(table) if table.len() == space.len() => table.clone(),
            RewardForm::Table(table) => {
                let message = format!("the table of {name} has {} entries, not {}", table.len(), space.len());
                let help = "one for each combination of its scope";
                self.push(Problem::error("shape", message).help(help).at(spec.at));
                return None;
            }
            RewardForm::Nested(nested) => {
                let level = |&id: &VarId| (format!("one for each value of \"{}\"", self.name(id)), self.size(id));
                let levels: Vec<(String, usize)> = scope.iter().map(level).collect();
                let mut table = Vec::new();
                let help = "the lists run over the scope in order";
                if !self.flatten(nested, &levels, help, &mut table, &mut Vec::new()) {
                    return None;
                }
                // An unreadable number must not hide what is wrong with the others.
                let numbers = table.iter().map(|number| self.read(number).unwrap_or(0.0)).collect();
                if self.errors() > before {
                    self.all_payable(numbers, spec, scope, space, name);
                    return None;
                }
                numbers
            }
            RewardForm::Grid(grid) => self.reward_grid(grid, scope, space, &format!("the table of {name}"))?,
            RewardForm::Rows(rows) => self.reward_rows(rows, spec, scope, space, name)?,
            RewardForm::Named(values) => self.reward_named(values, spec, scope, name)?,
            RewardForm::Sum { base, effects } => self.reward_sum(base, effects, scope, space, name)?,
        };
        self.all_payable(table, spec, scope, space, name)
    }

    /// Checks that all payments are finite and small enough to be summed; reports the first that is not.
    fn all_payable(
        &mut self,
        table: Vec<f64>,
        spec: &RewardSpec,
        scope: &[VarId],
        space: &Space,
        name: &str,
    ) -> Option<Vec<f64>> {
        for (index, &value) in table.iter().enumerate() {
            if !value.is_finite() || value.abs() > MOST_PAID {
                let given = self.combination(scope, &space.digits(index));
                let given = if given.is_empty() { String::new() } else { format!(" for {given}") };
                self.amount(value, &format!("{name}{given}"), spec.at);
                return None;
            }
        }
        Some(table)
    }

    fn reward_rows(
        &mut self,
        rows: &[RewardRow],
        spec: &RewardSpec,
        scope: &[VarId],
        space: &Space,
        name: &str,
    ) -> Option<Vec<f64>> {
        let (rules, values): (Vec<(Rule, Option<At>)>, Vec<f64>) =
            self.reward_rules(rows, scope, name)?.into_iter().unzip();
        let owners = self.owners(&format!("the table of {name}"), scope, space, &rules, spec.at)?;
        let mut table = vec![0.0; space.len()];
        for (r, (&value, (rule, _))) in values.iter().zip(&rules).enumerate() {
            rule.each(space, |index| {
                if owners[index] == r as u32 {
                    table[index] = value;
                }
            });
        }
        Some(table)
    }

    /// The conditions and payments of the rows; `None` if one is invalid.
    fn reward_rules(&mut self, rows: &[RewardRow], scope: &[VarId], name: &str) -> Option<Vec<PaidRule>> {
        let before = self.errors();
        let mut rules = Vec::with_capacity(rows.len());
        for row in rows {
            let value = self.read(&row.value.value);
            if let Some(value) = value {
                self.amount(value, &format!("a value of {name}"), row.value.at.or(row.at));
            }
            if let (Some(rule), Some(value)) = (self.rule(&row.when, scope, &format!("scope of {name}")), value) {
                rules.push(((rule, row.at), value));
            }
        }
        (self.errors() == before).then_some(rules)
    }

    /// `value = { yes = 3.5 }`: by the values of the only variable of the scope.
    fn reward_named(
        &mut self,
        values: &[(Name, Number)],
        spec: &RewardSpec,
        scope: &[VarId],
        name: &str,
    ) -> Option<Vec<f64>> {
        let &[id] = scope else {
            let message = format!("{name} has values by name, but {} variables in its scope", scope.len());
            let effects = scope.first().map_or("x".to_owned(), |&id| super::bare(self.name(id)));
            let help = match scope.len() {
                0 => "name the variable that it depends on, `scope = [\"…\"]`".to_owned(),
                _ => format!("write `sum = {{ effects = {{ {effects} = {{ … }}, … }} }}`, which adds up, or `rows`"),
            };
            self.push(Problem::error("shape", message).help(help).at(spec.at));
            return None;
        };
        self.named_amounts(values, id, name)
    }

    /// Payments by named values of a variable; other values pay nothing.
    fn named_amounts(&mut self, values: &[(Name, Number)], id: VarId, name: &str) -> Option<Vec<f64>> {
        let before = self.errors();
        let mut table = vec![0.0; self.size(id)];
        for (value, amount) in values {
            let (value, amount) = (self.read_at(value), self.read_at(amount));
            let amount = amount.filter(|amount| self.amount(amount.value, &format!("a value of {name}"), amount.at));
            let value = value.and_then(|value| self.value(id, &value));
            if let (Some(v), Some(amount)) = (value, amount) {
                table[v] = amount.value;
            }
        }
        (self.errors() == before).then_some(table)
    }

    fn reward_sum(
        &mut self,
        base: &Written<f64>,
        effects: &[Effect],
        scope: &[VarId],
        space: &Space,
        name: &str,
    ) -> Option<Vec<f64>> {
        let (base, added) = self.sum_parts(base, effects, scope, name)?;
        let value = |index| {
            let effect = |(axis, amounts): (usize, &Vec<Vec<f64>>)| amounts[space.digit(index, axis)][0];
            base + added.iter().enumerate().map(effect).sum::<f64>()
        };
        Some((0..space.len()).map(value).collect())
    }

    /// The base and the effects of a sum, which must be finite.
    fn sum_parts(
        &mut self,
        base: &Written<f64>,
        effects: &[Effect],
        scope: &[VarId],
        name: &str,
    ) -> Option<(f64, Vec<Vec<Vec<f64>>>)> {
        let before = self.errors();
        let base = self.read(base);
        let added = self.effects(effects, scope, &format!("scope of {name}"), Some(1));
        for effect in effects {
            let what = format!("the effect of {} = \"{}\"", effect.parent.value, effect.value.value);
            // Amounts that are unreadable or not a number were already reported.
            for &amount in effect.amounts.iter().filter_map(Written::get).filter(|a| a.is_infinite()) {
                self.finite(amount, &what, effect.at);
            }
        }
        base.zip(added).filter(|_| self.errors() == before)
    }

    /// Checks that every mean lies in the declared range; rounding errors are clamped.
    fn within(
        &mut self,
        mut table: Vec<f64>,
        [lo, hi]: [f64; 2],
        name: &str,
        scope: &[VarId],
        space: &Space,
        at: Option<At>,
    ) -> Option<Vec<f64>> {
        let slack = super::range::slack([lo, hi]);
        for (index, value) in table.iter_mut().enumerate() {
            if *value < lo - slack || *value > hi + slack {
                let given = self.combination(scope, &space.digits(index));
                let given = if given.is_empty() { String::new() } else { format!(" for {given}") };
                let message = format!(
                    "{name} is {}{given}, outside its range from {} to {}",
                    number_text(*value),
                    number_text(lo),
                    number_text(hi)
                );
                self.push(Problem::error("outside-range", message).help("widen the range or change the value").at(at));
                return None;
            }
            *value = value.clamp(lo, hi);
        }
        Some(table)
    }
}
