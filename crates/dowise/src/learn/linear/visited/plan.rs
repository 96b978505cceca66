//! Plans over visited states: regression weights by backward induction, and values at next states.

use nalgebra::{Cholesky, DVector, Dyn};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use std::sync::Arc;

use super::design::{Design, Step};
use super::learner::VisitedStatesLearner;
use super::policy::Room;
use super::states::MetState;
use crate::learn::MechanismRule;
use crate::learn::linear::model::kernel_rule;
use crate::learn::linear::options::{Beta, LinearEstimate, Weights};
use crate::learn::linear::residuals::Noise;
use crate::learn::linear::weighted::{Targets, Weighable, Weighted};
use crate::plan::Ties;
use crate::random::{normal, splitmix64};

impl VisitedStatesLearner {
    pub(super) fn ties(&self) -> Ties {
        Ties::Seeded(splitmix64(self.options.seed ^ splitmix64(self.planned_for)))
    }

    /// Position of a stage's design.
    pub(super) fn design(&self, stage: usize) -> usize {
        if self.designs.len() == 1 { 0 } else { stage }
    }

    /// β at a stage, scaled.
    fn width(&self, stage: usize) -> f64 {
        let design = &self.designs[self.design(stage)];
        let steps = design.steps.len() as u64;
        self.sizes.beta(&self.options, self.states.rows.dimension, stage, design.gained(), steps)
    }

    /// Rebuilds P(c | s, a) from the mechanisms of the present plan.
    pub(super) fn read_mechanisms(&mut self, rule: MechanismRule) {
        if let Some(mechanisms) = &mut self.planned_mechanisms {
            let kernel = mechanisms.kernel(rule);
            let kernel =
                kernel.expect("invariant: what was learned has the shape that it had when the learner was made");
            self.ahead.kernel = Arc::new(kernel);
        }
    }

    /// Plans from all data.
    pub(super) fn plan(&mut self) {
        self.plan_with(kernel_rule(&self.options, self.episode));
    }

    /// The same with an estimator of unknown mechanisms.
    pub(super) fn plan_with(&mut self, rule: MechanismRule) {
        self.planned_mechanisms.clone_from(&self.mechanisms);
        self.planned_for = self.episode;
        self.solve(rule);
        self.plans += 1;
        self.due = false;
    }

    /// Weights and widths of every stage, from all steps and the mechanisms of the plan.
    pub(super) fn solve(&mut self, rule: MechanismRule) {
        self.read_mechanisms(rule);
        let mut rng = ChaCha8Rng::seed_from_u64(splitmix64(self.options.seed ^ 0x6c69_6e65));
        rng.set_stream(self.planned_for);
        (0..self.designs.len()).for_each(|place| self.mark_planned(place));
        let squares = self.all_squares();
        let weighed = self.options.weights == Weights::Variance;
        let of_steps: Vec<Vec<f64>> = self.designs.iter().filter(|_| weighed).map(Design::squares_of_steps).collect();
        let mut value = vec![0.0; self.met()];
        for stage in (0..self.knowledge.horizon()).rev() {
            self.weights[stage] = match self.options.weights {
                Weights::None => self.fit(stage, &value, &mut rng),
                Weights::Variance => self.fit_weighted(stage, &value, &of_steps),
            };
            if stage > 0 {
                value = self.values_at(stage, &squares);
            }
        }
    }

    /// Records that a plan uses the present design: its widths stay those of that plan until the next.
    pub(super) fn mark_planned(&mut self, place: usize) {
        self.designs[place].mark_planned();
        if self.options.weights == Weights::Variance {
            // Stage by stage, after each fit.
            self.inverse.resize(self.knowledge.horizon(), Vec::new());
            return;
        }
        if self.options.estimate == LinearEstimate::Width {
            self.inverse.resize(self.designs.len(), Vec::new());
            self.inverse[place] = self.designs[place].factor().inverse().as_slice().to_vec();
        }
        (0..self.knowledge.horizon())
            .filter(|&stage| self.design(stage) == place)
            .collect::<Vec<_>>()
            .into_iter()
            .for_each(|stage| self.beta[stage] = self.width(stage));
    }

