//! Safe policy improvement from a log: the posterior-mean plan and the pessimistic plan against the behaviour policy.

use super::assumptions::{NO_OVERLAP, of_log, of_summary, outcomes, overlap, short};
use super::evaluate::{
    Behaviour, Claim, Difference, Followed, Interval, Lacking, Logged, Model, OfflineError, OfflineOptions,
    OfflineValue, OutcomeCheck, Return, Sensitivity, StartStates, Support, TippingPoint, extrapolation, guaranteed,
    model_of, of_returns, outcome_check, paired, sampled, sensitivity, start_states, starts_of, support_of,
    tipping_points,
};
use super::{About, AssumptionRecord, Episodes, LogSummary, MissingnessTest, Status};
use crate::learn::{Estimator, LearnResult, Sets};
use crate::world::Action;

/// Share of steps with little data from which on the posterior is mostly the prior, so that it recommends nothing.
const MOST_THIN: f64 = 0.25;

/// A plan that could be deployed.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Candidate {
    /// The policy, `[stage][state]`.
    #[serde(skip)]
    pub policy_hs: Vec<Action>,
    /// Its value under the fitted model.
    pub model: OfflineValue,
    /// Bounds on its value that hold with probability 1 − δ; `None` if EM imputes missing key variables.
    pub guaranteed: Option<Interval>,
    /// Posterior of its value less that of the behaviour policy, world by world; `None` without the steps of a log. If
    /// the log has randomised steps and others, the behaviour policy is that of the others.
    pub difference: Option<Interval>,
    /// Whether the log covers the rows that the plan needs (overlap).
    pub support: Support,
}

/// What a recommended deployment rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// Confidence sets: with probability 1 − δ the plan is better, whatever the parameters are.
    Guaranteed,
    /// The posterior: in more than 97.5 % of the worlds that it allows, the plan is better. The prior and the forms of
    /// mechanisms matter.
    Posterior,
}

/// The recommendation that follows from the plans and the assumptions.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recommendation {
    /// The posterior-mean plan is better than the behaviour policy with confidence 1 − δ.
    DeployMean,
    /// Only the pessimistic plan is.
    DeployPessimistic,
    /// Neither plan is yet. If the model's values are right, one of them would be after about this many more episodes.
    NotYet {
        /// Additional episodes.
        episodes: f64,
    },
    /// Under the model neither plan is better.
    NotBetter,
    /// Under the model one plan is better, but too many logged returns are incomplete for more such episodes to show
    /// it.
    NotShown,
    /// By the model one is better, but it does what the log never contains: more episodes of the same behaviour policy cannot show it.
    NoOverlap {
        /// Share of the plan's episodes that reach a row without data.
        share: f64,
    },
    /// By the model one is better; nothing is guaranteed, since key variables that were not recorded are expected from the rest of the step.
    NotGuaranteed,
    /// The log contradicts an assumption that every value rests on ([`SafePlan::record`]), so nothing is
    /// recommended.
    Refused {
        /// The first assumption that failed.
        because: About,
    },
    /// A plan is better by its bounds or by the model, but it would not be if an assumption that no log can test were
    /// violated ([`SafePlan::overturned_if`]).
    Sensitive {
        /// The assumption.
        to: About,
    },
    /// The bounds favour one plan, but a testable assumption was not tested.
    NotChecked,
    /// There is no log, or none of its episodes is complete, so there is no return to compare with.
    NothingToCompare,
}

