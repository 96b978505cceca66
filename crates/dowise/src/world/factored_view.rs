//! Misspecification of factored learners without key variables (F-UCBVI).
//!
//! They model P(s' | s, a) as a product of P(s_i' | s\[I_i\], a). This fails in two cases. Factors with a common random
//! cause are dependent once that cause is marginalised out. And if key variables depend on state factors outside I_i,
//! so does the next value after marginalisation.

use std::collections::BTreeSet;

use serde::Serialize;

use super::{Kind, LeverRule, Mechanism, VarId, World};

/// Errors of the factored view without key variables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FactoredView {
    /// Whether it is well specified: it has no error in the limit of infinite data.
    pub right: bool,
    /// Pairs of state factors that are dependent given the state and the intervention.
    pub dependent: Vec<Dependent>,
    /// State factors whose next value depends on state factors outside their scope.
    pub outside: Vec<Outside>,
    /// A description in a sentence or two.
    pub why: String,
}

/// Two state factors with a common random cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Dependent {
    /// The two state factors.
    pub factors: [String; 2],
    /// The random variables that act on both.
    pub causes: Vec<String>,
}

/// A state factor that depends on others outside its scope after marginalisation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outside {
    /// The state factor.
    pub factor: String,
    /// State factors outside its scope that it depends on.
    pub depends_on: Vec<String>,
}

impl FactoredView {
    /// Checks a world by its graph, ignoring parents without effect in a known table.
    pub(crate) fn of(world: &World) -> FactoredView {
        let name = |id: &VarId| world.variable(*id).name.clone();
        let reaches: Vec<Reach> = world.transitions.iter().map(|m| Reach::of(world, m)).collect();
        let mut dependent = vec![];
        let mut outside = vec![];
        for (i, (a, transition)) in reaches.iter().zip(&world.transitions).enumerate() {
            for (j, b) in reaches.iter().enumerate().skip(i + 1) {
                if world.low_rank.is_some() {
                    let factors = [name(&world.state[i]), name(&world.state[j])];
                    dependent.push(Dependent { factors, causes: vec!["the anchors of [low_rank]".to_owned()] });
                    continue;
                }
                let shared: Vec<VarId> = a.random.intersection(&b.random).copied().collect();
                if !shared.is_empty() {
                    // The closest common causes are the most informative: key variables, if there are any.
                    let keys = shared.iter().filter(|&&id| world.variable(id).kind == Kind::Key);
                    let keys: Vec<String> = keys.map(name).collect();
                    let causes = if keys.is_empty() { shared.iter().map(name).collect() } else { keys };
                    dependent.push(Dependent { factors: [name(&world.state[i]), name(&world.state[j])], causes });
                }
            }
            let beyond: Vec<String> = a.state.iter().filter(|id| !transition.parents.contains(id)).map(name).collect();
            if !beyond.is_empty() {
                outside.push(Outside { factor: name(&world.state[i]), depends_on: beyond });
            }
        }
        let why = explain(world, &dependent, &outside);
        FactoredView { right: dependent.is_empty() && outside.is_empty(), dependent, outside, why }
    }
}

/// Ancestors of a state factor's next value through the key variables.
#[derive(Default)]
struct Reach {
    /// Random variables; jointly drawn ones count together.
    random: BTreeSet<VarId>,
    /// State factors.
    state: BTreeSet<VarId>,
}

impl Reach {
    fn of(world: &World, transition: &Mechanism) -> Reach {
        let mut reach = Reach::default();
        let mut seen = BTreeSet::new();
        let mut todo: Vec<VarId> = acting_parents(world, transition);
        todo.retain(|&id| world.variable(id).kind != Kind::State);
        while let Some(id) = todo.pop() {
            if world.variable(id).kind == Kind::State {
                reach.state.insert(id);
                continue;
            }
            if !seen.insert(id) || (world.variable(id).kind == Kind::Lever && !may_be_left_alone(world, id)) {
                continue;
            }
            let Some(mechanism) = world.mechanisms.iter().find(|m| m.children.contains(&id)) else { continue };
            if !is_deterministic(mechanism) {
                reach.random.extend(&mechanism.children);
            }
            todo.extend(acting_parents(world, mechanism));
        }
        reach
    }
}

fn may_be_left_alone(world: &World, lever: VarId) -> bool {
    let position = world.levers.iter().position(|&id| id == lever);
    match world.interventions.lever_rule() {
        LeverRule::All => false,
        LeverRule::AtMost(_) => true,
        LeverRule::List(list) => {
            position.is_some_and(|i| list.iter().any(|&a| world.interventions.lever(a, i).is_none()))
        }
    }
}

fn is_deterministic(mechanism: &Mechanism) -> bool {
    mechanism.table.as_ref().is_some_and(|table| table.iter().all(|&p| p == 0.0 || p == 1.0))
}

/// The parents with an effect in the table; all of them if it is unknown.
fn acting_parents(world: &World, mechanism: &Mechanism) -> Vec<VarId> {
    let Some(table) = &mechanism.table else { return mechanism.parents.clone() };
    let sizes = world.sizes(&mechanism.parents);
    let mut stride: usize = world.sizes(&mechanism.children).iter().product();
    let mut acting = vec![];
    for (&parent, &size) in mechanism.parents.iter().zip(&sizes).rev() {
        let span = stride * size;
        let varies = table
            .chunks_exact(span)
            .any(|b| b.chunks_exact(stride).skip(1).any(|value| value.iter().zip(b).any(|(x, y)| x != y)));
        if varies {
            acting.push(parent);
        }
        stride = span;
    }
    acting.reverse();
    acting
}

fn explain(world: &World, dependent: &[Dependent], outside: &[Outside]) -> String {
    if world.state.len() == 1 && outside.is_empty() {
        return "There is only one state factor: the factored view is the plain one.".into();
    }
    let mut sentences = vec![];
    if let Some(first) = dependent.first() {
        let [a, b] = &first.factors;
        let more = match dependent.len() - 1 {
            0 => String::new(),
            1 => " (one more pair is alike)".into(),
            n => format!(" ({n} more pairs are alike)"),
        };
        sentences.push(format!(
            "The next {a} and the next {b} share a random cause, {}{more}: once it is forgotten they are dependent, \
             and a product of factors cannot say so.",
            listed(&first.causes)
        ));
    }
    if let Some(first) = outside.first() {
        let more = match outside.len() - 1 {
            0 => String::new(),
            1 => " (the same holds for one more factor)".into(),
            n => format!(" (the same holds for {n} more factors)"),
        };
        sentences.push(format!(
            "After marginalising the key variables, the next {} also depends on {}, outside its scope{more}.",
            first.factor,
            listed(&first.depends_on)
        ));
    }
    if sentences.is_empty() {
        return "No two state factors share a random cause, and none depends on anything outside its scope.".into();
    }
    sentences.join(" ")
}

/// "a", "a and b", "a, b and c".
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}
