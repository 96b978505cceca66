//! Marginalises hidden parents of transitions out where that is exact; rejects the others by name.

use super::check::Check;
use super::graph::Arrows;
use crate::Space;
use crate::messages::and;
use crate::world::{At, Kind, Mechanism, Problem, VarId, World};

/// Effects of a hidden variable.
#[derive(Default)]
struct Acts {
    /// State factors whose next values it affects.
    next: Vec<VarId>,
    /// Observed variables that it affects.
    seen: Vec<VarId>,
    /// Itself, and the hidden variables through which it acts.
    through: Vec<VarId>,
}

impl Check {
    /// Removes hidden variables from the scopes of transitions. P(x' | scope) is the mean over the hidden variable
    /// given its parents, if it affects only that next value and nothing observed. Otherwise next values would depend
    /// on each other or on observed variables in ways that factors cannot express.
    pub(crate) fn sum_out_hidden(&mut self, world: &mut World) -> bool {
        let mut gone: Vec<VarId> = Vec::new();
        for position in 0..world.transitions.len() {
            while let Some(h) = last_hidden(world, position) {
                let Some(mean) = self.mean_over(world, position, h) else { return false };
                world.transitions[position] = mean;
                gone.push(h);
            }
        }
        self.take_out(world, &gone);
        true
    }

    /// Checks that every hidden variable with an effect on next values affects only one, and rejects the others. An
    /// ancestor of a rejected variable is not reported.
    pub(crate) fn hidden_act_on_one(&mut self, within: &[Arrows], continuation: &[Arrows], hidden: &[VarId]) {
        let mut refused: Vec<VarId> = Vec::new();
        let all: Vec<(VarId, Acts)> = hidden.iter().map(|&h| (h, acts_of(within, continuation, hidden, h))).collect();
        for (id, acts) in &all {
            if continuation.iter().any(|a| a.parents.contains(id)) && !self.acts_on_one(*id, acts) {
                refused.push(*id);
            }
        }
        for (id, acts) in &all {
            if !refused.contains(id) && !acts.next.is_empty() && !acts.through.iter().any(|h| refused.contains(h)) {
                self.acts_on_one(*id, acts);
            }
        }
    }

    /// Whether a hidden variable affects one next value only; reports other effects.
    fn acts_on_one(&mut self, hidden: VarId, acts: &Acts) -> bool {
        if acts.next.len() <= 1 && acts.seen.is_empty() {
            return true;
        }
        let quoted = |&id: &VarId| format!("\"{}\"", self.name(id));
        let next: Vec<String> = acts.next.iter().map(quoted).collect();
        let seen: Vec<String> = acts.seen.iter().map(quoted).collect();
        let name = quoted(&hidden);
        let (message, help) = if seen.is_empty() {
            let message = format!(
                "hidden variable {name} acts on the next values of {}, so that they depend on each other",
                and(&next)
            );
            let help = format!(
                "join {} into one state factor, or make {name} a key variable if it can be observed",
                and(&next)
            );
            (message, help)
        } else {
            let message =
                format!("hidden variable {name} acts on the next value of {} and on {}", and(&next), and(&seen));
            (message, self.instead_of(&name, acts))
        };
        let at: Option<At> = self.places[hidden.ix()];
        self.push(Problem::error("hidden-next", message).help(help).at(at));
        false
    }

    /// How to do without a hidden variable that acts on a next value and on observed variables, without losing an
    /// effect. The observed variables alone cannot stand for it: given their value, whatever else acts on them says
    /// something about it, and a lever that it acts on is confounded.
    fn instead_of(&self, name: &str, acts: &Acts) -> String {
        let quoted = |ids: &[VarId]| and(&ids.iter().map(|id| format!("\"{}\"", self.name(*id))).collect::<Vec<_>>());
        let record = format!("make {name} a key variable if it can be observed");
        let of_kind = |kind: Kind| acts.seen.iter().copied().filter(move |id| self.variables[id.ix()].kind == kind);
        let levers: Vec<VarId> = of_kind(Kind::Lever).collect();
        if !levers.is_empty() {
            return format!(
                "{record}; only if {} was set by a draw that did not look at {name}, leave {name} out of its parents",
                quoted(&levers)
            );
        }
        format!(
            "what is seen of it says something about what comes next: let {} and all parents of it act on the next value \
             in its place, or {record}",
            quoted(&acts.seen)
        )
    }

