//! The worst and the best value of a policy over all outcome distributions that a strength of confounding allows.

use std::collections::BTreeMap;

use crate::kernel::{CauseSpace, Kernel};
use crate::offline::Episodes;
use crate::offline::evaluate::StartStates;
use crate::plan::rewards_by_cause;
use crate::world::{Action, World};

/// Most outcomes that are sorted, over all stages and values of Γ (seconds).
const MOST_WORK: u128 = 1 << 29;

/// Whose side the unrecorded cause takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    /// Against the policy.
    Worst,
    /// For the policy.
    Best,
}

/// The outcomes of an intervention in a state with the same joint key values.
#[derive(Clone, Debug)]
struct Cell {
    p: f64,
    /// The reward at the low and at the high end of its range, and the probability of the high end.
    reward: [f64; 2],
    share_high: f64,
    /// Next states with their probabilities.
    next: Vec<(usize, f64)>,
}

impl Cell {
    /// Adds the values of reward and next state with their probabilities.
    ///
    /// Rewards and next states are independent in the model, but an unrecorded cause may act on both. So the least next
    /// values go with the low reward: no other dependence has values that are further apart (in convex order).
    fn add_to(&self, next_s: &[f64], discount: f64, sorted: &mut Vec<(f64, f64)>, values: &mut Vec<(f64, f64)>) {
        sorted.clear();
        sorted.extend(self.next.iter().map(|&(s, p)| (discount * next_s[s], p)));
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut left = 1.0 - self.share_high;
        for &(value, p) in sorted.iter() {
            let low = left.min(p);
            left -= low;
            let both = [low, p - low].into_iter().zip(self.reward).filter(|(p, _)| *p > 0.0);
            values.extend(both.map(|(p, reward)| (reward + value, self.p * p)));
        }
    }
}

/// The outcomes of a policy's interventions under the fitted model.
pub(super) struct Outcomes<'a> {
    world: &'a World,
    policy_hs: &'a [Action],
    of: BTreeMap<(usize, Action), (Vec<Cell>, f64)>,
}

impl<'a> Outcomes<'a> {
    /// `None` if there are too many for this number of values of Γ.
    pub(super) fn new(
        log: &Episodes,
        world: &'a World,
        policy_hs: &'a [Action],
        gammas: usize,
    ) -> Option<Outcomes<'a>> {
        let (n, horizon) = (world.n_states(), world.horizon());
        let kernel = Kernel::new(world).ok()?;
        let causes = CauseSpace::new(world);
        let sorted = (n * n * causes.len() * 2) as u128 * (horizon * gammas) as u128;
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
                    (cells_of(world, &kernel, &causes, &rewards, (state, action)), share)
                });
            }
        }
        Some(Outcomes { world, policy_hs, of })
    }

    /// Mean of β over the steps of the policy under the fitted model.
    pub(super) fn mean_beta(&self, starts: &StartStates, gamma: f64) -> f64 {
        let (n, horizon) = (self.world.n_states(), self.world.horizon());
        let (mut here, mut sum, mut steps) = (vec![0.0; n], 0.0, 0.0);
        starts.shares.iter().for_each(|&(s, p)| here[s] += p);
        for stage in 0..horizon {
            let mut later = vec![0.0; n];
            for (s, &p) in here.iter().enumerate().filter(|(_, p)| **p > 0.0) {
                let Some((cells, share)) = self.of.get(&(s, self.policy_hs[stage * n + s])) else { continue };
                sum += p * (share + (1.0 - share) * gamma);
                steps += p;
                let reached = cells.iter().flat_map(|cell| cell.next.iter().map(|&(s, q)| (s, cell.p * q)));
                reached.for_each(|(s, q)| later[s] += p * q);
            }
            here = later;
        }
        if steps > 0.0 { sum / steps } else { 1.0 }
    }

    /// Values of the first stage in the worst or in the best case.
    pub(super) fn value(&self, case: Case, gamma: f64) -> Vec<f64> {
        let (n, horizon) = (self.world.n_states(), self.world.horizon());
        let mut next_s = vec![0.0; n];
        let mut room = [Vec::new(), Vec::new()];
        for stage in (0..horizon).rev() {
            let value = |state: usize, [sorted, values]: &mut [Vec<(f64, f64)>; 2]| {
                let action = self.policy_hs[stage * n + state];
                let Some((cells, share)) = self.of.get(&(state, action)) else { return 0.0 };
                values.clear();
                cells.iter().for_each(|cell| cell.add_to(&next_s, self.world.discount(), sorted, values));
                extreme_mean(case, values, share + (1.0 - share) / gamma, share + (1.0 - share) * gamma)
                    - self.world.interventions().cost(action)
            };
            next_s = (0..n).map(|state| value(state, &mut room)).collect();
        }
        next_s
    }
}

