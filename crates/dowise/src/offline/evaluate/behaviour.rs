//! The behaviour policy: distribution of joint key values in each state, its costs, and the logged returns.

use std::collections::BTreeMap;

use rand::Rng;

use super::interval::{Interval, NORMAL_95, mean_may_be_off};
use crate::kernel::{Found, Kernel, Scratch, Tie};
use crate::learn::Knowledge;
use crate::offline::Episodes;
use crate::offline::episodes::Step;
use crate::offline::fit::Completed;
use crate::offline::summary::ReturnSums;
use crate::plan::Chooser;
use crate::random::gamma;
use crate::world::Action;

/// Smoothing weight, in visits, of the evaluated policy's distribution at a stage and state: importance ratios stay
/// finite.
const SMOOTHING: f64 = 1.0;

/// Tolerance on the sum of logged propensities of a state for treating its interventions as complete.
const ALL_SEEN: f64 = 1e-3;

/// The empirical distribution of joint key values in every state.
#[derive(Clone, Debug)]
pub(crate) struct Behaviour {
    n_states: usize,
    n_causes: usize,
    /// `[state][cause]`, pooled over stages.
    n_sc: Vec<f64>,
    n_s: Vec<f64>,
    /// Sums of costs, pooled over stages.
    cost_s: Vec<f64>,
    /// Pooled over states.
    everywhere: Vec<f64>,
    cost_everywhere: f64,
    /// For each `[stage][state]`, the offset of its entries in `causes`.
    begins: Vec<usize>,
    causes: Vec<(u32, f64)>,
    n_hs: Vec<f64>,
    cost_hs: Vec<f64>,
    /// For each `[stage][state]`, the interventions and their logged propensities, if these are complete.
    stated: Vec<Option<Vec<(Action, f64)>>>,
    /// Steps whose joint key values are known or imputed; empty if no step is open.
    known: Vec<Entry>,
    /// Steps with an intervention but without its joint key values.
    open: Vec<Open>,
    /// For each group of open steps, the joint key values that followed the same intervention in complete steps.
    set_off: Vec<Vec<(u32, f64)>>,
}

/// A step, or a fraction of one, with its joint key values.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// `[stage][state]`.
    at: usize,
    cause: u32,
    weight: f64,
    cost: f64,
}

/// A step with an intervention but without its joint key values.
#[derive(Clone, Copy, Debug)]
struct Open {
    at: usize,
    group: usize,
    weight: f64,
    /// Cost of its intervention.
    cost: f64,
}

impl Behaviour {
    /// The empirical behaviour policy. Steps with missing key variables count too, so that selective recording does not
    /// bias it. They use the imputed distribution if there is one, otherwise that of the same intervention in the same
    /// state. If no such step is complete, they use that of the same intervention in all states, and otherwise are
    /// dropped.
    pub(crate) fn new(log: &Episodes, completed: Option<&Completed>) -> Behaviour {
        Behaviour::of_steps(log, completed, |_| true)
    }

    /// The policy of the steps that were not randomised, if the log has both kinds: the one that a plan would replace.
    pub(crate) fn unrandomised(log: &Episodes, completed: Option<&Completed>) -> Option<Behaviour> {
        log.is_partly_randomised().then(|| Behaviour::of_steps(log, completed, |step| !step.randomised))
    }

