//! One-step lookahead of linear learners: q(s, c) = clip(r + ⟨w, φ(s, c)⟩ + β‖φ(s, c)‖_{Λ⁻¹}). Optimism enters here
//! only.

use std::ops::Range;
use std::sync::Arc;

use nalgebra::{DMatrixView, DVector, DVectorViewMut};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::covering_number::Cover;
use super::design::{Counted, Design};
use super::fit::Fit;
use super::gram::Gram;
use super::options::{Beta, LinearEstimate, LinearOptions, Switching, Weights};
use super::problem::Problem;
use super::residuals::Residuals;
use super::setup::values_ahead;
use super::weighted::{Targets, Weighted, WeightedCover};
use crate::learn::{Knowledge, MechanismRule, Mechanisms};
use crate::math::ln;
use crate::plan::Lookahead;
use crate::random::splitmix64;
use crate::world::Continuation;

/// Quantities shared by the formulas for β.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    /// H
    pub(super) horizon: usize,
    /// Range of the rewards of a step, costs included.
    pub(super) range: f64,
    /// Range of the regressed part of a step's reward.
    pub(super) regressed: [f64; 2],
    /// Range of the continuation values of each stage.
    pub(super) ahead: Vec<[f64; 2]>,
    /// δ of the regressions: all of it, or half if mechanisms are unknown.
    pub(super) delta: f64,
    /// Log number of possible kernels of plans: 0 if P(c | s, a) is known.
    pub(super) kernels: f64,
}

impl Sizes {
    pub(super) fn new(
        knowledge: &Knowledge,
        options: &LinearOptions,
        (range, clip): (f64, &[[f64; 2]]),
        regressed: [f64; 2],
        mechanisms: Option<&Mechanisms>,
    ) -> Sizes {
        let horizon = knowledge.horizon();
        let steps = options.episodes as f64 * horizon as f64;
        let (delta, kernels) = match mechanisms {
            None => (options.delta, 0.0),
            Some(mechanisms) => (options.delta / 2.0, mechanisms.log_ways(steps)),
        };
        Sizes { horizon, range, regressed, ahead: values_ahead(knowledge, clip), delta, kernels }
    }

    /// Range of the targets of a stage (ρ).
    pub(super) fn range_left(&self, stage: usize) -> f64 {
        let [least, most] = self.ahead[stage];
        most - least + (self.regressed[1] - self.regressed[0])
    }

    /// The least target of a stage. The ridge shrinks towards it, so that adding a constant to all rewards changes
    /// nothing.
    pub(super) fn floor(&self, stage: usize) -> f64 {
        self.ahead[stage][0] + self.regressed[0]
    }

    /// β at a stage, scaled, with d features; `gained` is ln(det Λ / λ^d) after this many steps.
    pub(super) fn beta(&self, options: &LinearOptions, d: usize, stage: usize, (gained, steps): (f64, u64)) -> f64 {
        let &LinearOptions { beta, beta_scale, lambda, episodes, .. } = options;
        let (dimension, h) = (d as f64, self.horizon as f64);
        let range_left = self.range_left(stage);
        let unscaled = match beta {
            Beta::Published => {
                dimension * h * self.range * ln(2.0 * dimension * episodes as f64 * h / self.delta).sqrt()
            }
            Beta::SelfNormalised => {
                range_left * (0.5 * (2.0 * ln(h / self.delta) + gained).sqrt() + (lambda * dimension).sqrt())
            }
            Beta::CoveringNumber => self.cover(options, d, stage, steps).beta(gained),
            Beta::Deviation => range_left / 2.0,
            // σ is known only after the fit of a stage; this is its maximum.
            Beta::Residuals => range_left / 2.0,
            Beta::Fixed(beta) => beta,
        };
        beta_scale * unscaled
    }
}

impl Sizes {
    /// Parameters of the covering-number bound, for the planned number of steps or the actual one if greater.
    fn cover(&self, options: &LinearOptions, d: usize, stage: usize, steps: u64) -> Cover {
        let horizon = self.horizon as f64;
        Cover {
            dimension: d as f64,
            lambda: options.lambda,
            delta: self.delta,
            horizon,
            steps: (options.episodes as f64 * horizon).max(steps as f64),
            range: self.range_left(stage),
            kernels: self.kernels,
        }
    }
}

