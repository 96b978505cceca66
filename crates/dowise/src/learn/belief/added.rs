//! Exploration bonuses: the widths of all rows, summed for every state and configuration of key variables.

use super::width::{Plain, WidthParts, Widths};
use crate::learn::view::{FactorLayout, Layout, Walk};

/// Widths with the required statistics of every row.
#[derive(Clone, Debug)]
pub(crate) struct Added {
    pub(crate) widths: Widths,
    /// One for each block of stages.
    blocks: Vec<Block>,
    walk: Walk,
}

/// Stage-free parts of the widths of one block.
#[derive(Clone, Debug)]
struct Block {
    /// Contribution of each row of each factor, `[factor][row]`.
    of_rows: Vec<Vec<(WidthParts, f64)>>,
    /// `[state][cause]`; infinite if some factor's row is unvisited.
    first: Vec<f64>,
    second: Vec<f64>,
    /// Configurations with a row changed since the last summation, as bits, `[factor][state row][cause / 64]`; empty
    /// for a single factor.
    stale: Vec<Vec<u64>>,
}

impl Added {
    pub(crate) fn new(widths: Widths, layout: &Layout, n_blocks: usize) -> Added {
        let cells = layout.n_states() * layout.n_causes;
        let unseen = |(i, f): (usize, &FactorLayout)| vec![widths.of_count(i, 0); f.n_rows];
        let words = words(layout);
        let fresh = |f: &FactorLayout| vec![0; if f.known.is_some() { 0 } else { f.n_state_rows * words }];
        // If every transition is known, there is no uncertainty.
        let known = layout.factors.iter().all(|f| f.known.is_some());
        let block = Block {
            of_rows: layout.factors.iter().enumerate().map(unseen).collect(),
            first: vec![if known { 0.0 } else { f64::INFINITY }; cells],
            second: vec![0.0; cells],
            stale: if layout.flat { vec![] } else { layout.factors.iter().map(fresh).collect() },
        };
        let blocks = vec![block; n_blocks];
        Added { widths, blocks, walk: Walk::default() }
    }

    /// Sets a row with `n` visits.
    pub(crate) fn set(&mut self, layout: &Layout, block: usize, factor: usize, row: usize, n: u32) {
        let of = &mut self.blocks[block];
        of.of_rows[factor][row] = self.widths.of_count(factor, n);
        if layout.flat {
            let joined = self.widths.join(std::iter::once(of.of_rows[0][row]));
            (of.first[row], of.second[row]) = (joined.first, joined.second);
        } else {
            let (stale, n_causes, words) = (&mut of.stale[factor], layout.n_causes, words(layout));
            layout.factors[factor].for_each_cell(row, |cell| {
                let (state_row, cause) = (cell / n_causes, cell % n_causes);
                stale[state_row * words + cause / 64] |= 1 << (cause % 64);
            });
        }
    }

    /// Sums the factors' widths for every state and configuration with a changed row.
    pub(crate) fn add_up(&mut self, layout: &Layout, block: usize) {
        if layout.flat {
            return;
        }
        let (n_causes, words) = (layout.n_causes, words(layout));
        let Block { of_rows, first, second, stale } = &mut self.blocks[block];
        let widths = &self.widths;
        layout.for_each_state(&mut self.walk, |s, rows| {
            for word in 0..words {
                let unknown = stale.iter().zip(rows).filter(|(stale, _)| !stale.is_empty());
                let mut causes = unknown.fold(0, |causes, (stale, row)| causes | stale[row * words + word]);
                while causes != 0 {
                    let c = word * 64 + causes.trailing_zeros() as usize;
                    causes &= causes - 1;
                    let unknown =
                        layout.factors.iter().zip(rows).zip(&*of_rows).filter(|((f, _), _)| f.known.is_none());
                    let joined = widths.join(unknown.map(|((factor, &row), of)| of[factor.row(row, c, n_causes)]));
                    (first[s * n_causes + c], second[s * n_causes + c]) = (joined.first, joined.second);
                }
            }
        });
        stale.iter_mut().for_each(|stale| stale.fill(0));
    }

    /// The width at a stage, state and configuration.
    #[inline]
    pub(crate) fn at(&self, stage: usize, block: usize, cell: usize, variance: f64, visits: f64) -> f64 {
        let of = &self.blocks[block];
        self.widths.at(stage, WidthParts { first: of.first[cell], second: of.second[cell] }, variance, visits)
    }

    /// The formula of a stage's width and the parts of every cell, for widths that need nothing else.
    pub(crate) fn plain(&self, stage: usize, block: usize) -> Option<(Plain, [&[f64]; 2])> {
        let of = &self.blocks[block];
        self.widths.plain(stage).map(|plain| (plain, [&of.first[..], &of.second[..]]))
    }
}

/// Number of 64-bit words with one bit per configuration.
fn words(layout: &Layout) -> usize {
    layout.n_causes.div_ceil(64)
}
