//! Each loop of `loops/` as it is used, and its plain twin.

use std::hint::black_box;

use super::numbers;
use crate::loops::balls::{best_of_balls, best_of_balls_plainly};
use crate::loops::gamma::{BATCH, Gammas, Lanes};
use crate::loops::kl_ball::{self, Ball, Rows};
use crate::loops::mean::{mean_of_run, mean_of_run_plainly};
use crate::loops::normalise::{normalise, normalise_plainly};
use crate::loops::pairs::{sum_out, sum_out_pairs};
use crate::loops::pick::{least, least_plainly};
use crate::loops::simd;
use crate::loops::weigh::{weigh_here, weigh_plainly};
use crate::random::gamma;

/// Which version of a loop runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// The plain loop.
    Plain,
    /// The plain loop, compiled for the widest registers of the machine.
    PlainWide,
    /// The hand-tuned loop.
    Fast,
}

impl Version {
    #[inline(always)]
    fn run<T>(self, on: &mut T, plain: impl FnOnce(&mut T), fast: impl FnOnce(&mut T)) {
        let on = black_box(on);
        match self {
            Version::Plain => plain(on),
            Version::PlainWide => simd::wide(
                #[inline(always)]
                || plain(on),
            ),
            Version::Fast => simd::wide(
                #[inline(always)]
                || fast(on),
            ),
        }
    }
}

/// A loop with its arrays.
pub trait Loop {
    /// Runs it once.
    fn run(&mut self, version: Version);

    /// What the last run computed.
    fn result(&self) -> &[f64];
}

/// The optimistic member of each of `n_causes` balls of distributions over `n_values` values.
#[derive(Clone, Debug)]
pub struct Balls {
    order: Vec<usize>,
    next: Vec<f64>,
    prob: Vec<f64>,
    movable: Vec<f64>,
    out: Vec<f64>,
}

impl Balls {
    /// One row of balls.
    pub fn new(n_values: usize, n_causes: usize) -> Balls {
        let next = numbers(n_values);
        let mut order: Vec<usize> = (0..n_values).collect();
        order.sort_by(|&a, &b| next[a].total_cmp(&next[b]));
        let prob = numbers(n_values * n_causes).into_iter().map(|p| p / n_values as f64).collect();
        Balls { order, next, prob, movable: numbers(n_causes), out: vec![0.0; n_causes] }
    }
}

impl Loop for Balls {
    fn run(&mut self, version: Version) {
        version.run(
            self,
            #[inline(always)]
            |x| best_of_balls_plainly(&x.order, &x.next, &x.prob, &x.movable, &mut x.out),
            #[inline(always)]
            |x| best_of_balls(&x.order, &x.next, &x.prob, &x.movable, &mut x.out),
        );
    }

    fn result(&self) -> &[f64] {
        &self.out
    }
}

/// The optimistic member of each of some Kullback–Leibler balls of distributions over `n_values` values. The versions add up in different
/// orders, so their last bits differ.
#[derive(Clone, Debug)]
pub struct KlBalls {
    n_values: usize,
    prob: Vec<f64>,
    next: Vec<f64>,
    ball: Ball,
    out: Vec<f64>,
}

impl KlBalls {
    /// Rows of which every value was seen.
    pub fn new(n_values: usize, n_rows: usize) -> KlBalls {
        let mut prob = numbers(n_values * n_rows);
        for row in prob.chunks_exact_mut(n_values) {
            let sum: f64 = row.iter().map(|p| p + 0.1).sum();
            row.iter_mut().for_each(|p| *p = (*p + 0.1) / sum);
        }
        KlBalls { n_values, prob, next: numbers(n_values), ball: Ball::new(0.05), out: vec![0.0; n_rows] }
    }

    #[inline(always)]
    fn run_side_by_side<const N: usize>(&mut self) {
        let best = self.next.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut rows = Rows::<N>::default();
        for (some, out) in self.prob.chunks(N * self.n_values).zip(self.out.chunks_mut(N)) {
            for row in some.chunks_exact(self.n_values) {
                rows.add(row.iter().zip(&self.next).map(|(p, next)| (*p, best - next)), self.ball, f64::NAN);
            }
            out.iter_mut().zip(rows.solve()).for_each(|(out, found)| *out = found.loss);
        }
    }
}

