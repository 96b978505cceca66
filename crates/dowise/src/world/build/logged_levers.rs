//! Hidden causes that levers share with one outcome in a log: the outcome is identified by adjusting for the logged
//! values of these levers (front-door or back-door adjustment).
//!
//! If u acts on the levers x in the log and on y, and x acts on y only through observed variables z, then
//!
//! P(y | s, do(x), z) = Σ_x' P(x' | s) P(y | s, z, x')
//!
//! where x' is the value that the behaviour policy chose. So x' becomes a key variable, `logged.x`: a log has it in the
//! column of the lever, and an intervention does not act on it.

use crate::messages::and;
use crate::world::{Form, Kind, MechanismSpec, Name, SetSpec, VarId, VariableSpec, World, WorldSpec};

/// Prefix of the key variable that repeats the logged value of a lever.
const PREFIX: &str = "logged.";

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

/// The specification in which next values, and the key variables that are outcomes, are adjusted for logged levers, and
/// a sentence for each; `None` if there is nothing to adjust. Hidden causes have been [spread] before.
pub(crate) fn adjusted(spec: &WorldSpec, is_outcome: IsOutcome<'_>) -> Option<(WorldSpec, Vec<String>)> {
    if !matches!(spec.interventions.set, SetSpec::All) {
        return None;
    }
    let mut out = spec.clone();
    let levers = of_kind(&out, Kind::Lever);
    let confounded: Vec<(String, Vec<String>)> = of_kind(&out, Kind::Hidden)
        .into_iter()
        .map(|hidden| {
            let by = mechanisms_of(&out, &levers).filter(|m| acts_on(&hidden, m));
            let levers = by.map(|m| text(&m.children[0])).collect();
            (hidden, levers)
        })
        .filter(|(_, levers): &(String, Vec<String>)| !levers.is_empty())
        .collect();
    let mut words = Vec::new();
    for (hidden, levers) in &confounded {
        let Some(found) = Confounder::find(&out, hidden, levers, is_outcome) else { continue };
        words.push(found.words());
        found.adjust(&mut out);
    }
    (!words.is_empty()).then_some((out, words))
}

/// A hidden variable that acts on levers and on one outcome.
struct Confounder {
    hidden: String,
    levers: Vec<String>,
    outcome: Outcome,
    /// State factors that act on any of them.
    states: Vec<String>,
}

enum Outcome {
    /// Position among the transitions.
    Next(usize, String),
    /// Position among the mechanisms.
    Key(usize, String),
}

impl Confounder {
    /// The confounder, if adjusting for the logged levers identifies its outcome: it acts on a single outcome, none of
    /// the levers acts on that directly, and nothing else that is unrecorded acts on the levers or the outcome.
    fn find(spec: &WorldSpec, hidden: &str, levers: &[String], is_outcome: IsOutcome<'_>) -> Option<Confounder> {
        let is = |name: &str, kind: Kind| spec.variables.iter().any(|v| v.name.value == name && v.kind == kind);
        let child = |m: &MechanismSpec| m.children.first().map_or(String::new(), text);
        let acts = |m: &&MechanismSpec| acts_on(hidden, m);
        let next = spec.transitions.iter().enumerate().filter(|(_, m)| acts(m));
        let next = next.map(|(i, m)| (Outcome::Next(i, child(m)), m));
        let is_lever = |m: &MechanismSpec| m.children.len() == 1 && is_one_of(&m.children[0], levers);
        let keys = spec.mechanisms.iter().enumerate().filter(|(_, m)| acts(m) && !is_lever(m));
        let keys = keys.map(|(i, m)| (Outcome::Key(i, child(m)), m));
        let mut found = next.chain(keys);
        let (outcome, of) = found.next()?;
        if found.next().is_some() || of.children.len() != 1 {
            return None;
        }
        let wanted = match &outcome {
            Outcome::Next(..) => true,
            Outcome::Key(_, name) => is(name, Kind::Key) && is_outcome(name),
        };
        let own = spec.mechanisms.iter().filter(|m| m.children.iter().any(|c| c.value == hidden));
        let of_levers = mechanisms_of(spec, levers);
        let mut states: Vec<String> = Vec::new();
        for parent in own.chain(of_levers).flat_map(|m| &m.parents).map(text).filter(|p| p != hidden) {
            if !is(&parent, Kind::State) {
                return None;
            }
            states.extend((!states.contains(&parent)).then_some(parent));
        }
        let rest = of.parents.iter().map(text).filter(|p| p != hidden);
        let is_plain = rest.clone().all(|p| !is(&p, Kind::Hidden) && !levers.contains(&p));
        let new: Vec<String> = rest.filter(|p| is(p, Kind::State) && !states.contains(p)).collect();
        states.extend(new);
        (wanted && is_plain).then(|| Confounder { hidden: hidden.to_owned(), levers: levers.to_vec(), outcome, states })
    }

