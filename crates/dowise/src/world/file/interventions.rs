//! Reads the allowed interventions of a world file.

use toml::de::DeValue;

use super::conditions::unread_entry;
use super::node::{Node, Reader, entries};
use crate::messages::nearest;
use crate::world::{ForbidSpec, InterventionSpec, Located, Name, Problem, SetSpec, Written};

impl Reader<'_> {
    pub(super) fn interventions(&mut self, node: &Node<'_>) -> InterventionSpec {
        let what = "[interventions]";
        let Some(table) = self.table(node, what) else { return InterventionSpec::default() };
        self.known_keys(table, what, &["set", "forbid"]);
        // An unreadable set counts as all interventions, so that nothing is reported missing because of it.
        let set = table.get("set").map(|node| self.set(node).unwrap_or(SetSpec::Any)).unwrap_or_default();
        let rules =
            table.get("forbid").and_then(|n| self.list(n, "`forbid`", "rules, written as [[interventions.forbid]]"));
        let forbid = rules.unwrap_or_default().iter().filter_map(|rule| self.forbid(rule)).collect();
        let at = table.get("set").map_or(node.span(), |set| set.span());
        InterventionSpec { set, forbid, at: self.place(at) }
    }

    fn set(&mut self, node: &Node<'_>) -> Option<SetSpec> {
        let what = "`set` of [interventions]";
        match node.get_ref() {
            DeValue::String(word) => match word.as_ref() {
                "all" => Some(SetSpec::All),
                "any" => Some(SetSpec::Any),
                other => {
                    let help = match nearest(other, ["all", "any"].into_iter()) {
                        Some(near) => format!("did you mean \"{near}\"?"),
                        None => "write \"all\", \"any\", { at_most = 2 } or a list of interventions".to_owned(),
                    };
                    let message = format!("\"{other}\" does not say which interventions are allowed");
                    self.push(Problem::error("unknown-value", message).help(help).at(self.place(node.span())));
                    None
                }
            },
            DeValue::Table(table) => {
                self.known_keys(table, what, &["at_most"]);
                let Some(most) = table.get("at_most") else {
                    self.missing(what, "at_most", "write { at_most = 2 }", node.span());
                    return None;
                };
                let count = self.whole(most, "`at_most`")?;
                let Ok(count) = u64::try_from(count) else {
                    let problem = Problem::error("at-most", format!("at_most is {count}")).help("write 0 or more");
                    self.push(problem.at(self.place(most.span())));
                    return None;
                };
                Some(SetSpec::AtMost(Located::new(count, self.place(most.span()))))
            }
            DeValue::Array(items) => {
                let entry = |reader: &mut Self, item| reader.pairs(item, "an intervention in `set`");
                Some(SetSpec::List(items.iter().map(|item| entry(self, item)).collect()))
            }
            _ => {
                self.wrong(node, what, "\"all\", \"any\", { at_most = 2 } or a list of interventions");
                None
            }
        }
    }

    /// `{ subject = "emoji", discount = "10%" }`
    pub(super) fn pairs(&mut self, node: &Node<'_>, what: &str) -> Vec<(Name, Name)> {
        let Some(table) = self.table(node, what) else { return vec![(Written::UNREAD.into(), Written::UNREAD.into())] };
        let mut pairs = Vec::new();
        for (key, value) in entries(table) {
            let value = self.written_name(value, &format!("`{}` in {what}", key.get_ref()));
            pairs.push((self.key(key).into(), value));
        }
        pairs
    }

    fn forbid(&mut self, node: &Node<'_>) -> Option<ForbidSpec> {
        let what = "[[interventions.forbid]]";
        let table = self.table(node, what)?;
        self.known_keys(table, what, &["when", "levers"]);
        let mut part = |key: &str| match table.get(key) {
            Some(node) => self.pattern(node, &format!("`{key}` of {what}")),
            None if self.misspelt(table, key) => vec![unread_entry()],
            None => Vec::new(),
        };
        let (when, levers) = (part("when"), part("levers"));
        Some(ForbidSpec { when, levers, at: self.place(node.span()) })
    }
}
