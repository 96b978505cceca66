//! Laplace approximation of a parametric mechanism's posterior: the mode by damped quasi-Newton steps, and the
//! curvature there.

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};
use rand::Rng;

use super::{FormModel, Slopes};
use crate::learn::evidence::Counts;
use crate::math::{exp, ln};
use crate::random::normal;

/// Most steps of a fit.
const MOST_STEPS: usize = 60;
/// Steps before which the information matrix is recomputed; in between L-BFGS corrections apply.
const REFRESHED: [usize; 5] = [0, 2, 5, 12, 25];
/// Number of stored steps for these corrections.
const REMEMBERED: usize = 8;
/// A fit ends when the step, in posterior standard deviations, is shorter than this.
const CLOSE: f64 = 1e-3;
/// A prior is wide if the precision of some parameter is below this: a standard deviation of 2 in log-odds.
const WIDE: f64 = 0.25;
/// Most estimates of the scale of effects, each followed by a fit.
const RESCALED: usize = 4;
/// The longest step of a parameter under a wide prior, in log-odds. Without it a fit may reach probabilities near 0 or
/// 1, where gradients vanish, and end far from the mode.
const LONGEST: f64 = 2.0;
/// Largest shortfall of the log posterior against the normal approximation at an accepted draw.
const SHORTFALL: f64 = 5.0;
/// Most draws, and halvings of the last one, until the posterior accepts one.
const MOST_DRAWS: usize = 16;
const MOST_HALVINGS: usize = 30;
/// Smallest probability used as a divisor.
const TINY: f64 = 1e-200;

/// Laplace approximation of the posterior: θ ~ N(`theta`, F⁻¹).
///
/// F is the expected (Fisher) information plus the prior's precision. Without hidden variables it is the exact second
/// derivative of an additive logit. It is positive definite for any data, so under separation (an outcome never
/// observed with some value) the prior keeps the mode finite.
#[derive(Clone, Debug)]
pub(crate) struct Fit {
    pub(super) theta: Vec<f64>,
    /// Mean and precision of each parameter's prior, with the estimated scales of effects.
    pub(super) prior: Vec<(f64, f64)>,
    /// F (only the lower triangle is valid), and its factor.
    matrix: DMatrix<f64>,
    information: Cholesky<f64, Dyn>,
    /// Log posterior density at the parameters, without constants.
    density: f64,
}

impl Fit {
    /// Fits a model to counts of its rows and values.
    ///
    /// The fit starts at the prior's mean, so that it is a function of the counts alone. It makes quasi-Newton steps
    /// (L-BFGS on top of the information), halved until the density rises.
    ///
    /// # Cost
    /// For each step visited rows × values × hidden values; for each of a few information matrices also visited rows ×
    /// values × (parameters of a row)², a logit of many values without hidden variables the same without × values, and
    /// d³/3 for d parameters.
    pub(crate) fn new(model: &FormModel, counts: &Counts) -> Fit {
        Fit::climbed(model, Pass::new(model, &counts.n_r, &counts.n_rv))
    }

    /// The same without prior guesses, for guarantees that hold for every truth.
    pub(crate) fn without_guesses(model: &FormModel, counts: &Counts) -> Fit {
        Fit::climbed(model, Pass { guesses: false, ..Pass::new(model, &counts.n_r, &counts.n_rv) })
    }

    /// The same for fractional visits, `[row][value]`: expectations over missing values.
    pub(crate) fn of_tally(model: &FormModel, tally: &[f64]) -> Fit {
        let n_r: Vec<f64> = tally.chunks_exact(model.n_values).map(|row| row.iter().sum()).collect();
        Fit::climbed(model, Pass::new(model, &n_r, tally))
    }

    /// Fits with the prior scales, then estimates the scales and fits again from there, until they converge.
    fn climbed<N: Copy + Into<f64>>(model: &FormModel, mut pass: Pass<'_, N>) -> Fit {
        let start = DVector::from_iterator(pass.prior.len(), pass.prior.iter().map(|(mean, _)| *mean));
        let mut fit = Fit::climbed_from(start, &mut pass);
        for _ in 0..RESCALED {
            if !model.prior.rescale(&fit.theta, &fit.information, &mut pass.prior) {
                break;
            }
            fit = Fit::climbed_from(DVector::from_column_slice(&fit.theta), &mut pass);
        }
        fit
    }

