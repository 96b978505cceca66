//! Who plays which part: roles given by the user first, then the marks of the file; the rest is hidden.

use dowise::diagnostics::Problems;
use dowise::messages::nearest;
use dowise::world::{At, Located, Problem};

use crate::findings::some_of;
use crate::network::{GraphFile, Network, Role, Variable};
use crate::roles::Roles;

/// The part of a variable within a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Lever,
    Key,
    Hidden,
    State,
    /// The value of a state factor at the next step, and nothing else.
    Next,
}

impl Part {
    fn describe(self) -> &'static str {
        match self {
            Part::Lever => "a lever",
            Part::Key => "a key variable",
            Part::Hidden => "a hidden variable",
            Part::State => "a state factor",
            Part::Next => "the next value of a state factor",
        }
    }
}

/// The network with all values known and a part for every variable.
pub(super) struct Cast {
    /// Bidirected edges have become hidden variables.
    pub(super) network: Network,
    pub(super) places: Vec<Option<At>>,
    pub(super) parts: Vec<Part>,
    /// In the order in which they were named.
    pub(super) levers: Vec<usize>,
    pub(super) keys: Vec<usize>,
    /// (state factor, its next value)
    pub(super) states: Vec<(usize, usize)>,
    /// Hidden variables that stand for bidirected edges: the variable, and the two ends.
    pub(super) common_causes: Vec<(usize, [usize; 2])>,
    /// Variables that were given the values 0 and 1.
    pub(super) guessed_values: Vec<String>,
}

/// Finds a variable by name; an unknown one is a problem.
pub(super) fn find(network: &Network, name: &Located<String>, findings: &mut Problems, what: &str) -> Option<usize> {
    let found = network.find(&name.value);
    if found.is_none() {
        let names: Vec<&str> = network.variables.iter().map(|v| v.name.as_str()).collect();
        let help = match nearest(&name.value, names.iter().copied()) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("the variables are {}", some_of(&names)),
        };
        let message = format!("\"{}\", named as {what}, is not a variable of the graph", name.value);
        findings.push(Problem::error("unknown-name", message).help(help).at(name.at));
    }
    found
}

impl Cast {
    /// `None` always comes with an error.
    pub(super) fn of(file: &GraphFile, roles: &Roles, findings: &mut Problems) -> Option<Cast> {
        let n = file.network.variables.len();
        let mut cast = Cast {
            network: file.network.clone(),
            places: file.places.clone(),
            parts: vec![Part::Hidden; n],
            levers: vec![],
            keys: vec![],
            states: vec![],
            common_causes: vec![],
            guessed_values: vec![],
        };
        let mut given: Vec<Option<Part>> = vec![None; n];
        cast.named_states(roles, &mut given, findings);
        for (names, part, what) in [
            (&roles.levers, Part::Lever, "a lever"),
            (&roles.keys, Part::Key, "a key variable"),
            (&roles.hidden, Part::Hidden, "hidden"),
        ] {
            for name in names {
                let Some(i) = find(&cast.network, name, findings, what) else { continue };
                // A next value that is observed within the step as well: the state factor takes its value.
                let observed_next = part == Part::Key && given[i] == Some(Part::Next);
                match given[i] {
                    Some(other) if other != part && !observed_next => two_parts(name, other, part, findings),
                    Some(other) if other == part => continue,
                    _ => given[i] = Some(part),
                }
                match part {
                    Part::Lever => cast.levers.push(i),
                    Part::Key => cast.keys.push(i),
                    Part::Hidden | Part::State | Part::Next => {}
                }
            }
        }
        cast.marked(&mut given, findings);
        cast.parts = given.iter().map(|part| part.unwrap_or(Part::Hidden)).collect();
        cast.values(roles, findings);
        cast.connect(file, findings);
        cast.complete(roles, findings);
        (findings.errors() == 0).then_some(cast)
    }

    fn named_states(&mut self, roles: &Roles, given: &mut [Option<Part>], findings: &mut Problems) {
        for (now, next) in &roles.states {
            let i = find(&self.network, now, findings, "a state factor");
            let j = find(&self.network, next, findings, &format!("the next value of \"{}\"", now.value));
            let (Some(i), Some(j)) = (i, j) else { continue };
            self.state(i, j, given, findings, now.at.or(next.at));
        }
    }

    fn state(&mut self, i: usize, j: usize, given: &mut [Option<Part>], findings: &mut Problems, at: Option<At>) {
        let name = |i: usize| &self.network.variables[i].name;
        if i == j {
            let message = format!("\"{}\" cannot be its own next value", name(i));
            let help = "name the variable that is its value one step later, such as --state a:a_next";
            findings.push(Problem::error("state", message).help(help).at(at));
            return;
        }
        if self.states.contains(&(i, j)) {
            return;
        }
        for (which, part) in [(i, Part::State), (j, Part::Next)] {
            if let Some(other) = given[which] {
                two_parts(&Located::new(name(which).clone(), at), other, part, findings);
            }
            given[which] = Some(part);
        }
        self.states.push((i, j));
    }

