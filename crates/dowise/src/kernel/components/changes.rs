//! Gain from changing the setting of one group of levers, with the other groups fixed.

use super::Acting;
use super::part::Part;
use crate::world::Action;

impl Acting<'_> {
    /// Calls `visit(intervention, gain)` for every group and every unpruned setting: the intervention with that
    /// setting, and its gain net of costs when next states have values `of`. It does not check whether the intervention
    /// is allowed.
    pub(crate) fn each_change(&self, state: usize, action: Action, of: &[f64], mut visit: impl FnMut(Action, f64)) {
        let mut settings = Vec::with_capacity(self.kernel.n_groups());
        self.kernel.decode(action, &mut settings);
        let parts = &self.components.parts;
        let moved: Vec<Vec<f64>> = parts.iter().map(|part| self.next_prob(part, state, &settings)).collect();
        for (k, part) in parts.iter().enumerate().filter(|(_, part)| !part.shape.groups.is_empty()) {
            // Values of the component's joint key values, then of those of each of its groups.
            let of_next = sum_out_others(of, &moved, k);
            let of_causes = self.worth_of_causes(part, state, &of_next);
            let groups = part.shape.groups.iter().map(|&g| (&self.kernel.groups[g], settings[g] as usize));
            let prob: Vec<Vec<f64>> = (groups.clone())
                .map(|(group, own)| (0..group.n_causes()).map(|c| group.prob(group.row_of(state), c, own)).collect())
                .collect();
            for (i, (group, own)) in groups.enumerate() {
                let of_group = sum_out_others(&of_causes, &prob, i);
                let row = group.row_of(state);
                let worth = |setting: usize| {
                    let paid = of_group.iter().enumerate().map(|(c, x)| group.prob(row, c, setting) * x);
                    paid.sum::<f64>() - group.settings[setting].cost
                };
                let now = worth(own);
                let kept = group.row(row);
                for setting in (0..kept.n).map(|i| kept.setting(i)).filter(|&setting| setting != own) {
                    let changed = action.0 - group.settings[own].part + group.settings[setting].part;
                    visit(Action(changed), worth(setting) - now);
                }
            }
        }
    }

    /// P(next values of a component | state, settings of all groups).
    fn next_prob(&self, part: &Part, state: usize, settings: &[u32]) -> Vec<f64> {
        let mut prob = vec![0.0; part.block.len()];
        for (cause, &p) in self.cause_prob(part, state, settings).iter().enumerate().filter(|(_, p)| **p > 0.0) {
            self.add_moved(part, part.row_of(state), cause, p, &mut prob);
        }
        prob
    }

    /// For all joint key values of a component: reward plus expected value of the next values.
    fn worth_of_causes(&self, part: &Part, state: usize, of_next: &[f64]) -> Vec<f64> {
        let row = part.row_of(state);
        let mut prob = vec![0.0; of_next.len()];
        (0..part.n_causes)
            .map(|cause| {
                prob.fill(0.0);
                self.add_moved(part, row, cause, 1.0, &mut prob);
                part.paid(&self.rewards, row, cause) + prob.iter().zip(of_next).map(|(p, x)| p * x).sum::<f64>()
            })
            .collect()
    }
}

/// Marginalises all axes of an array but one, the first slowest; `prob` has the weights of each axis.
fn sum_out_others(of: &[f64], prob: &[Vec<f64>], kept: usize) -> Vec<f64> {
    let mut left = of.to_vec();
    for p in prob[kept + 1..].iter().rev() {
        left = left.chunks_exact(p.len()).map(|x| x.iter().zip(p).map(|(x, p)| p * x).sum()).collect();
    }
    for p in &prob[..kept] {
        let rest = left.len() / p.len();
        left = (0..rest).map(|i| p.iter().enumerate().map(|(v, p)| p * left[v * rest + i]).sum()).collect();
    }
    left
}
