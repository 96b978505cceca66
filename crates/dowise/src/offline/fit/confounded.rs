//! Unmeasured confounding of a lever and its outcome: numbers that are not fitted, why, and the remedy.

use serde::Serialize;

use super::FitError;
use super::error::words;
use super::keep::{Kept, needed};
use super::report::OpenQuestion;
use crate::kernel::groups;
use crate::world::{Kind, Mechanism, VarId, World};

/// A lever whose effect is not identified from a log of this world.
///
/// Steps that leave the lever alone say nothing about setting it, and vice versa, so no single mechanism holds for
/// both. If every intervention sets the lever, the behaviour policy may have used the hidden variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Confounded {
    /// The lever.
    pub lever: String,
    /// Whether every intervention sets it, so that confounding can come only from the behaviour policy.
    pub always_set: bool,
    /// Hidden variables that affect the lever.
    pub hidden: Vec<String>,
    /// Other variables that these affect.
    pub effects: Vec<String>,
    /// Everything that is therefore not fitted.
    pub not_fitted: Vec<String>,
    /// Those without numbers in the world file; uniform distributions replace them.
    pub without_numbers: Vec<String>,
}

impl Confounded {
    /// Levers that every intervention sets and whose effect is confounded, unless randomised: a hidden variable affects
    /// the lever and a learned descendant.
    ///
    /// Mechanisms that share hidden variables are learned as one table, P(children | parents). In a log this equals the
    /// interventional distribution only if no parent descends from the hidden variables. This excludes a confounded
    /// lever and its descendants.
    pub(super) fn by_behaviour(world: &World, kept: &Kept) -> Vec<String> {
        let kind = |id: &VarId| world.variable(*id).kind;
        let needed = needed(world);
        let lever = |behaviour: &Mechanism| {
            let lever = behaviour.children[0];
            let after = |id: &VarId| *id == lever || ancestors(world, *id).contains(&lever);
            let is_hidden_above = |id: &VarId| kind(id) == Kind::Hidden;
            let found = ancestors(world, lever).into_iter().filter(is_hidden_above).any(|hidden| {
                let tied = tied(world, &needed, hidden);
                let learned = tied.iter().any(|&m| !kept.has(world, &world.mechanisms[m]));
                let mut parents = tied.iter().flat_map(|&m| &world.mechanisms[m].parents);
                learned && parents.any(|p| !matches!(kind(p), Kind::State | Kind::Hidden) && after(p))
            });
            found.then(|| world.variable(lever).name.clone())
        };
        world.behaviour_mechanisms.iter().filter_map(lever).collect()
    }

    /// The hidden variables that affect a lever and another variable, by name.
    pub(super) fn find(world: &World, lever: String) -> Confounded {
        let is_hidden = |id: &VarId| world.variable(*id).kind == Kind::Hidden;
        let id = world.find(&lever).expect("invariant: the lever was found in this world");
        let hidden: Vec<VarId> = ancestors(world, id).into_iter().filter(is_hidden).collect();
        // Other effects of the hidden variables, through further hidden variables too.
        let mut moved = hidden.clone();
        let mut effects = Vec::new();
        for &m in &needed(world) {
            let mechanism = &world.mechanisms[m];
            if mechanism.parents.iter().any(|p| moved.contains(p)) {
                for &child in mechanism.children.iter().filter(|c| **c != id) {
                    if is_hidden(&child) { moved.push(child) } else { effects.push(child) }
                }
            }
        }
        let names = |ids: &[VarId]| -> Vec<String> { ids.iter().map(|&id| world.variable(id).name.clone()).collect() };
        let (hidden, effects) = (names(&hidden), names(&effects));
        let mut not_fitted: Vec<String> = names(&moved);
        let always_set = world.behaviour_mechanisms.iter().any(|m| m.children.contains(&id));
        not_fitted.extend(effects.iter().cloned().chain((!always_set).then(|| lever.clone())));
        Confounded { lever, always_set, hidden, effects, not_fitted, without_numbers: Vec::new() }
    }

    /// Extends the group to everything linked to the lever by levers, hidden variables or edges.
    pub(super) fn with_whole_group(mut self, world: &World) -> Confounded {
        let of_lever =
            |m: &usize| world.mechanisms[*m].children.iter().any(|&id| world.variable(id).name == self.lever);
        let groups = groups::groups(world);
        let group = groups.iter().find(|g| g.mechanisms.iter().any(of_lever));
        let members = group.into_iter().flat_map(|g| &g.mechanisms);
        let all: Vec<String> =
            members.flat_map(|&m| &world.mechanisms[m].children).map(|&id| world.variable(id).name.clone()).collect();
        self.not_fitted.extend(all);
        self.not_fitted.sort();
        self.not_fitted.dedup();
        self
    }

