//! What is wrong with a file: collected while it is read, so that all of it is said at once.

use std::collections::HashMap;

use dowise::WorldError;
use dowise::diagnostics::Problems;
use dowise::messages::nearest;
use dowise::world::{At, Problem, Severity, Source};

use crate::limits::MOST_VARIABLES;
use crate::network::{GraphFile, Network, Variable};

/// All problems in the order of the file; `Err` if there is an error among them.
pub(crate) fn finish(problems: Problems, sources: Vec<Source>) -> Result<(Vec<Problem>, Vec<Source>), WorldError> {
    match problems.finish() {
        Ok(problems) => Ok((problems, sources)),
        Err(mut problems) => {
            // What was assumed on the way to a mistake would only hide it.
            problems.retain(|p| p.severity != Severity::Note);
            Err(WorldError { problems, sources })
        }
    }
}

/// A network in the making: variables by name, with what is wrong.
#[derive(Default)]
pub(crate) struct Draft {
    pub(crate) network: Network,
    pub(crate) places: Vec<Option<At>>,
    pub(crate) bidirected_places: Vec<Option<At>>,
    pub(crate) findings: Problems,
    index: HashMap<String, usize>,
}

impl Draft {
    /// Declares a variable; twice is a problem.
    pub(crate) fn declare(&mut self, variable: Variable, at: Option<At>) {
        if variable.name.is_empty() {
            self.findings.push(Problem::error("empty-name", "a variable has an empty name").help("give it one").at(at));
        }
        if self.index.contains_key(&variable.name) {
            let message = format!("two variables are called \"{}\"", variable.name);
            self.findings.push(Problem::error("duplicate-name", message).help("rename or remove one of them").at(at));
            return;
        }
        if self.network.variables.len() == MOST_VARIABLES {
            let message = format!("there are more than {MOST_VARIABLES} variables");
            self.findings.push(Problem::error("too-large", message).help("take a part of the graph").at(at));
        }
        if self.network.variables.len() >= MOST_VARIABLES {
            return;
        }
        self.index.insert(variable.name.clone(), self.network.variables.len());
        self.network.variables.push(variable);
        self.places.push(at);
    }

    /// The variable of this name, declared here if it is new; `None` if there are too many.
    pub(crate) fn mention(&mut self, name: &str, at: Option<At>) -> Option<usize> {
        if !self.index.contains_key(name) {
            self.declare(Variable { name: name.to_owned(), ..Variable::default() }, at);
        }
        self.index.get(name).copied()
    }

    /// The variable of this name; an unknown one is a problem.
    pub(crate) fn find(&mut self, name: &str, at: Option<At>, what: &str) -> Option<usize> {
        let found = self.index.get(name).copied();
        if found.is_none() {
            let names = self.network.variables.iter().map(|v| v.name.as_str());
            let help = match nearest(name, names) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => "declare it, or take it out".to_owned(),
            };
            let message = format!("{what} \"{name}\" is not a variable of this network");
            self.findings.push(Problem::error("unknown-name", message).help(help).at(at));
        }
        found
    }

    /// Adds a directed edge; one that is there already is left as it is.
    pub(crate) fn edge(&mut self, from: usize, to: usize, at: Option<At>) {
        if from == to {
            let message = format!("\"{}\" acts on itself", self.network.variables[to].name);
            let help = "take the edge out; a value at the next step is a variable of its own";
            self.findings.push(Problem::error("cycle", message).help(help).at(at));
        } else if !self.network.variables[to].parents.contains(&from) {
            self.network.variables[to].parents.push(from);
        }
    }

    /// Adds a bidirected edge; one that is there already is left as it is.
    pub(crate) fn bidirected(&mut self, one: usize, other: usize, at: Option<At>) {
        if one == other {
            let message = format!("\"{}\" shares a cause with itself", self.network.variables[one].name);
            self.findings.push(Problem::error("cycle", message).help("take the edge out").at(at));
            return;
        }
        let pair = [one.min(other), one.max(other)];
        if !self.network.bidirected.contains(&pair) {
            self.network.bidirected.push(pair);
            self.bidirected_places.push(at);
        }
    }

    /// The network, if nothing is wrong with it.
    pub(crate) fn finish(mut self, source: Source) -> Result<GraphFile, WorldError> {
        if self.findings.errors() == 0 {
            if self.network.variables.is_empty() {
                let problem = Problem::error("empty", "there is no variable in this file");
                let at = Some(At { source: 0, start: 0, end: 0 });
                self.findings.push(problem.help("check that it is the file you meant, and complete").at(at));
            }
            if let Some(circle) = circle(&self.network) {
                let at = self.places[circle[0]];
                let names = circle.iter().map(|&i| format!("\"{}\"", self.network.variables[i].name));
                let message =
                    format!("variables act on each other in a circle: {}", names.collect::<Vec<_>>().join(" → "));
                let help = "take one of these edges out; a value at the next step is a variable of its own";
                self.findings.push(Problem::error("cycle", message).help(help).at(at));
            }
        }
        let (findings, mut sources) = finish(self.findings, vec![source])?;
        let source = sources.pop().expect("invariant: the one source comes back");
        let Draft { network, places, bidirected_places, .. } = self;
        Ok(GraphFile { network, places, bidirected_places, findings, source })
    }
}

/// Variables that act on each other, the first once more at the end.
fn circle(network: &Network) -> Option<Vec<usize>> {
    let mut waiting: Vec<usize> = network.variables.iter().map(|v| v.parents.len()).collect();
    let mut children = vec![vec![]; waiting.len()];
    for (i, variable) in network.variables.iter().enumerate() {
        variable.parents.iter().for_each(|&p| children[p].push(i));
    }
    let mut ready: Vec<usize> = (0..waiting.len()).filter(|&i| waiting[i] == 0).collect();
    while let Some(i) = ready.pop() {
        for &child in &children[i] {
            waiting[child] -= 1;
            if waiting[child] == 0 {
                ready.push(child);
            }
        }
    }
    // Whatever still waits has a parent that waits: walking up from it must come back.
    let mut current = waiting.iter().position(|&n| n > 0)?;
    let mut path = vec![];
    let mut seen = vec![false; waiting.len()];
    while !seen[current] {
        seen[current] = true;
        path.push(current);
        let parents = &network.variables[current].parents;
        current = *parents.iter().find(|&&p| waiting[p] > 0).expect("invariant: what waits has a parent that waits");
    }
    let first = path.iter().position(|&i| i == current).expect("invariant: the walk came back to its path");
    let mut circle = path[first..].to_vec();
    circle.push(current);
    circle.reverse();
    Some(circle)
}

/// Some names, in quotes; a long list is cut.
pub(crate) fn some_of<S: AsRef<str>>(names: &[S]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|n| format!("\"{}\"", n.as_ref())).collect();
    let more = names.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    shown.join(", ") + &more
}