    fn words(&self) -> String {
        let quoted: Vec<String> = self.levers.iter().map(|name| format!("\"{name}\"")).collect();
        let logged: Vec<String> = self.levers.iter().map(|name| format!("\"{PREFIX}{name}\"")).collect();
        let outcome = match &self.outcome {
            Outcome::Next(_, name) => format!("the next value of \"{name}\""),
            Outcome::Key(_, name) => format!("\"{name}\""),
        };
        format!(
            "the hidden \"{}\" acts on {} in a log and on {outcome}, which is learned by adjusting for the values that \
             the log has for {} (front-door adjustment, key variable {})",
            self.hidden,
            and(&quoted),
            and(&quoted),
            and(&logged)
        )
    }

    /// Replaces the hidden variable by the logged values of its levers. Their joint distribution is a chain.
    fn adjust(&self, spec: &mut WorldSpec) {
        let logged: Vec<String> = self.levers.iter().map(|name| format!("{PREFIX}{name}")).collect();
        for (i, lever) in self.levers.iter().enumerate() {
            let of = spec.variables.iter().find(|v| v.name.value == *lever);
            let values = of.expect("invariant: levers are declared").values.clone();
            let name = logged[i].as_str().into();
            spec.variables.push(VariableSpec {
                name,
                kind: Kind::Key.into(),
                values,
                values_at: None,
                costs: Vec::new(),
            });
            spec.mechanisms.push(mechanism(&logged[i], self.states.iter().chain(&logged[..i]).cloned()));
        }
        let of = match &self.outcome {
            Outcome::Next(at, _) => &mut spec.transitions[*at],
            Outcome::Key(at, _) => &mut spec.mechanisms[*at],
        };
        of.parents.retain(|p| p.value != self.hidden);
        let there: Vec<String> = of.parents.iter().map(text).collect();
        let new = self.states.iter().chain(&logged).filter(|name| !there.contains(name));
        of.parents.extend(new.map(|name| Name::from(name.as_str())));
        // A form given the hidden variable is none given the logged levers, so that rows are learned one by one.
        of.form = Form::Unknown;
        of.learn = None;
        for m in spec.mechanisms.iter_mut().filter(|m| acts_on(&self.hidden, m)) {
            m.parents.retain(|p| p.value != self.hidden);
            m.form = Form::Unknown;
            m.learn = None;
        }
        spec.mechanisms.retain(|m| m.children.iter().all(|c| c.value != self.hidden));
        spec.variables.retain(|v| v.name.value != self.hidden);
    }
}

fn of_kind(spec: &WorldSpec, kind: Kind) -> Vec<String> {
    spec.variables.iter().filter(|v| v.kind == kind).map(|v| v.name.value.clone()).collect()
}

/// A name; empty if it cannot be read, which is an error of its own.
fn text(name: &Name) -> String {
    name.value.get().cloned().unwrap_or_default()
}

fn is_one_of(name: &Name, names: &[String]) -> bool {
    name.value.get().is_some_and(|name| names.contains(name))
}

/// Whether a variable is a parent.
fn acts_on(name: &str, m: &MechanismSpec) -> bool {
    m.parents.iter().any(|p| p.value == name)
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
