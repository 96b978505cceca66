//! Exhaustive search over several groups with few settings each, one group marginalised at a time.

use super::{Found, Tie, floor};
use crate::kernel::Kernel;
use crate::loops::pairs::{sum_out, sum_out_pairs};
use crate::random::scale;
use crate::world::Action;

/// Kept from state to state.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffers {
    values: Vec<f64>,
    spare: Vec<f64>,
}

/// Maximum number of groups whose combinations are kept in registers.
const MOST_PAIRS: usize = 4;

impl Kernel {
    pub(super) fn best_of_few(
        &self,
        state: usize,
        loss: &[f64],
        tolerance: f64,
        tie: Tie,
        buffers: &mut Buffers,
    ) -> Found {
        let found = match loss.len() {
            4 => self.best_of_pairs::<4>(state, loss, tolerance, tie),
            8 => self.best_of_pairs::<8>(state, loss, tolerance, tie),
            16 => self.best_of_pairs::<16>(state, loss, tolerance, tie),
            _ => None,
        };
        found.unwrap_or_else(|| self.best_of_listed(state, loss, tolerance, tie, buffers))
    }

    /// The same for any groups.
    pub(super) fn best_of_listed(
        &self,
        state: usize,
        loss: &[f64],
        tolerance: f64,
        tie: Tie,
        buffers: &mut Buffers,
    ) -> Found {
        let values = self.all_combinations(state, loss, buffers);
        let mut best = values.iter().copied().fold(f64::INFINITY, f64::min);
        if self.is_restricted() {
            let digits = self.state_space.digits(state);
            // Only potential winners are checked for being allowed.
            while best < f64::INFINITY {
                let mut found = false;
                for combination in 0..values.len() {
                    if values[combination] <= best + tolerance {
                        if self.combines(state, &digits, combination) {
                            found |= values[combination] == best;
                        } else {
                            values[combination] = f64::INFINITY;
                        }
                    }
                }
                if found {
                    break;
                }
                best = values.iter().copied().fold(f64::INFINITY, f64::min);
            }
        }
        let ties = || (0..values.len()).filter(|&i| values[i] <= best + tolerance);
        let chosen = match tie {
            Tie::First => ties().map(|i| (self.part(state, i), i)).min(),
            Tie::Random(random) => {
                let chosen = ties().nth(scale(random, ties().count() as u64) as usize);
                chosen.map(|i| (self.part(state, i), i))
            }
        };
        assert!(best < f64::INFINITY, "every state has an allowed intervention");
        let (part, i) = chosen.expect("invariant: the best ties with itself");
        Found { least: best, chosen: values[i], action: Action(part) }
    }

    /// Whether some settings of different groups cannot be combined.
    fn is_restricted(&self) -> bool {
        self.limit.is_some() || !self.cross.is_empty()
    }

    /// The same for groups with two configurations and two settings each (binary key variables) that combine freely: N
    /// combinations, in registers.
    pub(super) fn best_of_pairs<const N: usize>(
        &self,
        state: usize,
        loss: &[f64],
        tolerance: f64,
        tie: Tie,
    ) -> Option<Found> {
        if self.is_restricted() || self.groups.len() > MOST_PAIRS || 1 << self.groups.len() != N {
            return None;
        }
        let mut values: [f64; N] = loss.try_into().ok()?;
        // The number of the intervention is the sum of one part of each group.
        let mut parts = [[0; 2]; MOST_PAIRS];
        let (mut tables, mut costs) = ([[0.0; 4]; MOST_PAIRS], [[0.0; 2]; MOST_PAIRS]);
        for (g, group) in self.groups.iter().rev().enumerate() {
            let row = group.row(group.row_of(state));
            tables[g] = row.prob.try_into().ok()?;
            if row.n != 2 || !group.is_exact() {
                return None;
            }
            let settings = [0, 1].map(|i| &group.settings[row.setting(i)]);
            costs[g] = settings.map(|setting| setting.cost);
            parts[g] = settings.map(|setting| setting.part);
        }
        let tables = &tables[..self.groups.len()];
        sum_out_pairs(tables, self.has_costs.then_some(&costs[..]), &mut values);
        let best = values.iter().fold(f64::INFINITY, |best, &v| if v < best { v } else { best });
        let mut ties = 0u32;
        for (i, v) in values.iter().enumerate() {
            ties |= u32::from(*v <= best + tolerance) << i;
        }
        let part = |i: u32| (0..MOST_PAIRS).map(|g| parts[g][(i >> g & 1) as usize]).sum();
        let mut numbers = (0..N as u32).filter(|i| ties >> i & 1 == 1).map(|i| (part(i), i));
        let chosen = match tie {
            _ if ties.is_power_of_two() => {
                return Some(Found::only(best, Action(part(ties.trailing_zeros()))));
            }
            Tie::First => numbers.min(),
            Tie::Random(random) => numbers.nth(scale(random, u64::from(ties.count_ones())) as usize),
        };
        chosen.map(|(number, i)| Found { least: best, chosen: values[i as usize], action: Action(number) })
    }

    /// Σ_c P(c | combination) · loss(c) + cost for all combinations of kept settings, the first group's slowest.
    fn all_combinations<'a>(&self, state: usize, loss: &[f64], buffers: &'a mut Buffers) -> &'a mut [f64] {
        let Buffers { values, spare } = buffers;
        let doubt = self.doubt(loss);
        values.clear();
        values.extend_from_slice(loss);
        let mut tail = 1;
        for group in self.groups.iter().rev() {
            let row = group.row(group.row_of(state));
            let n_causes = group.n_causes();
            if row.n == 1 && n_causes == 1 && !self.has_costs && doubt == 0.0 {
                continue;
            }
            std::mem::swap(values, spare);
            sum_out(row.prob, n_causes, row.n, spare, tail, values);
            if self.has_costs || doubt > 0.0 {
                for (i, out) in values.chunks_exact_mut(tail).enumerate() {
                    let own = group.own(group.row_of(state), row.setting(i % row.n), doubt);
                    out.iter_mut().for_each(|o| *o += own);
                }
            }
            tail *= row.n;
        }
        if doubt > 0.0 {
            // For any uncertainty, no value is better than that of the best configuration.
            let floor = floor(loss);
            for combination in 0..values.len() {
                let costs = self.settings_of(state, combination).map(|(g, i)| self.groups[g].settings[i].cost);
                values[combination] = values[combination].max(costs.sum::<f64>() + floor);
            }
        }
        values
    }

    /// The settings of a combination, last group first: (group, setting).
    fn settings_of(&self, state: usize, mut combination: usize) -> impl Iterator<Item = (usize, usize)> {
        (0..self.groups.len()).rev().map(move |g| {
            let row = self.groups[g].row(self.groups[g].row_of(state));
            let i = combination % row.n;
            combination /= row.n;
            (g, row.setting(i))
        })
    }

    /// Number of the intervention of a combination.
    fn part(&self, state: usize, combination: usize) -> u64 {
        self.settings_of(state, combination).map(|(g, i)| self.groups[g].settings[i].part).sum()
    }

    /// Whether the settings of a combination are allowed together.
    fn combines(&self, state: usize, digits: &[usize], combination: usize) -> bool {
        let n_set: usize = self.settings_of(state, combination).map(|(g, i)| self.groups[g].settings[i].n_set).sum();
        self.limit.is_none_or(|limit| n_set <= limit)
            && (self.cross.is_empty()
                || !self.interventions.is_forbidden(digits, Action(self.part(state, combination))))
    }
}
