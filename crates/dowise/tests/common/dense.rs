//! The plain way: every assignment of every variable, every pair of states, every intervention.

use dowise::world::{Action, LeverRule, RewardTerm, VarId, World};

/// Probability of every assignment of the variables within a step, given the state and an intervention.
///
/// Calls `visit` with the values of all variables (by position) and their probability. A lever that is set takes its
/// value and its own mechanism is cut off.
pub fn each_assignment(world: &World, state: usize, action: Action, mut visit: impl FnMut(&[usize], f64)) {
    let mut values = vec![0; world.variables().len()];
    for (i, id) in world.state().iter().enumerate() {
        values[id.ix()] = world.state_space().digit(state, i);
    }
    let mut set = vec![false; world.variables().len()];
    for (i, id) in world.levers().iter().enumerate() {
        if let Some(v) = world.interventions().lever(action, i) {
            (values[id.ix()], set[id.ix()]) = (v, true);
        }
    }
    let free: Vec<VarId> =
        [world.levers(), world.keys(), world.hidden()].concat().into_iter().filter(|id| !set[id.ix()]).collect();
    loop {
        let mut p = 1.0;
        for m in world.mechanisms().iter().filter(|m| !m.children.iter().any(|id| set[id.ix()])) {
            let at = |ids: &[VarId]| ids.iter().fold(0, |at, &id| at * world.variable(id).size() + values[id.ix()]);
            let columns: usize = world.sizes(&m.children).iter().product();
            p *= m.table.as_ref().expect("known")[at(&m.parents) * columns + at(&m.children)];
        }
        if p > 0.0 {
            visit(&values, p);
        }
        if !next(&mut values, &free, world) {
            return;
        }
    }
}

/// Counts on, the last of `free` fastest; `false` after the last assignment.
fn next(values: &mut [usize], free: &[VarId], world: &World) -> bool {
    for &id in free.iter().rev() {
        values[id.ix()] += 1;
        if values[id.ix()] < world.variable(id).size() {
            return true;
        }
        values[id.ix()] = 0;
    }
    false
}

/// All interventions that are allowed in a state, by trying every digit of every lever.
pub fn allowed(world: &World, state: usize) -> Vec<Action> {
    let all = world.interventions();
    let mut choices: Vec<Vec<Option<usize>>> = vec![vec![]];
    for &n in all.sizes() {
        let longer = |choice: &Vec<Option<usize>>| {
            let choice = choice.clone();
            (0..=n).map(move |d| [&choice[..], &[d.checked_sub(1)]].concat())
        };
        choices = choices.iter().flat_map(longer).collect();
    }
    let value = |factor: usize| world.state_space().digit(state, factor);
    choices.retain(|choice| {
        let n_set = choice.iter().flatten().count();
        let kind = match all.lever_rule() {
            LeverRule::All => n_set == choice.len(),
            LeverRule::AtMost(k) => n_set <= *k,
            LeverRule::List(list) => list.contains(&all.action(choice)),
        };
        let forbidden = all.forbid().iter().any(|rule| {
            rule.when.iter().all(|(f, mask)| mask[value(*f)])
                && rule.levers.iter().all(|(l, mask)| choice[*l].is_some_and(|v| mask[v]))
        });
        kind && !forbidden
    });
    choices.iter().map(|choice| all.action(choice)).collect()
}

/// An ordinary Markov decision process: the world with its causes forgotten.
pub struct Flat {
    pub horizon: usize,
    pub n_states: usize,
    /// For each state its interventions.
    pub actions: Vec<Vec<Action>>,
    /// `[state][action]`: reward less cost.
    pub reward: Vec<Vec<f64>>,
    /// `[state][action][next]`
    pub prob: Vec<Vec<Vec<f64>>>,
    /// What a step later is worth.
    pub discount: f64,
    /// Whether an episode has ended, state by state.
    pub ended: Vec<bool>,
}

