//! The causal graph of one step of a log, by names: what acts on levers counts, and hidden variables are projected out.

use std::collections::HashMap;

use super::logged_levers::text;
use crate::graph::Dag;
use crate::world::{Kind, MechanismSpec, WorldSpec};

/// Variables and next values of a specification as nodes, with the observed ones that matter in an order with parents
/// first.
pub(super) struct StepGraph {
    names: Vec<String>,
    /// `None`: the next value of a state factor.
    kinds: Vec<Option<Kind>>,
    dag: Dag,
    /// Observed ancestors of next values and rewards.
    order: Vec<usize>,
    /// By node: whether a next value or reward depends on it if all levers are set.
    needed: Vec<bool>,
    /// By node: hidden variables that act on it, directly or through hidden variables alone.
    hidden_above: Vec<Vec<usize>>,
    /// Nodes with a parent that is no variable, or with a joint table.
    unclear: Vec<bool>,
}

impl StepGraph {
    /// `None` if names are unreadable or arrows form a cycle, which are errors of their own.
    pub(super) fn new(spec: &WorldSpec) -> Option<StepGraph> {
        let mut names: Vec<String> = spec.variables.iter().map(|v| v.name.value.clone()).collect();
        let mut kinds: Vec<Option<Kind>> = Vec::new();
        for variable in &spec.variables {
            kinds.push(Some(*variable.kind.get()?));
        }
        let n_variables = names.len();
        let states: Vec<usize> = (0..n_variables).filter(|&v| kinds[v] == Some(Kind::State)).collect();
        names.extend(states.iter().map(|&v| names[v].clone()).collect::<Vec<_>>());
        kinds.extend(states.iter().map(|_| None));
        let index: HashMap<String, usize> = names[..n_variables].iter().cloned().zip(0..).collect();
        let next_of = |v: usize| states.iter().position(|&s| s == v).map(|i| n_variables + i);
        let mut arrows = Arrows { parents: vec![None; names.len()], unclear: vec![false; names.len()] };
        for m in &spec.mechanisms {
            arrows.add(m, |name| index.get(name).copied(), &index);
        }
        for m in &spec.transitions {
            arrows.add(m, |name| index.get(name).and_then(|&v| next_of(v)), &index);
        }
        // A state factor without a transition depends on all state factors and key variables, or levers.
        let has = |kind: Kind| kinds.contains(&Some(kind));
        let acting = if has(Kind::Key) { Kind::Key } else { Kind::Lever };
        let all = (0..n_variables).filter(|&v| matches!(kinds[v], Some(k) if k == Kind::State || k == acting));
        let all: Vec<usize> = all.collect();
        let Arrows { parents, unclear } = arrows;
        let parents: Vec<Vec<usize>> = parents
            .into_iter()
            .zip(&kinds)
            .map(|(parents, kind)| parents.unwrap_or_else(|| if kind.is_none() { all.clone() } else { Vec::new() }))
            .collect();
        let order = parents_first(&parents)?;
        let outcomes = outcomes(spec, &index, next_of);
        let is_lever = |v: usize| kinds[v] == Some(Kind::Lever);
        let set = parents.iter().enumerate().map(|(v, of)| if is_lever(v) { Vec::new() } else { of.clone() });
        let needed = Dag::new(set.collect()).ancestors(&outcomes);
        let dag = Dag::new(parents);
        let matters = dag.ancestors(&outcomes);
        let is_hidden = |v: usize| kinds[v] == Some(Kind::Hidden);
        let hidden_above = (0..names.len()).map(|v| through(&dag, v, is_hidden)).collect();
        let order = order.into_iter().filter(|&v| matters[v] && !is_hidden(v)).collect();
        Some(StepGraph { names, kinds, dag, order, needed, hidden_above, unclear })
    }

    pub(super) fn name(&self, v: usize) -> &str {
        &self.names[v]
    }

    /// `None`: a next value.
    pub(super) fn kind(&self, v: usize) -> Option<Kind> {
        self.kinds[v]
    }

    pub(super) fn is_needed(&self, v: usize) -> bool {
        self.needed[v]
    }

    pub(super) fn is_unclear(&self, v: usize) -> bool {
        self.unclear[v]
    }

    pub(super) fn position(&self, v: usize) -> usize {
        self.order.iter().position(|&of| of == v).expect("invariant: members of components matter")
    }

    /// The c-components of the observed variables that matter.
    pub(super) fn components(&self) -> Vec<Vec<usize>> {
        let mut out: Vec<Vec<usize>> = Vec::new();
        for &v in &self.order {
            if !out.iter().any(|members| members.contains(&v)) {
                out.push(self.component(v, &self.order));
            }
        }
        out
    }

