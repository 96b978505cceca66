//! Rows that wait for their next state, in memory that is used again.

use crate::data::row::Row;
use crate::data::{End, LogStep};
use crate::learn::Observation;
use crate::world::Action;

/// What is kept of a row besides its values.
#[derive(Clone)]
pub(super) struct Meta {
    episode: u64,
    pub(super) line: u64,
    stage: usize,
    pub(super) state: usize,
    action: Action,
    pub(super) next_state: Option<usize>,
    pub(super) unseen_next: u64,
    reward: Option<f64>,
    propensity: Option<f64>,
    pub(super) policy: Option<u32>,
    pub(super) weight: u32,
    pub(super) end: Option<End>,
    pub(super) randomised: Option<bool>,
}

/// Rows that wait, in memory that is used again.
pub(super) struct Rows {
    n_values: usize,
    n_rewards: usize,
    n_factors: usize,
    values: Vec<u32>,
    rewards: Vec<f64>,
    next: Vec<u32>,
    pub(super) meta: Vec<Meta>,
    pub(super) free: Vec<u32>,
}

impl Rows {
    pub(super) fn new(n_values: usize, n_rewards: usize, n_factors: usize) -> Rows {
        let (values, rewards, next, meta, free) = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Rows { n_values, n_rewards, n_factors, values, rewards, next, meta, free }
    }

    /// Keeps a row of an episode with this number; returns its position.
    pub(super) fn keep(&mut self, row: &Row, episode: u64) -> u32 {
        let meta = Meta {
            episode,
            line: row.line,
            stage: row.stage,
            state: row.state.expect("invariant: a row without a state is bad"),
            action: row.action,
            next_state: None,
            unseen_next: 0,
            reward: row.reward,
            propensity: row.propensity,
            policy: row.policy,
            weight: row.weight,
            end: row.end,
            randomised: row.randomised,
        };
        let Some(at) = self.free.pop() else {
            self.values.extend_from_slice(&row.values);
            self.rewards.extend_from_slice(&row.rewards);
            self.next.extend_from_slice(&row.next);
            self.meta.push(meta);
            return self.meta.len() as u32 - 1;
        };
        let i = at as usize;
        self.values[i * self.n_values..][..self.n_values].copy_from_slice(&row.values);
        self.rewards[i * self.n_rewards..][..self.n_rewards].copy_from_slice(&row.rewards);
        self.next[i * self.n_factors..][..self.n_factors].copy_from_slice(&row.next);
        self.meta[i] = meta;
        at
    }

    /// Next values of the state factors, as the row says them.
    pub(super) fn next(&self, at: u32) -> &[u32] {
        &self.next[at as usize * self.n_factors..][..self.n_factors]
    }

    /// The row as a step of the log.
    pub(super) fn step(&self, at: u32) -> LogStep<'_> {
        let i = at as usize;
        let meta = &self.meta[i];
        let observation = Observation {
            stage: meta.stage,
            state: meta.state,
            action: Some(meta.action),
            values: (&self.values[i * self.n_values..][..self.n_values]).into(),
            rewards: (&self.rewards[i * self.n_rewards..][..self.n_rewards]).into(),
            next_state: meta.next_state,
            unseen_next: meta.unseen_next,
        };
        LogStep {
            episode: meta.episode,
            line: meta.line,
            observation,
            reward: meta.reward,
            propensity: meta.propensity,
            policy: meta.policy,
            weight: meta.weight,
            end: meta.end,
            randomised: meta.randomised,
        }
    }
}