/// Two plans from a log, compared with the behaviour policy.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct SafePlan {
    /// The optimal plan of the posterior mean.
    pub mean: Candidate,
    /// The optimal plan of the pessimistic estimate.
    pub pessimistic: Candidate,
    /// The behaviour policy; `None` if only evidence without returns is available.
    pub logged: Option<Logged>,
    /// The value by the model of the policy of the steps that were not randomised, which a plan has to exceed; `None` if
    /// the log does not have both kinds of steps.
    pub unrandomised: Option<OfflineValue>,
    /// One missingness test for each variable and payment that is missing in some steps.
    pub missingness: Vec<MissingnessTest>,
    /// The assumptions behind these values, and whether the log contradicts them.
    #[serde(flatten)]
    pub record: AssumptionRecord,
    /// Whether guaranteed values rest on mechanisms learned from steps with missing key variables.
    pub learns_from_incomplete: bool,
    /// The recommendation.
    pub recommendation: Recommendation,
    /// What the recommendation rests on; `None` if nothing is recommended.
    pub tier: Option<Tier>,
    /// The violation that would overturn the recommendation, in words; `None` if none of those examined does.
    pub overturned_if: Option<String>,
    /// How far missing values may differ from recorded ones before the recommendation would be overturned, also if it is
    /// `sensitive`; empty if nothing is missing.
    pub tipping_points: Vec<TippingPoint>,
    /// How strong an unrecorded cause of the logged interventions has to be to overturn the recommended plan; `None` if
    /// nothing is recommended, or if every lever was randomised.
    pub sensitivity: Option<Sensitivity>,
    /// [Fingerprint](crate::learn::Evidence::fingerprint) of the evidence behind the plans.
    pub evidence: u64,
}

impl SafePlan {
    /// The recommended plan; if there is none, the plan with the greater guaranteed value.
    pub fn recommended(&self) -> &Candidate {
        match self.recommendation {
            Recommendation::DeployMean => &self.mean,
            Recommendation::DeployPessimistic => &self.pessimistic,
            Recommendation::NotYet { .. }
            | Recommendation::NoOverlap { .. }
            | Recommendation::NotBetter
            | Recommendation::NotShown
            | Recommendation::NotGuaranteed
            | Recommendation::Refused { .. }
            | Recommendation::Sensitive { .. }
            | Recommendation::NotChecked
            | Recommendation::NothingToCompare => {
                let low = |c: &Candidate| c.guaranteed.map(|g| g.low);
                if low(&self.pessimistic) > low(&self.mean) { &self.pessimistic } else { &self.mean }
            }
        }
    }

    /// Stages (from 0) and states in which the two plans differ.
    pub fn differences(&self, n_states: usize) -> Vec<(usize, usize)> {
        let pairs = self.mean.policy_hs.iter().zip(&self.pessimistic.policy_hs).enumerate();
        pairs.filter(|(_, (a, b))| a != b).map(|(i, _)| (i / n_states, i % n_states)).collect()
    }
}

/// Safe policy improvement: plans for the posterior mean and for the pessimistic estimate, each with guaranteed bounds.
///
/// With probability 1 − δ, both guaranteed intervals and that of the behaviour policy hold together. A plan whose lower
/// bound exceeds the behaviour policy's upper bound is therefore better.
pub fn plan_safely(log: &Episodes, options: &OfflineOptions) -> Result<SafePlan, OfflineError> {
    let starts = start_states(log, &options.starts)?;
    let summary = log.summary();
    let missingness = summary.missingness.clone();
    let model = model_of(summary, options)?;
    let behaviour = Behaviour::new(log, model.expected());
    let (by_model, samples) = sampled(&model, Followed::Logged(&behaviour), &starts, options)?;
    let logged = Logged { returns: Return::new(log, of_returns(options)), model: Some(by_model) };
    let record = of_log(log, &logged);
    let mut compared = Compared { log, behaviour: &behaviour, value: by_model, samples: &samples, is_part: false };
    // A plan replaces the policy of the steps that were not randomised, so it has to be better than that.
    let part = Behaviour::unrandomised(log, model.expected());
    let of_part = part.as_ref().map(|part| sampled(&model, Followed::Logged(part), &starts, options)).transpose()?;
    if let (Some(behaviour), Some((value, samples))) = (&part, &of_part) {
        compared = Compared { log, behaviour, value: *value, samples, is_part: true };
    }
    plan(&model, &starts, (Some(logged), missingness, record), Some(compared), options)
}

