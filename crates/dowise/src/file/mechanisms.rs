//! Reading mechanisms in all their forms.

use toml::de::{DeTable, DeValue};

use super::node::{Node, Reader, entries, number_of};
use crate::world::{Condition, Effect, Form, Located, Nested, Outcome, Problem, RowSpec};

/// The keys that give a mechanism its numbers.
pub(super) const FORMS: [&str; 5] = ["p", "rows", "csv", "noisy_or", "logit"];

impl Reader<'_> {
    /// The form in a table that may hold one; at most one.
    pub(super) fn form(&mut self, table: &DeTable<'_>, what: &str) -> Form {
        self.at_most_one(table, what, &FORMS);
        let Some((key, node)) = FORMS.iter().find_map(|k| Some((*k, table.get(*k)?))) else { return Form::Unknown };
        let what = format!("`{key}` of {what}");
        let form = match key {
            "p" => self.probabilities(node, &what),
            "rows" => self.rows(node, &what).map(Form::Rows),
            "csv" => self.csv(node, &what).map(Form::Grid),
            "noisy_or" => self.noisy_or(node, &what),
            "logit" => self.logit(node, &what),
            _ => unreachable!("invariant: every key of FORMS has a reader, `{key}` has none"),
        };
        form.unwrap_or(Form::Unknown)
    }

    /// `next`: a table with a form, or lists in lists.
    pub(super) fn next(&mut self, node: &Node<'_>, what: &str) -> Form {
        match node.get_ref() {
            DeValue::Array(_) => self.probabilities(node, what).unwrap_or(Form::Unknown),
            DeValue::Table(table) => {
                self.known_keys(table, what, &FORMS);
                self.form(table, what)
            }
            _ => {
                self.wrong(node, what, "a table or lists of probabilities");
                Form::Unknown
            }
        }
    }

    pub(super) fn at_most_one(&mut self, table: &DeTable<'_>, what: &str, keys: &[&str]) {
        let given: Vec<&str> = keys.iter().copied().filter(|k| table.get(*k).is_some()).collect();
        if let [first, second, ..] = given.as_slice() {
            let message = format!("{what} has both `{first}` and `{second}`");
            let at = table.get_key_value(*second).and_then(|(key, _)| self.place(key.span()));
            self.push(Problem::error("two-forms", message).help("keep one of them").at(at));
        }
    }

    fn probabilities(&mut self, node: &Node<'_>, what: &str) -> Option<Form> {
        if node.get_ref().is_table() {
            let outcome = self.outcome_p(node, what)?;
            return Some(Form::Rows(vec![RowSpec {
                when: Condition::default(),
                outcome,
                at: self.place(node.span()),
            }]));
        }
        self.list(node, what, "probabilities")?;
        self.nested(node, what).map(Form::Nested)
    }

    pub(super) fn nested(&mut self, node: &Node<'_>, what: &str) -> Option<Located<Nested>> {
        let value = match node.get_ref() {
            DeValue::Array(items) => {
                let parts: Vec<_> = items.iter().filter_map(|item| self.nested(item, what)).collect();
                Nested::List((parts.len() == items.len()).then_some(parts)?)
            }
            value => match number_of(value) {
                Some(number) => Nested::Number(number),
                None => {
                    self.wrong(node, what, "a number or a list");
                    return None;
                }
            },
        };
        Some(Located::new(value, self.place(node.span())))
    }

    fn rows(&mut self, node: &Node<'_>, what: &str) -> Option<Vec<RowSpec>> {
        let items = self.list(node, what, "rows")?;
        Some(items.iter().filter_map(|item| self.row(item, what)).collect())
    }

    fn row(&mut self, node: &Node<'_>, what: &str) -> Option<RowSpec> {
        let what = format!("a row in {what}");
        let row = self.table(node, &what)?;
        self.known_keys(row, &what, &["when", "count", "p", "is", "same_as", "shift", "of", "logit", "noisy_or"]);
        let outcomes = ["p", "is", "same_as", "shift", "logit", "noisy_or"];
        self.at_most_one(row, &what, &outcomes);
        let when = self.condition(row, &what);
        let Some((key, value)) = outcomes.iter().find_map(|k| Some((*k, row.get(*k)?))) else {
            let help = "add one of `p`, `is`, `same_as`, `shift`, `logit`, `noisy_or`";
            let problem = Problem::error("missing-key", format!("{what} does not say what happens"));
            self.push(problem.help(help).at(self.place(node.span())));
            return None;
        };
        let of = row.get("of").map(|n| (n, self.name(n, &format!("`of` in {what}"))));
        if let Some((of, _)) = of.as_ref().filter(|_| key != "shift") {
            let problem = Problem::error("unknown-key", format!("{what} has `of` without `shift`"));
            self.push(problem.help("`of` says relative to which parent `shift` moves").at(self.place(of.span())));
        }
        let inner = format!("`{key}` in {what}");
        let outcome = match key {
            "p" => self.outcome_p(value, &inner)?,
            "is" => Outcome::Is(self.name(value, &inner)?),
            "same_as" => Outcome::SameAs(self.name(value, &inner)?),
            "shift" => Outcome::Shift { of: of.and_then(|(_, name)| name), by: self.shift(value, &inner)? },
            "logit" => Outcome::Form(Box::new(self.logit(value, &inner)?)),
            "noisy_or" => Outcome::Form(Box::new(self.noisy_or(value, &inner)?)),
            _ => unreachable!("invariant: every outcome has a reader, `{key}` has none"),
        };
        Some(RowSpec { when: when?, outcome, at: self.place(node.span()) })
    }

    /// A list of probabilities, or a table of them by value.
    pub(super) fn outcome_p(&mut self, node: &Node<'_>, what: &str) -> Option<Outcome> {
        let DeValue::Table(table) = node.get_ref() else {
            return self.numbers(node, what).map(Outcome::Probabilities);
        };
        let mut named = Vec::new();
        for (key, value) in entries(table) {
            let p = self.number(value, &format!("`{}` in {what}", key.get_ref()))?;
            named.push((self.key(key), Located::new(p, self.place(value.span()))));
        }
        Some(Outcome::Named(named))
    }

    fn shift(&mut self, node: &Node<'_>, what: &str) -> Option<Vec<(i64, f64)>> {
        let table = self.table(node, what)?;
        let mut by = Vec::new();
        for (key, value) in entries(table) {
            let Ok(places) = key.get_ref().parse::<i64>() else {
                let message = format!("`{}` in {what} is not a number of places", key.get_ref());
                let help = "write whole numbers, such as { \"-1\" = 0.2, \"0\" = 0.8 }";
                self.push(Problem::error("wrong-type", message).help(help).at(self.place(key.span())));
                continue;
            };
            by.push((places, self.number(value, &format!("`{}` in {what}", key.get_ref()))?));
        }
        Some(by)
    }

    /// `{ subject = { emoji = 0.3 } }`; an amount is a number or a list of them.
    pub(super) fn effects(&mut self, table: &DeTable<'_>, what: &str) -> Option<Vec<Effect>> {
        let Some(node) = table.get("effects") else { return Some(Vec::new()) };
        let what = format!("`effects` in {what}");
        let mut effects = Vec::new();
        for (parent, values) in entries(self.table(node, &what)?) {
            let what = format!("`{}` in {what}", parent.get_ref());
            let Some(values) = self.table(values, &what) else { continue };
            for (value, amount) in entries(values) {
                let what = format!("`{}` in {what}", value.get_ref());
                let Some(amounts) = self.amounts(amount, &what) else { continue };
                let (parent, value) = (self.key(parent), self.key(value));
                effects.push(Effect { parent, value, amounts, at: self.place(amount.span()) });
            }
        }
        Some(effects)
    }

    fn amounts(&mut self, node: &Node<'_>, what: &str) -> Option<Vec<f64>> {
        match node.get_ref() {
            DeValue::Array(_) => self.numbers(node, what),
            _ => Some(vec![self.number(node, what)?]),
        }
    }

    fn noisy_or(&mut self, node: &Node<'_>, what: &str) -> Option<Form> {
        let table = self.table(node, what)?;
        self.known_keys(table, what, &["leak", "effects"]);
        let leak = match table.get("leak") {
            Some(node) => Located::new(self.number(node, &format!("`leak` in {what}"))?, self.place(node.span())),
            None => 0.0.into(),
        };
        Some(Form::NoisyOr { leak, effects: self.effects(table, what)? })
    }

    fn logit(&mut self, node: &Node<'_>, what: &str) -> Option<Form> {
        let table = self.table(node, what)?;
        self.known_keys(table, what, &["base", "effects"]);
        let Some(base) = table.get("base") else {
            self.missing(what, "base", "add the score without any effect, such as `base = 0.0`", node.span());
            return None;
        };
        Some(Form::Logit {
            base: self.amounts(base, &format!("`base` in {what}"))?,
            effects: self.effects(table, what)?,
        })
    }
}
