//! Reads variables of a world file with their mechanisms, and joint tables.

use toml::de::{DeTable, DeValue};

use super::KEYS;
use super::mechanisms::{FORMS, unread_form};
use super::node::{Node, Reader, entries, whole_of};
use crate::messages::nearest;
use crate::world::{
    Form, Kind, Located, MOST_VALUES, MOST_VALUES_IN_ALL, MechanismSpec, Name, Number, Problem, VariableSpec,
    WorldSpec, Written, too_many_values,
};

impl Reader<'_> {
    /// All variables, kind by kind, in the order of the file.
    pub(super) fn variables(&mut self, top: &DeTable<'_>, spec: &mut WorldSpec) {
        for kind in [Kind::State, Kind::Lever, Kind::Key, Kind::Hidden] {
            // A misspelt section has been reported; its contents still count.
            let meant = |word: &str| {
                word == kind.word() || (!KEYS.contains(&word) && nearest(word, words()) == Some(kind.word()))
            };
            for (_, node) in entries(top).into_iter().filter(|(key, _)| meant(key.get_ref())) {
                let Some(table) = self.table(node, &format!("`{}`", kind.word())) else { continue };
                for (key, node) in entries(table) {
                    let what = format!("{} \"{}\"", kind.describe(), key.get_ref());
                    let name = self.key(key);
                    match self.table(node, &what) {
                        Some(section) => self.variable(section, kind, name, &what, spec),
                        None => spec.variables.push(unread_variable(name, kind.into())),
                    }
                }
            }
        }
        // Unknown sections may declare variables named elsewhere.
        for (_, node) in entries(top).into_iter().filter(|(key, _)| {
            let word = key.get_ref().as_ref();
            !KEYS.contains(&word) && nearest(word, words()).is_none()
        }) {
            for (key, _) in node.get_ref().as_table().map(entries).unwrap_or_default() {
                if !spec.variables.iter().any(|v| v.name.value == key.get_ref().as_ref()) {
                    spec.variables.push(unread_variable(self.key(key), Written::UNREAD));
                }
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
        self.known_keys_or_persistent(section, kind, what, own);
        let values = match section.get("values") {
            Some(node) => {
                self.values(node, &format!("`values` of {what}")).unwrap_or_else(|| vec![Written::UNREAD.into()])
            }
            None => {
                if let Some(at) = name.at.filter(|_| !self.misspelt(section, "values")) {
                    self.missing(what, "values", "add them, such as `values = [\"no\", \"yes\"]`", at.start..at.end);
                }
                vec![Written::UNREAD.into()]
            }
        };
        let values_at = section.get("values").and_then(|node| self.place(node.span()));
        // For other kinds it is an unknown key, already reported.
        let cost = section.get("cost").filter(|_| kind == Kind::Lever);
        let costs = cost.map(|node| self.amounts_by_name(node, &format!("`cost` of {what}")));

        let (inputs, form_given) = match kind {
            Kind::State => ("scope", section.get("next").is_some() || self.misspelt(section, "next")),
            Kind::Lever | Kind::Key | Kind::Hidden => ("parents", {
                let given = |k: &&str| section.get(*k).is_some() || self.misspelt(section, k);
                FORMS.iter().chain(&["learn"]).any(given)
            }),
        };
        if form_given || section.get(inputs).is_some() || self.misspelt(section, inputs) {
            let parents = match section.get("scope").filter(|_| kind != Kind::State && section.get(inputs).is_none()) {
                Some(_) => vec![Written::UNREAD.into()], // meant as its parents, and rejected
                None => self.names_under(section, inputs, what),
            };
            let form = match section.get("next") {
                Some(next) if kind == Kind::State => self.next(next, &format!("`next` of {what}")),
                None if kind == Kind::State && self.misspelt(section, "next") => unread_form(),
                None if kind == Kind::State => Form::Unknown,
                _ => self.form(section, what),
            };
            let at = section.get("next").and_then(|n| self.place(n.span())).or(name.at);
            let learn = section.get("learn").filter(|_| kind != Kind::State).and_then(|n| self.learn(n, what));
            let mechanism = MechanismSpec { children: vec![name.clone().into()], parents, form, learn, at };
            if kind == Kind::State { &mut spec.transitions } else { &mut spec.mechanisms }.push(mechanism);
        }
        spec.variables.push(VariableSpec {
            name,
            kind: kind.into(),
            values,
            values_at,
            costs: costs.unwrap_or_default(),
        });
    }

    /// Checks that every key is known; keys of persistent variables are rejected by name for other kinds.
    fn known_keys_or_persistent(&mut self, section: &DeTable<'_>, kind: Kind, what: &str, own: &[&str]) {
        let kept = |key: &str| kind != Kind::State && matches!(key, "next" | "scope" | "start");
        let (persistent, _): (Vec<_>, Vec<_>) = entries(section).into_iter().partition(|(key, _)| kept(key.get_ref()));
        let Some((key, _)) = persistent.first() else { return self.known_keys(section, what, own) };
        let message = format!("{what} has `{}`, but only state factors are kept from step to step", key.get_ref());
        let help = match kind {
            Kind::Hidden => {
                "what is kept must be observed: make it a state factor if it is, or keep what was seen of it in one, such as how long ago something happened"
            }
            Kind::State | Kind::Lever | Kind::Key => "write `parents`; what is kept is a state factor that it acts on",
        };
        self.push(Problem::error("unknown-key", message).help(help).at(self.place(key.span())));
        let also: Vec<&str> = own.iter().copied().chain(["next", "scope", "start"]).collect();
        self.known_keys(section, what, &also);
    }

    /// A list of names, or a number n for the names 0 to n − 1.
    fn values(&mut self, node: &Node<'_>, what: &str) -> Option<Vec<Name>> {
        let DeValue::Integer(number) = node.get_ref() else { return Some(self.written_names(node, what)) };
        match whole_of(number).and_then(|n| usize::try_from(n).ok()).filter(|&n| n <= MOST_VALUES) {
            Some(n) if self.n_values + n > MOST_VALUES_IN_ALL => {
                self.push(too_many_values((self.n_values + n) as u128).at(self.place(node.span())));
                None
            }
            Some(n) => {
                self.n_values += n;
                Some((0..n).map(|v| Name::of(Some(v.to_string()), self.place(node.span()))).collect())
            }
            None => {
                let message = format!("{what} are {number}, which is not a number of values from 1 to {MOST_VALUES}");
                let problem = Problem::error("too-large", message).help("write how many there are, or list them");
                self.push(problem.at(self.place(node.span())));
                None
            }
        }
    }

    /// `{ yes = 3.5 }`
    pub(super) fn amounts_by_name(&mut self, node: &Node<'_>, what: &str) -> Vec<(Name, Number)> {
        let mut amounts = Vec::new();
        for (key, value) in self.table(node, what).map(entries).unwrap_or_default() {
            let amount = self.written_number(value, &format!("`{}` in {what}", key.get_ref()));
            amounts.push((self.key(key).into(), amount));
        }
        amounts
    }

    fn joint(&mut self, node: &Node<'_>, spec: &mut WorldSpec) {
        let what = "a joint table";
        let Some(table) = self.table(node, what) else { return };
        self.known_keys(table, what, &["keys", "parents", "p", "rows", "csv", "learn"]);
        let Some(keys) = table.get("keys") else {
            self.missing(what, "keys", "list the key variables that it decides together", node.span());
            return;
        };
        let children = self.written_names(keys, "`keys` of a joint table");
        let parents = self.names_under(table, "parents", what);
        let refused = ["logit", "noisy_or"].iter().any(|key| table.get(*key).is_some());
        let form = if refused { unread_form() } else { self.form(table, what) };
        let at = self.place(keys.span());
        let learn = table.get("learn").and_then(|n| self.learn(n, what));
        spec.mechanisms.push(MechanismSpec { children, parents, form, learn, at });
    }
}

/// The section names of the kinds of variables.
fn words() -> impl Iterator<Item = &'static str> {
    [Kind::State, Kind::Lever, Kind::Key, Kind::Hidden].into_iter().map(Kind::word)
}

/// A variable of which at most the name and the kind are readable.
fn unread_variable(name: Located<String>, kind: Written<Kind>) -> VariableSpec {
    VariableSpec { name, kind, values: vec![Written::UNREAD.into()], values_at: None, costs: Vec::new() }
}
