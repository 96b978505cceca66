//! Columns of a log: matches their names with variables of the world and with standard columns.

use super::LogError;
use super::findings::{FindingKind, Findings};
use super::labels::{Labels, Numbers};
use super::map::LogMap;
use crate::messages::nearest;
use crate::world::{Kind, LeverRule, VarId, World};

/// The role of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The value of a variable: a state factor before the step, a lever, a key variable.
    Value(usize),
    /// Whether a lever was set.
    Set(usize),
    /// The next value of a state factor.
    Next(usize),
    /// Payment of a reward term.
    Term(usize),
    /// A standard column, possible in logs of every world.
    Own(Own),
}

/// Standard columns of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Own {
    Episode,
    Stage,
    Time,
    Reward,
    Propensity,
    Policy,
    Weight,
    End,
    Randomised,
}

impl Role {
    /// Whether an empty cell deserves a note because data could have been learned from it.
    pub(crate) fn is_learned_from(self) -> bool {
        match self {
            Role::Value(_) | Role::Term(_) | Role::Own(Own::Reward) | Role::Own(Own::Propensity) => true,
            Role::Set(_) | Role::Next(_) | Role::Own(_) => false,
        }
    }
}

/// Names of standard columns. If the world has a variable of that name, the prefix `log.` distinguishes them.
const OWN: [(&str, Role); 9] = [
    ("episode", Role::Own(Own::Episode)),
    ("stage", Role::Own(Own::Stage)),
    ("time", Role::Own(Own::Time)),
    ("reward", Role::Own(Own::Reward)),
    ("propensity", Role::Own(Own::Propensity)),
    ("policy", Role::Own(Own::Policy)),
    ("weight", Role::Own(Own::Weight)),
    ("end", Role::Own(Own::End)),
    ("randomised", Role::Own(Own::Randomised)),
];

/// Maximum number of unknown columns that are reported by name; the others are counted.
const MOST_NAMED: usize = 40;

/// Prefix of a standard column whose name is also a variable of the world.
const PREFIX: &str = "log.";

/// A column to be read.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// Position in the table.
    pub(crate) index: usize,
    pub(crate) role: Role,
    /// Parser of labels.
    pub(crate) labels: Option<Labels>,
    /// Parser of numbers.
    pub(crate) numbers: Numbers,
    /// Cells that were missing.
    pub(crate) missing: u64,
}

/// The name of a column in a log of this world.
pub(crate) fn name_of(world: &World, role: Role) -> String {
    let factor = |i: usize| &world.variable(world.state()[i]).name;
    let plain = match role {
        Role::Value(ix) => return world.variables()[ix].name.clone(),
        Role::Set(lever) => format!("set.{}", world.variable(world.levers()[lever]).name),
        Role::Next(i) => format!("next.{}", factor(i)),
        Role::Term(i) => format!("reward.{}", world.rewards()[i].name),
        Role::Own(_) => {
            let own = OWN.iter().find(|(_, own)| *own == role);
            own.expect("invariant: every other role is in the list").0.to_owned()
        }
    };
    let is_variable = world.find(&plain).is_some() && !(role == Role::Own(Own::Stage) && world.time_index().is_some());
    if is_variable { format!("{PREFIX}{plain}") } else { plain }
}

/// Whether a column repeats the stage: the time index is read from `stage`.
pub(crate) fn is_time_index(world: &World, role: Role) -> bool {
    world.time_index().is_some_and(|time_index| match role {
        Role::Value(ix) => ix == time_index.ix(),
        Role::Next(i) => world.state()[i] == time_index,
        Role::Set(_) | Role::Term(_) | Role::Own(_) => false,
    })
}

