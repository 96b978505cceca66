//! A guard against a wrong graph: tests the causal model during the run and gives way to a learner without it.
//!
//! If the declared key variables do not separate the levers from the outcome, a causal learner can be wrong for ever. After
//! Bilodeau, Wang and Roy (2022): now and then explore, compare what interventions were seen to do with what the causal
//! model says they do, and once the difference is more than chance allows, go on with plain UCBVI, which has counted along.

use serde::{Deserialize, Serialize};

use super::{Agent, Choice, LearnError, LearnResult, Learner, MOST_CELLS, Options, Step};
use crate::kernel::mix;
use crate::learn::options::{Causes, Estimate, Schedule, Sets, States};
use crate::world::Action;

/// The learner that takes over, and what the test needs.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    /// Plain UCBVI on the same data.
    pub(crate) direct: Learner,
    pub(crate) ledger: Ledger,
    /// ln(2 · tests · T / δ)
    log: f64,
    /// State and position of the intervention of each step of the present episode.
    visited: Vec<(usize, usize)>,
}

/// What the guard has seen and decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ledger {
    /// The episode after which the causal model was given up.
    pub(crate) tripped: Option<u64>,
    /// Visits of `[state][intervention][cause]`.
    causes: Vec<u32>,
    /// Sums of observed rewards, `[state][intervention]`.
    rewards: Vec<f64>,
}

impl Ledger {
    /// Whether another ledger has the same shape.
    pub(crate) fn fits(&self, other: &Ledger) -> bool {
        self.causes.len() == other.causes.len() && self.rewards.len() == other.rewards.len()
    }
}

impl Guard {
    pub(crate) fn new(causal: &Learner) -> LearnResult<Guard> {
        let options = Options {
            states: States::Flat,
            causes: Causes::Actions,
            estimate: Estimate::Sets(Sets::Kl),
            schedule: Schedule::Episode,
            guard: false,
            ..causal.options.clone()
        };
        // If the graph is wrong, so may be the rewards that it implies: the one that takes over finds out for itself.
        let direct = Learner::new(&causal.knowledge.clone().without_rewards(), options)?;
        let (n, n_causes) = (direct.layout.n_states() * direct.layout.n_causes, causal.key_causes.len());
        let cells = n as u128 * n_causes as u128;
        if cells > MOST_CELLS as u128 {
            return Err(LearnError::TooManyCells { what: "what a guard counts".to_owned(), cells: Some(cells) });
        }
        // Everything that is compared: causes, reward and factors of each pair, and what the causal model learned itself.
        let factors = &causal.layout.factors;
        let per_pair: usize = n_causes + 1 + factors.iter().map(|f| f.n_values).sum::<usize>();
        let learned = factors.iter().map(|f| f.n_rows * f.n_values).sum::<usize>() + causal.rewards.cells();
        let steps = causal.options.episodes as f64 * causal.layout.horizon as f64;
        let log = crate::math::ln(2.0 * (n * per_pair + learned) as f64 * steps / causal.options.delta);
        let ledger = Ledger { tripped: None, causes: vec![0; n * n_causes], rewards: vec![0.0; n] };
        Ok(Guard { direct, ledger, log, visited: Vec::new() })
    }

    /// Whether this episode is for exploring: with probability 1/√k, so about 2√K episodes in all.
    pub(crate) fn explores(&self, seed: u64, episode: u64) -> bool {
        let coin = (mix(seed ^ mix(episode ^ 0x67_7561_7264)) >> 11) as f64 / (1u64 << 53) as f64;
        coin < 1.0 / ((episode + 1) as f64).sqrt()
    }

    pub(crate) fn observe(&mut self, cause: usize, n_causes: usize, step: &Step<'_>) {
        let Choice::Actions(list) = &self.direct.choice else { unreachable!("made so") };
        let pair = step.state * list.actions.len() + list.rank(step.action);
        self.ledger.causes[pair * n_causes + cause] += 1;
        self.ledger.rewards[pair] += step.rewards.iter().sum::<f64>();
        self.visited.push((step.state, list.rank(step.action)));
        self.direct.observe(step);
    }

    /// Compares both models at the pairs visited in this episode; gives the causal one up if they disagree.
    pub(crate) fn end_episode(&mut self, causal: &Learner) {
        let visited = std::mem::take(&mut self.visited);
        for &(state, rank) in &visited {
            if self.ledger.tripped.is_none() && self.disagree(causal, state, rank) {
                self.ledger.tripped = Some(self.direct.episode + 1);
            }
        }
        self.visited = visited;
        self.visited.clear();
        self.direct.end_episode();
    }

    fn disagree(&self, learner: &Learner, state: usize, rank: usize) -> bool {
        let Choice::Keys(kernel) = &learner.choice else { return false };
        let Choice::Actions(list) = &self.direct.choice else { unreachable!("made so") };
        let pair = state * list.actions.len() + rank;
        let direct = &self.direct.counts[0][0];
        let n = direct.n_r[pair];
        if n == 0 {
            return false;
        }
        let n_causes = learner.layout.n_causes;
        let width = |n: u32| if n == 0 { 1.0 } else { (self.log / (2.0 * f64::from(n))).sqrt().min(1.0) };
        let own = width(n);
        // Is P(c | s, a) what was declared? Asked only where it was given.
        let seen = &self.ledger.causes[pair * n_causes..][..n_causes];
        if learner.mechanisms.is_none() {
            let mut prob = vec![0.0; n_causes];
            kernel.distribution(state, list.actions[rank], &mut prob);
            if seen.iter().zip(&prob).any(|(&k, p)| (f64::from(k) / f64::from(n) - p).abs() > own) {
                return true;
            }
        }
        // From here on given the causes that were seen, so that what is known or believed of P(c | s, a) plays no part.
        let share: Vec<f64> = seen.iter().map(|&k| f64::from(k) / f64::from(n)).collect();
        let states = &learner.layout.state_space;
        // Do the rewards agree?
        let [lo, hi] = learner.knowledge.reward_range();
        let (mut expected, mut allowance) = (0.0, own * (hi - lo));
        for (c, p) in share.iter().enumerate().filter(|(_, p)| **p > 0.0) {
            let (mean, off) = learner.rewards.estimate(states, state, c, width);
            expected += p * mean;
            allowance += p * off;
        }
        if (self.ledger.rewards[pair] / f64::from(n) - expected).abs() > allowance {
            return true;
        }
        // Does each factor go where its causes say it should?
        learner.layout.factors.iter().zip(&learner.counts[0]).any(|(factor, counts)| {
            let state_row = factor.state_row(states, state);
            let rows: Vec<(usize, f64)> = (0..n_causes)
                .filter(|&c| share[c] > 0.0)
                .map(|c| (factor.row(state_row, c, n_causes), share[c]))
                .collect();
            let allowance = own + rows.iter().map(|&(row, p)| p * width(counts.n_r[row])).sum::<f64>();
            let mut frequency = vec![0.0; factor.n_values];
            for (next, &k) in direct.values(pair).iter().enumerate() {
                frequency[factor.value(states, next)] += f64::from(k) / f64::from(n);
            }
            (0..factor.n_values).any(|v| {
                let share = |row: usize| f64::from(counts.values(row)[v]) / f64::from(counts.n_r[row]);
                let expected: f64 = rows.iter().map(|&(row, p)| p * share(row)).sum();
                (frequency[v] - expected).abs() > allowance
            })
        })
    }

    /// The policy of the learner that took over.
    pub(crate) fn begin_episode(&mut self) -> &[Action] {
        self.direct.begin_episode();
        self.direct.policy()
    }
}