/// The same from a log's summary, such as the evidence file of a fit. Evidence alone has no returns to compare the
/// plans with.
pub fn plan_from_evidence(seen: impl Into<LogSummary>, options: &OfflineOptions) -> Result<SafePlan, OfflineError> {
    let seen = seen.into();
    let starts = starts_of(&seen.evidence, &options.starts)?;
    let (knowledge, returns) = (seen.evidence.view.knowledge.clone(), seen.returns);
    let logged = returns.and_then(|sums| {
        Some(Logged { returns: Some(Return::of(&knowledge, &sums, of_returns(options))?), model: None })
    });
    let missingness = seen.missingness.clone();
    let record = of_summary(&seen, seen.incomplete.is_some());
    plan(&model_of(seen, options)?, &starts, (logged, missingness, record), None, options)
}

/// The steps of a log, and the behaviour policy with its value by the model and posterior samples of it.
#[derive(Clone, Copy)]
struct Compared<'a> {
    log: &'a Episodes,
    behaviour: &'a Behaviour,
    value: OfflineValue,
    /// Whether it is the policy of the steps that were not randomised, in a log with others.
    is_part: bool,
    samples: &'a [f64],
}

fn plan(
    model: &Model,
    starts: &StartStates,
    (logged, missingness, mut record): (Option<Logged>, Vec<MissingnessTest>, AssumptionRecord),
    compared: Option<Compared<'_>>,
    options: &OfflineOptions,
) -> Result<SafePlan, OfflineError> {
    let candidate = |reading| -> Result<Candidate, OfflineError> {
        let policy_hs = model.plan(reading)?.policy_hs;
        let who = Followed::Policy(&policy_hs);
        let (value, samples) = sampled(model, who, starts, options)?;
        let difference =
            compared.map(|today| paired([&samples, today.samples], [value.by_prior, today.value.by_prior]));
        Ok(Candidate {
            model: value,
            guaranteed: guaranteed(model, who, starts, options)?.map(|found| found.0),
            difference,
            support: support_of(model, &policy_hs, starts, options),
            policy_hs,
        })
    };
    let mean = candidate(Estimator::Mean { prior: options.prior })?;
    let pessimistic = candidate(Estimator::Pessimistic(Sets::Mixture))?;
    let beyond = |plan: &Candidate| {
        compared.map(|compared| extrapolation(compared.log, model, &plan.policy_hs, starts, options.seed))
    };
    record.push(overlap(&mean.support, beyond(&mean).as_ref()));
    if let Some(Compared { log, .. }) = compared {
        let checks = [&mean, &pessimistic].map(|plan| outcome_check(log, model, &plan.policy_hs));
        record.push(outcomes(&worse(checks)?));
    }
    let today = compared.map(|compared| (compared.value, compared.is_part));
    let (found, tier) = recommend(&mean, &pessimistic, logged, today);
    let mut recommendation = allowed(found, &record);
    let untested = deployed(recommendation, [&mean, &pessimistic]).and_then(beyond).and_then(|beyond| beyond.untested);
    if let Some(on) = untested.filter(|on| on.share >= NO_OVERLAP) {
        recommendation = Recommendation::NoOverlap { share: on.share };
    }
    let (mut overturned_if, mut tipping) = (None, Vec::new());
    if let (Some(Compared { log, behaviour, .. }), Some(plan)) =
        (compared, deployed(recommendation, [&mean, &pessimistic]))
    {
        let policy = (&plan.policy_hs[..], plan.model.mean);
        tipping = tipping_points((log, model, behaviour), policy, Claim::Better, starts, options.prior)?;
        if let Some((of, why)) = overturned(&tipping) {
            let to = match of {
                Lacking::UnseenRewards => About::Overlap,
                Lacking::NextStates if log.censoring().depends_on.is_some() => About::Censoring,
                Lacking::Payments | Lacking::NextStates => About::Missingness,
            };
            recommendation = Recommendation::Sensitive { to };
            overturned_if = Some(why);
        }
    }
    let tier = tier.filter(|_| deployed(recommendation, [&mean, &pessimistic]).is_some());
    let recommended = compared.zip(deployed(recommendation, [&mean, &pessimistic]));
    let sensitivity = recommended.and_then(|(compared, plan)| {
        let (policy, behaviour, prior) = (plan.model, compared.value.mean, options.prior);
        let found = Difference { policy, behaviour, interval: plan.difference?, prior };
        sensitivity(compared.log, model, &plan.policy_hs, starts, found)
    });
    let is_key = |test: &MissingnessTest| !test.is_payment;
    let learns_from_incomplete = missingness.iter().any(is_key) && !model.evidence().view.knowledge.knows_mechanisms();
    let evidence = model.evidence().fingerprint();
    Ok(SafePlan {
        mean,
        pessimistic,
        logged,
        unrandomised: today.filter(|of| of.1).map(|of| of.0),
        missingness,
        record,
        learns_from_incomplete,
        recommendation,
        tier,
        overturned_if,
        tipping_points: tipping,
        sensitivity,
        evidence,
    })
}

