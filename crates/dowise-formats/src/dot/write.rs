//! Writes DOT with the values and the role of each variable as attributes, which other programs pass over.

use std::fmt::Write;

use super::{ROLE, VALUES, join};
use crate::network::{Network, Role};

pub(crate) fn write(network: &Network) -> String {
    let mut out = String::from("digraph ");
    if !network.name.is_empty() {
        let _ = write!(out, "{} ", quoted(&network.name));
    }
    out.push_str("{\n");
    for variable in &network.variables {
        let mut attributes = vec![];
        if !variable.values.is_empty() {
            attributes.push(format!("{VALUES}={}", quoted(&join(&variable.values))));
        }
        if let Some(role) = &variable.role {
            attributes.push(format!("{ROLE}={}", quoted(&role.words())));
            attributes.extend(shape(role).map(str::to_owned));
        }
        let attributes = if attributes.is_empty() { String::new() } else { format!(" [{}]", attributes.join(", ")) };
        let _ = writeln!(out, "  {}{attributes};", quoted(&variable.name));
    }
    for variable in &network.variables {
        for &parent in &variable.parents {
            let _ = writeln!(out, "  {} -> {};", quoted(&network.variables[parent].name), quoted(&variable.name));
        }
    }
    for [one, other] in &network.bidirected {
        let [one, other] = [one, other].map(|&i| quoted(&network.variables[i].name));
        let _ = writeln!(out, "  {one} -> {other} [dir=both, style=dashed];");
    }
    out.push_str("}\n");
    out
}

/// How Graphviz draws it.
fn shape(role: &Role) -> Option<&'static str> {
    match role {
        Role::Lever => Some("shape=box"),
        Role::Hidden => Some("style=dashed"),
        Role::Key | Role::State | Role::NextOf(_) | Role::Adjusted | Role::Selected => None,
    }
}

/// A text in quotes. DOT has no way to write an odd number of backslashes in front of a quote: one is added.
fn quoted(text: &str) -> String {
    if is_markup(text) {
        return text.to_owned();
    }
    let mut out = String::from("\"");
    let mut backslashes = 0;
    for c in text.chars() {
        if c == '"' {
            out.push_str(if backslashes % 2 == 1 { "\\\\\"" } else { "\\\"" });
        } else {
            out.push(c);
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
    }
    out.push_str(if backslashes % 2 == 1 { "\\\"" } else { "\"" });
    out
}

/// Whether a text is markup between angle brackets, which is read as it stands.
fn is_markup(text: &str) -> bool {
    let mut depth = 0usize;
    for (i, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            _ if depth == 0 => return false,
            '>' if depth == 1 => return i + 1 == text.len(),
            '>' => depth -= 1,
            _ => {}
        }
    }
    false
}
