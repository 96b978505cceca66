//! Confidence sets for rows of probabilities, with the optimistic or pessimistic distribution of each.

mod cached_rows;
mod intervals;
mod kl;
mod l1;
mod pruned_rows;

use self::cached_rows::Backend;
use self::intervals::Intervals;
use self::kl::KlBalls;
use self::l1::Balls;
use self::pruned_rows::PrunedRows;
use super::confidence::Confidence;
use super::frame::Frame;
use super::stale::Stale;
use crate::learn::evidence::{Counts, Evidence};
use crate::learn::options::Sets;
use crate::learn::view::FactorLayout;
use crate::plan::{Binary, Expect};

/// Most bytes of a Kullback–Leibler ball over this number of values.
pub(crate) fn ball_bytes(n_values: u128) -> u128 {
    KlBalls::row_bytes(n_values)
}

/// Bytes of the cache of balls over whole states, for one stage.
pub(crate) fn kept_bytes(n_rows: u128, n_values: u128) -> u128 {
    PrunedRows::bytes(n_rows, n_values)
}

/// Whether a set is used optimistically or pessimistically.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Best,
    Worst,
}

impl Side {
    /// The pessimistic estimate is the optimistic one for values times −1, times −1 again.
    fn sign(self) -> f64 {
        match self {
            Side::Best => 1.0,
            Side::Worst => -1.0,
        }
    }
}

/// Rows of confidence sets, `[block][factor]`.
#[derive(Clone, Debug)]
pub(crate) struct SetsBelief {
    confidence: Confidence,
    tables: Vec<Vec<Table>>,
    /// One per stage, for Kullback–Leibler balls over whole states.
    kept: Vec<Stage>,
    touched: Vec<u32>,
    /// Factors and rows whose intervals are requested.
    asked: Vec<(u32, u32)>,
}

/// Cache of balls over whole states for a stage.
#[derive(Clone, Debug)]
enum Stage {
    /// Solves every row.
    Every(Box<Backend>),
    /// Solves only rows that can be optimal.
    PrunedRows(Box<PrunedRows>),
}

impl Stage {
    /// Invalidates a visited row.
    fn touch(&mut self, row: usize) {
        match self {
            Stage::Every(kept) => kept.touch(row),
            Stage::PrunedRows(pruned_rows) => pruned_rows.touch(row),
        }
    }
}

/// One factor's sets.
#[derive(Clone, Debug)]
enum Table {
    Intervals(Intervals),
    Balls(Balls),
    KlBalls(KlBalls),
}

impl Expect for Table {
    #[inline(always)]
    fn expect_next<'a>(&self, row: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
        match self {
            Table::Intervals(t) => t.expect_next(row, at, out),
            Table::Balls(t) => t.expect_next(row, at, out),
            Table::KlBalls(t) => t.expect_next(row, at, out),
        }
    }

    #[inline(always)]
    fn expect_run<'a>(&self, row: usize, n_tiles: usize, at: impl Fn(usize) -> &'a [f64], out: &mut [f64]) {
        match self {
            Table::Intervals(t) => t.expect_run(row, n_tiles, at, out),
            Table::Balls(t) => t.expect_run(row, n_tiles, at, out),
            Table::KlBalls(t) => t.expect_run(row, n_tiles, at, out),
        }
    }

    fn in_place(&self) -> Option<Binary<'_>> {
        match self {
            Table::Intervals(t) => t.in_place(),
            Table::Balls(_) | Table::KlBalls(_) => None,
        }
    }
}

impl Table {
    /// Sets that contain all distributions, or a known transition.
    fn new(factor: &FactorLayout, n_causes: usize, kind: Sets, side: Side) -> Table {
        let (cells, n_values) = (factor.n_state_rows * n_causes, factor.n_values);
        let known =
            |cell: usize, v: usize, known: &[f64]| known[(cell / n_causes * n_values + v) * n_causes + cell % n_causes];
        match (&factor.known, n_values, kind) {
            (None, 2, _) => Table::Intervals(Intervals { lo: vec![0.0; cells], hi: vec![1.0; cells], side, n_causes }),
            (Some(table), 2, _) => {
                let p: Vec<f64> = (0..cells).map(|cell| known(cell, 1, table)).collect();
                Table::Intervals(Intervals { lo: p.clone(), hi: p, side, n_causes })
            }
            (None, _, Sets::Mixture) => {
                Table::KlBalls(KlBalls::new(factor.n_rows, n_values, factor.rows_of_cells().map(<[u32]>::to_vec), side))
            }
            (Some(table), _, Sets::Mixture) => {
                let mut balls = KlBalls::new(cells, n_values, None, side);
                (0..cells).for_each(|cell| balls.set(cell, (0..n_values).map(|v| known(cell, v, table)), 0.0));
                Table::KlBalls(balls)
            }
            (None, _, Sets::Kl | Sets::L1) => Table::Balls(Balls::new(cells, n_values, side)),
            (Some(table), _, Sets::Kl | Sets::L1) => {
                let mut balls = Balls::new(cells, n_values, side);
                balls.prob.copy_from_slice(table);
                balls.movable.fill(0.0);
                Table::Balls(balls)
            }
        }
    }