impl Loop for KlBalls {
    fn run(&mut self, version: Version) {
        version.run(
            self,
            #[inline(always)]
            |x| x.run_side_by_side::<1>(),
            #[inline(always)]
            |x| x.run_side_by_side::<{ kl_ball::LANES }>(),
        );
    }

    fn result(&self) -> &[f64] {
        &self.out
    }
}

/// Weighted losses of `n_settings` settings.
#[derive(Clone, Debug)]
pub struct Weighed {
    prob: Vec<f64>,
    loss: Vec<f64>,
    values: Vec<f64>,
}

impl Weighed {
    /// The table of one state.
    pub fn new(n_causes: usize, n_settings: usize) -> Weighed {
        Weighed { prob: numbers(n_causes * n_settings), loss: numbers(n_causes), values: vec![0.0; n_settings] }
    }
}

impl Loop for Weighed {
    fn run(&mut self, version: Version) {
        version.run(
            self,
            #[inline(always)]
            |x| weigh_plainly(&x.prob, &x.loss, &mut x.values),
            #[inline(always)]
            |x| weigh_here(&x.prob, &x.loss, &mut x.values),
        );
    }

    fn result(&self) -> &[f64] {
        &self.values
    }
}

/// The least of some numbers.
#[derive(Clone, Debug)]
pub struct Least {
    values: Vec<f64>,
    found: [f64; 1],
}

impl Least {
    /// Of `n` numbers.
    pub fn new(n: usize) -> Least {
        Least { values: numbers(n), found: [0.0] }
    }
}

impl Loop for Least {
    fn run(&mut self, version: Version) {
        version.run(
            self,
            #[inline(always)]
            |x| x.found = [least_plainly(&x.values)],
            #[inline(always)]
            |x| x.found = [least(&x.values)],
        );
    }

    fn result(&self) -> &[f64] {
        &self.found
    }
}

/// Means over `n_values` values for every cause.
#[derive(Clone, Debug)]
pub struct Means {
    n_causes: usize,
    n_tiles: usize,
    /// Numbers that say what a value is worth.
    width: usize,
    prob: Vec<f64>,
    next: Vec<f64>,
    out: Vec<f64>,
}

impl Means {
    /// One row; what follows is the same for all causes.
    pub fn shared(n_values: usize, n_causes: usize) -> Means {
        let (prob, next) = (numbers(n_values * n_causes), numbers(n_values));
        Means { n_causes, n_tiles: 1, width: 1, prob, next, out: vec![0.0; n_causes] }
    }

    /// Several tiles that share a row; what follows differs from cause to cause.
    pub fn tiles(n_values: usize, n_causes: usize, n_tiles: usize) -> Means {
        let out = vec![0.0; n_tiles * n_causes];
        let (prob, next) = (numbers(n_values * n_causes), numbers(n_values * n_tiles * n_causes));
        Means { n_causes, n_tiles, width: out.len(), prob, next, out }
    }
}

/// What a value is worth.
#[inline(always)]
fn at<'a>(next: &'a [f64], width: usize) -> impl Fn(usize) -> &'a [f64] {
    move |v| &next[v * width..][..width]
}

impl Loop for Means {
    fn run(&mut self, version: Version) {
        version.run(
            self,
            #[inline(always)]
            |x| mean_of_run_plainly(&x.prob, x.n_causes, x.n_tiles, at(&x.next, x.width), &mut x.out),
            #[inline(always)]
            |x| mean_of_run(&x.prob, x.n_causes, x.n_tiles, at(&x.next, x.width), &mut x.out),
        );
    }

    fn result(&self) -> &[f64] {
        &self.out
    }
}

/// Values of the eight combinations of three groups with two causes and two settings each.
#[derive(Clone, Debug)]
pub struct Pairs {
    groups: Vec<[f64; 4]>,
    loss: [f64; 8],
    out: Vec<f64>,
    spare: Vec<f64>,
}

