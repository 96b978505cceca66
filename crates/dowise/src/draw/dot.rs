//! The causal graph in the DOT language, for Graphviz.

use std::fmt::Write;

use super::{Graph, Role};
use crate::world::World;

/// The causal graph in the DOT language, with the current state factors as separate nodes.
pub fn dot(world: &World) -> String {
    let graph = Graph::of(world);
    let mut out =
        format!("digraph {} {{\n  rankdir=BT;\n  node [shape=box, style=\"rounded,filled\"];\n", quoted(world.name()));
    for id in world.state() {
        let name = &world.variable(*id).name;
        let _ = writeln!(out, "  {} [label={}, fillcolor=\"#efe9fb\"];", quoted(&format!("now {name}")), quoted(name));
    }
    for layer in 0..graph.n_layers() {
        out.push_str("  { rank=same;\n");
        for node in graph.nodes.iter().filter(|n| n.layer == layer) {
            let colour = match node.role {
                Role::Lever => "#dcebfb",
                Role::Hidden => "#eceff2",
                Role::Key => "#fdeacf",
                Role::Reward => "#c9ecd2",
                Role::Next => "#e4f6e8",
            };
            let style = if node.unknown { ", style=\"rounded,filled,dashed\"" } else { "" };
            let label = match node.role {
                Role::Next => format!("next {}", node.name),
                Role::Reward => format!("reward {}", node.name),
                Role::Lever | Role::Hidden | Role::Key => node.name.clone(),
            };
            let _ = writeln!(
                out,
                "    {} [label={}, fillcolor=\"{colour}\"{style}];",
                quoted(&id(node.role, &node.name)),
                quoted(&label)
            );
        }
        out.push_str("  }\n");
    }
    // Arrows of behaviour mechanisms are dashed: they do not affect the outcome of an intervention.
    let style = |to: usize| if graph.behaviour_mechanisms.contains(&to) { " [style=dashed]" } else { "" };
    for (i, node) in graph.nodes.iter().enumerate() {
        for state in &node.state {
            let (from, to) = (format!("now {state}"), id(node.role, &node.name));
            let _ = writeln!(out, "  {} -> {}{};", quoted(&from), quoted(&to), style(i));
        }
    }
    for &(from, to) in &graph.edges {
        let style = style(to);
        let [from, to] = [from, to].map(|i| id(graph.nodes[i].role, &graph.nodes[i].name));
        let _ = writeln!(out, "  {} -> {}{style};", quoted(&from), quoted(&to));
    }
    out.push_str("}\n");
    out
}

/// A state factor, a reward term and a variable may share a name; their nodes must not.
fn id(role: Role, name: &str) -> String {
    match role {
        Role::Next => format!("next {name}"),
        Role::Reward => format!("reward {name}"),
        Role::Lever | Role::Hidden | Role::Key => format!("var {name}"),
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
