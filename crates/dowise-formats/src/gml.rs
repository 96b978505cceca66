//! GML, the graph modelling language: `graph [ directed 1 node [ id 0 label "a" ] edge [ source 0 target 1 ] ]`.

use std::collections::HashMap;
use std::fmt::Write;

use dowise::WorldError;
use dowise::world::{At, Problem, Source};

use crate::findings::Draft;
use crate::limits::DEEPEST;
use crate::network::{GraphFile, Network, Role, Variable};
use crate::scan::{Comments, Scanner};

/// What networkx writes in front of a list of one.
const LIST_START: &str = "_networkx_list_start";

/// A key with its value and place.
struct Entry {
    key: String,
    value: Value,
    at: Option<At>,
}

enum Value {
    /// A number or a text.
    Text(String),
    List(Vec<Entry>),
}

pub(crate) fn read(source: Source) -> Result<GraphFile, WorldError> {
    let mut scanner = Scanner::new(&source.text, Comments { slashes: false, hash: true });
    let mut draft = Draft::default();
    match entries(&mut scanner, 0) {
        Ok(top) => graph(&mut draft, &top),
        Err(problem) => draft.findings.push(problem),
    }
    draft.finish(source)
}

/// Keys and values up to the end of a list, or of the file.
fn entries(scanner: &mut Scanner<'_>, depth: usize) -> Result<Vec<Entry>, Problem> {
    let mut entries = vec![];
    loop {
        if depth == 0 && scanner.peek().is_none() || depth > 0 && scanner.eat("]") {
            return Ok(entries);
        }
        let is_key = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let Some((key, at)) = scanner.word(is_key) else {
            let what = if depth > 0 { "a key or `]`" } else { "a key, such as `graph`" };
            return Err(scanner
                .expected(what)
                .help("GML is a list of keys and values, such as `graph [ directed 1 ]`"));
        };
        let value = if let Some((text, _)) = scanner.quoted(false)? {
            Value::Text(decoded(text))
        } else if scanner.eat("[") {
            if depth == DEEPEST {
                return Err(scanner.expected("a value").help(format!("lists are nested at most {DEEPEST} deep")));
            }
            Value::List(self::entries(scanner, depth + 1)?)
        } else if let Some((word, _)) = scanner.word(|c| !c.is_whitespace() && !"[]\"".contains(c)) {
            Value::Text(word.to_owned())
        } else {
            return Err(scanner.expected(&format!("the value of `{key}`")));
        };
        entries.push(Entry { key: key.to_owned(), value, at });
    }
}

fn text<'e>(entries: &'e [Entry], key: &str) -> Option<(&'e str, Option<At>)> {
    entries.iter().find(|e| e.key == key).and_then(|e| match &e.value {
        Value::Text(text) => Some((text.as_str(), e.at)),
        Value::List(_) => None,
    })
}

fn graph(draft: &mut Draft, top: &[Entry]) {
    let found = top.iter().find(|e| e.key == "graph");
    let Some((Value::List(graph), at)) = found.map(|e| (&e.value, e.at)) else {
        let at = Some(At { source: 0, start: 0, end: 0 });
        let problem = Problem::error("syntax", "there is no `graph [ … ]` in this file");
        return draft.findings.push(problem.help("check that it is the file you meant").at(at));
    };
    if text(graph, "directed").is_none_or(|(directed, _)| directed != "1") {
        let problem = Problem::error("undirected", "this graph is undirected, so it does not say what acts on what");
        draft.findings.push(problem.help("add `directed 1`; in networkx, write a DiGraph").at(at));
    }
    draft.network.name =
        text(graph, "name").or(text(graph, "label")).map_or(String::new(), |(name, _)| name.to_owned());
    let mut ids = HashMap::new();
    for entry in graph.iter().filter(|e| e.key == "node") {
        let Value::List(node) = &entry.value else { continue };
        let Some((id, id_at)) = text(node, "id") else {
            let problem = Problem::error("missing-key", "a node has no `id`");
            draft.findings.push(problem.help("give it a number of its own").at(entry.at));
            continue;
        };
        if ids.contains_key(id) {
            let problem = Problem::error("duplicate-name", format!("two nodes have the id {id}"));
            draft.findings.push(problem.help("give one of them another number").at(id_at));
            continue;
        }
        let variable = self::node(draft, node, id);
        let position = draft.network.variables.len();
        draft.declare(variable, entry.at);
        // A name that stands twice is reported, and the node is not there.
        if draft.network.variables.len() > position {
            ids.insert(id, position);
        }
    }
    for entry in graph.iter().filter(|e| e.key == "edge") {
        let Value::List(edge) = &entry.value else { continue };
        let mut end = |key: &str| {
            let Some((id, at)) = text(edge, key) else {
                let problem = Problem::error("missing-key", format!("an edge has no `{key}`"));
                draft.findings.push(problem.help("add the id of a node").at(entry.at));
                return None;
            };
            let found = ids.get(id).copied();
            if found.is_none() {
                let problem =
                    Problem::error("unknown-name", format!("the {key} of an edge, {id}, is the id of no node"));
                draft.findings.push(problem.help("add the node, or take the edge out").at(at));
            }
            found
        };
        let (from, to) = (end("source"), end("target"));
        if let (Some(from), Some(to)) = (from, to) {
            if text(edge, "bidirected").is_some_and(|(flag, _)| flag == "1") {
                draft.bidirected(from, to, entry.at);
            } else {
                draft.edge(from, to, entry.at);
            }
        }
    }
}

