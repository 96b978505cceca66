//! Branch-and-bound search over several groups with many settings.

use super::{Found, Tie, Within, floor, weigh};
use crate::kernel::Kernel;
use crate::random::{scale, splitmix64};
use crate::world::Action;

/// Maximum number of tied interventions that are enumerated; of more, one is drawn group by group.
pub(crate) const MOST_TIES: usize = 1024;

/// Buffers, reused from state to state.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffers {
    values: Vec<f64>,
    /// Lower bounds: `relaxed[g]` is over the configurations of the first g groups.
    relaxed: Vec<Vec<f64>>,
    /// `partial[g][j]`: `relaxed[j]` marginalised over the first g groups, for the settings chosen so far.
    partial: Vec<Vec<Vec<f64>>>,
    orders: Vec<Vec<(f64, u32)>>,
    /// `least_part[g]`: the smallest number that the groups from g on can add.
    least_part: Vec<u64>,
    /// Numbers and values of interventions.
    leaves: Vec<(u64, f64)>,
}

/// Goal of a search.
#[derive(Clone, Copy, Debug)]
enum Aim {
    /// The least value; best bounds first.
    Least,
    /// The smallest number within the limit.
    First,
    /// All numbers within the limit, up to [`MOST_TIES`].
    List,
    /// A random number within the limit.
    Any(u64),
}

/// The state of a search.
struct Walk<'a> {
    kernel: &'a Kernel,
    state: usize,
    digits: Vec<usize>,
    aim: Aim,
    /// Settings whose bound exceeds this are pruned.
    limit: f64,
    /// Required improvement.
    slack: f64,
    /// Greatest less least loss if the kernel has confidence sets, else 0.
    doubt: f64,
    /// Lower bound of every member of a confidence set, before costs.
    floor: f64,
    best: f64,
    /// The least bound of anything pruned or beaten while minimising.
    rival: f64,
    /// Number and value of the intervention found.
    part: Option<(u64, f64)>,
    done: bool,
}

/// Sums over the settings chosen so far.
#[derive(Clone, Copy, Default)]
struct Chosen {
    /// Costs, less the gains of the optimistic members.
    own: f64,
    /// Costs alone.
    cost: f64,
    n_set: usize,
    part: u64,
}

impl Kernel {
    pub(super) fn best_of_many(
        &self,
        state: usize,
        loss: &[f64],
        within: Within,
        tie: Tie,
        buffers: &mut Buffers,
    ) -> Found {
        let n = self.groups.len();
        buffers.relaxed.resize(n + 1, Vec::new());
        buffers.partial.resize(n + 1, Vec::new());
        buffers.partial.iter_mut().for_each(|p| p.resize(n + 1, Vec::new()));
        buffers.orders.resize(n, Vec::new());
        buffers.least_part.clear();
        buffers.least_part.resize(n + 1, 0);
        buffers.relaxed[n].clear();
        buffers.relaxed[n].extend_from_slice(loss);
        let doubt = self.doubt(loss);
        for g in (0..n).rev() {
            let group = &self.groups[g];
            let row = group.row(group.row_of(state));
            buffers.least_part[g] = buffers.least_part[g + 1] + group.settings[row.setting(0)].part;
            let (before, after) = buffers.relaxed.split_at_mut(g + 1);
            self.relax(g, state, doubt, &after[0], &mut before[g], &mut buffers.values);
        }
        for j in 1..=n {
            buffers.partial[0][j].clone_from(&buffers.relaxed[j]);
        }
        let digits = if self.cross.is_empty() { Vec::new() } else { self.state_space.digits(state) };
        let mut walk = Walk {
            kernel: self,
            state,
            digits,
            aim: Aim::Least,
            limit: f64::INFINITY,
            slack: within.rounding,
            doubt,
            floor: if doubt > 0.0 { floor(loss) } else { 0.0 },
            best: f64::INFINITY,
            rival: f64::INFINITY,
            part: None,
            done: false,
        };
        walk.descend(0, Chosen::default(), buffers);
        let (best, unique) = (walk.best, walk.rival > walk.best + within.ties);
        if !unique {
            walk.limit = best + within.ties;
            walk.settle(tie, buffers);
        }
        let (part, chosen) = walk.part.expect("invariant: every state has an allowed intervention");
        Found { least: best, chosen, action: Action(part) }
    }

    /// For each joint configuration of the first g groups, the minimum of `after` over the settings of group g.
    fn relax(&self, g: usize, state: usize, doubt: f64, after: &[f64], out: &mut Vec<f64>, values: &mut Vec<f64>) {
        let group = &self.groups[g];
        let row = group.row(group.row_of(state));
        values.resize(row.n.max(values.len()), 0.0);
        out.clear();
        for of_cause in after.chunks_exact(group.n_causes()) {
            weigh(row.prob, of_cause, &mut values[..row.n]);
            let own = |i: usize| group.own(group.row_of(state), row.setting(i), doubt);
            out.push((0..row.n).map(|i| values[i] + own(i)).fold(f64::INFINITY, f64::min));
        }
    }
}

