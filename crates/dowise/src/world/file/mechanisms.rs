//! Reads mechanisms of a world file in all their forms.

use toml::de::{DeTable, DeValue};

use super::node::{Node, Reader, entries, number_of};
use crate::world::{Condition, Effect, Form, Located, Nested, Outcome, Problem, RowSpec, Written};

/// The keys that give a mechanism its numbers.
pub(super) const FORMS: [&str; 5] = ["p", "rows", "csv", "noisy_or", "logit"];

impl Reader<'_> {
    /// The form in a table that may contain at most one.
    pub(super) fn form(&mut self, table: &DeTable<'_>, what: &str) -> Form {
        self.at_most_one(table, what, &FORMS);
        let Some((key, node)) = FORMS.iter().find_map(|k| Some((*k, table.get(*k)?))) else {
            let misspelt = FORMS.iter().any(|key| self.misspelt(table, key));
            return if misspelt { unread_form() } else { Form::Unknown };
        };
        let what = format!("`{key}` of {what}");
        let form = match key {
            "p" => self.probabilities(node, &what),
            "rows" => self.rows(node, &what).map(Form::Rows),
            "csv" => self.csv(node, &what).map(Form::Grid),
            "noisy_or" => self.noisy_or(node, &what),
            "logit" => self.logit(node, &what),
            _ => unreachable!("invariant: every key of FORMS has a reader, `{key}` has none"),
        };
        form.unwrap_or_else(unread_form)
    }

    /// `next`: a table with a form, or nested lists.
    pub(super) fn next(&mut self, node: &Node<'_>, what: &str) -> Form {
        match node.get_ref() {
            DeValue::Array(_) => self.probabilities(node, what).unwrap_or_else(unread_form),
            DeValue::Table(table) => {
                self.known_keys(table, what, &FORMS);
                self.form(table, what)
            }
            _ => {
                self.wrong(node, what, "a table or lists of probabilities");
                unread_form()
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
            let outcome = self.outcome_p(node, what);
            return Some(Form::Rows(vec![RowSpec {
                when: Condition::default(),
                outcome,
                at: self.place(node.span()),
            }]));
        }
        self.list(node, what, "probabilities")?;
        Some(Form::Nested(self.nested(node, what)))
    }

    pub(super) fn nested(&mut self, node: &Node<'_>, what: &str) -> Located<Nested> {
        let value = match node.get_ref() {
            DeValue::Array(items) => Nested::List(items.iter().map(|item| self.nested(item, what)).collect()),
            value => Nested::Number(number_of(value).map(Written::from).unwrap_or_else(|| {
                self.wrong(node, what, "a number or a list");
                Written::UNREAD
            })),
        };
        Located::new(value, self.place(node.span()))
    }

    fn rows(&mut self, node: &Node<'_>, what: &str) -> Option<Vec<RowSpec>> {
        let items = self.list(node, what, "rows")?;
        Some(items.iter().map(|item| self.row(item, what)).collect())
    }

    fn row(&mut self, node: &Node<'_>, what: &str) -> RowSpec {
        let what = format!("a row in {what}");
        let at = self.place(node.span());
        let Some(row) = self.table(node, &what) else {
            return RowSpec { when: Condition::default(), outcome: unread_outcome(), at };
        };
        self.known_keys(row, &what, &["when", "count", "p", "is", "same_as", "shift", "of", "logit", "noisy_or"]);
        let outcomes = ["p", "is", "same_as", "shift", "logit", "noisy_or"];
        self.at_most_one(row, &what, &outcomes);
        let when = self.condition(row, &what);
        let Some((key, value)) = outcomes.iter().find_map(|k| Some((*k, row.get(*k)?))) else {
            if !outcomes.iter().any(|key| self.misspelt(row, key)) {
                let help = "add one of `p`, `is`, `same_as`, `shift`, `logit`, `noisy_or`";
                let problem = Problem::error("missing-key", format!("{what} does not say what happens"));
                self.push(problem.help(help).at(at));
            }
            return RowSpec { when, outcome: unread_outcome(), at };
        };
        let of = row.get("of").map(|n| (n, self.written_name(n, &format!("`of` in {what}"))));
        if let Some((of, _)) = of.as_ref().filter(|_| key != "shift") {
            let problem = Problem::error("unknown-key", format!("{what} has `of` without `shift`"));
            self.push(problem.help("`of` says relative to which parent `shift` moves").at(self.place(of.span())));
        }
        let inner = format!("`{key}` in {what}");
        let outcome = match key {
            "p" => self.outcome_p(value, &inner),
            "is" => Outcome::Is(self.written_name(value, &inner)),
            "same_as" => Outcome::SameAs(self.written_name(value, &inner)),
            "shift" => Outcome::Shift { of: of.map(|(_, name)| name), by: self.shift(value, &inner) },
            "logit" => self.logit(value, &inner).map_or_else(unread_outcome, |form| Outcome::Form(Box::new(form))),
            "noisy_or" => {
                self.noisy_or(value, &inner).map_or_else(unread_outcome, |form| Outcome::Form(Box::new(form)))
            }
            _ => unreachable!("invariant: every outcome has a reader, `{key}` has none"),
        };
        RowSpec { when, outcome, at }
    }

    /// A list of probabilities, or a table of them by value.
    pub(super) fn outcome_p(&mut self, node: &Node<'_>, what: &str) -> Outcome {
        let DeValue::Table(table) = node.get_ref() else {
            return Outcome::Probabilities(self.written_numbers(node, what));
        };
        let mut named = Vec::new();
        for (key, value) in entries(table) {
            let p = self.written_number(value, &format!("`{}` in {what}", key.get_ref()));
            named.push((self.key(key).into(), p));
        }
        Outcome::Named(named)
    }

    fn shift(&mut self, node: &Node<'_>, what: &str) -> Vec<(i64, Written<f64>)> {
        let Some(table) = self.table(node, what) else { return vec![(0, Written::UNREAD)] };
        let mut by = Vec::new();
        for (key, value) in entries(table) {
            let Ok(places) = key.get_ref().parse::<i64>() else {
                let message = format!("`{}` in {what} is not a number of places", key.get_ref());
                let help = "write whole numbers, such as { \"-1\" = 0.2, \"0\" = 0.8 }";
                self.push(Problem::error("wrong-type", message).help(help).at(self.place(key.span())));
                by.push((0, Written::UNREAD));
                continue;
            };
            by.push((places, self.written_number(value, &format!("`{}` in {what}", key.get_ref())).value));
        }
        by
    }

    /// `{ subject = { emoji = 0.3 } }`; an amount is a number or a list of them.
    pub(super) fn effects(&mut self, table: &DeTable<'_>, what: &str) -> Vec<Effect> {
        let Some(node) = table.get("effects") else { return Vec::new() };
        let what = format!("`effects` in {what}");
        let mut effects = Vec::new();
        for (parent, values) in self.table(node, &what).map(entries).unwrap_or_default() {
            let what = format!("`{}` in {what}", parent.get_ref());
            let Some(values) = self.table(values, &what) else { continue };
            for (value, amount) in entries(values) {
                let what = format!("`{}` in {what}", value.get_ref());
                let amounts = self.amounts(amount, &what);
                let (parent, value) = (self.key(parent), self.key(value));
                effects.push(Effect { parent, value, amounts, at: self.place(amount.span()) });
            }
        }
        effects
    }

    fn amounts(&mut self, node: &Node<'_>, what: &str) -> Vec<Written<f64>> {
        match node.get_ref() {
            DeValue::Array(_) => self.written_numbers(node, what),
            _ => vec![self.written_number(node, what).value],
        }
    }

    fn noisy_or(&mut self, node: &Node<'_>, what: &str) -> Option<Form> {
        let table = self.table(node, what)?;
        self.known_keys(table, what, &["leak", "effects"]);
        let leak = match table.get("leak") {
            Some(node) => self.written_number(node, &format!("`leak` in {what}")),
            None => 0.0.into(),
        };
        Some(Form::NoisyOr { leak, effects: self.effects(table, what) })
    }

    fn logit(&mut self, node: &Node<'_>, what: &str) -> Option<Form> {
        let table = self.table(node, what)?;
        self.known_keys(table, what, &["base", "effects"]);
        let base = match table.get("base") {
            Some(base) => self.amounts(base, &format!("`base` in {what}")),
            None => {
                if !self.misspelt(table, "base") {
                    self.missing(what, "base", "add the score without any effect, such as `base = 0.0`", node.span());
                }
                vec![Written::UNREAD]
            }
        };
        Some(Form::Logit { base, effects: self.effects(table, what) })
    }
}

/// An unreadable form.
pub(super) fn unread_form() -> Form {
    Form::Nested(Nested::Number(Written::UNREAD).into())
}

/// An unreadable outcome.
fn unread_outcome() -> Outcome {
    Outcome::Probabilities(vec![Written::UNREAD])
}
