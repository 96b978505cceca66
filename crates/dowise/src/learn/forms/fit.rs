//! The posterior of a model's parameters: its greatest density by damped Fisher scoring, and Laplace's approximation there.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};
use rand::Rng;

use super::FormModel;
use crate::learn::evidence::Counts;
use crate::math::{exp, ln};
use crate::variates::normal;

/// Steps after which a fit ends, however far it still moves.
const MOST_STEPS: usize = 50;
/// A fit ends when no parameter moves by more than this.
const CLOSE: f64 = 1e-7;
/// A probability below which a derivative is not divided by it.
const TINY: f64 = 1e-200;

/// Parameters that fit the counts, and how sure they are: θ ~ N(`theta`, F⁻¹).
///
/// F is the expected (Fisher) information plus the prior's precision. Without hidden variables it is the exact second
/// derivative of an additive logit; it is positive definite whatever the data, so separation (an outcome that was never seen
/// with some value) ends at a finite place that the prior decides.
#[derive(Clone, Debug)]
pub(crate) struct Fit {
    theta: Vec<f64>,
    information: Cholesky<f64, Dyn>,
}

/// Buffers of one pass over the rows.
struct Pass {
    tables: Vec<Vec<f64>>,
    probabilities: Vec<f64>,
    slopes: Vec<f64>,
    active: Vec<usize>,
    gradient: DVector<f64>,
    information: DMatrix<f64>,
}

impl Fit {
    /// Fits a model to counts of its rows and values.
    ///
    /// It begins at the prior's mean, so that it is a function of the counts alone.
    ///
    /// # Cost
    /// For each step: visited rows × values × (parameters of a row)², and d³/3 for d parameters.
    pub(crate) fn new(model: &FormModel, counts: &Counts) -> Fit {
        let d = model.n_parameters();
        let visited: Vec<usize> = counts.visited().collect();
        let mut theta: Vec<f64> = model.prior.iter().map(|(mean, _)| *mean).collect();
        let mut pass = Pass {
            tables: Vec::new(),
            probabilities: vec![0.0; model.n_values],
            slopes: vec![0.0; model.n_values * d],
            active: Vec::new(),
            gradient: DVector::zeros(d),
            information: DMatrix::zeros(d, d),
        };
        let mut density = pass.density(model, counts, &visited, &theta);
        for _ in 0..MOST_STEPS {
            pass.differentiate(model, counts, &visited, &theta);
            let step = factorise(&pass.information).solve(&pass.gradient);
            let Some((next, higher)) = pass.climb(model, counts, &visited, &theta, &step, density) else { break };
            let moved = next.iter().zip(&theta).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            (theta, density) = (next, higher);
            if moved < CLOSE {
                break;
            }
        }
        pass.differentiate(model, counts, &visited, &theta);
        Fit { theta, information: factorise(&pass.information) }
    }

    /// P(v | row) of all rows for the most likely parameters.
    pub(crate) fn mean(&self, model: &FormModel) -> Vec<f64> {
        model.probabilities(&self.theta)
    }

    /// P(v | row) of all rows for parameters drawn from the posterior.
    pub(crate) fn sample(&self, model: &FormModel, rng: &mut impl Rng) -> Vec<f64> {
        let mut noise = DVector::from_fn(self.theta.len(), |_, _| normal(rng));
        // F = L Lᵀ, so L⁻ᵀ ξ has the covariance F⁻¹.
        let solved = self.information.l_dirty().tr_solve_lower_triangular_mut(&mut noise);
        debug_assert!(solved, "the information matrix has a positive diagonal");
        let theta: Vec<f64> = self.theta.iter().zip(noise.iter()).map(|(t, x)| t + x).collect();
        model.probabilities(&theta)
    }

    /// Least and greatest P(v | row) of all rows, `[row][value]` each: the ellipsoid of the parameters along each row's own direction.
    ///
    /// With variance v of the log-odds now and v₀ under the prior, the log-odds are off by at most √(v (2 log + ln(v₀/v))): the
    /// mixture bound of a normal mean, which holds at all times at once. It is exact for normal observations and an approximation here.
    pub(crate) fn bounds(&self, model: &FormModel, log: f64) -> [Vec<f64>; 2] {
        let (d, n) = (model.n_parameters(), model.n_values);
        let mut tables = Vec::new();
        model.tables(&self.theta, &mut tables);
        let (mut row_p, mut slopes, mut active) = (vec![0.0; n], vec![0.0; n * d], Vec::new());
        let mut bounds = [vec![0.0; model.n_rows * n], vec![0.0; model.n_rows * n]];
        let mut direction = DVector::zeros(d);
        for row in 0..model.n_rows {
            model.row_with_slopes(&self.theta, &tables, row, &mut row_p, &mut slopes, &mut active);
            for (value, &p) in row_p.iter().enumerate() {
                let p = p.clamp(1e-12, 1.0 - 1e-12);
                // Of the log-odds: they have no ends that the bounds could pass.
                let by_odds = 1.0 / (p * (1.0 - p));
                direction.fill(0.0);
                active.iter().for_each(|&i| direction[i] = slopes[value * d + i] * by_odds);
                let before: f64 = active.iter().map(|&i| direction[i] * direction[i] / model.prior[i].1).sum();
                let solved = self.information.l_dirty().solve_lower_triangular_mut(&mut direction);
                debug_assert!(solved, "the information matrix has a positive diagonal");
                let now = direction.norm_squared().min(before);
                let off = if now > 0.0 { (now * (2.0 * log + ln(before / now))).sqrt() } else { 0.0 };
                let odds = ln(p / (1.0 - p));
                bounds[0][row * n + value] = logistic(odds - off);
                bounds[1][row * n + value] = logistic(odds + off);
            }
        }
        bounds
    }
}

