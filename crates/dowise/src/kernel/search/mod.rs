//! The best intervention in a state without listing interventions.

mod branch;
mod few;
#[cfg(test)]
mod tests;

use super::{Kernel, scale};
use crate::world::Action;

/// How ties are settled between interventions whose values differ by no more than the tolerance.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tie {
    /// The intervention with the smallest number, among those that pruning keeps.
    First,
    /// The one that this random number points to, all with the same probability (but see [`branch::MOST_TIES`]).
    Random(u64),
}

/// Buffers for [`Kernel::best`], to be reused from state to state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) values: Vec<f64>,
    /// Values and positions looked at in a search with a memory.
    pub(crate) seen: Vec<(f64, usize)>,
    few: few::Buffers,
    branch: branch::Buffers,
}

/// Share of the tolerance for ties that is rounding: as much as the least value found may miss the least there is, so that
/// rounding between ties does not have to be searched through.
const ROUNDING: f64 = 1e-4;

/// Most combinations of settings, one from each group, that are simply all computed.
const FEW: usize = 256;

impl Kernel {
    /// Minimises Σ_c P(c | state, a) · loss(c) + cost(a) over the allowed interventions a.
    ///
    /// With loss = cap − q this is cap − max_a Q, and where every q equals the cap it is exactly 0: ties are ties, not rounding.
    ///
    /// # Cost
    /// One group: (causes) × (settings kept). Several groups with few combinations of kept settings: all of them, each group
    /// summed out once. Otherwise branch and bound; usually one path is followed to its end.
    pub(crate) fn best(
        &self,
        state: usize,
        loss: &[f64],
        tolerance: f64,
        tie: Tie,
        scratch: &mut Scratch,
    ) -> (f64, Action) {
        debug_assert_eq!(loss.len(), self.n_causes());
        let tied = self.all_tied(state, loss, tolerance, tie);
        tied.unwrap_or_else(|| self.search(state, loss, tolerance, tie, scratch))
    }

    /// Where every cause is worth the same up to rounding and nothing costs anything: any allowed intervention, if ties are
    /// drawn, not only those that pruning keeps.
    pub(crate) fn all_tied(&self, state: usize, loss: &[f64], tolerance: f64, tie: Tie) -> Option<(f64, Action)> {
        let Tie::Random(random) = tie else { return None };
        if self.has_costs || spread(loss) > ROUNDING * tolerance {
            return None;
        }
        let least = loss.iter().copied().fold(f64::INFINITY, f64::min);
        Some((least, super::any_allowed(&self.interventions, &self.state_space, state, random)))
    }

    /// As [`Kernel::best`], but only settings that pruning keeps are ever chosen.
    fn search(&self, state: usize, loss: &[f64], tolerance: f64, tie: Tie, scratch: &mut Scratch) -> (f64, Action) {
        match &self.groups[..] {
            [] => (loss[0], Action(0)),
            [_] => self.best_of_one(state, loss, tolerance, tie, scratch),
            _ if self.n_combinations(state) <= FEW => self.best_of_few(state, loss, tolerance, tie, &mut scratch.few),
            _ => self.best_of_many(state, loss, tolerance, tie, &mut scratch.branch),
        }
    }

    fn n_combinations(&self, state: usize) -> usize {
        self.groups.iter().fold(1, |n, group| n.saturating_mul(group.row(group.row_of(state)).n))
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

    /// Greatest less least loss if the kernel may be off, else 0: times a radius it is what that may gain.
    fn doubt(&self, loss: &[f64]) -> f64 {
        if self.groups.iter().all(|g| g.is_exact()) { 0.0 } else { spread(loss) }
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
