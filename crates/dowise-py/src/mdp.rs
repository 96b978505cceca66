//! An ordinary MDP as a world: one flat state factor, and one lever, the action, that acts on it directly.

use dowise::World;
use dowise::world::{WorldBuilder, WorldSpec};
use pyo3::prelude::*;

use crate::arrays::Numbers;
use crate::error::array;

/// P[s, a, s'], R[s, a] (or R[s], or R[s, a, s']), and what else there is to say.
pub(crate) struct Mdp<'py> {
    pub(crate) transitions: Bound<'py, PyAny>,
    pub(crate) rewards: Bound<'py, PyAny>,
    pub(crate) horizon: u64,
    pub(crate) order: String,
    pub(crate) start: Option<Bound<'py, PyAny>>,
    pub(crate) admissible: Option<Bound<'py, PyAny>>,
    pub(crate) name: String,
}

impl Mdp<'_> {
    pub(crate) fn spec(&self) -> PyResult<WorldSpec> {
        let swapped = match self.order.as_str() {
            "sas" => false,
            "ass" => true,
            other => return Err(array(format!("order is \"{other}\", expected \"sas\" (P[s, a, s']) or \"ass\""))),
        };
        let p = Numbers::read("P", &self.transitions)?;
        let axes = if swapped { "action, state, next state" } else { "state, action, next state" };
        let &[first, second, n_states] = p.shape.as_slice() else {
            return Err(array(format!("P has {} axes, expected 3: [{axes}]", p.shape.len())));
        };
        let n_actions = if swapped { first } else { second };
        let wanted = if swapped { [n_actions, n_states, n_states] } else { [n_states, n_actions, n_states] };
        p.expect(&[&wanted], axes)?;
        if n_states == 0 || n_actions == 0 {
            return Err(array(format!(
                "P has {n_states} states and {n_actions} actions, expected at least one of each"
            )));
        }
        p.rows(n_states)?;
        let rewards = self.rewards(&p, swapped, n_states, n_actions)?;
        let table = if swapped { swap(&p.values, n_actions, n_states, n_states) } else { p.values };
        let reward_scope = if rewards.len() == n_states { vec!["state"] } else { vec!["state", "action"] };
        let builder = World::builder(self.name.clone(), self.horizon)
            .state("state", n_states)
            .lever("action", n_actions)
            .next("state", ["state", "action"], table)
            .reward("reward", reward_scope, rewards);
        let builder = self.forbid(builder, n_states, n_actions)?;
        Ok(self.start(builder, n_states)?.spec())
    }

    /// R[s] or R[s, a]; where it depends on the next state too, its mean.
    fn rewards(&self, p: &Numbers, swapped: bool, n_states: usize, n_actions: usize) -> PyResult<Vec<f64>> {
        let r = Numbers::read("R", &self.rewards)?;
        let by_action = if swapped { [n_actions, n_states] } else { [n_states, n_actions] };
        let axes = if swapped { "action, state" } else { "state, action" };
        r.expect(&[&by_action, &[n_states], &p.shape], axes)?;
        r.finite()?;
        let mut values = r.values;
        if r.shape == p.shape && r.shape.len() == 3 {
            let rows = p.values.chunks_exact(n_states).zip(values.chunks_exact(n_states));
            values = rows.map(|(p, r)| p.iter().zip(r).map(|(p, r)| p * r).sum()).collect();
        }
        Ok(if swapped && r.shape.len() > 1 { swap(&values, n_actions, n_states, 1) } else { values })
    }

    fn start(&self, builder: WorldBuilder, n_states: usize) -> PyResult<WorldBuilder> {
        let Some(given) = &self.start else { return Ok(builder) };
        let weights = match given.extract::<i64>() {
            Ok(state) if (0..n_states as i64).contains(&state) => vec![(state as usize, 1.0)],
            Ok(state) => return Err(array(format!("start is state {state}, expected 0 to {}", n_states - 1))),
            Err(_) => {
                let start = Numbers::read("start", given)?;
                start.expect(&[&[n_states]], "state")?;
                start.rows(n_states)?;
                start.values.iter().copied().enumerate().filter(|(_, p)| *p > 0.0).collect()
            }
        };
        Ok(builder.start_in(weights.into_iter().map(|(state, weight)| (vec![("state", state.to_string())], weight))))
    }

    /// One rule for each set of states, naming the actions that are not admissible in just those.
    fn forbid(&self, builder: WorldBuilder, n_states: usize, n_actions: usize) -> PyResult<WorldBuilder> {
        let Some(given) = &self.admissible else { return Ok(builder) };
        let mask = Numbers::read("admissible", given)?;
        mask.expect(&[&[n_states, n_actions]], "state, action")?;
        if let Some(i) = mask.values.iter().position(|&x| x != 0.0 && x != 1.0) {
            return Err(array(format!("admissible{} is {}, expected 0 or 1", mask.at(i), mask.values[i])));
        }
        if let Some(s) = mask.values.chunks_exact(n_actions).position(|row| row.iter().all(|&x| x == 0.0)) {
            return Err(array(format!("admissible[{s}, :] allows no action, expected at least one in every state")));
        }
        let mut rules: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
        for a in 0..n_actions {
            let states: Vec<usize> = (0..n_states).filter(|s| mask.values[s * n_actions + a] == 0.0).collect();
            match rules.iter_mut().find(|(s, _)| *s == states) {
                _ if states.is_empty() => {}
                Some((_, actions)) => actions.push(a),
                None => rules.push((states, vec![a])),
            }
        }
        Ok(rules.iter().fold(builder, |builder, (states, actions)| {
            let [states, actions] = [states, actions].map(|v| v.iter().map(ToString::to_string).collect::<Vec<_>>());
            let [states, actions] = [&states, &actions].map(|v| v.iter().map(String::as_str).collect::<Vec<_>>());
            builder.forbid(&[("state", &states)], &[("action", &actions)])
        }))
    }
}

/// `[a][b][c]` becomes `[b][a][c]`.
fn swap(values: &[f64], n_a: usize, n_b: usize, n_c: usize) -> Vec<f64> {
    let mut out = Vec::with_capacity(values.len());
    for b in 0..n_b {
        for a in 0..n_a {
            out.extend_from_slice(&values[(a * n_b + b) * n_c..][..n_c]);
        }
    }
    out
}