/// The plan that a recommendation deploys, if it deploys one.
fn deployed(found: Recommendation, [mean, pessimistic]: [&Candidate; 2]) -> Option<&Candidate> {
    match found {
        Recommendation::DeployMean => Some(mean),
        Recommendation::DeployPessimistic => Some(pessimistic),
        _ => None,
    }
}

/// The check with the clearer shortfall.
fn worse(checks: [LearnResult<OutcomeCheck>; 2]) -> LearnResult<OutcomeCheck> {
    let [mean, pessimistic] = checks;
    let p = |check: &OutcomeCheck| check.shortfall.as_ref().map_or(1.0, |found| found.p);
    let (mean, pessimistic) = (mean?, pessimistic?);
    Ok(if p(&pessimistic) < p(&mean) { pessimistic } else { mean })
}

/// The violation of missing at random, in words, that would make a plan worse than the behaviour policy: missing payments
/// towards one end of their range, or worse continuations where the next state was not recorded.
fn overturned(points: &[TippingPoint]) -> Option<(Lacking, String)> {
    let words = |point: &TippingPoint| {
        let [tipping, recorded] = [point.at_least.or(point.at_most)?, point.recorded].map(short);
        match (point.of, point.at_least) {
            (Lacking::Payments, Some(_)) => {
                Some(format!("missing payments averaged less than {tipping} (recorded ones average {recorded})"))
            }
            (Lacking::Payments, None) => {
                Some(format!("missing payments averaged more than {tipping} (recorded ones average {recorded})"))
            }
            (Lacking::NextStates, Some(_)) => Some(format!(
                "episodes that stopped before the horizon went on with less than {tipping} per stage (the plan's mean is {recorded})"
            )),
            // A better continuation or reward elsewhere does not stop a recommendation.
            (Lacking::NextStates | Lacking::UnseenRewards, None) => None,
            (Lacking::UnseenRewards, Some(_)) => Some(format!(
                "rewards of combinations that no logged step shows averaged less than {tipping} (the model expects {recorded})"
            )),
        }
    };
    points.iter().find_map(|point| Some((point.of, words(point)?)))
}

/// Restricts a recommendation to what the assumptions permit: nothing if one failed, no deployment if the check of
/// logged returns was not run. A graph about which the log says too little is no obstacle: the confidence sets account
/// for it.
fn allowed(found: Recommendation, record: &AssumptionRecord) -> Recommendation {
    if let Some(failed) = record.failed() {
        return Recommendation::Refused { because: failed.about };
    }
    let unchecked = record.about(About::LoggedReturns).is_some_and(|of| of.status == Status::NotTested);
    match found {
        Recommendation::DeployMean | Recommendation::DeployPessimistic if unchecked => Recommendation::NotChecked,
        found => found,
    }
}

