//! Warm start of a search: for one stage and state, the settings that were nearly optimal in the last full search.
//!
//! Losses change little between two plans. If every loss increased by at least `moved` since the last full weighing, so
//! did every setting's expected loss, since probabilities sum to one. Only the best settings of that time are weighed.
//! If even the smallest possible new value of the others is too large, they are skipped. Results are bit-identical.
//!
//! Without it an episode of `c-ucbvi:width=rlberry` at 8 states and 64 interventions takes 1.8x as long, one of
//! `c-ucbvi` 1.3x or more; at 64 states and 343 interventions the first takes 0.9x, the second 1.1x or more (example
//! `episode_times`).

use super::Kernel;
use super::group::Row;
use super::groups::groups;
use super::lever_values::n_settings;
use super::search::{Found, Scratch, Tie, pick, pick_here};
use crate::loops::simd;
use crate::loops::weigh::{weigh, weigh_here};
use crate::world::{Action, World};

/// Number of settings up to which all are weighed every time.
const FEW: usize = 16;

/// Number of kept settings out of `n`: an eighth, in whole registers.
fn n_kept(n: usize) -> usize {
    (n / 8).clamp(FEW, 64).next_multiple_of(8)
}

/// The best settings of the last full weighing at one stage and state.
#[derive(Clone, Debug, Default)]
pub(crate) struct WarmStart {
    /// The losses of that weighing.
    loss: Vec<f64>,
    /// Positions of the settings in their row, in increasing order.
    kept: Vec<u32>,
    /// Their distributions, `[cause][kept]`, and costs, if there are any.
    prob: Vec<f64>,
    cost: Vec<f64>,
    /// The least value of the other settings.
    rest: f64,
}

impl WarmStart {
    /// Bytes of a warm start with this number of settings and configurations.
    pub(crate) fn bytes(n_settings: usize, n_causes: usize) -> usize {
        let numbers = if n_settings <= FEW { 0 } else { n_kept(n_settings) * (n_causes + 2) + n_causes };
        size_of::<WarmStart>() + numbers * size_of::<f64>()
    }

    /// Allocates for this number of settings and configurations.
    fn with_room(n_settings: usize, n_causes: usize) -> WarmStart {
        if n_settings <= FEW {
            return WarmStart::default();
        }
        let kept = n_kept(n_settings);
        WarmStart {
            loss: Vec::with_capacity(n_causes),
            kept: Vec::with_capacity(kept),
            prob: Vec::with_capacity(kept * n_causes),
            cost: Vec::with_capacity(kept),
            rest: 0.0,
        }
    }

    fn remember(
        &mut self,
        row: &Row<'_>,
        loss: &[f64],
        has_costs: bool,
        cost: impl Fn(usize) -> f64,
        scratch: &mut Scratch,
    ) {
        let keep = n_kept(row.n);
        let order = &mut scratch.order;
        order.clear();
        order.extend(scratch.values.iter().zip(0..).map(|(&v, i)| (v, i)));
        let (_, next, _) = order.select_nth_unstable_by(keep, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        self.rest = next.0;
        self.loss.clear();
        self.loss.extend_from_slice(loss);
        self.kept.clear();
        self.kept.extend(order[..keep].iter().map(|(_, i)| *i));
        self.kept.sort_unstable();
        self.prob.clear();
        for of_cause in row.prob.chunks_exact(row.n) {
            self.prob.extend(self.kept.iter().map(|&i| of_cause[i as usize]));
        }
        self.cost.clear();
        if has_costs {
            self.cost.extend(self.kept.iter().map(|&i| cost(i as usize)));
        }
    }

    /// The least value, and the value and row position of the choice; `None` if the warm start does not decide.
    fn search(&self, loss: &[f64], tolerance: f64, tie: Tie, scratch: &mut Scratch) -> Option<(f64, f64, usize)> {
        if self.loss.len() != loss.len() {
            return None;
        }
        let values = &mut scratch.values;
        values.resize(self.kept.len(), 0.0);
        let (moved, (best, chosen)) = simd::wide(
            #[inline(always)]
            || {
                let mut moved = f64::INFINITY;
                for (now, then) in loss.iter().zip(&self.loss) {
                    moved = if now - then < moved { now - then } else { moved };
                }
                weigh_here(&self.prob, loss, values);
                for (v, cost) in values.iter_mut().zip(&self.cost) {
                    *v += cost;
                }
                (moved, pick_here(values, tolerance, tie))
            },
        );
        // Rounding is far below the tolerance; twice the tolerance keeps every tie.
        (self.rest + moved > best + 2.0 * tolerance).then(|| (best, scratch.values[chosen], self.kept[chosen] as usize))
    }
}

impl Kernel {
    /// As [`Kernel::best`], with a warm start from the last call for the same stage and state.
    pub(crate) fn best_anchored(
        &self,
        state: usize,
        loss: &[f64],
        tolerance: f64,
        tie: Tie,
        anchor: &mut WarmStart,
        scratch: &mut Scratch,
    ) -> Found {
        let [group] = &self.groups[..] else { return self.best(state, loss, tolerance, tie, scratch) };
        let row = group.row(group.row_of(state));
        if !group.is_exact() || row.n <= FEW {
            return self.best(state, loss, tolerance, tie, scratch);
        }
        if let Some(tied) = self.all_tied(state, loss, tolerance, tie) {
            return tied;
        }
        let cost = |i: usize| group.settings[row.setting(i)].cost;
        let (least, chosen, i) = match anchor.search(loss, tolerance, tie, scratch) {
            Some(found) => found,
            None => {
                scratch.values.resize(row.n, 0.0);
                weigh(row.prob, loss, &mut scratch.values);
                if self.has_costs {
                    scratch.values.iter_mut().enumerate().for_each(|(i, v)| *v += cost(i));
                }
                anchor.remember(&row, loss, self.has_costs, cost, scratch);
                let (least, i) = pick(&scratch.values, tolerance, tie);
                (least, scratch.values[i], i)
            }
        };
        Found { least, chosen, action: Action(group.settings[row.setting(i)].part) }
    }

