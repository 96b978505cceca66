//! The causal graph within a step: mechanisms of all variables, acyclicity, and topological order.

use super::check::Check;
use crate::world::{Assumed, At, Interventions, LeverRule, Mechanism, Problem, VarId};

/// The arrows of one mechanism; known even if its numbers are invalid.
#[derive(Clone)]
pub(crate) struct Arrows {
    pub(crate) children: Vec<VarId>,
    pub(crate) parents: Vec<VarId>,
    pub(crate) at: Option<At>,
}

/// One mechanism for each key and hidden variable and each lever that can be left alone; and separately the behaviour
/// mechanisms of levers that every intervention sets.
pub(crate) fn settle(
    check: &mut Check,
    mut mechanisms: Vec<Mechanism>,
    interventions: &Interventions,
    levers: &[VarId],
    keys: &[VarId],
    hidden: &[VarId],
) -> (Vec<Mechanism>, Vec<Mechanism>) {
    let mut behaviour_mechanisms = Vec::new();
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
                behaviour_mechanisms.extend((!own.parents.is_empty()).then_some(own));
                let at = check.places[id.ix()];
                check.push(Problem::note("always-set", message).at(at));
            }
            (Some(_), true) | (None, false) => {}
        }
    }
    (mechanisms, behaviour_mechanisms)
}

fn may_be_left_alone(interventions: &Interventions, lever: usize) -> bool {
    match interventions.lever_rule() {
        LeverRule::All => false,
        LeverRule::AtMost(_) => true,
        LeverRule::List(list) => list.iter().any(|&action| interventions.lever(action, lever).is_none()),
    }
}

/// Removes mechanisms of levers that every intervention sets; of all levers if the interventions are unknown.
pub(crate) fn drop_unused(arrows: &mut Vec<Arrows>, interventions: Option<&Interventions>, levers: &[VarId]) {
    arrows.retain(|a| {
        let lever = levers.iter().position(|l| a.children.contains(l));
        lever.is_none_or(|position| interventions.is_some_and(|i| may_be_left_alone(i, position)))
    });
}

/// Reports every cycle within a step.
pub(crate) fn no_circles(check: &mut Check, arrows: &[Arrows]) {
    // Self-loops first: a longer cycle through the same variable is another one.
    let mut own = Vec::new();
    let mut arrows: Vec<Arrows> = arrows.to_vec();
    for a in &mut arrows {
        own.extend(a.children.iter().filter(|c| a.parents.contains(c)).take(1).map(|&c| (vec![c, c], a.at)));
        a.parents.retain(|p| !a.children.contains(p));
    }
    own.into_iter().for_each(|(circle, at)| report_circle(check, &circle, at));
    let mut left: Vec<&Arrows> = arrows.iter().collect();
    left.sort_by_key(|a| a.children[0]);
    let mut undecided = vec![false; check.variables.len()];
    left.iter().flat_map(|a| &a.children).for_each(|id| undecided[id.ix()] = true);
    while !left.is_empty() {
        let ready = left.iter().position(|a| !a.parents.iter().any(|id| undecided[id.ix()]));
        let done: Vec<usize> = match ready {
            Some(ready) => vec![ready],
            None => {
                let circle = circle(&left);
                let in_it = |a: &Arrows| a.children.iter().any(|id| circle.contains(id));
                let at = arrows.iter().find(|a| in_it(a)).and_then(|a| a.at);
                report_circle(check, &circle, at);
                (0..left.len()).filter(|&i| in_it(left[i])).collect()
            }
        };
        for &i in done.iter().rev() {
            left.remove(i).children.iter().for_each(|id| undecided[id.ix()] = false);
        }
    }
}

fn report_circle(check: &mut Check, circle: &[VarId], at: Option<At>) {
    let names: Vec<String> = circle.iter().map(|&id| format!("\"{}\"", check.name(id))).collect();
    let message = format!("within a step variables act on each other in a circle: {}", names.join(" → "));
    let help = "take out one of these parents; what acts only on later steps goes through a state factor";
    check.push(Problem::error("cycle", message).help(help).at(at));
}

/// The mechanisms, parents before children, otherwise in the order of their first child. There are no circles among them.
pub(crate) fn parents_first(mut mechanisms: Vec<Mechanism>) -> Vec<Mechanism> {
    mechanisms.sort_by_key(|m| m.children[0]);
    crate::graph::parents_first(mechanisms, |m| m.children.clone(), |m| m.parents.clone())
}

/// A cycle, with its first variable repeated at the end. Every remaining mechanism has a parent among the remaining
/// children, so walking up must return.
fn circle(mechanisms: &[&Arrows]) -> Vec<VarId> {
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
