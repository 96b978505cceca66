//! The best intervention in a state without listing interventions: branch and bound over groups of levers.

use super::{Kernel, scale};
use crate::world::Action;

/// How ties are settled between interventions whose values differ by no more than the tolerance.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tie {
    /// The intervention with the smallest number, among those that pruning keeps.
    First,
    /// The one that this random number points to, all with the same probability.
    Random(u64),
}

/// Buffers for [`Kernel::best`], to be reused from state to state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) values: Vec<f64>,
    /// Lower bounds: `relaxed[g]` is over the causes of the first g groups.
    relaxed: Vec<Vec<f64>>,
    /// `partial[g][j]`: `relaxed[j]` summed over the causes of the first g groups, for the settings chosen so far.
    partial: Vec<Vec<Vec<f64>>>,
    orders: Vec<Vec<(f64, u32)>>,
    leaves: Vec<(f64, u64)>,
    /// Values and positions looked at in a search with a memory.
    pub(crate) seen: Vec<(f64, usize)>,
}

/// What stays fixed during one search.
struct Goal<'a> {
    /// Greatest less least loss, for kernels that may be off.
    spread: f64,
    state: usize,
    digits: Vec<usize>,
    tolerance: f64,
    kernel: &'a Kernel,
}

impl Kernel {
    /// Minimises Σ_c P(c | state, a) · loss(c) + cost(a) over the allowed interventions a.
    ///
    /// With loss = cap − q this is cap − max_a Q, and where every q equals the cap it is exactly 0: ties are ties, not rounding.
    ///
    /// # Cost
    /// One group: (causes) × (settings kept). Several groups: a bound that lets later groups see the causes of earlier ones
    /// is computed once, O(Z · settings of the last group + …); usually only one path is then followed to its end.
    pub(crate) fn best(
        &self,
        state: usize,
        loss: &[f64],
        tolerance: f64,
        tie: Tie,
        scratch: &mut Scratch,
    ) -> (f64, Action) {
        debug_assert_eq!(loss.len(), self.n_causes());
        if let Some(tied) = self.all_tied(state, loss, tolerance, tie) {
            return tied;
        }
        match &self.groups[..] {
            [] => (loss[0], Action(0)),
            [_] => self.best_of_one(state, loss, tolerance, tie, scratch),
            _ => self.best_of_many(state, loss, tolerance, tie, scratch),
        }
    }

    /// Where every cause is worth the same and nothing costs anything: any allowed intervention, if ties are drawn.
    pub(crate) fn all_tied(&self, state: usize, loss: &[f64], tolerance: f64, tie: Tie) -> Option<(f64, Action)> {
        let Tie::Random(random) = tie else { return None };
        if self.has_costs || spread(loss) > tolerance {
            return None;
        }
        let least = loss.iter().copied().fold(f64::INFINITY, f64::min);
        Some((least, super::any_allowed(&self.interventions, &self.state_space, state, random)))
    }

    fn best_of_one(
        &self,
        state: usize,
        loss: &[f64],
        tolerance: f64,
        tie: Tie,
        scratch: &mut Scratch,
    ) -> (f64, Action) {
        let group = &self.groups[0];
        let row = group.row(group.row_of(state));
        scratch.values.resize(row.n, 0.0);
        weigh(row.prob, loss, &mut scratch.values);
        if !group.is_exact() {
            let spread = spread(loss);
            for i in 0..row.n {
                let gain = spread * group.radius(group.row_of(state), row.setting(i));
                scratch.values[i] = (scratch.values[i] - gain).max(0.0);
            }
        }
        if self.has_costs {
            for i in 0..row.n {
                scratch.values[i] += group.settings[row.setting(i)].cost;
            }
        }
        let (best, chosen) = pick(&scratch.values[..row.n], tolerance, tie);
        (best, Action(group.settings[row.setting(chosen)].part))
    }

    fn best_of_many(
        &self,
        state: usize,
        loss: &[f64],
        tolerance: f64,
        tie: Tie,
        scratch: &mut Scratch,
    ) -> (f64, Action) {
        let n = self.groups.len();
        scratch.relaxed.resize(n + 1, Vec::new());
        scratch.partial.resize_with(n + 1, || vec![Vec::new(); n + 1]);
        scratch.orders.resize(n, Vec::new());
        scratch.leaves.clear();
        scratch.relaxed[n].clear();
        scratch.relaxed[n].extend_from_slice(loss);
        let spread = if self.groups.iter().all(|g| g.is_exact()) { 0.0 } else { spread(loss) };
        for g in (0..n).rev() {
            let (before, after) = scratch.relaxed.split_at_mut(g + 1);
            self.relax(g, state, spread, &after[0], &mut before[g], &mut scratch.values);
        }
        for j in 1..=n {
            scratch.partial[0][j].clone_from(&scratch.relaxed[j]);
        }
        let digits = if self.cross.is_empty() { Vec::new() } else { self.state_space.digits(state) };
        let goal = Goal { spread, state, digits, tolerance, kernel: self };
        let mut best = f64::INFINITY;
        goal.descend(0, 0.0, 0, 0, &mut best, scratch);
        let leaves = &mut scratch.leaves;
        leaves.retain(|(value, _)| *value <= best + tolerance);
        let part = match tie {
            Tie::First => leaves.iter().map(|(_, part)| *part).min(),
            Tie::Random(random) => {
                leaves.sort_unstable_by_key(|(_, part)| *part);
                leaves.get(scale(random, leaves.len() as u64) as usize).map(|(_, part)| *part)
            }
        };
        (best, Action(part.expect("every state has an allowed intervention")))
    }

