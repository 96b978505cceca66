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

pub(crate) use self::once::{Lanes, Once, look_once};
use crate::math::{exp, ln_of_normal};

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

/// Sums over rows at a point t of each.
struct Sums<const N: usize> {
    /// Σ p ln(t + d), the logarithm of G
    log_mean: [f64; N],
    /// A = Σ p / (t + d), and the same with squares and cubes
    inverse: [f64; N],
    squares: [f64; N],
    cubes: [f64; N],
    /// Σ p d / (t + d) = 1 − t A
    rest: [f64; N],
    /// ln A
    log_inverse: [f64; N],
}

/// What the next look at a point is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Looks {
    /// The solution, from a point of the grid.
    For,
    /// Whether the solution is at zero.
    AtZero,
    /// On which side of the middle of two points of the grid the solution is.
    AtMiddle,
    /// At the point that is nearest to it.
    AtLast,
    /// Nowhere: it was found.
    Nowhere,
}

/// Bits of a number below the grid, and half a step of it.
const BELOW: u64 = (1 << 43) - 1;
const HALF: u64 = 1 << 42;

/// Share of a step of the grid around the middle of two points in which a look decides.
const MIDDLE: u64 = 1 << 33;

/// The nearest point of the grid; `None` if a look at the middle has to say which it is.
fn snap(t: f64) -> Option<f64> {
    let bits = t.to_bits();
    if (bits & BELOW).abs_diff(HALF) < MIDDLE { None } else { Some(f64::from_bits((bits + HALF) & !BELOW)) }
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

    /// Σ q d of the members that lose least, one for each row that was added; no rows are left then.
    ///
    /// # Cost
    /// One or two sums of logarithms over the values of the rows if searches begin near their ends, else about four.
    #[inline(always)]
    pub(crate) fn solve(&mut self) -> [Least; N] {
        let places = self.n.iter().fold(0, |most, &n| most.max(n));
        let (mass, loss) = (&self.mass[..places], &mut self.loss[..places]);
        let moments = Moments::of(
            mass,
            #[inline(always)]
            |v| loss[v],
        );
        let Moments { mean, largest, scale, centre, second, .. } = moments;
        let far = moments.far(&self.radius);
        let mut on_best = [0.0; N];
        for (p, d) in mass.iter().zip(&mut *loss) {
            for i in 0..N {
                d[i] *= scale[i];
                on_best[i] += if d[i] < SMALLEST { p[i] } else { 0.0 };
            }
        }
        let mut found = [Least { loss: 0.0, at: f64::NAN }; N];
        let (mut t, mut looks, mut is_told) = ([1.0; N], [Looks::Nowhere; N], [false; N]);
        let mut is_guess = [false; N];
        for i in 0..self.n_rows {
            let radius = self.radius[i];
            found[i].loss = self.kept[i] * mean[i];
            if self.n[i] == 0 || largest[i] < TINY {
                // All mass may move to the best value; also where losses are too small to be given from none.
                found[i].loss = 0.0;
            } else if self.n[i] > 1 && radius > 0.0 && second[i] > ONE_VALUE * centre[i] * centre[i] {
                // Otherwise there is one value in all but rounding: it keeps e^−ε, the rest goes to the best.
                let knowledge = knowledge(self.start[i], far[i]);
                is_told[i] = knowledge > NEAR && knowledge < FARTHEST;
                // Where the last search ended at zero this one looks there first.
                is_guess[i] = self.start[i] == 0.0 && on_best[i] == 0.0 && far[i] > 0.0;
                (t[i], looks[i]) = match (is_told[i], is_guess[i]) {
                    (true, _) => (on_grid(knowledge), Looks::For),
                    (_, true) => (0.0, Looks::AtZero),
                    (false, false) => first(mass, loss, i, far[i], on_best[i], radius),
                };
                // Also where the solution is too near to 0 to be given from it.
                found[i].loss = 0.0;
            }
        }
        let (mut below, mut above, mut saw_zero) = ([0.0; N], [f64::INFINITY; N], [false; N]);
        for step in 0..MOST_STEPS {
            if looks.iter().all(|looks| *looks == Looks::Nowhere) {
                break;
            }
            let sums = sums_at(
                mass,
                #[inline(always)]
                |v| loss[v],
                &[1.0; N],
                &t,
            );
            let steps = Steps::from(&sums, &self.radius, &t, &far, &moments);
            for i in 0..N {
                if looks[i] == Looks::Nowhere {
                    continue;
                }
                let radius = self.radius[i];
                let (psi, off, slope, plain) = (steps.psi[i], steps.off[i], steps.slope[i], steps.plain[i]);
                let here = t[i];
                match looks[i] {
                    Looks::AtZero => {
                        saw_zero[i] = !is_guess[i];
                        if off <= 0.0 {
                            found[i].loss = (largest[i] * (self.kept[i] * exp(sums.log_mean[i]))).min(mean[i]);
                            found[i].at = 0.0;
                            looks[i] = Looks::Nowhere;
                        } else if is_guess[i] {
                            is_guess[i] = false;
                            (t[i], looks[i]) = first(mass, loss, i, far[i], on_best[i], radius);
                        } else {
                            t[i] = on_grid(2.0 * psi / slope * (1.0 - (psi / radius).sqrt()));
                            looks[i] = Looks::For;
                        }
                        continue;
                    }
                    Looks::AtMiddle => {
                        let down = here.to_bits() - HALF;
                        t[i] = f64::from_bits(if off > 0.0 { down + BELOW + 1 } else { down });
                        looks[i] = Looks::AtLast;
                        continue;
                    }
                    Looks::For | Looks::AtLast | Looks::Nowhere => {}
                }
                *(if off > 0.0 { &mut below[i] } else { &mut above[i] }) = here;
                let is_short = steps.is_short[i];
                let mut to = if is_short {
                    steps.short[i]
                } else if psi > 1.0 {
                    // Near 0, where ψ is nearly linear in ln t.
                    here * exp((plain / here).clamp(-4.0, 4.0))
                } else {
                    here + 2.0 * psi / slope * (1.0 - (psi.max(0.0) / radius).sqrt())
                };
                // A number that is none ends it too.
                let is_last = looks[i] == Looks::AtLast || step + 1 == MOST_STEPS || to.is_nan();
                if is_last || (is_short && snap(to) == Some(here)) {
                    found[i] = Least { loss: steps.loss[i], at: steps.at[i] };
                    looks[i] = Looks::Nowhere;
                    continue;
                }
                if is_told[i] && to < NEAR {
                    // What is near zero depends on where a search begins, so it begins as if it had not been given.
                    (below[i], above[i], is_told[i]) = (0.0, f64::INFINITY, false);
                    (t[i], looks[i]) = first(mass, loss, i, far[i], on_best[i], radius);
                    continue;
                }
                if to <= 0.0 && on_best[i] == 0.0 && !saw_zero[i] {
                    (t[i], looks[i]) = (0.0, Looks::AtZero);
                    continue;
                }
                if is_short && snap(to).is_none() {
                    (t[i], looks[i]) = (f64::from_bits(to.to_bits() & !BELOW | HALF), Looks::AtMiddle);
                    continue;
                }
                to = on_grid(to);
                let inside = to > below[i] && to < above[i];
                if !inside && !is_short {
                    to = on_grid(if above[i] < f64::INFINITY { 0.5 * (below[i] + above[i]) } else { 2.0 * below[i] });
                }
                t[i] = to;
            }
        }
        self.clear(places);
        found
    }

    fn clear(&mut self, places: usize) {
        self.mass[..places].fill([0.0; N]);
        self.loss[..places].fill([1.0; N]);
        (self.n, self.n_rows) = ([0; N], 0);
    }
}

