//! Reading variables with their mechanisms, joint tables, and where episodes start.

use toml::de::{DeTable, DeValue};

use super::mechanisms::FORMS;
use super::node::{Node, Reader, entries, whole_of};
use crate::world::{
    Kind, Located, MOST_VALUES, MOST_VALUES_IN_ALL, MechanismSpec, Outcome, Problem, StartRow, StartSpec, VariableSpec,
    WorldSpec, too_many_values,
};

impl Reader<'_> {
    /// All variables, kind by kind, in the order of the file.
    pub(super) fn variables(&mut self, top: &DeTable<'_>, spec: &mut WorldSpec) {
        for kind in [Kind::State, Kind::Lever, Kind::Key, Kind::Hidden] {
            let Some(node) = top.get(kind.word()) else { continue };
            let Some(table) = self.table(node, &format!("`{}`", kind.word())) else { continue };
            for (key, node) in entries(table) {
                let what = format!("{} \"{}\"", kind.describe(), key.get_ref());
                let Some(section) = self.table(node, &what) else { continue };
                let name = self.key(key);
                self.variable(section, kind, name, &what, spec);
            }
        }
        if let Some(node) = top.get("joint") {
            let tables: Vec<&Node<'_>> = match node.get_ref() {
                DeValue::Array(items) => items.iter().collect(),
                _ => vec![node],
            };
            tables.iter().for_each(|node| self.joint(node, spec));
        }
    }

    fn variable(&mut self, section: &DeTable<'_>, kind: Kind, name: Located<String>, what: &str, spec: &mut WorldSpec) {
        let own: &[&str] = match kind {
            Kind::State => &["values", "scope", "next", "start"],
            Kind::Lever => &["values", "cost", "parents", "p", "rows", "csv", "noisy_or", "logit", "learn"],
            Kind::Key | Kind::Hidden => &["values", "parents", "p", "rows", "csv", "noisy_or", "logit", "learn"],
        };
        self.known_keys(section, what, own);
        let values = match section.get("values") {
            Some(node) => self.values(node, &format!("`values` of {what}")).unwrap_or_default(),
            None => {
                if let Some(at) = name.at.filter(|_| !self.misspelt(section, "values")) {
                    self.missing(what, "values", "add them, such as `values = [\"no\", \"yes\"]`", at.start..at.end);
                }
                Vec::new()
            }
        };
        let values_at = section.get("values").and_then(|node| self.place(node.span()));
        let costs = section.get("cost").and_then(|node| self.costs(node, what)).unwrap_or_default();

        let (inputs, form_given) = match kind {
            Kind::State => ("scope", section.get("next").is_some()),
            Kind::Lever | Kind::Key | Kind::Hidden => {
                ("parents", FORMS.iter().chain(&["learn"]).any(|k| section.get(*k).is_some()))
            }
        };
        if form_given || section.get(inputs).is_some() {
            let parents = section.get(inputs).and_then(|n| self.names(n, &format!("`{inputs}` of {what}")));
            let form = match section.get("next") {
                Some(next) if kind == Kind::State => self.next(next, &format!("`next` of {what}")),
                _ => self.form(section, what),
            };
            let at = section.get("next").and_then(|n| self.place(n.span())).or(name.at);
            let learn = section.get("learn").filter(|_| kind != Kind::State).and_then(|n| self.learn(n, what));
            let mechanism =
                MechanismSpec { children: vec![name.clone()], parents: parents.unwrap_or_default(), form, learn, at };
            if kind == Kind::State { &mut spec.transitions } else { &mut spec.mechanisms }.push(mechanism);
        }
        spec.variables.push(VariableSpec { name, kind, values, values_at, costs });
    }

    /// A list of names, or a number n for the names 0 to n − 1.
    fn values(&mut self, node: &Node<'_>, what: &str) -> Option<Vec<Located<String>>> {
        let DeValue::Integer(number) = node.get_ref() else { return self.names(node, what) };
        match whole_of(number).and_then(|n| usize::try_from(n).ok()).filter(|&n| n <= MOST_VALUES) {
            Some(n) if self.n_values + n > MOST_VALUES_IN_ALL => {
                self.push(too_many_values((self.n_values + n) as u128).at(self.place(node.span())));
                None
            }
            Some(n) => {
                self.n_values += n;
                Some((0..n).map(|v| Located::new(v.to_string(), self.place(node.span()))).collect())
            }
            None => {
                let message = format!("{what} are {number}, which is not a number of values from 1 to {MOST_VALUES}");
                let problem = Problem::error("too-large", message).help("write how many there are, or list them");
                self.push(problem.at(self.place(node.span())));
                None
            }
        }
    }

    fn costs(&mut self, node: &Node<'_>, what: &str) -> Option<Vec<(Located<String>, Located<f64>)>> {
        let what = format!("`cost` of {what}");
        let mut costs = Vec::new();
        for (key, value) in entries(self.table(node, &what)?) {
            let cost = self.number(value, &format!("`{}` in {what}", key.get_ref()))?;
            costs.push((self.key(key), Located::new(cost, self.place(value.span()))));
        }
        Some(costs)
    }

    fn joint(&mut self, node: &Node<'_>, spec: &mut WorldSpec) {
        let what = "a joint table";
        let Some(table) = self.table(node, what) else { return };
        self.known_keys(table, what, &["keys", "parents", "p", "rows", "csv", "learn"]);
        let Some(keys) = table.get("keys") else {
            self.missing(what, "keys", "list the key variables that it decides together", node.span());
            return;
        };
        let children = self.names(keys, "`keys` of a joint table").unwrap_or_default();
        let parents = table.get("parents").and_then(|n| self.names(n, "`parents` of a joint table"));
        let form = self.form(table, what);
        let at = self.place(keys.span());
        let learn = table.get("learn").and_then(|n| self.learn(n, what));
        spec.mechanisms.push(MechanismSpec { children, parents: parents.unwrap_or_default(), form, learn, at });
    }

    /// Where episodes start: whole states, or each state factor by itself.
    pub(super) fn start(&mut self, top: &DeTable<'_>, spec: &mut WorldSpec) {
        let mut factors = Vec::new();
        let state = top.get("state").and_then(|n| n.get_ref().as_table());
        for (key, section) in state.map(entries).unwrap_or_default() {
            let Some(node) = section.get_ref().as_table().and_then(|t| t.get("start")) else { continue };
            let what = format!("`start` of state factor \"{}\"", key.get_ref());
            let values = spec.variables.iter().find(|v| v.name.value == key.get_ref().as_ref()).map(|v| &v.values);
            let has_value = |word: &str| values.is_some_and(|values| values.iter().any(|v| v.value == word));
            let outcome = match node.get_ref() {
                DeValue::String(word) if word == "uniform" && !has_value("uniform") => None,
                DeValue::Array(_) | DeValue::Table(_) => self.outcome_p(node, &what),
                DeValue::Float(_) | DeValue::Datetime(_) => {
                    self.wrong(node, &what, "a value, probabilities or \"uniform\"");
                    None
                }
                _ => self.name(node, &what).map(Outcome::Is),
            };
            factors.extend(outcome.map(|o| (Located::new(key.get_ref().to_string(), self.place(node.span())), o)));
        }
        let Some(node) = top.get("start") else {
            spec.start = StartSpec::PerFactor(factors);
            return;
        };
        if let Some((name, _)) = factors.first() {
            let message = format!("both [[start]] and `start` of \"{}\" say where episodes start", name.value);
            self.push(Problem::error("two-forms", message).help("keep one of them").at(name.at));
        }
        let Some(rows) = self.list(node, "`start`", "states, written as [[start]]") else { return };
        spec.start = StartSpec::States(rows.iter().filter_map(|row| self.start_row(row)).collect());
    }

    fn start_row(&mut self, node: &Node<'_>) -> Option<StartRow> {
        let table = self.table(node, "[[start]]")?;
        self.known_keys(table, "[[start]]", &["state", "weight"]);
        let weight = match table.get("weight") {
            Some(node) => Located::new(self.number(node, "`weight` of [[start]]")?, self.place(node.span())),
            None => Located::new(1.0, self.place(node.span())),
        };
        let Some(state) = table.get("state") else {
            self.missing("[[start]]", "state", "add the value of every state factor", node.span());
            return None;
        };
        let pairs = self.pairs(state, "`state` of [[start]]")?;
        Some(StartRow { state: pairs, weight })
    }
}