    /// For each joint cause of the first g groups the least that group g can make of `after`.
    fn relax(&self, g: usize, state: usize, spread: f64, after: &[f64], out: &mut Vec<f64>, values: &mut Vec<f64>) {
        let group = &self.groups[g];
        let row = group.row(group.row_of(state));
        values.resize(row.n.max(values.len()), 0.0);
        out.clear();
        for block in after.chunks_exact(group.n_causes()) {
            weigh(row.prob, block, &mut values[..row.n]);
            let own = |i: usize| group.own(group.row_of(state), row.setting(i), spread);
            let least = (0..row.n).map(|i| values[i] + own(i)).fold(f64::INFINITY, f64::min);
            out.push(least);
        }
    }
}

impl Goal<'_> {
    /// Chooses the setting of group g, best bound first, given the share, cost and number of levers of the groups before it.
    fn descend(&self, g: usize, cost: f64, n_set: usize, part: u64, best: &mut f64, scratch: &mut Scratch) {
        let kernel = self.kernel;
        let group = &kernel.groups[g];
        let row = group.row(group.row_of(self.state));
        let last = g + 1 == kernel.groups.len();
        scratch.values.resize(row.n.max(scratch.values.len()), 0.0);
        weigh(row.prob, &scratch.partial[g][g + 1], &mut scratch.values[..row.n]);
        let mut order = std::mem::take(&mut scratch.orders[g]);
        order.clear();
        for i in 0..row.n {
            let setting = &group.settings[row.setting(i)];
            if kernel.limit.is_none_or(|limit| n_set + setting.n_set <= limit) {
                let own = group.own(group.row_of(self.state), row.setting(i), self.spread);
                order.push((cost + own + scratch.values[i], i as u32));
            }
        }
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for &(bound, i) in &order {
            if bound > *best + self.tolerance {
                break;
            }
            let setting = &group.settings[row.setting(i as usize)];
            let whole = part + setting.part;
            if last {
                if kernel.cross.is_empty() || !kernel.interventions.is_forbidden(&self.digits, Action(whole)) {
                    // However far a kernel may be off, no cause is worth more than the best of them.
                    let value =
                        if self.spread > 0.0 { bound.max(kernel.interventions.cost(Action(whole))) } else { bound };
                    *best = best.min(value);
                    scratch.leaves.push((value, whole));
                }
                continue;
            }
            for j in g + 2..=kernel.groups.len() {
                let (now, next) = scratch.partial.split_at_mut(g + 1);
                condition(&now[g][j], row.prob, i as usize, row.n, group.n_causes(), &mut next[0][j]);
            }
            let own = group.own(group.row_of(self.state), row.setting(i as usize), self.spread);
            self.descend(g + 1, cost + own, n_set + setting.n_set, whole, best, scratch);
        }
        scratch.orders[g] = order;
    }
}

/// Greatest less least.
fn spread(loss: &[f64]) -> f64 {
    let (lo, hi) = loss.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), &x| (lo.min(x), hi.max(x)));
    hi - lo
}

/// values(i) = Σ_c prob\[c\]\[i\] · loss(c), eight settings at a time.
pub(crate) fn weigh(prob: &[f64], loss: &[f64], values: &mut [f64]) {
    let n = values.len();
    let (blocks, rest) = values.as_chunks_mut::<8>();
    for (b, block) in blocks.iter_mut().enumerate() {
        let mut sum = [0.0; 8];
        for (c, x) in loss.iter().enumerate() {
            let p: &[f64; 8] = prob[c * n + b * 8..][..8].try_into().expect("eight");
            for lane in 0..8 {
                sum[lane] += p[lane] * x;
            }
        }
        *block = sum;
    }
    let done = n - rest.len();
    for (i, value) in rest.iter_mut().enumerate() {
        *value = loss.iter().enumerate().map(|(c, x)| prob[c * n + done + i] * x).sum();
    }
}

/// Sums the first causes of `tensor` out with the distribution of setting i.
fn condition(tensor: &[f64], prob: &[f64], i: usize, n: usize, n_causes: usize, out: &mut Vec<f64>) {
    let tail = tensor.len() / n_causes;
    out.clear();
    out.resize(tail, 0.0);
    for (c, block) in tensor.chunks_exact(tail).enumerate() {
        let p = prob[c * n + i];
        for (o, x) in out.iter_mut().zip(block) {
            *o += p * x;
        }
    }
}

/// The least value and the position chosen among those within the tolerance of it.
pub(crate) fn pick(values: &[f64], tolerance: f64, tie: Tie) -> (f64, usize) {
    let best = least(values);
    let limit = best + tolerance;
    let mut ties = values.iter().enumerate().filter(|(_, v)| **v <= limit).map(|(i, _)| i);
    let chosen = match tie {
        Tie::First => ties.next(),
        Tie::Random(random) => {
            let n = values.iter().map(|v| u64::from(*v <= limit)).sum();
            ties.nth(scale(random, n) as usize)
        }
    };
    (best, chosen.expect("every state has an allowed intervention"))
}

/// The least of some numbers, eight lanes at a time.
fn least(values: &[f64]) -> f64 {
    let (eights, rest) = values.as_chunks::<8>();
    let mut least = [f64::INFINITY; 8];
    for eight in eights {
        (0..8).for_each(|lane| least[lane] = if eight[lane] < least[lane] { eight[lane] } else { least[lane] });
    }
    rest.iter().chain(&least).copied().fold(f64::INFINITY, f64::min)
}
