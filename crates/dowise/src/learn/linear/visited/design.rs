//! Ridge regression over visited states, for one stage or all: the steps, and the factorised Λ = λI + Σ φφᵀ.

use nalgebra::{Cholesky, DVector, DVectorView, Dyn};

use crate::learn::linear::fit::Steps;
use crate::learn::linear::gram::Gram;
use crate::learn::linear::weighted::Weighable;

/// One step.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) stage: u32,
    pub(super) state: usize,
    pub(super) cause: u32,
    /// The regressed reward.
    pub(super) reward: f64,
    /// Index of the next state among the visited ones.
    pub(super) next: u32,
    /// φ(s, c).
    pub(super) phi: Box<[f64]>,
}

#[derive(Clone, Debug)]
pub(in crate::learn::linear) struct Design {
    pub(super) steps: Vec<Step>,
    pub(super) gram: Gram,
    /// Number of steps at the last plan.
    pub(super) planned_steps: usize,
}

impl Design {
    pub(super) fn new(dimension: usize, lambda: f64) -> Design {
        Design { steps: Vec::new(), gram: Gram::new(dimension, lambda), planned_steps: 0 }
    }

    /// Adds a step.
    ///
    /// # Cost
    /// O(d²), and O(d³) once in [`Gram::period`] steps.
    pub(super) fn add(&mut self, stage: usize, state: usize, (cause, phi): (usize, &[f64]), reward: f64, next: u32) {
        let column = DVectorView::from_slice(phi, phi.len());
        self.gram.gain(column);
        let (stage, cause) = (stage as u32, cause as u32);
        self.steps.push(Step { stage, state, cause, reward, next, phi: phi.into() });
        if self.steps.len().is_multiple_of(self.gram.period()) {
            self.gram.accumulate(1.0, column);
            self.gram.refactor();
        } else {
            self.gram.update(column);
        }
    }

    pub(super) fn mark_planned(&mut self) {
        self.gram.mark_planned();
        self.planned_steps = self.steps.len();
    }

    /// φᵀΛ⁻¹φ of every step.
    ///
    /// # Cost
    /// O(d²) for each.
    pub(super) fn squares_of_steps(&self) -> Vec<f64> {
        let mut room = DVector::zeros(self.gram.dimension());
        let mut square = |step: &Step| {
            room.copy_from_slice(&step.phi);
            self.gram.square(&mut room)
        };
        self.steps.iter().map(&mut square).collect()
    }
}

/// A design for regressions: its steps one by one.
#[derive(Clone, Copy)]
pub(in crate::learn::linear) struct OneByOne<'a> {
    design: &'a Design,
    /// φᵀΛ⁻¹φ of every step, if steps are weighted.
    squares: &'a [f64],
}

impl<'a> OneByOne<'a> {
    pub(super) fn new(design: &'a Design, squares: &'a [f64]) -> OneByOne<'a> {
        OneByOne { design, squares }
    }

    /// Σ φ y with the target y of every step.
    ///
    /// # Cost
    /// O(d) for each step.
    fn sums_of(&self, target: impl Fn(&Step) -> f64) -> DVector<f64> {
        let mut out = DVector::zeros(self.design.gram.dimension());
        for step in &self.design.steps {
            let y = target(step);
            if y != 0.0 {
                out.iter_mut().zip(&step.phi).for_each(|(out, x)| *out += y * x);
            }
        }
        out
    }
}

impl Steps for OneByOne<'_> {
    fn gram(&self) -> &Gram {
        &self.design.gram
    }

    fn count(&self) -> u64 {
        self.design.steps.len() as u64
    }

    fn sums(&self, worth: &[f64]) -> DVector<f64> {
        self.sums_of(|step| step.reward + worth[step.next as usize])
    }

    fn sums_of_next(&self, worth: &[f64]) -> DVector<f64> {
        self.sums_of(|step| worth[step.next as usize])
    }

    fn factor_with(&self, lambda: f64) -> Cholesky<f64, Dyn> {
        self.design.gram.factor_with(lambda)
    }

    fn spread(&self) -> f64 {
        0.0
    }

    fn each(&self, weights: &DVector<f64>, worth: &[f64], mut with: impl FnMut((usize, usize), f64, f64)) {
        for step in &self.design.steps {
            let fitted: f64 = step.phi.iter().zip(weights.iter()).map(|(x, w)| x * w).sum();
            with((step.state, step.cause as usize), 1.0, step.reward + worth[step.next as usize] - fitted);
        }
    }

    fn weighable(&self, worth: &[f64]) -> impl Iterator<Item = Weighable<'_>> {
        self.design.steps.iter().zip(self.squares).map(|(step, &square)| {
            let target = step.reward + worth[step.next as usize];
            Weighable { phi: &step.phi, visits: 1.0, target, square }
        })
    }
}
