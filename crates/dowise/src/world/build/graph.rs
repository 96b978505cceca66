//! The causal graph within a step: which variables have a mechanism, and in which order they are drawn.

use super::check::Check;
use crate::world::{Assumed, Interventions, LeverRule, Mechanism, MechanismSpec, Problem, VarId};

/// One mechanism for each key and hidden variable and for each lever that can be left alone; and apart from them what acts on
/// levers that every intervention sets.
pub(crate) fn settle(
    check: &mut Check,
    mut mechanisms: Vec<Mechanism>,
    interventions: &Interventions,
    levers: &[VarId],
    keys: &[VarId],
    hidden: &[VarId],
) -> (Vec<Mechanism>, Vec<Mechanism>) {
    let mut habits = Vec::new();
    let learned =
        |id: VarId| Mechanism { children: vec![id], parents: Vec::new(), table: None, assumed: Assumed::default() };
    for &id in keys.iter().chain(hidden) {
        if !mechanisms.iter().any(|m| m.children.contains(&id)) {
            let message = format!("nothing is said about what acts on \"{}\"", check.name(id));
            let help = "it is to be learned as if nothing did; add `parents` if something does";
            let at = check.places[id.ix()];
            check.push(Problem::warning("no-parents", message).help(help).at(at));
            mechanisms.push(learned(id));
        }
    }
    for (position, &id) in levers.iter().enumerate() {
        let stated = mechanisms.iter().position(|m| m.children.contains(&id));
        match (stated, may_be_left_alone(interventions, position)) {
            (None, true) => mechanisms.push(learned(id)),
            (Some(m), false) => {
                let own = mechanisms.remove(m);
                let name = check.name(id);
                let message = if own.parents.is_empty() {
                    format!("every intervention sets \"{name}\", so its own mechanism is never used")
                } else {
                    format!(
                        "every intervention sets \"{name}\", so its own mechanism is used by no plan; it says by what it was chosen in a log"
                    )
                };
                habits.extend((!own.parents.is_empty()).then_some(own));
                let at = check.places[id.ix()];
                check.push(Problem::note("always-set", message).at(at));
            }
            (Some(_), true) | (None, false) => {}
        }
    }
    (mechanisms, habits)
}

fn may_be_left_alone(interventions: &Interventions, lever: usize) -> bool {
    match interventions.lever_rule() {
        LeverRule::All => false,
        LeverRule::AtMost(_) => true,
        LeverRule::List(list) => list.iter().any(|&action| interventions.lever(action, lever).is_none()),
    }
}

/// The mechanisms, parents before children, otherwise in the order of their first child.
pub(crate) fn parents_first(
    check: &mut Check,
    mut mechanisms: Vec<Mechanism>,
    stated: &[MechanismSpec],
) -> Option<Vec<Mechanism>> {
    mechanisms.sort_by_key(|m| m.children[0]);
    let mut undecided = vec![false; check.variables.len()];
    mechanisms.iter().flat_map(|m| &m.children).for_each(|id| undecided[id.ix()] = true);
    let mut ordered: Vec<Mechanism> = Vec::with_capacity(mechanisms.len());
    while !mechanisms.is_empty() {
        let Some(ready) = mechanisms.iter().position(|m| !m.parents.iter().any(|id| undecided[id.ix()])) else {
            let circle = circle(&mechanisms);
            let names: Vec<String> = circle.iter().map(|&id| format!("\"{}\"", check.name(id))).collect();
            let message = format!("within a step variables act on each other in a circle: {}", names.join(" → "));
            let help = "take out one of these parents; what acts only on later steps goes through a state factor";
            let names: Vec<&str> = circle.iter().map(|&id| check.name(id)).collect();
            let first = stated.iter().find(|m| m.children.iter().any(|c| names.contains(&c.value.as_str())));
            let at = first.and_then(|m| m.at);
            check.push(Problem::error("cycle", message).help(help).at(at));
            return None;
        };
        let mechanism = mechanisms.remove(ready);
        mechanism.children.iter().for_each(|id| undecided[id.ix()] = false);
        ordered.push(mechanism);
    }
    Some(ordered)
}

/// Variables that act on each other, the first once more at the end. Every mechanism left has a parent among the
/// children left, so walking up from any of them must come back.
fn circle(mechanisms: &[Mechanism]) -> Vec<VarId> {
    let decides = |id: VarId| mechanisms.iter().position(|m| m.children.contains(&id));
    let mut path: Vec<(usize, VarId)> = Vec::new(); // (mechanism, the parent that leads on)
    let mut current = 0;
    while !path.iter().any(|&(m, _)| m == current) {
        let Some((parent, above)) = mechanisms[current].parents.iter().find_map(|&p| Some((p, decides(p)?))) else {
            break;
        };
        path.push((current, parent));
        current = above;
    }
    let first = path.iter().position(|&(m, _)| m == current).unwrap_or(0);
    let mut loop_ids: Vec<VarId> = path[first..].iter().map(|&(_, parent)| parent).collect();
    loop_ids.reverse();
    if let Some(&start) = loop_ids.first() {
        loop_ids.push(start);
    }
    loop_ids
}
