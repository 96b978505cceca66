//! Weights become a look ahead: q(s, c) = clip(r + ⟨w, φ(s, c)⟩ + β‖φ(s, c)‖_{Λ⁻¹}). The only place where optimism enters.

use nalgebra::{DMatrix, DVector};
use rand_chacha::ChaCha8Rng;

use super::design::Design;
use super::options::{Beta, LinearEstimate, LinearOptions};
use crate::math::ln;
use crate::plan::Lookahead;
use crate::variates::normal;
use crate::world::Onward;

/// Numbers that the formulas for β share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    /// H
    pub(super) horizon: usize,
    /// Greatest less least reward of a step, costs included.
    pub(super) range: f64,
    /// Least and greatest of what is regressed of a step's own reward.
    pub(super) regressed: [f64; 2],
}

/// What a linear learner believes, laid out for backward induction.
#[derive(Clone, Debug)]
pub(super) struct LinearModel {
    /// One column for each state and cause (or intervention).
    pub(super) columns: DMatrix<f64>,
    /// One for all stages, or one each.
    pub(super) designs: Vec<Design>,
    /// Rewards that are added as they are, for each column.
    pub(super) reward: Vec<f64>,
    /// Least and greatest value at each stage.
    pub(super) clip: Vec<[f64; 2]>,
    pub(super) sizes: Sizes,
    pub(super) options: LinearOptions,
    /// Noise of this plan, for samples.
    pub(super) rng: ChaCha8Rng,
    /// How values of the next stage enter a step, where not as they are.
    pub(super) onward: Option<Onward>,
    /// Whether an episode has ended, state by state, where it can before the horizon.
    pub(super) ended: Option<std::sync::Arc<[bool]>>,
    weights: DVector<f64>,
    noise: DVector<f64>,
    mean: DVector<f64>,
}

impl LinearModel {
    pub(super) fn new(
        columns: DMatrix<f64>,
        n_states: usize,
        reward: Vec<f64>,
        clip: Vec<[f64; 2]>,
        sizes: Sizes,
        options: LinearOptions,
        rng: ChaCha8Rng,
    ) -> LinearModel {
        let n_designs = if options.stage_dependent { sizes.horizon } else { 1 };
        let (d, cells) = columns.shape();
        LinearModel {
            designs: vec![Design::new(columns.as_view(), n_states, options.lambda, sizes.regressed); n_designs],
            columns,
            reward,
            clip,
            sizes,
            options,
            rng,
            onward: None,
            ended: None,
            weights: DVector::zeros(d),
            noise: DVector::zeros(d),
            mean: DVector::zeros(cells),
        }
    }

    /// Position of a stage's design.
    pub(super) fn design(&self, stage: usize) -> usize {
        if self.designs.len() == 1 { 0 } else { stage }
    }

    /// β at a stage, scaled.
    pub(super) fn beta(&self, stage: usize) -> f64 {
        let LinearOptions { beta, beta_scale, lambda, delta, episodes, .. } = self.options;
        let Sizes { horizon, range, regressed } = self.sizes;
        let (d, h) = (self.columns.nrows() as f64, horizon as f64);
        let range_left = (horizon - 1 - stage) as f64 * range + (regressed[1] - regressed[0]);
        let unscaled = match beta {
            Beta::Published => d * h * range * ln(2.0 * d * episodes as f64 * h / delta).sqrt(),
            Beta::SelfNormalised => {
                let gained = self.designs[self.design(stage)].gained();
                range_left * (0.5 * (2.0 * ln(h / delta) + gained).sqrt() + (lambda * d).sqrt())
            }
            Beta::Deviation => range_left / 2.0,
            Beta::Fixed(beta) => beta,
        };
        beta_scale * unscaled
    }

    /// Least-squares weights of a stage for the values one stage ahead.
    pub(super) fn weights(&self, stage: usize, next_value: &[f64]) -> DVector<f64> {
        let mut out = DVector::zeros(self.columns.nrows());
        self.designs[self.design(stage)].weights(next_value, &mut out);
        out
    }
}

impl Lookahead for LinearModel {
    fn look(&mut self, stage: usize, next_value: &[f64], q: &mut Vec<f64>) {
        let mut worth = Vec::new();
        let next_value = match &self.onward {
            None => next_value,
            Some(onward) => {
                onward.worth(next_value, &mut worth);
                &worth
            }
        };
        let beta = self.beta(stage);
        let design = &self.designs[self.design(stage)];
        design.weights(next_value, &mut self.weights);
        let mut width = beta;
        if self.options.estimate == LinearEstimate::Sampled {
            width = 0.0;
            let rng = &mut self.rng;
            self.noise.iter_mut().for_each(|x| *x = normal(rng));
            design.perturb(beta, &mut self.noise, &mut self.weights);
        }
        self.mean.gemv_tr(1.0, &self.columns, &self.weights, 0.0);
        let [lo, hi] = self.clip[stage];
        q.clear();
        let parts = self.mean.iter().zip(&self.reward).zip(design.squares());
        q.extend(parts.map(|((mean, reward), square)| {
            let q = reward + mean + width * square.sqrt();
            // Where widths or samples are beyond all numbers nothing is known, and the best is hoped for.
            if q.is_nan() { hi } else { q.clamp(lo, hi) }
        }));
    }

    fn ended(&self) -> Option<&[bool]> {
        self.ended.as_deref()
    }

    fn cap(&self, stage: usize) -> f64 {
        self.clip[stage][1]
    }
}
