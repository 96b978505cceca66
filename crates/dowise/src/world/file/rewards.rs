//! Reads reward terms of a world file.

use toml::de::DeTable;

use super::node::{Node, Reader, entries};
use crate::world::{Condition, Located, Nested, Problem, RewardForm, RewardRow, RewardSpec, WorldSpec, Written};

const FORMS: [&str; 4] = ["value", "rows", "csv", "sum"];

impl Reader<'_> {
    pub(super) fn rewards(&mut self, top: &DeTable<'_>, spec: &mut WorldSpec) {
        let terms = top.get("reward").and_then(|node| self.table(node, "`reward`"));
        for (key, node) in terms.map(entries).unwrap_or_default() {
            let what = format!("reward \"{}\"", key.get_ref());
            let Some(table) = self.table(node, &what) else { continue };
            let name = self.key(key);
            spec.rewards.push(self.reward(table, name, &what));
        }
        let Some(table) = top.get("rewards").and_then(|node| self.table(node, "[rewards]")) else { return };
        self.known_keys(table, "[rewards]", &["range"]);
        spec.reward_range = table.get("range").map(|node| self.range(node, "`range` of [rewards]"));
    }

    fn reward(&mut self, table: &DeTable<'_>, name: Located<String>, what: &str) -> RewardSpec {
        self.known_keys(table, what, &["scope", "value", "rows", "csv", "sum", "range", "random", "learn"]);
        self.at_most_one(table, what, &FORMS);
        let found = FORMS.iter().find_map(|k| Some((*k, table.get(*k)?)));
        // An unreadable reward is not an unknown one.
        let unread = || RewardForm::Nested(Nested::Number(Written::UNREAD).into());
        let form = match found {
            Some((key, node)) => self.reward_form(key, node, &format!("`{key}` of {what}")).unwrap_or_else(unread),
            None if FORMS.iter().any(|key| self.misspelt(table, key)) => unread(),
            None => RewardForm::Unknown,
        };
        let scope = self.names_under(table, "scope", what);
        let random = table.get("random").and_then(|n| self.boolean(n, &format!("`random` of {what}")));
        let learn = table.get("learn").and_then(|n| self.boolean(n, &format!("`learn` of {what}")));
        let at = found.and_then(|(_, node)| self.place(node.span())).or(name.at);
        RewardSpec {
            name,
            scope,
            form,
            range: table.get("range").map(|node| self.range(node, &format!("`range` of {what}"))),
            random: random.unwrap_or(false),
            learn: learn.unwrap_or(false),
            at,
        }
    }

    fn reward_form(&mut self, key: &str, node: &Node<'_>, what: &str) -> Option<RewardForm> {
        match key {
            "value" if node.get_ref().is_table() => Some(RewardForm::Named(self.amounts_by_name(node, what))),
            "value" => Some(RewardForm::Nested(self.nested(node, what))),
            "csv" => self.csv(node, what).map(RewardForm::Grid),
            "rows" => {
                let items = self.list(node, what, "rows")?;
                Some(RewardForm::Rows(items.iter().map(|item| self.reward_row(item, what)).collect()))
            }
            "sum" => {
                let table = self.table(node, what)?;
                self.known_keys(table, what, &["base", "effects"]);
                let base = table
                    .get("base")
                    .map_or(0.0.into(), |n| self.written_number(n, &format!("`base` in {what}")).value);
                Some(RewardForm::Sum { base, effects: self.effects(table, what) })
            }
            _ => unreachable!("invariant: every key of FORMS has a reader, `{key}` has none"),
        }
    }

    fn reward_row(&mut self, node: &Node<'_>, what: &str) -> RewardRow {
        let what = format!("a row in {what}");
        let at = self.place(node.span());
        let Some(row) = self.table(node, &what) else {
            return RewardRow { when: Condition::default(), value: Written::UNREAD.into(), at };
        };
        self.known_keys(row, &what, &["when", "count", "value"]);
        let when = self.condition(row, &what);
        let value = match row.get("value") {
            Some(value) => self.written_number(value, &format!("`value` in {what}")),
            None => {
                if !self.misspelt(row, "value") {
                    self.missing(&what, "value", "add the reward, such as `value = 1.0`", node.span());
                }
                Written::UNREAD.into()
            }
        };
        RewardRow { when, value, at }
    }

    /// The range of a reward; an unreadable one prevents further messages about a missing range.
    fn range(&mut self, node: &Node<'_>, what: &str) -> Located<Written<[f64; 2]>> {
        let at = self.place(node.span());
        let numbers = self.numbers(node, what);
        let ends = numbers.as_deref().and_then(|numbers| <[f64; 2]>::try_from(numbers).ok());
        if let (Some(numbers), None) = (&numbers, ends) {
            let message = format!("{what}: expected two numbers, the least and the greatest, found {}", numbers.len());
            self.push(Problem::error("wrong-type", message).at(at));
        }
        Located::of(ends, at)
    }
}