impl Default for Pairs {
    fn default() -> Pairs {
        let groups = numbers(12).as_chunks::<4>().0.to_vec();
        let loss = numbers(8).try_into().expect("eight numbers");
        Pairs { groups, loss, out: Vec::new(), spare: Vec::new() }
    }
}

impl Loop for Pairs {
    /// Without wide registers, as it is used.
    fn run(&mut self, version: Version) {
        let Pairs { groups, loss, out, spare } = black_box(self);
        if version == Version::Fast {
            let mut values = *loss;
            sum_out_pairs(groups, None, &mut values);
            out.clear();
            out.extend_from_slice(&values);
            return;
        }
        out.clear();
        out.extend_from_slice(loss);
        for (g, prob) in groups.iter().enumerate() {
            std::mem::swap(out, spare);
            sum_out(prob, 2, 2, spare, 1 << g, out);
        }
    }

    fn result(&self) -> &[f64] {
        &self.out
    }
}

/// Rows divided by their sums.
#[derive(Clone, Debug)]
pub struct Normalised {
    n_rows: usize,
    variates: Vec<f32>,
    out: Vec<f64>,
}

impl Normalised {
    /// `n_rows` rows of `n_values` values, side by side.
    pub fn new(n_values: usize, n_rows: usize) -> Normalised {
        let variates = numbers(n_values * n_rows).into_iter().map(|g| g as f32).collect();
        Normalised { n_rows, variates, out: vec![0.0; n_values * n_rows] }
    }
}

impl Loop for Normalised {
    fn run(&mut self, version: Version) {
        version.run(
            self,
            #[inline(always)]
            |x| normalise_plainly(&x.variates, x.n_rows, &mut x.out),
            #[inline(always)]
            |x| normalise(&x.variates, x.n_rows, &mut x.out),
        );
    }

    fn result(&self) -> &[f64] {
        &self.out
    }
}

/// Gamma variates of many cells, all of the same shape. The plain ones have the same distribution, not the same bits.
#[derive(Clone, Debug)]
pub struct GammaVariates {
    shape: f64,
    gammas: Gammas,
    random: Lanes,
    generator: rand_xoshiro::Xoshiro256PlusPlus,
    out: Vec<f64>,
}

impl GammaVariates {
    /// Variates for `n_cells` cells, in whole batches.
    pub fn new(n_cells: usize, shape: f64) -> GammaVariates {
        let n_batches = n_cells.div_ceil(BATCH);
        GammaVariates {
            shape,
            gammas: Gammas::new(n_batches, shape),
            random: Lanes::new(1),
            generator: rand::SeedableRng::seed_from_u64(1),
            out: vec![0.0; n_batches * BATCH],
        }
    }
}

impl Loop for GammaVariates {
    fn run(&mut self, version: Version) {
        version.run(
            self,
            #[inline(always)]
            |x| x.out.iter_mut().for_each(|out| *out = gamma(x.shape, &mut x.generator)),
            #[inline(always)]
            |x| x.gammas.draw(0..x.gammas.variates.len(), &mut x.random),
        );
    }

    /// Of the last plain run.
    fn result(&self) -> &[f64] {
        &self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_that_are_compared_compute_the_same() {
        let loops: [fn() -> Box<dyn Loop>; 7] = [
            || Box::new(Balls::new(8, 64)),
            || Box::new(Weighed::new(8, 343)),
            || Box::new(Least::new(343)),
            || Box::new(Means::shared(8, 64)),
            || Box::new(Means::tiles(2, 8, 4)),
            || Box::<Pairs>::default(),
            || Box::new(Normalised::new(8, 64)),
        ];
        for (i, new) in loops.into_iter().enumerate() {
            let [plain, wide, fast] = [Version::Plain, Version::PlainWide, Version::Fast].map(|version| {
                let mut one = new();
                one.run(version);
                one.result().to_vec()
            });
            assert!(plain == wide && plain == fast, "loop {i}");
        }
    }
}