    /// Weights of a stage for the next values: least squares, or a sample.
    fn fit(&self, stage: usize, ahead: &[f64], rng: &mut ChaCha8Rng) -> DVector<f64> {
        let design = &self.designs[self.design(stage)];
        let floor = self.ahead.floor[stage];
        let target = |step: &Step| step.reward + (self.discount * ahead[step.next as usize] - floor);
        let sums = design.sums(target);
        let mut noise = || DVector::from_iterator(sums.len(), (0..sums.len()).map(|_| normal(rng)).collect::<Vec<_>>());
        let perturbed = |factor: &Cholesky<f64, Dyn>, mut weights: DVector<f64>, mut noise: DVector<f64>, by: f64| {
            factor.l_dirty().tr_solve_lower_triangular_mut(&mut noise);
            weights.axpy(by, &noise, 1.0);
            weights
        };
        match (self.options.estimate, self.options.beta) {
            (LinearEstimate::Sampled, Beta::Residuals) => {
                let prior = Noise::new(self.sizes.range_left(stage), design.steps.len() as f64);
                let first = design.factor_with(prior.first_lambda()).solve(&sums);
                let variance = prior.variance(design.squares(&first, target));
                let factor = design.factor_with(prior.lambda(variance));
                let mean = factor.solve(&sums);
                perturbed(&factor, mean, noise(), self.options.beta_scale * variance.sqrt())
            }
            (LinearEstimate::Sampled, _) => {
                perturbed(design.factor(), design.factor().solve(&sums), noise(), self.beta[stage])
            }
            (LinearEstimate::Width, _) => design.factor().solve(&sums),
        }
    }

    /// The variance-weighted regression of a stage; its widths are stored for the plan.
    ///
    /// # Cost
    /// O(n · d² + d³) for n steps.
    fn fit_weighted(&mut self, stage: usize, ahead: &[f64], of_steps: &[Vec<f64>]) -> DVector<f64> {
        let place = self.design(stage);
        let design = &self.designs[place];
        let floor = self.ahead.floor[stage];
        let worth = |step: &Step| self.discount * ahead[step.next as usize] - floor;
        let regress = |targets: Targets| {
            let shifted = |step: &Step| worth(step) - targets.least;
            let fits = [design.sums(shifted), design.sums(|step| shifted(step) * shifted(step))];
            let fits = fits.map(|sums| design.factor().solve(&sums));
            let met = design.steps.iter().zip(&of_steps[place]).map(|(step, &square)| {
                let target = step.reward + worth(step);
                Weighable { phi: &step.phi, visits: 1.0, target, square }
            });
            Weighted::new(self.options.lambda, fits, targets, met)
        };
        let d = self.states.rows.dimension;
        let so_far = (design.gained(), design.steps.len() as u64);
        let (weighted, beta) = self.sizes.weigh(&self.options, d, stage, so_far, regress);
        (self.inverse[stage], self.beta[stage]) = (weighted.inverse(), beta);
        weighted.weights
    }

    /// Λ⁻¹ of a stage, as of the present plan.
    pub(super) fn inverse_at(&self, stage: usize) -> &[f64] {
        match self.options.weights {
            Weights::None => &self.inverse[self.design(stage)],
            Weights::Variance => &self.inverse[stage],
        }
    }

    /// φᵀΛ⁻¹φ of every visited state and configuration, if one design serves all stages; empty otherwise, and without
    /// widths.
    pub(super) fn all_squares(&self) -> Vec<f64> {
        let one = self.designs.len() == 1 && self.options.weights == Weights::None;
        if self.options.estimate != LinearEstimate::Width || !one || self.inverse.is_empty() {
            return Vec::new();
        }
        let (n, d) = (self.states.rows.n_causes(), self.states.rows.dimension);
        let mut out = vec![0.0; self.met() * n];
        out.par_chunks_exact_mut(n).zip(&self.states.met).for_each(|(out, met)| {
            self.states.with_rows(met, |rows| rows.squares(&self.inverse[0], d, out));
        });
        out
    }

    /// V of every visited state at a stage, by the weights of that stage; in parallel, with the same results.
    pub(super) fn values_at(&self, stage: usize, squares: &[f64]) -> Vec<f64> {
        let (n, d) = (self.states.rows.n_causes(), self.states.rows.dimension);
        let (weights, ties, beta) = (self.weights[stage].as_slice(), self.ties(), self.beta[stage]);
        // Before the first plan there are no widths.
        let planned = !self.inverse.is_empty() && !self.inverse_at(stage).is_empty();
        let wide = self.options.estimate == LinearEstimate::Width && planned;
        let world = self.knowledge.world();
        let value = |room: &mut (Room, Vec<f64>), (i, met): (usize, &MetState)| {
            // Terminal states have no further rewards.
            if world.has_ended(met.state) {
                return 0.0;
            }
            self.states.with_rows(met, |rows| {
                let squares = match (wide, squares.is_empty()) {
                    (false, _) => None,
                    (true, false) => Some(&squares[i * n..][..n]),
                    (true, true) => {
                        room.1.resize(n, 0.0);
                        rows.squares(self.inverse_at(stage), d, &mut room.1);
                        Some(&room.1[..])
                    }
                };
                let width = squares.map(|squares| (beta, squares));
                let tie = ties.at(stage, met.state);
                self.ahead.best((stage, met.state), rows, weights, width, tie, &mut room.0).1
            })
        };
        self.states.met.par_iter().enumerate().with_min_len(64).map_init(Default::default, value).collect()
    }
}
