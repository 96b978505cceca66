//! Writes BIF that bnlearn, pgmpy and [`read`](super::read) read: rows with the labels of the parents' values.

use std::fmt::Write;

use crate::network::{Network, Variable, role_property};
use crate::scan::quoted;

pub(crate) fn write(network: &Network) -> String {
    let name = if network.name.is_empty() { "unknown" } else { &network.name };
    let mut out = format!("network {} {{\n", word(name));
    properties(&mut out, &network.properties);
    out.push_str("}\n");
    for variable in &network.variables {
        let _ = writeln!(out, "variable {} {{", word(&variable.name));
        let values: Vec<String> = variable.values.iter().map(|v| word(v)).collect();
        let _ = writeln!(out, "  type discrete [ {} ] {{ {} }};", values.len(), values.join(", "));
        if let Some(role) = &variable.role {
            let _ = writeln!(out, "  property {} ;", role_property(role));
        }
        properties(&mut out, &variable.properties);
        out.push_str("}\n");
    }
    for (i, variable) in network.variables.iter().enumerate() {
        if variable.parents.is_empty() && variable.table.is_none() {
            continue;
        }
        probability(&mut out, network, i, variable);
    }
    out
}

fn probability(out: &mut String, network: &Network, i: usize, variable: &Variable) {
    let parents: Vec<String> = variable.parents.iter().map(|&p| word(&network.variables[p].name)).collect();
    if parents.is_empty() {
        let _ = writeln!(out, "probability ( {} ) {{", word(&variable.name));
    } else {
        let _ = writeln!(out, "probability ( {} | {} ) {{", word(&variable.name), parents.join(", "));
    }
    let rows = variable.table.iter().flat_map(|table| table.chunks(variable.values.len().max(1)));
    for (row, numbers) in rows.enumerate() {
        let numbers: Vec<String> = numbers.iter().map(|p| format!("{p:?}")).collect();
        if parents.is_empty() {
            let _ = writeln!(out, "  table {};", numbers.join(", "));
        } else {
            let labels: Vec<String> = network.row_values(i, row).into_iter().map(word).collect();
            let _ = writeln!(out, "  ({}) {};", labels.join(", "), numbers.join(", "));
        }
    }
    out.push_str("}\n");
}

fn properties(out: &mut String, properties: &[String]) {
    for property in properties {
        let _ = writeln!(out, "  property {} ;", quoted(property));
    }
}

/// A name: in quotes if it has anything but letters, digits and the signs that other readers take.
fn word(name: &str) -> String {
    let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
    if plain { name.to_owned() } else { quoted(name) }
}