/// All possible columns of this world's logs, with their names.
pub(crate) fn all(world: &World) -> Vec<(String, Role)> {
    let observed = [world.state(), world.levers(), world.keys()].into_iter().flatten();
    let mut roles: Vec<Role> = observed.map(|id| Role::Value(id.ix())).collect();
    roles.extend((0..world.levers().len()).map(Role::Set));
    roles.extend((0..world.state().len()).map(Role::Next));
    roles.extend((0..world.rewards().len()).map(Role::Term));
    roles.extend(OWN.iter().map(|(_, role)| *role));
    roles.into_iter().filter(|&role| !is_time_index(world, role)).map(|role| (name_of(world, role), role)).collect()
}

/// The role of a column name in logs of this world.
pub(crate) fn role_of(known: &[(String, Role)], name: &str) -> Option<Role> {
    if let Some((_, role)) = known.iter().find(|(k, _)| k == name) {
        return Some(*role);
    }
    // The prefix `log.` is always allowed before standard names.
    let bare = name.strip_prefix(PREFIX)?;
    OWN.iter().find(|(own, _)| *own == bare).map(|(_, role)| *role)
}

/// The lever whose column a key variable repeats; `None` for other variables.
pub(crate) fn logged_lever(world: &World, ix: usize) -> Option<usize> {
    let mut all = [world.state(), world.levers(), world.keys()].into_iter().flatten();
    let id = all.find(|id| id.ix() == ix)?;
    world.logged_lever(*id).map(VarId::ix)
}

/// Whether every intervention sets a lever, so that the log need not record it.
pub(crate) fn always_set(world: &World, lever: usize) -> bool {
    let all = world.interventions();
    match all.lever_rule() {
        LeverRule::All => true,
        LeverRule::AtMost(_) => false,
        LeverRule::List(list) => list.iter().all(|&action| all.lever(action, lever).is_some()),
    }
}

/// Matches the columns of a table with roles, and reports the others as findings.
pub(crate) fn match_columns(
    world: &World,
    names: &[String],
    map: Option<&LogMap>,
    findings: &mut Findings,
) -> Result<Vec<Column>, LogError> {
    let known = all(world);
    for id in [world.state(), world.levers(), world.keys()].into_iter().flatten() {
        if world.variable(*id).values.iter().any(|v| v.trim().is_empty()) {
            return Err(LogError::EmptyValue { variable: world.variable(*id).name.clone() });
        }
    }
    let renamed: Vec<&str> = names.iter().map(|n| map.map_or(n.trim(), |m| m.renamed(n.trim()))).collect();
    let mut columns: Vec<Column> = Vec::new();
    for (index, name) in renamed.iter().enumerate() {
        let Some(role) = role_of(&known, name) else { continue };
        if let Some(twin) = columns.iter().find(|c| c.role == role) {
            return Err(LogError::Twice { name: (*name).to_owned(), columns: [twin.index + 1, index + 1] });
        }
        let comma = map.is_some_and(|m| m.decimal_comma);
        let labels = labels_of(world, role, map).map(|labels| labels.with_comma(comma));
        columns.push(Column { index, role, labels, numbers: Numbers::new(comma), missing: 0 });
    }
    required(world, &known, &columns, &renamed)?;
    let is_there = |name: &str| columns.iter().any(|c| role_of(&known, name) == Some(c.role));
    // Columns that a map excludes need no note.
    let unread = |index: usize, name: &str| name.is_empty() && !names[index].trim().is_empty();
    let unknown =
        renamed.iter().enumerate().filter(|(index, name)| role_of(&known, name).is_none() && !unread(*index, name));
    let n_unknown = unknown.clone().count();
    if n_unknown > MOST_NAMED {
        let others = format!("{} other columns", n_unknown - MOST_NAMED);
        findings.about_column(FindingKind::IgnoredColumns, None, &others, None);
    }
    for (index, name) in unknown.take(MOST_NAMED) {
        let hidden = world.find(name).is_some_and(|id| world.variable(id).kind == Kind::Hidden);
        let near = nearest(name, known.iter().map(|(k, _)| k.as_str()).filter(|k| !is_there(k)));
        let kind = if hidden { FindingKind::HiddenColumn } else { FindingKind::IgnoredColumn };
        findings.about_column(kind, Some(index), name, near.map(str::to_owned));
    }
    absent(world, &known, &columns, findings);
    for (from, to) in map.iter().flat_map(|m| &m.columns) {
        if !names.iter().any(|n| n.trim() == from) {
            findings.about_column(FindingKind::MapUnused, None, from, Some(to.clone()));
        }
    }
    Ok(columns)
}

