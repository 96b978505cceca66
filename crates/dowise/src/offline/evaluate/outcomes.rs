//! Outcomes of logged steps that do what a plan does, against the model's prediction (Bellman residuals).
//!
//! For a logged step in state s with intervention a, joint key values c, reward r and next state s',
//!
//! δ = r + γ V(s') − q(s, c)  and  Δ = r + γ V(s') − Σ_c P(c | s, do(a)) q(s, c)
//!
//! have mean zero if the model is right, whatever the behaviour policy was (Δ only if no outcome is adjusted for logged
//! levers, and in randomised steps only if mechanisms are learned from these). V and q are those of the plan. Among steps
//! that share a setting with the plan, a sum far below zero shows that the plan is worth less than the model says: an
//! arrow is missing, or a form is wrong, exactly where the plan relies on it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::FREQUENCIES;
use super::model::{Followed, Model};
use super::model_error::{Use, use_of};
use crate::data::End;
use crate::learn::{Belief, Estimator, LearnResult, Selector};
use crate::math::{exp, ln};
use crate::offline::Episodes;
use crate::tolerance;
use crate::world::{Action, World};

/// Groups with fewer steps are not compared.
const LEAST_STEPS: f64 = 5.0;

/// Weight, in steps, of the variance of all residuals in the variance of those of one state and joint key values.
const SMOOTHING: f64 = 2.0;

/// Comparison of a plan with the logged steps that do what it does.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OutcomeCheck {
    /// Logged steps that share the setting of at least one lever with the plan.
    pub steps: u64,
    /// Settings compared: of one lever, of two levers, and whole interventions.
    pub compared: usize,
    /// The setting whose outcomes fall short of the model most clearly; `None` if none does.
    pub shortfall: Option<Shortfall>,
}

/// A setting of a plan whose logged outcomes are worse than the model predicts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shortfall {
    /// Such as `price=low colour=red`.
    pub setting: String,
    /// Logged steps in which the plan would have done the same.
    pub steps: u64,
    /// By how much their outcome falls short of the model, per step, as a value from that step on.
    pub amount: f64,
    /// Bennett's bound on the probability of such a shortfall under the model, times the number of comparisons.
    pub p: f64,
}

/// The residuals of one logged step, with their variances under the model.
struct Residual {
    stage: usize,
    state: usize,
    action: Action,
    weight: f64,
    /// Of the outcome given the joint key values (δ), and given the intervention (Δ).
    of: [f64; 2],
    /// Its state and joint key values.
    cell: usize,
    /// Variance of q over joint key values.
    of_keys: f64,
    /// Statistics that apply to it: δ alone if a hidden cause acts on its levers, else δ and Δ.
    statistics: usize,
}

/// Compares a plan's predictions with the logged steps that share its settings.
///
/// # Cost
/// One policy evaluation, one distribution of joint key values for each step, and O(levers²) sums for each that shares
/// a setting.
pub(crate) fn outcome_check(log: &Episodes, model: &Model, policy_hs: &[Action]) -> LearnResult<OutcomeCheck> {
    let wide = model.with_wide_forms()?;
    let plain = wide.as_ref().unwrap_or(model);
    let mut belief = plain.belief(Estimator::Mean { prior: FREQUENCIES });
    let selector = plain.draw(&mut belief, 0)?;
    let kernel = Model::kernel(&selector);
    let residuals = residuals(log, plain, (&mut belief, &selector), policy_hs);
    let n_cells = log.view.layout.n_states() * log.view.layout.n_causes;
    let variances = variances(log, &residuals, n_cells);
    let world = log.knowledge().world();
    let n = log.view.layout.n_states();
    let mut groups: BTreeMap<Setting, [Sums; 2]> = BTreeMap::new();
    let mut steps = 0.0;
    let mut settings = Vec::new();
    let n_causes = log.view.layout.n_causes;
    let (mut prob, mut expected) = (vec![0.0; n_causes], BTreeMap::new());
    for residual in &residuals {
        let planned = policy_hs[residual.stage * n + residual.state];
        shared_settings(world, residual, planned, &mut settings);
        if settings.is_empty() {
            continue;
        }
        steps += residual.weight;
        let expected = *expected.entry((residual.state, residual.action)).or_insert_with(|| {
            kernel.distribution(residual.state, residual.action, &mut prob);
            prob.iter().zip(&variances[residual.state * n_causes..]).map(|(p, v)| p * v).sum::<f64>()
        });
        let variance = [variances[residual.cell], expected + residual.of_keys];
        for setting in settings.drain(..) {
            let sums = groups.entry(setting).or_default();
            for ((sums, of), variance) in sums.iter_mut().zip(residual.of).zip(variance).take(residual.statistics) {
                sums.add(of, variance, residual.weight);
            }
        }
    }
    // The residuals of all steps bound those of a group.
    let apply = |i: usize| residuals.iter().filter(move |r| i < r.statistics);
    let most = [0, 1].map(|i| apply(i).map(|r| -r.of[i]).fold(0.0, f64::max));
    let statistics = residuals.iter().map(|r| r.statistics).max().unwrap_or(1);
    groups.retain(|_, sums| sums[0].n >= LEAST_STEPS);
    let compared = groups.len();
    let found = groups.iter().flat_map(|(setting, sums)| sums.iter().zip(most).map(move |(s, b)| (setting, s, b)));
    let rounding = tolerance::VALUE_DIFFERENCE * world.return_range();
    let found = found.map(|(setting, sums, most)| (setting, sums, sums.p(most, rounding)));
    let least = found.min_by(|a, b| a.2.total_cmp(&b.2)).filter(|(_, sums, _)| sums.residual < 0.0);
    let shortfall = least.map(|(setting, sums, p)| Shortfall {
        setting: setting.words(world),
        steps: sums.n as u64,
        amount: -sums.residual / sums.n,
        p: (p * statistics as f64 * compared as f64).min(1.0),
    });
    Ok(OutcomeCheck { steps: steps as u64, compared, shortfall })
}

