//! The search for the least loss of each row: Newton's method on a grid, several rows side by side.

use super::sums::{Moments, Steps, Sums, sums_at};
use super::{FARTHEST, Least, NEAR, ONE_VALUE, Rows, SMALLEST, TINY};
use crate::math::{exp, ln_of_normal};

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
pub(super) const BELOW: u64 = (1 << 43) - 1;
pub(super) const HALF: u64 = 1 << 42;

/// Share of a step of the grid around the middle of two points in which a look decides.
pub(super) const MIDDLE: u64 = 1 << 33;

/// About [`SMALLEST`].
const SMALLEST_ON_GRID: f64 = f64::from_bits(SMALLEST.to_bits() & !BELOW);

/// More than ever needed: after each step outside of what is left, that is halved.
const MOST_STEPS: usize = 100;

/// Rows side by side, as a search reads them.
struct Problem<'a, const N: usize> {
    mass: &'a [[f64; N]],
    /// As shares of the greatest loss of the row.
    loss: &'a [[f64; N]],
    /// ε and e^−ε
    radius: &'a [f64; N],
    kept: &'a [f64; N],
    moments: &'a Moments<N>,
    /// Where the solutions would be if they were far out.
    far: &'a [f64; N],
    /// Mass on the best value.
    on_best: &'a [f64; N],
}

/// Where the searches stand, one to a lane.
struct Search<const N: usize> {
    /// Where the next look is, and what it is for.
    t: [f64; N],
    looks: [Looks; N],
    /// Whether the search began at the point that it was given.
    is_given: [bool; N],
    /// Whether a look at zero is a guess from the last search, and whether another look was there.
    is_guess: [bool; N],
    saw_zero: [bool; N],
    /// Between which points the solution is.
    below: [f64; N],
    above: [f64; N],
    found: [Least; N],
}

impl<const N: usize> Rows<N> {
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
        let far = moments.far(&self.radius);
        let mut on_best = [0.0; N];
        for (p, d) in mass.iter().zip(&mut *loss) {
            for i in 0..N {
                d[i] *= moments.scale[i];
                on_best[i] += if d[i] < SMALLEST { p[i] } else { 0.0 };
            }
        }
        let (radius, kept, loss) = (&self.radius, &self.kept, &*loss);
        let problem = Problem { mass, loss, radius, kept, moments: &moments, far: &far, on_best: &on_best };
        let mut search = problem.begin(&self.n[..self.n_rows], &self.start);
        for step in 0..MOST_STEPS {
            if search.looks.iter().all(|looks| *looks == Looks::Nowhere) {
                break;
            }
            let sums = sums_at(
                mass,
                #[inline(always)]
                |v| loss[v],
                &[1.0; N],
                &search.t,
            );
            let steps = Steps::from(&sums, radius, &search.t, &far, &moments);
            for i in 0..N {
                match search.looks[i] {
                    Looks::Nowhere => {}
                    Looks::AtZero => search.leave_zero(i, &problem, &sums, &steps),
                    Looks::AtMiddle => {
                        let down = search.t[i].to_bits() - HALF;
                        search.t[i] = f64::from_bits(if steps.off[i] > 0.0 { down + BELOW + 1 } else { down });
                        search.looks[i] = Looks::AtLast;
                    }
                    Looks::For | Looks::AtLast => search.go_on(i, &problem, &steps, step + 1 == MOST_STEPS),
                }
            }
        }
        let found = search.found;
        self.clear(places);
        found
    }

    fn clear(&mut self, places: usize) {
        self.mass[..places].fill([0.0; N]);
        self.loss[..places].fill([1.0; N]);
        (self.n, self.n_rows) = ([0; N], 0);
    }
}

impl<const N: usize> Problem<'_, N> {
    /// Searches of rows with this many values each; each begins where it is given, if that is a number.
    #[inline(always)]
    fn begin(&self, n: &[usize], start: &[f64; N]) -> Search<N> {
        let Moments { mean, largest, centre, second, .. } = self.moments;
        let mut search = Search {
            t: [1.0; N],
            looks: [Looks::Nowhere; N],
            is_given: [false; N],
            is_guess: [false; N],
            saw_zero: [false; N],
            below: [0.0; N],
            above: [f64::INFINITY; N],
            found: [Least { loss: 0.0, at: f64::NAN }; N],
        };
        for (i, &n) in n.iter().enumerate() {
            search.found[i].loss = self.kept[i] * mean[i];
            if n == 0 || largest[i] < TINY {
                // All mass may move to the best value; also where losses are too small to be distinguished from none.
                search.found[i].loss = 0.0;
            } else if n > 1 && self.radius[i] > 0.0 && second[i] > ONE_VALUE * centre[i] * centre[i] {
                // Otherwise there is one value in all but rounding: it keeps e^−ε, the rest goes to the best.
                let given = given_start(start[i], self.far[i]);
                search.is_given[i] = given > NEAR && given < FARTHEST;
                // Where the last search ended at zero this one looks there first.
                search.is_guess[i] = start[i] == 0.0 && self.on_best[i] == 0.0 && self.far[i] > 0.0;
                (search.t[i], search.looks[i]) = match (search.is_given[i], search.is_guess[i]) {
                    (true, _) => (on_grid(given), Looks::For),
                    (_, true) => (0.0, Looks::AtZero),
                    (false, false) => self.first(i),
                };
                // Also where the solution is too near to 0 to be distinguished from it.
                search.found[i].loss = 0.0;
            }
        }
        search
    }

    /// Where a search begins that was given no point, and what its first look is for.
    #[inline(always)]
    fn first(&self, lane: usize) -> (f64, Looks) {
        let (far, on_best) = (self.far[lane], self.on_best[lane]);
        if far > 0.0 {
            return (on_grid(far), Looks::For);
        }
        if on_best == 0.0 {
            return (0.0, Looks::AtZero);
        }
        let near = near(self.mass, self.loss, lane, on_best, self.radius[lane]);
        near.map_or((1.0, Looks::Nowhere), |t| (on_grid(t), Looks::For))
    }
}

