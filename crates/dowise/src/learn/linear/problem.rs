//! What a linear learner solves: knowledge and options, with the ranges of rewards and values that follow from them.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::error::LinearError;
use super::gram::Gram;
use super::learner::check_place;
use super::model::Sizes;
use super::options::LinearOptions;
use super::setup::{clip_values, regressed_terms};
use crate::learn::{Knowledge, Mechanisms, Observation};
use crate::plan::{Ties, tie_tolerance};
use crate::random::splitmix64;

/// The problem of a linear learner, for any storage of states.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    pub(super) knowledge: Knowledge,
    pub(super) options: LinearOptions,
    /// Regressed reward terms.
    pub(super) regressed: Vec<usize>,
    /// Least and greatest value at each stage.
    pub(super) clip: Vec<[f64; 2]>,
    pub(super) sizes: Sizes,
    pub(super) tolerance: f64,
}

impl Problem {
    pub(super) fn new(knowledge: &Knowledge, options: LinearOptions, mechanisms: Option<&Mechanisms>) -> Problem {
        let (regressed, regressed_range) = regressed_terms(knowledge, &options);
        let (range, clip) = clip_values(knowledge, &options);
        let sizes = Sizes::new(knowledge, &options, (range, &clip), regressed_range, mechanisms);
        let tolerance = tie_tolerance(knowledge.horizon(), range, knowledge.world());
        Problem { knowledge: knowledge.clone(), options, regressed, clip, sizes, tolerance }
    }

    /// Number of designs: one for all stages, or one each.
    pub(super) fn n_designs(&self) -> usize {
        if self.options.stage_dependent { self.sizes.horizon } else { 1 }
    }

    /// Position of a stage's design.
    pub(super) fn design(&self, stage: usize) -> usize {
        if self.options.stage_dependent { stage } else { 0 }
    }

    /// β at a stage, scaled, with the Gram matrix of this many steps.
    pub(super) fn beta(&self, stage: usize, gram: &Gram, steps: u64) -> f64 {
        self.sizes.beta(&self.options, gram.dimension(), stage, (gram.gained, steps))
    }

    /// The sum of the regressed rewards of a step; NaN if one is missing.
    pub(super) fn reward(&self, observation: &Observation<'_>) -> f64 {
        self.regressed.iter().map(|&i| observation.rewards[i]).sum()
    }

    /// Refuses a step by numbers that this world cannot have.
    pub(super) fn check_step(
        &self,
        (stage, state): (usize, usize),
        (cause, n_causes): (usize, usize),
        reward: f64,
        next_state: usize,
    ) -> Result<(), LinearError> {
        check_place(&self.knowledge, stage, state)?;
        check_place(&self.knowledge, stage, next_state)?;
        if cause >= n_causes {
            return Err(LinearError::NoCause { cause, last: n_causes - 1 });
        }
        let [lo, hi] = self.sizes.regressed;
        let rounding = 1e-9 * (hi - lo).max(hi.abs()).max(lo.abs());
        match (lo - rounding..=hi + rounding).contains(&reward) {
            true => Ok(()),
            false => Err(LinearError::Reward { reward, lo, hi }),
        }
    }

    /// Ties of the plan of an episode.
    pub(super) fn ties(&self, episode: u64) -> Ties {
        Ties::Seeded(splitmix64(self.options.seed ^ splitmix64(episode)))
    }

    /// Noise of the samples of the plan of an episode.
    pub(super) fn noise(&self, episode: u64) -> ChaCha8Rng {
        let mut rng = ChaCha8Rng::seed_from_u64(splitmix64(self.options.seed ^ 0x6c69_6e65));
        rng.set_stream(episode);
        rng
    }
}
