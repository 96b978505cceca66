//! Plans over visited states: regression weights by backward induction, and values at next states.

use rayon::prelude::*;
use std::sync::Arc;

use super::design::{Design, OneByOne};
use super::policy::Room;
use super::states::MetState;
use super::storage::VisitedStates;
use crate::learn::linear::fit::Fit;
use crate::learn::linear::options::{LinearEstimate, Weights};
use crate::learn::linear::problem::Problem;
use crate::learn::linear::setup::learned_kernel;
use crate::learn::{MechanismRule, Mechanisms};

impl VisitedStates {
    /// Rebuilds P(c | s, a) from the mechanisms of the present plan.
    pub(super) fn read_mechanisms(&mut self, rule: MechanismRule) {
        if let Some(kernel) = learned_kernel(&mut self.planned_mechanisms, rule) {
            self.ahead.kernel = Arc::new(kernel);
        }
    }

    /// Plans for an episode from all data, with an estimator of unknown mechanisms.
    pub(in crate::learn::linear) fn solve(
        &mut self,
        problem: &Problem,
        mechanisms: Option<&Mechanisms>,
        episode: u64,
        rule: MechanismRule,
    ) {
        self.planned_mechanisms = mechanisms.cloned();
        self.planned_for = episode;
        self.solve_again(problem, rule);
    }

    /// Weights and widths of every stage, from all steps and the mechanisms of the plan.
    pub(super) fn solve_again(&mut self, problem: &Problem, rule: MechanismRule) {
        self.read_mechanisms(rule);
        let mut rng = problem.noise(self.planned_for);
        (0..self.designs.len()).for_each(|place| self.mark_planned(problem, place));
        let squares = self.all_squares(problem);
        let weighed = problem.options.weights == Weights::Variance;
        let of_steps: Vec<Vec<f64>> = self.designs.iter().filter(|_| weighed).map(Design::squares_of_steps).collect();
        let mut value = vec![0.0; self.met()];
        for stage in (0..problem.sizes.horizon).rev() {
            let place = problem.design(stage);
            let steps = OneByOne::new(&self.designs[place], of_steps.get(place).map_or(&[], |squares| squares));
            let worth = worth(problem, stage, &value);
            let fit = Fit::new(&steps, problem, stage, &worth, &mut rng);
            self.weights[stage] = fit.weights;
            if let Some(gram) = fit.weighted {
                (self.inverse[stage], self.beta[stage]) = (gram.inverse(), fit.width);
            }
            if stage > 0 {
                value = self.values_at(problem, stage, &squares);
            }
        }
    }

    /// Records that a plan uses the present design: its widths stay those of that plan until the next.
    pub(super) fn mark_planned(&mut self, problem: &Problem, place: usize) {
        let horizon = problem.sizes.horizon;
        self.designs[place].mark_planned();
        if problem.options.weights == Weights::Variance {
            // Stage by stage, after each fit.
            self.inverse.resize(horizon, Vec::new());
            return;
        }
        if problem.options.estimate == LinearEstimate::Width {
            self.inverse.resize(self.designs.len(), Vec::new());
            self.inverse[place] = self.designs[place].gram.inverse();
        }
        for stage in (0..horizon).filter(|&stage| problem.design(stage) == place) {
            self.beta[stage] = self.present_beta(problem, stage);
        }
    }

    /// Λ⁻¹ of a stage, as of the present plan.
    pub(super) fn inverse_at(&self, problem: &Problem, stage: usize) -> &[f64] {
        match problem.options.weights {
            Weights::None => &self.inverse[problem.design(stage)],
            Weights::Variance => &self.inverse[stage],
        }
    }

    /// φᵀΛ⁻¹φ of every visited state and configuration, if one design serves all stages; empty otherwise, and without
    /// widths.
    pub(super) fn all_squares(&self, problem: &Problem) -> Vec<f64> {
        let one = self.designs.len() == 1 && problem.options.weights == Weights::None;
        if problem.options.estimate != LinearEstimate::Width || !one || self.inverse.is_empty() {
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
    pub(super) fn values_at(&self, problem: &Problem, stage: usize, squares: &[f64]) -> Vec<f64> {
        let (n, d) = (self.states.rows.n_causes(), self.states.rows.dimension);
        let (ties, beta) = (problem.ties(self.planned_for), self.beta[stage]);
        let weights = self.weights[stage].as_slice();
        // Before the first plan there are no widths.
        let planned = !self.inverse.is_empty() && !self.inverse_at(problem, stage).is_empty();
        let wide = problem.options.estimate == LinearEstimate::Width && planned;
        let world = problem.knowledge.world();
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
                        rows.squares(self.inverse_at(problem, stage), d, &mut room.1);
                        Some(&room.1[..])
                    }
                };
                let width = squares.map(|squares| (beta, squares));
                let tie = ties.at(stage, met.state);
                self.ahead.best(problem, (stage, met.state), rows, (weights, width), tie, &mut room.0).1
            })
        };
        self.states.met.par_iter().enumerate().with_min_len(64).map_init(Default::default, value).collect()
    }
    /// Values of the visited states at a stage, by state, in the present plan.
    pub(in crate::learn::linear) fn values(&self, problem: &Problem, stage: usize) -> Vec<(usize, f64)> {
        let value = self.values_at(problem, stage, &self.all_squares(problem));
        self.states.met.iter().zip(value).map(|(met, v)| (met.state, v)).collect()
    }

    /// The steps of every design.
    pub(in crate::learn::linear) fn steps(&self) -> Vec<OneByOne<'_>> {
        self.designs.iter().map(|design| OneByOne::new(design, &[])).collect()
    }

    /// Continuation values of visited states at the first stage, in the present plan.
    pub(in crate::learn::linear) fn first_worth(&self, problem: &Problem) -> Vec<f64> {
        worth(problem, 0, &self.values_at(problem, 1, &self.all_squares(problem)))
    }
}

/// Continuation values of visited states at a stage from their next values, measured from the least target.
fn worth(problem: &Problem, stage: usize, next_value: &[f64]) -> Vec<f64> {
    let (discount, floor) = (problem.knowledge.world().discount(), problem.sizes.floor(stage));
    next_value.iter().map(|v| discount * v - floor).collect()
}
