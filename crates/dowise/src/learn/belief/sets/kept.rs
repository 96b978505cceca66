//! The best or worst members of balls over whole states, kept from stage to stage and from plan to plan.
//!
//! A row is solved anew only if it was seen since, or if what a value that it has seen loses has changed. Where interventions are the
//! causes, only rows that can be best are solved at all ([`Rivals`]).

use super::kl::{FEW_VALUES, KlBalls};
use crate::learn::view::ActionList;
use crate::loops::kl_ball::{LANES, Rows};
use crate::loops::pick::{least, n_within, nth_within};
use crate::loops::simd;

/// What the rows of a stage lost at least, at the last looks.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    /// Least losses, `[row]`.
    least: Vec<f64>,
    /// The look for which that was right last, `[row]`; 0 where the row was seen since.
    settled: Vec<u32>,
    /// Where the last search for it ended, `[row]`: where the next one begins, which makes no difference to what it finds.
    ended: Vec<f64>,
    /// Number of the present look, from 1.
    look: u32,
    /// What each next value lost at the last look, and the look at which that was new.
    losses: Vec<f64>,
    changed: Vec<u32>,
    /// The look at which one of them was.
    last_change: u32,
    /// Rows that are being solved, and which they are.
    pending: Rows<LANES>,
    rows: [u32; LANES],
    /// Where only the best of each state counts.
    rivals: Option<Rivals>,
}

/// Upper bounds of what rows are worth: a row whose bound is below what another row is surely worth cannot be best.
///
/// If every next value rose by at most ρ, so did the best expected value of every ball. So a value found once, plus all rises since
/// then, is a bound, and most rows are never solved again before they are near the best. With all rows solved an episode of `ucbvi` at 8
/// states and 64 interventions takes 3.4x as long (example `episode_times`).
#[derive(Clone, Debug)]
struct Rivals {
    /// By how much a row that is not solved must fall short.
    margin: f64,
    /// The next values at the last look.
    values: Vec<f64>,
    /// The sum of the greatest rises of all looks.
    rise: f64,
    /// What a row was worth less the rises up to then, `[row]`; infinite where it is not known.
    bound: Vec<f64>,
    /// Losses and costs of all rows.
    net: Vec<f64>,
    /// States whose best row is not known yet.
    open: Vec<u32>,
}

/// Share of the greatest loss by which a row that is solved may be off.
const SOLVED_WITHIN: f64 = 1e-10;

/// Share of the greatest value by which sums of rises may be off at each look.
const ROUNDING: f64 = 1e-15;

/// Times the greatest value, the sum of rises from which on bounds are forgotten, so that rounding stays small.
const MOST_RISE: f64 = 64.0;

/// Rows of a tile up to which they are moved to be solved with others.
const FEW_WRONG: usize = 2;

impl Kept {
    /// Nothing yet. With a margin, only rows that can be best up to it are solved.
    pub(super) fn new(n_rows: usize, n_values: usize, margin: Option<f64>) -> Kept {
        let rivals = |margin| Rivals {
            margin,
            values: Vec::with_capacity(n_values),
            rise: 0.0,
            bound: vec![f64::INFINITY; n_rows],
            net: Vec::new(),
            open: Vec::with_capacity(n_values),
        };
        Kept {
            least: vec![0.0; n_rows],
            settled: vec![0; n_rows],
            ended: vec![f64::NAN; n_rows],
            look: 0,
            losses: vec![f64::NAN; n_values],
            changed: vec![0; n_values],
            last_change: 0,
            pending: Rows::with_room(if n_values <= FEW_VALUES { n_values } else { 0 }),
            rows: [0; LANES],
            rivals: margin.map(rivals),
        }
    }

    /// Bytes that this takes: a least loss, the look for it, where it was found, a bound and a net loss of every row; values, losses and
    /// looks, and rows side by side.
    pub(super) fn bytes(n_rows: u128, n_values: u128) -> u128 {
        let values = n_values.saturating_mul(8 + 8 + 4 + 16 * LANES as u128);
        n_rows.saturating_mul(8 + 4 + 8 + 8 + 8).saturating_add(values)
    }

    /// Whether only rows that can be best are solved.
    pub(super) fn has_rivals(&self) -> bool {
        self.rivals.is_some()
    }

