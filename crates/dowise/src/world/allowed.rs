//! Uniform sampling and counting of allowed interventions without enumeration.

use super::{Action, Forbid, Interventions, LeverRule};
use crate::Space;
use crate::random::{scale, splitmix64};

/// Rejections after which a search replaces sampling.
const MOST_DRAWS: usize = 256;

/// An allowed intervention of a state, uniform over the allowed ones if `random` is uniform.
///
/// Rejection sampling by rank. If almost everything is forbidden, the first allowed intervention after the last draw is
/// taken, lever by lever.
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

/// A fixed intervention that is allowed in a state with these factor values; `None` if there is none.
pub(crate) fn some_allowed(all: &Interventions, digits: &[usize]) -> Option<Action> {
    let mut levers = match all.lever_rule() {
        LeverRule::List(list) => return list.iter().copied().find(|&a| !all.is_forbidden(digits, a)),
        LeverRule::AtMost(_) => vec![None; all.n_levers()],
        LeverRule::All => vec![Some(0); all.n_levers()],
    };
    let active = all.forbid().iter().filter(|rule| rule.when.iter().all(|(f, values)| values[digits[*f]])).collect();
    next_allowed(all, &active, &mut levers, 0).then(|| all.action(&levers))
}

/// Changes the levers from `lever` on so that no forbidden combination matches; `false` if that is impossible.
///
/// Levers that were set stay set, and levers left alone stay so: their number is already allowed.
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

/// Maximum number of active forbidden combinations for counting by inclusion–exclusion.
const MOST_RULES: usize = 12;

/// Number of interventions allowed in a state (by its factors' values); `None` if there are too many forbidden
/// combinations.
///
/// |not forbidden| = Σ over sets R of rules (−1)^|R| · |interventions that match all of R|, exact below 2^53.
pub(crate) fn n_allowed(all: &Interventions, digits: &[usize]) -> Option<f64> {
    if let LeverRule::List(list) = all.lever_rule() {
        return Some(list.iter().filter(|&&a| !all.is_forbidden(digits, a)).count() as f64);
    }
    let active: Vec<&Forbid> =
        all.forbid().iter().filter(|rule| rule.when.iter().all(|(f, values)| values[digits[*f]])).collect();
    if active.len() > MOST_RULES {
        return None;
    }
    let mut sum = 0.0;
    for set in 0u32..1 << active.len() {
        let rules = (0..active.len()).filter(|i| set >> i & 1 == 1).map(|i| active[i]);
        let matching = n_matching(all, rules);
        sum += if set.count_ones().is_multiple_of(2) { matching } else { -matching };
    }
    Some(sum)
}

/// Number of interventions that match every one of these combinations.
fn n_matching<'a>(all: &Interventions, rules: impl Iterator<Item = &'a Forbid>) -> f64 {
    let n = all.n_levers();
    // The remaining values of each lever; `None`: it may also be left alone.
    let mut left: Vec<Option<Vec<bool>>> = vec![None; n];
    for (lever, values) in rules.flat_map(|rule| &rule.levers) {
        match &mut left[*lever] {
            Some(both) => both.iter_mut().zip(values).for_each(|(a, b)| *a &= b),
            none => *none = Some(values.clone()),
        }
    }
    let most = match all.lever_rule() {
        LeverRule::AtMost(k) => (*k).min(n),
        LeverRule::All | LeverRule::List(_) => n,
    };
    // ways[k]: number of partial interventions that set exactly k levers.
    let mut ways = vec![0.0; most + 1];
    ways[0] = 1.0;
    for (lever, left) in left.iter().enumerate() {
        let must = left.is_some() || *all.lever_rule() == LeverRule::All;
        let values = left.as_ref().map_or(all.sizes()[lever], |v| v.iter().filter(|&&v| v).count()) as f64;
        for k in (0..=most).rev() {
            let set = if k > 0 { ways[k - 1] * values } else { 0.0 };
            ways[k] = set + if must { 0.0 } else { ways[k] };
        }
    }
    ways.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worlds;

    #[test]
    fn allowed_interventions_are_counted_as_by_listing_them() {
        for name in ["treatment", "river-swim", "paper"] {
            let world = worlds::world(name, &[]).unwrap();
            let all = world.interventions();
            for state in 0..world.n_states().min(36) {
                let digits = world.state_space().digits(state);
                let listed = (0..all.count()).filter(|&i| all.allows(&digits, all.nth(i))).count();
                assert_eq!(n_allowed(all, &digits), Some(listed as f64), "{name}, state {state}");
            }
        }
    }
}
