//! Plans that are better with high confidence than the behaviour policy, if there is one: by the posterior mean, and by the pessimistic members.

use super::assumptions::{NO_OVERLAP, of_log, of_summary, overlap};
use super::evaluate::{
    Followed, Interval, Logged, Model, OfflineError, OfflineOptions, OfflineValue, Return, StartStates, Support,
    by_model, guaranteed, logged_of, model_of, of_returns, start_states, starts_of, support_of,
};
use super::{About, Assumption, Episodes, LogSummary, MissingnessTest, Status};
use crate::learn::{Estimator, Sets};
use crate::world::Action;

/// A plan that could be deployed.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Candidate {
    /// What to do, `[stage][state]`.
    #[serde(skip)]
    pub policy_hs: Vec<Action>,
    /// What it is worth by the model.
    pub model: OfflineValue,
    /// What it is worth with probability 1 − δ; `None` where key variables that were not recorded are expected from the rest of the step.
    pub guaranteed: Option<Interval>,
    /// Whether the log says what it needs to know.
    pub support: Support,
}

/// What to do about the plans.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recommendation {
    /// The plan by the posterior mean is better with high confidence than the behaviour policy.
    DeployMean,
    /// The plan by the pessimistic members is, and the other is not.
    DeployPessimistic,
    /// Neither is yet; with about this many episodes more, one would be if it is worth what the model says.
    NotYet {
        /// More than there are.
        episodes: f64,
    },
    /// By the model itself neither is better.
    NotBetter,
    /// By the model one is better, but so much of the behaviour policy is not recorded that more episodes like these would not show it.
    NotShown,
    /// By the model one is better, but it does what the log never contains: more episodes of the same behaviour policy cannot show it.
    NoOverlap {
        /// Share of the plan's episodes that reach a row without data.
        share: f64,
    },
    /// By the model one is better; nothing is guaranteed, since key variables that were not recorded are expected from the rest of the step.
    NotGuaranteed,
    /// The log contradicts an assumption that every value rests on, so that none of them need hold and nothing is recommended
    /// ([`SafePlan::assumptions`]).
    Refused {
        /// The first assumption that failed.
        because: About,
    },
    /// By its bounds one is better, but an assumption that the log could have been asked about was not tested.
    NotChecked,
    /// There is no log, or none of its episodes is complete: there is nothing to compare with.
    NothingToCompare,
}

/// Two plans from a log beside the behaviour policy.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct SafePlan {
    /// The best plan by the posterior mean.
    pub mean: Candidate,
    /// The best plan by the pessimistic members of the confidence sets: the greatest value that can be guaranteed.
    pub pessimistic: Candidate,
    /// What was logged; `None` where only evidence is there that does not say returns of episodes.
    pub logged: Option<Logged>,
    /// Whether what is missing depends on what the steps came to, for each variable and payment that is missing in some steps.
    pub missingness: Vec<MissingnessTest>,
    /// What all of this rests on, and how it came out against the log.
    pub assumptions: Vec<Assumption>,
    /// Whether guaranteed values rest on mechanisms that were learned while key variables are missing in some steps.
    pub learns_from_incomplete: bool,
    /// Which one to deploy.
    pub recommendation: Recommendation,
    /// [Fingerprint](crate::learn::Evidence::fingerprint) of the evidence that the plans were made from.
    pub evidence: u64,
}

impl SafePlan {
    /// The plan that is recommended; where none is, the one with the greater guaranteed value.
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
            | Recommendation::NotChecked
            | Recommendation::NothingToCompare => {
                let low = |c: &Candidate| c.guaranteed.map(|g| g.low);
                if low(&self.pessimistic) > low(&self.mean) { &self.pessimistic } else { &self.mean }
            }
        }
    }

    /// Stages (from 0) and states in which the two plans do different things.
    pub fn differences(&self, n_states: usize) -> Vec<(usize, usize)> {
        let pairs = self.mean.policy_hs.iter().zip(&self.pessimistic.policy_hs).enumerate();
        pairs.filter(|(_, (a, b))| a != b).map(|(i, _)| (i / n_states, i % n_states)).collect()
    }
}