/// The least (or greatest) mean of values with their probabilities, over densities between α and β.
fn extreme_mean(case: Case, values: &mut [(f64, f64)], alpha: f64, beta: f64) -> f64 {
    match case {
        Case::Worst => values.sort_by(|a, b| a.0.total_cmp(&b.0)),
        Case::Best => values.sort_by(|a, b| b.0.total_cmp(&a.0)),
    }
    let mut extra = 1.0 - alpha;
    let mut mean = 0.0;
    for &(value, p) in values.iter() {
        // α for each, and what remains goes to the least (greatest) values first, up to β.
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

    /// The most spread-out distribution with the mean of a cell: both ends of the range, and the share of the high end.
    fn of(&self, cell: usize) -> ([f64; 2], f64) {
        let [low, high] = self.range;
        let certain = self.certain[cell];
        let share = if high > low { ((self.all[cell] - certain - low) / (high - low)).clamp(0.0, 1.0) } else { 0.0 };
        ([certain + low, certain + high], share)
    }
}

/// Outcomes with positive probability, by joint key values.
fn cells_of(
    world: &World,
    kernel: &Kernel,
    causes: &CauseSpace,
    rewards: &Rewards,
    (state, action): (usize, Action),
) -> Vec<Cell> {
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
        let (reward, share_high) = rewards.of(state * n_causes + c);
        let next = next.iter().enumerate().filter(|(_, p)| **p > 0.0).map(|(s, &p)| (s, p)).collect();
        out.push(Cell { p: prob[c], reward, share_high, next });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Case, Cell, extreme_mean};

    #[test]
    fn rewards_and_next_states_are_as_far_apart_as_their_distributions_allow() {
        let cell = Cell { p: 0.5, reward: [0.0, 1.0], share_high: 0.4, next: vec![(0, 0.3), (1, 0.7)] };
        let mut values = Vec::new();
        cell.add_to(&[2.0, -2.0], 0.5, &mut Vec::new(), &mut values);
        // 0.6 of the mass has reward 0 and the lower next value, -1; 0.1 has reward 1 with it, 0.3 has both.
        let expected = [(-1.0, 0.3), (0.0, 0.05), (2.0, 0.15)];
        assert_eq!(values.len(), 3);
        let apart = |(a, b): (&(f64, f64), &(f64, f64))| (a.0 - b.0).abs() + (a.1 - b.1).abs();
        assert!(values.iter().zip(&expected).map(apart).all(|x| x < 1e-12), "{values:?}");
    }

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
    fn the_extreme_means_are_those_of_the_extreme_vertices() {
        let values = [(3.0, 0.2), (-1.0, 0.3), (0.5, 0.1), (2.0, 0.25), (0.4, 0.15)];
        let negated = values.map(|(value, p)| (-value, p));
        for share in [0.0, 0.3, 0.9] {
            for gamma in [1.0, 1.2, 2.0, 7.0] {
                let (alpha, beta) = (share + (1.0 - share) / gamma, share + (1.0 - share) * gamma);
                let found = |case| extreme_mean(case, &mut values.clone(), alpha, beta);
                let expected = [by_enumeration(&values, alpha, beta), -by_enumeration(&negated, alpha, beta)];
                for (case, expected) in [Case::Worst, Case::Best].into_iter().zip(expected) {
                    assert!((found(case) - expected).abs() < 1e-12, "{case:?} {share} {gamma}: {expected}");
                }
            }
        }
    }
}