    fn climbed_from<N: Copy + Into<f64>>(mut theta: DVector<f64>, pass: &mut Pass<'_, N>) -> Fit {
        let mut density = pass.density(theta.as_slice());
        let mut gradient = pass.gradient(theta.as_slice());
        let mut information = factorised(pass.information(theta.as_slice()));
        let mut memory: Vec<Correction> = Vec::new();
        let longest = if is_wide(&pass.prior) { LONGEST } else { f64::INFINITY };
        for step in 0..MOST_STEPS {
            if step > 0 && REFRESHED.contains(&step) {
                information = factorised(pass.information(theta.as_slice()));
                memory.clear();
            }
            let mut direction = corrected(&information, &memory, &gradient);
            let mut rise = direction.dot(&gradient);
            if rise.is_nan() || rise <= 0.0 {
                memory.clear();
                direction = information.solve(&gradient);
                rise = direction.dot(&gradient);
            }
            let within = (longest / direction.amax()).min(1.0);
            let Some((next, higher)) = pass.climb(&theta, &direction, within, density) else { break };
            let before = std::mem::replace(&mut gradient, pass.gradient(next.as_slice()));
            let correction = Correction { moved: &next - &theta, fell: &before - &gradient };
            (theta, density) = (next, higher);
            if within == 1.0 && rise.max(0.0).sqrt() < CLOSE {
                break;
            }
            if correction.moved.dot(&correction.fell) > 0.0 {
                if memory.len() == REMEMBERED {
                    memory.remove(0);
                }
                memory.push(correction);
            }
        }
        // If no step increased the density, the last tried point is not the fit.
        let density = pass.density(theta.as_slice());
        let matrix = pass.information(theta.as_slice());
        let information = factorised(matrix.clone());
        Fit { theta: theta.as_slice().to_vec(), prior: pass.prior.clone(), matrix, information, density }
    }

    /// P(v | row) of all rows at the posterior mode.
    pub(crate) fn mean(&self, model: &FormModel) -> Vec<f64> {
        model.probabilities(&self.theta)
    }

    /// P(v | row) of all rows for a posterior sample of the parameters, with their standard deviation times `spread`;
    /// the counts are the fitted ones.
    ///
    /// Under a wide prior, a draw whose posterior density is far below the normal approximation is rejected: for a
    /// never observed outcome the posterior is one-sided. After repeated rejections the last draw is moved towards the
    /// mode until it is accepted. Narrow priors keep draws near the data.
    ///
    /// Effects with an estimated scale have heavy tails: a draw may widen their priors
    /// ([`Prior::tails`](super::scale::Prior::tails)). This matters with little data, so that an effect far beyond
    /// those of the other parents is tried eventually.
    pub(crate) fn sample(&self, model: &FormModel, counts: &Counts, spread: f64, rng: &mut impl Rng) -> Vec<f64> {
        let wide = is_wide(&self.prior);
        let mut prior = self.prior.clone();
        model.prior.tails(rng).into_iter().for_each(|(i, wider)| prior[i].1 /= wider);
        let widened = (prior != self.prior).then(|| {
            let mut matrix = self.matrix.clone();
            (0..prior.len()).for_each(|i| matrix[(i, i)] -= self.prior[i].1 - prior[i].1);
            factorised(matrix)
        });
        let information = widened.as_ref().unwrap_or(&self.information);
        let off = |i: usize| self.theta[i] - prior[i].0;
        // The density of the mode under the prior of this draw.
        let most = self.density
            + 0.5 * (0..prior.len()).map(|i| (self.prior[i].1 - prior[i].1) * off(i) * off(i)).sum::<f64>();
        let borne_out = |noise: &DVector<f64>, fell: f64| {
            let table = self.drawn(model, noise.as_slice());
            let dense =
                !wide || self.density_of(model, counts, &prior, noise.as_slice(), &table) >= most - fell - SHORTFALL;
            dense.then_some(table)
        };
        let (mut noise, mut fell) = (DVector::zeros(0), 0.0);
        for _ in 0..MOST_DRAWS {
            noise = DVector::from_fn(self.theta.len(), |_, _| spread * normal(rng));
            fell = 0.5 * noise.norm_squared();
            // F = L Lᵀ, so L⁻ᵀ ξ has the covariance F⁻¹.
            let solved = information.l_dirty().tr_solve_lower_triangular_mut(&mut noise);
            debug_assert!(solved, "the information matrix has a positive diagonal");
            if let Some(table) = borne_out(&noise, fell) {
                return table;
            }
        }
        for _ in 0..MOST_HALVINGS {
            (noise, fell) = (noise * 0.5, fell * 0.25);
            if let Some(table) = borne_out(&noise, fell) {
                return table;
            }
        }
        self.mean(model)
    }

