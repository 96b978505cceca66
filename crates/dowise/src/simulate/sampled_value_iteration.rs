//! Sampled value iteration for non-enumerable states of low-rank worlds, and Monte Carlo policy evaluation.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::Simulator;
use super::low_rank::DrawnLowRank;
use crate::kernel::{Kernel, KernelError, Scratch, Tie};
use crate::learn::{Agent, Observation};
use crate::plan::{RewardsAt, RowsAt, tie_tolerance};
use crate::random::splitmix64;
use crate::world::{Action, Feature, Unsupported, World};

/// Why sampled value iteration fails.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SampledValueIterationError {
    /// Transitions have no latent factors that can be sampled.
    #[error(
        "states can be drawn of anchors only where [low_rank] says how all state factors move, with weights and rows that are distributions"
    )]
    NoAnchors,
    /// A reward is not known.
    #[error("the reward \"{name}\" is not given, so there is nothing to plan with; give it, or let a learner find out")]
    Unknown {
        /// Its name.
        name: String,
    },
    /// P(c | s, do(a)) cannot be computed.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The world has an unsupported feature.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
}

/// A policy that looks ahead through latent factors, whose values are averaged over sampled states.
///
/// With P(s' | s, z) = Σ_j w_j(s, z) μ_j(s') and θ_h(j) = E[V_h(s') | s' ~ μ_j], decisions are those of
///
///   q_h(s, c) = r(s, c) + discount · ⟨w(s, c), θ_{h+1}⟩,   θ_h(j) ≈ 1/n Σ_i V_h(s_{j,i}),   s_{j,i} ~ μ_j drawn once
///
/// so that the policy approaches optimality at the rate 1/√n for any number of states. Its value never exceeds the
/// optimum. Learners are compared with it where no optimal policy can be computed.
///
/// # Cost
/// O(d · n) sampled states at each of H stages: O(d · n · Z · d · H), and a search each.
#[derive(Clone, Debug)]
pub struct SampledValueIteration {
    ahead: Ahead,
    /// θ one stage ahead, stage by stage.
    worth_hj: Vec<Vec<f64>>,
}

/// Bellman look-ahead.
#[derive(Clone, Debug)]
struct Ahead {
    rows: RowsAt,
    rewards: RewardsAt,
    kernel: Kernel,
    discount: f64,
    /// Reference of the losses, stage by stage.
    caps: Vec<f64>,
    tolerance: f64,
}

/// Buffers of one look-ahead.
#[derive(Default)]
struct Room {
    phi: Vec<f64>,
    loss: Vec<f64>,
    scratch: Scratch,
}

impl SampledValueIteration {
    /// For a fully known world, with this many sampled states for each latent factor.
    pub fn new(world: &World, samples: usize, seed: u64) -> Result<SampledValueIteration, SampledValueIterationError> {
        let low_rank = world.low_rank().filter(|l| l.is_mixture()).ok_or(SampledValueIterationError::NoAnchors)?;
        world.refuse("a plan by sampled states", &[Feature::NextReward])?;
        if let Some(term) = world.rewards().iter().find(|term| term.table.is_none()) {
            return Err(SampledValueIterationError::Unknown { name: term.name.clone() });
        }
        let kernel = Kernel::new(world)?;
        let [least, most] = world.step_range();
        let horizon = world.horizon();
        let ahead = Ahead {
            rows: RowsAt::of_map(world, low_rank.map(), low_rank.dimension()),
            rewards: RewardsAt::new(world, kernel.causes()),
            kernel,
            discount: world.discount(),
            caps: (0..horizon).map(|stage| (horizon - stage) as f64 * most).collect(),
            tolerance: tie_tolerance(horizon, most - least, world),
        };
        let drawn = DrawnLowRank::new(world, low_rank);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(4);
        let anchors = 0..low_rank.dimension();
        let states: Vec<Vec<usize>> =
            anchors.map(|j| (0..samples.max(1)).map(|_| drawn.after_anchor(j, &mut rng)).collect()).collect();
        let mut worth_hj = vec![vec![0.0; low_rank.dimension()]; horizon];
        for stage in (1..horizon).rev() {
            let mean = |of: &Vec<usize>| {
                let value = |room: &mut Room, &s: &usize| match world.has_ended(s) {
                    true => 0.0,
                    false => ahead.best(stage, s, &worth_hj[stage], room).1,
                };
                // Values are summed in a fixed order, so that results do not depend on threads.
                let values: Vec<f64> = of.par_iter().map_init(Room::default, value).collect();
                values.iter().sum::<f64>() / of.len() as f64
            };
            worth_hj[stage - 1] = states.iter().map(mean).collect();
        }
        Ok(SampledValueIteration { ahead, worth_hj })
    }

    /// The intervention at a stage (from 0) in a state, and its estimated value.
    pub fn decide(&self, stage: usize, state: usize) -> (Action, f64) {
        self.ahead.best(stage, state, &self.worth_hj[stage], &mut Room::default())
    }
}

