//! Unidentified quantities of a fit, by name, and the experiments that would identify them.

use super::report::{FitTable, OpenQuestion};
use super::seen::Seen;
use crate::learn::Knowledge;
use crate::world::{Kind, VarId};

/// Variables never recorded, interventions never tried, and effects behind hidden variables.
pub(super) fn open_questions(knowledge: &Knowledge, tables: &[FitTable], seen: &Seen, steps: u64) -> Vec<OpenQuestion> {
    let mut out = Vec::new();
    let mut push = |what: String, why: String, experiment: String| out.push(OpenQuestion { what, why, experiment });
    let name = |id: VarId| knowledge.variable(id).name.clone();
    for (&id, _) in knowledge.keys().iter().zip(&seen.keys_missing).filter(|(_, n)| **n == steps) {
        let key = name(id);
        let what = format!("key variable {key}");
        let why = "it was never recorded, so whatever depends on it or decides it takes the prior's value".to_owned();
        push(what, why, format!("record {key} in every step"));
    }
    let unknown =
        knowledge.rewards().iter().zip(&seen.rewards_missing).filter(|(r, n)| r.table.is_none() && **n == steps);
    for (term, _) in unknown {
        let what = format!("reward {}", term.name);
        let why = "it was never recorded, so every row takes the middle of its range".to_owned();
        push(what, why, format!("record what {} paid in every step, or keep the numbers of the world file", term.name));
    }
    if seen.next_missing == steps {
        let why = "no next state was recorded, so every transition takes the prior's value".to_owned();
        push("transitions".to_owned(), why, "record the state after each step".to_owned());
    }
    for (i, &id) in knowledge.levers().iter().enumerate() {
        let lever = name(id);
        let effects = tables.iter().filter(|t| t.given.iter().any(|axis| axis.name == lever));
        let effects: Vec<&str> = effects.map(|t| t.what.as_str()).collect();
        if effects.is_empty() {
            continue;
        }
        let values = &knowledge.variable(id).values;
        let never: Vec<&str> =
            values.iter().zip(&seen.set[i]).filter(|(_, n)| **n == 0).map(|(v, _)| v.as_str()).collect();
        if never.len() == values.len() {
            let what = format!("setting lever {lever}");
            let why = format!(
                "it was left alone in all {steps} steps; what setting it does to {} rests on the graph saying that nothing \
                 unobserved moves both",
                effects.join(" and ")
            );
            push(what, why, format!("set {lever} by a draw in some steps, and compare"));
        } else if !never.is_empty() && seen.left[i] == 0 {
            let what = format!("lever {lever} = {}", never.join(", "));
            let why = format!("never set; its rows of {} take what rows never seen take", effects.join(" and "));
            push(what, why, format!("set {lever} to {} in some steps", never.join(", ")));
        }
    }
    let world = knowledge.world();
    for m in world.mechanisms().iter().filter(|m| m.table.is_none()) {
        for &id in m.children.iter().filter(|id| world.variable(**id).kind == Kind::Hidden) {
            let used = world.mechanisms().iter().any(|other| other.parents.contains(&id));
            if !used {
                continue;
            }
            let hidden = name(id);
            let why = "it is never observed: other names for its values, and other numbers behind it, would explain the log as \
                       well; what it lets interventions do to key variables is fitted all the same"
                .to_owned();
            push(format!("hidden variable {hidden}"), why, format!("record {hidden} in some steps, as a key variable"));
        }
    }
    for table in tables.iter().filter(|t| t.never_seen() > 0) {
        let (never, rows) = (table.never_seen(), table.rows.len());
        let first = table.unseen_rows().next().expect("invariant: some row was never seen");
        let why = format!(
            "never seen: {never} of {rows} rows, such as {}; those take {}",
            table.row_words(first),
            table.unseen
        );
        push(table.what.clone(), why, experiment(knowledge, table));
    }
    out
}

/// The experiment that would produce data for unvisited rows of a table.
fn experiment(knowledge: &Knowledge, table: &FitTable) -> String {
    let is = |name: &str, kind: Kind| knowledge.variables().iter().any(|v| v.name == name && v.kind == kind);
    let names = |kind: Kind| -> Vec<&str> {
        table.given.iter().map(|axis| axis.name.as_str()).filter(|name| is(name, kind)).collect()
    };
    let (levers, keys) = (names(Kind::Lever), names(Kind::Key));
    match (levers.is_empty(), keys.is_empty()) {
        (false, _) => format!("set combinations of {} that the log does not have", levers.join(", ")),
        (true, false) => format!("interventions that bring about other values of {}", keys.join(", ")),
        (true, true) => "episodes that come through those states".to_owned(),
    }
}
