//! Partition of key variables into groups that share no lever, hidden variable or edge.

use crate::world::{Kind, LeverRule, VarId, World};

/// Linked levers and key variables, and the mechanisms that determine them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupShape {
    /// Key variables of this group (and levers that act directly).
    pub(crate) causes: Vec<VarId>,
    /// Positions of its levers among the world's levers, in order.
    pub(crate) levers: Vec<usize>,
    /// Positions of its mechanisms among the world's mechanisms.
    pub(crate) mechanisms: Vec<usize>,
    /// Positions of the state factors in the scopes of its mechanisms or forbidden combinations, in order.
    pub(crate) state: Vec<usize>,
}

/// The groups of a world, ordered by their first key variable; levers without effects come last, one group each.
///
/// With an explicit list of interventions all levers depend on each other, so there is one group.
pub(crate) fn groups(world: &World) -> Vec<GroupShape> {
    let causes = acting(world);
    let needed = needed_mechanisms(world, &causes);
    let may_be_left = !matches!(world.interventions().lever_rule(), LeverRule::All);
    let n = world.variables().len();
    let mut union = Union::new(n);
    for &m in &needed {
        let mechanism = &world.mechanisms()[m];
        let mut nodes = mechanism.children.iter().chain(&mechanism.parents).filter(|id| !is_state(world, **id));
        if let Some(first) = nodes.next() {
            nodes.for_each(|id| union.join(first.ix(), id.ix()));
        }
    }
    if matches!(world.interventions().lever_rule(), LeverRule::List(_)) {
        let mut all = causes.iter().chain(world.levers());
        if let Some(first) = all.next() {
            all.for_each(|id| union.join(first.ix(), id.ix()));
        }
    }
    let mut shapes: Vec<(usize, GroupShape)> = Vec::new();
    let mut place = |root: usize| -> usize { shapes_position(&mut shapes, root) };
    let cause_groups: Vec<usize> = causes.iter().map(|id| place(union.root(id.ix()))).collect();
    let lever_groups: Vec<usize> = world.levers().iter().map(|id| place(union.root(id.ix()))).collect();
    let mut out: Vec<GroupShape> = shapes.into_iter().map(|(_, shape)| shape).collect();
    for (&id, g) in causes.iter().zip(cause_groups) {
        out[g].causes.push(id);
    }
    for (lever, g) in lever_groups.iter().enumerate() {
        out[*g].levers.push(lever);
    }
    let roots: Vec<usize> = out
        .iter()
        .map(|g| union.root(g.causes.first().copied().unwrap_or_else(|| world.levers()[g.levers[0]]).ix()))
        .collect();
    for &m in &needed {
        let mechanism = &world.mechanisms()[m];
        let root = union.root(mechanism.children[0].ix());
        let g = roots.iter().position(|&r| r == root).expect("invariant: a needed mechanism leads to a cause variable");
        out[g].mechanisms.push(m);
        for id in &mechanism.parents {
            if let Some(i) = world.state().iter().position(|s| s == id) {
                out[g].state.push(i);
            }
        }
    }
    for rule in world.interventions().forbid() {
        for g in &mut out {
            if rule.levers.iter().all(|(lever, _)| g.levers.contains(lever)) {
                g.state.extend(rule.when.iter().map(|(i, _)| *i));
            }
        }
    }
    for g in &mut out {
        g.state.sort_unstable();
        g.state.dedup();
    }
    debug_assert!(
        may_be_left
            || needed
                .iter()
                .all(|&m| { world.mechanisms()[m].children.iter().all(|&id| world.variable(id).kind != Kind::Lever) })
    );
    out
}

fn shapes_position(shapes: &mut Vec<(usize, GroupShape)>, root: usize) -> usize {
    shapes.iter().position(|(r, _)| *r == root).unwrap_or_else(|| {
        let empty = GroupShape { causes: vec![], levers: vec![], mechanisms: vec![], state: vec![] };
        shapes.push((root, empty));
        shapes.len() - 1
    })
}

/// Key variables, then levers, in the scope of a transition or reward, in the world's order.
fn acting(world: &World) -> Vec<VarId> {
    let acts = |id: &VarId| {
        world.transitions().iter().any(|m| m.parents.contains(id))
            || world.rewards().iter().any(|r| r.scope.contains(id))
    };
    world.keys().iter().chain(world.levers()).filter(|id| acts(id)).copied().collect()
}

/// Mechanisms of the key variables and of their ancestors. A lever's own mechanism matters only if the lever may be
/// left alone.
fn needed_mechanisms(world: &World, causes: &[VarId]) -> Vec<usize> {
    let mut wanted = vec![false; world.variables().len()];
    causes.iter().for_each(|id| wanted[id.ix()] = true);
    let mut needed = Vec::new();
    // Parents come before children, so one reverse pass sees every child first.
    for (m, mechanism) in world.mechanisms().iter().enumerate().rev() {
        let lever = mechanism.children.iter().all(|&id| world.variable(id).kind == Kind::Lever);
        if lever && matches!(world.interventions().lever_rule(), LeverRule::All) {
            continue;
        }
        if mechanism.children.iter().any(|id| wanted[id.ix()]) {
            mechanism.parents.iter().for_each(|id| wanted[id.ix()] = true);
            needed.push(m);
        }
    }
    needed.reverse();
    needed
}

fn is_state(world: &World, id: VarId) -> bool {
    world.variable(id).kind == Kind::State
}

/// Disjoint sets (union–find).
pub(super) struct Union {
    parent: Vec<usize>,
}

impl Union {
    /// `n` singletons.
    pub(super) fn new(n: usize) -> Union {
        Union { parent: (0..n).collect() }
    }

    pub(super) fn root(&self, mut i: usize) -> usize {
        while self.parent[i] != i {
            i = self.parent[i];
        }
        i
    }

    pub(super) fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a.max(b)] = a.min(b);
    }
}