impl Walk<'_> {
    /// Breaks ties among interventions within the limit.
    fn settle(&mut self, tie: Tie, buffers: &mut Buffers) {
        match tie {
            Tie::First => self.again(Aim::First, buffers),
            Tie::Random(random) => {
                buffers.leaves.clear();
                self.again(Aim::List, buffers);
                if buffers.leaves.len() > MOST_TIES {
                    return self.again(Aim::Any(random), buffers);
                }
                buffers.leaves.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
                // One intervention may occur with several extreme points.
                buffers.leaves.dedup_by_key(|leaf| leaf.0);
                let chosen = buffers.leaves.get(scale(random, buffers.leaves.len() as u64) as usize).copied();
                // Without a tolerance, rounding may hide even the intervention found first.
                self.part = chosen.or(self.part);
            }
        }
    }

    fn again(&mut self, aim: Aim, buffers: &mut Buffers) {
        (self.aim, self.done) = (aim, false);
        self.descend(0, Chosen::default(), buffers);
    }

    /// Chooses the setting of group g, given those of the groups before it.
    fn descend(&mut self, g: usize, chosen: Chosen, buffers: &mut Buffers) {
        let kernel = self.kernel;
        let group = &kernel.groups[g];
        let row = group.row(group.row_of(self.state));
        buffers.values.resize(row.n.max(buffers.values.len()), 0.0);
        weigh(row.prob, &buffers.partial[g][g + 1], &mut buffers.values[..row.n]);
        let mut order = std::mem::take(&mut buffers.orders[g]);
        order.clear();
        for i in 0..row.n {
            let setting = &group.settings[row.setting(i)];
            let bound =
                chosen.own + group.own(group.row_of(self.state), row.setting(i), self.doubt) + buffers.values[i];
            if bound <= self.limit && kernel.limit.is_none_or(|limit| chosen.n_set + setting.n_set <= limit) {
                order.push((bound, i as u32));
            }
        }
        match self.aim {
            Aim::Least => order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))),
            Aim::Any(random) => {
                let first = scale(splitmix64(random ^ g as u64), order.len() as u64);
                order.rotate_left(first as usize);
            }
            Aim::First | Aim::List => {}
        }
        for &(bound, i) in &order {
            let setting = &group.settings[row.setting(i as usize)];
            let next = Chosen {
                own: chosen.own + group.own(group.row_of(self.state), row.setting(i as usize), self.doubt),
                cost: chosen.cost + setting.cost,
                n_set: chosen.n_set + setting.n_set,
                part: chosen.part + setting.part,
            };
            if self.passes_over(bound, next.part + buffers.least_part[g + 1]) {
                break;
            }
            if g + 1 == kernel.groups.len() {
                self.leaf(bound, next, buffers);
            } else {
                for j in g + 2..=kernel.groups.len() {
                    let (now, later) = buffers.partial.split_at_mut(g + 1);
                    condition(&now[g][j], row.prob, i as usize, row.n, group.n_causes(), &mut later[0][j]);
                }
                self.descend(g + 1, next, buffers);
            }
            if self.done {
                break;
            }
        }
        buffers.orders[g] = order;
    }

    /// Whether neither this setting nor any later one in its order is useful.
    fn passes_over(&mut self, bound: f64, least_part: u64) -> bool {
        match self.aim {
            Aim::Least => {
                let over = bound >= self.best - self.slack;
                if over {
                    self.rival = self.rival.min(bound);
                }
                over
            }
            Aim::First => self.part.is_some_and(|(part, _)| least_part >= part),
            Aim::List | Aim::Any(_) => false,
        }
    }

    fn leaf(&mut self, bound: f64, Chosen { part, cost, .. }: Chosen, buffers: &mut Buffers) {
        let kernel = self.kernel;
        if !kernel.cross.is_empty() && kernel.interventions.is_forbidden(&self.digits, Action(part)) {
            return;
        }
        // For any radius, no member is better than the best configuration.
        let value = if self.doubt > 0.0 { bound.max(cost + self.floor) } else { bound };
        match self.aim {
            Aim::Least if value >= self.best - self.slack => self.rival = self.rival.min(value),
            Aim::Least => {
                self.rival = self.rival.min(self.best);
                (self.best, self.part) = (value, Some((part, value)));
            }
            _ if value > self.limit => {}
            Aim::First if self.part.is_some_and(|(found, _)| found <= part) => {}
            Aim::First => self.part = Some((part, value)),
            Aim::List => {
                buffers.leaves.push((part, value));
                self.done = buffers.leaves.len() > MOST_TIES;
            }
            Aim::Any(_) => (self.part, self.done) = (Some((part, value)), true),
        }
    }
}

/// Marginalises the first configurations of `tensor` with the distribution of setting i.
fn condition(tensor: &[f64], prob: &[f64], i: usize, n: usize, n_causes: usize, out: &mut Vec<f64>) {
    let tail = tensor.len() / n_causes;
    out.clear();
    out.resize(tail, 0.0);
    for (c, of_cause) in tensor.chunks_exact(tail).enumerate() {
        let p = prob[c * n + i];
        for (o, x) in out.iter_mut().zip(of_cause) {
            *o += p * x;
        }
    }
}