/// The recommendation by the bounds, else by the posterior, before assumptions are considered, and its tier.
///
/// `compared` is the value of the behaviour policy by the model, and whether it is that of a part of the steps. Then
/// logged returns are not its own, and a plan also has to be better by the posterior.
fn recommend(
    mean: &Candidate,
    pessimistic: &Candidate,
    logged: Option<Logged>,
    compared: Option<(OfflineValue, bool)>,
) -> (Recommendation, Option<Tier>) {
    let Some(Logged { returns: Some(today), .. }) = logged else {
        return (Recommendation::NothingToCompare, None);
    };
    let (by_model, is_part) = (compared.map(|of| of.0), compared.is_some_and(|of| of.1));
    let is_better = |plan: &Candidate| plan.difference.is_some_and(|difference| difference.low > 0.0);
    let surely = |plan: &Candidate| {
        plan.guaranteed.is_some_and(|bounds| bounds.low > today.guaranteed.high) && (!is_part || is_better(plan))
    };
    // Bounds compare with all logged returns, which are not those of the part alone.
    let tier = if is_part { Tier::Posterior } else { Tier::Guaranteed };
    if surely(mean) {
        return (Recommendation::DeployMean, Some(tier));
    }
    if surely(pessimistic) {
        return (Recommendation::DeployPessimistic, Some(tier));
    }
    let probably = |plan: &Candidate| {
        // With EM, how values are missing is assumed, and nothing is guaranteed: then nothing is recommended.
        let is_complete = plan.guaranteed.is_some();
        let is_supported = is_complete && plan.support.share < NO_OVERLAP && plan.support.thin < MOST_THIN;
        is_supported && is_better(plan)
    };
    if probably(mean) {
        return (Recommendation::DeployMean, Some(Tier::Posterior));
    }
    if probably(pessimistic) {
        return (Recommendation::DeployPessimistic, Some(Tier::Posterior));
    }
    let better = |plan: &Candidate| by_model.is_some_and(|value| plan.model.mean > value.mean);
    if is_part && !better(mean) && !better(pessimistic) {
        return (Recommendation::NotBetter, None);
    }
    (not_yet(mean, pessimistic, today, by_model), None)
}

/// Why nothing is recommended, and what would change that.
fn not_yet(mean: &Candidate, pessimistic: &Candidate, today: Return, by_model: Option<OfflineValue>) -> Recommendation {
    let low = |plan: &Candidate| plan.guaranteed.map(|bounds| bounds.low);
    let (Some(_), Some(_)) = (low(mean), low(pessimistic)) else {
        let now = by_model.map_or(today.means.high, |value| value.mean);
        let better = mean.model.mean > now || pessimistic.model.mean > now;
        return if better { Recommendation::NotGuaranteed } else { Recommendation::NotBetter };
    };
    // Both bounds tighten as 1/√episodes, except for the part due to incomplete logged returns.
    let most = today.means.high;
    let needed = |plan: &Candidate| {
        let gain = plan.model.mean - most;
        let off = (plan.model.mean - low(plan)?) + (today.guaranteed.high - most);
        (gain > 0.0).then(|| today.episodes * ((off / gain) * (off / gain) - 1.0))
    };
    let plans = [mean, pessimistic].into_iter().filter_map(|plan| Some((needed(plan)?, plan.support.share)));
    let nearest = plans.min_by(|a, b| a.0.total_cmp(&b.0));
    let today_by_model = by_model.map_or(today.means.low, |value| value.mean);
    let better = [mean, pessimistic].iter().any(|plan| plan.model.mean > today_by_model);
    match nearest {
        Some((_, share)) if share >= NO_OVERLAP => Recommendation::NoOverlap { share },
        Some((episodes, _)) => Recommendation::NotYet { episodes: episodes.max(1.0) },
        None if today.incomplete > 0.0 && better => Recommendation::NotShown,
        None => Recommendation::NotBetter,
    }
}