    /// A row was seen.
    pub(super) fn touch(&mut self, row: usize) {
        self.settled[row] = 0;
        if let Some(rivals) = &mut self.rivals {
            rivals.bound[row] = f64::INFINITY;
        }
    }

    /// Begins a look at values that the balls are prepared for.
    fn begin(&mut self, balls: &KlBalls) {
        if self.look == u32::MAX {
            (self.look, self.last_change) = (0, 0);
            self.settled.fill(0);
            self.changed.fill(0);
        }
        self.look += 1;
        for ((now, before), changed) in balls.losses().iter().zip(&mut self.losses).zip(&mut self.changed) {
            if now.to_bits() != before.to_bits() {
                (*before, *changed, self.last_change) = (*now, self.look, self.look);
            }
        }
    }

    /// Whether what is known of a row is right for this look, without a search; it is marked so then.
    #[inline(always)]
    fn is_right(&mut self, balls: &KlBalls, row: usize) -> bool {
        let at = self.settled[row];
        if at == self.look {
            return true;
        }
        let seen = balls.seen_of(row);
        let unchanged = || self.last_change <= at || seen.iter().all(|&v| self.changed[v as usize] <= at);
        if seen.is_empty() {
            // Everything may be.
            self.least[row] = 0.0;
        } else if at == 0 || !unchanged() {
            return false;
        }
        self.settled[row] = self.look;
        true
    }

    /// Adds a row to those that are solved next.
    #[inline(always)]
    fn ask(&mut self, balls: &KlBalls, row: usize) {
        self.rows[self.pending.n_rows()] = row as u32;
        balls.add_to(&mut self.pending, row, self.ended[row], |v| balls.losses()[v]);
    }

    /// Solves them, and tells of each.
    #[inline(always)]
    fn answer(&mut self, mut tell: impl FnMut(usize, f64)) {
        let n = self.pending.n_rows();
        for (&row, found) in self.rows[..n].iter().zip(self.pending.solve()) {
            let row = row as usize;
            (self.least[row], self.ended[row], self.settled[row]) = (found.loss, found.at, self.look);
            tell(row, found.loss);
        }
    }

    /// The same, and solves them if they are as many as are solved at a time.
    #[inline(always)]
    fn ask_at_once(&mut self, balls: &KlBalls, row: usize) {
        self.ask(balls, row);
        if self.pending.is_full() {
            self.answer(|_, _| {});
        }
    }

    /// The rows from a tile's first on: one look at all of them, and those that are not solved by it asked for.
    #[inline(always)]
    fn look_at_tile(&mut self, balls: &KlBalls, first: usize) {
        let n = LANES.min(self.least.len() - first);
        let (mut wrong, mut n_wrong) = ([false; LANES], 0);
        for i in 0..n {
            wrong[i] = !self.is_right(balls, first + i);
            n_wrong += usize::from(wrong[i]);
        }
        if n_wrong <= FEW_WRONG {
            for i in 0..n {
                if wrong[i] {
                    self.ask_at_once(balls, first + i);
                }
            }
            return;
        }
        let mut start = [f64::NAN; LANES];
        start[..n].copy_from_slice(&self.ended[first..first + n]);
        let once = balls.look_at_tile(first / LANES, &start);
        for i in 0..n {
            if !wrong[i] {
                continue;
            }
            self.ended[first + i] = once.at[i];
            if once.is_found[i] {
                (self.least[first + i], self.settled[first + i]) = (once.loss[i], self.look);
            } else {
                self.ask_at_once(balls, first + i);
            }
        }
    }

    /// The best (or worst) expected next value of every row.
    pub(super) fn look(&mut self, balls: &KlBalls, q: &mut Vec<f64>) {
        self.begin(balls);
        simd::wide(
            #[inline(always)]
            || {
                if balls.are_side_by_side() {
                    // No closures inside: they would be compiled for narrow registers.
                    for tile in 0..self.least.len().div_ceil(LANES) {
                        self.look_at_tile(balls, tile * LANES);
                    }
                } else {
                    for row in 0..self.least.len() {
                        if !self.is_right(balls, row) {
                            self.ask_at_once(balls, row);
                        }
                    }
                }
                if self.pending.n_rows() > 0 {
                    self.answer(|_, _| {});
                }
            },
        );
        let (sign, best) = (balls.sign(), balls.best());
        q.clear();
        q.extend(self.least.iter().map(|least| sign * (best - least)));
    }

