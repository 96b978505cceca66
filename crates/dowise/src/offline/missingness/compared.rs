//! Outcomes and conditioning sets of missingness tests, derived from the causal graph of one step.

use crate::learn::{Knowledge, Observation};
use crate::world::{Kind, VarId, World};

/// Maximum number of distinguished payment amounts; others count as the nearest of these.
const MOST_AMOUNTS: usize = 8;

/// A part of a step that may be missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum What {
    Key(VarId),
    /// A lever that was left alone, by its position.
    Lever(usize, VarId),
    Payment(usize),
}

impl What {
    pub(super) fn id(self) -> Option<VarId> {
        match self {
            What::Key(id) | What::Lever(_, id) => Some(id),
            What::Payment(_) => None,
        }
    }
}

/// An outcome of a step; under missingness at random it is independent of recording.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    /// The next value of a state factor, by its position.
    Next(usize),
    /// The payment of a reward term, with its distinguished amounts: the first ones observed.
    Paid(usize, Vec<f64>),
    /// A key variable.
    Key(VarId),
}

impl Outcome {
    pub(super) fn n_values(&self, knowledge: &Knowledge) -> usize {
        match self {
            Outcome::Next(f) => knowledge.state_space().sizes()[*f],
            Outcome::Paid(..) => MOST_AMOUNTS,
            Outcome::Key(id) => knowledge.variable(*id).values.len(),
        }
    }

    pub(super) fn name(&self, knowledge: &Knowledge) -> String {
        match self {
            Outcome::Next(f) => format!("next {}", knowledge.variable(knowledge.state()[*f]).name),
            Outcome::Paid(term, _) => format!("what {} paid", knowledge.rewards()[*term].name),
            Outcome::Key(id) => format!("key variable {}", knowledge.variable(*id).name),
        }
    }

    /// Its value in a step; `None` if missing. The distinguished amounts depend on payments alone, not on other
    /// recorded values.
    pub(super) fn value(&mut self, knowledge: &Knowledge, step: &Observation<'_>, next: usize) -> Option<usize> {
        match self {
            Outcome::Next(f) => Some(knowledge.state_space().digit(next, *f)),
            Outcome::Key(id) => step.value(*id).map(|v| v as usize),
            Outcome::Paid(term, amounts) => {
                let paid = step.rewards()[*term];
                if paid.is_nan() {
                    return None;
                }
                let off = |i: &usize| (amounts[*i] - paid).abs();
                let nearest = (0..amounts.len()).min_by(|i, j| off(i).total_cmp(&off(j)));
                match nearest.filter(|i| amounts[*i] == paid || amounts.len() == MOST_AMOUNTS) {
                    Some(at) => Some(at),
                    None => {
                        amounts.push(paid);
                        Some(amounts.len() - 1)
                    }
                }
            }
        }
    }
}

/// The conditioning set of an outcome; state factors and levers by position, since they are always recorded.
#[derive(Clone, Debug)]
pub(super) struct Within {
    pub(super) state: Vec<usize>,
    pub(super) levers: Vec<usize>,
    /// Key variables, and values of levers that were left alone, if recorded.
    pub(super) seen: Vec<VarId>,
}

/// Ancestors within a step.
pub(super) struct Ancestors<'a> {
    world: &'a World,
    /// Ancestors of each variable, itself included.
    of: Vec<Vec<VarId>>,
}

