//! What a declared graph claims about single steps, given what a learner relies on: which outcome does not depend on what.

use serde::{Deserialize, Serialize};

use crate::kernel::CauseSpace;
use crate::learn::options::{Causes, States};
use crate::world::{Kind, LeverRule, RewardTerm, VarId, World};

/// Values of an outcome or a variable that are told apart; more are put together in order.
pub(super) const MOST_GROUPS: usize = 8;

/// What is named where told numbers are wrong.
const TOLD: &str = "told numbers";

/// An outcome of a step, by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Outcome {
    /// The next value of a state factor.
    Next(usize),
    /// What a reward term pays.
    Paid(usize),
    /// A key variable, by the number of its [`VarId`].
    Key(u16),
}

/// What an outcome should not depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Other {
    /// What a lever was set to, or that it was left alone.
    Lever(usize),
    /// A state factor before the step.
    Before(usize),
    /// Another factor's next value.
    Next(usize),
    /// Numbers other than those that were told.
    Told,
}

/// An outcome, what decides it, and what should not matter beyond that.
#[derive(Clone, Debug)]
pub(super) struct Claimed {
    pub(super) outcome: Outcome,
    /// What it may depend on, in the order of rows.
    pub(super) scope: Vec<VarId>,
    /// Number of values; 2 where it is a payment.
    pub(super) n_values: usize,
    pub(super) others: Vec<Other>,
}

/// All claims that a learner relies on that sees states and causes in this way.
pub(super) fn claims(world: &World, states: States, causes: Causes) -> Vec<Claimed> {
    let flat = states == States::Flat;
    let acting = CauseSpace::new(world);
    let whole = || world.state().iter().chain(acting.variables()).copied().collect::<Vec<_>>();
    let is_state = |id: &&VarId| world.variable(**id).kind == Kind::State;
    let matters = |id: VarId| world.variable(id).size() > 1;
    // Levers and state factors outside a scope.
    let outside = |scope: &[VarId]| -> Vec<Other> {
        let new = |id: VarId| !scope.contains(&id);
        // A lever that is always set and has one value never varies.
        let all_set = matches!(world.interventions().lever_rule(), LeverRule::All);
        let levers = world.levers().iter().enumerate().filter(|&(_, &id)| new(id) && (matters(id) || !all_set));
        let factors = world.state().iter().enumerate().filter(|&(_, &id)| new(id) && matters(id));
        levers.map(|(l, _)| Other::Lever(l)).chain(factors.map(|(i, _)| Other::Before(i))).collect()
    };
    let mut out = Vec::new();
    for (i, transition) in world.transitions().iter().enumerate().filter(|(i, _)| matters(world.state()[*i])) {
        let scope = match causes {
            _ if flat => whole(),
            Causes::OwnKeys => transition.parents.clone(),
            Causes::Keys | Causes::Actions => {
                transition.parents.iter().filter(is_state).chain(acting.variables()).copied().collect()
            }
        };
        let mut others = outside(&scope);
        if !flat {
            let together = |k: usize| world.joined.iter().any(|block| block.contains(&i) && block.contains(&k));
            others.extend((0..i).filter(|&k| matters(world.state()[k]) && !together(k)).map(Other::Next));
        }
        let n_values = world.variable(world.state()[i]).size();
        out.push(Claimed { outcome: Outcome::Next(i), scope, n_values, others });
    }
    // What depends on next values is not decided by the present alone.
    let testable = |term: &RewardTerm| term.range[1] > term.range[0] && term.next.is_empty();
    for (i, term) in world.rewards().iter().enumerate().filter(|(_, term)| testable(term)) {
        let scope = if flat { whole() } else { term.scope.clone() };
        let others = outside(&scope);
        out.push(Claimed { outcome: Outcome::Paid(i), scope, n_values: 2, others });
    }
    // Where a hidden variable is among the parents, what was seen does not decide the key variable's distribution.
    let seen = |id: &VarId| world.variable(*id).kind != Kind::Hidden;
    for mechanism in world.mechanisms().iter().filter(|m| m.parents.iter().all(seen)) {
        let keys = mechanism.children.iter().filter(|id| world.variable(**id).kind == Kind::Key);
        for &key in keys.filter(|id| matters(**id)) {
            let scope = mechanism.parents.clone();
            let (mut others, n_values) = (outside(&scope), world.variable(key).size());
            // Whoever set a lever in a log may have gone by key variables, if the graph says so.
            let chosen = |id: VarId| world.habits().iter().any(|habit| habit.children.contains(&id));
            others.retain(|other| !matches!(other, Other::Lever(l) if chosen(world.levers()[*l])));
            out.push(Claimed { outcome: Outcome::Key(key.0), scope, n_values, others });
        }
    }
    // What is expected of a factor's next value is asked by the claims of others.
    let told = |outcome| super::told::Told::of(world, outcome).is_some();
    out.retain(|claimed| {
        !claimed.others.is_empty() || matches!(claimed.outcome, Outcome::Next(_)) || told(claimed.outcome)
    });
    out
}

/// The group of a value among at most [`MOST_GROUPS`].
pub(super) fn group(value: usize, n_values: usize) -> usize {
    if n_values <= MOST_GROUPS { value } else { value * MOST_GROUPS / n_values }
}

impl Other {
    /// Number of groups that its values are put into.
    pub(super) fn n_groups(self, world: &World) -> usize {
        match self {
            // One more for a lever that was left alone.
            Other::Lever(l) => 1 + world.variable(world.levers()[l]).size().min(MOST_GROUPS),
            Other::Before(i) | Other::Next(i) => world.variable(world.state()[i]).size().min(MOST_GROUPS),
            Other::Told => 0,
        }
    }

    /// A value of a group, in words.
    pub(super) fn value(self, world: &World, at: usize) -> String {
        let (id, at) = match self {
            Other::Lever(l) if at == 0 => return format!("{} left alone", world.variable(world.levers()[l]).name),
            Other::Lever(l) => (world.levers()[l], at - 1),
            Other::Before(i) | Other::Next(i) => (world.state()[i], at),
            Other::Told => return TOLD.to_owned(),
        };
        let variable = world.variable(id);
        let first = (0..variable.size()).find(|&v| group(v, variable.size()) == at).unwrap_or(0);
        format!("{} = {}", variable.name, variable.values[first])
    }

    pub(super) fn name(self, world: &World) -> &str {
        let id = match self {
            Other::Lever(l) => world.levers()[l],
            Other::Before(i) | Other::Next(i) => world.state()[i],
            Other::Told => return TOLD,
        };
        &world.variable(id).name
    }
}

impl Outcome {
    pub(super) fn name(self, world: &World) -> &str {
        match self {
            Outcome::Next(i) => &world.variable(world.state()[i]).name,
            Outcome::Paid(i) => &world.rewards()[i].name,
            Outcome::Key(id) => &world.variable(VarId(id)).name,
        }
    }

    /// What it is, in words.
    pub(super) fn words(self, world: &World) -> String {
        let name = self.name(world);
        match self {
            Outcome::Next(_) => format!("the next {name}"),
            Outcome::Paid(_) => format!("the payment {name}"),
            Outcome::Key(_) => format!("the key variable {name}"),
        }
    }
}