    /// Adds the variables that are not fitted to those that are kept; `false` if all were kept already.
    pub(super) fn keep(&mut self, world: &mut World, kept: &mut Kept) -> bool {
        let mut changed = false;
        for name in &self.not_fitted {
            changed |= kept.names.insert(name.clone());
            let id = world.find(name).expect("invariant: names of this world");
            let Some(at) = world.mechanisms.iter().position(|m| m.children.contains(&id)) else { continue };
            // Numbers that are to be learned (`learn`), such as placeholders, are not vouched for.
            let to_learn = std::mem::take(&mut world.mechanisms[at].assumed.learned);
            if to_learn || world.mechanisms[at].table.is_none() {
                self.without_numbers.push(name.clone());
                changed = true;
            }
            if world.mechanisms[at].table.is_none() {
                let table = stand_in(world, &world.mechanisms[at]);
                world.mechanisms[at].table = Some(table.into());
            }
        }
        changed
    }

    /// The error for callers that need every number, if some are missing.
    pub fn refusal(&self) -> FitError {
        let Confounded { lever, always_set, hidden, effects, without_numbers, .. } = self.clone();
        FitError::Confounded { lever, always_set, hidden, effects, without_numbers }
    }

    /// The unidentified quantity, its substitute, and the experiment that would identify it.
    pub fn question(&self) -> OpenQuestion {
        let Confounded { lever, always_set, hidden, effects, not_fitted, without_numbers } = self;
        let stands = if without_numbers.is_empty() {
            format!("{} stay as the world file gives them", words(not_fitted))
        } else {
            format!(
                "{} stay as the world file gives them, and all values alike stand for the numbers that it lacks ({})",
                words(not_fitted),
                words(without_numbers)
            )
        };
        OpenQuestion {
            what: format!("what setting lever {lever} does to {}", effects.join(", ")),
            why: if *always_set {
                format!(
                    "the hidden {} moves both: whoever chose {lever} in the log may have gone by it, so that what was seen with a \
                     value of {lever} is not what setting it brings; {stands}",
                    words(hidden)
                )
            } else {
                format!(
                    "the hidden {} moves both: steps in which {lever} was left alone say nothing about setting it, and steps in \
                     which it was set say nothing about leaving it alone; {stands}",
                    words(hidden)
                )
            },
            experiment: experiment(lever, *always_set, hidden),
        }
    }
}

/// The experiment that would identify the effect.
pub(super) fn experiment(lever: &str, always_set: bool, hidden: &[String]) -> String {
    let record = format!("or record {}, as a key variable", words(hidden));
    if always_set {
        format!(
            "set {lever} by a draw that does not look at anything but the recorded state, in every state that matters, and say that it \
             was (`--randomised {lever}`); {record}"
        )
    } else {
        format!(
            "set {lever} by a draw that does not look at anything, in every state that matters, allow only interventions that set it \
             (`set = \"all\"` in [interventions]), fit those steps and say that it was drawn (`--randomised {lever}`); {record}"
        )
    }
}

/// Ancestors of a variable within a step, including parents of levers in the log (behaviour mechanisms).
fn ancestors(world: &World, id: VarId) -> Vec<VarId> {
    let found = world.step_dag(&[]).ancestors(&[id.ix()]);
    let is_ancestor = |v: &VarId| found[v.ix()] && *v != id && world.variable(*v).kind != Kind::State;
    (0..world.variables().len()).map(|v| VarId(v as u16)).filter(is_ancestor).collect()
}

/// The needed mechanisms linked by a hidden variable, directly or through other hidden variables.
fn tied(world: &World, needed: &[usize], hidden: VarId) -> Vec<usize> {
    let mut reached = vec![hidden];
    loop {
        let names = |m: &usize| world.mechanisms[*m].children.iter().chain(&world.mechanisms[*m].parents);
        let found: Vec<usize> = needed.iter().copied().filter(|m| names(m).any(|id| reached.contains(id))).collect();
        let hidden: Vec<VarId> =
            found.iter().flat_map(names).copied().filter(|id| world.variable(*id).kind == Kind::Hidden).collect();
        let n = reached.len();
        hidden.into_iter().for_each(|id| {
            if !reached.contains(&id) {
                reached.push(id)
            }
        });
        if reached.len() == n {
            return found;
        }
    }
}

/// The world file's guess at a mechanism's rows, or uniform distributions.
fn stand_in(world: &World, m: &Mechanism) -> Vec<f64> {
    if let Some(guess) = &m.assumed.guess {
        return guess.to_vec();
    }
    let sizes = |ids: &[VarId]| world.sizes(ids).iter().product::<usize>();
    let n = sizes(&m.children);
    vec![1.0 / n as f64; n * sizes(&m.parents)]
}
