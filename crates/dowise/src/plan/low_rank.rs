//! Bellman look-ahead for low-rank transitions: E[V(s') | s, c] = ⟨w(s, c), Σ_s' μ(s') V(s')⟩.

use rayon::prelude::*;

use crate::Space;
use crate::kernel::CauseSpace;
use crate::world::{LowRank, VarId, World};

use super::rewards_by_cause;

/// Multiply-adds below which a look-ahead runs on one thread.
const PARALLEL_WORK: usize = 1 << 16;

/// Row indices of the weights for each state and joint key values, and rewards.
///
/// # Cost
/// Memory: S + Z indices and S · Z rewards; weights and latent factors are shared with the world.
#[derive(Clone, Debug)]
pub(super) struct LowRankLayout {
    low_rank: LowRank,
    /// State s and joint key values c have row at_state[s] + at_cause[c] of the weights.
    at_state: Vec<u32>,
    at_cause: Vec<u32>,
    pub(super) reward_sc: Vec<f64>,
}

impl LowRankLayout {
    pub(super) fn new(world: &World, low_rank: &LowRank, causes: &CauseSpace) -> LowRankLayout {
        let rows = Space::new(&world.sizes(low_rank.scope())).expect("invariant: its rows are in memory");
        let strides: Vec<(VarId, usize)> =
            low_rank.scope().iter().copied().zip(rows.strides().iter().copied()).collect();
        let place = |digit: &dyn Fn(VarId) -> Option<usize>| {
            strides.iter().map(|&(id, stride)| digit(id).unwrap_or(0) * stride).sum::<usize>() as u32
        };
        let of_state = |s: usize| {
            place(&|id| world.state().iter().position(|f| *f == id).map(|axis| world.state_space().digit(s, axis)))
        };
        let of_cause =
            |c: usize| place(&|id| causes.variables().iter().position(|v| *v == id).map(|axis| causes.digit(c, axis)));
        LowRankLayout {
            low_rank: low_rank.clone(),
            at_state: (0..world.n_states()).map(of_state).collect(),
            at_cause: (0..causes.len()).map(of_cause).collect(),
            reward_sc: rewards_by_cause(world, causes),
        }
    }

    /// `q[state][cause]` = reward + E[worth(s') | s, c]; with `sizes`, the absolute value of the reward.
    ///
    /// # Cost
    /// O(S · d + S · Z · d); large worlds run on several threads, with the same results.
    pub(super) fn look(&self, worth_s: &[f64], sizes: bool, q: &mut Vec<f64>) {
        let mut anchors = Vec::new();
        self.low_rank.worth(worth_s, &mut anchors);
        let n_causes = self.at_cause.len();
        q.resize(self.reward_sc.len(), 0.0);
        let fill = |(s, (q, reward)): (usize, (&mut [f64], &[f64]))| {
            for ((q, r), at) in q.iter_mut().zip(reward).zip(&self.at_cause) {
                let weights = self.low_rank.weights((self.at_state[s] + at) as usize);
                let ahead: f64 = weights.iter().zip(&anchors).map(|(w, v)| w * v).sum();
                *q = ahead + if sizes { r.abs() } else { *r };
            }
        };
        if q.len() * anchors.len() < PARALLEL_WORK {
            q.chunks_exact_mut(n_causes).zip(self.reward_sc.chunks_exact(n_causes)).enumerate().for_each(fill);
        } else {
            let least = (PARALLEL_WORK / 4 / (n_causes * anchors.len())).max(1);
            q.par_chunks_exact_mut(n_causes)
                .zip(self.reward_sc.par_chunks_exact(n_causes))
                .enumerate()
                .with_min_len(least)
                .for_each(fill);
        }
    }
}