    fn of_steps(log: &Episodes, completed: Option<&Completed>, counts: impl Fn(&Step) -> bool) -> Behaviour {
        let expected: BTreeMap<usize, &[(u32, f64)]> = match completed {
            Some(completed) => log.patterns.iter().map(|&(i, pattern)| (i, &completed.causes[pattern][..])).collect(),
            None => BTreeMap::new(),
        };
        let n = log.view.layout.n_states();
        let all = log.view.knowledge.interventions();
        let (mut entries, mut open) = (Vec::new(), Vec::new());
        let mut after: BTreeMap<(Option<u32>, Action), BTreeMap<u32, f64>> = BTreeMap::new();
        for episode in &log.episodes {
            let weight = f64::from(episode.weight);
            for (i, step) in log.steps_of(episode).iter().enumerate() {
                let Some(action) = step.action.filter(|_| counts(step)) else { continue };
                let (at, cost) = (step.stage as usize * n + step.state as usize, all.cost(action));
                if let Some(cause) = step.cause {
                    entries.push(Entry { at, cause, weight, cost: weight * cost });
                    for state in [Some(step.state), None] {
                        *after.entry((state, action)).or_default().entry(cause).or_default() += weight;
                    }
                } else if let Some(causes) = expected.get(&(episode.first + i)) {
                    entries.extend(causes.iter().map(|&(cause, share)| {
                        let weight = weight * share;
                        Entry { at, cause, weight, cost: weight * cost }
                    }));
                } else {
                    open.push((at, step.state, action, weight, cost));
                }
            }
        }
        // Groups open steps by intervention, and by state where complete steps of that state exist.
        let mut groups: BTreeMap<(Option<u32>, Action), usize> = BTreeMap::new();
        let mut set_off: Vec<Vec<(u32, f64)>> = Vec::new();
        let mut kept = Vec::new();
        for (at, state, action, weight, cost) in open {
            let keys = [(Some(state), action), (None, action)];
            let Some(key) = keys.into_iter().find(|key| after.contains_key(key)) else { continue };
            let group = *groups.entry(key).or_insert_with(|| {
                set_off.push(after[&key].iter().map(|(&cause, &n)| (cause, n)).collect());
                set_off.len() - 1
            });
            kept.push(Open { at, group, weight, cost });
        }
        let mut out = Behaviour::empty(log);
        out.known = entries;
        out.open = kept;
        out.set_off = set_off;
        let shares = out.set_off.clone();
        out.count(&shares);
        out.fold();
        out
    }

    /// Keeps the entries that recounting needs, and merges equal ones.
    fn fold(&mut self) {
        if self.open.is_empty() {
            self.known.clear();
        }
        self.known.sort_by_key(|entry| (entry.at, entry.cause));
        self.known.dedup_by(|next, kept| {
            let same = (next.at, next.cause) == (kept.at, kept.cause);
            if same {
                (kept.weight, kept.cost) = (kept.weight + next.weight, kept.cost + next.cost);
            }
            same
        });
        self.open.sort_by(|a, b| (a.at, a.group).cmp(&(b.at, b.group)).then(a.cost.total_cmp(&b.cost)));
        self.open.dedup_by(|next, kept| {
            let same = (next.at, next.group, next.cost) == (kept.at, kept.group, kept.cost);
            kept.weight += if same { next.weight } else { 0.0 };
            same
        });
    }

    fn empty(log: &Episodes) -> Behaviour {
        let layout = &log.view.layout;
        let (horizon, n, n_causes) = (layout.horizon, layout.n_states(), layout.n_causes);
        Behaviour {
            n_states: n,
            n_causes,
            n_sc: vec![0.0; n * n_causes],
            n_s: vec![0.0; n],
            cost_s: vec![0.0; n],
            everywhere: vec![0.0; n_causes],
            cost_everywhere: 0.0,
            begins: Vec::with_capacity(horizon * n + 1),
            causes: Vec::new(),
            n_hs: vec![0.0; horizon * n],
            cost_hs: vec![0.0; horizon * n],
            stated: stated(log),
            known: Vec::new(),
            open: Vec::new(),
            set_off: Vec::new(),
        }
    }