    /// P(v | row) of all rows for parameters at this offset from the mode. Behind hidden variables the observed
    /// log-odds move along their gradients. The parameters that leave P(v | row) unchanged form a curve there, and a
    /// long normal approximation would leave it on both sides.
    fn drawn(&self, model: &FormModel, off: &[f64]) -> Vec<f64> {
        if model.n_hidden > 1 {
            return model.moved_probabilities(&self.theta, off);
        }
        let theta: Vec<f64> = self.theta.iter().zip(off).map(|(t, x)| t + x).collect();
        model.probabilities(&theta)
    }

    /// Log posterior density at this offset with this table, without constants.
    fn density_of(&self, model: &FormModel, counts: &Counts, prior: &[(f64, f64)], off: &[f64], table: &[f64]) -> f64 {
        let theta: Vec<f64> = self.theta.iter().zip(off).map(|(t, x)| t + x).collect();
        let none: [f64; 0] = [];
        let seen = counts.n_rv.iter().zip(table).filter(|(n, _)| **n > 0);
        let mut pass = Pass { prior: prior.to_vec(), ..Pass::new(model, &none, &none) };
        pass.density(&theta) + seen.map(|(&n, p)| f64::from(n) * ln(p.max(TINY))).sum::<f64>()
    }

    /// Bounds of P(v | row) of all rows, `[row][value]` each: the parameter ellipsoid along each row's own direction.
    ///
    /// With variance v of the log-odds now and v₀ under the prior, the log-odds are off by at most √(v (2 log +
    /// ln(v₀/v))): the mixture bound of a normal mean, which holds at all times simultaneously. It is exact for normal
    /// observations and an approximation here.
    pub(crate) fn bounds(&self, model: &FormModel, log: f64) -> [Vec<f64>; 2] {
        let off = |now: f64, before: f64| if now > 0.0 { (now * (2.0 * log + ln(before / now))).sqrt() } else { 0.0 };
        self.moved(model, off)
    }

    /// Credible interval of P(v | row), `[row][value]` each: this many standard deviations of the log-odds to each
    /// side, under Laplace's approximation.
    pub(crate) fn interval(&self, model: &FormModel, deviations: f64) -> [Vec<f64>; 2] {
        self.moved(model, |now, _| deviations * now.sqrt())
    }

    /// Log prior density at the parameters, without constants.
    pub(crate) fn prior_density(&self, model: &FormModel) -> f64 {
        let none: [f64; 0] = [];
        Pass { prior: self.prior.clone(), ..Pass::new(model, &none, &none) }.density(&self.theta)
    }

    /// Log marginal likelihood of the counts, by Laplace's approximation, without the multinomial coefficient, so that
    /// models of the same counts can be compared.
    pub(crate) fn log_evidence(&self, model: &FormModel) -> f64 {
        self.density - self.prior_density(model) + self.log_occam(model)
    }

    /// Occam factor: the logarithm of the share of the prior that fits the counts about as well.
    pub(crate) fn log_occam(&self, model: &FormModel) -> f64 {
        let precisions: f64 = self.prior.iter().map(|(_, precision)| ln(*precision)).sum();
        let factor = self.information.l_dirty();
        let volume: f64 = (0..self.theta.len()).map(|i| ln(factor[(i, i)])).sum();
        self.prior_density(model) + 0.5 * precisions - volume
    }

    /// The posterior mode.
    pub(crate) fn theta(&self) -> &[f64] {
        &self.theta
    }

    /// P(v | row) with its log-odds moved down and up by `off(variance now, variance under the prior)`.
    fn moved(&self, model: &FormModel, off: impl Fn(f64, f64) -> f64) -> [Vec<f64>; 2] {
        let (d, n) = (model.n_parameters(), model.n_values);
        let mut tables = Vec::new();
        model.tables(&self.theta, &mut tables);
        let mut found = Slopes::new(model);
        let mut bounds = [vec![0.0; model.n_rows * n], vec![0.0; model.n_rows * n]];
        let mut direction = DVector::zeros(d);
        for row in 0..model.n_rows {
            model.row_with_slopes(&self.theta, &tables, row, &mut found);
            let Slopes { row: row_p, slopes, active, .. } = &found;
            for (value, &p) in row_p.iter().enumerate() {
                let p = p.clamp(1e-12, 1.0 - 1e-12);
                // In log-odds, which are unbounded, so that bounds stay valid.
                let by_odds = 1.0 / (p * (1.0 - p));
                direction.fill(0.0);
                active.iter().for_each(|&i| direction[i] = slopes[value * d + i] * by_odds);
                let before: f64 = active.iter().map(|&i| direction[i] * direction[i] / self.prior[i].1).sum();
                let solved = self.information.l_dirty().solve_lower_triangular_mut(&mut direction);
                debug_assert!(solved, "the information matrix has a positive diagonal");
                let now = direction.norm_squared().min(before);
                let off = off(now, before);
                let odds = ln(p / (1.0 - p));
                bounds[0][row * n + value] = logistic(odds - off);
                bounds[1][row * n + value] = logistic(odds + off);
            }
        }
        bounds
    }
}

