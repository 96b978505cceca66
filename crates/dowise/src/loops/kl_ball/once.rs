//! Single-pass evaluation of KL balls for rows whose masses are ready: most searches end there.

use super::search::{BELOW, HALF, MIDDLE, given_start};
use super::sums::{Moments, Steps, sums_at};
use super::{FARTHEST, LANES, NEAR, ONE_VALUE, USUAL};
use crate::math::exp;

/// What one look at each of some rows came to.
pub(crate) struct Once<const N: usize> {
    /// Whether the row is solved.
    pub(crate) is_found: [bool; N],
    /// What it loses least then.
    pub(crate) loss: [f64; N],
    /// Where that was found, or where the search goes on ([`Least::at`]).
    pub(crate) at: [f64; N],
    /// What a row that is not solved loses at least, up to 10⁻¹¹ of the greatest loss: by weak duality every point says so. 0 where this one
    /// is too far off to say it exactly.
    pub(crate) at_least: [f64; N],
    /// Whether one more look from there is likely to solve it.
    pub(crate) goes_on: [bool; N],
}

/// Room for rows that are moved side by side for one look.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    /// Frequencies, `[value][lane]`
    pub(crate) mass: Vec<[f64; LANES]>,
    /// ε and e^−ε
    pub(crate) radius: [f64; LANES],
    pub(crate) kept: [f64; LANES],
    /// Where searches begin.
    pub(crate) start: [f64; LANES],
}

impl Lanes {
    /// For rows of this number of values.
    pub(crate) fn new(n_values: usize) -> Lanes {
        Lanes { mass: vec![[0.0; LANES]; n_values], radius: [0.0; LANES], kept: [1.0; LANES], start: [1.0; LANES] }
    }
}

/// ψ − ε, and t, up to which a point bounds what is lost so exactly.
const CLOSE: f64 = 1.0 / 256.0;
const NOT_FAR: f64 = 1e3;

/// One look at rows side by side whose masses lie ready, `[value][lane]`, with zeros where a value was not seen, and whose values lose
/// the same: [`Rows::solve`] finishes those that are not solved by it, to the same bits.
///
/// Where most searches end at their first look this saves moving masses about and nearly all branches: without it an episode of
/// `c-ucbvi` at 8 states takes 1.16x as many instructions (`benchmarks/instructions.py`).
///
/// # Cost
/// One sum of logarithms over all values.
#[inline(always)]
pub(crate) fn look_once<const N: usize>(
    mass: &[[f64; N]],
    losses: &[f64],
    (radius, kept): (&[f64; N], &[f64; N]),
    start: &[f64; N],
) -> Once<N> {
    let moments = Moments::of(
        mass,
        #[inline(always)]
        |v| [losses[v]; N],
    );
    let Moments { mean, largest, centre, second, .. } = &moments;
    let far = moments.far(radius);
    let mut greatest = 0.0;
    for &d in losses {
        greatest = if d > greatest { d } else { greatest };
    }
    let (mut t, mut is_usual, mut is_flat) = ([1.0; N], [false; N], [false; N]);
    for i in 0..N {
        let given = given_start(start[i], far[i]);
        // Squares and cubes of everything are finite.
        is_usual[i] = (largest[i] > USUAL * greatest) & (largest[i] > USUAL);
        is_flat[i] = !((radius[i] > 0.0) & (second[i] > ONE_VALUE * centre[i] * centre[i]));
        let is_given = (given > NEAR) & (given < FARTHEST);
        let from = f64::from_bits((given.to_bits() + HALF) & !BELOW);
        let from = if start[i] == 0.0 { 0.0 } else { from };
        t[i] = if is_usual[i] & !is_flat[i] & (is_given | (start[i] == 0.0)) { from } else { 1.0 };
        is_usual[i] &= is_flat[i] | is_given | (start[i] == 0.0);
    }
    let sums = sums_at(
        mass,
        #[inline(always)]
        |v| [losses[v]; N],
        &moments.scale,
        &t,
    );
    let steps = Steps::from(&sums, radius, &t, &far, &moments);
    let (mut is_found, mut at, mut loss, mut zeros) = ([false; N], *start, steps.loss, 0);
    let (mut at_least, mut goes_on) = ([0.0; N], [false; N]);
    for i in 0..N {
        let bits = steps.short[i].to_bits();
        let is_near = ((bits & BELOW) as i64 - HALF as i64).abs() >= MIDDLE as i64;
        let is_here = (bits + HALF) & !BELOW == t[i].to_bits();
        let is_short = is_usual[i] & !is_flat[i] & steps.is_short[i];
        let is_solved = is_short & is_near & is_here;
        let next = if is_short & (steps.short[i] > NEAR) { -steps.short[i] } else { start[i] };
        at[i] = if is_solved { steps.at[i] } else { next };
        goes_on[i] = is_short & is_near & (steps.short[i] > NEAR);
        let is_close = is_usual[i] & !is_flat[i] & (steps.off[i].abs() < CLOSE) & (t[i] < NOT_FAR);
        at_least[i] = if is_close { steps.at_least[i] } else { 0.0 };
        is_found[i] = is_solved | (is_usual[i] & is_flat[i]);
        loss[i] = if is_flat[i] { kept[i] * mean[i] } else { loss[i] };
        zeros += usize::from(t[i] == 0.0);
    }
    if zeros > 0 {
        for i in 0..N {
            // With mass on the best value the solution is not at zero, and there is no sum.
            if t[i] == 0.0 && sums.inverse[i] < 1.0 / USUAL && steps.off[i] <= 0.0 {
                is_found[i] = true;
                loss[i] = (largest[i] * (kept[i] * exp(sums.log_mean[i]))).min(mean[i]);
            }
        }
    }
    Once { is_found, loss, at, at_least, goes_on }
}