    /// Sets the balls of the cells that share rows of counts.
    fn set_balls(
        &mut self,
        confidence: &Confidence,
        factor: &FactorLayout,
        rows: &[u32],
        n_causes: usize,
        counts: &Counts,
    ) {
        let of = |i: usize| (counts.values(rows[i] as usize), counts.n_r[rows[i] as usize]);
        match self {
            Table::Intervals(_) => unreachable!("invariant: intervals are found for all factors together"),
            Table::Balls(t) => {
                for (i, &row) in rows.iter().enumerate() {
                    let (counts, n) = of(i);
                    let movable = confidence.movable(counts.len(), n);
                    factor.for_each_cell(row as usize, |cell| {
                        t.movable[cell] = movable;
                        let (state_row, cause) = (cell / n_causes, cell % n_causes);
                        for (v, &count) in counts.iter().enumerate() {
                            let frequency = if n == 0 { 0.0 } else { f64::from(count) / f64::from(n) };
                            t.prob[(state_row * counts.len() + v) * n_causes + cause] = frequency;
                        }
                    });
                }
            }
            Table::KlBalls(t) => {
                for (i, &row) in rows.iter().enumerate() {
                    let (counts, n) = of(i);
                    let frequencies = counts.iter().map(|&k| if k == 0 { 0.0 } else { f64::from(k) / f64::from(n) });
                    t.set(row as usize, frequencies, confidence.divergence(counts, n));
                }
            }
        }
    }
}

impl SetsBelief {
    /// Confidence sets with their optimistic or pessimistic use. With a margin, if interventions are the
    /// configurations, whole-stage lookaheads need only be right for rows that can be optimal in their state up to it.
    pub(crate) fn new(frame: &Frame, confidence: Confidence, side: Side, margin: Option<f64>) -> SetsBelief {
        let layout = frame.layout();
        let tables =
            || layout.factors.iter().map(|f| Table::new(f, layout.n_causes, confidence.kind(), side)).collect();
        let mut tables: Vec<Vec<Table>> = (0..frame.view.n_blocks).map(|_| tables()).collect();
        let kept = if layout.flat && matches!(&tables[0][..], [Table::KlBalls(_)]) {
            let margin = margin.filter(|_| frame.view.actions.is_some() && frame.ceiling.is_empty());
            for table in tables.iter_mut().flatten() {
                match (table, margin) {
                    (Table::KlBalls(balls), None) => balls.lay_side_by_side(),
                    (Table::KlBalls(balls), Some(_)) => balls.lay_in_line(),
                    (Table::Balls(_) | Table::Intervals(_), _) => {}
                }
            }
            let (cells, n_states) = (layout.cells(), layout.n_states());
            let stage = || match margin {
                None => Stage::Every(Backend::new(cells, n_states).into()),
                Some(margin) => Stage::PrunedRows(PrunedRows::new(cells, n_states, n_states, margin).into()),
            };
            (0..layout.horizon).map(|_| stage()).collect()
        } else {
            Vec::new()
        };
        // Rows that can be visited between two plans.
        let rows = |factor: &FactorLayout| factor.n_rows;
        let asked = Vec::with_capacity(layout.factors.iter().filter(|factor| factor.n_values == 2).map(rows).sum());
        let touched = Vec::with_capacity(layout.factors.iter().map(rows).max().unwrap_or(0));
        SetsBelief { confidence, tables, kept, touched, asked }
    }

    /// Updates the changed rows.
    pub(crate) fn update(&mut self, frame: &Frame, evidence: &Evidence, stale: &mut Stale) {
        let layout = frame.layout();
        for (block, counts) in evidence.transitions.iter().enumerate() {
            self.asked.clear();
            for (i, (factor, counts)) in layout.factors.iter().zip(counts).enumerate() {
                stale.take(block, i, &mut self.touched);
                match &mut self.tables[block][i] {
                    // Computed below for all factors together, several at a time.
                    Table::Intervals(_) => self.asked.extend(self.touched.iter().map(|&row| (i as u32, row))),
                    table @ (Table::Balls(_) | Table::KlBalls(_)) => {
                        table.set_balls(&self.confidence, factor, &self.touched, layout.n_causes, counts);
                    }
                }
                for (_, kept) in self.kept.iter_mut().enumerate().filter(|(stage, _)| frame.view.block(*stage) == block)
                {
                    self.touched.iter().for_each(|&row| kept.touch(row as usize));
                }
            }
            let (asked, tables) = (&self.asked, &mut self.tables[block]);
            let of = |i: usize| {
                let (factor, row) = (asked[i].0 as usize, asked[i].1 as usize);
                (counts[factor].values(row), counts[factor].n_r[row])
            };
            self.confidence.intervals(asked.len(), of, |i, (lo, hi)| {
                let (factor, row) = (asked[i].0 as usize, asked[i].1 as usize);
                if let Table::Intervals(t) = &mut tables[factor] {
                    layout.factors[factor].for_each_cell(row, |cell| (t.lo[cell], t.hi[cell]) = (lo, hi));
                }
            });
        }
    }

