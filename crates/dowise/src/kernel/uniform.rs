//! The uniform policy: mean effects and costs over all allowed interventions, mostly without enumeration.

use super::Kernel;
use crate::random::splitmix64;
use crate::world::any_allowed;
use crate::world::{Action, LeverRule};

/// Maximum number of enumerated interventions, summed over states.
const MOST_LISTED: u64 = 1 << 24;

/// Sampled interventions per state, if there are too many to enumerate and some are forbidden.
const DRAWN: u64 = 4096;

/// The uniform distribution over the interventions allowed in each state.
#[derive(Clone, Debug)]
pub(crate) struct AtRandom {
    /// P(c), `[state][cause]`.
    pub(crate) prob_sc: Vec<f64>,
    /// Expected cost, `[state]`.
    pub(crate) cost_s: Vec<f64>,
    /// Whether these are exact rather than Monte Carlo means.
    pub(crate) exact: bool,
}

/// Combinations of settings: their number, cost and distribution, all as shares, so that nothing overflows.
#[derive(Clone, Debug, Default)]
pub(super) struct Way {
    pub(super) count: f64,
    pub(super) paid: f64,
    pub(super) prob: Vec<f64>,
}

impl Way {
    /// The empty combination, indexed by the number of levers set, up to `most`.
    pub(super) fn nothing(most: usize) -> Vec<Way> {
        let mut ways = vec![Way::default(); most + 1];
        ways[0] = Way { count: 1.0, paid: 0.0, prob: vec![1.0] };
        ways
    }

    /// Combinations of these with those of further groups, by the number of levers set.
    pub(super) fn join(ways: &[Way], own: &[Way]) -> Vec<Way> {
        let most = ways.len() - 1;
        let mut joined = vec![Way::default(); most + 1];
        for (before, Way { count, paid, prob }) in ways.iter().enumerate().filter(|(_, w)| w.count > 0.0) {
            for (more, own) in own.iter().enumerate().take(most + 1 - before).filter(|(_, own)| own.count > 0.0) {
                let Way { count: c, paid: k, prob: p } = &mut joined[before + more];
                *c += count * own.count;
                *k += paid * own.count + count * own.paid;
                p.resize(prob.len() * own.prob.len(), 0.0);
                for (out, (a, b)) in p.iter_mut().zip(prob.iter().flat_map(|a| own.prob.iter().map(move |b| (a, b)))) {
                    *out += a * b;
                }
            }
        }
        joined
    }
}

/// Method of averaging over the interventions of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Averaged {
    /// Group by group.
    ByGroups,
    /// By enumeration.
    Listed,
    /// By sampling.
    Drawn,
}

impl Kernel {
    /// The method of averaging.
    pub(super) fn averaged(&self) -> Averaged {
        let all = &self.interventions;
        let is_list = matches!(all.lever_rule(), LeverRule::List(_));
        if all.forbid().is_empty() && !is_list {
            Averaged::ByGroups
        } else if is_list || all.count().saturating_mul(self.n_states() as u64) <= MOST_LISTED {
            Averaged::Listed
        } else {
            Averaged::Drawn
        }
    }

    /// The interventions to average over in a state, if groups do not combine freely.
    pub(super) fn each_averaged(&self, state: usize, mut visit: impl FnMut(Action)) {
        let all = &self.interventions;
        if self.averaged() == Averaged::Drawn {
            let seed = |i: u64| splitmix64(splitmix64(state as u64) ^ i);
            (0..DRAWN).for_each(|i| visit(any_allowed(all, &self.state_space, state, seed(i))));
        } else {
            let digits = self.state_space.digits(state);
            (0..all.count()).map(|i| all.nth(i)).filter(|&a| !all.is_forbidden(&digits, a)).for_each(visit);
        }
    }

    /// The mean over the interventions allowed in each state.
    ///
    /// # Cost
    /// Without forbidden combinations, one pass over the settings of each group. Otherwise every intervention in every
    /// state is enumerated. If these are more than 2^24, 4096 are sampled per state, and the result is an estimate.
    pub(crate) fn at_random(&self) -> AtRandom {
        let (n, n_causes) = (self.n_states(), self.n_causes());
        let exact = self.averaged() != Averaged::Drawn;
        let mut out = AtRandom { prob_sc: vec![0.0; n * n_causes], cost_s: vec![0.0; n], exact };
        for (state, (row, cost)) in out.prob_sc.chunks_exact_mut(n_causes).zip(&mut out.cost_s).enumerate() {
            match self.averaged() {
                Averaged::ByGroups => self.mean_of_groups(state, row, cost),
                Averaged::Listed | Averaged::Drawn => self.mean_of(state, row, cost),
            }
        }
        out
    }

    /// The mean over the interventions of a state, by enumeration.
    fn mean_of(&self, state: usize, row: &mut [f64], cost: &mut f64) {
        let mut prob = vec![0.0; row.len()];
        let mut n = 0u64;
        self.each_averaged(state, |action| {
            self.distribution(state, action, &mut prob);
            row.iter_mut().zip(&prob).for_each(|(sum, p)| *sum += p);
            *cost += self.interventions.cost(action);
            n += 1;
        });
        row.iter_mut().for_each(|p| *p /= n as f64);
        *cost /= n as f64;
    }

    /// The mean over all combinations of settings, group by group.
    fn mean_of_groups(&self, state: usize, row: &mut [f64], cost: &mut f64) {
        let ways = self.ways(state, 0..self.groups.len());
        let total: f64 = ways.iter().map(|w| w.count).sum();
        *cost = ways.iter().map(|w| w.paid).sum::<f64>() / total;
        for Way { prob, .. } in &ways {
            row.iter_mut().zip(prob).for_each(|(out, p)| *out += p / total);
        }
    }