impl Ahead {
    fn best(&self, stage: usize, state: usize, worth: &[f64], room: &mut Room) -> (Action, f64) {
        let (d, n) = (self.rows.dimension, self.rows.n_causes());
        room.phi.resize(n * d, 0.0);
        room.loss.resize(n, 0.0);
        self.rows.fill(state, &mut room.phi).expect("invariant: a map gives features of every state");
        self.rewards.fill(state, &mut room.loss);
        let cap = self.caps[stage];
        for (loss, phi) in room.loss.iter_mut().zip(room.phi.chunks_exact(d)) {
            let ahead: f64 = phi.iter().zip(worth).map(|(w, v)| w * v).sum();
            *loss = cap - (*loss + self.discount * ahead);
        }
        let found = self.kernel.best(state, &room.loss, self.tolerance, Tie::First, &mut room.scratch);
        (found.action, cap - found.least)
    }
}

impl Agent for SampledValueIteration {
    fn act(&mut self, stage: usize, state: usize) -> Action {
        self.decide(stage, state).0
    }

    fn observe(&mut self, _: &Observation<'_>) {}
}

/// A mean with the half-width of its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half-width of the interval, which has a coverage of about 95 % or more.
    pub half: f64,
}

/// Rule of three: an event of probability 3/n is absent from n samples with probability e⁻³, about 5 %.
const UNSEEN: f64 = 3.0;

impl Estimate {
    /// Estimates the mean of a distribution whose range has this width: 1.96 standard errors, plus 3/n of the range for
    /// events too rare to be sampled. For payments of the whole range or nothing, coverage is at least 95 % (tested for
    /// n of 100 and 2,000). Standard errors alone nearly always miss events of probability 1/(20 n). The half-width is
    /// at most the range, and equals it for fewer than two samples.
    pub fn of(values: impl ExactSizeIterator<Item = f64> + Clone, range: f64) -> Estimate {
        let n = values.len() as f64;
        let mean = values.clone().sum::<f64>() / n;
        let variance = values.map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
        let half = if n >= 2.0 { 1.96 * (variance / n).sqrt() + UNSEEN * range / n } else { range };
        Estimate { mean, half: half.min(range) }
    }

    /// Estimates the mean paired difference: pairs share initial states and common random numbers.
    pub fn of_pairs(first: &[f64], second: &[f64], range: f64) -> Estimate {
        Estimate::of(first.iter().zip(second).map(|(a, b)| a - b).collect::<Vec<f64>>().into_iter(), range)
    }
}

impl Simulator {
    /// Returns of this many independent episodes of an agent. Another agent with the same seed gives a paired
    /// comparison; another seed gives independent episodes.
    pub fn returns(&self, agent: &mut (impl Agent + ?Sized), episodes: u64, seed: u64) -> Vec<f64> {
        // Without mixing, seeds that differ in their lowest bits would give the same episodes in another order.
        let seed = splitmix64(seed);
        let each = |i: u64| super::Play::new(self, splitmix64(seed ^ i)).episode(agent).1;
        (0..episodes).map(each).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Coverage of the interval of n draws, each paying `range` with probability p and else nothing, for the mean p ·
    /// range.
    fn coverage(n: usize, p: f64, range: f64, interval: impl Fn(&[f64]) -> Estimate) -> f64 {
        // P(k of n), from k = 0 on.
        let mut of_k = (1.0 - p).powi(n as i32);
        let (mut held, mut draws) = (0.0, vec![0.0; n]);
        for k in 0..=n {
            let Estimate { mean, half } = interval(&draws);
            held += if (mean - p * range).abs() <= half { of_k } else { 0.0 };
            if k < n {
                draws[k] = range;
                of_k *= (n - k) as f64 / (k + 1) as f64 * p / (1.0 - p);
            }
        }
        held
    }

    #[test]
    fn intervals_hold_however_rare_the_reward_is() {
        for (n, range) in [(100, 1.0), (2000, 7.5)] {
            let interval = |draws: &[f64]| Estimate::of(draws.iter().copied(), range);
            for mean in [0.05, 0.5, 1.0, 2.0, 2.9, 3.1, 4.0, 7.0, 15.0, 40.0] {
                let held = coverage(n, mean / n as f64, range, interval);
                assert!(held >= 0.95, "{mean} of {n}: {held}");
            }
            // Standard errors alone cover the mean at p = ½, but not for rare payments.
            let bare = |draws: &[f64]| {
                let Estimate { mean, half } = Estimate::of(draws.iter().copied(), range);
                Estimate { mean, half: half - UNSEEN * range / n as f64 }
            };
            assert!(coverage(n, 0.05 / n as f64, range, bare) < 0.1);
        }
    }

    #[test]
    fn no_interval_is_wider_than_what_is_possible_and_one_episode_tells_nothing() {
        assert_eq!(Estimate::of([2.0].into_iter(), 5.0), Estimate { mean: 2.0, half: 5.0 });
        assert_eq!(Estimate::of([0.0, 5.0].into_iter(), 5.0).half, 5.0);
        let pairs = Estimate::of_pairs(&[1.0; 600], &[1.0; 600], 5.0);
        assert!((pairs.half - 3.0 * 5.0 / 600.0).abs() < 1e-15 && pairs.mean == 0.0);
    }
}