    /// The marks of the file, for kinds of which the user named none.
    fn marked(&mut self, given: &mut [Option<Part>], findings: &mut Problems) {
        let roles: Vec<Option<Role>> = self.network.variables.iter().map(|v| v.role.clone()).collect();
        let (named_levers, named_keys, named_states) =
            (!self.levers.is_empty(), !self.keys.is_empty(), !self.states.is_empty());
        let (mut levers, mut keys) = (vec![], vec![]);
        for (i, role) in roles.iter().enumerate().filter(|(i, _)| given[*i].is_none()).collect::<Vec<_>>() {
            match role {
                Some(Role::Lever) if !named_levers => levers.push(i),
                Some(Role::Key) if !named_keys => keys.push(i),
                Some(Role::NextOf(factor)) if !named_states => {
                    let at = self.places[i];
                    let name = Located::new(factor.clone(), at);
                    let of = find(&self.network, &name, findings, "the state factor of a next value");
                    if let Some(of) = of.filter(|&of| given[of].is_none()) {
                        self.state(of, i, given, findings, at);
                    }
                }
                Some(
                    Role::Lever
                    | Role::Key
                    | Role::NextOf(_)
                    | Role::Hidden
                    | Role::State
                    | Role::Adjusted
                    | Role::Selected,
                )
                | None => {}
            }
        }
        // Levers and key variables after states, which claim two variables each.
        for (found, part, list, words) in [
            (levers, Part::Lever, &mut self.levers, "levers, as the file marks them"),
            (keys, Part::Key, &mut self.keys, "key variables, as the file marks them"),
        ] {
            let found: Vec<usize> = found.into_iter().filter(|&i| given[i].is_none()).collect();
            if !found.is_empty() {
                let names: Vec<&str> = found.iter().map(|&i| self.network.variables[i].name.as_str()).collect();
                findings.push(Problem::note("marked", format!("{words}: {}", some_of(&names))));
            }
            found.iter().for_each(|&i| given[i] = Some(part));
            list.extend(found);
        }
    }

    /// Values that the graph does not have: the user's, or those of the other end in time, or 0 and 1.
    fn values(&mut self, roles: &Roles, findings: &mut Problems) {
        for (name, values) in &roles.values {
            let Some(i) = find(&self.network, name, findings, "a variable with values") else { continue };
            let variable = &mut self.network.variables[i];
            if variable.values.is_empty() {
                variable.values = values.iter().map(|v| v.value.clone()).collect();
            } else {
                let message = format!("\"{}\" has its values from the file: {}", name.value, some_of(&variable.values));
                findings.push(Problem::error("values", message).help("leave them out here").at(name.at));
            }
        }
        for &(now, next) in &self.states {
            let [a, b] = [now, next].map(|i| self.network.variables[i].values.clone());
            if a.is_empty() {
                self.network.variables[now].values = b;
            } else if b.is_empty() {
                self.network.variables[next].values = a;
            }
        }
        for variable in self.network.variables.iter_mut().filter(|v| v.values.is_empty()) {
            variable.values = vec!["0".to_owned(), "1".to_owned()];
            variable.table = None;
            self.guessed_values.push(variable.name.clone());
        }
    }

    /// A hidden common cause for every bidirected edge.
    fn connect(&mut self, file: &GraphFile, findings: &mut Problems) {
        for (&pair, &at) in file.network.bidirected.iter().zip(&file.bidirected_places) {
            let [a, b] = pair.map(|i| self.network.variables[i].name.clone());
            if let Some(&state) = pair.iter().find(|&&i| self.parts[i] == Part::State) {
                let message = format!(
                    "{a} <-> {b} is left out, since \"{}\" is kept from step to step and its value comes from the step before",
                    self.network.variables[state].name
                );
                let help = "make the common cause a variable of the graph and a state factor, if it lasts";
                findings.push(Problem::warning("bidirected", message).help(help).at(at));
                continue;
            }
            let mut name = format!("U_{a}_{b}");
            while self.network.find(&name).is_some() {
                name.push('_');
            }
            let message = format!("{a} <-> {b} becomes the hidden variable \"{name}\", which acts on both");
            findings.push(Problem::note("bidirected", message).at(at));
            let cause = self.network.variables.len();
            let values = vec!["0".to_owned(), "1".to_owned()];
            self.network.variables.push(Variable { name, values, ..Variable::default() });
            self.places.push(at);
            self.parts.push(Part::Hidden);
            self.common_causes.push((cause, pair));
            for end in pair {
                // What the table says of the other parents no longer holds for each value of the common cause.
                self.network.variables[end].table = None;
                self.network.variables[end].parents.push(cause);
            }
        }
    }

    /// Whether anything can be set and anything can be seen.
    fn complete(&self, roles: &Roles, findings: &mut Problems) {
        let names: Vec<&str> = self.network.variables.iter().map(|v| v.name.as_str()).collect();
        // Names that were given and are wrong have been reported.
        if self.levers.is_empty() && roles.levers.is_empty() {
            let problem = Problem::error("no-levers", "no variable is a lever, so there is nothing to decide");
            let help = format!("say what can be set, such as --lever NAME; the variables are {}", some_of(&names));
            findings.push(problem.help(help));
        }
        let nothing_named = roles.keys.is_empty() && roles.states.is_empty();
        if self.keys.is_empty() && self.states.is_empty() && nothing_named {
            let problem =
                Problem::error("no-keys", "no variable is a key variable or a state factor, so nothing is observed");
            let help = format!("say what is observed, such as --key NAME; the variables are {}", some_of(&names));
            findings.push(problem.help(help));
        }
    }
}

fn two_parts(name: &Located<String>, one: Part, other: Part, findings: &mut Problems) {
    let message = format!("\"{}\" is named as {} and as {}", name.value, one.describe(), other.describe());
    findings.push(Problem::error("two-parts", message).help("name it once").at(name.at));
}
