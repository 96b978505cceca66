//! Reachability analysis: finds states that no policy reaches, by forward search over positive probabilities.
//!
//! The search overapproximates reachability, since it treats variables independently. A reported state is therefore
//! truly unreachable.

use std::collections::HashSet;

use crate::Space;
use crate::world::{LeverRule, Mechanism, Start, VarId, World};

/// Maximum number of states, and of pairs of a state and joint key values, for the search.
const MOST_STATES: usize = 4096;
const MOST_PAIRS: usize = 1 << 18;
/// Maximum number of table lookups, over all states.
const MOST_LOOKS: usize = 1 << 26;

/// If a value of a state factor occurs in no reachable state: the number of unreachable states and the first of them.
/// `None` if there is none, or the world is too large.
///
/// Unreachable combinations of values are common and not reported.
pub(crate) fn unreached(world: &World) -> Option<(usize, usize)> {
    let n = world.n_states();
    if n > MOST_STATES || world.low_rank.is_some() || !world.is_fully_known() {
        return None;
    }
    let entries: usize = world.mechanisms.iter().filter_map(|m| m.table.as_ref()).map(|t| t.len()).sum();
    if entries > MOST_LOOKS / n {
        return None;
    }
    let mut causes: Vec<VarId> = world.transitions.iter().flat_map(|m| m.parents.iter().copied()).collect();
    causes.retain(|id| !world.state.contains(id));
    causes.sort_unstable();
    causes.dedup();
    let cause_space = Space::new(&world.sizes(&causes)).filter(|c| c.len() <= MOST_PAIRS / n)?;

    let mut reached = vec![false; n];
    let mut frontier: Vec<usize> = first_states(world);
    frontier.iter().for_each(|&s| reached[s] = true);
    let mut count = frontier.len();
    let mut seen: HashSet<Vec<Vec<usize>>> = HashSet::new();
    while let Some(s) = frontier.pop() {
        if count == n {
            return None;
        }
        if world.has_ended(s) {
            continue;
        }
        let state = world.state_space.digits(s);
        let possible = possible_values(world, &state);
        for c in 0..cause_space.len() {
            let cause = cause_space.digits(c);
            if causes.iter().zip(&cause).any(|(id, &v)| !possible[id.ix()][v]) {
                continue;
            }
            let next: Vec<Vec<usize>> =
                world.transitions.iter().map(|m| support(world, m, &state, &causes, &cause)).collect();
            if seen.insert(next.clone()) {
                each_state(&world.state_space, &next, |s| {
                    if !reached[s] {
                        reached[s] = true;
                        count += 1;
                        frontier.push(s);
                    }
                });
            }
        }
    }
    let mut met: Vec<Vec<bool>> = world.state_space.sizes().iter().map(|&size| vec![false; size]).collect();
    for s in (0..n).filter(|&s| reached[s]) {
        met.iter_mut().enumerate().for_each(|(factor, values)| values[world.state_space.digit(s, factor)] = true);
    }
    if met.iter().flatten().all(|&met| met) {
        return None;
    }
    let Some(time_index) = world.time_index else {
        let example = reached.iter().position(|&r| !r)?;
        return Some((n - count, example));
    };
    // Reachability at one stage suffices.
    let (space, axis) = (&world.state_space, world.state_axis(time_index));
    let first = |s: usize| s - space.digit(s, axis) * space.strides()[axis];
    let mut at_some = vec![false; n];
    (0..n).filter(|&s| reached[s]).for_each(|s| at_some[first(s)] = true);
    let never: Vec<usize> = (0..n).filter(|&s| first(s) == s && !at_some[s]).collect();
    Some((never.len(), *never.first()?))
}

fn first_states(world: &World) -> Vec<usize> {
    match &world.start {
        Start::States(states) => states.iter().map(|&(s, _)| s).collect(),
        Start::Product(factors) => {
            let positive = |row: &Vec<f64>| (0..row.len()).filter(|&v| row[v] > 0.0).collect();
            let supports: Vec<Vec<usize>> = factors.iter().map(positive).collect();
            let mut out = Vec::new();
            each_state(&world.state_space, &supports, |s| out.push(s));
            out
        }
    }
}

/// For each variable, the values that may occur in this state under some intervention.
fn possible_values(world: &World, state: &[usize]) -> Vec<Vec<bool>> {
    let mut possible: Vec<Vec<bool>> = world.variables.iter().map(|v| vec![false; v.size()]).collect();
    world.state.iter().zip(state).for_each(|(id, &v)| possible[id.ix()][v] = true);
    for (position, id) in world.levers.iter().enumerate() {
        match world.interventions.lever_rule() {
            LeverRule::AtMost(0) => {}
            LeverRule::List(list) => {
                for &action in list {
                    if let Some(v) = world.interventions.lever(action, position) {
                        possible[id.ix()][v] = true;
                    }
                }
            }
            LeverRule::All | LeverRule::AtMost(_) => possible[id.ix()].fill(true),
        }
    }
    for mechanism in &world.mechanisms {
        let Some(table) = &mechanism.table else { continue };
        let columns = table.len() / world.sizes(&mechanism.parents).iter().product::<usize>();
        let (Some(rows), Some(children)) =
            (Space::new(&world.sizes(&mechanism.parents)), Space::new(&world.sizes(&mechanism.children)))
        else {
            continue;
        };
        for (r, row) in table.chunks_exact(columns).enumerate() {
            if mechanism.parents.iter().enumerate().any(|(axis, id)| !possible[id.ix()][rows.digit(r, axis)]) {
                continue;
            }
            for (column, _) in row.iter().enumerate().filter(|(_, p)| **p > 0.0) {
                for (axis, id) in mechanism.children.iter().enumerate() {
                    possible[id.ix()][children.digit(column, axis)] = true;
                }
            }
        }
    }
    possible
}

/// Next values of one factor with positive probability.
fn support(world: &World, m: &Mechanism, state: &[usize], causes: &[VarId], cause: &[usize]) -> Vec<usize> {
    let Some(table) = &m.table else { return Vec::new() };
    let value = |id: &VarId| match world.state.iter().position(|s| s == id) {
        Some(position) => state[position],
        None => causes.iter().position(|c| c == id).map_or(0, |position| cause[position]),
    };
    let row = m.parents.iter().fold(0, |row, id| row * world.variable(*id).size() + value(id));
    let columns = world.variable(m.children[0]).size();
    (0..columns).filter(|&v| table[row * columns + v] > 0.0).collect()
}

/// Calls `visit` with every state whose factor values are in these lists.
fn each_state(space: &Space, supports: &[Vec<usize>], visit: impl FnMut(usize)) {
    let mask = |(list, &size): (&Vec<usize>, &usize)| (0..size).map(|v| list.contains(&v)).collect();
    super::rows::each_point(space, &supports.iter().zip(space.sizes()).map(mask).collect(), visit);
}
