//! Kullback–Leibler balls around the frequencies of rows, and their optimistic or pessimistic distribution.

use super::Side;
use crate::learn::belief::confidence::kl_interval;
use crate::loops::kl_ball::{Ball, LANES, Lanes, Once, Rows, look_once};
use crate::plan::Expect;

/// A ball for every count row, stored by observed values, and the rows that cells share.
#[derive(Clone, Debug)]
pub(super) struct KlBalls {
    rows: Vec<Row>,
    /// Row of every cell; without it, their own numbering.
    row_of: Option<Vec<u32>>,
    pub(super) n_values: usize,
    side: Side,
    /// The best next value, and the loss of each value against it, if all rows share them and they are prepared;
    /// values times the sign of the side.
    best: f64,
    losses: Vec<f64>,
    /// The same balls side by side, if they have few values each and whole tables are solved at a time.
    tiles: Option<Tiles>,
    /// The same balls in contiguous memory, if they have few values each and rows are moved: frequencies of all
    /// values, ε and e^−ε, `[row]`.
    lines: Option<Vec<f64>>,
}

/// Balls of adjacent rows, `LANES` to a tile.
#[derive(Clone, Debug)]
struct Tiles {
    /// Frequencies, `[tile][value][lane]`; zeros in lanes without a row.
    mass: Vec<[f64; LANES]>,
    /// ε and e^−ε, `[tile][lane]`
    radius: Vec<[f64; LANES]>,
    kept: Vec<[f64; LANES]>,
}

impl Tiles {
    fn set(&mut self, row: usize, n_values: usize, Row { ball, seen, prob }: &Row) {
        let (tile, lane) = (row / LANES, row % LANES);
        let mass = &mut self.mass[tile * n_values..][..n_values];
        mass.iter_mut().for_each(|mass| mass[lane] = 0.0);
        seen.iter().zip(prob).for_each(|(&v, &p)| mass[v as usize][lane] = p);
        (self.radius[tile][lane], self.kept[tile][lane]) = (ball.radius, ball.kept);
    }
}

/// One ball: memory for the observed values, in powers of two.
#[derive(Clone, Debug)]
struct Row {
    ball: Ball,
    /// The observed values.
    seen: Vec<u32>,
    /// Their frequencies.
    prob: Vec<f64>,
}

/// Number of values up to which a row has room for all of them from the beginning.
pub(super) const FEW_VALUES: usize = 64;

/// Number of values up to which rows are also stored side by side.
const TILED_VALUES: usize = 16;

impl Row {
    /// Reserves room for this many values, and never more than there are.
    fn reserve(&mut self, n: usize, n_values: usize) {
        if n > self.prob.capacity() {
            let room = n.next_power_of_two().min(n_values);
            self.prob.reserve_exact(room - self.prob.len());
            self.seen.reserve_exact(room - self.seen.len());
        }
    }
}

impl KlBalls {
    /// Balls that contain all distributions.
    pub(super) fn new(n_rows: usize, n_values: usize, row_of: Option<Vec<u32>>, side: Side) -> KlBalls {
        let row = || {
            let mut row = Row { ball: Ball::new(f64::INFINITY), seen: Vec::new(), prob: Vec::new() };
            row.reserve(if n_values <= FEW_VALUES { n_values } else { 0 }, n_values);
            row
        };
        let rows = (0..n_rows).map(|_| row()).collect();
        KlBalls { rows, row_of, n_values, side, best: 0.0, losses: Vec::new(), tiles: None, lines: None }
    }

    /// Also stores rows of few values side by side, for [`KlBalls::look_at_tile`].
    pub(super) fn lay_side_by_side(&mut self) {
        if self.n_values > TILED_VALUES {
            return;
        }
        let n_tiles = self.rows.len().div_ceil(LANES);
        let mut tiles = Tiles {
            mass: vec![[0.0; LANES]; n_tiles * self.n_values],
            radius: vec![[f64::INFINITY; LANES]; n_tiles],
            kept: vec![[0.0; LANES]; n_tiles],
        };
        for (i, row) in self.rows.iter().enumerate() {
            tiles.set(i, self.n_values, row);
        }
        self.tiles = Some(tiles);
    }

    /// Also stores rows of few values contiguously, for [`KlBalls::fill`].
    pub(super) fn lay_in_line(&mut self) {
        if self.n_values <= TILED_VALUES {
            let row = std::iter::repeat_n(0.0, self.n_values).chain([f64::INFINITY, 0.0]);
            self.lines = Some((0..self.rows.len()).flat_map(|_| row.clone()).collect());
            (0..self.rows.len()).for_each(|row| self.set_line(row));
        }
    }

    /// Whether rows are stored contiguously.
    #[inline(always)]
    pub(super) fn are_in_line(&self) -> bool {
        self.lines.is_some()
    }

