//! Rewards that are not known: their sums and counts, with a width or a posterior of their own.

use rand::Rng;
use serde::{Deserialize, Serialize};

use super::options::Causes;
use super::posterior::beta;
use crate::Space;
use crate::kernel::CauseSpace;
use crate::plan::{rows_by_cause, scope_strides, state_scope};
use crate::world::World;

/// What is known and what was seen of the rewards, `[state][cause]` being the view they are wanted in.
#[derive(Clone, Debug)]
pub(crate) struct Rewards {
    /// Sum of the terms that are known, `[state][cause]`.
    known: Vec<f64>,
    /// Terms to be learned.
    terms: Vec<Term>,
    n_causes: usize,
}

#[derive(Clone, Debug)]
struct Term {
    /// Positions among the world's terms whose sum this is.
    of: Vec<usize>,
    /// State factors and strides of its row.
    scope: Vec<(usize, usize)>,
    /// Row of `[state row][cause]`.
    rows: Vec<u32>,
    range: [f64; 2],
    seen: Seen,
}

/// Sums of rewards, each scaled to [0, 1], and numbers of visits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Seen {
    sum: Vec<f64>,
    n: Vec<u32>,
}

/// How sums and counts become expected rewards.
pub(crate) enum Reading<'a, R> {
    /// Mean plus scale · √(log/(2N)) of the range; nothing seen: the upper end.
    Optimistic { log: f64, scale: f64 },
    /// A sample of the Beta posterior with a uniform prior.
    Sampled(&'a mut R),
    /// The mean; nothing seen: the middle.
    Mean,
}

impl Rewards {
    /// `known_sc` has the known terms, already in the view's causes. Learners that count interventions or whole states
    /// learn the sum of the unknown terms, others each term with its own scope.
    pub(crate) fn new(
        world: &World,
        key_causes: &CauseSpace,
        causes: Causes,
        flat: bool,
        n_causes: usize,
        known: Vec<f64>,
    ) -> Rewards {
        let unknown: Vec<usize> = (0..world.rewards().len()).filter(|&i| world.rewards()[i].table.is_none()).collect();
        let states = world.state_space();
        let terms = if unknown.is_empty() {
            Vec::new()
        } else if causes == Causes::Actions || flat {
            let range = unknown.iter().fold([0.0, 0.0], |[lo, hi], &i| {
                let [a, b] = world.rewards()[i].range;
                [lo + a, hi + b]
            });
            let scope = (0..states.n_axes()).zip(states.strides().iter().copied()).collect();
            let n = states.len() * n_causes;
            vec![Term { of: unknown, scope, rows: (0..n as u32).collect(), range, seen: Seen::new(n) }]
        } else {
            unknown
                .into_iter()
                .map(|i| {
                    let term = &world.rewards()[i];
                    let positions = state_scope(world, &term.scope);
                    let rows: Vec<u32> = rows_by_cause(world, &term.scope, &positions, key_causes)
                        .into_iter()
                        .map(|r| r as u32)
                        .collect();
                    let n = rows.iter().max().map_or(0, |m| *m as usize + 1);
                    Term {
                        of: vec![i],
                        scope: scope_strides(states, &positions),
                        rows,
                        range: term.range,
                        seen: Seen::new(n),
                    }
                })
                .collect()
        };
        Rewards { known, terms, n_causes }
    }

    /// Whether anything has to be learned.
    pub(crate) fn is_known(&self) -> bool {
        self.terms.is_empty()
    }

    /// Number of cells to learn.
    pub(crate) fn cells(&self) -> usize {
        self.terms.iter().map(|t| t.seen.n.len()).sum()
    }

    /// Takes in what was paid; whether some row has now been seen 1, 2, 4, 8, … times.
    pub(crate) fn observe(&mut self, states: &Space, state: usize, cause: usize, rewards: &[f64]) -> bool {
        let mut doubled = false;
        for term in &mut self.terms {
            let row = term.rows[term.state_row(states, state) * self.n_causes + cause] as usize;
            let [lo, hi] = term.range;
            let reward: f64 = term.of.iter().map(|&i| rewards[i]).sum();
            term.seen.sum[row] += if hi > lo { ((reward - lo) / (hi - lo)).clamp(0.0, 1.0) } else { 0.0 };
            term.seen.n[row] += 1;
            doubled |= term.seen.n[row].is_power_of_two();
        }
        doubled
    }

    /// Writes expected rewards into `out[state][cause]`.
    pub(crate) fn read<R: Rng>(&self, states: &Space, mut reading: Reading<'_, R>, out: &mut [f64]) {
        out.copy_from_slice(&self.known);
        for term in &self.terms {
            let [lo, hi] = term.range;
            let of_row: Vec<f64> = (0..term.seen.n.len())
                .map(|row| {
                    let (sum, n) = (term.seen.sum[row], f64::from(term.seen.n[row]));
                    let share = match &mut reading {
                        Reading::Optimistic { log, scale } if n > 0.0 => {
                            (sum / n + *scale * (*log / (2.0 * n)).sqrt()).min(1.0)
                        }
                        Reading::Optimistic { .. } => 1.0,
                        Reading::Sampled(rng) => beta(1.0 + sum, 1.0 + (n - sum).max(0.0), rng),
                        Reading::Mean if n > 0.0 => sum / n,
                        Reading::Mean => 0.5,
                    };
                    lo + (hi - lo) * share
                })
                .collect();
            for (s, out) in out.chunks_exact_mut(self.n_causes).enumerate() {
                let row = term.state_row(states, s);
                for (c, out) in out.iter_mut().enumerate() {
                    *out += of_row[term.rows[row * self.n_causes + c] as usize];
                }
            }
        }
    }

    /// Mean reward of a state and cause, and by how much it may be off if the mean of n payments in \[0, 1\] may be off by
    /// `width(n)`.
    pub(crate) fn estimate(
        &self,
        states: &Space,
        state: usize,
        cause: usize,
        width: impl Fn(u32) -> f64,
    ) -> (f64, f64) {
        let (mut mean, mut off) = (self.known[state * self.n_causes + cause], 0.0);
        for term in &self.terms {
            let row = term.rows[term.state_row(states, state) * self.n_causes + cause] as usize;
            let ([lo, hi], n) = (term.range, term.seen.n[row]);
            mean += lo + (hi - lo) * if n == 0 { 0.5 } else { term.seen.sum[row] / f64::from(n) };
            off += (hi - lo) * width(n);
        }
        (mean, off)
    }

    /// What was seen, for saving.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.terms.iter().map(|t| t.seen.clone()).collect()
    }

    /// Puts back what was saved; `false` if it does not fit.
    pub(crate) fn restore(&mut self, seen: Vec<Seen>) -> bool {
        let possible = |s: &Seen| s.sum.iter().zip(&s.n).all(|(&sum, &n)| (0.0..=f64::from(n)).contains(&sum));
        let fits = seen.len() == self.terms.len()
            && seen.iter().zip(&self.terms).all(|(s, t)| s.n.len() == t.seen.n.len() && s.sum.len() == s.n.len())
            && seen.iter().all(possible);
        if fits {
            self.terms.iter_mut().zip(seen).for_each(|(t, s)| t.seen = s);
        }
        fits
    }
}

impl Term {
    fn state_row(&self, states: &Space, state: usize) -> usize {
        self.scope.iter().map(|&(f, stride)| states.digit(state, f) * stride).sum()
    }
}

impl Seen {
    fn new(n: usize) -> Seen {
        Seen { sum: vec![0.0; n], n: vec![0; n] }
    }
}
