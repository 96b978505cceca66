//! Ridge regression over visited states, for one stage or all: the steps, and the factorised Λ = λI + Σ φφᵀ.

use nalgebra::{Cholesky, DMatrix, DVector, DVectorView, Dyn};

use crate::learn::linear::design::{REFRESH_EVERY, factorised};
use crate::math::ln_1p;

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

impl Step {
    /// ⟨φ, w⟩
    pub(super) fn fitted(&self, weights: &DVector<f64>) -> f64 {
        self.phi.iter().zip(weights.iter()).map(|(x, w)| x * w).sum()
    }
}

#[derive(Clone, Debug)]
pub(super) struct Design {
    pub(super) steps: Vec<Step>,
    lambda: f64,
    /// Λ; lower triangle and diagonal.
    gram: DMatrix<f64>,
    factor: Cholesky<f64, Dyn>,
    /// ln det(Λ) − d ln λ, now and at the last plan.
    gained: f64,
    planned: f64,
    /// Number of steps at the last plan.
    pub(super) planned_steps: usize,
}

impl Design {
    pub(super) fn new(dimension: usize, lambda: f64) -> Design {
        let gram = DMatrix::from_diagonal_element(dimension, dimension, lambda);
        let factor = Cholesky::new(gram.clone()).expect("invariant: λI with λ > 0 is positive definite");
        Design { steps: Vec::new(), lambda, gram, factor, gained: 0.0, planned: 0.0, planned_steps: 0 }
    }

    /// Adds a step.
    ///
    /// # Cost
    /// O(d²), and O(d³) once in [`REFRESH_EVERY`] steps.
    pub(super) fn add(&mut self, stage: usize, state: usize, (cause, phi): (usize, &[f64]), reward: f64, next: u32) {
        let column = DVectorView::from_slice(phi, phi.len());
        let mut direction = column.clone_owned();
        self.factor.solve_mut(&mut direction);
        self.gained += ln_1p(column.dot(&direction));
        self.gram.syger(1.0, &column, &column, 1.0);
        let (stage, cause) = (stage as u32, cause as u32);
        self.steps.push(Step { stage, state, cause, reward, next, phi: phi.into() });
        if self.steps.len().is_multiple_of(REFRESH_EVERY.max(phi.len())) {
            self.factor = factorised(self.gram.clone());
        } else {
            self.factor.rank_one_update(&column, 1.0);
        }
    }

    /// ln(det Λ / λ^d).
    pub(super) fn gained(&self) -> f64 {
        self.gained
    }

    /// Whether det Λ has doubled since the last plan.
    pub(super) fn doubled(&self) -> bool {
        self.gained - self.planned > std::f64::consts::LN_2
    }

    pub(super) fn mark_planned(&mut self) {
        (self.planned, self.planned_steps) = (self.gained, self.steps.len());
    }

    /// φᵀΛ⁻¹φ of every step.
    ///
    /// # Cost
    /// O(d²) for each.
    pub(super) fn squares_of_steps(&self) -> Vec<f64> {
        let mut room = DVector::zeros(self.gram.nrows());
        let mut square = |step: &Step| {
            room.copy_from_slice(&step.phi);
            self.factor.l_dirty().solve_lower_triangular_mut(&mut room);
            room.norm_squared()
        };
        self.steps.iter().map(&mut square).collect()
    }

    /// Λ = LLᵀ.
    pub(super) fn factor(&self) -> &Cholesky<f64, Dyn> {
        &self.factor
    }

    /// (Σ φφᵀ + λ'I), factorised.
    pub(super) fn factor_with(&self, lambda: f64) -> Cholesky<f64, Dyn> {
        let mut gram = self.gram.clone();
        (0..gram.nrows()).for_each(|i| gram[(i, i)] += lambda - self.lambda);
        factorised(gram)
    }

    /// Σ φ y with the target y of every step.
    ///
    /// # Cost
    /// O(d) for each step.
    pub(super) fn sums(&self, target: impl Fn(&Step) -> f64) -> DVector<f64> {
        let mut out = DVector::zeros(self.gram.nrows());
        for step in &self.steps {
            let y = target(step);
            if y != 0.0 {
                out.iter_mut().zip(&step.phi).for_each(|(out, x)| *out += y * x);
            }
        }
        out
    }

    /// Σ (y − ⟨φ, w⟩)².
    pub(super) fn squares(&self, weights: &DVector<f64>, target: impl Fn(&Step) -> f64) -> f64 {
        let off = |step: &Step| target(step) - step.fitted(weights);
        self.steps.iter().map(off).map(|off| off * off).sum()
    }
}