/// Where a search begins that was not known where, and for what.
#[inline(always)]
fn first<const N: usize>(
    mass: &[[f64; N]],
    loss: &[[f64; N]],
    lane: usize,
    far: f64,
    on_best: f64,
    radius: f64,
) -> (f64, Looks) {
    if far > 0.0 {
        return (on_grid(far), Looks::For);
    }
    if on_best == 0.0 {
        return (0.0, Looks::AtZero);
    }
    near(mass, loss, lane, on_best, radius).map_or((1.0, Looks::Nowhere), |t| (on_grid(t), Looks::For))
}

/// A point of the grid near a positive number; one from which a search goes on for others.
fn on_grid(t: f64) -> f64 {
    if t > SMALLEST { f64::from_bits((t.to_bits() + HALF) & !BELOW) } else { SMALLEST_ON_GRID }
}

/// About [`SMALLEST`].
const SMALLEST_ON_GRID: f64 = f64::from_bits(SMALLEST.to_bits() & !BELOW);

/// What is known of rows before any look at a point.
struct Moments<const N: usize> {
    /// Σ p d
    mean: [f64; N],
    /// The greatest loss of a value with mass, and one over it.
    largest: [f64; N],
    scale: [f64; N],
    /// The mean, and Σ p (d − mean)² and the same with cubes, of losses as shares of the greatest.
    centre: [f64; N],
    second: [f64; N],
    third: [f64; N],
}