impl Sizes {
    /// A variance-weighted regression and its β. `regress` computes it with targets measured from the floor; `gained`
    /// is ln(det Λ / λ^d) of the first regression, after this many steps.
    pub(super) fn weigh(
        &self,
        options: &LinearOptions,
        d: usize,
        stage: usize,
        (gained, steps): (f64, u64),
        regress: impl Fn(Targets) -> Weighted,
    ) -> (Weighted, f64) {
        let [least, most] = self.ahead[stage];
        let (ahead, least, range) = (most - least, least - self.floor(stage), self.range_left(stage));
        let of = |width: f64| regress(Targets { least, ahead, regressed: self.regressed, range, width });
        match options.beta {
            Beta::CoveringNumber => {
                let cover = WeightedCover { cover: self.cover(options, d, stage, steps), ahead };
                let [first, _] = cover.betas(gained, 0.0);
                let weighted = of(options.beta_scale * first);
                let [_, second] = cover.betas(gained, weighted.gram.gained);
                (weighted, options.beta_scale * second)
            }
            Beta::Published | Beta::SelfNormalised | Beta::Deviation | Beta::Residuals | Beta::Fixed(_) => {
                let first = self.beta(options, d, stage, (gained, steps));
                let weighted = of(if range > 0.0 { first / range } else { 0.0 });
                let beta = self.beta(options, d, stage, (weighted.gram.gained, steps));
                (weighted, beta)
            }
        }
    }
}

/// Estimator of unknown mechanisms for the plan of an episode: optimistic or sampled, like the weights.
pub(super) fn kernel_rule(options: &LinearOptions, episode: u64) -> MechanismRule {
    let &LinearOptions { estimate, beta, beta_scale: scale, delta, seed, .. } = options;
    match estimate {
        // The proof needs separate rows: intervals of forms are approximate.
        LinearEstimate::Width => {
            MechanismRule::Optimistic { delta: delta / 2.0, scale, forms: beta != Beta::CoveringNumber }
        }
        LinearEstimate::Sampled if scale > 0.0 => {
            MechanismRule::Sample { spread: scale, seed: splitmix64(seed ^ splitmix64(episode)) }
        }
        LinearEstimate::Sampled => MechanismRule::Mean,
    }
}

/// Columns per thread and task.
const SHARE: usize = 1 << 12;

/// The regressors: one column of d numbers for each state and configuration (or intervention), shared with the
/// features if equal.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    dimension: usize,
    values: Arc<[f64]>,
}

impl Columns {
    pub(super) fn new(dimension: usize, values: Arc<[f64]>) -> Columns {
        Columns { dimension, values }
    }

    pub(super) fn as_view(&self) -> DMatrixView<'_, f64> {
        DMatrixView::from_slice(&self.values, self.dimension, self.len())
    }

    /// The product of every column with these weights; in parallel if there are many, with the same results.
    fn times(&self, weights: &DVector<f64>, out: &mut DVector<f64>) {
        let view = self.as_view();
        out.as_mut_slice().par_chunks_mut(SHARE).enumerate().for_each(|(i, part)| {
            let n = part.len();
            DVectorViewMut::from_slice(part, n).gemv_tr(1.0, &view.columns(i * SHARE, n), weights, 0.0);
        });
    }

    /// One of them.
    pub(super) fn of(&self, cell: usize) -> &[f64] {
        &self.values[cell * self.dimension..][..self.dimension]
    }

    /// Number of columns.
    pub(super) fn len(&self) -> usize {
        self.values.len() / self.dimension
    }
}

/// Estimates of a linear learner, laid out for backward induction.
#[derive(Clone, Debug)]
pub(super) struct LinearModel {
    pub(super) columns: Columns,
    /// Number of columns of a state.
    pub(super) n_causes: usize,
    /// One for all stages, or one each.
    pub(super) designs: Vec<Design>,
    /// Known rewards, for each column.
    reward: Vec<f64>,
    /// How values of the next stage enter a step, unless unchanged.
    continuation: Option<Continuation>,
    /// Whether a state is terminal, if there are terminal states.
    ended: Option<Arc<[bool]>>,
    /// The data of the present plan, design by design, if residuals are needed.
    residuals: Vec<Residuals>,
    /// φᵀΛ⁻¹φ as of the present plan, design by design, if they are not cached.
    squares: Vec<Vec<f64>>,
    /// The regression of the last fitted stage, with variance weights.
    weighted: Option<Gram>,
    weights: DVector<f64>,
    mean: DVector<f64>,
}

impl LinearModel {
    pub(super) fn new(problem: &Problem, columns: Columns, reward: Vec<f64>) -> LinearModel {
        let (options, regressed) = (&problem.options, problem.sizes.regressed);
        let (world, n_states) = (problem.knowledge.world(), problem.knowledge.n_states());
        let (d, cells) = (columns.dimension, columns.len());
        let design = if tracks_widths(options) {
            Design::new(columns.as_view(), n_states, options.lambda, regressed)
        } else {
            Design::without_widths(d, n_states, options.lambda, regressed)
        };
        LinearModel {
            designs: vec![design; problem.n_designs()],
            squares: Vec::new(),
            columns,
            n_causes: cells / n_states,
            reward,
            continuation: Continuation::of(world),
            ended: world.ends().map(|ends| ends.states.clone()),
            residuals: Vec::new(),
            weighted: None,
            weights: DVector::zeros(d),
            mean: DVector::zeros(cells),
        }
    }

