//! Whoever was logged: which causes they set off in each state, what they paid for it, and what it brought.

use std::collections::BTreeMap;

use rand::Rng;

use super::interval::{Interval, NORMAL_95, mean_may_be_off};
use crate::kernel::{Found, Kernel, Scratch, Tie};
use crate::learn::Knowledge;
use crate::offline::Episodes;
use crate::offline::fit::Completed;
use crate::offline::summary::ReturnSums;
use crate::plan::Chooser;
use crate::variates::gamma;
use crate::world::Action;

/// Weight in visits of the policy that is evaluated, for what was set off at a stage in a state: ratios stay finite.
const SMOOTHING: f64 = 1.0;

/// How far the logged probabilities of the interventions seen in a state may sum to something else than 1, if all were seen.
const ALL_SEEN: f64 = 1e-3;

/// What was set off in every state, by frequency.
#[derive(Clone, Debug)]
pub(crate) struct Behaviour {
    n_states: usize,
    n_causes: usize,
    /// `[state][cause]`, all stages together.
    n_sc: Vec<f64>,
    n_s: Vec<f64>,
    /// Sums of costs, all stages together.
    cost_s: Vec<f64>,
    /// All states together.
    everywhere: Vec<f64>,
    cost_everywhere: f64,
    /// For each `[stage][state]` where its causes begin.
    begins: Vec<usize>,
    causes: Vec<(u32, f64)>,
    n_hs: Vec<f64>,
    cost_hs: Vec<f64>,
    /// For each `[stage][state]` the interventions and their logged probabilities, where all were seen.
    stated: Vec<Option<Vec<(Action, f64)>>>,
}

impl Behaviour {
    /// By what was recorded; where causes are missing that a completed log expects, by that too.
    pub(crate) fn new(log: &Episodes, completed: Option<&Completed>) -> Behaviour {
        let expected: BTreeMap<usize, &[(u32, f64)]> = match completed {
            Some(completed) => log.patterns.iter().map(|&(i, pattern)| (i, &completed.causes[pattern][..])).collect(),
            None => BTreeMap::new(),
        };
        let layout = &log.view.layout;
        let (horizon, n, n_causes) = (layout.horizon, layout.n_states(), layout.n_causes);
        let all = log.view.told.interventions();
        let mut out = Behaviour {
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
        };
        let mut seen: Vec<(usize, u32, f64)> = Vec::new();
        for episode in &log.episodes {
            let weight = f64::from(episode.weight);
            for (i, step) in log.steps_of(episode).iter().enumerate() {
                let Some(action) = step.action else { continue };
                let known = step.cause.map(|cause| [(cause, 1.0)]);
                let none: &[(u32, f64)] = &[];
                let causes = match &known {
                    Some(known) => &known[..],
                    None => expected.get(&(episode.first + i)).copied().unwrap_or(none),
                };
                let (s, at) = (step.state as usize, step.stage as usize * n + step.state as usize);
                for &(cause, share) in causes {
                    let weight = weight * share;
                    let cost = weight * all.cost(action);
                    out.n_sc[s * n_causes + cause as usize] += weight;
                    out.n_s[s] += weight;
                    out.cost_s[s] += cost;
                    out.everywhere[cause as usize] += weight;
                    out.cost_everywhere += cost;
                    out.n_hs[at] += weight;
                    out.cost_hs[at] += cost;
                    seen.push((at, cause, weight));
                }
            }
        }
        seen.sort_unstable_by_key(|&(at, cause, _)| (at, cause));
        let total: f64 = out.everywhere.iter().sum();
        out.everywhere.iter_mut().for_each(|p| *p = if total > 0.0 { *p / total } else { 1.0 / n_causes as f64 });
        out.cost_everywhere = if total > 0.0 { out.cost_everywhere / total } else { 0.0 };
        let mut seen = seen.into_iter().peekable();
        for at in 0..horizon * n {
            let begin = out.causes.len();
            out.begins.push(begin);
            while let Some((_, cause, weight)) = seen.next_if(|next| next.0 == at) {
                match out.causes[begin..].last_mut() {
                    Some(last) if last.0 == cause => last.1 += weight,
                    Some(_) | None => out.causes.push((cause, weight)),
                }
            }
        }
        out.begins.push(out.causes.len());
        out
    }

    /// P(cause | stage, state) of whoever was logged, smoothed towards `own`, the same of the policy that is evaluated; and whether
    /// it follows from logged probabilities.
    ///
    /// Those are used where the interventions that were seen in the state have probabilities that sum to 1; otherwise
    /// (n_h(s, c) + own) / (n_h(s) + 1). Stages are not counted together, since whoever was logged may act by the stage.
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
    /// Whether ratios in a state follow from logged probabilities at some stage.
    pub(super) fn is_stated(&self, state: usize) -> bool {
        self.stated.iter().skip(state).step_by(self.n_states).any(Option::is_some)
    }

