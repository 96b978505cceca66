//! Ridge regression of one stage: Λ = λI + Σ φφᵀ, factorised by rank-one updates, and sums over next states.

use std::borrow::Cow;

use nalgebra::{Cholesky, DMatrix, DMatrixView, DVector, Dyn};
use rayon::prelude::*;

use super::evidence::{Met, MetStep};
use super::fit::Steps;
use super::gram::{Gram, factorised};
use super::model::Columns;
use super::residuals::Residuals;
use super::weighted::Weighable;

/// A width is recomputed when it has fallen below this share of its last computed value: cancellation has then cost
/// three digits.
const LOST_DIGITS: f64 = 1e-3;

/// Gram matrix with its Cholesky factor, right-hand sides and squared widths φᵀΛ⁻¹φ of all pairs of state and
/// configuration.
///
/// Targets are never stored individually: Σ_τ φ_τ V(s'_τ) = M V with M = Σ_τ φ_τ e(s'_τ)ᵀ, a d × S matrix. So memory
/// does not grow with the number of steps.
#[derive(Clone, Debug)]
pub(super) struct Design {
    /// Sufficient statistics, which determine the sums below.
    pub(super) met: Met,
    /// Steps since the last refresh, in order: with `met` they determine factor and widths to the last bit.
    pub(super) recent: Vec<MetStep>,
    /// Range of the regressed reward.
    range: [f64; 2],
    pub(super) gram: Gram,
    /// M, one column for each next state.
    next: DMatrix<f64>,
    /// Σ φ r over the regressed rewards.
    reward: DVector<f64>,
    /// φᵀΛ⁻¹φ for every column of the features, kept up to date; empty if widths are not needed after every step.
    squares: Vec<f64>,
    /// `squares` when last computed from the factor.
    computed: Vec<f64>,
    /// ln det(Λ) − d ln λ at the last refresh.
    pub(super) gained_then: f64,
    /// Products of Λ⁻¹φ of the latest update with all features.
    overlap: DVector<f64>,
}

impl Design {
    /// A design without steps: Λ = λI.
    pub(super) fn new(columns: DMatrixView<'_, f64>, n_states: usize, lambda: f64, range: [f64; 2]) -> Design {
        let mut design = Design::without_widths(columns.nrows(), n_states, lambda, range);
        design.squares = columns.column_iter().map(|phi| phi.norm_squared() / lambda).collect();
        design.computed = design.squares.clone();
        design.overlap = DVector::zeros(columns.ncols());
        design
    }

    /// The same without widths, so that a step costs O(d²) for any number of columns.
    pub(super) fn without_widths(d: usize, n_states: usize, lambda: f64, range: [f64; 2]) -> Design {
        Design {
            met: Met::default(),
            range,
            gram: Gram::new(d, lambda),
            next: DMatrix::zeros(d, n_states),
            reward: DVector::zeros(d),
            computed: Vec::new(),
            squares: Vec::new(),
            recent: Vec::new(),
            gained_then: 0.0,
            overlap: DVector::zeros(0),
        }
    }

    /// The encoded form of a step.
    pub(super) fn step(&self, cell: usize, reward: f64, next_state: usize) -> MetStep {
        MetStep::new(cell, next_state, reward, self.range)
    }

    /// Adds one step.
    ///
    /// # Cost
    /// O(d² + cells · d) with widths, O(d²) without, and O((d + visited pairs) d²) once in [`REFRESH_EVERY`] calls.
    pub(super) fn add(&mut self, columns: DMatrixView<'_, f64>, step: MetStep) {
        self.met.add(step, 1);
        let phi = columns.column(step.cell as usize);
        self.next.column_mut(step.next as usize).axpy(1.0, &phi, 1.0);
        let reward = step.reward(self.range);
        if reward != 0.0 {
            self.reward.axpy(reward, &phi, 1.0);
        }
        self.recent.push(step);
        self.update(columns, step.cell as usize);
    }

    /// Adds one step this many times: one by one if they are few, otherwise all at once.
    pub(super) fn add_times(&mut self, columns: DMatrixView<'_, f64>, step: MetStep, times: u32) {
        if times as usize <= self.gram.period() {
            (0..times).for_each(|_| self.add(columns, step));
            return;
        }
        self.met.add(step, times);
        self.afresh(columns);
    }

