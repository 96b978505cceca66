//! Conditional independences (claims) that a declared graph implies for single steps, as far as a learner relies on
//! them.

use serde::{Deserialize, Serialize};

use super::latent_projection::Within;
use crate::kernel::CauseSpace;
use crate::learn::Knowledge;
use crate::learn::observation::Observation;
use crate::learn::options::{Causes, States};
use crate::world::{Kind, LeverRule, VarId, World};

/// Most distinguished values of an outcome or a variable; more values are grouped in order.
pub(super) const MOST_GROUPS: usize = 8;

/// Name in findings for wrong known parameters.
const KNOWN: &str = "known parameters";

/// Name in findings for a reward outside its range.
const RANGE: &str = "range";

/// An outcome of a step, by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Outcome {
    /// The next value of a state factor.
    Next(usize),
    /// The reward of a term.
    Paid(usize),
    /// A key variable, by the number of its [`VarId`].
    Key(u16),
    /// The observed value of a lever that was not set.
    Alone(usize),
}

/// A variable that an outcome should not depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Other {
    /// The value of a lever, set or not.
    Lever(usize),
    /// A state factor before the step.
    Before(usize),
    /// A factor's next value.
    Next(usize),
    /// A key variable, by the number of its [`VarId`].
    Key(u16),
    /// Parameters other than the known ones.
    #[serde(rename = "told")]
    Known,
    /// A reward outside its possible range.
    Range,
}

/// An outcome, its parents, and the variables that should not matter given these.
#[derive(Clone, Debug)]
pub(super) struct Claimed {
    pub(super) outcome: Outcome,
    /// Its possible parents, in the order of rows.
    pub(super) scope: Vec<VarId>,
    /// Positions of the factors whose next values a reward may depend on; they come last in a row.
    pub(super) next: Vec<usize>,
    /// Number of values; 2 for a reward.
    pub(super) n_values: usize,
    pub(super) others: Vec<Other>,
    /// For variables within a step: their latent projection, and the variables drawn before.
    pub(super) within: Option<Within>,
}