    /// All combinations of settings of some groups; if the number of levers is limited, by the number of levers set.
    pub(super) fn ways(&self, state: usize, groups: impl IntoIterator<Item = usize>) -> Vec<Way> {
        let most = self.limit.unwrap_or(0);
        let place = |n_set: usize| if self.limit.is_some() { n_set } else { 0 };
        let mut ways = Way::nothing(most);
        for group in groups.into_iter().map(|g| &self.groups[g]) {
            let (of_state, n) = (group.row_of(state), group.n_causes());
            let mut own = vec![Way { count: 0.0, paid: 0.0, prob: vec![0.0; n] }; most + 1];
            let share = 1.0 / group.settings.len() as f64;
            for (i, setting) in group.settings.iter().enumerate().filter(|(_, s)| place(s.n_set) <= most) {
                let Way { count, paid, prob } = &mut own[place(setting.n_set)];
                *count += share;
                *paid += share * setting.cost;
                prob.iter_mut().enumerate().for_each(|(c, p)| *p += share * group.prob(of_state, c, i));
            }
            ways = Way::join(&ways, &own);
        }
        ways
    }

    /// The allowed combinations of unpruned settings in a state, one of which is optimal for every convex function of
    /// P(c | s, a) less costs. `None` if there are more than `most`, or P is not exact.
    ///
    /// Such a function is convex in each group's distribution with the others fixed, so an extreme point of the group
    /// attains its maximum.
    pub(crate) fn corners(&self, state: usize, most: usize) -> Option<Vec<Action>> {
        if !self.is_certain() {
            return None;
        }
        let rows: Vec<_> = self.groups.iter().map(|g| (g, g.row(g.row_of(state)))).collect();
        let n = rows.iter().try_fold(1usize, |n, (_, row)| n.checked_mul(row.n)).filter(|&n| n <= most)?;
        let digits = self.state_space.digits(state);
        let combination = |mut i: usize| {
            let (mut part, mut n_set) = (0, 0);
            for (group, row) in &rows {
                let setting = &group.settings[row.setting(i % row.n)];
                i /= row.n;
                part += setting.part;
                n_set += setting.n_set;
            }
            (Action(part), n_set)
        };
        let within = |&(action, n_set): &(Action, usize)| {
            self.limit.is_none_or(|limit| n_set <= limit)
                && (self.cross.is_empty() || !self.interventions.is_forbidden(&digits, action))
        };
        Some((0..n).map(combination).filter(within).map(|(action, _)| action).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::SetSpec;
    use crate::{World, worlds};

    fn by_listing(kernel: &Kernel, state: usize) -> (Vec<f64>, f64) {
        let all = kernel.interventions();
        let allowed: Vec<Action> = (0..all.count()).map(|i| all.nth(i)).filter(|&a| kernel.allows(state, a)).collect();
        let (mut sum, mut cost) = (vec![0.0; kernel.n_causes()], 0.0);
        for &action in &allowed {
            let mut prob = vec![0.0; kernel.n_causes()];
            kernel.distribution(state, action, &mut prob);
            sum.iter_mut().zip(prob).for_each(|(s, p)| *s += p / allowed.len() as f64);
            cost += all.cost(action) / allowed.len() as f64;
        }
        (sum, cost)
    }

    #[test]
    fn interventions_at_random_are_the_mean_over_all_that_are_allowed() {
        for name in ["treatment", "river-swim", "paper", "paper:joint=false,levels=3"] {
            let (base, settings) = name.split_once(':').map_or((name, ""), |(a, b)| (a, b));
            let settings: Vec<(&str, &str)> = settings.split(',').filter_map(|s| s.split_once('=')).collect();
            let world = worlds::world(base, &settings).unwrap();
            let kernel = Kernel::new(&world).unwrap();
            let random = kernel.at_random();
            assert!(random.exact, "{name}");
            for state in (0..world.n_states()).step_by(3) {
                let (expected, cost) = by_listing(&kernel, state);
                let found = &random.prob_sc[state * kernel.n_causes()..][..kernel.n_causes()];
                assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12), "{name}, state {state}");
                assert!((random.cost_s[state] - cost).abs() < 1e-12, "{name}, state {state}");
            }
        }
    }

    #[test]
    fn a_limit_on_the_number_of_levers_counts_for_all_groups_together() {
        for most in [0, 1, 2] {
            let world = World::builder("two groups", 1)
                .state("s", ["a", "b"])
                .lever("u", ["off", "low", "high"])
                .lever("v", ["off", "on"])
                .key("x", ["no", "yes"])
                .key("y", ["no", "yes"])
                .mechanism("u", [] as [&str; 0], [0.5, 0.3, 0.2])
                .mechanism("v", [] as [&str; 0], [0.6, 0.4])
                .mechanism("x", ["u"], [0.9, 0.1, 0.4, 0.6, 0.2, 0.8])
                .mechanism("y", ["v"], [0.7, 0.3, 0.1, 0.9])
                .next("s", ["x", "y"], [0.9, 0.1, 0.5, 0.5, 0.4, 0.6, 0.1, 0.9])
                .reward("r", "s", [0.0, 1.0])
                .set(SetSpec::AtMost(most.into()))
                .build();
            let world = world.unwrap();
            let kernel = Kernel::new(&world).unwrap();
            let random = kernel.at_random();
            for state in 0..2 {
                let (expected, _) = by_listing(&kernel, state);
                let found = &random.prob_sc[state * 4..][..4];
                assert!(
                    found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12),
                    "{most}: {found:?} {expected:?}"
                );
            }
        }
    }
}