    /// Removes one step; `false` if it was never added.
    pub(super) fn remove(&mut self, columns: DMatrixView<'_, f64>, step: MetStep) -> bool {
        if !self.met.remove(step) {
            return false;
        }
        self.afresh(columns);
        self.gram.planned = self.gram.planned.min(self.gram.gained);
        true
    }

    /// Recomputes everything from the counts, the determinant too.
    fn afresh(&mut self, columns: DMatrixView<'_, f64>) {
        self.recent.clear();
        self.sum_up(columns);
        self.gram.regain();
        self.gained_then = self.gram.gained;
    }

    /// Factor, widths and determinant after one more column.
    ///
    /// With g = Λ⁻¹φ every squared width falls by (φ'ᵀg)² / (1 + φᵀg) (Sherman and Morrison), and ln det Λ rises by
    /// ln(1 + φᵀg).
    fn update(&mut self, columns: DMatrixView<'_, f64>, cell: usize) {
        let phi = columns.column(cell);
        let own = self.gram.gain(phi);
        if self.recent.len() >= self.gram.period() {
            self.refresh(columns);
            return;
        }
        self.gram.update(phi);
        if self.squares.is_empty() {
            return;
        }
        self.overlap.gemv_tr(1.0, &columns, self.gram.direction(), 0.0);
        for (i, phi) in columns.column_iter().enumerate() {
            let less = self.squares[i] - self.overlap[i] * self.overlap[i] / (1.0 + own);
            self.squares[i] = if less < LOST_DIGITS * self.computed[i] {
                self.computed[i] = self.gram.square(&mut phi.clone_owned());
                self.computed[i]
            } else {
                less
            };
        }
    }

    /// Recomputes everything from the counts.
    fn refresh(&mut self, columns: DMatrixView<'_, f64>) {
        self.recent.clear();
        self.gained_then = self.gram.gained;
        self.sum_up(columns);
    }

    /// Sums, factor and widths from the counts, column by column: independent of the order of the steps.
    fn sum_up(&mut self, columns: DMatrixView<'_, f64>) {
        self.gram.clear();
        self.next.fill(0.0);
        self.reward.fill(0.0);
        for (cell, visits, reward) in self.met.columns(self.range) {
            let phi = columns.column(cell);
            self.gram.accumulate(visits, phi);
            if reward != 0.0 {
                self.reward.axpy(reward, &phi, 1.0);
            }
        }
        for (&(cell, next), &n) in &self.met.next {
            self.next.column_mut(next as usize).axpy(f64::from(n), &columns.column(cell as usize), 1.0);
        }
        self.gram.refactor();
        if !self.squares.is_empty() {
            let mut computed = std::mem::take(&mut self.computed);
            self.fill_squares(columns, &mut computed);
            self.squares.copy_from_slice(&computed);
            self.computed = computed;
        }
    }

    /// Restores an empty design from saved counts: first the counts before the last refresh, then each later step in
    /// order. `false` if a step is not among the counts.
    pub(super) fn replay(&mut self, columns: DMatrixView<'_, f64>, met: Met, recent: &[MetStep]) -> bool {
        self.met = met;
        if !recent.iter().all(|&step| self.met.remove(step)) {
            return false;
        }
        if self.met.steps > 0 {
            self.sum_up(columns);
        }
        self.gram.gained = self.gained_then;
        recent.iter().for_each(|&step| self.add(columns, step));
        true
    }

    /// Σ φ r + M V: the sums for targets r + V(s').
    ///
    /// # Cost
    /// O(d · S).
    pub(super) fn sums(&self, next_value: &[f64], out: &mut DVector<f64>) {
        let value = nalgebra::DVectorView::from_slice(next_value, next_value.len());
        out.copy_from(&self.reward);
        out.gemv(1.0, &self.next, &value, 1.0);
    }

    /// Λ⁻¹(Σ φ r + M V): the least-squares weights for targets r + V(s').
    ///
    /// # Cost
    /// O(d · S + d²).
    pub(super) fn weights(&self, next_value: &[f64], out: &mut DVector<f64>) {
        self.sums(next_value, out);
        self.gram.factor().solve_mut(out);
    }

    /// M V: the sums for targets V(s') alone.
    fn sums_of_next(&self, next_value: &[f64]) -> DVector<f64> {
        &self.next * nalgebra::DVectorView::from_slice(next_value, next_value.len())
    }