/// All claims that a learner with this view relies on, and in words its untested assumptions.
pub(super) fn claims(world: &World, states: States, causes: Causes) -> (Vec<Claimed>, Vec<String>) {
    let flat = states == States::Flat;
    let acting = CauseSpace::new(world);
    let whole = || world.state().iter().chain(acting.variables()).copied().collect::<Vec<_>>();
    let is_state = |id: &&VarId| world.variable(**id).kind == Kind::State;
    let matters = |id: VarId| world.variable(id).size() > 1;
    // A lever that is always set and has one value never varies.
    let all_set = matches!(world.interventions().lever_rule(), LeverRule::All);
    // Levers, state factors and key variables outside a scope.
    let outside = |scope: &[VarId]| -> Vec<Other> {
        let new = |id: VarId| !scope.contains(&id);
        let levers = world.levers().iter().enumerate().filter(|&(_, &id)| new(id) && (matters(id) || !all_set));
        let factors = world.state().iter().enumerate().filter(|&(_, &id)| new(id) && matters(id));
        let keys = world.keys().iter().filter(|&&id| new(id) && matters(id)).map(|id| Other::Key(id.0));
        levers.map(|(l, _)| Other::Lever(l)).chain(factors.map(|(i, _)| Other::Before(i))).chain(keys).collect()
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
        // Next values of a low-rank world are dependent by declaration.
        if !flat && !world.tied && world.low_rank().is_none() {
            let together = |k: usize| world.joined.iter().any(|block| block.contains(&i) && block.contains(&k));
            others.extend((0..i).filter(|&k| matters(world.state()[k]) && !together(k)).map(Other::Next));
        }
        let n_values = world.variable(world.state()[i]).size();
        out.push(Claimed { outcome: Outcome::Next(i), scope, next: vec![], n_values, others, within: None });
    }
    for (i, term) in world.rewards().iter().enumerate() {
        let scope = if flat { whole() } else { term.scope.clone() };
        let next: Vec<usize> = term.next.iter().map(|&id| world.state_axis(id)).collect();
        let mut others = Vec::new();
        if term.range[1] > term.range[0] {
            others = outside(&scope);
            // A learner with whole states learns the mean reward of a row, whatever the next state is.
            if !flat {
                let more = (0..world.state().len()).filter(|k| matters(world.state()[*k]) && !next.contains(k));
                others.extend(more.map(Other::Next));
            }
        }
        out.push(Claimed { outcome: Outcome::Paid(i), scope, next, n_values: 2, others, within: None });
    }
    let mut untested = Vec::new();
    let keys = world.keys().iter().map(|id| (*id, Outcome::Key(id.0)));
    let alone = world.levers().iter().enumerate().map(|(l, id)| (*id, Outcome::Alone(l)));
    let drawn = |id: &VarId| matters(*id) && world.mechanisms().iter().any(|m| m.children.contains(id));
    for (id, outcome) in keys.chain(alone).filter(|(id, _)| drawn(id)) {
        let within = match Within::of(world, id) {
            Ok(within) => within,
            Err(why) => {
                untested.push(format!("{}: {why}", outcome.words(world)));
                continue;
            }
        };
        if let Err(why) = within.table(world) {
            untested.push(format!("the known parameters of {}: {why}", outcome.words(world)));
        }
        let (scope, n_values) = (within.scope.clone(), world.variable(id).size());
        let mut others = outside(&scope);
        // The behaviour policy of a log may depend on key variables, if the graph says so.
        let chosen = |id: VarId| world.behaviour_mechanisms().iter().any(|behaviour| behaviour.children.contains(&id));
        others.retain(|other| match *other {
            Other::Lever(l) => !chosen(world.levers()[l]) && outcome != Outcome::Alone(l),
            Other::Key(k) => within.is_before(VarId(k)),
            Other::Before(_) | Other::Next(_) | Other::Known | Other::Range => true,
        });
        out.push(Claimed { outcome, scope, next: vec![], n_values, others, within: Some(within) });
    }
    // Claims about others use the prediction of a factor's next value, and every reward has a range.
    let kept = |c: &Claimed| match c.outcome {
        Outcome::Next(_) | Outcome::Paid(_) => true,
        Outcome::Key(_) | Outcome::Alone(_) => {
            !c.others.is_empty() || super::known_parameters::KnownParameters::of(world, c).is_some()
        }
    };
    out.retain(kept);
    (out, untested)
}

impl Claimed {
    /// Whether a step is informative about the outcome: a monitored lever was not set, and the required levers were
    /// set.
    pub(super) fn counts(&self, knowledge: &Knowledge, observation: &Observation<'_>) -> bool {
        let Some(within) = &self.within else { return true };
        let all = knowledge.interventions();
        let Some(action) = observation.action else { return false };
        let left_alone = match self.outcome {
            Outcome::Alone(l) => all.lever(action, l).is_none(),
            Outcome::Key(_) | Outcome::Next(_) | Outcome::Paid(_) => true,
        };
        left_alone && within.set.iter().all(|&l| all.lever(action, l).is_some())
    }

    /// The group of a lever's value: none if the intervention is unknown, 0 if the lever was not set and its value may
    /// be unknown.
    pub(super) fn lever(&self, knowledge: &Knowledge, observation: &Observation<'_>, l: usize) -> Option<usize> {
        let all = knowledge.interventions();
        let value = all.lever(observation.action?, l).or_else(|| {
            let id = knowledge.levers()[l];
            let may_look = self.within.as_ref().is_none_or(|within| within.is_before(id));
            may_look.then(|| observation.value(id)).flatten().map(|v| v as usize)
        });
        Some(value.map_or(0, |v| 1 + group(v, all.sizes()[l])))
    }
}