    /// Recounts all steps, with these weights for the joint key values of each group of open steps.
    fn count(&mut self, set_off: &[Vec<(u32, f64)>]) {
        let (n, n_causes) = (self.n_states, self.n_causes);
        let sums =
            [&mut self.n_sc, &mut self.n_s, &mut self.cost_s, &mut self.everywhere, &mut self.n_hs, &mut self.cost_hs];
        sums.into_iter().for_each(|sums| sums.fill(0.0));
        self.cost_everywhere = 0.0;
        self.begins.clear();
        self.causes.clear();
        let totals: Vec<f64> = set_off.iter().map(|causes| causes.iter().map(|c| c.1).sum()).collect();
        let of_open = self.open.iter().flat_map(|open| {
            let total = totals[open.group];
            set_off[open.group].iter().filter(|c| c.1 > 0.0).map(move |&(cause, share)| {
                let weight = open.weight * share / total;
                Entry { at: open.at, cause, weight, cost: weight * open.cost }
            })
        });
        let mut seen: Vec<(usize, u32, f64)> = Vec::new();
        for Entry { at, cause, weight, cost } in self.known.iter().copied().chain(of_open) {
            let s = at % n;
            self.n_sc[s * n_causes + cause as usize] += weight;
            self.n_s[s] += weight;
            self.cost_s[s] += cost;
            self.everywhere[cause as usize] += weight;
            self.cost_everywhere += cost;
            self.n_hs[at] += weight;
            self.cost_hs[at] += cost;
            seen.push((at, cause, weight));
        }
        seen.sort_by_key(|&(at, cause, _)| (at, cause));
        let total: f64 = self.everywhere.iter().sum();
        self.everywhere.iter_mut().for_each(|p| *p = if total > 0.0 { *p / total } else { 1.0 / n_causes as f64 });
        self.cost_everywhere = if total > 0.0 { self.cost_everywhere / total } else { 0.0 };
        let mut seen = seen.into_iter().peekable();
        for at in 0..self.n_hs.len() {
            let begin = self.causes.len();
            self.begins.push(begin);
            while let Some((_, cause, weight)) = seen.next_if(|next| next.0 == at) {
                match self.causes[begin..].last_mut() {
                    Some(last) if last.0 == cause => last.1 += weight,
                    Some(_) | None => self.causes.push((cause, weight)),
                }
            }
        }
        self.begins.push(self.causes.len());
    }

    /// P(c | stage, state) of the behaviour policy, smoothed towards `own`, the same probability under the evaluated
    /// policy; and whether it follows from logged propensities.
    ///
    /// Logged propensities are used if those of the state's logged interventions sum to 1; otherwise (n_h(s, c) + own)
    /// / (n_h(s) + 1). Stages are not pooled, since the behaviour policy may depend on the stage.
    pub(crate) fn probability(
        &self,
        stage: usize,
        state: usize,
        cause: usize,
        own: f64,
        kernel: &Kernel,
    ) -> (f64, bool) {
        let at = stage * self.n_states + state;
        if let Some(actions) = &self.stated[at] {
            let mut prob = vec![0.0; self.n_causes];
            let total: f64 = actions.iter().map(|(_, p)| p).sum();
            let of = |&(action, p): &(Action, f64)| {
                kernel.distribution(state, action, &mut prob);
                p / total * prob[cause]
            };
            return (actions.iter().map(of).sum(), true);
        }
        let here = &self.causes[self.begins[at]..self.begins[at + 1]];
        let seen = here.binary_search_by_key(&(cause as u32), |c| c.0).map_or(0.0, |i| here[i].1);
        ((seen + SMOOTHING * own) / (self.n_hs[at] + SMOOTHING), false)
    }
}

impl Behaviour {
    /// Whether importance ratios in a state follow from logged propensities at some stage.
    pub(super) fn is_stated(&self, state: usize) -> bool {
        self.stated.iter().skip(state).step_by(self.n_states).any(Option::is_some)
    }

    /// A posterior sample of the behaviour policy: P(c | stage, state) ~ Dirichlet(counts). Missing joint key values
    /// are sampled too. Costs keep their means; logged propensities are not needed.
    pub(crate) fn drawn(&self, rng: &mut impl Rng) -> Behaviour {
        if self.open.is_empty() {
            return self.with_drawn_counts(rng);
        }
        let of_group = |causes: &Vec<(u32, f64)>| causes.iter().map(|&(cause, n)| (cause, gamma(n, rng))).collect();
        let set_off: Vec<Vec<(u32, f64)>> = self.set_off.iter().map(of_group).collect();
        let mut completed = self.clone();
        completed.count(&set_off);
        completed.with_drawn_counts(rng)
    }

