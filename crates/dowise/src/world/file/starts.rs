//! Reads the initial-state distribution of a world file.

use toml::de::{DeTable, DeValue};

use super::node::{Node, Reader, entries};
use crate::world::{Located, Outcome, Problem, StartPart, StartRow, StartSpec, WorldSpec, Written};

/// One entry of [[start]].
enum Entry {
    State(StartRow),
    Part(StartPart),
}

impl Reader<'_> {
    /// The initial-state distribution: independent state factors, possibly conditional, or whole states.
    pub(super) fn start(&mut self, top: &DeTable<'_>, spec: &mut WorldSpec) {
        let factors = self.starts_of_factors(top, spec);
        let Some(node) = top.get("start") else {
            spec.start = StartSpec::PerFactor(factors);
            return;
        };
        // `[start]` with a condition is short for a single component.
        let entries: Vec<Entry> = match node.get_ref() {
            DeValue::Table(_) => self.start_entry(node, "[start]").into_iter().collect(),
            _ => {
                let Some(rows) = self.list(node, "`start`", "states, written as [[start]]") else { return };
                rows.iter().filter_map(|row| self.start_entry(row, "[[start]]")).collect()
            }
        };
        let (mut states, mut parts) = (Vec::new(), Vec::new());
        for entry in entries {
            match entry {
                Entry::State(row) => states.push(row),
                Entry::Part(part) => parts.push(part),
            }
        }
        if let (Some(part), false) = (parts.first(), states.is_empty()) {
            let message = "[[start]] gives whole states in one place and a condition in another";
            let help = "write `when` everywhere: `when = { … }` with a value for every state factor is one state";
            self.push(Problem::error("two-forms", message).help(help).at(part.at));
        }
        if let (Some((name, _)), true) = (factors.first(), parts.is_empty()) {
            let message = format!("both [[start]] and `start` of \"{}\" say where episodes start", name.value);
            self.push(Problem::error("two-forms", message).help("keep one of them").at(name.at));
        }
        spec.start = match parts.is_empty() {
            true => StartSpec::States(states),
            false => StartSpec::Mixture { factors, parts },
        };
    }

    fn starts_of_factors(&mut self, top: &DeTable<'_>, spec: &WorldSpec) -> Vec<(Located<String>, Outcome)> {
        let mut factors = Vec::new();
        let state = top.get("state").and_then(|n| n.get_ref().as_table());
        for (key, section) in state.map(entries).unwrap_or_default() {
            let Some(node) = section.get_ref().as_table().and_then(|t| t.get("start")) else { continue };
            let what = format!("`start` of state factor \"{}\"", key.get_ref());
            let values = spec.variables.iter().find(|v| v.name.value == key.get_ref().as_ref()).map(|v| &v.values);
            let has_value = |word: &str| values.is_some_and(|values| values.iter().any(|v| v.value == word));
            let outcome = match node.get_ref() {
                DeValue::String(word) if word == "uniform" && !has_value("uniform") => None,
                DeValue::Array(_) | DeValue::Table(_) => Some(self.outcome_p(node, &what)),
                DeValue::Float(_) | DeValue::Datetime(_) => {
                    self.wrong(node, &what, "a value, probabilities or \"uniform\"");
                    None
                }
                _ => self.name(node, &what).map(|name| Outcome::Is(name.into())),
            };
            factors.extend(outcome.map(|o| (Located::new(key.get_ref().to_string(), self.place(node.span())), o)));
        }
        factors
    }

    fn start_entry(&mut self, node: &Node<'_>, what: &str) -> Option<Entry> {
        let table = self.table(node, what)?;
        self.known_keys(table, what, &["state", "when", "count", "weight"]);
        let weight = match table.get("weight") {
            Some(node) => self.written_number(node, &format!("`weight` of {what}")),
            None => Located::of(Some(1.0), self.place(node.span())),
        };
        self.at_most_one(table, what, &["state", "when"]);
        self.at_most_one(table, what, &["state", "count"]);
        if table.get("when").is_some() || table.get("count").is_some() {
            let when = self.condition(table, what);
            return Some(Entry::Part(StartPart { when, weight, at: self.place(node.span()) }));
        }
        let Some(state) = table.get("state") else {
            let help = "add the value of every state factor, or `when = { … }` with what holds at the start";
            if !["state", "when", "count"].iter().any(|key| self.misspelt(table, key)) {
                self.missing(what, "state", help, node.span());
            }
            let unread = (Written::UNREAD.into(), Written::UNREAD.into());
            return Some(Entry::State(StartRow { state: vec![unread], weight }));
        };
        let state = self.pairs(state, &format!("`state` of {what}"));
        Some(Entry::State(StartRow { state, weight }))
    }
}
