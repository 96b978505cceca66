//! Reads the features of a world for linear learners.

use toml::de::DeTable;

use super::node::{Node, Reader};
use crate::messages::nearest;
use crate::world::{FeatureForm, FeatureSpec, Located, Problem};

const KINDS: [&str; 6] = ["one-hot", "factors", "polynomial", "radial", "table", "mean"];

impl Reader<'_> {
    /// `[features]`, if there is one.
    pub(super) fn features(&mut self, top: &DeTable<'_>) -> Option<FeatureSpec> {
        self.feature_spec(top.get("features")?, "[features]")
    }

    /// Features as a table; `what` is the context, for messages.
    pub(super) fn feature_spec(&mut self, node: &Node<'_>, what: &str) -> Option<FeatureSpec> {
        let table = self.table(node, what)?;
        let Some(kind) = table.get("kind") else {
            let help = format!("add one of {}", KINDS.map(|k| format!("\"{k}\"")).join(", "));
            self.missing(what, "kind", &help, node.span());
            return None;
        };
        let name = self.text(kind, &format!("`kind` of {what}"))?;
        let keys: &[&str] = match name.as_str() {
            "one-hot" => &["kind"],
            "factors" => &["kind", "scopes"],
            "polynomial" => &["kind", "scope", "degree"],
            "radial" => &["kind", "scope", "centres", "width"],
            "table" => &["kind", "scope", "value", "csv", "scale"],
            "mean" => &["kind", "tables"],
            _ => {
                let help = match nearest(&name, KINDS.iter().copied()) {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("the kinds are {}", KINDS.map(|k| format!("\"{k}\"")).join(", ")),
                };
                let message = format!("there are no features of kind \"{name}\"");
                self.push(Problem::error("unknown-name", message).help(help).at(self.place(kind.span())));
                return None;
            }
        };
        self.known_keys(table, &format!("{what} of kind \"{name}\""), keys);
        let form = self.feature_form(&name, table, node, what)?;
        let scale = table.get("scale").and_then(|n| self.boolean(n, &format!("`scale` of {what}"))).unwrap_or(false);
        Some(FeatureSpec { form, scale, at: self.place(node.span()) })
    }

    fn feature_form(&mut self, kind: &str, table: &DeTable<'_>, node: &Node<'_>, whose: &str) -> Option<FeatureForm> {
        let scope = match table.get("scope") {
            Some(node) => Some(self.names(node, &format!("`scope` of {whose}"))?),
            None => None,
        };
        match kind {
            "one-hot" => Some(FeatureForm::OneHot),
            "factors" => {
                let Some(node) = table.get("scopes") else { return Some(FeatureForm::Factors { scopes: None }) };
                let what = format!("`scopes` of {whose}");
                let items = self.list(node, &what, "lists of names")?;
                let scopes: Vec<_> = items.iter().filter_map(|item| self.names(item, &what)).collect();
                (scopes.len() == items.len()).then_some(FeatureForm::Factors { scopes: Some(scopes) })
            }
            "polynomial" => {
                let help = "add the greatest total degree, such as `degree = 2`";
                let degree = self.natural(table, "degree", help, node, whose)?;
                Some(FeatureForm::Polynomial { scope, degree })
            }
            "radial" => {
                let help = "add the number of bumps for each variable, such as `centres = 3`";
                let centres = self.natural(table, "centres", help, node, whose)?;
                let width = match table.get("width") {
                    Some(n) => Located::new(self.number(n, &format!("`width` of {whose}"))?, self.place(n.span())),
                    None => 1.0.into(),
                };
                Some(FeatureForm::Radial { scope, centres, width })
            }
            "mean" => {
                let Some(node) = table.get("tables") else {
                    let help = "add `tables = [{ kind = \"table\", scope = […], value = […] }, …]`";
                    self.missing(whose, "tables", help, node.span());
                    return None;
                };
                let items = self.list(node, &format!("`tables` of {whose}"), "features of kind \"table\"")?;
                let specs: Vec<_> = (items.iter().enumerate())
                    .filter_map(|(i, item)| self.feature_spec(item, &format!("table {} of {whose}", i + 1)))
                    .collect();
                (specs.len() == items.len()).then_some(FeatureForm::Mean { tables: specs })
            }
            _ => {
                self.at_most_one(table, whose, &["value", "csv"]);
                if let Some(node) = table.get("csv") {
                    return Some(FeatureForm::Grid { scope, grid: self.csv(node, &format!("`csv` of {whose}"))? });
                }
                let Some(value) = table.get("value") else {
                    let help = "add the numbers as `value = [...]`, or a file as `csv = \"features.csv\"`";
                    self.missing(whose, "value", help, node.span());
                    return None;
                };
                Some(FeatureForm::Nested { scope, value: self.nested(value, &format!("`value` of {whose}")) })
            }
        }
    }

    /// A required nonnegative integer.
    fn natural(
        &mut self,
        table: &DeTable<'_>,
        key: &str,
        help: &str,
        node: &Node<'_>,
        whose: &str,
    ) -> Option<Located<u64>> {
        let Some(found) = table.get(key) else {
            self.missing(whose, key, help, node.span());
            return None;
        };
        let whole = self.whole(found, &format!("`{key}` of {whose}"))?;
        let Ok(number) = u64::try_from(whole) else {
            let problem = Problem::error("features", format!("`{key}` of {whose} is {whole}"));
            self.push(problem.help("a whole number from 0 on").at(self.place(found.span())));
            return None;
        };
        Some(Located::new(number, self.place(found.span())))
    }
}