impl<const N: usize> Moments<N> {
    /// Of masses and what each place loses.
    #[inline(always)]
    fn of(mass: &[[f64; N]], loss: impl Fn(usize) -> [f64; N]) -> Moments<N> {
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
    fn far(&self, radius: &[f64; N]) -> [f64; N] {
        let mut far = [0.0; N];
        for i in 0..N {
            let root = (self.second[i] / (2.0 * radius[i])).sqrt();
            far[i] = root - self.centre[i] - self.third[i] / self.second[i] * (2.0 / 3.0);
        }
        far
    }
}

/// Where a search begins that is given ([`Least::at`]).
#[inline(always)]
fn knowledge(start: f64, far: f64) -> f64 {
    if start < 0.0 { -start } else { start * far }
}

#[inline(always)]
fn sums_at<const N: usize>(
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
struct Steps<const N: usize> {
    psi: [f64; N],
    /// ψ − ε
    off: [f64; N],
    /// ψ'
    slope: [f64; N],
    /// Newton's step, and where the one of third order leads.
    plain: [f64; N],
    short: [f64; N],
    /// Whether the step is so short that the latter is meant.
    is_short: [bool; N],
    /// B here, if ψ − ε is small.
    at_least: [f64; N],
    /// [`Least`], from here.
    loss: [f64; N],
    at: [f64; N],
}

impl<const N: usize> Steps<N> {
    #[inline(always)]
    fn from(sums: &Sums<N>, radius: &[f64; N], t: &[f64; N], far: &[f64; N], moments: &Moments<N>) -> Steps<N> {
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

/// Where to begin near t = 0 with mass on the best value; `None` if the solution is too near to be given from 0.
///
/// There ψ(t) ≈ (mass − 1) ln t + Σ p ln d + ln mass + ln(1 + t Σ p / (d mass)).
fn near<const N: usize>(mass: &[[f64; N]], loss: &[[f64; N]], lane: usize, on_best: f64, radius: f64) -> Option<f64> {
    let (mut logs, mut inverse) = (0.0, 0.0);
    for (p, d) in mass.iter().zip(loss) {
        if d[lane] >= SMALLEST {
            logs += p[lane] * ln_of_normal(d[lane]);
            inverse += p[lane] / d[lane];
        }
    }
    let constant = logs + ln_of_normal(on_best) - radius;
    let first = exp(constant / (1.0 - on_best));
    let t = exp((constant + ln_of_normal(1.0 + first * inverse / on_best)) / (1.0 - on_best));
    // With nearly all mass on the best value, beside losses that differ by powers of ten, this may not be finite.
    if t < SMALLEST { None } else { Some(t.min(1.0)) }
}

/// More than ever needed: after each step outside of what is left, that is halved.
const MOST_STEPS: usize = 100;

#[cfg(test)]
mod tests;
