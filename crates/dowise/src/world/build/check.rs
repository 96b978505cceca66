//! Validation state: variables by name and the problems found so far.

use std::collections::{HashMap, HashSet};

use crate::diagnostics::Problems;
use crate::messages::{and, nearest, number_text, some_of};
use crate::world::{At, Kind, Located, Name, Problem, VarId, Variable, Written};

/// Variables by name, and the problems found so far.
#[derive(Default)]
pub(crate) struct Check {
    pub(crate) variables: Vec<Variable>,
    pub(crate) index: HashMap<String, VarId>,
    /// Where each variable is declared.
    pub(crate) places: Vec<Option<At>>,
    problems: Problems,
    /// Entries of all tables so far.
    pub(crate) entries: usize,
    /// Variables with unknown values, after a reported mistake.
    pub(super) open: HashSet<VarId>,
    /// Those whose kind is also unknown.
    pub(super) kindless: HashSet<VarId>,
    /// Those that replace an unknown variable, with its name if that is readable.
    pub(super) stand_ins: HashMap<VarId, Option<String>>,
}

/// A list of variables as written.
pub(crate) struct Listed {
    pub(crate) ids: Vec<VarId>,
    /// Whether each is a variable of a permitted kind; otherwise an intended one may be missing.
    pub(crate) complete: bool,
    /// Whether the values of each are known too. Otherwise names and values can be checked, but no table.
    pub(crate) sound: bool,
}