    /// A transition with one hidden parent marginalised out and replaced by its parents.
    fn mean_over(&mut self, world: &World, position: usize, hidden: VarId) -> Option<Mechanism> {
        let own = world.mechanisms.iter().find(|m| m.children == [hidden]);
        let own = own.expect("invariant: every hidden variable has a mechanism of its own");
        let from = &world.transitions[position];
        let mut parents: Vec<VarId> = from.parents.iter().copied().filter(|&p| p != hidden).collect();
        parents.extend(own.parents.iter().filter(|p| !from.parents.contains(p)).copied());
        let columns = self.size(from.children[0]);
        let what =
            format!("the table of \"{}\" with \"{}\" marginalised out", self.name(from.children[0]), self.name(hidden));
        let at = self.places[hidden.ix()];
        let space = self.table_space(&what, &parents, columns, "fewer parents of one of them", at)?;
        let table = match (&from.table, &own.table) {
            (Some(next), Some(likely)) => {
                self.reserve(&what, space.len() * columns, at)?;
                let row = |ids: &[VarId], index: usize, h: usize| {
                    ids.iter().fold(0, |row, &id| {
                        let digit = match parents.iter().position(|&p| p == id) {
                            Some(axis) => space.digit(index, axis),
                            None => h,
                        };
                        row * self.size(id) + digit
                    })
                };
                Some(mean_table(&space, columns, self.size(hidden), next, likely, &|i, h| {
                    [row(&from.parents, i, h), row(&own.parents, i, h)]
                }))
            }
            (_, _) => None,
        };
        Some(Mechanism { parents, table: table.map(Into::into), ..from.clone() })
    }

    /// Removes hidden variables without effects.
    fn take_out(&mut self, world: &mut World, gone: &[VarId]) {
        let mut gone = gone.to_vec();
        gone.sort_unstable();
        gone.dedup();
        if gone.is_empty() {
            return;
        }
        let summed = gone.len();
        // Their other children are hidden and have no effect, or they would have been rejected. Parents come before
        // children.
        for m in &world.mechanisms {
            if m.parents.iter().any(|p| gone.contains(p)) {
                gone.extend(m.children.iter().filter(|c| !gone.contains(c)).copied().collect::<Vec<_>>());
            }
        }
        for (i, &id) in gone.iter().enumerate() {
            let what = if i < summed {
                "acts on one next value and is marginalised out"
            } else {
                "acts on nothing and is left out"
            };
            let message = format!("hidden variable \"{}\" {what}", self.name(id));
            let at = self.places[id.ix()];
            self.push(Problem::note("summed-out", message).at(at));
        }
        let kept: Vec<usize> = (0..world.variables.len()).filter(|&i| !gone.contains(&VarId(i as u16))).collect();
        let renamed = |id: &mut VarId| {
            let place = kept.binary_search(&id.ix()).expect("invariant: nothing names what is gone");
            *id = VarId(place as u16);
        };
        world.mechanisms.retain(|m| !m.children.iter().any(|id| gone.contains(id)));
        world.hidden.retain(|id| !gone.contains(id));
        let lists = [&mut world.state, &mut world.levers, &mut world.keys, &mut world.hidden];
        lists.into_iter().flatten().for_each(renamed);
        for m in world.transitions.iter_mut().chain(&mut world.mechanisms).chain(&mut world.behaviour_mechanisms) {
            m.parents.iter_mut().chain(&mut m.children).for_each(renamed);
        }
        world.rewards.iter_mut().flat_map(|r| r.scope.iter_mut().chain(&mut r.next)).for_each(renamed);
        world.variables = kept.iter().map(|&i| world.variables[i].clone()).collect();
        self.variables.clone_from(&world.variables);
        self.places = kept.iter().map(|&i| self.places[i]).collect();
        self.index = self.variables.iter().enumerate().map(|(i, v)| (v.name.clone(), VarId(i as u16))).collect();
    }
}

/// The hidden parent of a transition that is last in topological order.
fn last_hidden(world: &World, position: usize) -> Option<VarId> {
    let parents = &world.transitions[position].parents;
    let drawn = world.mechanisms.iter().rev().flat_map(|m| m.children.iter().copied());
    drawn.into_iter().find(|id| parents.contains(id) && world.hidden.contains(id))
}

/// All effects of a hidden variable, directly or through other hidden variables.
fn acts_of(within: &[Arrows], continuation: &[Arrows], hidden: &[VarId], of: VarId) -> Acts {
    let mut acts = Acts { through: vec![of], ..Acts::default() };
    let mut next = 0;
    while let Some(&by) = acts.through.get(next) {
        next += 1;
        for &child in within.iter().filter(|a| a.parents.contains(&by)).flat_map(|a| &a.children) {
            let found = if hidden.contains(&child) { &mut acts.through } else { &mut acts.seen };
            if !found.contains(&child) {
                found.push(child);
            }
        }
    }
    acts.seen.sort_unstable();
    let reached = |a: &&Arrows| a.parents.iter().any(|p| acts.through.contains(p));
    acts.next = continuation.iter().filter(reached).flat_map(|a| a.children.iter().copied()).collect();
    acts
}

fn mean_table(
    space: &Space,
    columns: usize,
    n_hidden: usize,
    next: &[f64],
    likely: &[f64],
    rows: &dyn Fn(usize, usize) -> [usize; 2],
) -> Vec<f64> {
    let mut table = vec![0.0; space.len() * columns];
    for (i, out) in table.chunks_exact_mut(columns).enumerate() {
        for h in 0..n_hidden {
            let [from, own] = rows(i, h);
            let p = likely[own * n_hidden + h];
            out.iter_mut().zip(&next[from * columns..][..columns]).for_each(|(out, q)| *out += p * q);
        }
    }
    table
}
