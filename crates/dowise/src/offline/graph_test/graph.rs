//! The causal graph of one step, with observed and hidden nodes, for d-separation.

use crate::graph::Dag;
use crate::learn::Knowledge;
use crate::world::{Kind, LeverRule, VarId, World};

/// A recorded part of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// The stage.
    Stage,
    /// A state factor before the step.
    State(VarId),
    /// The setting of a lever, by its position: left alone, or a value.
    Set(usize),
    /// The value of a lever.
    Lever(VarId),
    /// A key variable.
    Key(VarId),
    /// The payment of a reward term, by its position.
    Reward(usize),
    /// A state factor after the step, by its position.
    Next(usize),
    /// A state factor, lever or key variable of the previous step.
    Previous(VarId),
    /// The same of the step before that.
    Earlier(VarId),
    /// The time of the episode in the log: episodes 2^c to 2^(c+1) − 1 are of class c.
    Period,
    /// Whether the levers of the step were set by a draw.
    Randomised,
}

/// The node of all earlier steps.
const PAST: usize = 0;

/// A node of the graph.
#[derive(Clone, Debug)]
struct Node {
    /// `None`: never observed.
    part: Option<Part>,
    parents: Vec<usize>,
}

/// The causal graph of one step.
///
/// The history acts on the stage, on every state factor and on the intervention, and is never conditioned on. The only
/// assumption about the behaviour policy is therefore that it does not use the future. A lever that may be left alone
/// has two nodes: its setting and its value.
#[derive(Clone, Debug)]
pub(super) struct StepGraph {
    nodes: Vec<Node>,
    dag: Dag,
}

impl StepGraph {
    pub(super) fn new(knowledge: &Knowledge) -> StepGraph {
        let world = knowledge.world();
        let mut nodes = Vec::new();
        let mut add = |part: Option<Part>, parents: Vec<usize>| {
            nodes.push(Node { part, parents });
            nodes.len() - 1
        };
        let mut at = vec![usize::MAX; world.variables().len()];
        let past = add(None, vec![]);
        debug_assert_eq!(past, PAST);
        let stage = add(Some(Part::Stage), vec![past]);
        for &id in world.state() {
            at[id.ix()] = add(Some(Part::State(id)), vec![past]);
        }
        let mut known = vec![past, stage];
        known.extend(world.state().iter().map(|id| at[id.ix()]));
        let choice = add(None, known);
        let mut set = Vec::new();
        for (i, &id) in world.levers().iter().enumerate() {
            let node = if may_be_left_alone(world, id) { Part::Set(i) } else { Part::Lever(id) };
            set.push(add(Some(node), vec![choice]));
            at[id.ix()] = set[i];
        }
        // Parents come before children, so every parent already has its node.
        for mechanism in world.mechanisms() {
            // The logged value of a lever is the lever, in a log.
            if let &[id] = &mechanism.children[..]
                && let Some(lever) = world.logged_lever(id)
            {
                at[id.ix()] = at[lever.ix()];
                continue;
            }
            let mut parents: Vec<usize> = mechanism.parents.iter().map(|p| at[p.ix()]).collect();
            if mechanism.children.len() > 1 {
                // Children of one joint table are dependent given its parents, as if they had a hidden common cause.
                let common = add(None, parents.clone());
                parents.push(common);
            }
            for &id in &mechanism.children {
                let part = match world.variable(id).kind {
                    Kind::Key => Some(Part::Key(id)),
                    Kind::Hidden => None,
                    Kind::Lever if may_be_left_alone(world, id) => Some(Part::Lever(id)),
                    Kind::Lever => continue,
                    Kind::State => panic!("invariant: no mechanism within a step decides a state factor"),
                };
                let mut parents = parents.clone();
                if let Some(i) = world.levers().iter().position(|&l| l == id) {
                    parents.push(set[i]);
                }
                at[id.ix()] = add(part, parents);
            }
        }
        for (j, term) in world.rewards().iter().enumerate().filter(|(_, term)| term.next.is_empty()) {
            add(Some(Part::Reward(j)), term.scope.iter().map(|p| at[p.ix()]).collect());
        }
        let mut next = Vec::new();
        for (i, transition) in world.transitions().iter().enumerate() {
            next.push(add(Some(Part::Next(i)), transition.parents.iter().map(|p| at[p.ix()]).collect()));
        }
        // Next-state rewards come after everything else in the step.
        for (j, term) in world.rewards().iter().enumerate().filter(|(_, term)| !term.next.is_empty()) {
            let present = term.scope.iter().map(|p| at[p.ix()]);
            let place = |id: &VarId| world.state().iter().position(|s| s == id).map(|i| next[i]);
            add(Some(Part::Reward(j)), present.chain(term.next.iter().filter_map(place)).collect());
        }
        // The behaviour policy may depend on the declared parents of a lever that is always set.
        for behaviour in world.behaviour_mechanisms() {
            let more: Vec<usize> = behaviour.parents.iter().map(|p| at[p.ix()]).collect();
            nodes[at[behaviour.children[0].ix()]].parents.extend(more);
        }
        let dag = Dag::new(nodes.iter().map(|n| n.parents.clone()).collect());
        StepGraph { nodes, dag }
    }

    /// All observed parts, in causal order.
    pub(super) fn observed(&self) -> impl Iterator<Item = (usize, Part)> {
        self.nodes.iter().enumerate().filter_map(|(v, node)| Some((v, node.part?)))
    }

    /// The node of an observed part.
    pub(super) fn node(&self, part: Part) -> Option<usize> {
        self.nodes.iter().position(|node| node.part == Some(part))
    }

    pub(super) fn part(&self, node: usize) -> Part {
        self.nodes[node].part.expect("invariant: only observed nodes are conditioned on")
    }

    /// Observed ancestors of a node that act on it directly or through hidden variables only, in order.
    pub(super) fn observed_parents(&self, node: usize) -> Vec<usize> {
        self.dag.observed_parents(node, |v| self.nodes[v].part.is_some())
    }

    /// The same nodes, plus the setting of every lever among them.
    pub(super) fn with_choices(&self, nodes: &[usize]) -> Vec<usize> {
        let is_set = |&&v: &&usize| matches!(self.nodes[v].part, Some(Part::Set(_)));
        let levers = nodes.iter().filter(|&&v| matches!(self.nodes[v].part, Some(Part::Lever(_))));
        let choices = levers.flat_map(|&v| self.dag.parents(v).iter().filter(is_set));
        let mut all: Vec<usize> = nodes.iter().chain(choices).copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Whether a node is d-separated from all earlier steps given others.
    pub(super) fn independent_of_past(&self, node: usize, given: &[usize]) -> bool {
        self.dag.separated(node, PAST, given)
    }

    /// Whether two nodes are d-separated given others.
    pub(super) fn independent(&self, a: usize, b: usize, given: &[usize]) -> bool {
        self.dag.separated(a, b, given)
    }
}

/// Whether some intervention leaves a lever to its own mechanism.
fn may_be_left_alone(world: &World, lever: VarId) -> bool {
    let all = world.interventions();
    let position = world.levers().iter().position(|&l| l == lever).expect("invariant: a lever is one of the levers");
    match all.lever_rule() {
        LeverRule::All => false,
        LeverRule::AtMost(_) => true,
        LeverRule::List(list) => list.iter().any(|&a| all.lever(a, position).is_none()),
    }
}