/// What a logged step shares with the plan.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Setting {
    /// The settings of one or two levers, by position; a value less one, 0 for a lever left alone.
    Levers([(usize, usize); 2]),
    /// The whole intervention in a state.
    Whole(usize, Action),
}

impl Setting {
    fn words(&self, world: &World) -> String {
        match self {
            Setting::Whole(state, action) => {
                format!("{} in state {}", world.describe_intervention(*action), world.describe_state(*state))
            }
            Setting::Levers(pair) => {
                let word = |&(lever, digit): &(usize, usize)| {
                    let variable = world.variable(world.levers()[lever]);
                    let value = digit.checked_sub(1).map_or("left alone", |v| variable.values[v].as_str());
                    format!("{}={value}", variable.name)
                };
                let one = &pair[..if pair[0] == pair[1] { 1 } else { 2 }];
                one.iter().map(word).collect::<Vec<_>>().join(" ")
            }
        }
    }
}

/// Every setting of one and of two levers, and of all, that a step shares with the plan.
fn shared_settings(world: &World, residual: &Residual, planned: Action, out: &mut Vec<Setting>) {
    let all = world.interventions();
    let digit = |action, lever| all.lever(action, lever).map_or(0, |value| value + 1);
    let same: Vec<(usize, usize)> = (0..all.n_levers())
        .map(|lever| (lever, digit(planned, lever)))
        .filter(|&(lever, value)| digit(residual.action, lever) == value)
        .collect();
    for (i, &one) in same.iter().enumerate() {
        out.extend(same[i..].iter().map(|&other| Setting::Levers([one, other])));
    }
    if same.len() == all.n_levers() {
        out.push(Setting::Whole(residual.state, planned));
    }
}

/// Sums over the steps of a group.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    n: f64,
    residual: f64,
    variance: f64,
}

impl Sums {
    fn add(&mut self, residual: f64, variance: f64, weight: f64) {
        self.n += weight;
        self.residual += weight * residual;
        self.variance += weight * variance;
    }

    /// Bennett's inequality: P(Σ ≤ −t) ≤ exp(−(W/b²) h(b t / W)) with h(u) = (1 + u) ln(1 + u) − u, for independent or
    /// martingale differences with mean 0, at least −b, and total variance W. Unlike a normal approximation it holds
    /// for rare, large losses. Mean residuals up to `rounding` are rounding errors.
    fn p(&self, b: f64, rounding: f64) -> f64 {
        let (t, w) = (-self.residual, self.variance);
        if t <= rounding * self.n || b <= 0.0 {
            return 1.0;
        }
        if w <= 0.0 {
            return 0.0;
        }
        let u = b * t / w;
        exp(-w / (b * b) * ((1.0 + u) * ln(1.0 + u) - u))
    }
}