    /// Warm starts for this number of stages, `[stage][state]`.
    pub(crate) fn anchors(&self, horizon: usize) -> Vec<WarmStart> {
        let room = |group: &super::group::Group, state| group.row(group.row_of(state)).n;
        let all = (0..horizon * self.n_states()).map(|i| match &self.groups[..] {
            [group] => WarmStart::with_room(room(group, i % self.n_states()), self.n_causes()),
            _ => WarmStart::default(),
        });
        all.collect()
    }

    /// Bytes of warm starts for the kernel of a world, known before it is built.
    pub(crate) fn anchor_bytes_in(world: &World) -> u128 {
        let [group] = &groups(world)[..] else { return 0 };
        let settings = n_settings(world.interventions(), &group.levers).and_then(|n| usize::try_from(n).ok());
        let n_causes = world.sizes(&group.causes).iter().product();
        let each = settings.map_or(u128::MAX, |n| WarmStart::bytes(n, n_causes) as u128);
        each.saturating_mul(world.horizon() as u128 * world.n_states() as u128)
    }

    /// Maximum bytes of warm starts for this number of stages.
    pub(crate) fn anchor_bytes(&self, horizon: usize) -> usize {
        match &self.groups[..] {
            [group] => horizon * self.n_states() * WarmStart::bytes(group.settings.len(), self.n_causes()),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worlds::Paper;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn a_search_with_a_memory_gives_the_same_bits_as_one_without() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut settled = 0;
        for levels in [3, 5, 7] {
            let mut spec = Paper { levels, ..Paper::default() }.spec().unwrap();
            if levels == 5 {
                spec.variables.iter_mut().filter(|v| v.kind == crate::world::Kind::Lever).for_each(|lever| {
                    lever.costs = vec![(lever.values[0].clone(), 0.01.into())];
                });
            }
            let kernel = Kernel::new(&World::new(spec).unwrap()).unwrap();
            for state in 0..kernel.n_states() {
                let mut loss: Vec<f64> = (0..kernel.n_causes()).map(|_| rng.random()).collect();
                let (mut anchor, mut scratch) = (WarmStart::default(), Scratch::default());
                for round in 0..200 {
                    // Mostly small changes; sometimes a jump, equal losses, or no change.
                    match rng.random_range(0..20) {
                        0 => loss.iter_mut().for_each(|x| *x = rng.random()),
                        1 => loss.fill(0.5),
                        2 => {}
                        _ => loss.iter_mut().for_each(|x| *x += 0.02 * (rng.random::<f64>() - 0.5)),
                    }
                    let tie = if round % 3 == 0 { Tie::First } else { Tie::Random(rng.random()) };
                    // Large enough for ties to be common.
                    let tolerance = if round % 2 == 0 { 1e-9 } else { 1e-2 };
                    settled += usize::from(anchor.search(&loss, tolerance, tie, &mut scratch).is_some());
                    let found = kernel.best_anchored(state, &loss, tolerance, tie, &mut anchor, &mut scratch);
                    assert_eq!(found, kernel.best(state, &loss, tolerance, tie, &mut scratch), "{levels} {round}");
                }
            }
        }
        assert!(settled > 1000, "the memory settled {settled} searches");
    }
}