    fn set_line(&mut self, i: usize) {
        let Some(lines) = &mut self.lines else { return };
        let Row { ball, seen, prob } = &self.rows[i];
        let line = &mut lines[i * (self.n_values + 2)..][..self.n_values + 2];
        line.fill(0.0);
        seen.iter().zip(prob).for_each(|(&v, &p)| line[v as usize] = p);
        (line[self.n_values], line[self.n_values + 1]) = (ball.radius, ball.kept);
    }

    /// Puts a contiguous row into a lane, with a given start of the search.
    #[inline(always)]
    pub(super) fn fill(&self, lanes: &mut Lanes, lane: usize, row: usize, start: f64) {
        let n = self.n_values;
        let lines = self.lines.as_ref().expect("invariant: asked for only where rows lie in line");
        let line = &lines[row * (n + 2)..][..n + 2];
        for (mass, p) in lanes.mass.iter_mut().zip(line) {
            mass[lane] = *p;
        }
        (lanes.radius[lane], lanes.kept[lane], lanes.start[lane]) = (line[n], line[n + 1], start);
    }

    /// Whether rows are stored side by side.
    pub(super) fn are_side_by_side(&self) -> bool {
        self.tiles.is_some()
    }

    /// One evaluation of the rows of a tile, with given starts of the searches.
    #[inline(always)]
    pub(super) fn look_at_tile(&self, tile: usize, start: &[f64; LANES]) -> Once<LANES> {
        let tiles = self.tiles.as_ref().expect("invariant: asked for only where rows lie side by side");
        let mass = &tiles.mass[tile * self.n_values..][..self.n_values];
        look_once(mass, &self.losses[..self.n_values], (&tiles.radius[tile], &tiles.kept[tile]), start)
    }

    /// Bytes of a ball over this number of values at most.
    pub(super) fn row_bytes(n_values: u128) -> u128 {
        let aside = if n_values <= TILED_VALUES as u128 { n_values.saturating_mul(8).saturating_add(16) } else { 0 };
        n_values.saturating_mul(8 + 4).saturating_add(aside).saturating_add(size_of::<Row>() as u128)
    }

    /// Sets a row's centre and its radius.
    pub(super) fn set(&mut self, i: usize, frequencies: impl Iterator<Item = f64> + Clone, radius: f64) {
        let row = &mut self.rows[i];
        let of_seen = frequencies.zip(0..).filter(|(p, _)| *p > 0.0);
        row.reserve(of_seen.clone().count(), self.n_values);
        row.seen.clear();
        row.prob.clear();
        for (p, v) in of_seen {
            row.seen.push(v);
            row.prob.push(p);
        }
        row.ball = Ball::new(radius);
        if let Some(tiles) = &mut self.tiles {
            tiles.set(i, self.n_values, row);
        }
        self.set_line(i);
    }

    /// Computes the losses of the next values against the best, once for all rows and configurations.
    pub(super) fn prepare(&mut self, next_value: &[f64]) {
        let sign = self.side.sign();
        self.best = next_value.iter().fold(f64::NEG_INFINITY, |best, v| best.max(sign * v));
        self.losses.clear();
        self.losses.extend(next_value.iter().map(|v| self.best - sign * v));
    }

    /// Adds a row to those to solve next, with the losses of values and a start of the search.
    #[inline(always)]
    pub(super) fn add_to(&self, rows: &mut Rows<LANES>, row: usize, start: f64, loss: impl Fn(usize) -> f64) {
        let Row { ball, seen, prob } = &self.rows[row];
        rows.add(seen.iter().zip(prob).map(|(&v, &p)| (p, loss(v as usize))), *ball, start);
    }

    /// The observed values of a row.
    #[inline(always)]
    pub(super) fn seen_of(&self, row: usize) -> &[u32] {
        &self.rows[row].seen
    }

    /// Whether a row has visits.
    #[inline(always)]
    pub(super) fn is_seen(&self, row: usize) -> bool {
        !self.rows[row].seen.is_empty()
    }

    /// The best of the prepared next values, times the sign.
    pub(super) fn best(&self) -> f64 {
        self.best
    }

    /// The loss of each of them.
    #[inline(always)]
    pub(super) fn losses(&self) -> &[f64] {
        &self.losses
    }

    /// Sign of the values.
    pub(super) fn sign(&self) -> f64 {
        self.side.sign()
    }

    /// Bounds of the probability of each value in a cell: a ball is a Kullback–Leibler interval in every single
    /// coordinate.
    pub(super) fn entries(&self, cell: usize, add: &mut impl FnMut((f64, f64))) {
        let row = self.row_of.as_ref().map_or(cell, |rows| rows[cell] as usize);
        let Row { ball: Ball { radius, .. }, seen, prob } = &self.rows[row];
        let (radius, first) = (*radius, prob);
        let unseen = if seen.is_empty() { (0.0, 1.0) } else { kl_interval(0.0, radius) };
        let mut place = 0;
        for v in 0..self.n_values {
            if seen.get(place).is_some_and(|&at| at as usize == v) {
                add(kl_interval(first[place], radius));
                place += 1;
            } else {
                add(unseen);
            }
        }
    }
}

