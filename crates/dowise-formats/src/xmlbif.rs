//! XMLBIF 0.3: `<BIF><NETWORK><VARIABLE>…</VARIABLE><DEFINITION>…</DEFINITION></NETWORK></BIF>`.

use std::borrow::Cow;
use std::fmt::Write;

use dowise::WorldError;
use dowise::world::{At, Problem, Source};
use roxmltree::{Document, Node, ParsingOptions};

use crate::findings::Draft;
use crate::network::{GraphFile, Network, Role, Variable, split_role, with_role};
use crate::tables::{Name, Rows, Tables};

/// Most elements, texts and attributes of a document.
const MOST_NODES: u32 = 1 << 22;

pub(crate) fn read(source: Source) -> Result<GraphFile, WorldError> {
    let mut draft = Draft::default();
    // Files of this format usually bring their document type along; entities in it are expanded within narrow limits.
    let options = ParsingOptions { allow_dtd: true, nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    match Document::parse_with_options(&source.text, options) {
        Ok(document) => network(&mut draft, &document),
        Err(error) => {
            let place = error.pos();
            let start = offset(&source.text, place.row as usize, place.col as usize);
            let at = Some(At { source: 0, start, end: start });
            let message = error.to_string();
            let message = message.strip_suffix(&format!(" at {place}")).unwrap_or(&message);
            draft.findings.push(Problem::error("syntax", format!("not XML: {message}")).help("correct it here").at(at));
        }
    }
    draft.finish(source)
}

/// The byte at a line and a column, both from 1.
fn offset(text: &str, row: usize, column: usize) -> usize {
    let line: usize = text.split_inclusive('\n').take(row.saturating_sub(1)).map(str::len).sum();
    let rest = &text[line..];
    line + rest.char_indices().nth(column.saturating_sub(1)).map_or(rest.len(), |(i, _)| i)
}

fn place(node: Node<'_, '_>) -> Option<At> {
    let range = node.range();
    Some(At { source: 0, start: range.start, end: range.end })
}

/// Only the opening tag, for elements that go over many lines.
fn tag(node: Node<'_, '_>) -> Option<At> {
    let range = node.range();
    let text = &node.document().input_text()[range.clone()];
    let length = text.find('>').map_or(text.len(), |end| end + 1);
    Some(At { source: 0, start: range.start, end: range.start + length })
}

fn is(node: Node<'_, '_>, name: &str) -> bool {
    node.is_element() && node.tag_name().name().eq_ignore_ascii_case(name)
}

fn children<'a, 'i: 'a>(node: Node<'a, 'i>, name: &'a str) -> impl Iterator<Item = Node<'a, 'i>> + 'a {
    node.children().filter(move |child| is(*child, name))
}

/// All text of an element; a comment may stand in between.
fn content(node: Node<'_, '_>) -> String {
    let texts = node.children().filter(|child| child.is_text()).filter_map(|child| child.text());
    texts.collect::<Vec<_>>().join(" ").trim().to_owned()
}

fn network(draft: &mut Draft, document: &Document<'_>) {
    let root = document.root_element();
    let Some(network) = is(root, "BIF").then(|| children(root, "NETWORK").next()).flatten() else {
        let problem = Problem::error("syntax", "there is no <BIF> with a <NETWORK> in it");
        return draft.findings.push(problem.help("check that it is the file you meant").at(tag(root)));
    };
    draft.network.name = children(network, "NAME").next().map(content).unwrap_or_default();
    draft.network.properties = children(network, "PROPERTY").map(content).collect();
    for variable in children(network, "VARIABLE") {
        self::variable(draft, variable);
    }
    let mut definitions = vec![];
    for definition in children(network, "DEFINITION").chain(children(network, "PROBABILITY")) {
        definitions.extend(self::definition(draft, definition));
    }
    let mut tables = Tables::new(draft);
    for (names, rows) in definitions {
        tables.add(&names, rows);
    }
    tables.finish();
}