/// The residuals of all complete steps.
fn residuals(
    log: &Episodes,
    model: &Model,
    (belief, selector): (&mut Belief, &Selector),
    policy_hs: &[Action],
) -> Vec<Residual> {
    let layout = &log.view.layout;
    let (horizon, n_causes) = (layout.horizon, layout.n_causes);
    let discount = log.knowledge().world().discount();
    let mut at_stage: Vec<Vec<(usize, usize)>> = vec![Vec::new(); horizon];
    for (e, episode) in log.episodes.iter().enumerate() {
        for (i, step) in log.steps_of(episode).iter().enumerate() {
            if use_of(log, episode, i) == Use::All {
                at_stage[step.stage as usize].push((e, i));
            }
        }
    }
    let kernel = Model::kernel(selector);
    let adjusted = log.knowledge().world().adjusts_for_logged_levers();
    let confounded = log.learns_from_experiments();
    let (mut out, mut prob) = (Vec::new(), vec![0.0; n_causes]);
    model.value_by(belief, selector, Followed::Policy(policy_hs), |stage, loss_sc, _, next_s| {
        for &(e, i) in &at_stage[stage] {
            let episode = &log.episodes[e];
            let (steps, weight) = (log.steps_of(episode), f64::from(episode.weight));
            let step = &steps[i];
            let (Some(cause), Some(action)) = (step.cause, step.action) else { continue };
            let has_ended = i + 1 == steps.len() && episode.end == Some(End::Terminated);
            let next = step.next.or_else(|| steps.get(i + 1).map(|next| next.state));
            let following = match next {
                _ if stage + 1 == horizon || has_ended => 0.0,
                Some(next) => discount * next_s[next as usize],
                None => continue,
            };
            let state = step.state as usize;
            // Losses are −q.
            let loss = &loss_sc[state * n_causes..(state + 1) * n_causes];
            kernel.distribution(state, action, &mut prob);
            let mean: f64 = prob.iter().zip(loss).map(|(p, loss)| p * loss).sum();
            let of_keys = prob.iter().zip(loss).map(|(p, loss)| p * (loss - mean) * (loss - mean)).sum();
            let value = step.paid + following;
            out.push(Residual {
                stage,
                state,
                action,
                weight,
                of: [value + loss[cause as usize], value + mean],
                cell: state * n_causes + cause as usize,
                of_keys,
                statistics: if adjusted || (confounded && !step.randomised) { 1 } else { 2 },
            });
        }
    });
    out
}

/// Variances of δ by state and joint key values, over all logged interventions.
///
/// Of every learned row that the state and the key values use, the mean square of δ over all its steps, smoothed with the
/// mean of all; the largest counts. A reward that is rare in a row is missing in most cells of this row, and their own
/// mean squares would promise a precision that they do not have.
fn variances(log: &Episodes, residuals: &[Residual], n_cells: usize) -> Vec<f64> {
    let (layout, terms) = (&log.view.layout, &log.view.payments.terms);
    let (states, n_causes) = (&layout.state_space, layout.n_causes);
    let rows = |cell: usize| {
        let (state, cause) = (cell / n_causes, cell % n_causes);
        let of_terms = terms.iter().map(move |term| term.row(states, state, cause, n_causes));
        let of_factors =
            layout.factors.iter().map(move |factor| factor.row(factor.state_row(states, state), cause, n_causes));
        of_terms.chain(of_factors).enumerate()
    };
    let mut all = [0.0; 2];
    let mut by_row: BTreeMap<(usize, usize), [f64; 2]> = BTreeMap::new();
    for residual in residuals {
        let [n, square] = [residual.weight, residual.weight * residual.of[0] * residual.of[0]];
        all = [all[0] + n, all[1] + square];
        for row in rows(residual.cell) {
            let sums = by_row.entry(row).or_default();
            *sums = [sums[0] + n, sums[1] + square];
        }
    }
    let mean = if all[0] > 0.0 { all[1] / all[0] } else { 0.0 };
    let smoothed = |[n, squares]: [f64; 2]| (squares + SMOOTHING * mean) / (n + SMOOTHING);
    let of_cell = |cell: usize| {
        let of_rows = rows(cell).map(|row| smoothed(by_row.get(&row).copied().unwrap_or_default()));
        of_rows.reduce(f64::max).unwrap_or_else(|| smoothed(all))
    };
    (0..n_cells).map(of_cell).collect()
}

#[cfg(test)]
mod tests {
    use super::Sums;

    /// P(X ≥ k) for X binomial.
    fn binomial_tail(n: u32, p: f64, k: u32) -> f64 {
        let (mut term, mut below) = ((1.0 - p).powi(n as i32), 0.0);
        for i in 0..k {
            below += term;
            term *= f64::from(n - i) / f64::from(i + 1) * p / (1.0 - p);
        }
        1.0 - below
    }

    #[test]
    fn bennetts_bound_is_above_the_exact_probability_of_rare_losses() {
        for (n, p) in [(5, 0.01), (30, 0.01), (100, 0.05), (40, 0.3)] {
            for k in 1..=n {
                // Each loss is 1, in place of its mean p.
                let sums = Sums {
                    n: f64::from(n),
                    residual: f64::from(n) * p - f64::from(k),
                    variance: f64::from(n) * p * (1.0 - p),
                };
                let (bound, exact) = (sums.p(1.0 - p, 0.0), binomial_tail(n, p, k));
                assert!(bound >= exact - 1e-12, "{n} {p} {k}: {bound} {exact}");
            }
        }
        let three_of_five = Sums { n: 5.0, residual: -2.95, variance: 0.0495 };
        assert!(three_of_five.p(0.99, 0.0) < 2e-4, "{}", three_of_five.p(0.99, 0.0));
    }
}
