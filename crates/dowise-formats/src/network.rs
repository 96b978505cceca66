//! A causal graph or a Bayesian network as any tool states it: variables, what acts on what, and numbers where there are any.

use dowise::WorldError;
use dowise::world::{At, Problem, Source};

use crate::findings::Draft;
use crate::scan::{quoted, unescaped};

/// Variables with their parents; what no tool agrees on (levers, rewards, time) is not here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Network {
    /// Title; empty if the file has none.
    pub name: String,
    /// The variables, in the order of the file.
    pub variables: Vec<Variable>,
    /// Pairs of variables that share a cause which is not in the graph (`a <-> b`), as positions in `variables`.
    pub bidirected: Vec<[usize; 2]>,
    /// What else the file says of the network, as text.
    pub properties: Vec<String>,
}

/// One variable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Names of its values, in order; empty if the file does not say.
    pub values: Vec<String>,
    /// What acts on it, as positions in [`Network::variables`]; the table's rows run over these, the first slowest.
    pub parents: Vec<usize>,
    /// P(variable | parents) as written, one row for each combination of parents; `None`: no numbers.
    pub table: Option<Vec<f64>>,
    /// The part that the file says it plays.
    pub role: Option<Role>,
    /// What else the file says of it, as text.
    pub properties: Vec<String>,
}

/// The part that a file gives to a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Can be set: an exposure (DAGitty), a decision (XMLBIF).
    Lever,
    /// Observed, and what it is about: an outcome (DAGitty).
    Key,
    /// Not observed: latent (DAGitty).
    Hidden,
    /// Kept from step to step.
    State,
    /// The value of this variable at the next step.
    NextOf(String),
    /// Adjusted for (DAGitty).
    Adjusted,
    /// Selected on (DAGitty).
    Selected,
}

impl Role {
    /// The words that files written by dowise use: `lever`, `key`, `hidden`, `state`, `next of NAME`, …
    pub fn words(&self) -> String {
        match self {
            Role::Lever => "lever".to_owned(),
            Role::Key => "key".to_owned(),
            Role::Hidden => "hidden".to_owned(),
            Role::State => "state".to_owned(),
            Role::NextOf(factor) => format!("next of {factor}"),
            Role::Adjusted => "adjusted".to_owned(),
            Role::Selected => "selected".to_owned(),
        }
    }

    /// The role of these words.
    pub fn of_words(words: &str) -> Option<Role> {
        Some(match words {
            "lever" => Role::Lever,
            "key" => Role::Key,
            "hidden" => Role::Hidden,
            "state" => Role::State,
            "adjusted" => Role::Adjusted,
            "selected" => Role::Selected,
            _ => Role::NextOf(words.strip_prefix("next of ")?.to_owned()),
        })
    }
}

/// What a role is written behind where a format has properties but no roles (BIF, XMLBIF).
const ROLE_PROPERTY: &str = "dowise_role";

/// A role as a property, with quotes around its words: other readers of BIF need a name, `=` and one value.
pub(crate) fn role_property(role: &Role) -> String {
    format!("{ROLE_PROPERTY} = {}", quoted(&role.words()))
}

/// The properties of a variable with its role among them.
pub(crate) fn with_role(variable: &Variable) -> Vec<String> {
    let role = variable.role.as_ref().map(role_property);
    role.into_iter().chain(variable.properties.iter().cloned()).collect()
}

/// Takes the role out of properties.
pub(crate) fn split_role(properties: Vec<String>) -> (Option<Role>, Vec<String>) {
    let mut role = None;
    let rest = properties.into_iter().filter(|property| {
        let words =
            property.split_once('=').filter(|(key, _)| key.trim() == ROLE_PROPERTY).map(|(_, words)| words.trim());
        let inside = words.map(|w| w.strip_prefix('"').and_then(|w| w.strip_suffix('"')).unwrap_or(w));
        let found = inside.and_then(|words| Role::of_words(&unescaped(words)));
        let is_role = found.is_some();
        role = found.or(role.take());
        !is_role
    });
    let rest = rest.collect();
    (role, rest)
}

impl Network {
    /// The position of a variable.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.variables.iter().position(|v| v.name == name)
    }

    /// Number of directed edges.
    pub fn n_edges(&self) -> usize {
        self.variables.iter().map(|v| v.parents.len()).sum()
    }

    /// Number of rows of a variable's table: combinations of its parents' values.
    pub fn n_rows(&self, variable: usize) -> usize {
        self.variables[variable].parents.iter().map(|&p| self.variables[p].values.len()).product()
    }

    /// The parents' values in a row of a variable's table, in the order of the parents.
    pub fn row_values(&self, variable: usize, mut row: usize) -> Vec<&str> {
        let parents = &self.variables[variable].parents;
        let mut labels = vec![""; parents.len()];
        for (label, &parent) in labels.iter_mut().zip(parents).rev() {
            let values = &self.variables[parent].values;
            *label = &values[row % values.len()];
            row /= values.len();
        }
        labels
    }
}

/// A variable of a graph that a program holds: its name, its values (none: not known) and the words of its role.
pub type GivenVariable = (String, Vec<String>, Option<String>);

impl GraphFile {
    /// A graph that a program holds, checked like one from a file; edges are pairs of positions.
    pub fn of_parts(
        name: &str,
        variables: Vec<GivenVariable>,
        edges: &[(usize, usize)],
        bidirected: &[(usize, usize)],
    ) -> Result<GraphFile, WorldError> {
        let mut draft = Draft::default();
        draft.network.name = name.to_owned();
        for (name, values, role) in variables {
            let known = role.as_deref().map(Role::of_words);
            if let (Some(None), Some(words)) = (&known, &role) {
                let message = format!("\"{name}\" has the role `{words}`");
                let help = "roles are lever, key, hidden, state and `next of NAME`";
                draft.findings.push(Problem::error("unknown-key", message).help(help));
            }
            draft.declare(Variable { name, values, role: known.flatten(), ..Variable::default() }, None);
        }
        // Positions mean the wrong variables once one of them is refused.
        if draft.findings.errors() == 0 {
            let n = draft.network.variables.len();
            let within = |pair: &&(usize, usize)| pair.0 < n && pair.1 < n;
            edges.iter().filter(within).for_each(|&(from, to)| draft.edge(from, to, None));
            bidirected.iter().filter(within).for_each(|&(one, other)| draft.bidirected(one, other, None));
        }
        draft.finish(Source { name: name.to_owned(), text: String::new() })
    }
}

/// A network that was read, with the text that its places point into.
#[derive(Clone, Debug)]
pub struct GraphFile {
    /// The network.
    pub network: Network,
    /// Where each variable is declared.
    pub places: Vec<Option<At>>,
    /// Where each bidirected edge stands.
    pub bidirected_places: Vec<Option<At>>,
    /// Warnings and notes.
    pub findings: Vec<Problem>,
    /// The text.
    pub source: Source,
}