    /// The same with P(cause | stage, state) drawn from what its counts leave open, Dirichlet(counts): whoever was logged is known
    /// by a sample. Costs stay as they were on average; logged probabilities are not needed to follow it.
    pub(crate) fn drawn(&self, rng: &mut impl Rng) -> Behaviour {
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
            n_sc,
            n_s,
            n_hs,
            everywhere,
        }
    }

    /// Σ_c P(c | stage, state) · loss(c) + cost of whoever was logged.
    ///
    /// By frequencies at the stage; in a state that was not visited at the stage, those of all stages, and in a state that was never
    /// visited, those of all states.
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

    /// What they come to on average. No intervention stands for it: the one that is given back says nothing.
    fn best(&self, stage: usize, state: usize, loss: &[f64], _: f64, _: Tie, _: &mut Scratch) -> Found {
        Found::only(self.expect(stage, state, loss), Action(0))
    }
}

/// For each `[stage][state]` the interventions that were seen with their logged probabilities, if those sum to 1: of all stages
/// together where each intervention always has the same probability in a state, otherwise of the stage alone.
fn stated(log: &Episodes) -> Vec<Option<Vec<(Action, f64)>>> {
    let layout = &log.view.layout;
    let (horizon, n) = (layout.horizon, layout.n_states());
    let steps = log.steps.iter().filter(|step| !step.propensity.is_nan());
    let mut seen: Vec<(u32, u32, Action, f64)> =
        steps.filter_map(|step| Some((step.state, step.stage, step.action?, step.propensity))).collect();
    let mut out = vec![None; horizon * n];
    if seen.is_empty() {
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

/// Interventions and their probabilities, if each has only one and they sum to 1.
fn distribution(mut seen: Vec<(Action, f64)>) -> Option<Vec<(Action, f64)>> {
    seen.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let constant =
        seen.chunk_by(|a, b| a.0 == b.0).all(|same| same[same.len() - 1].1 - same[0].1 <= ALL_SEEN * same[0].1);
    seen.dedup_by_key(|s| s.0);
    let total: f64 = seen.iter().map(|s| s.1).sum();
    (constant && (total - 1.0).abs() <= ALL_SEEN).then_some(seen)
}

/// The least and the most that an episode can bring, costs taken off, if it has at least `shortest` steps.
pub(crate) fn possible(told: &Knowledge, shortest: usize) -> [f64; 2] {
    let [least, most] = told.world().step_range();
    // Steps that count in full: 1 + γ + γ² + …
    let counted = |n: usize| (0..n).fold(0.0, |sum, _| 1.0 + told.world().discount() * sum);
    let steps = [counted(shortest), counted(told.horizon())];
    [(steps[0] * least).min(steps[1] * least), (steps[0] * most).max(steps[1] * most)]
}

/// What the episodes of the log brought that begin at the first stage.
///
/// Of an episode of which something is not recorded, only the least and the most are known that rewards and costs allow; whether it is recorded may
/// depend on what it brought, so both count.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Return {
    /// Number of episodes.
    pub episodes: f64,
    /// Of these, those of which not every payment up to their end is known.
    pub incomplete: f64,
    /// Mean of what they brought, costs taken off; where some are incomplete, the middle of `means`.
    pub mean: f64,
    /// The mean with incomplete episodes at their worst and at their best.
    pub means: Interval,
    /// Standard deviation of an episode, incomplete ones at their middle.
    pub sd: f64,
    /// Of the mean, by the normal approximation, from the worst to the best.
    pub normal: Interval,
    /// Of the mean, whatever the distribution and whatever is missing, with the probability that the options say.
    pub guaranteed: Interval,
}

impl Return {
    /// `None` if no episode is complete.
    pub(crate) fn new(log: &Episodes, delta: f64) -> Option<Return> {
        let episodes = log.episodes.iter().filter_map(|e| Some((log.bounds(e)?, e.weight, log.gain(e).is_some())));
        Return::of(&log.view.told, &ReturnSums::of(episodes, log.ends_early()), delta)
    }

    /// The same from what was counted of them.
    pub(crate) fn of(told: &Knowledge, sums: &ReturnSums, delta: f64) -> Option<Return> {
        let ReturnSums { least, most, middle, incomplete, ends_early } = *sums;
        let n = middle.n;
        if n == 0.0 || incomplete == n {
            return None;
        }
        let shortest = if ends_early { 1 } else { told.horizon() };
        let possible = possible(told, shortest);
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