    fn with_drawn_counts(&self, rng: &mut impl Rng) -> Behaviour {
        let mut draw = |counts: &[f64]| counts.iter().map(|&n| if n > 0.0 { gamma(n, rng) } else { 0.0 }).collect();
        let weights: Vec<f64> = self.causes.iter().map(|c| c.1).collect();
        let weights: Vec<f64> = draw(&weights);
        let n_sc: Vec<f64> = draw(&self.n_sc);
        let everywhere: Vec<f64> = self.everywhere.clone();
        let sum = |parts: &[f64]| parts.iter().sum::<f64>();
        let n_hs: Vec<f64> = self.begins.windows(2).map(|w| sum(&weights[w[0]..w[1]])).collect();
        let n_s: Vec<f64> = n_sc.chunks_exact(self.n_causes).map(sum).collect();
        let scaled = |costs: &[f64], before: &[f64], now: &[f64]| -> Vec<f64> {
            let pairs = costs.iter().zip(before).zip(now);
            pairs.map(|((cost, before), now)| if *before > 0.0 { cost * now / before } else { 0.0 }).collect()
        };
        Behaviour {
            n_states: self.n_states,
            n_causes: self.n_causes,
            cost_s: scaled(&self.cost_s, &self.n_s, &n_s),
            cost_hs: scaled(&self.cost_hs, &self.n_hs, &n_hs),
            causes: self.causes.iter().zip(weights).map(|(&(cause, _), weight)| (cause, weight)).collect(),
            begins: self.begins.clone(),
            cost_everywhere: self.cost_everywhere,
            stated: Vec::new(),
            known: Vec::new(),
            open: Vec::new(),
            set_off: Vec::new(),
            n_sc,
            n_s,
            n_hs,
            everywhere,
        }
    }

    /// Σ_c P(c | stage, state) · loss(c) + cost of the behaviour policy.
    ///
    /// Uses frequencies at the stage. A state not visited at the stage uses those of all stages; a state never visited
    /// uses those of all states.
    pub(super) fn expect(&self, stage: usize, state: usize, loss: &[f64]) -> f64 {
        let at = stage * self.n_states + state;
        if self.n_hs[at] > 0.0 {
            let here = self.causes[self.begins[at]..self.begins[at + 1]].iter();
            return (here.map(|&(c, n)| n * loss[c as usize]).sum::<f64>() + self.cost_hs[at]) / self.n_hs[at];
        }
        let dot = |p: &[f64]| p.iter().zip(loss).map(|(p, loss)| p * loss).sum::<f64>();
        if self.n_s[state] > 0.0 {
            (dot(&self.n_sc[state * self.n_causes..][..self.n_causes]) + self.cost_s[state]) / self.n_s[state]
        } else {
            dot(&self.everywhere) + self.cost_everywhere
        }
    }
}

impl Chooser for Behaviour {
    fn n_causes(&self) -> usize {
        self.n_causes
    }

    /// The behaviour policy's expectation. It is a mixture, so the returned action is meaningless.
    fn best(&self, stage: usize, state: usize, loss: &[f64], _: f64, _: Tie, _: &mut Scratch) -> Found {
        Found::only(self.expect(stage, state, loss), Action(0))
    }
}

/// For each `[stage][state]`, the logged interventions with their propensities if these sum to 1. Stages are pooled if
/// every intervention has one propensity per state; otherwise each stage stands alone.
fn stated(log: &Episodes) -> Vec<Option<Vec<(Action, f64)>>> {
    let layout = &log.view.layout;
    let (horizon, n) = (layout.horizon, layout.n_states());
    let steps = log.steps.iter().filter(|step| !step.propensity.is_nan());
    let mut seen: Vec<(u32, u32, Action, f64)> =
        steps.filter_map(|step| Some((step.state, step.stage, step.action?, step.propensity))).collect();
    let mut out = vec![None; horizon * n];
    // Under declared confounding they do not give the distribution of key variables; wrong ones give no distribution.
    let is_confounded = log.knowledge().world().adjusts_for_logged_levers() || log.learns_from_experiments();
    if seen.is_empty() || is_confounded || log.propensity_test().is_contradicted() {
        return out;
    }
    seen.sort_by(|a, b| (a.0, a.1, a.2).cmp(&(b.0, b.1, b.2)).then(a.3.total_cmp(&b.3)));
    for of_state in seen.chunk_by(|a, b| a.0 == b.0) {
        let state = of_state[0].0 as usize;
        let whole = distribution(of_state.iter().map(|&(_, _, action, p)| (action, p)).collect());
        for of_stage in of_state.chunk_by(|a, b| a.1 == b.1) {
            let own = || distribution(of_stage.iter().map(|&(_, _, action, p)| (action, p)).collect());
            out[of_stage[0].1 as usize * n + state] = whole.clone().or_else(own);
        }
    }
    out
}

