//! Λ = λI + Σ φφᵀ of one regression: its Cholesky factor, its determinant, and squared widths φᵀΛ⁻¹φ.

use nalgebra::{Cholesky, DMatrix, DVector, DVectorView, Dyn};

use crate::math::{ln, ln_1p};

/// Updates after which a factor is recomputed from Λ, or d if that is more.
///
/// Between refreshes a rank-one update adds a relative rounding error of a few 1e-16. A width is also recomputed once
/// it has lost three digits. So values stay within about 1e-12 of an exact computation; `tests/linear_exact.rs` checks
/// them to 1e-9 and prints the errors.
pub(super) const REFRESH_EVERY: usize = 512;

#[derive(Clone, Debug)]
pub(super) struct Gram {
    lambda: f64,
    /// Λ; lower triangle and diagonal.
    matrix: DMatrix<f64>,
    /// Λ = LLᵀ.
    factor: Cholesky<f64, Dyn>,
    /// ln det(Λ) − d ln λ, now and at the last plan.
    pub(super) gained: f64,
    pub(super) planned: f64,
    /// Λ⁻¹φ of the latest gain.
    direction: DVector<f64>,
}

impl Gram {
    /// Λ = λI, before the first step.
    pub(super) fn new(dimension: usize, lambda: f64) -> Gram {
        let matrix = DMatrix::from_diagonal_element(dimension, dimension, lambda);
        Gram {
            lambda,
            factor: Cholesky::new(matrix.clone()).expect("invariant: λI with λ > 0 is positive definite"),
            matrix,
            gained: 0.0,
            planned: 0.0,
            direction: DVector::zeros(dimension),
        }
    }

    /// Number of features (d).
    pub(super) fn dimension(&self) -> usize {
        self.matrix.nrows()
    }

    /// Steps from one refresh to the next.
    pub(super) fn period(&self) -> usize {
        REFRESH_EVERY.max(self.dimension())
    }

    /// The determinant after one more φ, by ln(1 + φᵀΛ⁻¹φ), which must be added next. Returns φᵀΛ⁻¹φ.
    pub(super) fn gain(&mut self, phi: DVectorView<'_, f64>) -> f64 {
        self.direction.copy_from(&phi);
        self.factor.solve_mut(&mut self.direction);
        let own = phi.dot(&self.direction);
        self.gained += ln_1p(own);
        own
    }

    /// Λ⁻¹φ of the latest gain.
    pub(super) fn direction(&self) -> &DVector<f64> {
        &self.direction
    }

    /// Adds φφᵀ this many times to Λ alone: the factor follows with [`Gram::refactor`].
    pub(super) fn accumulate(&mut self, times: f64, phi: DVectorView<'_, f64>) {
        self.matrix.syger(times, &phi, &phi, 1.0);
    }

    /// Adds φφᵀ to Λ and to its factor.
    ///
    /// # Cost
    /// O(d²).
    pub(super) fn update(&mut self, phi: DVectorView<'_, f64>) {
        self.accumulate(1.0, phi);
        self.factor.rank_one_update(&phi, 1.0);
    }

    /// Λ = λI again; the factor follows with [`Gram::refactor`].
    pub(super) fn clear(&mut self) {
        self.matrix = DMatrix::from_diagonal_element(self.dimension(), self.dimension(), self.lambda);
    }

    /// Recomputes the factor from Λ.
    ///
    /// # Cost
    /// O(d³).
    pub(super) fn refactor(&mut self) {
        self.factor = factorised(self.matrix.clone());
    }

    /// Recomputes the determinant from the factor.
    pub(super) fn regain(&mut self) {
        let d = self.dimension();
        let log_det: f64 = (0..d).map(|i| 2.0 * ln(self.factor.l_dirty()[(i, i)])).sum();
        self.gained = (log_det - d as f64 * ln(self.lambda)).max(0.0);
    }

    /// Whether det Λ has doubled since the last plan.
    pub(super) fn doubled(&self) -> bool {
        self.gained - self.planned > std::f64::consts::LN_2
    }

    /// Records that a plan was made.
    pub(super) fn mark_planned(&mut self) {
        self.planned = self.gained;
    }

    /// Λ = LLᵀ.
    pub(super) fn factor(&self) -> &Cholesky<f64, Dyn> {
        &self.factor
    }

    /// Λ⁻¹, column by column.
    pub(super) fn inverse(&self) -> Vec<f64> {
        self.factor.inverse().as_slice().to_vec()
    }

    /// φᵀΛ⁻¹φ = ‖L⁻¹φ‖². `phi` is used up.
    pub(super) fn square(&self, phi: &mut DVector<f64>) -> f64 {
        self.factor.l_dirty().solve_lower_triangular_mut(phi);
        phi.norm_squared()
    }

    /// (Σ φφᵀ + λ'I), factorised.
    pub(super) fn factor_with(&self, lambda: f64) -> Cholesky<f64, Dyn> {
        let mut matrix = self.matrix.clone();
        (0..matrix.nrows()).for_each(|i| matrix[(i, i)] += lambda - self.lambda);
        factorised(matrix)
    }

    /// Σ φφᵀ, both triangles.
    pub(super) fn without_lambda(&self) -> DMatrix<f64> {
        let mut matrix = self.matrix.clone();
        (0..matrix.nrows()).for_each(|i| matrix[(i, i)] -= self.lambda);
        matrix.fill_upper_triangle_with_lower_triangle();
        matrix
    }
}

/// Adds deviation · L⁻ᵀξ to weights, so that standard normal ξ make a sample of N(w, deviation² (LLᵀ)⁻¹).
pub(super) fn perturb(
    factor: &Cholesky<f64, Dyn>,
    deviation: f64,
    mut noise: DVector<f64>,
    weights: &mut DVector<f64>,
) {
    factor.l_dirty().tr_solve_lower_triangular_mut(&mut noise);
    weights.axpy(deviation, &noise, 1.0);
}

/// The factor L of a Gram matrix plus λI = LLᵀ. If λ is below the rounding error, the least sufficient amount is added
/// to the diagonal to make it positive definite.
pub(super) fn factorised(gram: DMatrix<f64>) -> Cholesky<f64, Dyn> {
    let mut more = 1e-16 * gram.diagonal().max();
    let mut raised = gram.clone();
    for _ in 0..64 {
        if let Some(factor) = Cholesky::new(raised) {
            return factor;
        }
        raised = gram.clone();
        (0..gram.nrows()).for_each(|i| raised[(i, i)] += more);
        more *= 4.0;
    }
    panic!("invariant: a sum of φφᵀ of finite features is positive definite once λ is large enough")
}
