//! Warnings about valid worlds that are probably not as intended.

use super::check::Check;
use super::reach;
use crate::world::{At, Problem, VarId, World};

/// Warns of variables without effects, and of states that no policy reaches.
pub(crate) fn review(check: &mut Check, world: &World) {
    let places = check.places.clone();
    let place = |id: VarId| -> Option<At> { places[id.ix()] };
    let causes = world.cause_variables();
    let above = world.mechanism_dag().ancestors(&causes.iter().map(|id| id.ix()).collect::<Vec<_>>());
    for &id in &world.keys {
        // An indirect effect is fine: observed intermediate variables keep learned tables small.
        if !above[id.ix()] {
            let message = format!("key variable \"{}\" acts on no state factor and no reward", check.name(id));
            let help = "name it in a `scope`, or take it out; as it is, it is observed and otherwise ignored";
            check.push(Problem::warning("acts-on-nothing", message).help(help).at(place(id)));
        }
    }
    for &id in &world.levers {
        let parent = world.mechanisms.iter().any(|m| m.parents.contains(&id));
        if !parent && !causes.contains(&id) {
            let message = format!("lever \"{}\" acts on nothing", check.name(id));
            let help = "name it among the parents of a key variable, or take it out";
            check.push(Problem::warning("acts-on-nothing", message).help(help).at(place(id)));
        }
    }
    for &id in &world.hidden {
        if !above[id.ix()] {
            let message = format!("hidden variable \"{}\" acts on no key variable", check.name(id));
            let help = "name it among the parents of one, or take it out; it changes nothing";
            check.push(Problem::warning("acts-on-nothing", message).help(help).at(place(id)));
        }
    }
    for m in &world.mechanisms {
        let learned = m.table.is_none() || m.assumed.learned;
        let (&[id], true) = (&m.children[..], m.parents.is_empty() && learned) else { continue };
        // With two observed children it explains their dependence, which removing it would deny.
        let chosen_by = world.behaviour_mechanisms.iter().any(|behaviour| behaviour.parents.contains(&id));
        if world.hidden.contains(&id) && above[id.ix()] && !chosen_by && observed_below(world, id, &above) < 2 {
            let message = format!("nothing acts on hidden variable \"{}\", and it is to be learned", check.name(id));
            let help = "what it does cannot be distinguished from chance in the one variable that it acts on: give its numbers, or take it out";
            check.push(Problem::warning("not-identified", message).help(help).at(place(id)));
        }
    }
    if world.rewards.is_empty() && !world.interventions.has_costs() {
        let problem = Problem::warning("no-reward", "there is no reward, so every plan is as good as any other");
        check.push(problem.help("add one with [reward.name]"));
    }
    if let Some((count, example)) = reach::unreached(world) {
        let given = check.combination(&world.state, &world.state_space.digits(example));
        let (others, verb) = match count {
            1 => (String::new(), "is"),
            2 => (" and 1 other".to_owned(), "are"),
            n => (format!(" and {} others", n - 1), "are"),
        };
        let message = format!("the state {given}{others} {verb} never reached");
        let help = "start there, or let something lead there, or take the values out";
        check.push(Problem::warning("never-reached", message).help(help));
    }
}

/// Number of relevant observed variables (or joint tables) that a hidden variable affects, directly or through other
/// hidden variables.
fn observed_below(world: &World, hidden: VarId, matters: &[bool]) -> usize {
    let mut reached = vec![false; world.variables.len()];
    reached[hidden.ix()] = true;
    let mut found = 0;
    // Parents come before children.
    for m in world.mechanisms.iter().filter(|m| m.children.iter().any(|id| matters[id.ix()])) {
        if !m.parents.iter().any(|id| reached[id.ix()]) {
            continue;
        }
        match m.children.iter().all(|id| world.hidden.contains(id)) {
            true => m.children.iter().for_each(|id| reached[id.ix()] = true),
            false => found += 1,
        }
    }
    found
}
