//! Decomposed planning: estimated rows of single factors, combined by components, for worlds with many key variables.

use std::sync::Arc;

use rand::Rng;

use super::LEAST_PRIOR;
use super::confidence::Confidence;
use super::intervals::row_intervals;
use super::posterior::Posterior;
use super::rewards::{RewardEstimator, read_term};
use super::stale::Stale;
use crate::kernel::{Kernel, Member, Reach};
use crate::learn::evidence::Evidence;
use crate::learn::view::{Decomposed, View};
use crate::random::splitmix64;

mod selector;

pub(crate) use selector::PartsSelector;
use selector::{PartsNumbers, Stage};

/// Estimator of rows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    /// The posterior mean with this prior weight in visits.
    Mean { prior: f64 },
    /// One posterior sample.
    Sample { prior: f64 },
    /// Intervals, with their optimistic or pessimistic estimate.
    Within(Confidence, Member),
}

/// The rows of every factor, numbered by its own parents, and the rewards of terms.
#[derive(Clone, Debug)]
pub(crate) struct DecomposedBelief {
    /// `[block][factor]`
    tables: Vec<Vec<Rows>>,
    /// Whether intervals are used optimistically or pessimistically.
    member: Member,
    /// By [`Components::reward_terms`](crate::kernel::Components::reward_terms).
    rewards: Vec<Arc<[f64]>>,
    touched: Vec<u32>,
}

#[derive(Clone, Debug)]
enum Rows {
    /// `[row][value]`
    Known(Arc<[f64]>),
    Mean {
        prob: Vec<f64>,
        prior: f64,
    },
    Sample {
        prob: Vec<f64>,
        drawn: Vec<f64>,
        posterior: Posterior,
    },
    /// Lower and upper ends, `[row][value]`.
    Within {
        ends: [Vec<f64>; 2],
        confidence: Confidence,
    },
}

impl DecomposedBelief {
    pub(super) fn new(view: &View, rule: Rule) -> DecomposedBelief {
        let decomposed = view.decomposed.as_ref().expect("invariant: only asked where the world is in parts");
        let rows = |f: &crate::learn::view::FactorLayout| match (&f.known, rule) {
            (Some(table), _) => Rows::Known(table.clone()),
            (None, Rule::Mean { prior }) => {
                // Without any prior, unvisited rows would not be distributions.
                Rows::Mean { prob: vec![1.0 / f.n_values as f64; f.n_rows * f.n_values], prior: prior.max(LEAST_PRIOR) }
            }
            (None, Rule::Sample { prior }) => Rows::Sample {
                prob: vec![0.0; f.n_rows * f.n_values],
                drawn: vec![0.0; f.n_rows * f.n_values],
                posterior: Posterior::new(1, f.n_values, f.n_rows, prior),
            },
            (None, Rule::Within(confidence, _)) => {
                let n = f.n_rows * f.n_values;
                Rows::Within { ends: [vec![0.0; n], vec![1.0; n]], confidence }
            }
        };
        let known = |table: &Option<Arc<[f64]>>| table.clone().unwrap_or_default();
        let member = match rule {
            Rule::Within(_, member) => member,
            Rule::Mean { .. } | Rule::Sample { .. } => Member::Optimistic,
        };
        DecomposedBelief {
            tables: (0..view.n_blocks).map(|_| view.layout.factors.iter().map(rows).collect()).collect(),
            member,
            rewards: decomposed.components.reward_terms().iter().map(|term| known(&term.table)).collect(),
            touched: Vec::new(),
        }
    }

    /// Updates the changed rows; samples all rows again if they are sampled.
    pub(super) fn update(&mut self, evidence: &Evidence, stale: &mut Stale, mut seed: u64) {
        let touched = &mut self.touched;
        let of_blocks = self.tables.iter_mut().zip(&evidence.transitions).enumerate();
        let all = of_blocks.flat_map(|(block, (tables, counts))| {
            tables.iter_mut().zip(counts).enumerate().map(move |(i, of_factor)| (block, i, of_factor))
        });
        for (block, i, (table, counts)) in all {
            stale.take(block, i, touched);
            seed = splitmix64(seed);
            match table {
                Rows::Known(_) => {}
                Rows::Mean { prob, prior } => {
                    for row in touched.iter().map(|&row| row as usize) {
                        let (values, n) = (counts.values(row), f64::from(counts.n_r[row]));
                        let share = *prior / values.len() as f64;
                        let out = &mut prob[row * values.len()..][..values.len()];
                        out.iter_mut().zip(values).for_each(|(p, &k)| *p = (f64::from(k) + share) / (n + *prior));
                    }
                }
                Rows::Sample { prob, drawn, posterior } => {
                    touched.iter().for_each(|&row| posterior.set(row as usize, counts.values(row as usize)));
                    posterior.sample(seed, drawn);
                    // From `[value][row]` to rows.
                    let n_values = evidence.view.layout.factors[i].n_values;
                    let n_rows = drawn.len() / n_values;
                    for (row, out) in prob.chunks_exact_mut(n_values).enumerate() {
                        out.iter_mut().enumerate().for_each(|(v, p)| *p = drawn[v * n_rows + row]);
                    }
                }
                Rows::Within { ends: [lo, hi], confidence } => {
                    for row in touched.iter().map(|&row| row as usize) {
                        let values = counts.values(row);
                        let own = row * values.len()..(row + 1) * values.len();
                        row_intervals(*confidence, values, counts.n_r[row], &mut lo[own.clone()], &mut hi[own]);
                    }
                }
            }
        }
    }

    /// Estimates the rewards of the unknown terms.
    pub(super) fn read_rewards<R: Rng>(&mut self, evidence: &Evidence, reading: &mut RewardEstimator<'_, R>) {
        let view = &evidence.view;
        let decomposed = view.decomposed.as_ref().expect("invariant: only asked where the world is in parts");
        for (term, paid) in view.payments.terms.iter().zip(&evidence.payments) {
            let place = decomposed.components.reward_terms().iter().position(|of| term.of == [of.of]);
            let place = place.expect("invariant: every term that is learned belongs to the present");
            self.rewards[place] = read_term(term, paid, reading).into();
        }
    }

    /// Selector of interventions under the present rows, with a kernel if the effects of interventions are learned.
    pub(super) fn selector(&self, decomposed: &Arc<Decomposed>, learned: Option<Arc<Kernel>>) -> PartsSelector {
        let components = &decomposed.components;
        let (kernel, made);
        let reach = match (learned, &decomposed.known) {
            (Some(believed), _) => {
                made = Reach::new(components, &believed);
                kernel = believed;
                &made
            }
            (None, Some((known, reach))) => {
                kernel = known.clone();
                reach
            }
            (None, None) => panic!("invariant: what interventions set off is known or learned"),
        };
        let of_block = |tables: &Vec<Rows>| {
            let ends = tables.iter().map(Rows::ends).collect();
            Stage::new(PartsNumbers { ends, rewards: self.rewards.clone() }, components, (&kernel, reach))
        };
        let stages = self.tables.iter().map(of_block).collect();
        PartsSelector::new(decomposed.clone(), kernel, stages, self.member)
    }
}

impl Rows {
    /// Lower and upper ends; the second is empty if they are equal.
    fn ends(&self) -> [Arc<[f64]>; 2] {
        match self {
            Rows::Known(prob) => [prob.clone(), Arc::default()],
            Rows::Mean { prob, .. } | Rows::Sample { prob, .. } => [prob[..].into(), Arc::default()],
            Rows::Within { ends: [lo, hi], .. } => [lo[..].into(), hi[..].into()],
        }
    }
}

#[cfg(test)]
mod tests;
