//! Traverses a parsed TOML document; every violated expectation becomes a problem with its location.

use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeInteger, DeString, DeTable, DeValue};

use crate::world::{At, Located, Problem, Severity, Source, WorldError, nearest, unread};

/// A value with its location.
pub(crate) type Node<'i> = Spanned<DeValue<'i>>;

/// Maximum number of reported problems.
const MOST_PROBLEMS: usize = 100;

/// Sources and problems so far.
pub(crate) struct Reader<'d> {
    problems: Vec<Problem>,
    pub(crate) sources: Vec<Source>,
    pub(crate) dir: Option<&'d Path>,
    /// Number of values so far that were declared by count.
    pub(crate) n_values: usize,
}

impl<'d> Reader<'d> {
    pub(crate) fn new(source: Source, dir: Option<&'d Path>) -> Self {
        Reader { problems: Vec::new(), sources: vec![source], dir, n_values: 0 }
    }

    pub(crate) fn push(&mut self, problem: Problem) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(problem);
        }
    }

    /// Number of problems so far.
    pub(crate) fn n_problems(&self) -> usize {
        self.problems.len()
    }

    pub(crate) fn failed(&self) -> bool {
        self.problems.iter().any(|p| p.severity == Severity::Error)
    }

    /// All problems, in the order of the file.
    pub(crate) fn fail(mut self) -> WorldError {
        self.problems.sort_by_key(|p| p.at.map_or((0, 0), |at| (at.source, at.start)));
        WorldError { problems: self.problems, sources: self.sources }
    }

    pub(crate) fn done(self) -> (Vec<Problem>, Vec<Source>) {
        (self.problems, self.sources)
    }

    /// A location in the world file.
    pub(crate) fn place(&self, span: Range<usize>) -> Option<At> {
        Some(At { source: 0, start: span.start, end: span.end })
    }

    /// Reports that something else was expected here.
    pub(crate) fn wrong(&mut self, node: &Node<'_>, what: &str, expected: &str) {
        let message = format!("{what}: expected {expected}, found {}", describe(node.get_ref()));
        self.push(Problem::error("wrong-type", message).at(self.place(node.span())));
    }

    /// Reports a missing key.
    pub(crate) fn missing(&mut self, what: &str, key: &str, help: &str, span: Range<usize>) {
        let message = format!("{what} has no `{key}`");
        self.push(Problem::error("missing-key", message).help(help).at(self.place(span)));
    }

    /// Whether a missing key exists under another spelling, which is reported separately.
    pub(crate) fn misspelt(&self, table: &DeTable<'_>, key: &str) -> bool {
        table.keys().any(|k| nearest(k.get_ref(), [key].into_iter()).is_some())
    }

    /// Checks that every key is one of `known`.
    pub(crate) fn known_keys(&mut self, table: &DeTable<'_>, what: &str, known: &[&str]) {
        for (key, _) in entries(table) {
            let name = key.get_ref().as_ref();
            if known.contains(&name) {
                continue;
            }
            let help = match nearest(name, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    let known: Vec<String> = known.iter().map(|k| format!("`{k}`")).collect();
                    format!("the keys here are {}", known.join(", "))
                }
            };
            let message = format!("{what} has no key `{name}`");
            self.push(Problem::error("unknown-key", message).help(help).at(self.place(key.span())));
        }
    }

    pub(crate) fn table<'a, 'i>(&mut self, node: &'a Node<'i>, what: &str) -> Option<&'a DeTable<'i>> {
        let table = node.get_ref().as_table();
        if table.is_none() {
            self.wrong(node, what, "a table");
        }
        table
    }

    pub(crate) fn list<'a, 'i>(&mut self, node: &'a Node<'i>, what: &str, of: &str) -> Option<&'a [Node<'i>]> {
        match node.get_ref() {
            DeValue::Array(items) => Some(items),
            _ => {
                self.wrong(node, what, &format!("a list of {of}"));
                None
            }
        }
    }

    pub(crate) fn text(&mut self, node: &Node<'_>, what: &str) -> Option<String> {
        let text = node.get_ref().as_str().map(str::to_owned);
        if text.is_none() {
            self.wrong(node, what, "a text");
        }
        text
    }

    pub(crate) fn boolean(&mut self, node: &Node<'_>, what: &str) -> Option<bool> {
        let flag = node.get_ref().as_bool();
        if flag.is_none() {
            self.wrong(node, what, "true or false");
        }
        flag
    }

    pub(crate) fn number(&mut self, node: &Node<'_>, what: &str) -> Option<f64> {
        let number = number_of(node.get_ref());
        if number.is_none() {
            self.wrong(node, what, "a number");
        }
        number
    }

    /// A number, or its placeholder.
    pub(crate) fn number_or_unread(&mut self, node: &Node<'_>, what: &str) -> f64 {
        self.number(node, what).unwrap_or(unread::NUMBER)
    }

    /// A list of numbers or placeholders; a single placeholder if it is not a list.
    pub(crate) fn numbers_or_unread(&mut self, node: &Node<'_>, what: &str) -> Vec<f64> {
        let Some(items) = self.list(node, what, "numbers") else { return vec![unread::NUMBER] };
        items.iter().map(|item| self.number_or_unread(item, what)).collect()
    }

    /// The name of a variable or a value, or its placeholder.
    pub(crate) fn name_or_unread(&mut self, node: &Node<'_>, what: &str) -> Located<String> {
        self.name(node, what).unwrap_or_else(|| unread::NAME.into())
    }

    /// Names or placeholders; a single placeholder if it is not a list.
    pub(crate) fn names_or_unread(&mut self, node: &Node<'_>, what: &str) -> Vec<Located<String>> {
        let Some(items) = self.list(node, what, "names") else { return vec![unread::NAME.into()] };
        items.iter().map(|item| self.name_or_unread(item, what)).collect()
    }

    /// The names under a key; a placeholder if the key is misspelt, which is reported separately.
    pub(crate) fn names_under(&mut self, table: &DeTable<'_>, key: &str, what: &str) -> Vec<Located<String>> {
        match table.get(key) {
            Some(node) => self.names_or_unread(node, &format!("`{key}` of {what}")),
            None if self.misspelt(table, key) => vec![unread::NAME.into()],
            None => Vec::new(),
        }
    }

    pub(crate) fn whole(&mut self, node: &Node<'_>, what: &str) -> Option<i64> {
        let number = node.get_ref().as_integer().and_then(whole_of);
        if number.is_none() {
            self.wrong(node, what, "a whole number");
        }
        number
    }

    /// The name of a variable or of a value; integers and booleans become text.
    pub(crate) fn name(&mut self, node: &Node<'_>, what: &str) -> Option<Located<String>> {
        let name = match node.get_ref() {
            DeValue::String(text) => Some(text.as_ref().to_owned()),
            DeValue::Integer(number) => whole_of(number).map(|n| n.to_string()),
            DeValue::Boolean(flag) => Some(flag.to_string()),
            _ => None,
        };
        if name.is_none() {
            self.wrong(node, what, "a name");
        }
        Some(Located::new(name?, self.place(node.span())))
    }

    pub(crate) fn names(&mut self, node: &Node<'_>, what: &str) -> Option<Vec<Located<String>>> {
        let items = self.list(node, what, "names")?;
        Some(items.iter().filter_map(|item| self.name(item, what)).collect())
    }

    pub(crate) fn numbers(&mut self, node: &Node<'_>, what: &str) -> Option<Vec<f64>> {
        let items = self.list(node, what, "numbers")?;
        let numbers: Vec<f64> = items.iter().filter_map(|item| self.number(item, what)).collect();
        (numbers.len() == items.len()).then_some(numbers)
    }

    /// A key as a name with its location.
    pub(crate) fn key(&self, key: &Spanned<DeString<'_>>) -> Located<String> {
        Located::new(key.get_ref().as_ref().to_owned(), self.place(key.span()))
    }
}

/// The entries of a table in the order of the file.
pub(crate) fn entries<'a, 'i>(table: &'a DeTable<'i>) -> Vec<(&'a Spanned<DeString<'i>>, &'a Node<'i>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

pub(crate) fn number_of(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix()).ok().map(|n| n as f64),
        DeValue::Float(number) => number.as_str().parse().ok(),
        _ => None,
    }
}

pub(crate) fn whole_of(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

fn describe(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(number) if whole_of(number).is_none() => "a number that is too large",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(true) => "true",
        DeValue::Boolean(false) => "false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
