//! Reading conditions: which values of which variables, and how many of them.

use toml::de::{DeTable, DeValue};

use super::node::{Node, Reader, entries};
use crate::world::{Condition, CountSpec, Located, Pattern, Problem};

impl Reader<'_> {
    /// `when` and `count` of a table that may have both.
    pub(super) fn condition(&mut self, table: &DeTable<'_>, what: &str) -> Option<Condition> {
        let when = table.get("when").map_or(Some(Vec::new()), |n| self.pattern(n, &format!("`when` of {what}")));
        let counts = match table.get("count") {
            None => Some(Vec::new()),
            Some(node) => match node.get_ref() {
                DeValue::Array(items) => items.iter().map(|item| self.count(item, what)).collect(),
                _ => self.count(node, what).map(|count| vec![count]),
            },
        };
        Some(Condition { when: when?, counts: counts? })
    }

    /// `{ loyalty = "new", opened = ["yes", "no"], dose = ">= high" }`
    pub(super) fn pattern(&mut self, node: &Node<'_>, what: &str) -> Option<Pattern> {
        let table = self.table(node, what)?;
        let mut pattern = Vec::new();
        for (key, value) in entries(table) {
            let what = format!("`{}` in {what}", key.get_ref());
            let Some(values) = self.pattern_values(value, &what) else { continue };
            pattern.push((self.key(key), values));
        }
        Some(pattern)
    }

    fn pattern_values(&mut self, value: &Node<'_>, what: &str) -> Option<Vec<Located<String>>> {
        match value.get_ref() {
            DeValue::Array(_) => self.names(value, what),
            DeValue::Table(_) | DeValue::Float(_) | DeValue::Datetime(_) => {
                self.wrong(value, what, "a name or a list of names");
                None
            }
            _ => Some(vec![self.name(value, what)?]),
        }
    }

    /// `{ of = ["heart", "pressure"], are = "abnormal", at_least = 1 }`, or `of = { heart = "low", pressure = "high" }`.
    fn count(&mut self, node: &Node<'_>, what: &str) -> Option<CountSpec> {
        let what = format!("`count` of {what}");
        let table = self.table(node, &what)?;
        self.known_keys(table, &what, &["of", "are", "at_least", "at_most", "exactly"]);
        let Some(of) = table.get("of") else {
            let help = "list the variables to count, `of = [\"…\", \"…\"], are = \"…\"`";
            self.missing(&what, "of", help, node.span());
            return None;
        };
        let of = match (of.get_ref(), table.get("are")) {
            (DeValue::Array(_), Some(are)) => {
                let values = self.pattern_values(are, &format!("`are` in {what}"))?;
                self.names(of, &format!("`of` in {what}"))?.into_iter().map(|name| (name, values.clone())).collect()
            }
            (DeValue::Array(_), None) => {
                let help = "add the value that is counted, `are = \"…\"`, or write `of = { name = \"value\" }`";
                self.missing(&what, "are", help, node.span());
                return None;
            }
            (_, Some(are)) => {
                let problem = Problem::error("two-forms", format!("{what} has values in `of`, and `are` as well"));
                let help = "leave out `are`, or list names alone in `of`";
                self.push(problem.help(help).at(self.place(are.span())));
                return None;
            }
            (_, None) => self.pattern(of, &format!("`of` in {what}"))?,
        };
        let [least, most, exactly] = ["at_least", "at_most", "exactly"].map(|key| self.how_many(table, key, &what));
        let (least, most, exactly) = (least?, most?, exactly?);
        if least.is_none() && most.is_none() && exactly.is_none() {
            let problem = Problem::error("missing-key", format!("{what} does not say how many"));
            let help = "add `at_least`, `at_most` or `exactly`";
            self.push(problem.help(help).at(self.place(node.span())));
            return None;
        }
        if exactly.is_some() && (least.is_some() || most.is_some()) {
            let problem = Problem::error("two-forms", format!("{what} has `exactly` beside `at_least` or `at_most`"));
            self.push(problem.help("keep one of them").at(self.place(node.span())));
            return None;
        }
        Some(CountSpec {
            of,
            at_least: exactly.clone().or(least),
            at_most: exactly.or(most),
            at: self.place(node.span()),
        })
    }

    /// A number of variables under this key; outer `None` if it is no such number.
    fn how_many(&mut self, table: &DeTable<'_>, key: &str, what: &str) -> Option<Option<Located<u64>>> {
        let Some(node) = table.get(key) else { return Some(None) };
        let number = self.whole(node, &format!("`{key}` in {what}"))?;
        let Ok(number) = u64::try_from(number) else {
            let problem = Problem::error("count", format!("`{key}` in {what} is {number}"));
            self.push(problem.help("write 0 or more").at(self.place(node.span())));
            return None;
        };
        Some(Some(Located::new(number, self.place(node.span()))))
    }
}