fn labels_of(world: &World, role: Role, map: Option<&LogMap>) -> Option<Labels> {
    let own = |name: String| map.and_then(|m| m.column(&name));
    match role {
        Role::Value(ix) => Some(Labels::new(&world.variables()[ix], own(world.variables()[ix].name.clone()))),
        Role::Next(i) => {
            let variable = world.variable(world.state()[i]);
            Some(Labels::new(variable, own(variable.name.clone())))
        }
        Role::Set(_) | Role::Own(Own::Randomised) => {
            const WORDS: [&str; 10] = ["0", "1", "no", "yes", "false", "true", "False", "True", "FALSE", "TRUE"];
            Some(Labels::of(&WORDS, own(name_of(world, role))))
        }
        Role::Own(Own::End) => Some(Labels::of(&["terminated", "truncated"], own(name_of(world, role)))),
        Role::Term(_) | Role::Own(_) => None,
    }
}

/// Fails if a required column is missing.
fn required(world: &World, known: &[(String, Role)], columns: &[Column], names: &[&str]) -> Result<(), LogError> {
    let needed = |role: Role| match role {
        Role::Own(Own::Episode) | Role::Own(Own::Stage) => true,
        Role::Value(ix) => world.variables()[ix].kind != Kind::Key,
        Role::Set(lever) => !always_set(world, lever),
        Role::Next(_) | Role::Term(_) | Role::Own(_) => false,
    };
    let there = |role: Role| columns.iter().any(|c| c.role == role);
    let missing: Vec<&(String, Role)> = known.iter().filter(|(_, role)| needed(*role) && !there(*role)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let variables = world.state().len() + world.levers().len() + world.keys().len();
    let fit = columns.iter().filter(|c| matches!(c.role, Role::Value(_))).count();
    let unknown = || names.iter().copied().filter(|n| role_of(known, n).is_none());
    let near = |name: &str| nearest(name, unknown()).map(str::to_owned);
    let missing: Vec<(String, Option<String>)> = missing.iter().map(|(name, _)| (name.clone(), near(name))).collect();
    // A misspelt column is no sign of another world.
    let misspelt = missing.iter().filter(|(_, near)| near.is_some()).count();
    Err(LogError::Columns {
        other_world: 4 * (fit + misspelt) <= variables,
        missing,
        found: names.iter().map(|n| (*n).to_owned()).collect(),
        world: world.name().to_owned(),
    })
}

/// Reports missing columns that could be learned from.
fn absent(world: &World, known: &[(String, Role)], columns: &[Column], findings: &mut Findings) {
    let there = |role: Role| columns.iter().any(|c| c.role == role);
    for (name, role) in known {
        let wanted = match role {
            Role::Value(ix) => world.variables()[*ix].kind == Kind::Key && logged_lever(world, *ix).is_none(),
            Role::Term(_) => !there(Role::Own(Own::Reward)),
            Role::Set(_) | Role::Next(_) | Role::Own(_) => false,
        };
        if wanted && !there(*role) {
            findings.about_column(FindingKind::AbsentColumn, None, name, None);
        }
    }
    let terms = (0..world.rewards().len()).filter(|&i| there(Role::Term(i))).count();
    if there(Role::Own(Own::Reward)) && world.rewards().len() > 1 && terms < world.rewards().len() {
        let name = name_of(world, Role::Own(Own::Reward));
        findings.about_column(FindingKind::OneReward, None, &name, None);
    }
}