    /// The design of a stage.
    pub(super) fn of_stage(&self, stage: usize) -> &Design {
        &self.designs[if self.designs.len() == 1 { 0 } else { stage }]
    }

    /// Computes the weights of a stage for the next values, least squares or a sample, into `self.weights`; returns
    /// the factor of √(φᵀΛ⁻¹φ).
    fn fit(&mut self, problem: &Problem, stage: usize, next_value: &[f64], rng: &mut ChaCha8Rng) -> f64 {
        let (floor, mut worth) = (problem.sizes.floor(stage), Vec::new());
        match &self.continuation {
            None => worth.extend_from_slice(next_value),
            Some(continuation) => continuation.worth(next_value, &mut worth),
        }
        worth.iter_mut().for_each(|v| *v -= floor);
        let place = problem.design(stage);
        let fresh = stage + 1 == problem.sizes.horizon || self.residuals.len() <= place;
        if fresh && problem.options.beta == Beta::Residuals {
            // A plan begins with the data up to now.
            self.residuals = self.designs.iter().map(|d| Residuals::of(&d.met, problem.sizes.regressed)).collect();
        }
        let none = Residuals::default();
        let residuals = self.residuals.get(place).unwrap_or(&none);
        let steps = Counted::new(&self.designs[place], &self.columns, self.n_causes, residuals);
        let fit = Fit::new(&steps, problem, stage, &worth, rng);
        self.weights = fit.weights;
        self.weighted = fit.weighted;
        fit.width
    }

    /// q of every column at a stage, for the next values.
    fn look(&mut self, problem: &Problem, stage: usize, next_value: &[f64], rng: &mut ChaCha8Rng, q: &mut Vec<f64>) {
        let width = self.fit(problem, stage, next_value, rng);
        let (place, floor, ends) = (problem.design(stage), problem.sizes.floor(stage), problem.clip[stage]);
        self.columns.times(&self.weights, &mut self.mean);
        q.clear();
        let parts = self.mean.iter().zip(&self.reward);
        if problem.options.estimate == LinearEstimate::Sampled {
            q.extend(parts.map(|(mean, reward)| clip(reward + floor + mean, ends)));
            return;
        }
        let squares = if let Some(weighted) = &self.weighted {
            let mut squares = vec![0.0; self.columns.len()];
            squares.par_chunks_mut(SHARE).enumerate().for_each(|(i, part)| {
                let mut room = DVector::zeros(self.columns.dimension);
                for (j, out) in part.iter_mut().enumerate() {
                    room.copy_from_slice(self.columns.of(i * SHARE + j));
                    *out = weighted.square(&mut room);
                }
            });
            squares.into()
        } else if tracks_widths(&problem.options) {
            self.designs[place].squares(self.columns.as_view())
        } else {
            if stage + 1 == problem.sizes.horizon || self.squares.len() <= place {
                let of = |design: &Design| design.squares(self.columns.as_view()).into_owned();
                self.squares = self.designs.iter().map(of).collect();
            }
            (&self.squares[place]).into()
        };
        let wide =
            |((mean, reward), square): ((&f64, &f64), &f64)| clip(reward + floor + mean + width * square.sqrt(), ends);
        q.extend(parts.zip(squares.iter()).map(wide));
    }
}

/// The lookahead of one plan.
pub(super) struct Looking<'a> {
    pub(super) model: &'a mut LinearModel,
    pub(super) problem: &'a Problem,
    /// Noise of this plan, for samples.
    pub(super) rng: ChaCha8Rng,
    /// A stage and a range of columns whose values are recorded.
    pub(super) at: Option<(usize, Range<usize>)>,
    /// The recorded values.
    pub(super) noted: Vec<f64>,
}

impl Lookahead for Looking<'_> {
    fn look(&mut self, stage: usize, next_value: &[f64], q: &mut Vec<f64>) {
        self.model.look(self.problem, stage, next_value, &mut self.rng, q);
        if let Some((_, range)) = self.at.as_ref().filter(|(at, _)| *at == stage) {
            self.noted = q[range.clone()].to_vec();
        }
    }

    fn ended(&self) -> Option<&[bool]> {
        self.model.ended.as_deref()
    }

    fn cap(&self, stage: usize) -> f64 {
        self.problem.clip[stage][1]
    }
}

/// A value clipped to the range; NaN from overflowing widths or samples becomes the optimistic end.
pub(super) fn clip(q: f64, [lo, hi]: [f64; 2]) -> f64 {
    if q.is_nan() { hi } else { q.clamp(lo, hi) }
}

/// Whether widths are updated with every step: samplers have none, and rare planners compute them on demand.
pub(super) fn tracks_widths(options: &LinearOptions) -> bool {
    let width = options.estimate == LinearEstimate::Width && options.switching == Switching::Episode;
    width && options.weights == Weights::None
}