    /// φᵀΛ⁻¹φ for every pair of state and configuration: cached, or computed now.
    pub(super) fn squares(&self, columns: DMatrixView<'_, f64>) -> Cow<'_, [f64]> {
        if !self.squares.is_empty() {
            return (&self.squares).into();
        }
        let mut squares = vec![0.0; columns.ncols()];
        self.fill_squares(columns, &mut squares);
        squares.into()
    }

    /// φᵀΛ⁻¹φ of one pair of state and configuration, from the factor.
    pub(super) fn square(&self, columns: DMatrixView<'_, f64>, cell: usize) -> f64 {
        self.gram.square(&mut columns.column(cell).clone_owned())
    }

    /// The same of all pairs from the factor, in parallel, with the same results.
    fn fill_squares(&self, columns: DMatrixView<'_, f64>, out: &mut [f64]) {
        let of = |(i, out): (usize, &mut f64)| *out = self.gram.square(&mut columns.column(i).clone_owned());
        out.par_iter_mut().enumerate().with_min_len(1 << 10).for_each(of);
    }

    /// Estimated P(· | s, c) of one pair of state and configuration: φᵀΛ⁻¹M. Need not be a distribution.
    pub(super) fn transition(&self, columns: DMatrixView<'_, f64>, cell: usize) -> Vec<f64> {
        let mut direction = columns.column(cell).clone_owned();
        self.gram.factor().solve_mut(&mut direction);
        self.next.tr_mul(&direction).as_slice().to_vec()
    }
}

/// A design with its features, for regressions.
#[derive(Clone, Copy)]
pub(super) struct Counted<'a> {
    design: &'a Design,
    columns: &'a Columns,
    /// Number of columns of a state.
    n_causes: usize,
    /// The steps once more, if residuals are needed.
    residuals: &'a Residuals,
}

impl<'a> Counted<'a> {
    pub(super) fn new(
        design: &'a Design,
        columns: &'a Columns,
        n_causes: usize,
        residuals: &'a Residuals,
    ) -> Counted<'a> {
        Counted { design, columns, n_causes, residuals }
    }
}

