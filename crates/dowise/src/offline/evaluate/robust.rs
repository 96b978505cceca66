//! Doubly robust over key variables: the model's value, corrected by returns of episodes that it has not seen.

use super::behaviour::{self, Behaviour};
use super::interval::{Interval, NORMAL_95, moments};
use super::model::{Followed, Model};
use super::model_error::{LeftOpen, Use, left_open, use_of};
use super::start::StartStates;
use super::{FREQUENCIES, OfflineOptions};
use crate::data::End;
use crate::learn::{Belief, Estimator, LearnResult};
use crate::offline::Episodes;
use crate::offline::episodes::Step;
use crate::random::splitmix64;
use crate::world::Action;

/// A value that trusts the model less.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Robust {
    /// Mean over episodes.
    pub mean: f64,
    /// By the variance over episodes. Where mechanisms are learned, or steps lack what would correct the model, nothing here corrects it: that part of the posterior's variance is
    /// added, and the interval is stretched by what the prior moves the value there, so that it holds for every weight of it from none to the one given.
    pub interval: Interval,
    /// Episodes that it is the mean of.
    pub episodes: f64,
    /// (Σ w)² / Σ w² of the products w of an episode's ratios: how many episodes of the policy itself the log is worth to methods
    /// that trust no model.
    pub effective: f64,
    /// The greatest ratio of a step.
    pub greatest_ratio: f64,
    /// Steps that corrected the model.
    pub corrected: u64,
    /// Of these, steps whose payment is not known: the model's expectation stands for it.
    pub expected_payments: u64,
    /// Steps that could not: a cause or what followed is not known.
    pub not_corrected: u64,
    /// Of the steps that corrected, those whose ratio follows from logged probabilities; the others' from frequencies.
    pub by_propensity: u64,
}

/// How an episode stands while stages go backwards.
#[derive(Clone)]
struct Standing {
    episode: usize,
    /// Steps not yet looked at.
    left: usize,
    /// The stage that `value` is from.
    stage: usize,
    value: f64,
    product: f64,
}

/// An episode once all of its steps have corrected the model.
struct Corrected {
    value: f64,
    /// Product of the ratios of its steps.
    product: f64,
    /// How often the episode counts.
    weight: u32,
    /// State of its first step.
    start: usize,
}

/// V_h = V^_h(s) + ρ (r + γ V_{h+1} − q^_h(s, z)) backwards over the stages of each episode, ρ = P(z | s, π) / P(z | s, b).
///
/// V^ and q^ are by the frequencies of the folds that do not hold the episode (of mechanisms with a form, by a prior that says next to
/// nothing): nothing here corrects mechanisms that are learned, and a prior would pull those that a good policy sets off in one direction. Where a ratio cannot be computed, the
/// model's value stands. `None` if fewer than two episodes begin at the first stage.
pub(crate) fn robust(
    log: &Episodes,
    policy_hs: &[Action],
    behaviour: &Behaviour,
    starts: &StartStates,
    of_model: OfModel,
) -> LearnResult<Option<Robust>> {
    let mut out = Robust {
        mean: 0.0,
        interval: Interval { low: 0.0, high: 0.0 },
        episodes: 0.0,
        effective: 0.0,
        greatest_ratio: 0.0,
        corrected: 0,
        expected_payments: 0,
        not_corrected: 0,
        by_propensity: 0,
    };
    let mut found = Vec::new();
    for fold in 0..log.n_folds() {
        correct_fold(log, fold, policy_hs, behaviour, &mut out, &mut found)?;
    }
    let total: f64 = found.iter().map(|f| f64::from(f.weight)).sum();
    if total < 2.0 {
        return Ok(None);
    }
    let n = log.view.layout.n_states();
    // Where starts are given, an episode counts as often as its start should have been logged.
    let mut share = vec![0.0; n];
    starts.shares.iter().for_each(|&(s, p)| share[s] = p);
    let mut logged = vec![0.0; n];
    found.iter().for_each(|f| logged[f.start] += f64::from(f.weight) / total);
    let weight = |s: usize| if starts.is_sample() { 1.0 } else { share[s] / logged[s] };
    let values = found.iter().map(|f| (f.value * weight(f.start), f.weight));
    let (n, mean, variance) = moments(values);
    let (sum, squares) = found.iter().fold((0.0, 0.0), |(sum, squares), f| {
        let (w, k) = (f.product * weight(f.start), f64::from(f.weight));
        (sum + k * w, squares + k * w * w)
    });
    // Large ratios may lead out of what is possible; nearer to it is nearer to the truth.
    let possible = behaviour::possible(log.knowledge(), log.view.layout.horizon);
    (out.mean, out.episodes) = (mean.clamp(possible[0], possible[1]), n);
    let OfModel { mechanisms, left_open } = of_model;
    let around = Interval::around(mean, NORMAL_95 * (variance / n + mechanisms.variance + left_open.variance).sqrt());
    out.interval = around.stretched(mechanisms.by_prior).stretched(-left_open.mean).clipped(possible);
    out.effective = if squares > 0.0 { sum * sum / squares } else { 0.0 };
    Ok(Some(out))
}

