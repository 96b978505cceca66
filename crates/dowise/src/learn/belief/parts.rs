//! Rows of single factors, read by a rule and put together part by part: for worlds with many key variables.

use std::sync::Arc;

use rand::Rng;

use super::LEAST_PRIOR;
use super::confidence::Confidence;
use super::intervals::row_intervals;
use super::posterior::Posterior;
use super::rewards::{RewardReading, read_term};
use super::stale::Stale;
use crate::kernel::{Acting, Kernel, Next, Numbers, Reach, Scratch, Tie, splitmix64};
use crate::learn::evidence::Evidence;
use crate::learn::view::{ByParts, View};
use crate::world::Action;

/// How rows are read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    /// The mean of the posterior with this prior weight in visits.
    Mean { prior: f64 },
    /// One posterior sample.
    Sample { prior: f64 },
    /// The best member of intervals.
    Best(Confidence),
}

/// The rows of every factor, by the numbering of its own parents, and what reward terms pay.
#[derive(Clone, Debug)]
pub(crate) struct PartsBelief {
    tables: Vec<Rows>,
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

impl PartsBelief {
    pub(super) fn new(view: &View, rule: Rule) -> PartsBelief {
        let by_parts = view.by_parts.as_ref().expect("invariant: only asked where the world is in parts");
        let rows = |f: &crate::learn::view::FactorLayout| match (&f.known, rule) {
            (Some(table), _) => Rows::Known(table.clone()),
            (None, Rule::Mean { prior }) => {
                // Without any prior nothing would follow where nothing was seen, and rows would not be distributions.
                Rows::Mean { prob: vec![1.0 / f.n_values as f64; f.n_rows * f.n_values], prior: prior.max(LEAST_PRIOR) }
            }
            (None, Rule::Sample { prior }) => Rows::Sample {
                prob: vec![0.0; f.n_rows * f.n_values],
                drawn: vec![0.0; f.n_rows * f.n_values],
                posterior: Posterior::new(1, f.n_values, f.n_rows, prior),
            },
            (None, Rule::Best(confidence)) => {
                let n = f.n_rows * f.n_values;
                Rows::Within { ends: [vec![0.0; n], vec![1.0; n]], confidence }
            }
        };
        let known = |table: &Option<Arc<[f64]>>| table.clone().unwrap_or_default();
        PartsBelief {
            tables: view.layout.factors.iter().map(rows).collect(),
            rewards: by_parts.components.reward_terms().iter().map(|term| known(&term.table)).collect(),
            touched: Vec::new(),
        }
    }

    /// Reads the rows that have changed; draws all of them anew where they are sampled.
    pub(super) fn update(&mut self, evidence: &Evidence, stale: &mut Stale, mut seed: u64) {
        let touched = &mut self.touched;
        for (i, (table, counts)) in self.tables.iter_mut().zip(&evidence.transitions[0]).enumerate() {
            stale.take(0, i, touched);
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

    /// Reads what the terms that have to be learned pay.
    pub(super) fn read_rewards<R: Rng>(&mut self, evidence: &Evidence, reading: &mut RewardReading<'_, R>) {
        let view = &evidence.view;
        let by_parts = view.by_parts.as_ref().expect("invariant: only asked where the world is in parts");
        for (term, paid) in view.payments.terms.iter().zip(&evidence.payments) {
            let place = by_parts.components.reward_terms().iter().position(|of| term.of == [of.of]);
            let place = place.expect("invariant: every term that is learned belongs to the present");
            self.rewards[place] = read_term(term, paid, reading).into();
        }
    }

    /// How interventions are picked and what they come to, by the rows as they are now; and by a kernel where what interventions set
    /// off is learned.
    pub(super) fn selector(&self, by_parts: &Arc<ByParts>, learned: Option<Arc<Kernel>>) -> PartsSelector {
        let components = &by_parts.components;
        let (kernel, made);
        let reach = match (learned, &by_parts.known) {
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
        let numbers =
            PartsNumbers { ends: self.tables.iter().map(Rows::ends).collect(), rewards: self.rewards.clone() };
        let search = numbers.with(|numbers| components.kernel(&kernel, reach, numbers, 0));
        PartsSelector { by_parts: by_parts.clone(), kernel, search, numbers }
    }
}

impl Rows {
    /// Lower and upper ends; the second is empty where they are the same.
    fn ends(&self) -> [Arc<[f64]>; 2] {
        match self {
            Rows::Known(prob) => [prob.clone(), Arc::default()],
            Rows::Mean { prob, .. } | Rows::Sample { prob, .. } => [prob[..].into(), Arc::default()],
            Rows::Within { ends: [lo, hi], .. } => [lo[..].into(), hi[..].into()],
        }
    }
}

/// The numbers of a world in parts, as they were read.
#[derive(Clone, Debug)]
struct PartsNumbers {
    /// Tables of the state factors, `[row][value]`: lower and upper ends, the second empty where they are the same.
    ends: Vec<[Arc<[f64]>; 2]>,
    rewards: Vec<Arc<[f64]>>,
}

impl PartsNumbers {
    fn with<T>(&self, ask: impl FnOnce(Numbers<'_>) -> T) -> T {
        let next: Vec<Next<'_>> = (self.ends.iter())
            .map(|[lo, hi]| if hi.is_empty() { Next::Exact(lo) } else { Next::Within([lo, hi]) })
            .collect();
        let rewards: Vec<&[f64]> = self.rewards.iter().map(|table| &table[..]).collect();
        ask(Numbers { next: &next, rewards: &rewards })
    }

    fn are_exact(&self) -> bool {
        self.ends.iter().all(|[_, hi]| hi.is_empty())
    }
}

/// Picks interventions from what next states are worth, and says what given ones come to.
#[derive(Clone, Debug)]
pub(crate) struct PartsSelector {
    by_parts: Arc<ByParts>,
    /// P(c | s, a), as known or believed.
    pub(crate) kernel: Arc<Kernel>,
    /// Its causes are joint next values, and its settings cost what they cost less what they pay.
    pub(crate) search: Kernel,
    numbers: PartsNumbers,
}

impl PartsSelector {
    /// What given interventions come to; where rows are intervals, by their lower ends, which are no distributions.
    pub(crate) fn acting(&self) -> Acting<'_> {
        Acting {
            components: &self.by_parts.components,
            kernel: &self.kernel,
            next: self.numbers.ends.iter().map(|[lo, _]| &lo[..]).collect(),
            rewards: self.numbers.rewards.iter().map(|table| &table[..]).collect(),
            sizes: false,
        }
    }

    /// What a given intervention comes to, at best where that is not one number, costs left out.
    ///
    /// # Cost
    /// Where it is not one number, a search among the corners of what the intervention may lead to.
    pub(crate) fn worth(&self, state: usize, action: Action, of: &[f64]) -> f64 {
        if self.numbers.are_exact() && self.kernel.is_certain() {
            return self.acting().worth(state, action, of);
        }
        let mut settings = Vec::with_capacity(self.kernel.n_groups());
        self.kernel.decode(action, &mut settings);
        let one = self.kernel.only(state, &settings);
        let search = self.numbers.with(|numbers| self.by_parts.components.kernel_at(&one, state, numbers));
        let most = of.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let loss: Vec<f64> = of.iter().map(|x| most - x).collect();
        let found = search.best(state, &loss, 0.0, Tie::First, &mut Scratch::default());
        most - found.least + self.kernel.interventions().cost(action)
    }
}

#[cfg(test)]
mod tests;