/// Curvature information of a step.
struct Correction {
    moved: DVector<f64>,
    /// The gradient before less that after.
    fell: DVector<f64>,
}

/// The L-BFGS step from the information matrix and the stored steps.
fn corrected(information: &Cholesky<f64, Dyn>, memory: &[Correction], gradient: &DVector<f64>) -> DVector<f64> {
    let mut q = gradient.clone();
    let mut shares = Vec::with_capacity(memory.len());
    for c in memory.iter().rev() {
        let share = c.moved.dot(&q) / c.moved.dot(&c.fell);
        q.axpy(-share, &c.fell, 1.0);
        shares.push(share);
    }
    let mut direction = information.solve(&q);
    for (c, share) in memory.iter().zip(shares.into_iter().rev()) {
        let back = c.fell.dot(&direction) / c.moved.dot(&c.fell);
        direction.axpy(share - back, &c.moved, 1.0);
    }
    direction
}

/// One model with its counts, and buffers for passes over them.
struct Pass<'a, N> {
    model: &'a FormModel,
    prior: Vec<(f64, f64)>,
    /// Visits of rows, and of their values, `[row][value]`.
    n_r: &'a [N],
    n_rv: &'a [N],
    /// Whether guesses count as visits.
    guesses: bool,
    visited: Vec<usize>,
    tables: Vec<Vec<f64>>,
    /// Expected number of occurrences of each entry of each part's table, given the data and the parameters.
    expected: Vec<Vec<f64>>,
    /// P(v, h | row), `[hidden][value]`, and P(v | row).
    joint: Vec<f64>,
    row: Vec<f64>,
    found: Slopes,
    /// For each part the offset of each hidden and observed value, `[hidden][value]`, in its table.
    inner: Vec<Vec<u32>>,
}