    /// The c-component of a variable among these.
    fn component(&self, v: usize, among: &[usize]) -> Vec<usize> {
        let shares = |a: usize, b: usize| self.hidden_above[a].iter().any(|h| self.hidden_above[b].contains(h));
        let mut found = vec![v];
        let mut at = 0;
        while let Some(&a) = found.get(at) {
            at += 1;
            let new: Vec<usize> = among.iter().copied().filter(|&b| !found.contains(&b) && shares(a, b)).collect();
            found.extend(new);
        }
        found
    }

    /// What a variable is learned from in the factorisation of its component.
    pub(super) fn given(&self, v: usize) -> Vec<usize> {
        let component = self.component(v, &self.order[..=self.position(v)]);
        let mut given: Vec<usize> = component.iter().flat_map(|&of| self.observed_parents(of)).collect();
        given.extend(component);
        given.retain(|&of| of != v);
        given.sort_unstable_by_key(|&of| self.position(of));
        given.dedup();
        given
    }

    fn observed_parents(&self, v: usize) -> Vec<usize> {
        self.dag.observed_parents(v, |of| self.kinds[of] != Some(Kind::Hidden))
    }

    /// These members of a component and their ancestors within it.
    pub(super) fn ancestors_within(&self, members: &[usize], of: &[usize]) -> Vec<usize> {
        let mut found = of.to_vec();
        let mut at = 0;
        while let Some(&v) = found.get(at) {
            at += 1;
            let new = self.observed_parents(v).into_iter().filter(|p| members.contains(p) && !found.contains(p));
            found.extend(new.collect::<Vec<_>>());
        }
        found
    }

    /// Whether a hidden variable of a component acts on a lever of a log, and needed members depend on that lever.
    pub(super) fn is_confounded(&self, members: &[usize], needed: &[usize]) -> bool {
        let levers = self.order.iter().filter(|&&v| self.kinds[v] == Some(Kind::Lever));
        levers.copied().any(|lever| {
            let above = self.dag.ancestors(&[lever]);
            members.iter().any(|&v| above[v]) && {
                let behind = self.dag.descendants(&[lever]);
                needed.iter().any(|&v| self.observed_parents(v).iter().any(|&p| behind[p]))
            }
        })
    }

    /// Whether hidden variables that act on these act on a lever too, even on one without effects.
    pub(super) fn shares_with_levers(&self, members: &[usize]) -> bool {
        let hidden = self.hidden_of(members);
        let is_lever = |v: usize| self.kinds[v] == Some(Kind::Lever);
        (0..self.names.len()).any(|v| is_lever(v) && self.hidden_above[v].iter().any(|h| hidden.contains(h)))
    }

    /// The hidden variables that act on these.
    pub(super) fn hidden_of(&self, members: &[usize]) -> Vec<usize> {
        let mut found: Vec<usize> = members.iter().flat_map(|&v| self.hidden_above[v].iter().copied()).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Parents of each node; `None` if nothing is said about it.
struct Arrows {
    parents: Vec<Option<Vec<usize>>>,
    unclear: Vec<bool>,
}

impl Arrows {
    fn add(&mut self, m: &MechanismSpec, node: impl Fn(&str) -> Option<usize>, index: &HashMap<String, usize>) {
        let known: Vec<Option<usize>> = m.parents.iter().map(|p| index.get(&text(p)).copied()).collect();
        for child in m.children.iter().filter_map(|child| node(&text(child))) {
            self.unclear[child] |= m.children.len() > 1 || known.contains(&None);
            self.parents[child].get_or_insert_default().extend(known.iter().flatten());
        }
    }
}

/// Next values, and the variables of reward terms.
fn outcomes(spec: &WorldSpec, index: &HashMap<String, usize>, next_of: impl Fn(usize) -> Option<usize>) -> Vec<usize> {
    let paid = spec.rewards.iter().flat_map(|term| &term.scope).filter_map(|name| index.get(&text(name)).copied());
    index.values().filter_map(|&v| next_of(v)).chain(paid).collect()
}

/// The nodes with parents first; `None` if they form a cycle.
fn parents_first(parents: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = Vec::with_capacity(parents.len());
    let mut is_placed = vec![false; parents.len()];
    while order.len() < parents.len() {
        let ready = (0..parents.len()).find(|&v| !is_placed[v] && parents[v].iter().all(|&p| is_placed[p]))?;
        is_placed[ready] = true;
        order.push(ready);
    }
    Some(order)
}

/// Nodes that act on a node, directly or through others like them alone.
fn through(dag: &Dag, v: usize, is_like: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut found: Vec<usize> = Vec::new();
    let mut open = vec![v];
    while let Some(of) = open.pop() {
        let new: Vec<usize> = dag.parents(of).iter().copied().filter(|&p| is_like(p) && !found.contains(&p)).collect();
        found.extend(&new);
        open.extend(new);
    }
    found
}
