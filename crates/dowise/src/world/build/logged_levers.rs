//! Logged values of levers as key variables, and hidden causes of levers that are set together.
//!
//! If the behaviour policy chose x' and an intervention sets x, both matter where x is confounded
//! ([adjustment](super::adjustment)). So x' is a key variable, `logged.x`: a log has it in the column of the lever, and
//! an intervention does not act on it.

use crate::world::{Form, Kind, MechanismSpec, Name, SetSpec, VarId, World, WorldSpec};

/// Prefix of the key variable that repeats the logged value of a lever.
pub(super) const PREFIX: &str = "logged.";

/// Whether a key variable is an outcome to adjust.
pub(crate) type IsOutcome<'a> = &'a dyn Fn(&str) -> bool;

impl World {
    /// The lever whose logged value a key variable repeats; `None` for all other variables.
    pub(crate) fn logged_lever(&self, id: VarId) -> Option<VarId> {
        let variable = self.variable(id);
        let lever = self.find(variable.name.strip_prefix(PREFIX)?)?;
        let is_logged = variable.kind == Kind::Key && self.levers.contains(&lever);
        (is_logged && self.variable(lever).values == variable.values).then_some(lever)
    }

    /// Whether outcomes are adjusted for logged levers. Then P(c | s, do(a)) is not the distribution of key variables in
    /// the logged steps with intervention a.
    pub(crate) fn adjusts_for_logged_levers(&self) -> bool {
        self.keys.iter().any(|&id| self.logged_lever(id).is_some())
    }
}

/// Lets every hidden cause of a lever act on the levers that are set together with it, unless the specification says
/// what acts on these: whoever chose one lever by something unrecorded may have chosen the others by it.
pub(crate) fn spread(spec: &mut WorldSpec, randomised: &[String]) {
    if !matches!(spec.interventions.set, SetSpec::All) {
        return;
    }
    let hidden = of_kind(spec, Kind::Hidden);
    let levers = of_kind(spec, Kind::Lever);
    let mut causes: Vec<String> = Vec::new();
    for m in mechanisms_of(spec, &levers) {
        let new = m.parents.iter().filter(|p| is_one_of(p, &hidden) && !is_one_of(p, &causes));
        causes.extend(new.map(text).collect::<Vec<_>>());
    }
    let undeclared = undeclared(spec, &levers);
    for lever in undeclared.into_iter().filter(|lever| !causes.is_empty() && !randomised.contains(lever)) {
        spec.mechanisms.push(mechanism(&lever, causes.iter().cloned()));
    }
}

fn of_kind(spec: &WorldSpec, kind: Kind) -> Vec<String> {
    spec.variables.iter().filter(|v| v.kind == kind).map(|v| v.name.value.clone()).collect()
}

/// A name; empty if it cannot be read, which is an error of its own.
pub(super) fn text(name: &Name) -> String {
    name.value.get().cloned().unwrap_or_default()
}

pub(super) fn is_one_of(name: &Name, names: &[String]) -> bool {
    name.value.get().is_some_and(|name| names.contains(name))
}

/// The mechanisms that say what acts on these levers.
fn mechanisms_of<'a>(spec: &'a WorldSpec, levers: &'a [String]) -> impl Iterator<Item = &'a MechanismSpec> {
    spec.mechanisms.iter().filter(|m| m.children.len() == 1 && is_one_of(&m.children[0], levers))
}

/// The levers of which the specification does not say what acts on them.
fn undeclared(spec: &WorldSpec, levers: &[String]) -> Vec<String> {
    let is_declared = |lever: &&String| mechanisms_of(spec, levers).any(|m| m.children[0].value == **lever);
    levers.iter().filter(|lever| !is_declared(lever)).cloned().collect()
}

/// A mechanism to be learned.
fn mechanism(child: &str, parents: impl Iterator<Item = String>) -> MechanismSpec {
    MechanismSpec {
        children: vec![child.into()],
        parents: parents.map(Name::from).collect(),
        form: Form::Unknown,
        learn: None,
        at: None,
    }
}
