//! Cached optimistic or pessimistic estimates of Kullback–Leibler balls over whole states, reused across stages and
//! plans.
//!
//! A row is solved again only if it was visited since, or if the loss of one of its observed next states has changed.
//! If interventions are the configurations, only rows that can be optimal are solved (`pruned_rows.rs`).

use super::kl::{FEW_VALUES, KlBalls};
use crate::loops::kl_ball::{LANES, Rows};
use crate::loops::simd;

/// What the rows of a stage lost at least, at the last looks.
#[derive(Clone, Debug)]
pub(super) struct Backend {
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
    /// The look at which one of them was, and how many were not at this one.
    last_change: u32,
    n_unchanged: usize,
    /// Rows that are being solved, and which they are.
    pending: Rows<LANES>,
    rows: [u32; LANES],
}

/// Rows of a tile up to which they are moved to be solved with others.
const FEW_WRONG: usize = 2;

impl Backend {
    /// Nothing yet.
    pub(super) fn new(n_rows: usize, n_values: usize) -> Backend {
        Backend {
            least: vec![0.0; n_rows],
            settled: vec![0; n_rows],
            ended: vec![f64::NAN; n_rows],
            look: 0,
            losses: vec![f64::NAN; n_values],
            changed: vec![0; n_values],
            last_change: 0,
            n_unchanged: 0,
            pending: Rows::with_room(if n_values <= FEW_VALUES { n_values } else { 0 }),
            rows: [0; LANES],
        }
    }

    /// Bytes that this takes: a least loss, the look for it and where it was found of every row; losses and looks of values, and rows
    /// side by side.
    pub(super) fn bytes(n_rows: u128, n_values: u128) -> u128 {
        let values = n_values.saturating_mul(8 + 4 + 16 * LANES as u128);
        n_rows.saturating_mul(8 + 4 + 8).saturating_add(values)
    }

    /// A row was seen.
    pub(super) fn touch(&mut self, row: usize) {
        self.settled[row] = 0;
    }

    /// Begins a look at values that the balls are prepared for.
    pub(super) fn begin(&mut self, balls: &KlBalls) {
        if self.look == u32::MAX {
            (self.look, self.last_change) = (0, 0);
            self.settled.fill(0);
            self.changed.fill(0);
        }
        self.look += 1;
        self.n_unchanged = self.losses.len();
        for ((now, before), changed) in balls.losses().iter().zip(&mut self.losses).zip(&mut self.changed) {
            if now.to_bits() != before.to_bits() {
                (*before, *changed, self.last_change) = (*now, self.look, self.look);
                self.n_unchanged -= 1;
            }
        }
    }

    /// Whether what is known of a row is right for this look, without a search; it is marked so then.
    #[inline(always)]
    pub(super) fn is_right(&mut self, balls: &KlBalls, row: usize) -> bool {
        let at = self.settled[row];
        if at == self.look {
            return true;
        }
        let seen = balls.seen_of(row);
        let unchanged = || self.last_change <= at || seen.iter().all(|&v| self.changed[v as usize] <= at);
        if seen.is_empty() {
            // Everything may be.
            self.least[row] = 0.0;
        } else if at == 0 || seen.len() > self.n_unchanged || !unchanged() {
            // A row of more values than have not changed just now has seen one that has.
            return false;
        }
        self.settled[row] = self.look;
        true
    }

    /// Whether a row's least loss is known for this look.
    #[inline(always)]
    pub(super) fn is_settled(&self, row: usize) -> bool {
        self.settled[row] == self.look
    }

    /// What it is, then.
    #[inline(always)]
    pub(super) fn least(&self, row: usize) -> f64 {
        self.least[row]
    }

    /// Where the next search begins.
    #[inline(always)]
    pub(super) fn start(&self, row: usize) -> f64 {
        self.ended[row]
    }

    /// Tells where the next search begins.
    #[inline(always)]
    pub(super) fn begin_at(&mut self, row: usize, start: f64) {
        self.ended[row] = start;
    }

    /// A row's least loss was found, and where.
    #[inline(always)]
    pub(super) fn found(&mut self, row: usize, least: f64, at: f64) {
        (self.least[row], self.ended[row], self.settled[row]) = (least, at, self.look);
    }

    /// Adds a row to those that are solved next; whether they are as many as are solved at a time.
    #[inline(always)]
    pub(super) fn ask(&mut self, balls: &KlBalls, row: usize) -> bool {
        self.rows[self.pending.n_rows()] = row as u32;
        balls.add_to(&mut self.pending, row, self.ended[row], |v| balls.losses()[v]);
        self.pending.is_full()
    }

    /// Solves them: the rows, and how many they are.
    #[inline(always)]
    pub(super) fn answer(&mut self) -> ([u32; LANES], usize) {
        let (rows, n) = (self.rows, self.pending.n_rows());
        if n > 0 {
            for (&row, found) in rows[..n].iter().zip(self.pending.solve()) {
                self.found(row as usize, found.loss, found.at);
            }
        }
        (rows, n)
    }

    /// Adds a row, and solves them if they are as many as are solved at a time.
    #[inline(always)]
    fn ask_at_once(&mut self, balls: &KlBalls, row: usize) {
        if self.ask(balls, row) {
            self.answer();
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
                self.answer();
            },
        );
        let (sign, best) = (balls.sign(), balls.best());
        q.clear();
        q.extend(self.least.iter().map(|least| sign * (best - least)));
    }
}
