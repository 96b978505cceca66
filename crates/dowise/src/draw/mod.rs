//! Drawings of a world's causal graph: levers at the bottom, key variables in the middle, outcomes on top.

mod dot;
mod layout;
mod svg;

use crate::world::{Kind, Mechanism, VarId, World};

pub use dot::dot;
pub use svg::svg;

/// The role of a node; determines its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Lever,
    Hidden,
    Key,
    Reward,
    Next,
}

/// A box in the picture.
struct Node {
    name: String,
    /// A few words under the name.
    detail: String,
    role: Role,
    /// From the bottom.
    layer: usize,
    /// State factors among its parents; drawn as tags, since their edges would clutter the drawing.
    state: Vec<String>,
    /// Whether its mechanism is unknown.
    unknown: bool,
}

/// The graph to draw.
struct Graph {
    nodes: Vec<Node>,
    /// From cause to effect.
    edges: Vec<(usize, usize)>,
    /// Levers that are always set, with parents by a behaviour mechanism; these do not affect the outcome of an
    /// intervention.
    behaviour_mechanisms: Vec<usize>,
}

impl Graph {
    fn of(world: &World) -> Graph {
        let drawn: Vec<VarId> = [world.levers(), world.hidden(), world.keys()].concat();
        let position = |id: VarId| drawn.iter().position(|&d| d == id);
        let mechanism = |id: VarId| world.mechanisms().iter().find(|m| m.children.contains(&id));
        let levels = hidden_levels(world);
        let key_layer = 1 + levels.iter().map(|&(_, level)| level).max().unwrap_or(0);

        let behaviour = |id: VarId| world.behaviour_mechanisms().iter().find(|m| m.children.contains(&id));
        let mut graph = Graph { nodes: vec![], edges: vec![], behaviour_mechanisms: vec![] };
        for &id in &drawn {
            let variable = world.variable(id);
            let (role, layer) = match variable.kind {
                Kind::Lever => (Role::Lever, 0),
                Kind::Hidden => (Role::Hidden, levels.iter().find(|l| l.0 == id).map_or(1, |l| l.1)),
                // State factors are not among the variables drawn here.
                Kind::Key | Kind::State => (Role::Key, key_layer),
            };
            let m = mechanism(id);
            let unknown = m.is_some_and(|m| m.table.is_none());
            let detail = format!("{} values", variable.size());
            let chosen = behaviour(id).filter(|_| m.is_none());
            graph.behaviour_mechanisms.extend(chosen.map(|_| graph.nodes.len()));
            let parents = m.or(chosen).map_or(&[][..], |m| &m.parents);
            graph.add(world, &variable.name, detail, role, layer, parents, unknown, &position);
        }
        for (m, &factor) in world.transitions().iter().zip(world.state()) {
            let name = &world.variable(factor).name;
            let unknown = m.table.is_none();
            graph.add(world, name, "next value".into(), Role::Next, key_layer + 1, &m.parents, unknown, &position);
        }
        for r in world.rewards() {
            let unknown = r.table.is_none();
            graph.add(world, &r.name, "reward".into(), Role::Reward, key_layer + 1, &r.scope, unknown, &position);
            // Its next values are tags.
            let next = r.next.iter().map(|&id| format!("next {}", world.variable(id).name));
            graph.nodes.last_mut().expect("invariant: just added").state.extend(next);
        }
        graph
    }

    fn add(
        &mut self,
        world: &World,
        name: &str,
        detail: String,
        role: Role,
        layer: usize,
        parents: &[VarId],
        unknown: bool,
        position: &dyn Fn(VarId) -> Option<usize>,
    ) {
        let state = parents.iter().filter(|&&id| world.variable(id).kind == Kind::State);
        let state = state.map(|&id| world.variable(id).name.clone()).collect();
        let to = self.nodes.len();
        self.edges.extend(parents.iter().filter_map(|&id| position(id)).map(|from| (from, to)));
        self.nodes.push(Node { name: name.to_owned(), detail, role, layer, state, unknown });
    }

    fn n_layers(&self) -> usize {
        self.nodes.iter().map(|n| n.layer + 1).max().unwrap_or(0)
    }
}

/// The level of each hidden variable: one above its highest hidden parent.
fn hidden_levels(world: &World) -> Vec<(VarId, usize)> {
    let mut levels: Vec<(VarId, usize)> = vec![];
    // Parents come before children in `mechanisms`, so one pass suffices.
    for Mechanism { children, parents, .. } in world.mechanisms() {
        let below = parents.iter().filter_map(|p| levels.iter().find(|l| l.0 == *p)).map(|l| l.1).max().unwrap_or(0);
        let hidden = children.iter().filter(|&&c| world.variable(c).kind == Kind::Hidden);
        levels.extend(hidden.map(|&c| (c, below + 1)).collect::<Vec<_>>());
    }
    levels
}
