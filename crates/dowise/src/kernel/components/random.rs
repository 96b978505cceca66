//! The uniform policy in decomposed worlds: mean next-state distributions and net costs.

use super::Acting;
use crate::kernel::AtRandom;
use crate::kernel::uniform::{Averaged, Way};

impl Acting<'_> {
    /// The mean over the interventions allowed in each state. Configurations are joint next values, and costs are net
    /// of rewards.
    pub(crate) fn at_random(&self) -> AtRandom {
        let (n, n_next) = (self.kernel.n_states(), self.components.next.len());
        let averaged = self.kernel.averaged();
        let exact = averaged != Averaged::Drawn;
        let mut out = AtRandom { prob_sc: vec![0.0; n * n_next], cost_s: vec![0.0; n], exact };
        for (state, (row, cost)) in out.prob_sc.chunks_exact_mut(n_next).zip(&mut out.cost_s).enumerate() {
            match averaged {
                Averaged::ByGroups => self.mean_of_parts(state, row, cost),
                Averaged::Listed | Averaged::Drawn => self.mean_of(state, row, cost),
            }
        }
        out
    }

    /// The mean over the interventions of a state, by enumeration.
    fn mean_of(&self, state: usize, row: &mut [f64], cost: &mut f64) {
        let (mut prob, mut n) = (Vec::new(), 0u64);
        self.kernel.each_averaged(state, |action| {
            *cost += self.kernel.interventions().cost(action) - self.distribution(state, action, &mut prob);
            row.iter_mut().zip(&prob).for_each(|(sum, p)| *sum += p);
            n += 1;
        });
        row.iter_mut().for_each(|p| *p /= n as f64);
        *cost /= n as f64;
    }

    /// The mean over all combinations of settings, by components.
    fn mean_of_parts(&self, state: usize, row: &mut [f64], cost: &mut f64) {
        let mut all = Way::nothing(self.kernel.limit.unwrap_or(0));
        for part in &self.components.parts {
            let of_state = part.row_of(state);
            let own: Vec<Way> = (self.kernel.ways(state, part.shape.groups.iter().copied()).into_iter())
                .map(|way| {
                    let (mut prob, mut paid) = (vec![0.0; part.block.len()], way.paid);
                    for (cause, &p) in way.prob.iter().enumerate() {
                        self.add_moved(part, of_state, cause, p, &mut prob);
                        paid -= p * part.paid(&self.rewards, of_state, cause);
                    }
                    Way { prob, paid, ..way }
                })
                .collect();
            all = Way::join(&all, &own);
        }
        let total: f64 = all.iter().map(|way| way.count).sum();
        *cost =
            all.iter().map(|way| way.paid).sum::<f64>() / total - self.components.paid_by_state(&self.rewards, state);
        for way in &all {
            row.iter_mut().zip(&way.prob).for_each(|(out, p)| *out += p / total);
        }
    }
}
