//! What else is wrong with a file in which something could not be read: mistakes that do not follow from that.

use std::collections::BTreeSet;

use toml::de::DeTable;

use super::Reader;
use super::node::entries;
use crate::world::{Problem, Severity, World, WorldSpec};

impl Reader<'_> {
    /// Adds the errors of a world of which some parts could not be read, except those that these parts may have caused: errors in
    /// the same section of the file, and errors that speak of what such a section declares.
    pub(super) fn add_independent(&mut self, top: &DeTable<'_>, keys: &[&str], spec: WorldSpec) {
        let Err(error) = World::new(spec) else { return };
        let text = self.sources[0].text.clone();
        let headers = headers(&text);
        let section = |problem: &Problem| {
            let at = problem.at.filter(|at| at.source == 0)?;
            Some(headers.partition_point(|(start, _)| *start <= at.start))
        };
        let broken: BTreeSet<usize> = self.errors().filter_map(section).collect();
        let declared = broken.iter().filter_map(|&n| Some(headers[n.checked_sub(1)?].1.clone()));
        let mut names: BTreeSet<String> = declared.collect();
        for (key, node) in entries(top).into_iter().filter(|(key, _)| !keys.contains(&key.get_ref().as_ref())) {
            names.insert(key.get_ref().to_string());
            let inner = node.get_ref().as_table().map(entries).unwrap_or_default();
            names.extend(inner.into_iter().map(|(key, _)| key.get_ref().to_string()));
        }
        let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        for problem in error.problems {
            let independent = problem.severity == Severity::Error
                && section(&problem).is_some_and(|n| !broken.contains(&n))
                && !quoted.iter().any(|name| problem.message.contains(name));
            if independent {
                self.push(problem);
            }
        }
    }
}

/// Where the sections of a file begin, and the last part of each one's name: `subject` for `[lever.subject]`.
fn headers(text: &str) -> Vec<(usize, String)> {
    let mut headers = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let inner = line.split('#').next().unwrap_or("").trim();
        if let Some(inner) = inner.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            let name = inner.trim_matches(['[', ']', ' ']);
            // Lists in lists begin like this as well, but with a number, or with several parts.
            if !name.is_empty() && !name.contains([',', '[', '{', '=']) && !name.starts_with(|c: char| c.is_numeric()) {
                let last = name.rsplit_once('.').map_or(name, |(_, last)| last);
                headers.push((start, last.trim().trim_matches(['"', '\'']).to_owned()));
            }
        }
        start += line.len();
    }
    headers
}
