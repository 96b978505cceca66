//! Safe policy improvement from a log: the posterior-mean plan and the pessimistic plan against the behaviour policy.

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
    /// The policy, `[stage][state]`.
    #[serde(skip)]
    pub policy_hs: Vec<Action>,
    /// Its value under the fitted model.
    pub model: OfflineValue,
    /// Bounds on its value that hold with probability 1 − δ; `None` if EM imputes missing key variables.
    pub guaranteed: Option<Interval>,
    /// Whether the log covers the rows that the plan needs (overlap).
    pub support: Support,
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
    /// The log contradicts an assumption that every value rests on ([`SafePlan::assumptions`]), so nothing is
    /// recommended.
    Refused {
        /// The first assumption that failed.
        because: About,
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
    /// The optimal plan of the pessimistic estimate: it has the greatest guaranteed value.
    pub pessimistic: Candidate,
    /// The behaviour policy; `None` if only evidence without returns is available.
    pub logged: Option<Logged>,
    /// One missingness test for each variable and payment that is missing in some steps.
    pub missingness: Vec<MissingnessTest>,
    /// The assumptions behind these values, and whether the log contradicts them.
    pub assumptions: Vec<Assumption>,
    /// Whether guaranteed values rest on mechanisms learned from steps with missing key variables.
    pub learns_from_incomplete: bool,
    /// The recommendation.
    pub recommendation: Recommendation,
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
    let logged = logged_of(log, &model, &starts, options)?;
    plan(&model, &starts, (Some(logged), missingness, of_log(log, &logged)), options)
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

/// Restricts a recommendation to what the assumptions permit: nothing if one failed, no deployment if the check of
/// logged returns was not run. A graph about which the log says too little is no obstacle: the confidence sets account
/// for it.
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