impl Expect for KlBalls {
    #[inline(always)]
    fn expect_next<'a>(&self, row: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
        let n = out.len();
        let sign = self.side.sign();
        let row_of = |c: usize| match &self.row_of {
            None => row * n + c,
            Some(rows) => rows[row * n + c] as usize,
        };
        let best_of = |c: usize| (0..self.n_values).fold(f64::NEG_INFINITY, |best, v| best.max(sign * at(v)[c]));
        let shared = at(0).len() == 1;
        let prepared = shared && !self.losses.is_empty();
        let best = match (prepared, shared) {
            (true, _) => self.best,
            (false, true) => best_of(0),
            (false, false) => 0.0,
        };
        let mut rows = Rows::<LANES>::default();
        for (chunk, out) in out.chunks_mut(LANES).enumerate() {
            let mut bests = [best; LANES];
            for (i, best) in bests.iter_mut().enumerate().take(out.len()) {
                let c = chunk * LANES + i;
                let place = if shared { 0 } else { c };
                if !shared {
                    *best = best_of(c);
                }
                if prepared {
                    self.add_to(&mut rows, row_of(c), f64::NAN, |v| self.losses[v]);
                } else {
                    self.add_to(&mut rows, row_of(c), f64::NAN, |v| *best - sign * at(v)[place]);
                }
            }
            for ((out, best), found) in out.iter_mut().zip(bests).zip(rows.solve()) {
                *out = sign * (best - found.loss);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cached_rows::Backend;
    use super::*;

    fn number(i: usize) -> f64 {
        (i as f64 * 0.618_034).fract()
    }

    #[test]
    fn cached_rows_have_the_bits_of_rows_computed_anew() {
        for (n_states, n_causes, is_tiled) in [(3, 2, true), (8, 5, false), (8, 5, true), (20, 3, true)] {
            for side in [Side::Best, Side::Worst] {
                let mut balls = KlBalls::new(n_states * n_causes, n_states, None, side);
                if is_tiled {
                    balls.lay_side_by_side();
                }
                assert_eq!(balls.are_side_by_side(), is_tiled && n_states <= TILED_VALUES);
                let mut kept = Backend::new(n_states * n_causes, n_states);
                let mut next: Vec<f64> = (0..n_states).map(|v| number(v * v + 3)).collect();
                let mut q = Vec::new();
                for step in 0..150 {
                    // A row is visited, and sometimes one value or all of them change, by much or by little.
                    let row = step * 7 % (n_states * n_causes);
                    let counts: Vec<u32> = (0..n_states).map(|v| (step * (v + row) % 5) as u32).collect();
                    let n: u32 = counts.iter().sum();
                    if n > 0 {
                        let shares = counts.iter().map(|&k| f64::from(k) / f64::from(n));
                        balls.set(row, shares, 3.0 / f64::from(n));
                        kept.touch(row);
                    }
                    match step % 5 {
                        1 => next[step % n_states] = number(step),
                        2 => next.iter_mut().enumerate().for_each(|(i, v)| *v += 1e-4 * number(step + i)),
                        3 => next.iter_mut().for_each(|v| *v += 0.1),
                        _ => {}
                    }
                    balls.prepare(&next);
                    kept.look(&balls, &mut q);
                    let for_each: Vec<Vec<f64>> = next.iter().map(|&v| vec![v; n_causes]).collect();
                    let mut fresh = balls.clone();
                    fresh.losses.clear();
                    for state in 0..n_states {
                        let expected = &q[state * n_causes..][..n_causes];
                        let mut out = vec![f64::NAN; n_causes];
                        fresh.expect_next(state, |v| &for_each[v], &mut out);
                        assert_eq!(out, expected, "{side:?} step {step} state {state}, values of each cause");
                        fresh.expect_next(state, |v| &next[v..=v], &mut out);
                        assert_eq!(out, expected, "{side:?} step {step} state {state}, values found there");
                        balls.expect_next(state, |v| &next[v..=v], &mut out);
                        assert_eq!(out, expected, "{side:?} step {step} state {state}, values found beforehand");
                    }
                }
            }
        }
    }

    #[test]
    fn hundreds_of_values_are_solved_like_few() {
        for n_values in [15, 120, 1000, 1500] {
            // Twice the values with half the mass each are the same ball.
            let mut out = [[0.0]; 2];
            for (twice, out) in out.iter_mut().enumerate() {
                let m = n_values << twice;
                let mut balls = KlBalls::new(1, m, None, Side::Best);
                balls.set(0, (0..m).map(|_| 1.0 / m as f64), 0.01);
                let next: Vec<f64> = (0..m).map(|v| number(v >> twice)).collect();
                balls.expect_next(0, |v| &next[v..=v], out);
            }
            let [[one], [other]] = out;
            assert!((one - other).abs() < 1e-12, "{n_values}: {one} {other}");
            assert!(one > 0.5 && one < 0.65);
        }
    }
}
