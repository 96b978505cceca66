//! Uncorrected model error of a doubly robust value: incomplete steps do not correct the model.

use super::behaviour::Behaviour;
use super::interval::moments;
use super::model::{Followed, Model};
use super::start::StartStates;
use super::{FREQUENCIES, OfflineOptions};
use crate::data::End;
use crate::kernel::{Found, Scratch, Tie};
use crate::learn::{Estimator, LearnResult};
use crate::offline::Episodes;
use crate::offline::episodes::Episode;
use crate::plan::Chooser;
use crate::random::splitmix64;
use crate::world::Action;

/// The part of a step that a doubly robust value can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Joint key values, intervention or next state are unknown.
    Nothing,
    /// Corrects the continuation; the model's expectation replaces the unknown payment.
    WithoutPayment,
    /// Corrects the continuation and the reward.
    All,
}

/// The part of a step that a doubly robust value can use.
pub(super) fn use_of(log: &Episodes, episode: &Episode, i: usize) -> Use {
    let steps = log.steps_of(episode);
    let step = &steps[i];
    let is_last = i + 1 == steps.len();
    let follows = step.stage as usize + 1 == log.view.layout.horizon
        || (is_last && episode.end == Some(End::Terminated))
        || step.next.is_some()
        || steps.get(i + 1).is_some_and(|next| next.stage == step.stage + 1);
    match step.cause.is_some() && step.action.is_some() && follows {
        true if !step.paid.is_nan() => Use::All,
        true if step.next.is_some() => Use::WithoutPayment,
        true | false => Use::Nothing,
    }
}

/// Uncorrected model error; zero if everything was recorded.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LeftOpen {
    /// Posterior variance of the doubly robust value's error.
    pub(super) variance: f64,
    /// Its posterior mean, caused by the prior.
    pub(super) mean: f64,
}

/// The corrected fraction of a model error at a state and joint key values, `[state][cause]`, from 0 to 1.
struct Corrected {
    /// For the continuation, and for the reward.
    follows: Vec<f64>,
    paid: Vec<f64>,
}

impl Corrected {
    /// `None` if every error is fully corrected.
    fn of(log: &Episodes, behaviour: &Behaviour, model: &Model) -> LearnResult<Option<Corrected>> {
        let layout = &log.view.layout;
        let (n, n_causes) = (layout.n_states(), layout.n_causes);
        let [mut seen, mut follows, mut paid, mut expected] = [(); 4].map(|()| vec![0.0; n * n_causes]);
        let [mut steps, mut with_cause] = [(); 2].map(|()| vec![0.0; n]);
        let selector = model.draw(&mut model.belief(Estimator::Mean { prior: FREQUENCIES }), 0)?;
        let kernel = Model::kernel(&selector);
        let mut prob = vec![0.0; n_causes];
        for episode in log.episodes.iter().filter(|e| log.steps[e.first].stage == 0) {
            let weight = f64::from(episode.weight);
            for (i, step) in log.steps_of(episode).iter().enumerate() {
                let state = step.state as usize;
                steps[state] += weight;
                match (step.cause, step.action) {
                    (Some(cause), Some(_)) => {
                        let cell = state * n_causes + cause as usize;
                        seen[cell] += weight;
                        with_cause[state] += weight;
                        let found = use_of(log, episode, i);
                        follows[cell] += if found == Use::Nothing { 0.0 } else { weight };
                        paid[cell] += if found == Use::All { weight } else { 0.0 };
                    }
                    (None, Some(action)) => {
                        kernel.distribution(state, action, &mut prob);
                        let here = &mut expected[state * n_causes..(state + 1) * n_causes];
                        here.iter_mut().zip(&prob).for_each(|(e, p)| *e += weight * p);
                    }
                    (_, None) => {}
                }
            }
        }
        // If next-state payments are missing, the rarely paid rows may be the important ones: none counts as corrected.
        let by_next = log.pays_for_next_values();
        let mut all = true;
        for state in 0..n {
            // Frequency-based ratios use recorded joint key values, so missing ones affect all of them alike.
            let recorded = if steps[state] > 0.0 { with_cause[state] / steps[state] } else { 1.0 };
            let stated = behaviour.is_stated(state);
            for cell in state * n_causes..(state + 1) * n_causes {
                if seen[cell] == 0.0 {
                    (follows[cell], paid[cell]) = (recorded, recorded);
                    continue;
                }
                let known = if stated { seen[cell] / (seen[cell] + expected[cell]) } else { recorded };
                // In this order a complete log gives exactly 1.
                follows[cell] = follows[cell] / seen[cell] * known;
                paid[cell] = paid[cell] / seen[cell] * known;
                if by_next && paid[cell] < follows[cell] {
                    paid[cell] = 0.0;
                }
                all &= paid[cell] >= 1.0;
            }
            all &= recorded >= 1.0;
        }
        Ok((!all).then_some(Corrected { follows, paid }))
    }
}