    /// min(cap, reward + best expected next value) of every row that may be best in its state up to the margin, as a loss against the
    /// cap if `LOSSES`; of the others something greater (a loss that is less) that still falls short.
    ///
    /// # Cost
    /// A comparison for every row, and the solution of those that come near the best.
    pub(super) fn look_at_rivals<const LOSSES: bool>(
        &mut self,
        balls: &KlBalls,
        next_value: &[f64],
        list: &ActionList,
        (rewards, cap): (&[f64], f64),
        out: &mut Vec<f64>,
    ) {
        self.begin(balls);
        let mut rivals = self.rivals.take().expect("invariant: asked for only where there are rivals");
        rivals.rise_to(next_value);
        let (best, n) = (balls.best(), list.actions.len());
        let spread = balls.losses().iter().fold(0.0, |most: f64, loss| most.max(*loss));
        let margin = rivals.margin + SOLVED_WITHIN * spread;
        // A loss, or the value times −1: the least is the best.
        let finish = |reward: f64, worth: f64| {
            let value = reward + worth;
            let value = if value < cap { value } else { cap };
            if LOSSES { cap - value } else { -value }
        };
        out.clear();
        out.resize(rewards.len(), 0.0);
        simd::wide(
            #[inline(always)]
            || {
                let rise = rivals.rise;
                for ((out, bound), reward) in out.iter_mut().zip(&rivals.bound).zip(rewards) {
                    let bound = bound + rise;
                    *out = finish(*reward, if bound < best { bound } else { best });
                }
                let Rivals { bound, net, open, .. } = &mut rivals;
                let is_free = list.is_free();
                if !is_free {
                    list.charge_all(out, net);
                }
                let mut settle = |row: usize, least: f64, out: &mut [f64], net: &mut [f64], is_seen: bool| {
                    let worth = best - least;
                    if is_seen {
                        bound[row] = worth - rise;
                    }
                    out[row] = finish(rewards[row], worth);
                    if !is_free {
                        net[row] = list.charged(row / n, row % n, out[row]);
                    }
                };
                open.clear();
                open.extend(0..(out.len() / n) as u32);
                // In every round each state that is not done asks for its best row, or for all that may be as good.
                while !open.is_empty() {
                    let mut left = 0;
                    for place in 0..open.len() {
                        let first = open[place] as usize * n;
                        let mut asks = false;
                        loop {
                            let numbers = if is_free { &out[first..first + n] } else { &net[first..first + n] };
                            let best = least(numbers);
                            let i = nth_within(numbers, best, 0).expect("invariant: one of them is the least");
                            let row = first + i;
                            if self.settled[row] != self.look {
                                if self.is_right(balls, row) {
                                    settle(row, self.least[row], out, net, balls.is_seen(row));
                                    continue;
                                }
                                asks = true;
                                self.ask(balls, row);
                                break;
                            }
                            // The best is known: what else may be as good?
                            let limit = best + margin;
                            if n_within(numbers, limit) == 1 {
                                break;
                            }
                            for row in first..first + n {
                                let number = if is_free { out[row] } else { net[row] };
                                if number > limit || self.settled[row] == self.look {
                                    continue;
                                }
                                if self.is_right(balls, row) {
                                    settle(row, self.least[row], out, net, balls.is_seen(row));
                                } else {
                                    asks = true;
                                    self.ask(balls, row);
                                    if self.pending.is_full() {
                                        self.answer(|row, least| settle(row, least, out, net, true));
                                    }
                                }
                            }
                            break;
                        }
                        if self.pending.is_full() {
                            self.answer(|row, least| settle(row, least, out, net, true));
                        }
                        if asks {
                            open[left] = open[place];
                            left += 1;
                        }
                    }
                    open.truncate(left);
                    if self.pending.n_rows() > 0 {
                        self.answer(|row, least| settle(row, least, out, net, true));
                    }
                }
                if !LOSSES {
                    out.iter_mut().for_each(|out| *out = -*out);
                }
            },
        );
        self.rivals = Some(rivals);
    }
}

