//! Traverses a parsed TOML document; every violated expectation becomes a problem with its location.

use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeInteger, DeString, DeTable, DeValue};

use crate::diagnostics::Problems;
use crate::messages::nearest;
use crate::world::{At, Located, Name, Number, Problem, Source, WorldError, Written};

/// A value with its location.
pub(crate) type Node<'i> = Spanned<DeValue<'i>>;

/// Sources and problems so far.
pub(crate) struct Reader<'d> {
    problems: Problems,
    pub(crate) sources: Vec<Source>,
    pub(crate) dir: Option<&'d Path>,
    /// Number of values so far that were declared by count.
    pub(crate) n_values: usize,
}

impl<'d> Reader<'d> {
    pub(crate) fn new(source: Source, dir: Option<&'d Path>) -> Self {
        Reader { problems: Problems::default(), sources: vec![source], dir, n_values: 0 }
    }

    pub(crate) fn push(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Number of problems so far.
    pub(crate) fn n_problems(&self) -> usize {
        self.problems.listed()
    }

    pub(crate) fn failed(&self) -> bool {
        self.problems.errors() > 0
    }

    /// All problems, in the order of the file.
    pub(crate) fn fail(self) -> WorldError {
        let mut problems = self.problems.into_list();
        problems.sort_by_key(|p| p.at.map_or((0, 0), |at| (at.source, at.start)));
        WorldError { problems, sources: self.sources }
    }

    pub(crate) fn done(self) -> (Vec<Problem>, Vec<Source>) {
        (self.problems.into_list(), self.sources)
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

    /// A number, readable or not.
    pub(crate) fn written_number(&mut self, node: &Node<'_>, what: &str) -> Number {
        Located::of(self.number(node, what), self.place(node.span()))
    }

    /// A list of numbers, readable or not; a single unreadable one if it is not a list.
    pub(crate) fn written_numbers(&mut self, node: &Node<'_>, what: &str) -> Vec<Written<f64>> {
        let Some(items) = self.list(node, what, "numbers") else { return vec![Written::UNREAD] };
        items.iter().map(|item| self.written_number(item, what).value).collect()
    }

    /// The name of a variable or a value, readable or not.
    pub(crate) fn written_name(&mut self, node: &Node<'_>, what: &str) -> Name {
        self.name(node, what).map_or(Written::UNREAD.into(), Name::from)
    }

    /// Names, readable or not; a single unreadable one if it is not a list.
    pub(crate) fn written_names(&mut self, node: &Node<'_>, what: &str) -> Vec<Name> {
        let Some(items) = self.list(node, what, "names") else { return vec![Written::UNREAD.into()] };
        items.iter().map(|item| self.written_name(item, what)).collect()
    }

    /// The names under a key; an unreadable one if the key is misspelt, which is reported separately.
    pub(crate) fn names_under(&mut self, table: &DeTable<'_>, key: &str, what: &str) -> Vec<Name> {
        match table.get(key) {
            Some(node) => self.written_names(node, &format!("`{key}` of {what}")),
            None if self.misspelt(table, key) => vec![Written::UNREAD.into()],
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
