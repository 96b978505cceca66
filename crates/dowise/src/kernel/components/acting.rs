//! Decomposed policy evaluation: expected rewards and next states of given interventions, without a search.

use super::Components;
use super::part::Part;
use crate::kernel::Effects;
use crate::kernel::{Kernel, Scratch};
use crate::world::Action;

/// The components of a world with tables of next values and rewards.
#[derive(Clone, Debug)]
pub(crate) struct Acting<'a> {
    pub(crate) components: &'a Components,
    /// The kernel behind the components.
    pub(crate) kernel: &'a Kernel,
    /// Tables of the state factors, `[row][value]`.
    pub(crate) next: Vec<&'a [f64]>,
    /// Tables of the reward terms.
    pub(crate) rewards: Vec<&'a [f64]>,
    /// Whether absolute values of rewards are used.
    pub(crate) sizes: bool,
}

impl Acting<'_> {
    /// Calls `visit(P(next values of the component))` for each component under a decoded intervention, last one first.
    /// Returns the expected reward.
    fn set_off(&self, state: usize, settings: &[u32], mut visit: impl FnMut(&[f64])) -> f64 {
        let size = |r: f64| if self.sizes { r.abs() } else { r };
        let of_state = self.components.of_state.iter();
        let mut paid: f64 = of_state.map(|(t, rows)| size(self.rewards[*t][rows[state] as usize])).sum();
        let mut prob = Vec::new();
        for part in self.components.parts.iter().rev() {
            let row = part.row_of(state);
            let cause_prob = self.cause_prob(part, state, settings);
            prob.clear();
            prob.resize(part.block.len(), 0.0);
            for (cause, &p) in cause_prob.iter().enumerate().filter(|(_, p)| **p > 0.0) {
                self.add_moved(part, row, cause, p, &mut prob);
                let terms = part.shape.terms.iter().zip(&part.term_rows);
                let own = terms.map(|(&t, rows)| size(self.rewards[t][rows[row * part.n_causes + cause] as usize]));
                paid += p * own.sum::<f64>();
            }
            visit(&prob);
        }
        paid
    }

    /// Adds p · P(next values | row, cause) to `out`.
    pub(super) fn add_moved(&self, part: &Part, row: usize, cause: usize, p: f64, out: &mut [f64]) {
        for (b, out) in out.iter_mut().enumerate() {
            *out += p * part.moved(row, cause, b, |f, n_values, own, v| self.next[f][own * n_values + v]);
        }
    }

    /// Writes P(next state | state, action), in the order of joint next values, into `out`; returns the expected reward
    /// before costs.
    pub(crate) fn distribution(&self, state: usize, action: Action, out: &mut Vec<f64>) -> f64 {
        let mut settings = Vec::new();
        self.kernel.decode(action, &mut settings);
        out.clear();
        out.push(1.0);
        self.set_off(state, &settings, |prob| {
            // The last component varies fastest, and it comes first.
            *out = prob.iter().flat_map(|p| out.iter().map(move |q| p * q)).collect();
        })
    }

    /// Expected reward plus expected value of the next state, before costs.
    pub(crate) fn worth(&self, state: usize, action: Action, of: &[f64]) -> f64 {
        let mut prob = Vec::new();
        let paid = self.distribution(state, action, &mut prob);
        paid + prob.iter().zip(of).map(|(p, x)| p * x).sum::<f64>()
    }

    /// For each state factor Σ_z P(z | state, action) · n(row of z): the mean of a number attached to each row of its
    /// table.
    pub(crate) fn mean_of_rows(
        &self,
        state: usize,
        action: Action,
        n: impl Fn(usize, usize) -> f64,
    ) -> Vec<(usize, f64)> {
        let mut settings = Vec::new();
        self.kernel.decode(action, &mut settings);
        let mut out = Vec::new();
        for part in &self.components.parts {
            let row = part.row_of(state);
            let cause_prob = self.cause_prob(part, state, &settings);
            for (&f, rows) in part.shape.factors.iter().zip(&part.factor_rows) {
                let of_cause = |cause: usize| n(f, rows[row * part.n_causes + cause] as usize);
                out.push((f, cause_prob.iter().enumerate().map(|(cause, p)| p * of_cause(cause)).sum()));
            }
        }
        out
    }

    /// P(joint key values of a component | state, settings of all groups).
    pub(super) fn cause_prob(&self, part: &Part, state: usize, settings: &[u32]) -> Vec<f64> {
        part.shape.groups.iter().fold(vec![1.0], |before, &g| {
            let (group, setting) = (&self.kernel.groups[g], settings[g] as usize);
            let (of_state, n) = (group.row_of(state), group.n_causes());
            before.iter().flat_map(|p| (0..n).map(move |c| p * group.prob(of_state, c, setting))).collect()
        })
    }
}

impl Effects for Acting<'_> {
    fn n_causes(&self) -> usize {
        self.components.next.len()
    }

    fn n_parts(&self) -> usize {
        self.kernel.n_groups()
    }

    fn decode(&self, action: Action, out: &mut Vec<u32>) {
        self.kernel.decode(action, out);
    }

    fn cost(&self, action: Action) -> f64 {
        self.kernel.interventions().cost(action)
    }

    /// The expected loss less the expected reward.
    fn expect(&self, _stage: usize, state: usize, parts: &[u32], of: &[f64], scratch: &mut Scratch) -> f64 {
        let buffer = &mut scratch.values;
        buffer.clear();
        buffer.extend_from_slice(of);
        let paid = self.set_off(state, parts, |prob| {
            let n = prob.len();
            let left = buffer.len() / n;
            for i in 0..left {
                buffer[i] = buffer[i * n..][..n].iter().zip(prob).map(|(x, p)| p * x).sum();
            }
            buffer.truncate(left);
        });
        buffer[0] - paid
    }
}
