//! The optimistic members of Kullback–Leibler balls of distributions: { q : KL(p, q) ≤ ε } around a row p, several rows side by side.
//!
//! Values are given as losses d against the best value there is, which need not have been seen. By the inequality of the
//! weighted means, for every q of the ball and every t ≥ 0,
//!
//! ```text
//! Σ q (t + d) ≥ exp(Σ p ln(q (t + d) / p)) ≥ e^−ε G(t),   G(t) = exp(Σ p ln(t + d)),
//! ```
//!
//! so that no member loses less than B(t) = e^−ε G(t) − t, whatever t. That is concave in t, and its greatest value is reached by a
//! member of the ball: at t = 0, or where ln G(t) + ln A(t) = ε with A(t) = Σ p / (t + d). The left side of this equation (ψ)
//! falls from ψ(0) to 0; Filippi, Cappé and Garivier (2010) solve it for t plus the best value. Far out it is nearly
//! variance / (2 (t + mean)²), so one over its square root is nearly linear and Newton's method needs few steps.
//!
//! The last step is taken from the multiple of t's own 2^−9 that is nearest to the solution. From there B is known by its first
//! derivatives to better than 10⁻¹¹ of the mean loss, and the result is the same to the bit wherever the search began: so a search
//! may begin where the last one ended, and nothing depends on what was computed before.

mod once;
mod search;
mod sums;

pub(crate) use self::once::{Lanes, Once, look_once};
use crate::math::exp;

/// Rows taken at a time.
pub(crate) const LANES: usize = 8;

/// How far a member of the ball may be from its centre.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ball {
    /// ε
    pub(crate) radius: f64,
    /// e^−ε
    pub(crate) kept: f64,
}

impl Ball {
    /// The ball of all members up to this divergence.
    pub(crate) fn new(radius: f64) -> Ball {
        Ball { radius, kept: exp(-radius) }
    }
}

/// Losses that are all below are taken for none: the inverse of the greatest is not finite.
const TINY: f64 = 1e-290;

/// Shares of the greatest loss below are taken for none: cubes of their inverses are not finite.
const SMALLEST: f64 = 1e-100;

/// Times the square of the mean, the variance below which there is one value in all but rounding.
const ONE_VALUE: f64 = 1e-24;

/// Losses, and shares of the greatest, above which all sums are finite.
const USUAL: f64 = 1e-90;

/// Where a search may begin that was given where: nearer to zero it begins as if it had not been.
const NEAR: f64 = 1e-6;

/// And farther out than this.
const FARTHEST: f64 = 1e9;

/// Up to N rows that are solved side by side, one to a lane, kept to be used again.
///
/// With N = 1 this is the plain loop, one row after the other, with the same bits: lanes never meet. With the values of one row side by
/// side and searches that always begin anew, an episode of `c-ucbvi` at 8 states took 2.7x as long (example `episode_times`).
#[derive(Clone, Debug)]
pub(crate) struct Rows<const N: usize> {
    /// Positive masses of the rows, which sum to 1, `[place][lane]`; zeros after the last of a row.
    mass: Vec<[f64; N]>,
    /// What each of them loses, ≥ 0; ones after the last.
    loss: Vec<[f64; N]>,
    /// ε and e^−ε
    radius: [f64; N],
    kept: [f64; N],
    /// Where the searches begin, if they are given ([`Least::at`]).
    start: [f64; N],
    /// Values of each row.
    n: [usize; N],
    n_rows: usize,
}

/// What a row loses least, and where that was found, for the next search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Least {
    pub(crate) loss: f64,
    /// t as a multiple of where it would be if it were far out, which hardly changes with values and counts; or −t; or 0 at zero.
    pub(crate) at: f64,
}

impl<const N: usize> Default for Rows<N> {
    fn default() -> Self {
        Rows {
            mass: Vec::new(),
            loss: Vec::new(),
            radius: [0.0; N],
            kept: [1.0; N],
            start: [f64::NAN; N],
            n: [0; N],
            n_rows: 0,
        }
    }
}

impl<const N: usize> Rows<N> {
    /// No rows, with room for some of this number of values.
    pub(crate) fn with_room(n_values: usize) -> Rows<N> {
        Rows { mass: vec![[0.0; N]; n_values], loss: vec![[1.0; N]; n_values], ..Rows::default() }
    }

    /// Whether there is no room for another row.
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.n_rows == N
    }

    /// Rows that were added.
    #[inline(always)]
    pub(crate) fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Adds a row by its positive masses and what each of them loses; the search begins where it is known, if that is a number.
    #[inline(always)]
    pub(crate) fn add(&mut self, row: impl ExactSizeIterator<Item = (f64, f64)>, ball: Ball, start: f64) {
        let (lane, n) = (self.n_rows, row.len());
        if n > self.mass.len() {
            self.mass.resize(n, [0.0; N]);
            self.loss.resize(n, [1.0; N]);
        }
        for ((mass, loss), (p, d)) in self.mass.iter_mut().zip(&mut self.loss).zip(row) {
            (mass[lane], loss[lane]) = (p, d);
        }
        (self.radius[lane], self.kept[lane]) = (ball.radius, ball.kept);
        (self.start[lane], self.n[lane]) = (start, n);
        self.n_rows += 1;
    }
}

#[cfg(test)]
mod tests;