    /// Optimistic or pessimistic E[next value | s, c], `[state][cause]`: no rewards, no ceiling.
    pub(crate) fn expect(&mut self, frame: &mut Frame, stage: usize, next_value: &[f64], out: &mut Vec<f64>) {
        let block = frame.view.block(stage);
        self.prepare(block, next_value);
        frame.contraction.apply(&self.tables[block], next_value, out, &mut frame.spare);
    }

    /// Bounds of every single probability of a factor, as `[state row][cause][value]`: the least, and the greatest.
    pub(crate) fn entries(&self, frame: &Frame, block: usize, factor: usize) -> [Vec<f64>; 2] {
        let layout = frame.layout();
        let FactorLayout { n_state_rows, n_values, .. } = layout.factors[factor];
        let n_causes = layout.n_causes;
        let mut ends = [0, 1].map(|_| Vec::with_capacity(n_state_rows * n_causes * n_values));
        for cell in 0..n_state_rows * n_causes {
            let mut add = |(lo, hi): (f64, f64)| {
                ends[0].push(lo);
                ends[1].push(hi);
            };
            match &self.tables[block][factor] {
                Table::Intervals(t) => {
                    add((1.0 - t.hi[cell], 1.0 - t.lo[cell]));
                    add((t.lo[cell], t.hi[cell]));
                }
                Table::Balls(t) => (0..n_values).for_each(|v| add(t.entry(cell, n_causes, v))),
                Table::KlBalls(t) => t.entries(cell, &mut add),
            }
        }
        ends
    }

    /// q of a stage; returns whether losses were written instead, as `LOSSES` requests.
    pub(crate) fn look<const LOSSES: bool>(
        &mut self,
        frame: &mut Frame,
        stage: usize,
        next_value: &[f64],
        q: &mut Vec<f64>,
    ) -> bool {
        let block = frame.view.block(stage);
        // Only balls over whole states have a cache.
        if let ([Table::KlBalls(balls)], Some(kept)) = (&mut self.tables[block][..], self.kept.get_mut(stage)) {
            balls.prepare(next_value);
            match (kept, &frame.view.actions) {
                (Stage::PrunedRows(pruned_rows), Some(list)) => {
                    let rewards = (&frame.reward_sc[..], frame.caps[stage]);
                    pruned_rows.look::<LOSSES>(balls, next_value, list, rewards, q);
                    return LOSSES;
                }
                (Stage::PrunedRows(_), None) => unreachable!("invariant: rivals are interventions of a list"),
                (Stage::Every(kept), _) => kept.look(balls, q),
            }
        } else {
            self.expect(frame, stage, next_value, q);
        }
        if frame.ceiling.is_empty() {
            frame.values::<LOSSES>(stage, q);
            return LOSSES;
        }
        for (cell, q) in q.iter_mut().enumerate() {
            *q = frame.value(stage, cell, *q, 0.0);
        }
        frame.lower_ceiling(stage, q);
        false
    }

    /// q(s, ·) of one state.
    pub(crate) fn look_at(&mut self, frame: &Frame, stage: usize, state: usize, next_value: &[f64], q: &mut Vec<f64>) {
        let block = frame.view.block(stage);
        self.prepare(block, next_value);
        frame.expect_at(&self.tables[block], state, next_value, q);
        for (c, q) in q.iter_mut().enumerate() {
            *q = frame.value(stage, state * frame.n_causes() + c, *q, 0.0);
        }
    }

    /// For whole states, every row has the same next values.
    fn prepare(&mut self, block: usize, next_value: &[f64]) {
        let [table] = &mut self.tables[block][..] else { return };
        match table {
            Table::Balls(balls) if balls.n_values == next_value.len() => balls.prepare(next_value),
            Table::KlBalls(balls) if balls.n_values == next_value.len() => balls.prepare(next_value),
            Table::Balls(_) | Table::KlBalls(_) | Table::Intervals(_) => {}
        }
    }
}