fn variable(draft: &mut Draft, node: Node<'_, '_>) {
    let Some(name) = children(node, "NAME").next().map(content) else {
        let problem = Problem::error("missing-key", "a <VARIABLE> has no <NAME>");
        return draft.findings.push(problem.help("give it one").at(tag(node)));
    };
    let (role, properties) = split_role(children(node, "PROPERTY").map(content).collect());
    let mut variable = Variable { name, role, properties, ..Variable::default() };
    match node.attribute("TYPE").or(node.attribute("type")).unwrap_or("nature") {
        "nature" => {}
        "decision" => variable.role = variable.role.or(Some(Role::Lever)),
        other => {
            let message = format!("\"{}\" is a variable of type `{other}`", variable.name);
            let help = "only nature and decision are read; take a utility out, and give what is paid as the reward";
            draft.findings.push(Problem::error("wrong-type", message).help(help).at(tag(node)));
        }
    }
    for outcome in children(node, "OUTCOME").chain(children(node, "VALUE")) {
        let value = content(outcome);
        if variable.values.contains(&value) {
            let message = format!("\"{}\" has two values called \"{value}\"", variable.name);
            let help = "rename or remove one of them";
            draft.findings.push(Problem::error("duplicate-value", message).help(help).at(place(outcome)));
        }
        variable.values.push(value);
    }
    if variable.values.is_empty() {
        let message = format!("variable \"{}\" has no <OUTCOME>", variable.name);
        draft.findings.push(Problem::error("missing-key", message).help("list its values").at(tag(node)));
    }
    draft.declare(variable, tag(node));
}

fn definition(draft: &mut Draft, node: Node<'_, '_>) -> Option<(Vec<Name<'static>>, Rows<'static>)> {
    let mut names: Vec<Name<'static>> = vec![];
    for name in children(node, "FOR").chain(children(node, "GIVEN")) {
        names.push((Cow::Owned(content(name)), place(name)));
    }
    let n_for = children(node, "FOR").count();
    if n_for != 1 {
        let message = format!("a <DEFINITION> has {n_for} <FOR>");
        draft.findings.push(Problem::error("missing-key", message).help("name one variable in it").at(tag(node)));
        return None;
    }
    let mut rows = Rows::default();
    if let Some(table) = children(node, "TABLE").next() {
        let mut numbers = vec![];
        for text in table.children().filter(|child| child.is_text()) {
            for word in text.text().unwrap_or_default().split_whitespace() {
                let Some(number) = word.parse::<f64>().ok().filter(|p| p.is_finite()) else {
                    let problem = Problem::error("wrong-type", format!("expected a probability, found `{word}`"));
                    let start = text.range().start;
                    let inside = document_text(text).find(word).unwrap_or(0);
                    let at = Some(At { source: 0, start: start + inside, end: start + inside + word.len() });
                    draft.findings.push(problem.help("numbers are separated by spaces").at(at));
                    return None;
                };
                numbers.push((number, tag(table)));
            }
        }
        rows.by_rows = Some((numbers, tag(table)));
    }
    Some((names, rows))
}

/// The text as it stands in the file.
fn document_text<'a>(node: Node<'a, '_>) -> &'a str {
    &node.document().input_text()[node.range()]
}

pub(crate) fn write(network: &Network) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<BIF VERSION=\"0.3\">\n<NETWORK>\n");
    let _ = writeln!(out, "<NAME>{}</NAME>", escaped(&network.name));
    for property in &network.properties {
        let _ = writeln!(out, "<PROPERTY>{}</PROPERTY>", escaped(property));
    }
    for variable in &network.variables {
        let _ = writeln!(out, "<VARIABLE TYPE=\"nature\">\n  <NAME>{}</NAME>", escaped(&variable.name));
        for value in &variable.values {
            let _ = writeln!(out, "  <OUTCOME>{}</OUTCOME>", escaped(value));
        }
        for property in with_role(variable) {
            let _ = writeln!(out, "  <PROPERTY>{}</PROPERTY>", escaped(&property));
        }
        out.push_str("</VARIABLE>\n");
    }
    for variable in &network.variables {
        if variable.parents.is_empty() && variable.table.is_none() {
            continue;
        }
        let _ = writeln!(out, "<DEFINITION>\n  <FOR>{}</FOR>", escaped(&variable.name));
        for &parent in &variable.parents {
            let _ = writeln!(out, "  <GIVEN>{}</GIVEN>", escaped(&network.variables[parent].name));
        }
        if let Some(table) = &variable.table {
            let rows = table.chunks(variable.values.len().max(1));
            let rows = rows.map(|row| row.iter().map(|p| format!("{p:?}")).collect::<Vec<_>>().join(" "));
            let _ = writeln!(out, "  <TABLE>\n    {}\n  </TABLE>", rows.collect::<Vec<_>>().join("\n    "));
        }
        out.push_str("</DEFINITION>\n");
    }
    out.push_str("</NETWORK>\n</BIF>\n");
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('\r', "&#13;")
}
