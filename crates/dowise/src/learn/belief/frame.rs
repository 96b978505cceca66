//! Shared state of all beliefs: table shapes, rewards, value ceilings, and the assembly of q.

use std::sync::Arc;

use rayon::prelude::*;

use super::width::Plain;
use crate::learn::view::{Layout, View};
use crate::loops::simd;
use crate::plan::{Contraction, Expect};
use crate::world::Continuation;

/// Number of cells from which on threads share a pass over them.
const PARALLEL_CELLS: usize = 1 << 16;

/// Rewards, ceilings and buffers of a belief.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) view: Arc<View>,
    pub(crate) contraction: Contraction,
    /// Ceiling of q at each stage.
    pub(crate) caps: Vec<f64>,
    /// Estimated rewards, `[state][cause]`.
    pub(crate) reward_sc: Vec<f64>,
    /// Upper bounds on q from earlier plans, `[stage][state][cause]`; empty if values may rise.
    pub(crate) ceiling: Vec<f64>,
    pub(crate) spare: Vec<f64>,
    /// How values of the next stage enter a step, unless unchanged.
    pub(crate) continuation: Option<Continuation>,
}

impl Frame {
    pub(crate) fn new(view: &Arc<View>, caps: Vec<f64>, monotone: bool) -> Frame {
        let layout = &view.layout;
        let n_causes = layout.n_causes;
        let cells = layout.n_states().saturating_mul(n_causes);
        let contraction = if view.decomposed.is_some() {
            // Joint key values need no marginalisation.
            Contraction::new(&[], &[], 1)
        } else if layout.flat {
            Contraction::new(&[layout.n_states()], &[vec![0]], n_causes)
        } else {
            let scopes: Vec<Vec<usize>> =
                layout.factors.iter().map(|f| f.scope.iter().map(|(d, _)| *d).collect()).collect();
            Contraction::new(layout.state_space.sizes(), &scopes, n_causes)
        };
        let ceiling =
            if monotone { caps.iter().flat_map(|&cap| std::iter::repeat_n(cap, cells)).collect() } else { vec![] };
        Frame {
            view: view.clone(),
            contraction,
            caps,
            reward_sc: view.payments.known.clone(),
            ceiling,
            spare: Vec::new(),
            continuation: Continuation::of(view.knowledge.world()),
        }
    }

    /// Continuation values of next states; `changed` is a buffer for values that differ.
    #[inline]
    pub(super) fn worth<'a>(&self, next_value: &'a [f64], changed: &'a mut Vec<f64>) -> &'a [f64] {
        match &self.continuation {
            None => next_value,
            Some(continuation) => {
                continuation.worth(next_value, changed);
                changed
            }
        }
    }

    /// Continuation values in the order that the search of decomposed planning needs.
    pub(crate) fn arrange(&self, worth_s: &[f64], out: &mut Vec<f64>) {
        let decomposed = self.view.decomposed.as_ref().expect("invariant: only asked where the world is in parts");
        decomposed.components.arrange(worth_s, out);
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.view.layout
    }

    pub(crate) fn n_causes(&self) -> usize {
        self.view.layout.n_causes
    }

    /// min(cap, reward + mean + width), and at most the earlier value if values may not rise.
    #[inline]
    pub(crate) fn value(&self, stage: usize, cell: usize, mean: f64, width: f64) -> f64 {
        let q = (self.reward_sc[cell] + mean + width).min(self.caps[stage]);
        match self.ceiling.get(stage * self.reward_sc.len() + cell) {
            Some(&earlier) => q.min(earlier),
            None => q,
        }
    }

    /// [`Frame::value`] of all cells in one loop, with the means in `q`, if values may rise; or the cap less that.
    pub(crate) fn values<const LOSSES: bool>(&self, stage: usize, q: &mut [f64]) {
        let (cap, rewards) = (self.caps[stage], &self.reward_sc[..q.len()]);
        let work = |q: &mut [f64], rewards: &[f64]| {
            simd::wide(
                #[inline(always)]
                || {
                    for (q, r) in q.iter_mut().zip(rewards) {
                        let value = capped(r + *q, cap);
                        *q = if LOSSES { cap - value } else { value };
                    }
                },
            );
        };
        if q.len() < PARALLEL_CELLS {
            work(q, rewards);
        } else {
            let parts = q.par_chunks_mut(PARALLEL_CELLS / 4).zip(rewards.par_chunks(PARALLEL_CELLS / 4));
            parts.for_each(|(q, rewards)| work(q, rewards));
        }
    }

    /// The same with a width given by its parts for every cell.
    pub(crate) fn values_with<const LOSSES: bool>(
        &self,
        stage: usize,
        plain: Plain,
        [first, second]: [&[f64]; 2],
        q: &mut [f64],
    ) {
        let (cap, rewards) = (self.caps[stage], &self.reward_sc[..q.len()]);
        simd::wide(
            #[inline(always)]
            || {
                let (first, second) = (&first[..q.len()], &second[..q.len()]);
                for (((q, r), first), second) in q.iter_mut().zip(rewards).zip(first).zip(second) {
                    let value = capped(r + *q + plain.of(*first, *second), cap);
                    *q = if LOSSES { cap - value } else { value };
                }
            },
        );
    }

    /// Stores q as the ceiling of later plans.
    pub(crate) fn lower_ceiling(&mut self, stage: usize, q: &[f64]) {
        if !self.ceiling.is_empty() {
            self.ceiling[stage * q.len()..][..q.len()].copy_from_slice(q);
        }
    }

    /// E[V(s') | s, ·] for one state, factor by factor, in the order of a whole stage. The choice of a factor's row
    /// from a set may depend on the open factors, so another order would give another value.
    pub(crate) fn expect_at<T: Expect>(&self, tables: &[T], state: usize, next_value: &[f64], out: &mut Vec<f64>) {
        let (layout, n_causes) = (self.layout(), self.n_causes());
        let mut input = next_value.to_vec();
        let mut open: Vec<usize> = (0..layout.factors.len()).collect();
        let mut width = 1;
        for f in self.contraction.order() {
            let (table, factor) = (&tables[f], &layout.factors[f]);
            let row = factor.state_row(&layout.state_space, state);
            let n_values = factor.n_values;
            let place = open.iter().position(|&o| o == f).expect("invariant: a factor is marginalised out once");
            let inner: usize = open[place + 1..].iter().map(|&o| layout.factors[o].n_values).product();
            open.remove(place);
            out.clear();
            out.resize(input.len() / width / n_values * n_causes, 0.0);
            for (i, out) in out.chunks_exact_mut(n_causes).enumerate() {
                let first = i / inner * n_values * inner + i % inner;
                table.expect_next(row, |v| &input[(first + v * inner) * width..][..width], out);
            }
            std::mem::swap(&mut input, out);
            width = n_causes;
        }
        std::mem::swap(&mut input, out);
        if width == 1 {
            // Without state factors there is only one next value.
            out.resize(n_causes, next_value[0]);
        }
    }
}

/// The lesser of two numbers that are not NaN: one instruction, unlike [`f64::min`].
#[inline(always)]
fn capped(q: f64, cap: f64) -> f64 {
    if q < cap { q } else { cap }
}