/// Values of a fold's episodes by the model of the other folds, corrected backwards over their stages.
fn correct_fold(
    log: &Episodes,
    fold: usize,
    policy_hs: &[Action],
    behaviour: &Behaviour,
    out: &mut Robust,
    found: &mut Vec<Corrected>,
) -> LearnResult<()> {
    let layout = &log.view.layout;
    let (horizon, n, n_causes) = (layout.horizon, layout.n_states(), layout.n_causes);
    let discount = log.knowledge().world().discount();
    let mut standing: Vec<Standing> = (0..log.len())
        .filter(|&e| log.fold(e) == fold && log.steps[log.episodes[e].first].stage == 0)
        .map(|e| Standing { episode: e, left: log.episodes[e].n, stage: horizon, value: 0.0, product: 1.0 })
        .collect();
    if standing.is_empty() {
        return Ok(());
    }
    let model = Model::of_what_was_seen(log.summary_without(Some(fold)))?;
    let mut belief = model.belief(Estimator::Mean { prior: FREQUENCIES });
    let selector = model.draw(&mut belief, 0)?;
    let kernel = Model::kernel(&selector);
    let mut prob = vec![0.0; n_causes];
    let paid = paid(log, &belief);
    model.value_by(&mut belief, &selector, Followed::Policy(policy_hs), |stage, loss_sc, value_s, next_s| {
        for at in &mut standing {
            let episode = &log.episodes[at.episode];
            let Some(step) = at.left.checked_sub(1).map(|i| &log.steps_of(episode)[i]) else { continue };
            if step.stage as usize != stage {
                continue;
            }
            let last = at.left == episode.n;
            at.left -= 1;
            let state = step.state as usize;
            let following = if stage + 1 == horizon || (last && episode.end == Some(End::Terminated)) {
                Some(0.0)
            } else if !last && at.stage == stage + 1 {
                Some(discount * at.value)
            } else {
                // Nothing, where the episode has ended.
                step.next.map(|s| discount * next_s[s as usize])
            };
            let found = use_of(log, episode, at.left);
            (at.stage, at.value) = (stage, value_s[state]);
            let (Some(cause), Some(following), Use::All | Use::WithoutPayment) = (step.cause, following, found) else {
                out.not_corrected += u64::from(episode.weight);
                continue;
            };
            let cause = cause as usize;
            kernel.distribution(state, policy_hs[stage * n + state], &mut prob);
            let own = prob[cause];
            let (logged, stated) = behaviour.probability(stage, state, cause, own, kernel);
            // Never logged, yet seen: the logged probabilities cannot be right. The model's value stands.
            if logged <= 0.0 {
                out.not_corrected += u64::from(episode.weight);
                continue;
            }
            let ratio = own / logged;
            // Losses are −q.
            let paid = paid[episode.first + at.left];
            at.value += ratio * (paid + following + loss_sc[state * n_causes + cause]);
            at.product *= ratio;
            out.greatest_ratio = out.greatest_ratio.max(ratio);
            out.corrected += u64::from(episode.weight);
            out.expected_payments += u64::from(found == Use::WithoutPayment) * u64::from(episode.weight);
            out.by_propensity += u64::from(stated) * u64::from(episode.weight);
        }
    });
    found.extend(standing.into_iter().map(|at| {
        let episode = &log.episodes[at.episode];
        let start = log.steps[episode.first].state as usize;
        Corrected { value: at.value, product: at.product, weight: episode.weight, start }
    }));
    Ok(())
}

/// What every step paid; where that is not known, what the model expects, what followed included. NaN: neither.
fn paid(log: &Episodes, belief: &Belief) -> Vec<f64> {
    let of = |step: &Step| match (step.cause, step.next) {
        (Some(cause), Some(next)) if step.paid.is_nan() => {
            belief.paid_for(step.state as usize, cause as usize, next as usize)
        }
        _ => step.paid,
    };
    log.steps.iter().map(of).collect()
}

/// What nothing in a log corrects.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfModel {
    mechanisms: OfMechanisms,
    left_open: LeftOpen,
}

impl OfModel {
    pub(super) fn new(
        log: &Episodes,
        model: &Model,
        policy_hs: &[Action],
        behaviour: &Behaviour,
        starts: &StartStates,
        options: &OfflineOptions,
    ) -> LearnResult<OfModel> {
        Ok(OfModel {
            mechanisms: of_mechanisms(model, policy_hs, starts, options)?,
            left_open: left_open(log, model, policy_hs, behaviour, starts, options)?,
        })
    }
}

/// What mechanisms that are learned leave open in a policy's value; zeros where they are known.
#[derive(Clone, Copy, Debug, Default)]
struct OfMechanisms {
    /// Its variance over their posterior, forms with a prior that says next to nothing, all else at its mean.
    variance: f64,
    /// What their prior moves it by: its value with their posterior means less that with their frequencies, all else equal.
    by_prior: f64,
}

/// See [`OfMechanisms`].
fn of_mechanisms(
    model: &Model,
    policy_hs: &[Action],
    starts: &StartStates,
    options: &OfflineOptions,
) -> LearnResult<OfMechanisms> {
    if model.view().mechanisms.is_none() {
        return Ok(OfMechanisms::default());
    }
    let prior = options.prior;
    let wide = model.with_wide_forms()?;
    let plain = wide.as_ref().unwrap_or(model);
    let mut mean = model.belief(Estimator::Mean { prior });
    let by_mean = model.draw(&mut mean, 0)?;
    let by_frequencies = plain.draw(&mut plain.belief(Estimator::Mean { prior: FREQUENCIES }), 0)?;
    let mut worth =
        |selector: &_| starts.mean(&model.value_by(&mut mean, selector, Followed::Policy(policy_hs), |_, _, _, _| {}));
    let by_prior = worth(&by_mean) - worth(&by_frequencies);
    let mut sample = plain.belief(Estimator::Sample { prior });
    let mut values = Vec::with_capacity(options.samples as usize);
    for i in 0..options.samples {
        let selector = plain.draw(&mut sample, splitmix64(options.seed ^ splitmix64(u64::from(i) ^ 0x6d65_6368)))?;
        values.push((worth(&selector), 1));
    }
    Ok(OfMechanisms { variance: moments(values.iter().copied()).2, by_prior })
}
