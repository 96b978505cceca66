//! A world as an ordinary MDP: P(s' | s, do(a)) and the expected reward of every state and intervention, for others' tools.

use dowise::{Planner, World};

/// Numbers that one array may have.
pub(crate) const MOST: usize = 1 << 28;

/// `[state][action][next state]` and `[state][action]`, costs taken off; interventions in the order of their numbers.
pub(crate) fn flat(world: &World, planner: &Planner) -> (Vec<f64>, Vec<f64>) {
    let (kernel, all) = (planner.kernel(), world.interventions());
    let (n, n_causes, count) = (world.n_states(), kernel.n_causes(), all.count() as usize);
    let mut transitions = vec![0.0; n * count * n];
    let mut rewards = vec![0.0; n * count];
    let arrival = world.arrival();
    if planner.is_split() {
        // Joint causes are too many to be listed.
        for (at, row) in transitions.chunks_exact_mut(n).enumerate() {
            let (s, action) = (at / count, all.nth((at % count) as u64));
            if world.has_ended(s) {
                row[s] = 1.0;
                continue;
            }
            let paid = planner.step(s, action, row).expect("invariant: the world is planned by components");
            let arriving: f64 = row.iter().zip(&arrival).map(|(p, paid)| p * paid).sum();
            rewards[at] = paid + arriving - all.cost(action);
        }
        return (transitions, rewards);
    }
    let mut next = vec![0.0; n_causes * n];
    let mut causes = vec![0.0; n_causes];
    for s in 0..n {
        if world.has_ended(s) {
            // Nothing follows, and nothing is paid.
            (0..count).for_each(|a| transitions[(s * count + a) * n + s] = 1.0);
            continue;
        }
        for (c, row) in next.chunks_exact_mut(n).enumerate() {
            next_states(world, planner, s, c, row);
        }
        for a in 0..count {
            let action = all.nth(a as u64);
            kernel.distribution(s, action, &mut causes);
            let at = s * count + a;
            for (c, &p) in causes.iter().enumerate().filter(|(_, p)| **p > 0.0) {
                rewards[at] += p * planner.rewards()[s * n_causes + c];
                rewards[at] += p * next[c * n..].iter().zip(&arrival).map(|(q, paid)| q * paid).sum::<f64>();
                let row = &mut transitions[at * n..(at + 1) * n];
                row.iter_mut().zip(&next[c * n..]).for_each(|(out, q)| *out += p * q);
            }
            rewards[at] -= all.cost(action);
        }
    }
    (transitions, rewards)
}

/// P(s' | s, c): the product of what each state factor does.
fn next_states(world: &World, planner: &Planner, state: usize, cause: usize, out: &mut [f64]) {
    let causes = planner.kernel().causes();
    let mut values = vec![0; world.variables().len()];
    world.state().iter().zip(world.state_space().digits(state)).for_each(|(id, v)| values[id.ix()] = v);
    for (i, id) in causes.variables().iter().enumerate() {
        values[id.ix()] = causes.digit(cause, i);
    }
    assert!(world.next_states(&values, out), "invariant: a planner knows all transitions");
}