impl<'a, N: Copy + Into<f64>> Pass<'a, N> {
    fn new(model: &'a FormModel, n_r: &'a [N], n_rv: &'a [N]) -> Pass<'a, N> {
        Pass {
            model,
            prior: model.prior.parameters.clone(),
            n_r,
            n_rv,
            guesses: true,
            visited: n_r.iter().enumerate().filter(|(_, n)| (**n).into() > 0.0).map(|(row, _)| row).collect(),
            tables: Vec::new(),
            expected: vec![Vec::new(); model.parts.len()],
            joint: vec![0.0; model.n_values * model.n_hidden],
            row: vec![0.0; model.n_values],
            found: Slopes::new(model),
            inner: model.parts.iter().map(|part| part.inner()).collect(),
        }
    }

    /// Log posterior density, without constants; also computes the expected counts of hidden variables.
    fn density(&mut self, theta: &[f64]) -> f64 {
        let model = self.model;
        model.tables(theta, &mut self.tables);
        let prior: f64 = theta.iter().zip(&self.prior).map(|(t, (mean, prec))| prec * (t - mean) * (t - mean)).sum();
        let mut density = -0.5 * prior;
        for ((part, table), expected) in model.parts.iter().zip(&self.tables).zip(&mut self.expected) {
            expected.clear();
            expected.resize(table.len(), 0.0);
            if let Some((guess, weight)) = part.guess().filter(|_| self.guesses) {
                expected.iter_mut().zip(guess).for_each(|(e, g)| *e = weight * g);
                density += expected.iter().zip(table).map(|(e, p)| e * ln(p.max(TINY))).sum::<f64>();
            }
        }
        let n_values = model.n_values;
        for &row in &self.visited {
            self.joint.fill(1.0);
            for ((part, table), inner) in model.parts.iter().zip(&self.tables).zip(&self.inner) {
                let table = &table[part.first_entry(row)..];
                self.joint.iter_mut().zip(inner).for_each(|(joint, &at)| *joint *= table[at as usize]);
            }
            self.row.fill(0.0);
            for joint in self.joint.chunks_exact(n_values) {
                self.row.iter_mut().zip(joint).for_each(|(p, joint)| *p += joint);
            }
            for (p, &n) in self.row.iter_mut().zip(&self.n_rv[row * n_values..]) {
                let (at_least, n): (f64, f64) = (p.max(TINY), n.into());
                if n > 0.0 {
                    density += n * ln(at_least);
                }
                // From here on the factor from a joint probability to an expected count.
                *p = n / at_least;
            }
            for joint in self.joint.chunks_exact_mut(n_values) {
                joint.iter_mut().zip(&self.row).for_each(|(joint, share)| *joint *= share);
            }
            for ((part, expected), inner) in model.parts.iter().zip(&mut self.expected).zip(&self.inner) {
                let expected = &mut expected[part.first_entry(row)..];
                self.joint.iter().zip(inner).for_each(|(joint, &at)| expected[at as usize] += joint);
            }
        }
        density
    }

    /// Gradient of the density, from the expected counts at the same parameters.
    fn gradient(&self, theta: &[f64]) -> DVector<f64> {
        let prior = theta.iter().zip(&self.prior).map(|(t, (mean, precision))| precision * (mean - t));
        let mut gradient = DVector::from_iterator(theta.len(), prior);
        for ((part, table), expected) in self.model.parts.iter().zip(&self.tables).zip(&self.expected) {
            for (entry, &n) in expected.iter().enumerate().filter(|(_, n)| **n > 0.0) {
                part.slopes(theta, table, entry, |parameter, slope| gradient[parameter] += n * slope);
            }
        }
        gradient
    }

    /// The information matrix at the parameters of the last density; only its lower triangle is valid.
    fn information(&mut self, theta: &[f64]) -> DMatrix<f64> {
        let (model, d) = (self.model, self.model.n_parameters());
        let mut information = DMatrix::zeros(d, d);
        self.prior.iter().enumerate().for_each(|(i, (_, precision))| information[(i, i)] = *precision);
        let many = model.logit_of_many();
        for &row in &self.visited {
            if let Some(part) = many {
                let visits: f64 = self.n_r[row].into();
                part.information(&self.tables[0], row, |i, j, share| information[(i, j)] += visits * share);
                continue;
            }
            model.row_with_slopes(theta, &self.tables, row, &mut self.found);
            let Slopes { row: p, slopes, active, .. } = &self.found;
            let visits: f64 = self.n_r[row].into();
            for (value, &p) in p.iter().enumerate() {
                let slopes = &slopes[value * d..(value + 1) * d];
                let by_visit = visits / p.max(TINY);
                for (a, &i) in active.iter().enumerate() {
                    let scaled = by_visit * slopes[i];
                    // Only the lower triangle is read.
                    active[..=a].iter().for_each(|&j| information[(i.max(j), i.min(j))] += scaled * slopes[j]);
                }
            }
        }
        let mut slopes: Vec<(usize, f64)> = Vec::new();
        for (part, table) in model.parts.iter().zip(&self.tables) {
            let Some((_, weight)) = part.guess().filter(|_| self.guesses) else { continue };
            for (entry, &p) in table.iter().enumerate() {
                slopes.clear();
                part.slopes(theta, table, entry, |parameter, slope| slopes.push((parameter, slope)));
                for &(i, si) in &slopes {
                    for &(j, sj) in slopes.iter().filter(|(j, _)| *j <= i) {
                        information[(i, j)] += weight * p * si * sj;
                    }
                }
            }
        }
        information
    }

    /// A point along the step with a higher density, and that density; the step is halved until there is one.
    fn climb(
        &mut self,
        theta: &DVector<f64>,
        step: &DVector<f64>,
        mut share: f64,
        density: f64,
    ) -> Option<(DVector<f64>, f64)> {
        for _ in 0..40 {
            let next = theta + step * share;
            let there = self.density(next.as_slice());
            if there > density {
                return Some((next, there));
            }
            share *= 0.5;
        }
        None
    }
}

/// Whether some parameter has a wide prior.
fn is_wide(prior: &[(f64, f64)]) -> bool {
    prior.iter().any(|(_, precision)| *precision < WIDE)
}

/// The Cholesky factor of a matrix that is positive definite up to rounding. If rounding loses a weak prior beside
/// billions of visits, the diagonal is raised as far as necessary.
pub(super) fn factorised(mut matrix: DMatrix<f64>) -> Cholesky<f64, Dyn> {
    let mut raised = 1e-15;
    loop {
        if let Some(factor) = Cholesky::new(matrix.clone()) {
            return factor;
        }
        for i in 0..matrix.nrows() {
            matrix[(i, i)] *= 1.0 + raised;
        }
        raised *= 10.0;
        assert!(raised < 1.0, "invariant: a proper prior makes the information positive definite");
    }
}

fn logistic(x: f64) -> f64 {
    if x >= 0.0 { 1.0 / (1.0 + exp(-x)) } else { exp(x) / (1.0 + exp(x)) }
}