/// What a term pays for these values of a step and this next state.
pub fn paid(world: &World, term: &RewardTerm, values: &[usize], next: usize) -> f64 {
    let present = term.scope.iter().fold(0, |at, &id| at * world.variable(id).size() + values[id.ix()]);
    let row = term.next.iter().fold(present, |at, id| {
        let axis = world.state().iter().position(|s| s == id).expect("a state factor");
        at * world.variable(*id).size() + world.state_space().digit(next, axis)
    });
    term.table.as_ref().expect("known")[row]
}

impl Flat {
    pub fn new(world: &World) -> Flat {
        let n = world.n_states();
        let actions: Vec<Vec<Action>> = (0..n).map(|s| allowed(world, s)).collect();
        let (discount, ended) = (world.discount(), (0..n).map(|s| world.has_ended(s)).collect());
        let mut flat =
            Flat { horizon: world.horizon(), n_states: n, actions, reward: vec![], prob: vec![], discount, ended };
        for s in 0..n {
            let (mut rewards, mut rows) = (vec![], vec![]);
            for &a in &flat.actions[s] {
                let levers = world.interventions().levers(a);
                let cost: f64 =
                    levers.iter().enumerate().filter_map(|(l, v)| v.map(|v| world.interventions().costs()[l][v])).sum();
                let (mut reward, mut row) = (-cost, vec![0.0; n]);
                each_assignment(world, s, a, |values, p| {
                    let at =
                        |ids: &[VarId]| ids.iter().fold(0, |at, &id| at * world.variable(id).size() + values[id.ix()]);
                    for term in world.rewards().iter().filter(|term| term.next.is_empty()) {
                        reward += p * term.table.as_ref().expect("known")[at(&term.scope)];
                    }
                    for (next, cell) in row.iter_mut().enumerate() {
                        let factors = world.transitions().iter().enumerate().map(|(i, m)| {
                            let columns = world.variable(m.children[0]).size();
                            let v = world.state_space().digit(next, i);
                            m.table.as_ref().expect("known")[at(&m.parents) * columns + v]
                        });
                        let likely = p * factors.product::<f64>();
                        *cell += likely;
                        for term in world.rewards().iter().filter(|term| !term.next.is_empty()) {
                            reward += likely * paid(world, term, values, next);
                        }
                    }
                });
                rewards.push(reward);
                rows.push(row);
            }
            flat.reward.push(rewards);
            flat.prob.push(rows);
        }
        flat
    }

    /// Q for every state and its interventions, from the values one stage ahead.
    pub fn q(&self, next: &[f64]) -> Vec<Vec<f64>> {
        (0..self.n_states)
            .map(|s| {
                (0..self.actions[s].len())
                    .map(|a| {
                        self.reward[s][a]
                            + self.discount * self.prob[s][a].iter().zip(next).map(|(p, v)| p * v).sum::<f64>()
                    })
                    .collect()
            })
            .collect()
    }

    /// Optimal values, `[stage][state]`, with one further stage of zeros.
    pub fn solve(&self) -> Vec<Vec<f64>> {
        let mut value = vec![vec![0.0; self.n_states]; self.horizon + 1];
        for h in (0..self.horizon).rev() {
            let q = self.q(&value[h + 1]);
            value[h] = q.iter().map(|q| q.iter().copied().fold(f64::NEG_INFINITY, f64::max)).collect();
            self.end(&mut value[h]);
        }
        value
    }

    /// Values of a policy, `choice(stage, state)` being a position in `actions`.
    pub fn evaluate(&self, choice: impl Fn(usize, usize) -> usize) -> Vec<Vec<f64>> {
        let mut value = vec![vec![0.0; self.n_states]; self.horizon + 1];
        for h in (0..self.horizon).rev() {
            let q = self.q(&value[h + 1]);
            value[h] = (0..self.n_states).map(|s| q[s][choice(h, s)]).collect();
            self.end(&mut value[h]);
        }
        value
    }

    /// Nothing comes after the end.
    fn end(&self, value: &mut [f64]) {
        value.iter_mut().zip(&self.ended).filter(|(_, ended)| **ended).for_each(|(v, _)| *v = 0.0);
    }

    /// The largest size that a value can have, for tolerances.
    pub fn scale(&self) -> f64 {
        let most = self.reward.iter().flatten().fold(0.0, |m: f64, r| m.max(r.abs()));
        most * self.horizon as f64
    }
}
