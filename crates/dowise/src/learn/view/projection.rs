//! Latent projection of mechanisms: mechanisms that share hidden variables are counted as one.
//!
//! P(observed | observed parents) factorises over *components*: sets of mechanisms connected by hidden variables. A
//! hidden variable with one child is marginalised out within that child's rows. Only observed variables that share a
//! hidden parent are counted jointly.

use crate::Space;
use crate::kernel::groups;
use crate::learn::{LearnError, LearnResult, MOST_CELLS};
use crate::world::{Assumed, Kind, Mechanism, VarId, World};

/// A world without unknown hidden mechanisms, and the origin of its mechanisms.
pub(super) struct Projection {
    /// Unknown mechanisms have only observed variables.
    pub(super) world: World,
    /// For each mechanism of `world` the original mechanisms that it represents: itself, or a component.
    pub(super) made_from: Vec<Vec<usize>>,
}

/// Replaces every component with an unknown mechanism by one mechanism of its observed variables.
pub(super) fn project(world: &World) -> LearnResult<Projection> {
    let mechanisms = world.mechanisms();
    // Mechanisms without influence on key variables are not needed, nor is that of a lever that is always set.
    let needed: Vec<usize> = groups::groups(world).into_iter().flat_map(|g| g.mechanisms).collect();
    let is = |id: &VarId, kind: Kind| world.variable(*id).kind == kind;
    let mut components: Vec<Vec<usize>> = Vec::new();
    for component in tied(world, &needed) {
        if component.iter().any(|&m| mechanisms[m].table.is_none()) {
            components.push(component);
        }
    }
    let inside = |m: usize| components.iter().any(|c| c.contains(&m));
    let mut made: Vec<(Vec<usize>, Mechanism)> =
        (0..mechanisms.len()).filter(|&m| !inside(m)).map(|m| (vec![m], mechanisms[m].clone())).collect();
    for component in &components {
        let members = || component.iter().map(|&m| &mechanisms[m]);
        if let [single] = component[..]
            && members().all(|m| m.children.iter().chain(&m.parents).all(|id| !is(id, Kind::Hidden)))
        {
            made.push((vec![single], mechanisms[single].clone()));
            continue;
        }
        let lever = members().flat_map(|m| &m.children).find(|id| is(id, Kind::Lever));
        if let Some(&lever) = lever {
            return Err(LearnError::Confounded { lever: world.variable(lever).name.clone() });
        }
        let mut children: Vec<VarId> = members().flat_map(|m| &m.children).copied().collect();
        children.retain(|id| is(id, Kind::Key));
        let order =
            |kind: Kind| world.variables().iter().enumerate().filter(move |(_, v)| v.kind == kind).map(|(i, _)| i);
        let outside = |id: &usize| {
            let named = members().any(|m| m.parents.iter().any(|p| p.ix() == *id));
            named && children.iter().all(|c| c.ix() != *id)
        };
        let parents: Vec<VarId> = [Kind::State, Kind::Lever, Kind::Key]
            .into_iter()
            .flat_map(order)
            .filter(outside)
            .map(|i| VarId(i as u16))
            .collect();
        let rows = Space::new(&world.sizes(&parents)).map(|s| s.len());
        let cells = rows.and_then(|n| n.checked_mul(Space::new(&world.sizes(&children))?.len()));
        if cells.is_none_or(|n| n > MOST_CELLS) {
            return Err(LearnError::TooManyCells { what: "P(z | s, a)".to_owned(), cells: cells.map(|n| n as u128) });
        }
        let joint = Mechanism { children, parents, table: None, assumed: Assumed::default() };
        made.push((component.clone(), joint));
    }
    made.sort_by_key(|(from, _)| from[0]);
    let made = crate::graph::parents_first(made, |(_, m)| m.children.clone(), |(_, m)| m.parents.clone());
    let mut out = world.clone();
    let made_from = made.iter().map(|(from, _)| from.clone()).collect();
    out.mechanisms = made.into_iter().map(|(_, m)| m).collect();
    Ok(Projection { world: out, made_from })
}

/// Mechanisms connected by hidden variables, each component in the order of the world. An observed variable on a
/// directed path between two members of a component belongs to it, since joint counts would otherwise depend on it.
fn tied(world: &World, needed: &[usize]) -> Vec<Vec<usize>> {
    let mechanisms = world.mechanisms();
    let mut root: Vec<usize> = (0..mechanisms.len()).collect();
    let join = |root: &mut Vec<usize>, a: usize, b: usize| {
        let (a, b) = (root[a].min(root[b]), root[a].max(root[b]));
        root.iter_mut().filter(|r| **r == b).for_each(|r| *r = a);
    };
    let own = |id: VarId| needed.iter().copied().find(|&m| mechanisms[m].children.contains(&id));
    for &m in needed {
        for &id in mechanisms[m].parents.iter().filter(|id| world.variable(**id).kind == Kind::Hidden) {
            if let Some(of_hidden) = own(id) {
                join(&mut root, m, of_hidden);
            }
        }
    }
    loop {
        let mut changed = false;
        for &m in needed {
            // Components that lie both before and after this mechanism.
            let before = reach(world, needed, m, &|a, b| {
                mechanisms[a].parents.iter().any(|p| mechanisms[b].children.contains(p))
            });
            let after = reach(world, needed, m, &|a, b| {
                mechanisms[b].parents.iter().any(|p| mechanisms[a].children.contains(p))
            });
            for &b in &before {
                if root[b] != root[m] && after.iter().any(|&a| root[a] == root[b]) {
                    join(&mut root, m, b);
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    let mut components: Vec<Vec<usize>> = Vec::new();
    for &m in needed {
        match components.iter_mut().find(|c| root[c[0]] == root[m]) {
            Some(component) => component.push(m),
            None => components.push(vec![m]),
        }
    }
    components.iter_mut().for_each(|c| c.sort_unstable());
    components
}

/// The mechanisms reachable from one by steps from a to b, itself excluded.
fn reach(world: &World, needed: &[usize], from: usize, step: &dyn Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut seen = vec![false; world.mechanisms().len()];
    let (mut open, mut found) = (vec![from], Vec::new());
    while let Some(a) = open.pop() {
        for &b in needed.iter().filter(|&&b| b != a && b != from && step(a, b)) {
            if !std::mem::replace(&mut seen[b], true) {
                found.push(b);
                open.push(b);
            }
        }
    }
    found
}