fn node(draft: &mut Draft, node: &[Entry], id: &str) -> Variable {
    let name = text(node, "label").or(text(node, "name")).map_or(id, |(name, _)| name);
    let mut variable = Variable { name: name.to_owned(), ..Variable::default() };
    let values = node.iter().filter(|e| e.key == "values").filter_map(|e| match &e.value {
        Value::Text(value) if value != LIST_START => Some(value.clone()),
        Value::Text(_) | Value::List(_) => None,
    });
    variable.values = values.collect();
    if let Some((words, at)) = text(node, "role") {
        variable.role = Role::of_words(words);
        if variable.role.is_none() {
            let message = format!("\"{name}\" has the role `{words}`");
            let help = "roles are lever, key, hidden, state and `next of NAME`";
            draft.findings.push(Problem::error("unknown-key", message).help(help).at(at));
        }
    }
    variable
}

pub(crate) fn write(network: &Network) -> String {
    let mut out = String::from("graph [\n  directed 1\n");
    if !network.name.is_empty() {
        let _ = writeln!(out, "  name \"{}\"", encoded(&network.name));
    }
    for (i, variable) in network.variables.iter().enumerate() {
        let _ = writeln!(out, "  node [\n    id {i}\n    label \"{}\"", encoded(&variable.name));
        if variable.values.len() == 1 {
            let _ = writeln!(out, "    values \"{LIST_START}\"");
        }
        for value in &variable.values {
            let _ = writeln!(out, "    values \"{}\"", encoded(value));
        }
        if let Some(role) = &variable.role {
            let _ = writeln!(out, "    role \"{}\"", encoded(&role.words()));
        }
        out.push_str("  ]\n");
    }
    for (i, variable) in network.variables.iter().enumerate() {
        for &parent in &variable.parents {
            let _ = writeln!(out, "  edge [\n    source {parent}\n    target {i}\n  ]");
        }
    }
    for [one, other] in &network.bidirected {
        let _ = writeln!(out, "  edge [\n    source {one}\n    target {other}\n    bidirected 1\n  ]");
    }
    out.push_str("]\n");
    out
}

/// GML is ASCII; other letters, quotes and ampersands are written by their numbers.
fn encoded(text: &str) -> String {
    text.chars().fold(String::new(), |mut out, c| {
        if c == '"' || c == '&' || !c.is_ascii() || c.is_ascii_control() {
            let _ = write!(out, "&#{};", u32::from(c));
        } else {
            out.push(c);
        }
        out
    })
}

fn decoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        out.push_str(&rest[..start]);
        rest = &rest[start..];
        let letter = rest.find(';').and_then(|end| Some((end, entity(&rest[1..end])?)));
        match letter {
            Some((end, letter)) => {
                out.push(letter);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out + rest
}

fn entity(name: &str) -> Option<char> {
    match name {
        "quot" => Some('"'),
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "apos" => Some('\''),
        _ => {
            let digits = name.strip_prefix('#')?;
            let hex = digits.strip_prefix(['x', 'X']).map(|hex| u32::from_str_radix(hex, 16));
            char::from_u32(hex.unwrap_or_else(|| digits.parse()).ok()?)
        }
    }
}