impl<const N: usize> Search<N> {
    /// After a look at zero: the solution is there, or the search goes on from another point.
    #[inline(always)]
    fn leave_zero(&mut self, i: usize, problem: &Problem<'_, N>, sums: &Sums<N>, steps: &Steps<N>) {
        self.saw_zero[i] = !self.is_guess[i];
        if steps.off[i] <= 0.0 {
            let Moments { mean, largest, .. } = problem.moments;
            self.found[i].loss = (largest[i] * (problem.kept[i] * exp(sums.log_mean[i]))).min(mean[i]);
            self.found[i].at = 0.0;
            self.looks[i] = Looks::Nowhere;
        } else if self.is_guess[i] {
            self.is_guess[i] = false;
            (self.t[i], self.looks[i]) = problem.first(i);
        } else {
            let psi = steps.psi[i];
            self.t[i] = on_grid(2.0 * psi / steps.slope[i] * (1.0 - (psi / problem.radius[i]).sqrt()));
            self.looks[i] = Looks::For;
        }
    }

    /// After a look at a point of the grid: the solution is near, or the search goes on from a nearer point.
    #[inline(always)]
    fn go_on(&mut self, i: usize, problem: &Problem<'_, N>, steps: &Steps<N>, is_last_step: bool) {
        let (psi, here, is_short) = (steps.psi[i], self.t[i], steps.is_short[i]);
        *(if steps.off[i] > 0.0 { &mut self.below[i] } else { &mut self.above[i] }) = here;
        let mut to = if is_short {
            steps.short[i]
        } else if psi > 1.0 {
            // Near 0, where ψ is nearly linear in ln t.
            here * exp((steps.plain[i] / here).clamp(-4.0, 4.0))
        } else {
            here + 2.0 * psi / steps.slope[i] * (1.0 - (psi.max(0.0) / problem.radius[i]).sqrt())
        };
        // A number that is none ends it too.
        let is_last = self.looks[i] == Looks::AtLast || is_last_step || to.is_nan();
        if is_last || (is_short && snap(to) == Some(here)) {
            self.found[i] = Least { loss: steps.loss[i], at: steps.at[i] };
            self.looks[i] = Looks::Nowhere;
            return;
        }
        if self.is_given[i] && to < NEAR {
            // What is near zero depends on where a search begins, so it begins as if it had not been given.
            (self.below[i], self.above[i], self.is_given[i]) = (0.0, f64::INFINITY, false);
            (self.t[i], self.looks[i]) = problem.first(i);
            return;
        }
        if to <= 0.0 && problem.on_best[i] == 0.0 && !self.saw_zero[i] {
            (self.t[i], self.looks[i]) = (0.0, Looks::AtZero);
            return;
        }
        if is_short && snap(to).is_none() {
            (self.t[i], self.looks[i]) = (f64::from_bits(to.to_bits() & !BELOW | HALF), Looks::AtMiddle);
            return;
        }
        to = on_grid(to);
        let (below, above) = (self.below[i], self.above[i]);
        let inside = to > below && to < above;
        if !inside && !is_short {
            to = on_grid(if above < f64::INFINITY { 0.5 * (below + above) } else { 2.0 * below });
        }
        self.t[i] = to;
    }
}

/// Where a search begins that is given ([`Least::at`]).
#[inline(always)]
pub(super) fn given_start(start: f64, far: f64) -> f64 {
    if start < 0.0 { -start } else { start * far }
}

/// The nearest point of the grid; `None` if a look at the middle has to say which it is.
fn snap(t: f64) -> Option<f64> {
    let bits = t.to_bits();
    if (bits & BELOW).abs_diff(HALF) < MIDDLE { None } else { Some(f64::from_bits((bits + HALF) & !BELOW)) }
}

/// A point of the grid near a positive number; one from which a search goes on for others.
fn on_grid(t: f64) -> f64 {
    if t > SMALLEST { f64::from_bits((t.to_bits() + HALF) & !BELOW) } else { SMALLEST_ON_GRID }
}

/// Where to begin near t = 0 with mass on the best value; `None` if the solution is too near to be distinguished from
/// 0.
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