impl Pass {
    /// The logarithm of the posterior density, constants left out.
    fn density(&mut self, model: &FormModel, counts: &Counts, visited: &[usize], theta: &[f64]) -> f64 {
        model.tables(theta, &mut self.tables);
        let prior: f64 = theta.iter().zip(&model.prior).map(|(t, (mean, prec))| prec * (t - mean) * (t - mean)).sum();
        let mut density = -0.5 * prior;
        for &row in visited {
            model.row(&self.tables, row, &mut self.probabilities);
            for (&n, &p) in counts.values(row).iter().zip(&self.probabilities) {
                if n > 0 {
                    density += f64::from(n) * ln(p.max(TINY));
                }
            }
        }
        for (part, table) in model.parts.iter().zip(&self.tables) {
            if let Some((guess, weight)) = part.guess() {
                density += weight * guess.iter().zip(table).map(|(g, p)| g * ln(p.max(TINY))).sum::<f64>();
            }
        }
        density
    }

    /// Gradient of the density and information at these parameters.
    fn differentiate(&mut self, model: &FormModel, counts: &Counts, visited: &[usize], theta: &[f64]) {
        let d = model.n_parameters();
        model.tables(theta, &mut self.tables);
        self.information.fill(0.0);
        for (i, (mean, precision)) in model.prior.iter().enumerate() {
            self.gradient[i] = precision * (mean - theta[i]);
            self.information[(i, i)] = *precision;
        }
        for &row in visited {
            let Pass { tables, probabilities, slopes, active, .. } = self;
            model.row_with_slopes(theta, tables, row, probabilities, slopes, active);
            let visits = f64::from(counts.n_r[row]);
            for (value, (&n, &p)) in counts.values(row).iter().zip(&self.probabilities).enumerate() {
                let slopes = &self.slopes[value * d..(value + 1) * d];
                let (by_count, by_visit) = (f64::from(n) / p.max(TINY), visits / p.max(TINY));
                for (a, &i) in self.active.iter().enumerate() {
                    self.gradient[i] += by_count * slopes[i];
                    let scaled = by_visit * slopes[i];
                    self.active[..=a].iter().for_each(|&j| self.information[(i, j)] += scaled * slopes[j]);
                }
            }
        }
        self.add_guesses(model, theta);
    }

    /// What guesses add, as if each row had been visited as often as they are worth.
    fn add_guesses(&mut self, model: &FormModel, theta: &[f64]) {
        let mut slopes: Vec<(usize, f64)> = Vec::new();
        for (part, table) in model.parts.iter().zip(&self.tables) {
            let Some((guess, weight)) = part.guess() else { continue };
            for (entry, (&g, &p)) in guess.iter().zip(table).enumerate() {
                slopes.clear();
                part.slopes(theta, table, entry, |parameter, slope| slopes.push((parameter, slope)));
                for &(i, si) in &slopes {
                    self.gradient[i] += weight * g * si;
                    for &(j, sj) in slopes.iter().filter(|(j, _)| *j <= i) {
                        self.information[(i, j)] += weight * p * si * sj;
                    }
                }
            }
        }
    }

    /// A point along the step where the density is higher, and the density there; steps are halved until there is one.
    fn climb(
        &mut self,
        model: &FormModel,
        counts: &Counts,
        visited: &[usize],
        theta: &[f64],
        step: &DVector<f64>,
        density: f64,
    ) -> Option<(Vec<f64>, f64)> {
        let mut share = 1.0;
        for _ in 0..40 {
            let next: Vec<f64> = theta.iter().zip(step.iter()).map(|(t, s)| t + share * s).collect();
            let there = self.density(model, counts, visited, &next);
            if there > density {
                return Some((next, there));
            }
            share *= 0.5;
        }
        None
    }
}

/// The lower triangle of a positive definite matrix, factorised.
fn factorise(information: &DMatrix<f64>) -> Cholesky<f64, Dyn> {
    Cholesky::new(information.clone()).expect("invariant: a proper prior makes the information positive definite")
}

fn logistic(x: f64) -> f64 {
    if x >= 0.0 { 1.0 / (1.0 + exp(-x)) } else { exp(x) / (1.0 + exp(x)) }
}
