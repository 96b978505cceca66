//! Cached optimistic or pessimistic estimates of Kullback–Leibler balls over whole states, reused across stages and
//! plans.
//!
//! A row is solved again only if it was visited since, or if the loss of one of its observed next states has changed.
//! If interventions are the configurations, only rows that can be optimal are solved (`pruned_rows.rs`).

use super::kl::{FEW_VALUES, KlBalls};
use crate::loops::kl_ball::{LANES, Rows};
use crate::loops::simd;

/// Cached least losses of the rows of a stage.
#[derive(Clone, Debug)]
pub(super) struct Backend {
    /// Least losses, `[row]`.
    least: Vec<f64>,
    /// The last lookahead for which the least loss was valid, `[row]`; 0 if the row was visited since.
    settled: Vec<u32>,
    /// End point of the last search, `[row]`: the start of the next one, which does not affect its result.
    ended: Vec<f64>,
    /// Number of the present lookahead, from 1.
    look: u32,
    /// Loss of each next value at the last lookahead, and the lookahead of its last change.
    losses: Vec<f64>,
    changed: Vec<u32>,
    /// The lookahead of the last change of any loss, and the number of unchanged losses at the present one.
    last_change: u32,
    n_unchanged: usize,
    /// Rows to solve, and their numbers.
    pending: Rows<LANES>,
    rows: [u32; LANES],
}

/// Number of rows of a tile up to which they are moved to be solved with others.
const FEW_WRONG: usize = 2;

impl Backend {
    /// An empty cache.
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

    /// Bytes of the cache: a least loss, its lookahead and end point for every row; losses and lookaheads of values;
    /// and rows side by side.
    pub(super) fn bytes(n_rows: u128, n_values: u128) -> u128 {
        let values = n_values.saturating_mul(8 + 4 + 16 * LANES as u128);
        n_rows.saturating_mul(8 + 4 + 8).saturating_add(values)
    }

    /// Invalidates a visited row.
    pub(super) fn touch(&mut self, row: usize) {
        self.settled[row] = 0;
    }

    /// Begins a lookahead with the values for which the balls are prepared.
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

    /// Whether the cached loss of a row is valid for this lookahead, without a search; if so, the row is marked as
    /// settled.
    #[inline(always)]
    pub(super) fn is_right(&mut self, balls: &KlBalls, row: usize) -> bool {
        let at = self.settled[row];
        if at == self.look {
            return true;
        }
        let seen = balls.seen_of(row);
        let unchanged = || self.last_change <= at || seen.iter().all(|&v| self.changed[v as usize] <= at);
        if seen.is_empty() {
            // Any distribution is possible.
            self.least[row] = 0.0;
        } else if at == 0 || seen.len() > self.n_unchanged || !unchanged() {
            // A row with more observed values than there are unchanged ones has observed a changed one.
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

    /// The least loss of a settled row.
    #[inline(always)]
    pub(super) fn least(&self, row: usize) -> f64 {
        self.least[row]
    }

    /// Where the next search begins.
    #[inline(always)]
    pub(super) fn start(&self, row: usize) -> f64 {
        self.ended[row]
    }

    /// Sets the start of the next search.
    #[inline(always)]
    pub(super) fn begin_at(&mut self, row: usize, start: f64) {
        self.ended[row] = start;
    }

    /// Stores a row's least loss and the end point of the search.
    #[inline(always)]
    pub(super) fn found(&mut self, row: usize, least: f64, at: f64) {
        (self.least[row], self.ended[row], self.settled[row]) = (least, at, self.look);
    }

    /// Adds a row to those to solve next; returns whether the batch is full.
    #[inline(always)]
    pub(super) fn ask(&mut self, balls: &KlBalls, row: usize) -> bool {
        self.rows[self.pending.n_rows()] = row as u32;
        balls.add_to(&mut self.pending, row, self.ended[row], |v| balls.losses()[v]);
        self.pending.is_full()
    }

    /// Solves the batch: the rows, and their number.
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

    /// Adds a row, and solves the batch if it is full.
    #[inline(always)]
    fn ask_at_once(&mut self, balls: &KlBalls, row: usize) {
        if self.ask(balls, row) {
            self.answer();
        }
    }

    /// Evaluates the rows of a tile once, and adds the unsolved ones to the batch.
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

    /// The optimistic (or pessimistic) expected next value of every row.
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
