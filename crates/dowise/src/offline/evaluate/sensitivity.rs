//! Sensitivity to unmeasured confounding: how strong an unrecorded cause of the logged interventions has to be before a
//! policy could be worse than the behaviour policy (marginal sensitivity model).
//!
//! Given the state, an unrecorded cause may change the odds of the logged intervention by a factor of at most Γ. With π
//! the share of the intervention a in the state s, every outcome y of a then satisfies
//!
//! α ≤ p(y | s, do(a)) / p(y | s, a) ≤ β,   α = π + (1 − π)/Γ,   β = π + (1 − π) Γ
//!
//! The worst such p puts β on the least values of r + γ V(s') and α on the others. With it, policy evaluation is a
//! pessimistic recursion (Bruns-Smith and Zhou 2023). The value of the behaviour policy needs no such assumption.

use std::collections::BTreeMap;

use serde::Serialize;

use super::model::Model;
use super::start::StartStates;
use crate::kernel::{CauseSpace, Kernel};
use crate::offline::Episodes;
use crate::plan::rewards_by_cause;
use crate::world::{Action, World};

/// Greatest Γ that is examined.
const MOST: f64 = 20.0;

/// Values of Γ for which the worst-case value is reported.
const REPORTED: [f64; 8] = [1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0];

/// Halvings of the interval that contains the tipping point.
const HALVINGS: usize = 14;

/// Most outcomes that are sorted, over all stages and values of Γ (seconds).
const MOST_WORK: u128 = 1 << 29;

/// The strength of unmeasured confounding that overturns "better than the behaviour policy".
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sensitivity {
    /// The tipping point: with less confounding than this Γ, the policy remains better, with 95 % intervals. 1: no
    /// confounding is allowed for; at most 20 are examined.
    pub gamma: f64,
    /// Pairs of Γ and the policy's value in the worst case.
    pub worst: Vec<[f64; 2]>,
    /// The value of the behaviour policy by the model.
    pub behaviour: f64,
}

impl Sensitivity {
    /// Whether the policy remained better with the greatest Γ that was examined.
    pub fn is_beyond(&self) -> bool {
        self.gamma >= MOST
    }
}

/// The sensitivity of a policy's advantage. `margin` is the half-width that intervals leave it. `None` if every lever
/// was randomised, if there are next-state rewards, or if there are too many outcomes to sort.
///
/// # Cost
/// For each of about 20 values of Γ and each stage, a sort of the outcomes (configurations, rewards and next states) of
/// every state.
pub(crate) fn sensitivity(
    log: &Episodes,
    model: &Model,
    policy_hs: &[Action],
    starts: &StartStates,
    (behaviour, margin, prior): (f64, f64, f64),
) -> Option<Sensitivity> {
    let knowledge = log.knowledge();
    let names = knowledge.levers().iter().map(|&id| knowledge.variable(id).name.as_str());
    let is_randomised = |name: &str| log.declared().randomised.iter().any(|lever| lever == name);
    let world = model.mean_world(prior, starts.to_start());
    if names.into_iter().all(is_randomised) || world.pays_on_next_values() {
        return None;
    }
    let outcomes = Outcomes::new(log, &world, policy_hs)?;
    let value = |gamma: f64| starts.mean(&outcomes.worst(gamma));
    let is_better = |gamma: f64| value(gamma) - margin > behaviour;
    let (mut low, mut high) = (1.0, MOST);
    if !is_better(low) {
        high = low;
    } else if is_better(high) {
        low = high;
    }
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if is_better(middle) { low = middle } else { high = middle }
    }
    Some(Sensitivity { gamma: low, worst: REPORTED.iter().map(|&gamma| [gamma, value(gamma)]).collect(), behaviour })
}

/// One outcome of an intervention in a state.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    p: f64,
    reward: f64,
    next: usize,
}

/// The outcomes of a policy's interventions under the fitted model.
struct Outcomes<'a> {
    world: &'a World,
    policy_hs: &'a [Action],
    of: BTreeMap<(usize, Action), (Vec<Outcome>, f64)>,
}

impl<'a> Outcomes<'a> {
    /// `None` if there are too many.
    fn new(log: &Episodes, world: &'a World, policy_hs: &'a [Action]) -> Option<Outcomes<'a>> {
        let (n, horizon) = (world.n_states(), world.horizon());
        let kernel = Kernel::new(world).ok()?;
        let causes = CauseSpace::new(world);
        let sorted = (n * n * causes.len() * 2) as u128 * (horizon * (HALVINGS + REPORTED.len() + 2)) as u128;
        if sorted > MOST_WORK {
            return None;
        }
        let shares = shares(log);
        let rewards = Rewards::new(log, world, &causes);
        let mut of = BTreeMap::new();
        for (at, &action) in policy_hs.iter().enumerate() {
            let state = at % n;
            if !world.has_ended(state) {
                of.entry((state, action)).or_insert_with(|| {
                    let share = shares.get(&(state, action)).copied().unwrap_or(0.0);
                    (outcomes_of(world, &kernel, &causes, &rewards, (state, action)), share)
                });
            }
        }
        Some(Outcomes { world, policy_hs, of })
    }

    /// Values of the first stage in the worst case.
    fn worst(&self, gamma: f64) -> Vec<f64> {
        let (n, horizon) = (self.world.n_states(), self.world.horizon());
        let mut next_s = vec![0.0; n];
        let mut room = Vec::new();
        for stage in (0..horizon).rev() {
            let value = |state: usize, room: &mut Vec<(f64, f64)>| {
                let action = self.policy_hs[stage * n + state];
                let Some((outcomes, share)) = self.of.get(&(state, action)) else { return 0.0 };
                let of = |o: &Outcome| (o.reward + self.world.discount() * next_s[o.next], o.p);
                room.clear();
                room.extend(outcomes.iter().map(of));
                worst_mean(room, share + (1.0 - share) / gamma, share + (1.0 - share) * gamma)
                    - self.world.interventions().cost(action)
            };
            next_s = (0..n).map(|state| value(state, &mut room)).collect();
        }
        next_s
    }
}