impl Rivals {
    /// Takes in the next values of a look.
    fn rise_to(&mut self, next_value: &[f64]) {
        let scale = next_value.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
        let steps = next_value.iter().zip(&self.values).map(|(now, then)| now - then);
        let rise = steps.fold(f64::NEG_INFINITY, f64::max);
        if self.values.len() == next_value.len() {
            self.rise += rise + ROUNDING * scale;
        }
        self.values.clear();
        self.values.extend_from_slice(next_value);
        if self.rise.abs() > MOST_RISE * scale {
            self.rise = 0.0;
            self.bound.fill(f64::INFINITY);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Side;
    use super::*;
    use crate::World;
    use crate::worlds::Paper;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// With costs and without.
    fn lists() -> [(usize, ActionList); 2] {
        let spec = Paper::default().spec().unwrap();
        let mut costly = spec.clone();
        costly.variables.iter_mut().filter(|v| v.kind == crate::world::Kind::Lever).for_each(|lever| {
            lever.costs = vec![(lever.values[0].clone(), 0.1.into())];
        });
        [spec, costly].map(|spec| {
            let world = World::new(spec).unwrap();
            (world.n_states(), ActionList::new(&world, world.interventions().count()).unwrap())
        })
    }

    #[test]
    fn of_rows_that_can_be_best_every_one_is_right_to_the_bit_and_no_other_is_near() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let (margin, cap) = (1e-6, 3.0);
        for (n_states, list) in lists() {
            let n_actions = list.actions.len();
            let n_rows = n_states * n_actions;
            let mut balls = KlBalls::new(n_rows, n_states, None, Side::Best);
            let mut counts = vec![vec![0u32; n_states]; n_rows];
            let mut all = Kept::new(n_rows, n_states, None);
            let mut rivals = Kept::new(n_rows, n_states, Some(margin));
            // Few different rewards, so that there are ties.
            let rewards: Vec<f64> = (0..n_rows).map(|_| f64::from(rng.random_range(0..4u8)) / 4.0).collect();
            let mut next: Vec<f64> = (0..n_states).map(|_| rng.random()).collect();
            let (mut q, mut losses, mut values, mut net, mut right) = (vec![], vec![], vec![], vec![], 0);
            for step in 0..400 {
                for _ in 0..rng.random_range(0..40) {
                    let (row, v) = (rng.random_range(0..n_rows), rng.random_range(0..n_states));
                    counts[row][v] += if rng.random_bool(0.05) { 100 } else { 1 };
                    let n: u32 = counts[row].iter().sum();
                    balls.set(row, counts[row].iter().map(|&k| f64::from(k) / f64::from(n)), 5.0 / f64::from(n));
                    all.touch(row);
                    rivals.touch(row);
                }
                match step % 7 {
                    0 => next.iter_mut().for_each(|v| *v = rng.random()),
                    1 => next[step % n_states] += 0.01 * (rng.random::<f64>() - 0.5),
                    2 => next.iter_mut().for_each(|v| *v -= 0.02 * rng.random::<f64>()),
                    3 if step % 5 == 0 => next.fill(0.25),
                    4 => next.iter_mut().for_each(|v| *v += 0.3),
                    5 => {}
                    _ => next.iter_mut().for_each(|v| *v *= 0.97),
                }
                balls.prepare(&next);
                all.look(&balls, &mut q);
                rivals.look_at_rivals::<true>(&balls, &next, &list, (&rewards, cap), &mut losses);
                rivals.look_at_rivals::<false>(&balls, &next, &list, (&rewards, cap), &mut values);
                for state in 0..n_states {
                    let here = state * n_actions..(state + 1) * n_actions;
                    let expected: Vec<f64> = here
                        .clone()
                        .map(|row| cap - if rewards[row] + q[row] < cap { rewards[row] + q[row] } else { cap })
                        .collect();
                    list.charge(state, &expected, &mut net);
                    let best = net.iter().copied().fold(f64::INFINITY, f64::min);
                    for (i, row) in here.enumerate() {
                        let (bound, loss) = (losses[row], expected[i]);
                        assert!(bound <= loss + 1e-10, "step {step} row {row}: {bound} bounds {loss}");
                        assert!((cap - values[row] - losses[row]).abs() < 1e-12, "losses and values differ");
                        right += usize::from(losses[row] == expected[i]);
                        let cost = list.charged(state, i, 0.0);
                        if losses[row] + cost <= best + margin || net[i] <= best + margin {
                            assert_eq!(losses[row].to_bits(), expected[i].to_bits(), "step {step} row {row}");
                        }
                    }
                }
            }
            assert!(right < 400 * n_rows, "some rows were left out");
        }
    }
}