/// Interventions and their propensities, if each has only one and they sum to 1.
fn distribution(mut seen: Vec<(Action, f64)>) -> Option<Vec<(Action, f64)>> {
    seen.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let constant =
        seen.chunk_by(|a, b| a.0 == b.0).all(|same| same[same.len() - 1].1 - same[0].1 <= ALL_SEEN * same[0].1);
    seen.dedup_by_key(|s| s.0);
    let total: f64 = seen.iter().map(|s| s.1).sum();
    (constant && (total - 1.0).abs() <= ALL_SEEN).then_some(seen)
}

/// Bounds on the return of an episode, net of costs, with at least `shortest` steps.
pub(crate) fn possible(knowledge: &Knowledge, shortest: usize) -> [f64; 2] {
    let [least, most] = knowledge.world().step_range();
    // Effective number of steps: 1 + γ + γ² + …
    let counted = |n: usize| (0..n).fold(0.0, |sum, _| 1.0 + knowledge.world().discount() * sum);
    let steps = [counted(shortest), counted(knowledge.horizon())];
    [(steps[0] * least).min(steps[1] * least), (steps[0] * most).max(steps[1] * most)]
}

/// Returns of the logged episodes that begin at the first stage.
///
/// For an incomplete episode only bounds are known. Missingness may depend on the return, so both bounds count.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Return {
    /// Number of episodes.
    pub episodes: f64,
    /// Episodes among them with an unknown payment before their end.
    pub incomplete: f64,
    /// Mean return, net of costs; the midpoint of `means` if some episodes are incomplete.
    pub mean: f64,
    /// The mean with incomplete episodes at their lower and upper bounds.
    pub means: Interval,
    /// Standard deviation of a return, incomplete episodes at their midpoints.
    pub sd: f64,
    /// Normal 95 % interval of the mean, from the lower to the upper bounds.
    pub normal: Interval,
    /// Distribution-free interval of the mean, valid under any missingness, at the confidence level of the options.
    pub guaranteed: Interval,
}

impl Return {
    /// `None` if no episode is complete.
    pub(crate) fn new(log: &Episodes, delta: f64) -> Option<Return> {
        let episodes = log.episodes.iter().filter_map(|e| Some((log.bounds(e)?, e.weight, log.gain(e).is_some())));
        Return::of(&log.view.knowledge, &ReturnSums::of(episodes, log.ends_early()), delta)
    }

    /// The same from moments of the returns.
    pub(crate) fn of(knowledge: &Knowledge, sums: &ReturnSums, delta: f64) -> Option<Return> {
        let ReturnSums { least, most, middle, incomplete, ends_early } = *sums;
        let n = middle.n;
        if n == 0.0 || incomplete == n {
            return None;
        }
        let shortest = if ends_early { 1 } else { knowledge.horizon() };
        let possible = possible(knowledge, shortest);
        let range = possible[1] - possible[0];
        let normal = |variance: f64| if n > 1.0 { NORMAL_95 * (variance / n).sqrt() } else { range };
        let off = |variance: f64| mean_may_be_off(n, range, variance, delta);
        let between = |off: &dyn Fn(f64) -> f64| Interval {
            low: least.mean - off(least.variance),
            high: most.mean + off(most.variance),
        };
        Some(Return {
            episodes: n,
            incomplete,
            mean: middle.mean,
            means: Interval { low: least.mean, high: most.mean },
            sd: middle.variance.sqrt(),
            normal: between(&normal),
            guaranteed: between(&off).clipped(possible),
        })
    }
}
