//! Reads conditions of a world file: patterns of values, and counts.

use toml::de::{DeTable, DeValue};

use super::node::{Node, Reader, entries};
use crate::world::{Condition, CountSpec, Located, Name, Pattern, Problem, Written};

impl Reader<'_> {
    /// `when` and `count` of a table that may have both.
    pub(super) fn condition(&mut self, table: &DeTable<'_>, what: &str) -> Condition {
        let when = match table.get("when") {
            Some(node) => self.pattern(node, &format!("`when` of {what}")),
            None if self.misspelt(table, "when") => vec![unread_entry()],
            None => Vec::new(),
        };
        let mut condition = Condition { when, counts: Vec::new() };
        let counts: Vec<&Node<'_>> = match table.get("count") {
            None if self.misspelt(table, "count") => {
                condition.when.push(unread_entry());
                Vec::new()
            }
            None => Vec::new(),
            Some(node) => match node.get_ref() {
                DeValue::Array(items) => items.iter().collect(),
                _ => vec![node],
            },
        };
        for node in counts {
            let before = self.n_problems();
            condition.counts.extend(self.count(node, what));
            if self.n_problems() > before {
                condition.when.push(unread_entry());
            }
        }
        condition
    }

    /// `{ loyalty = "new", opened = ["yes", "no"], dose = ">= high" }`
    pub(super) fn pattern(&mut self, node: &Node<'_>, what: &str) -> Pattern {
        let Some(table) = self.table(node, what) else { return vec![unread_entry()] };
        let mut pattern = Vec::new();
        for (key, value) in entries(table) {
            let what = format!("`{}` in {what}", key.get_ref());
            let values = self.pattern_values(value, &what);
            pattern.push((self.key(key).into(), values));
        }
        pattern
    }

    fn pattern_values(&mut self, value: &Node<'_>, what: &str) -> Vec<Name> {
        match value.get_ref() {
            DeValue::Array(_) => self.written_names(value, what),
            DeValue::Table(_) | DeValue::Float(_) | DeValue::Datetime(_) => {
                self.wrong(value, what, "a name or a list of names");
                vec![Written::UNREAD.into()]
            }
            _ => vec![self.written_name(value, what)],
        }
    }

    /// `{ of = ["heart", "pressure"], are = "abnormal", at_least = 1 }`, or `of = { heart = "low", pressure = "high"
    /// }`.
    fn count(&mut self, node: &Node<'_>, what: &str) -> Option<CountSpec> {
        let what = format!("`count` of {what}");
        let table = self.table(node, &what)?;
        self.known_keys(table, &what, &["of", "are", "at_least", "at_most", "exactly"]);
        let Some(of) = table.get("of") else {
            let help = "list the variables to count, `of = [\"…\", \"…\"], are = \"…\"`";
            self.missing(&what, "of", help, node.span());
            return None;
        };
        // A neutral placeholder replaces a missing part, so that the rest is checked.
        let of = match (of.get_ref(), table.get("are")) {
            (DeValue::Array(_), Some(are)) => {
                let values = self.pattern_values(are, &format!("`are` in {what}"));
                let names = self.written_names(of, &format!("`of` in {what}"));
                names.into_iter().map(|name| (name, values.clone())).collect()
            }
            (DeValue::Array(_), None) => {
                let help = "add the value that is counted, `are = \"…\"`, or write `of = { name = \"value\" }`";
                if !self.misspelt(table, "are") {
                    self.missing(&what, "are", help, node.span());
                }
                let names = self.written_names(of, &format!("`of` in {what}"));
                names.into_iter().map(|name| (name, vec!["*".into()])).collect()
            }
            (_, Some(are)) => {
                let problem = Problem::error("two-forms", format!("{what} has values in `of`, and `are` as well"));
                let help = "leave out `are`, or list names alone in `of`";
                self.push(problem.help(help).at(self.place(are.span())));
                self.pattern(of, &format!("`of` in {what}"))
            }
            (_, None) => self.pattern(of, &format!("`of` in {what}")),
        };
        const KEYS: [&str; 3] = ["at_least", "at_most", "exactly"];
        let before = self.n_problems();
        let [mut least, most, exactly] = KEYS.map(|key| self.how_many(table, key, &what));
        if least.is_none() && most.is_none() && exactly.is_none() {
            if self.n_problems() == before && !KEYS.iter().any(|key| self.misspelt(table, key)) {
                let problem = Problem::error("missing-key", format!("{what} does not say how many"));
                let help = "add `at_least`, `at_most` or `exactly`";
                self.push(problem.help(help).at(self.place(node.span())));
            }
            least = Some(1.into());
        }
        if exactly.is_some() && (least.is_some() || most.is_some()) {
            let problem = Problem::error("two-forms", format!("{what} has `exactly` beside `at_least` or `at_most`"));
            self.push(problem.help("keep one of them").at(self.place(node.span())));
        }
        Some(CountSpec {
            of,
            at_least: exactly.clone().or(least),
            at_most: exactly.or(most),
            at: self.place(node.span()),
        })
    }

    /// The count under this key, if it is valid.
    fn how_many(&mut self, table: &DeTable<'_>, key: &str, what: &str) -> Option<Located<u64>> {
        let node = table.get(key)?;
        let number = self.whole(node, &format!("`{key}` in {what}"))?;
        let Ok(number) = u64::try_from(number) else {
            let problem = Problem::error("count", format!("`{key}` in {what} is {number}"));
            self.push(problem.help("write 0 or more").at(self.place(node.span())));
            return None;
        };
        Some(Located::new(number, self.place(node.span())))
    }
}

/// An unreadable condition.
pub(super) fn unread_entry() -> (Name, Vec<Name>) {
    (Written::UNREAD.into(), vec!["*".into()])
}