impl<'a> Ancestors<'a> {
    pub(super) fn new(world: &'a World) -> Ancestors<'a> {
        let of = (0..world.variables().len()).map(|v| closed(world, vec![VarId(v as u16)])).collect();
        Ancestors { world, of }
    }

    fn acts(&self, cause: VarId, on: VarId) -> bool {
        self.of[on.ix()].contains(&cause)
    }

    /// Whether recording of `what` may depend on `other` without bias: `other` is not a descendant of `what`, and no
    /// key variable with a common hidden cause.
    pub(super) fn may_decide(&self, other: VarId, what: What) -> bool {
        let Some(id) = what.id() else { return true };
        let is_key = self.world.variable(other).kind == Kind::Key;
        other != id && !self.acts(id, other) && !(is_key && self.move_together(id, other))
    }

    /// Whether two variables share a mechanism, or hidden causes that act without recorded variables in between.
    fn move_together(&self, a: VarId, b: VarId) -> bool {
        let joint = self.world.mechanisms().iter().any(|m| m.children.contains(&a) && m.children.contains(&b));
        let [a, b] = [a, b].map(|id| self.hidden_causes(id));
        joint || a.iter().any(|id| b.contains(id))
    }

    /// Hidden causes that act without recorded variables in between.
    fn hidden_causes(&self, id: VarId) -> Vec<VarId> {
        let (mut found, mut at) = (Vec::new(), 0);
        let parents = |of: VarId| {
            let all = self.world.mechanisms().iter().chain(self.world.behaviour_mechanisms());
            let parents = all.filter(move |m| m.children.contains(&of)).flat_map(|m| &m.parents);
            parents.copied().filter(|&p| self.world.variable(p).kind == Kind::Hidden).collect::<Vec<_>>()
        };
        found.extend(parents(id));
        while let Some(&next) = found.get(at) {
            let more: Vec<VarId> = parents(next).into_iter().filter(|p| !found.contains(p)).collect();
            found.extend(more);
            at += 1;
        }
        found
    }

    /// Whether recording of `what` must not depend on this other key variable.
    pub(super) fn moves_with(&self, what: What, key: VarId) -> bool {
        what.id().is_some_and(|id| id != key) && !self.may_decide(key, what)
    }

    /// The conditioning set of an outcome: its ancestors, and variables linked with them within the step.
    pub(super) fn within(&self, knowledge: &Knowledge, outcome: &Outcome) -> Within {
        let world = self.world;
        let next = |f: usize| world.transitions()[f].parents.clone();
        let mut causes = match outcome {
            Outcome::Next(f) => next(*f),
            Outcome::Paid(term, _) => {
                let RewardScope { scope, next: after } = RewardScope::of(knowledge, *term);
                after.into_iter().flat_map(next).chain(scope).collect()
            }
            Outcome::Key(id) => vec![*id],
        };
        // Through latent factors every variable may act on every other.
        if world.low_rank.is_some() && !matches!(outcome, Outcome::Key(_)) {
            causes.extend([world.state(), world.levers(), world.keys()].concat());
        }
        let mut causes = closed(world, causes);
        let is_outcome = |id: VarId| matches!(outcome, Outcome::Key(of) if *of == id);
        // A variable that shares a non-state ancestor with the causes carries information about them.
        let within = |id: &VarId| matches!(world.variable(*id).kind, Kind::Key | Kind::Hidden);
        let mut seen: Vec<VarId> = Vec::new();
        loop {
            let linked = |id: &VarId| {
                causes.contains(id)
                    || self.of[id.ix()].iter().any(|cause| within(cause) && causes.contains(cause))
                    || world
                        .mechanisms()
                        .iter()
                        .any(|m| m.children.contains(id) && m.children.iter().any(|c| causes.contains(c)))
            };
            let candidates = world.keys().iter().chain(world.levers()).copied();
            let more: Vec<VarId> =
                candidates.filter(|id| !seen.contains(id) && !is_outcome(*id) && linked(id)).collect();
            if more.is_empty() {
                break;
            }
            seen.extend(&more);
            causes = closed(world, [causes, more].concat());
        }
        let places = |ids: &[VarId]| (0..ids.len()).filter(|&i| causes.contains(&ids[i])).collect();
        Within { state: places(world.state()), levers: places(world.levers()), seen }
    }
}

/// The arguments of a reward term.
struct RewardScope {
    scope: Vec<VarId>,
    /// Positions of state factors.
    next: Vec<usize>,
}

impl RewardScope {
    fn of(knowledge: &Knowledge, term: usize) -> RewardScope {
        let term = &knowledge.rewards()[term];
        let place = |id: &VarId| knowledge.state().iter().position(|f| f == id);
        RewardScope { scope: term.scope.clone(), next: term.next.iter().filter_map(place).collect() }
    }
}

/// These variables and their ancestors within a step.
fn closed(world: &World, mut ids: Vec<VarId>) -> Vec<VarId> {
    let mut at = 0;
    while let Some(&id) = ids.get(at) {
        let of = world.mechanisms().iter().filter(|m| m.children.contains(&id));
        for &parent in of.flat_map(|m| &m.parents) {
            if !ids.contains(&parent) {
                ids.push(parent);
            }
        }
        at += 1;
    }
    ids
}
