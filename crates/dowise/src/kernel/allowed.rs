//! Draws an allowed intervention without listing them.

use super::{scale, splitmix64};
use crate::Space;
use crate::world::{Action, Forbid, Interventions, LeverRule};

/// Draws after which an allowed intervention is searched for instead.
const MOST_DRAWS: usize = 256;

/// An allowed intervention of a state, uniform over the allowed ones if `random` is uniform.
///
/// Draws by rank; where combinations are forbidden, ranks are redrawn until an allowed one comes up. Where hardly any is
/// allowed, the first one after the last draw is taken, lever by lever.
pub(crate) fn any_allowed(all: &Interventions, states: &Space, state: usize, random: u64) -> Action {
    let mut drawn = random;
    let mut action = all.nth(scale(drawn, all.count()));
    if all.forbid().is_empty() {
        return action;
    }
    let digits = states.digits(state);
    for _ in 0..MOST_DRAWS {
        if !all.is_forbidden(&digits, action) {
            return action;
        }
        drawn = splitmix64(drawn);
        action = all.nth(scale(drawn, all.count()));
    }
    if let LeverRule::List(list) = all.lever_rule() {
        let from = scale(drawn, all.count()) as usize;
        let mut around = list[from..].iter().chain(&list[..from]);
        return *around
            .find(|&&a| !all.is_forbidden(&digits, a))
            .expect("invariant: every state has an allowed intervention");
    }
    let active = all.forbid().iter().filter(|rule| rule.when.iter().all(|(f, values)| values[digits[*f]])).collect();
    let mut levers = all.levers(action);
    assert!(next_allowed(all, &active, &mut levers, 0), "invariant: every state has an allowed intervention");
    all.action(&levers)
}

/// Changes the levers from `lever` on so that no forbidden combination matches; `false` if there is no such change.
///
/// Levers that were set stay set, those that were left alone stay so: their number is allowed already.
fn next_allowed(all: &Interventions, active: &Vec<&Forbid>, levers: &mut [Option<usize>], lever: usize) -> bool {
    let matches = |rule: &&Forbid, levers: &[Option<usize>]| {
        rule.levers.iter().all(|(l, values)| *l < lever && levers[*l].is_some_and(|v| values[v]))
    };
    if active.iter().any(|rule| matches(rule, levers)) {
        return false;
    }
    if lever == levers.len() {
        return true;
    }
    let Some(drawn) = levers[lever] else { return next_allowed(all, active, levers, lever + 1) };
    let n = all.sizes()[lever];
    for shift in 0..n {
        levers[lever] = Some((drawn + shift) % n);
        if next_allowed(all, active, levers, lever + 1) {
            return true;
        }
    }
    levers[lever] = None;
    if !matches!(all.lever_rule(), LeverRule::All) && next_allowed(all, active, levers, lever + 1) {
        return true;
    }
    levers[lever] = Some(drawn);
    false
}
