//! Doubly robust over key variables: the model's value, corrected by what episodes brought that it has not seen.

use super::behaviour::{self, Behaviour};
use super::interval::{Interval, NORMAL_95, moments};
use super::model::{Followed, Model};
use super::start::StartStates;
use super::{FREQUENCIES, OfflineOptions};
use crate::data::End;
use crate::kernel::splitmix64;
use crate::learn::{LearnResult, Reading};
use crate::offline::Episodes;
use crate::world::Action;

/// A value that trusts the model less.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Robust {
    /// Mean over episodes.
    pub mean: f64,
    /// By the variance over episodes. Where mechanisms are learned, nothing here corrects them: their part of the posterior's variance is
    /// added, and the interval is stretched by what their prior moves the value, so that it holds for every weight of it from none to the one given.
    pub interval: Interval,
    /// Episodes that it is the mean of.
    pub episodes: f64,
    /// (Σ w)² / Σ w² of the products w of an episode's ratios: how many episodes of the policy itself the log is worth to methods
    /// that trust no model.
    pub effective: f64,
    /// The greatest ratio of a step.
    pub greatest_ratio: f64,
    /// Steps that corrected the model, and those that could not: a cause, a payment or what followed is not known.
    pub corrected: u64,
    /// Steps that could not.
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
    of_mechanisms: OfMechanisms,
) -> LearnResult<Option<Robust>> {
    let layout = &log.view.layout;
    let (horizon, n, n_causes) = (layout.horizon, layout.n_states(), layout.n_causes);
    let mut out = Robust {
        mean: 0.0,
        interval: Interval { low: 0.0, high: 0.0 },
        episodes: 0.0,
        effective: 0.0,
        greatest_ratio: 0.0,
        corrected: 0,
        not_corrected: 0,
        by_propensity: 0,
    };
    let mut found: Vec<(f64, f64, u32, usize)> = Vec::new();
    let discount = log.knowledge().world().discount();
    for fold in 0..log.n_folds() {
        let mut standing: Vec<Standing> = (0..log.len())
            .filter(|&e| log.fold(e) == fold && log.steps[log.episodes[e].first].stage == 0)
            .map(|e| Standing { episode: e, left: log.episodes[e].n, stage: horizon, value: 0.0, product: 1.0 })
            .collect();
        if standing.is_empty() {
            continue;
        }
        let model = Model::of_what_was_seen(log.evidence_without(Some(fold)))?;
        let mut belief = model.belief(Reading::Mean { prior: FREQUENCIES });
        let selector = model.draw(&mut belief, 0)?;
        let kernel = Model::kernel(&selector);
        let mut prob = vec![0.0; n_causes];
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
                let usable = (step.cause, following, !step.paid.is_nan() && step.action.is_some());
                (at.stage, at.value) = (stage, value_s[state]);
                let (Some(cause), Some(following), true) = usable else {
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
                at.value += ratio * (step.paid + following + loss_sc[state * n_causes + cause]);
                at.product *= ratio;
                out.greatest_ratio = out.greatest_ratio.max(ratio);
                out.corrected += u64::from(episode.weight);
                out.by_propensity += u64::from(stated) * u64::from(episode.weight);
            }
        });
        found.extend(standing.into_iter().map(|at| {
            let episode = &log.episodes[at.episode];
            (at.value, at.product, episode.weight, log.steps[episode.first].state as usize)
        }));
    }
    let total: f64 = found.iter().map(|f| f64::from(f.2)).sum();
    if total < 2.0 {
        return Ok(None);
    }
    // Where starts are given, an episode counts as often as its start should have been logged.
    let mut share = vec![0.0; n];
    starts.shares.iter().for_each(|&(s, p)| share[s] = p);
    let mut logged = vec![0.0; n];
    found.iter().for_each(|f| logged[f.3] += f64::from(f.2) / total);
    let weight = |s: usize| if starts.is_sample() { 1.0 } else { share[s] / logged[s] };
    let values = found.iter().map(|f| (f.0 * weight(f.3), f.2));
    let (n, mean, variance) = moments(values);
    let (sum, squares) = found.iter().fold((0.0, 0.0), |(sum, squares), f| {
        let (w, k) = (f.1 * weight(f.3), f64::from(f.2));
        (sum + k * w, squares + k * w * w)
    });
    // Large ratios may lead out of what is possible; nearer to it is nearer to the truth.
    let possible = behaviour::possible(log.knowledge(), horizon);
    (out.mean, out.episodes) = (mean.clamp(possible[0], possible[1]), n);
    let around = Interval::around(mean, NORMAL_95 * (variance / n + of_mechanisms.variance).sqrt());
    out.interval = around.stretched(of_mechanisms.by_prior).clipped(possible);
    out.effective = if squares > 0.0 { sum * sum / squares } else { 0.0 };
    Ok(Some(out))
}

/// What mechanisms that are learned leave open in a policy's value; zeros where they are known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OfMechanisms {
    /// Its variance over their posterior, forms with a prior that says next to nothing, all else at its mean.
    variance: f64,
    /// What their prior moves it by: its value with their posterior means less that with their frequencies, all else equal.
    by_prior: f64,
}

/// See [`OfMechanisms`].
pub(crate) fn of_mechanisms(
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
    let mut mean = model.belief(Reading::Mean { prior });
    let by_mean = model.draw(&mut mean, 0)?;
    let by_frequencies = plain.draw(&mut plain.belief(Reading::Mean { prior: FREQUENCIES }), 0)?;
    let mut worth =
        |selector: &_| starts.mean(&model.value_by(&mut mean, selector, Followed::Policy(policy_hs), |_, _, _, _| {}));
    let by_prior = worth(&by_mean) - worth(&by_frequencies);
    let mut sample = plain.belief(Reading::Sample { prior });
    let mut values = Vec::with_capacity(options.samples as usize);
    for i in 0..options.samples {
        let selector = plain.draw(&mut sample, splitmix64(options.seed ^ splitmix64(u64::from(i) ^ 0x6d65_6368)))?;
        values.push((worth(&selector), 1));
    }
    Ok(OfMechanisms { variance: moments(values.iter().copied()).2, by_prior })
}