impl Check {
    /// Adds a finding.
    pub(crate) fn push(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Withdraws findings with this code.
    pub(crate) fn forget(&mut self, code: &str) {
        self.problems.forget(code);
    }

    /// Counts an error that was reported before.
    pub(crate) fn pass_over(&mut self) {
        self.problems.pass_over();
    }

    /// What is written; counts a reported error if it is unreadable.
    pub(crate) fn read<T: Clone>(&mut self, part: &Written<T>) -> Option<T> {
        let read = part.get().cloned();
        if read.is_none() {
            self.pass_over();
        }
        read
    }

    /// [`Check::read`] with the location.
    pub(crate) fn read_at<T: Clone>(&mut self, part: &Located<Written<T>>) -> Option<Located<T>> {
        Some(Located::new(self.read(&part.value)?, part.at))
    }

    /// Number of errors so far.
    pub(crate) fn errors(&self) -> usize {
        self.problems.errors()
    }

    /// All findings in the order of the file; `Err` if one is an error.
    pub(crate) fn finish(self) -> Result<Vec<Problem>, Vec<Problem>> {
        self.problems.finish()
    }

    /// Number of values of a variable.
    pub(crate) fn size(&self, id: VarId) -> usize {
        self.variables[id.ix()].size()
    }

    /// A variable's name.
    pub(crate) fn name(&self, id: VarId) -> &str {
        &self.variables[id.ix()].name
    }

    /// All variables of a kind, in order.
    pub(crate) fn of_kind(&self, kind: Kind) -> Vec<VarId> {
        let ids = (0..self.variables.len()).filter(|&i| self.variables[i].kind == kind);
        ids.map(|i| VarId(i as u16)).collect()
    }

    /// The variable of this name if it has one of these kinds; `role` is the context, for messages.
    pub(crate) fn variable(&mut self, name: &Located<String>, kinds: &[Kind], role: &str) -> Option<VarId> {
        let Some(&id) = self.index.get(&name.value) else {
            if let Some(help) = self.no_next_value(&name.value) {
                let message = format!("\"{}\" in {role} is not a variable of this world", name.value);
                self.push(Problem::error("unknown-variable", message).help(help).at(name.at));
                return None;
            }
            let real = || (0..self.variables.len()).filter(|&i| !self.stand_ins.contains_key(&VarId(i as u16)));
            let any = real().map(|i| self.variables[i].name.as_str());
            let known = real().filter(|&i| kinds.contains(&self.variables[i].kind));
            let known = known.map(|i| self.variables[i].name.as_str());
            let near = nearest(&name.value, known).or_else(|| nearest(&name.value, any)).map(str::to_owned);
            let help = match near {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("declare it, for example as [{}.{}]", kinds[0].word(), bare(&name.value)),
            };
            let message = format!("\"{}\" in {role} is not a variable of this world", name.value);
            self.push(Problem::error("unknown-name", message).help(help).at(name.at));
            return None;
        };
        let kind = self.variables[id.ix()].kind;
        if kinds.contains(&kind) || self.kindless.contains(&id) {
            return Some(id);
        }
        let allowed: Vec<String> = kinds.iter().map(|k| format!("{}s", k.describe())).collect();
        let message = format!("\"{}\" in {role} is a {}", name.value, kind.describe());
        let help = format!("only {} may stand here", and(&allowed));
        self.push(Problem::error("wrong-kind", message).help(help).at(name.at));
        None
    }

    /// A list of variables without repetitions, with a placeholder for each unknown one.
    pub(crate) fn list(&mut self, names: &[Name], kinds: &[Kind], role: &str) -> Listed {
        let before = self.errors();
        let mut ids = Vec::with_capacity(names.len());
        for name in names {
            let Some(name) = self.read_at(name) else {
                ids.push(self.stand_in(None, kinds[0]));
                continue;
            };
            let found = self.variable(&name, kinds, role);
            let id = match found.or_else(|| self.index.get(&name.value).copied()) {
                Some(id) => id,
                None => self.stand_in(Some(name.value.clone()), kinds[0]),
            };
            if ids.contains(&id) {
                let message = format!("\"{}\" stands twice in {role}", name.value);
                self.push(Problem::error("duplicate-name", message).help("take one out").at(name.at));
                continue;
            }
            ids.push(id);
        }
        let complete = self.errors() == before;
        let sound = complete && !ids.iter().any(|id| self.open.contains(id));
        Listed { ids, complete, sound }
    }

    /// A placeholder for an unknown variable. It is not found by name, so that every use of the name is reported.
    fn stand_in(&mut self, name: Option<String>, kind: Kind) -> VarId {
        let id = VarId(self.variables.len().min(usize::from(u16::MAX)) as u16);
        let values = vec![String::new()];
        self.variables.push(Variable { name: name.clone().unwrap_or_default(), kind, values });
        self.places.push(None);
        self.open.insert(id);
        self.stand_ins.insert(id, name);
        id
    }

    /// Whether a variable has this name. A stand-in for an unreadable name has none.
    pub(crate) fn is_called(&self, id: VarId, name: &str) -> bool {
        match self.stand_ins.get(&id) {
            Some(readable) => readable.as_deref() == Some(name),
            None => self.name(id) == name,
        }
    }

    /// The parents to check against: if the list is incomplete, other named variables count as listed.
    pub(crate) fn widened(&self, listed: &Listed, named: &[&String]) -> Vec<VarId> {
        let mut ids = listed.ids.clone();
        if !listed.complete {
            for id in named.iter().filter_map(|name| self.index.get(*name)) {
                if !ids.contains(id) {
                    ids.push(*id);
                }
            }
        }
        ids
    }

    /// The position of a value among those of a variable.
    pub(crate) fn value(&mut self, id: VarId, value: &Located<String>) -> Option<usize> {
        if self.open.contains(&id) {
            self.pass_over();
            return None;
        }
        let variable = &self.variables[id.ix()];
        if let Some(position) = variable.values.iter().position(|v| *v == value.value) {
            return Some(position);
        }
        let help = match nearest(&value.value, variable.values.iter().map(String::as_str)) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("its values are {}", some_of(&variable.values)),
        };
        let message = format!("\"{}\" is not a value of \"{}\"", value.value, variable.name);
        self.push(Problem::error("unknown-value", message).help(help).at(value.at));
        None
    }

    /// Checks that a number is finite.
    pub(crate) fn finite(&mut self, number: f64, what: &str, at: Option<At>) -> bool {
        if number.is_finite() {
            return true;
        }
        let message = format!("{what} is {}", number_text(number));
        self.push(Problem::error("not-a-number", message).help("write an ordinary number").at(at));
        false
    }

    /// `loyalty = "new", opened = "yes"` for a combination of values.
    pub(crate) fn combination(&self, ids: &[VarId], values: &[usize]) -> String {
        let part = |(&id, &v): (&VarId, &usize)| {
            let variable = &self.variables[id.ix()];
            format!("{} = \"{}\"", variable.name, variable.values[v])
        };
        ids.iter().zip(values).map(part).collect::<Vec<_>>().join(", ")
    }
}

/// A name as a TOML key.
pub(crate) fn bare(name: &str) -> String {
    let plain = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if plain { name.to_owned() } else { quoted(name) }
}

/// A TOML basic string.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