/// The row of a step: the values of a scope, then the next values of some factors; `None` if one of them is missing.
pub(super) fn row_of(
    knowledge: &Knowledge,
    observation: &Observation<'_>,
    scope: &[VarId],
    next: &[usize],
) -> Option<u64> {
    let mut at = 0u64;
    for id in scope {
        at = at * knowledge.variable(*id).size() as u64 + u64::from(observation.value(*id)?);
    }
    for &i in next {
        let states = knowledge.state_space();
        at = at * states.sizes()[i] as u64 + observation.next_value(states, i)? as u64;
    }
    Some(at)
}

/// A reward as a share of its range; `Err` with the reward if it is outside the range by more than rounding.
pub(super) fn share(paid: f64, range: [f64; 2]) -> Result<f64, f64> {
    let [lo, hi] = range;
    if !crate::learn::observation::within_range(paid, range) {
        return Err(paid);
    }
    Ok(if hi > lo { ((paid - lo) / (hi - lo)).clamp(0.0, 1.0) } else { 0.0 })
}

/// The group of a value among at most [`MOST_GROUPS`].
pub(super) fn group(value: usize, n_values: usize) -> usize {
    if n_values <= MOST_GROUPS { value } else { value * MOST_GROUPS / n_values }
}

impl Other {
    /// Number of groups of its values.
    pub(super) fn n_groups(self, world: &World) -> usize {
        match self {
            // One more for a lever that was not set.
            Other::Lever(l) => 1 + world.variable(world.levers()[l]).size().min(MOST_GROUPS),
            Other::Before(i) | Other::Next(i) => world.variable(world.state()[i]).size().min(MOST_GROUPS),
            Other::Key(id) => world.variable(VarId(id)).size().min(MOST_GROUPS),
            Other::Known | Other::Range => 0,
        }
    }

    /// A value of a group, in words.
    pub(super) fn value(self, world: &World, at: usize) -> String {
        let (id, at) = match self {
            Other::Lever(l) if at == 0 => return format!("{} left alone", world.variable(world.levers()[l]).name),
            Other::Lever(l) => (world.levers()[l], at - 1),
            Other::Before(i) | Other::Next(i) => (world.state()[i], at),
            Other::Key(id) => (VarId(id), at),
            Other::Known => return KNOWN.to_owned(),
            Other::Range => return RANGE.to_owned(),
        };
        let variable = world.variable(id);
        let first = (0..variable.size()).find(|&v| group(v, variable.size()) == at).unwrap_or(0);
        format!("{} = {}", variable.name, variable.values[first])
    }

    pub(super) fn name(self, world: &World) -> &str {
        let id = match self {
            Other::Lever(l) => world.levers()[l],
            Other::Before(i) | Other::Next(i) => world.state()[i],
            Other::Key(id) => VarId(id),
            Other::Known => return KNOWN,
            Other::Range => return RANGE,
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
            Outcome::Alone(l) => &world.variable(world.levers()[l]).name,
        }
    }

    /// The variable; `None` for a reward.
    pub(super) fn variable(self, world: &World) -> Option<VarId> {
        match self {
            Outcome::Next(i) => Some(world.state()[i]),
            Outcome::Paid(_) => None,
            Outcome::Key(id) => Some(VarId(id)),
            Outcome::Alone(l) => Some(world.levers()[l]),
        }
    }

    /// Its value in a step, if known.
    pub(super) fn value(self, knowledge: &Knowledge, observation: &Observation<'_>) -> Option<usize> {
        match self {
            Outcome::Next(i) => observation.next_value(knowledge.state_space(), i),
            Outcome::Key(_) | Outcome::Alone(_) => {
                self.variable(knowledge.world()).and_then(|id| observation.value(id)).map(|v| v as usize)
            }
            Outcome::Paid(_) => None,
        }
    }

    /// Its name in words.
    pub(super) fn words(self, world: &World) -> String {
        let name = self.name(world);
        match self {
            Outcome::Next(_) => format!("the next {name}"),
            Outcome::Paid(_) => format!("the payment {name}"),
            Outcome::Key(_) => format!("the key variable {name}"),
            Outcome::Alone(_) => format!("the lever {name} left alone"),
        }
    }
}