/// The expectation of the doubly robust value if the world is a posterior sample, stage by stage:
///
/// D_h(s) = V^_h(s) + Σ_c P(c | s, π) [ f(s, c) (r + E[D_{h+1}] − q^_h(s, c)) − (f − p)(s, c) (r − r^)(s, c) ]
///
/// with f and p the corrected fractions of continuation and reward, r and E those of the sample, V^, q^ and r^ those of
/// the model.
struct Expected<'a> {
    n_states: usize,
    n_causes: usize,
    /// V^ − Σ P f q^, `[stage][state]`.
    fixed: &'a [f64],
    /// P f, `[stage][state][cause]`.
    weights: &'a [f64],
    /// Σ P (f − p)(r − r^), `[stage][state]`.
    unpaid: Vec<f64>,
}

impl Chooser for Expected<'_> {
    fn n_causes(&self) -> usize {
        self.n_causes
    }

    fn best(&self, stage: usize, state: usize, loss: &[f64], _: f64, _: Tie, _: &mut Scratch) -> Found {
        let at = stage * self.n_states + state;
        let weights = &self.weights[at * self.n_causes..(at + 1) * self.n_causes];
        // Losses are −q.
        let lost: f64 = weights.iter().zip(loss).map(|(w, loss)| w * loss).sum();
        Found::only(lost - self.fixed[at] + self.unpaid[at], Action(0))
    }
}

/// Posterior of the error of a doubly robust value with incomplete corrections: for every sample, its expectation less
/// the true value.
///
/// # Cost
/// Nothing if nothing is missing; otherwise 2 H look-aheads for each sample.
pub(super) fn left_open(
    log: &Episodes,
    model: &Model,
    policy_hs: &[Action],
    behaviour: &Behaviour,
    starts: &StartStates,
    options: &OfflineOptions,
) -> LearnResult<LeftOpen> {
    let wide = model.with_wide_forms()?;
    let plain = wide.as_ref().unwrap_or(model);
    let Some(corrected) = Corrected::of(log, behaviour, plain)? else { return Ok(LeftOpen::default()) };
    let layout = &log.view.layout;
    let (horizon, n, n_causes) = (layout.horizon, layout.n_states(), layout.n_causes);
    let mut mean = plain.belief(Estimator::Mean { prior: FREQUENCIES });
    let selector = plain.draw(&mut mean, 0)?;
    let kernel = Model::kernel(&selector);
    let (mut fixed, mut weights) = (vec![0.0; horizon * n], vec![0.0; horizon * n * n_causes]);
    let who = Followed::Policy(policy_hs);
    plain.value_by(&mut mean, &selector, who, |stage, loss_sc, value_s, _| {
        for state in 0..n {
            let at = stage * n + state;
            let here = &mut weights[at * n_causes..(at + 1) * n_causes];
            kernel.distribution(state, policy_hs[at], here);
            let follows = &corrected.follows[state * n_causes..];
            here.iter_mut().zip(follows).for_each(|(w, f)| *w *= f);
            let lost: f64 = here.iter().zip(&loss_sc[state * n_causes..]).map(|(w, loss)| w * loss).sum();
            fixed[at] = value_s[state] + lost;
        }
    });
    let rewards = mean.rewards().to_vec();
    let mut belief = plain.belief(Estimator::Sample { prior: options.prior });
    let mut errors = Vec::with_capacity(options.samples as usize);
    for i in 0..options.samples {
        plain.draw(&mut belief, splitmix64(options.seed ^ splitmix64(u64::from(i) ^ 0x6c65_6674)))?;
        let unpaid = unpaid(&weights, &corrected, n_causes, [&rewards, belief.rewards()]);
        let chooser = Expected { n_states: n, n_causes, fixed: &fixed, weights: &weights, unpaid };
        let truth = starts.mean(&plain.value_by(&mut belief, &selector, who, |_, _, _, _| {}));
        errors.push((starts.mean(&plain.value_along(&mut belief, &chooser)) - truth, 1));
    }
    let (_, mean, variance) = moments(errors.iter().copied());
    Ok(LeftOpen { variance, mean })
}

/// Σ_c P (f − p)(r − r^) from the weights P f, `[stage][state]`.
fn unpaid(weights: &[f64], corrected: &Corrected, n_causes: usize, [model, sample]: [&[f64]; 2]) -> Vec<f64> {
    let of = |cell: usize| match corrected.follows[cell] {
        f if f > 0.0 => (1.0 - corrected.paid[cell] / f) * (sample[cell] - model[cell]),
        _ => 0.0,
    };
    let left: Vec<f64> = (0..model.len()).map(of).collect();
    let n = left.len() / n_causes;
    let rows = weights.chunks_exact(n_causes).enumerate();
    rows.map(|(at, weights)| weights.iter().zip(&left[at % n * n_causes..]).map(|(w, x)| w * x).sum()).collect()
}