impl Steps for Counted<'_> {
    fn gram(&self) -> &Gram {
        &self.design.gram
    }

    fn count(&self) -> u64 {
        self.design.met.steps
    }

    fn sums(&self, worth: &[f64]) -> DVector<f64> {
        let mut out = DVector::zeros(self.design.gram.dimension());
        self.design.sums(worth, &mut out);
        out
    }

    fn sums_of_next(&self, worth: &[f64]) -> DVector<f64> {
        self.design.sums_of_next(worth)
    }

    fn factor_with(&self, lambda: f64) -> Cholesky<f64, Dyn> {
        let mut gram = self.design.gram.without_lambda();
        (0..gram.nrows()).for_each(|i| gram[(i, i)] += lambda);
        factorised(gram)
    }

    fn spread(&self) -> f64 {
        self.residuals.spread
    }

    fn each(&self, weights: &DVector<f64>, worth: &[f64], mut with: impl FnMut((usize, usize), f64, f64)) {
        let n = self.n_causes;
        self.residuals.each(self.columns, weights, worth, |cell, visits, off| with((cell / n, cell % n), visits, off));
    }

    fn weighable(&self, worth: &[f64]) -> impl Iterator<Item = Weighable<'_>> {
        let pairs = self.design.met.targets(self.design.range, worth).into_iter();
        pairs.map(|(cell, visits, target)| {
            let square = self.design.square(self.columns.as_view(), cell);
            Weighable { phi: self.columns.of(cell), visits, target, square }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::linear::gram::perturb;

    #[test]
    fn samples_have_the_covariance_of_the_weights() {
        let columns = DMatrix::from_column_slice(3, 4, &[1.0, 0.0, 0.0, 0.6, 0.8, 0.0, 0.0, 0.6, 0.8, 0.5, 0.5, 0.5]);
        let mut design = Design::new(columns.as_view(), 2, 0.5, [0.0, 1.0]);
        (0..40).for_each(|i| design.add(columns.as_view(), design.step(i % 4, 1.0, i % 2)));
        // Σ_i (L⁻ᵀe_i)(L⁻ᵀe_i)ᵀ = Λ⁻¹, so standard normal ξ give N(0, Λ⁻¹).
        let mut covariance = DMatrix::zeros(3, 3);
        for i in 0..3 {
            let mut noise = DVector::zeros(3);
            noise[i] = 1.0;
            let mut weights = DVector::zeros(3);
            perturb(design.gram.factor(), 2.0, noise, &mut weights);
            covariance += &weights * weights.transpose();
        }
        let mut gram = DMatrix::from_diagonal_element(3, 3, 0.5);
        columns.column_iter().for_each(|phi| gram += 10.0 * phi * phi.transpose());
        let inverse = gram.try_inverse().unwrap();
        assert!((covariance - 4.0 * inverse).abs().max() < 1e-14);
    }

    #[test]
    fn a_step_that_counts_often_is_as_many_steps() {
        let columns = DMatrix::from_column_slice(2, 2, &[1.0, 0.0, 0.6, 0.8]);
        for times in [3, 5000] {
            let [mut one_by_one, mut at_once] = [0, 1].map(|_| Design::new(columns.as_view(), 2, 0.25, [0.0, 1.0]));
            for cell in [0, 1, 0] {
                let step = at_once.step(cell, 0.3, cell);
                (0..times).for_each(|_| one_by_one.add(columns.as_view(), step));
                at_once.add_times(columns.as_view(), step, times);
            }
            assert_eq!(at_once.met, one_by_one.met);
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-11 * b.abs();
            let [a, b] = [&at_once, &one_by_one].map(|design| design.squares(columns.as_view()).into_owned());
            assert!(a.iter().zip(&b).all(|(a, b)| near(*a, *b)), "{times}");
            let mut bare = Design::without_widths(2, 2, 0.25, [0.0, 1.0]);
            for cell in [0, 1, 0] {
                bare.add_times(columns.as_view(), at_once.step(cell, 0.3, cell), times);
            }
            assert!(bare.squares(columns.as_view()).iter().zip(&b).all(|(a, b)| near(*a, *b)), "{times}");
            assert!(near(at_once.gram.gained, one_by_one.gram.gained), "{times}");
            let [mut a, mut b] = [DVector::zeros(2), DVector::zeros(2)];
            at_once.weights(&[0.2, 0.7], &mut a);
            one_by_one.weights(&[0.2, 0.7], &mut b);
            assert!(near(a[0], b[0]) && near(a[1], b[1]), "{times}: {a} {b}");
        }
    }

    #[test]
    fn a_tiny_lambda_with_collinear_features_is_raised_to_rounding_precision() {
        // The third is the mean of the others, and the second nearly the first.
        let third = [0.6f64, 0.8 * (1.0 - 1e-9), 0.2];
        let columns = DMatrix::from_fn(6, 4, |i, j| third[(i + j) % 3] / 3.0 + 0.1);
        for (lambda, times) in [(1e-12, 4_000_000_000), (1e6, 3), (1.0, 4_000_000_000)] {
            let mut design = Design::without_widths(6, 2, lambda, [0.0, 1.0]);
            for cell in 0..4 {
                design.add_times(columns.as_view(), design.step(cell, 1.0, 1), times);
            }
            let mut weights = DVector::zeros(6);
            design.weights(&[0.0, 1.0], &mut weights);
            assert!(weights.iter().all(|w| w.is_finite()) && design.square(columns.as_view(), 0) >= 0.0, "{lambda}");
            let bare = factorised(design.gram.without_lambda());
            assert!(bare.solve(&weights).iter().all(|w| w.is_finite()), "{lambda}");
        }
    }

    #[test]
    fn the_determinant_is_that_of_the_design() {
        let columns = DMatrix::from_column_slice(2, 2, &[1.0, 0.0, 0.6, 0.8]);
        let mut design = Design::new(columns.as_view(), 1, 0.25, [0.0, 0.0]);
        (0..1000).for_each(|i| design.add(columns.as_view(), design.step(i % 2, 0.0, 0)));
        // Λ = 0.25 I + 500 (e₁e₁ᵀ + vvᵀ), v = (0.6, 0.8).
        let [a, b, c] = [500.0 * 1.36 + 0.25, 500.0 * 0.48, 500.0 * 0.64 + 0.25f64];
        let exact = (a * c - b * b).ln() - 2.0 * 0.25f64.ln();
        assert!((design.gram.gained - exact).abs() < 1e-11, "{} {exact}", design.gram.gained);
        assert!(design.gram.doubled());
        design.gram.mark_planned();
        assert!(!design.gram.doubled());
    }
}
