//! Sums over rows side by side: moments of their losses, sums at a point, and the step that follows from these.

use super::TINY;
use crate::math::ln_of_normal;

/// What is known of rows before any look at a point.
pub(super) struct Moments<const N: usize> {
    /// Σ p d
    pub(super) mean: [f64; N],
    /// The greatest loss of a value with mass, and one over it.
    pub(super) largest: [f64; N],
    pub(super) scale: [f64; N],
    /// The mean, and Σ p (d − mean)² and the same with cubes, of losses as shares of the greatest.
    pub(super) centre: [f64; N],
    pub(super) second: [f64; N],
    pub(super) third: [f64; N],
}

impl<const N: usize> Moments<N> {
    /// Of masses and what each place loses.
    #[inline(always)]
    pub(super) fn of(mass: &[[f64; N]], loss: impl Fn(usize) -> [f64; N]) -> Moments<N> {
        let (mut mean, mut largest) = ([0.0; N], [0.0; N]);
        for (v, p) in mass.iter().enumerate() {
            let d = loss(v);
            for i in 0..N {
                mean[i] += p[i] * d[i];
                let d = if p[i] > 0.0 { d[i] } else { 0.0 };
                largest[i] = if d > largest[i] { d } else { largest[i] };
            }
        }
        let (mut scale, mut centre) = ([1.0; N], [0.0; N]);
        for i in 0..N {
            scale[i] = if largest[i] < TINY { 1.0 } else { 1.0 / largest[i] };
            centre[i] = mean[i] * scale[i];
        }
        let (mut second, mut third) = ([0.0; N], [0.0; N]);
        for (v, p) in mass.iter().enumerate() {
            let d = loss(v);
            for i in 0..N {
                let e = d[i] * scale[i] - centre[i];
                let square = p[i] * e * e;
                second[i] += square;
                third[i] += square * e;
            }
        }
        Moments { mean, largest, scale, centre, second, third }
    }

    /// Where the solutions would be if they were far out.
    #[inline(always)]
    pub(super) fn far(&self, radius: &[f64; N]) -> [f64; N] {
        let mut far = [0.0; N];
        for i in 0..N {
            let root = (self.second[i] / (2.0 * radius[i])).sqrt();
            far[i] = root - self.centre[i] - self.third[i] / self.second[i] * (2.0 / 3.0);
        }
        far
    }
}

/// Sums over rows at a point t of each.
pub(super) struct Sums<const N: usize> {
    /// Σ p ln(t + d), the logarithm of G
    pub(super) log_mean: [f64; N],
    /// A = Σ p / (t + d), and the same with squares and cubes
    pub(super) inverse: [f64; N],
    pub(super) squares: [f64; N],
    pub(super) cubes: [f64; N],
    /// Σ p d / (t + d) = 1 − t A
    pub(super) rest: [f64; N],
    /// ln A
    pub(super) log_inverse: [f64; N],
}

/// Sums at a point t of each row, of losses times a scale.
#[inline(always)]
pub(super) fn sums_at<const N: usize>(
    mass: &[[f64; N]],
    loss: impl Fn(usize) -> [f64; N],
    scale: &[f64; N],
    t: &[f64; N],
) -> Sums<N> {
    let zero = [0.0; N];
    let (mut log_mean, mut inverse, mut squares, mut cubes, mut rest) = (zero, zero, zero, zero, zero);
    for (v, p) in mass.iter().enumerate() {
        let d = loss(v);
        for i in 0..N {
            let d = d[i] * scale[i];
            // At zero, values without mass may lose nothing.
            let x = if t[i] + d > TINY { t[i] + d } else { TINY };
            let over = 1.0 / x;
            let share = p[i] * over;
            let square = share * over;
            log_mean[i] += p[i] * ln_of_normal(x);
            inverse[i] += share;
            squares[i] += square;
            cubes[i] += square * over;
            rest[i] += share * d;
        }
    }
    let mut log_inverse = zero;
    for i in 0..N {
        // Lanes without a row have none.
        log_inverse[i] = ln_of_normal(if inverse[i] > 0.0 { inverse[i] } else { 1.0 });
    }
    Sums { log_mean, inverse, squares, cubes, rest, log_inverse }
}

/// What a look at a point says: where to go from there, and what is lost least if that is near.
pub(super) struct Steps<const N: usize> {
    pub(super) psi: [f64; N],
    /// ψ − ε
    pub(super) off: [f64; N],
    /// ψ'
    pub(super) slope: [f64; N],
    /// Newton's step, and where the one of third order leads.
    pub(super) plain: [f64; N],
    pub(super) short: [f64; N],
    /// Whether the step is so short that the latter is meant.
    pub(super) is_short: [bool; N],
    /// B here, if ψ − ε is small.
    pub(super) at_least: [f64; N],
    /// [`Least`](super::Least), from here.
    pub(super) loss: [f64; N],
    pub(super) at: [f64; N],
}

impl<const N: usize> Steps<N> {
    /// From the sums at the points t.
    #[inline(always)]
    pub(super) fn from(
        sums: &Sums<N>,
        radius: &[f64; N],
        t: &[f64; N],
        far: &[f64; N],
        moments: &Moments<N>,
    ) -> Steps<N> {
        let zero = [0.0; N];
        let (mut psi, mut off, mut slope, mut plain, mut short) = (zero, zero, zero, zero, zero);
        let (mut is_short, mut at_least, mut loss, mut at) = ([false; N], zero, zero, zero);
        for i in 0..N {
            psi[i] = sums.log_mean[i] + sums.log_inverse[i];
            off[i] = psi[i] - radius[i];
            let (off, inverse) = (off[i], sums.inverse[i]);
            let ratio = sums.squares[i] / inverse;
            // The derivatives of ψ.
            slope[i] = inverse - ratio;
            let slope = slope[i];
            let bend = 2.0 * sums.cubes[i] / inverse - sums.squares[i] - ratio * ratio;
            plain[i] = -off / slope;
            is_short[i] = plain[i].abs() < t[i] / 32.0;
            short[i] = t[i] + plain[i] / (1.0 - off * bend / (2.0 * slope * slope));
            // e^−ε G = e^off / A, and 1 − t A is the rest: nothing is lost where t is large.
            let grown = off * (1.0 + off * (0.5 + off * (1.0 / 6.0 + off / 24.0)));
            let bound = (sums.rest[i] + grown) / inverse;
            // B from here to its greatest value: the integral of (e^ψ−ε − 1) dt.
            let cubic = off * off * off * (1.0 / 6.0 + off / 24.0);
            let ahead = (0.5 * off * off + cubic + bend / (slope * slope) * cubic) / -slope;
            let ahead = if ahead.abs() < f64::INFINITY { ahead } else { 0.0 };
            at_least[i] = moments.largest[i] * bound;
            let least = moments.largest[i] * (bound + ahead);
            let least = if least > moments.mean[i] { moments.mean[i] } else { least };
            loss[i] = if least < 0.0 { 0.0 } else { least };
            at[i] = if far[i] > 0.125 * t[i] { t[i] / far[i] } else { -t[i] };
        }
        Steps { psi, off, slope, plain, short, is_short, at_least, loss, at }
    }
}