/// Plans from a log: the best by the posterior mean and the best by the pessimistic members, each with what it is worth for sure.
///
/// With probability 1 − δ, both guaranteed intervals and that of the behaviour policy hold together, so a plan whose lower bound is above
/// the upper bound of the behaviour policy is better than it.
pub fn plan_safely(log: &Episodes, options: &OfflineOptions) -> Result<SafePlan, OfflineError> {
    let starts = start_states(log, &options.starts)?;
    let summary = log.summary();
    let missingness = summary.missingness.clone();
    let model = model_of(summary, options)?;
    let logged = logged_of(log, &model, &starts, options)?;
    plan(&model, &starts, (Some(logged), missingness, of_log(log, &logged)), options)
}

/// The same from what a log came to, such as a fit leaves beside its world. Evidence alone does not say the logged data, so that there is nothing to
/// compare the plans with.
pub fn plan_from_evidence(seen: impl Into<LogSummary>, options: &OfflineOptions) -> Result<SafePlan, OfflineError> {
    let seen = seen.into();
    let starts = starts_of(&seen.evidence, &options.starts)?;
    let (knowledge, returns) = (seen.evidence.view.knowledge.clone(), seen.returns);
    let logged = returns.and_then(|sums| {
        Some(Logged { returns: Some(Return::of(&knowledge, &sums, of_returns(options))?), model: None })
    });
    let missingness = seen.missingness.clone();
    let assumptions = of_summary(&seen, seen.incomplete.is_some());
    plan(&model_of(seen, options)?, &starts, (logged, missingness, assumptions), options)
}

fn plan(
    model: &Model,
    starts: &StartStates,
    (logged, missingness, mut assumptions): (Option<Logged>, Vec<MissingnessTest>, Vec<Assumption>),
    options: &OfflineOptions,
) -> Result<SafePlan, OfflineError> {
    let candidate = |reading| -> Result<Candidate, OfflineError> {
        let policy_hs = model.plan(reading)?.policy_hs;
        let who = Followed::Policy(&policy_hs);
        Ok(Candidate {
            model: by_model(model, who, starts, options)?,
            guaranteed: guaranteed(model, who, starts, options)?.map(|found| found.0),
            support: support_of(model, &policy_hs, starts, options),
            policy_hs,
        })
    };
    let mean = candidate(Estimator::Mean { prior: options.prior })?;
    let pessimistic = candidate(Estimator::Pessimistic(Sets::Mixture))?;
    assumptions.push(overlap(&mean.support));
    let recommendation = allowed(recommend(&mean, &pessimistic, logged), &assumptions);
    let is_key = |test: &MissingnessTest| !test.is_payment;
    let learns_from_incomplete = missingness.iter().any(is_key) && !model.evidence().view.knowledge.knows_mechanisms();
    let evidence = model.evidence().fingerprint();
    Ok(SafePlan {
        mean,
        pessimistic,
        logged,
        missingness,
        assumptions,
        learns_from_incomplete,
        recommendation,
        evidence,
    })
}

/// What may be recommended, given how the assumptions came out: nothing where one failed, and no plan where one was not tested that a log can
/// speak about. A graph of which the log says too little is no obstacle: the sets are as wide as that log allows.
fn allowed(found: Recommendation, assumptions: &[Assumption]) -> Recommendation {
    if let Some(failed) = assumptions.iter().find(|assumption| assumption.status == Status::Failed) {
        return Recommendation::Refused { because: failed.about };
    }
    let unchecked = |of: &Assumption| of.status == Status::NotTested && of.about == About::LoggedReturns;
    match found {
        Recommendation::DeployMean | Recommendation::DeployPessimistic if assumptions.iter().any(unchecked) => {
            Recommendation::NotChecked
        }
        found => found,
    }
}

fn recommend(mean: &Candidate, pessimistic: &Candidate, logged: Option<Logged>) -> Recommendation {
    let Some(Logged { returns: Some(today), model: by_model }) = logged else {
        return Recommendation::NothingToCompare;
    };
    let low = |plan: &Candidate| plan.guaranteed.map(|bounds| bounds.low);
    let (Some(_), Some(_)) = (low(mean), low(pessimistic)) else {
        let now = by_model.map_or(today.means.high, |value| value.mean);
        let better = mean.model.mean > now || pessimistic.model.mean > now;
        return if better { Recommendation::NotGuaranteed } else { Recommendation::NotBetter };
    };
    let surely = |plan: &Candidate| low(plan).is_some_and(|low| low > today.guaranteed.high);
    if surely(mean) {
        return Recommendation::DeployMean;
    }
    if surely(pessimistic) {
        return Recommendation::DeployPessimistic;
    }
    // Both bounds come closer as one over the root of the number of episodes, but for what is not recorded of the behaviour policy.
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
