//! Reads low-rank transitions: weights, and for every state factor a row for each latent factor.

use toml::de::{DeTable, DeValue};

use super::node::{Node, Reader, entries};
use crate::world::{AnchorRows, Form, Kind, Located, LowRankSpec, MechanismSpec, Problem, WorldSpec};

impl Reader<'_> {
    /// `[low_rank]`, if there is one; marks its state factors.
    pub(super) fn low_rank(&mut self, top: &DeTable<'_>, spec: &mut WorldSpec) -> Option<LowRankSpec> {
        let node = top.get("low_rank")?;
        let what = "[low_rank]";
        let table = self.table(node, what)?;
        self.known_keys(table, what, &["weights", "next", "learn"]);
        if let Some(learn) = table.get("learn")
            && self.boolean(learn, "`learn` of [low_rank]")?
        {
            self.at_most_one(table, what, &["learn", "next"]);
            self.at_most_one(table, what, &["learn", "weights"]);
            let states = spec.variables.iter().filter(|v| v.kind == Kind::State).map(|v| v.name.clone()).collect();
            self.mark(states, spec);
            return None;
        }
        let weights = match table.get("weights") {
            Some(node) => Some(self.feature_spec(node, "`weights` of [low_rank]")?),
            None => None,
        };
        let Some(next) = table.get("next") else {
            let help = "add the rows of every state factor, such as `next.position = [[…], […]]`";
            self.missing(what, "next", help, node.span());
            return None;
        };
        let next = self.table(next, "`next` of [low_rank]")?;
        let rows: Vec<(Located<String>, AnchorRows)> = entries(next)
            .into_iter()
            .filter_map(|(key, node)| Some((self.key(key), self.anchor_rows(node, key.get_ref())?)))
            .collect();
        self.mark(rows.iter().map(|(name, _)| name.clone()).collect(), spec);
        Some(LowRankSpec { weights, next: rows, at: self.place(node.span()) })
    }

    fn anchor_rows(&mut self, node: &Node<'_>, name: &str) -> Option<AnchorRows> {
        let what = format!("`next.{name}` of [low_rank]");
        let DeValue::Table(table) = node.get_ref() else { return Some(AnchorRows::Nested(self.nested(node, &what))) };
        self.known_keys(table, &what, &["centres", "sd"]);
        let (Some(centres), Some(sd)) = (table.get("centres"), table.get("sd")) else {
            let key = if table.get("sd").is_none() { "sd" } else { "centres" };
            let help = "rows as lists, or `{ centres = […], sd = … }` for normal distributions on the ordered values";
            self.missing(&what, key, help, node.span());
            return None;
        };
        let numbers = self.numbers(centres, &format!("`centres` of {what}"))?;
        let at = self.place(centres.span());
        let sd = Located::new(self.number(sd, &format!("`sd` of {what}"))?, self.place(sd.span()));
        Some(AnchorRows::Normal { centres: numbers.into_iter().map(|c| Located::new(c, at)).collect(), sd })
    }

    /// A state factor with rows there has no table; without a scope it may depend on all state factors and key
    /// variables.
    fn mark(&mut self, names: Vec<Located<String>>, spec: &mut WorldSpec) {
        for name in &names {
            if let Some(stated) = spec.transitions.iter_mut().find(|m| m.children[0].value == name.value) {
                if !matches!(stated.form, Form::Unknown) {
                    let message = format!("state factor \"{}\" has both `next` and rows in [low_rank]", name.value);
                    let at = stated.at;
                    self.push(Problem::error("two-forms", message).help("keep one of them").at(at));
                    continue; // its `next` is still checked
                }
                stated.form = Form::LowRank;
                continue;
            }
            let acts = |kind: Kind| matches!(kind, Kind::State | Kind::Key);
            let parents = spec
                .variables
                .iter()
                .filter(|v| v.kind.get().copied().is_some_and(acts))
                .map(|v| v.name.clone().into())
                .collect();
            let children = vec![name.clone().into()];
            spec.transitions.push(MechanismSpec { children, parents, form: Form::LowRank, learn: None, at: name.at });
        }
    }
}