/// The least mean of values (with their probabilities) over densities between α and β.
fn worst_mean(values: &mut [(f64, f64)], alpha: f64, beta: f64) -> f64 {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut extra = 1.0 - alpha;
    let mut mean = 0.0;
    for &(value, p) in values.iter() {
        // α for each, and what remains goes to the least values first, up to β.
        let more = extra.min(p * (beta - alpha));
        mean += value * (p * alpha + more);
        extra -= more;
    }
    mean
}

/// Share of each intervention among the logged steps of a state; one more step of each state did something else.
fn shares(log: &Episodes) -> BTreeMap<(usize, Action), f64> {
    let (mut of_state, mut of_action) = (BTreeMap::new(), BTreeMap::new());
    for episode in &log.episodes {
        for step in log.steps_of(episode) {
            let (state, weight) = (step.state as usize, f64::from(episode.weight));
            *of_state.entry(state).or_insert(1.0) += weight;
            if let Some(action) = step.action {
                *of_action.entry((state, action)).or_insert(0.0) += weight;
            }
        }
    }
    of_action.into_iter().map(|((state, action), n)| ((state, action), n / of_state[&state])).collect()
}

/// Rewards by state and configuration: the part that is certain, and the learned or random part by its mean and range.
struct Rewards {
    certain: Vec<f64>,
    all: Vec<f64>,
    range: [f64; 2],
}

impl Rewards {
    fn new(log: &Episodes, world: &World, causes: &CauseSpace) -> Rewards {
        let all = rewards_by_cause(world, causes);
        let stated = log.knowledge().world().rewards();
        let varies = |i: usize| stated[i].table.is_none() || stated[i].random;
        let mut certain = world.clone();
        let mut range = [0.0; 2];
        for i in (0..stated.len()).filter(|&i| varies(i)) {
            let term = &mut certain.rewards[i];
            (0..2).for_each(|end| range[end] += term.range[end]);
            term.table = term.table.as_ref().map(|table| vec![0.0; table.len()].into());
        }
        Rewards { certain: rewards_by_cause(&certain, causes), all, range }
    }

    /// The most spread-out distribution with the mean of a cell: both ends of the range.
    fn of(&self, cell: usize) -> [(f64, f64); 2] {
        let [low, high] = self.range;
        let certain = self.certain[cell];
        let share = if high > low { ((self.all[cell] - certain - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 };
        [(1.0 - share, certain + low), (share, certain + high)]
    }
}

/// Outcomes with positive probability: key variables, rewards and next states.
fn outcomes_of(
    world: &World,
    kernel: &Kernel,
    causes: &CauseSpace,
    rewards: &Rewards,
    (state, action): (usize, Action),
) -> Vec<Outcome> {
    let (n, n_causes) = (world.n_states(), causes.len());
    let (mut prob, mut next) = (vec![0.0; n_causes], vec![0.0; n]);
    kernel.distribution(state, action, &mut prob);
    let mut values = vec![0; world.variables().len()];
    let digits = world.state_space().digits(state);
    world.state().iter().zip(digits).for_each(|(id, v)| values[id.ix()] = v);
    let all = world.interventions();
    let levers = world.levers().iter().enumerate();
    levers.for_each(|(i, id)| values[id.ix()] = all.lever(action, i).unwrap_or(0));
    let mut out = Vec::new();
    for c in (0..n_causes).filter(|&c| prob[c] > 0.0) {
        causes.variables().iter().enumerate().for_each(|(i, id)| values[id.ix()] = causes.digit(c, i));
        assert!(world.next_states(&values, &mut next), "invariant: a posterior mean has all transitions");
        for (share, reward) in rewards.of(state * n_causes + c).into_iter().filter(|(share, _)| *share > 0.0) {
            let reached = (0..n).filter(|&s| next[s] > 0.0);
            out.extend(reached.map(|s| Outcome { p: prob[c] * share * next[s], reward, next: s }));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::worst_mean;

    /// The least mean over densities, by trying every vertex: all outcomes at α or β but one.
    fn by_enumeration(values: &[(f64, f64)], alpha: f64, beta: f64) -> f64 {
        let n = values.len();
        let mut least = f64::INFINITY;
        for free in 0..n {
            for at_beta in 0..1usize << n {
                let density = |i: usize| if at_beta >> i & 1 == 1 { beta } else { alpha };
                let others: f64 = (0..n).filter(|&i| i != free).map(|i| density(i) * values[i].1).sum();
                let own = (1.0 - others) / values[free].1;
                if (alpha - 1e-12..=beta + 1e-12).contains(&own) {
                    let mean = (0..n).map(|i| values[i].0 * values[i].1 * if i == free { own } else { density(i) });
                    least = least.min(mean.sum());
                }
            }
        }
        least
    }

    #[test]
    fn the_worst_mean_is_that_of_the_worst_vertex() {
        let values = [(3.0, 0.2), (-1.0, 0.3), (0.5, 0.1), (2.0, 0.25), (0.4, 0.15)];
        for share in [0.0, 0.3, 0.9] {
            for gamma in [1.0, 1.2, 2.0, 7.0] {
                let (alpha, beta) = (share + (1.0 - share) / gamma, share + (1.0 - share) * gamma);
                let found = worst_mean(&mut values.clone(), alpha, beta);
                let expected = by_enumeration(&values, alpha, beta);
                assert!((found - expected).abs() < 1e-12, "{share} {gamma}: {found} {expected}");
            }
        }
    }
}
