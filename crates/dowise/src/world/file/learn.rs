//! Reads the learning options of a mechanism.

use toml::de::DeValue;

use super::node::{Node, Reader};
use crate::world::{LearnSpec, Located};

impl Reader<'_> {
    /// `learn = "logit"`, or a table with `form`, `interactions`, `sd` and `weight`.
    pub(super) fn learn(&mut self, node: &Node<'_>, what: &str) -> Option<LearnSpec> {
        let what = format!("`learn` of {what}");
        let at = self.place(node.span());
        let table = match node.get_ref() {
            DeValue::String(word) => {
                let form = Some(Located::new(word.to_string(), at));
                return Some(LearnSpec { form, at, ..LearnSpec::default() });
            }
            DeValue::Table(table) => table,
            _ => {
                self.wrong(
                    node,
                    &what,
                    "\"table\", \"logit\", \"noisy_or\" or a table such as { form = \"logit\", sd = 0.5 }",
                );
                return None;
            }
        };
        self.known_keys(table, &what, &["form", "interactions", "sd", "weight", "known", "told"]);
        let form = table.get("form").and_then(|n| self.name(n, &format!("`form` in {what}")));
        let mut interactions = Vec::new();
        if let Some(node) = table.get("interactions") {
            let what = format!("`interactions` in {what}");
            for item in self.list(node, &what, "lists of parents")? {
                interactions.extend(self.names(item, &what));
            }
        }
        let mut number = |key: &str| {
            let node = table.get(key)?;
            let number = self.number(node, &format!("`{key}` in {what}"))?;
            Some(Located::new(number, self.place(node.span())))
        };
        let (sd, weight) = (number("sd"), number("weight"));
        // `told` is the former name of `known`.
        let flag = table.get("known").or_else(|| table.get("told"));
        let known = flag.and_then(|n| self.boolean(n, &format!("`known` in {what}"))).unwrap_or(false);
        Some(LearnSpec { form, interactions, sd, weight, known, at })
    }
}
