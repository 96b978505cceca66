//! Reads log maps: TOML into a [`LogMap`], validated against the world, with the location of every mistake.

use toml::de::DeTable;

use super::{Bins, LogMap, all_columns, role_of};
use crate::messages::nearest;
use crate::world::file::node::{Node, Reader, entries};
use crate::world::{At, Located, Problem, Source, Variable, World, WorldError};

impl LogMap {
    /// Reads a map for logs of a world; `name` is shown in messages.
    pub fn from_toml(text: &str, name: &str, world: &World) -> Result<LogMap, WorldError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader = Reader::new(Source { name: name.to_owned(), text: text.to_owned() }, None);
        let (document, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            let at = error.span().map(|span| At { source: 0, start: span.start, end: span.end });
            reader.push(Problem::error("syntax", format!("not TOML: {}", error.message())).at(at));
        }
        if reader.failed() {
            return Err(reader.fail());
        }
        let map = reader.log_map(document.get_ref(), world);
        if reader.failed() { Err(reader.fail()) } else { Ok(map) }
    }
}

impl Reader<'_> {
    fn log_map(&mut self, top: &DeTable<'_>, world: &World) -> LogMap {
        self.known_keys(top, "a map", &["missing", "decimal", "first_stage", "columns", "values", "bins"]);
        let mut map = LogMap::default();
        let missing = top.get("missing").and_then(|node| self.names(node, "`missing`"));
        map.missing = missing.unwrap_or_default().into_iter().map(|m| m.value).collect();
        if let Some(node) = top.get("decimal")
            && let Some(text) = self.text(node, "`decimal`")
        {
            map.decimal_comma = text == ",";
            if text != "," && text != "." {
                self.wrong(node, "`decimal`", "\",\" or \".\"");
            }
        }
        if let Some(first) = top.get("first_stage").and_then(|node| self.whole(node, "`first_stage`")) {
            map.before_first_stage = first.saturating_sub(1);
        }
        self.log_columns(top, world, &mut map);
        if let Some(table) = top.get("values").and_then(|node| self.table(node, "`values`")) {
            for (key, node) in entries(table) {
                let column = self.key(key);
                self.log_values(&column, node, world, &mut map);
            }
        }
        if let Some(table) = top.get("bins").and_then(|node| self.table(node, "`bins`")) {
            for (key, node) in entries(table) {
                let column = self.key(key);
                if let Some(variable) = self.log_variable(&column, world)
                    && let Some(bins) = self.log_bins(&column.value, node, variable)
                {
                    map.entry(&variable.name).bins = Some(bins);
                }
            }
        }
        map
    }

    fn log_columns(&mut self, top: &DeTable<'_>, world: &World, map: &mut LogMap) {
        let Some(table) = top.get("columns").and_then(|node| self.table(node, "`columns`")) else { return };
        let known = all_columns(world);
        for (key, node) in entries(table) {
            let from = self.key(key);
            let Some(to) = self.name(node, "the new name of a column") else { continue };
            // An empty name excludes the column.
            if !to.value.is_empty() && role_of(&known, &to.value).is_none() {
                let near = nearest(&to.value, known.iter().map(|(name, _)| name.as_str()));
                let turned = role_of(&known, &from.value).is_some();
                let help = match near {
                    _ if turned => {
                        format!("the column of the log comes first: \"{}\" = \"{}\"", to.value, from.value)
                    }
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => "give the name of a column of this world's logs".to_owned(),
                };
                let message = format!("logs of this world have no column \"{}\"", to.value);
                self.push(Problem::error("unknown-name", message).help(help).at(to.at));
            }
            map.columns.push((from.value, to.value));
        }
    }

    /// The observed variable of this name.
    fn log_variable<'w>(&mut self, name: &Located<String>, world: &'w World) -> Option<&'w Variable> {
        let observed =
            || [world.state(), world.levers(), world.keys()].into_iter().flatten().map(|&id| world.variable(id));
        let found = observed().find(|v| v.name == name.value);
        if found.is_none() {
            let help = match nearest(&name.value, observed().map(|v| v.name.as_str())) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => "name a state factor, a lever or a key variable, as in the world".to_owned(),
            };
            let message = format!("there is no observed variable \"{}\"", name.value);
            self.push(Problem::error("unknown-name", message).help(help).at(name.at));
        }
        found
    }

    fn log_values(&mut self, column: &Located<String>, node: &Node<'_>, world: &World, map: &mut LogMap) {
        const FLAGS: [&str; 6] = ["0", "1", "no", "yes", "false", "true"];
        let own: Option<(String, Vec<&str>)> = match column.value.as_str() {
            "end" | "log.end" => Some((column.value.clone(), vec!["terminated", "truncated"])),
            name @ ("randomised" | "log.randomised") if world.find(name).is_none() => {
                Some((column.value.clone(), FLAGS.to_vec()))
            }
            name if name.strip_prefix("set.").is_some_and(|l| world.find(l).is_some())
                && world.find(name).is_none() =>
            {
                Some((column.value.clone(), FLAGS.to_vec()))
            }
            _ => self
                .log_variable(column, world)
                .map(|v| (v.name.clone(), v.values.iter().map(String::as_str).collect())),
        };
        let Some((name, known)) = own else { return };
        let Some(table) = self.table(node, "values of a column") else { return };
        for (key, node) in entries(table) {
            let Some(value) = self.name(node, "a value") else { continue };
            if !value.value.is_empty() && !known.contains(&value.value.as_str()) {
                self.unknown_value(&value, &name, &known);
                continue;
            }
            let value = Some(value.value).filter(|v| !v.is_empty());
            map.entry(&name).values.push((key.get_ref().as_ref().to_owned(), value));
        }
    }

    fn unknown_value(&mut self, value: &Located<String>, of: &str, known: &[&str]) {
        let help = match nearest(&value.value, known.iter().copied()) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("it has {}", known.iter().take(8).copied().collect::<Vec<_>>().join(", ")),
        };
        let message = format!("\"{}\" is no value of \"{of}\"", value.value);
        self.push(Problem::error("unknown-value", message).help(help).at(value.at));
    }

    fn log_bins(&mut self, name: &str, node: &Node<'_>, variable: &Variable) -> Option<Bins> {
        let table = self.table(node, "bins")?;
        self.known_keys(table, "bins", &["edges", "labels"]);
        let Some(edges_node) = table.get("edges") else {
            self.missing(&format!("bins of \"{name}\""), "edges", "give the numbers between the bins", node.span());
            return None;
        };
        let edges = self.numbers(edges_node, "`edges`")?;
        if !edges.iter().all(|e| e.is_finite()) || !edges.windows(2).all(|w| w[0] < w[1]) {
            let problem = Problem::error("edges", "`edges` have to be finite and to increase");
            self.push(problem.help("sort them, and write each once").at(self.place(edges_node.span())));
            return None;
        }
        let labels = match table.get("labels") {
            None => variable.values.iter().map(|v| Located::from(v.as_str())).collect(),
            Some(node) => self.names(node, "`labels`")?,
        };
        let known: Vec<&str> = variable.values.iter().map(String::as_str).collect();
        for label in labels.iter().filter(|l| !known.contains(&l.value.as_str())) {
            self.unknown_value(label, name, &known);
        }
        if labels.len() != edges.len() + 1 {
            let message =
                format!("{} edges make {} bins, but there are {} labels", edges.len(), edges.len() + 1, labels.len());
            let problem = Problem::error("edges", message).help("give one edge less than labels");
            self.push(problem.at(self.place(edges_node.span())));
        }
        Some(Bins { edges, labels: labels.into_iter().map(|l| l.value).collect() })
    }
}
