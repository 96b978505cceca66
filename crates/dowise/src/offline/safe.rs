//! Plans that are surely better than what was logged, if there is one: by the posterior mean, and by the worst members.

use super::Episodes;
use super::evaluate::{
    Followed, Interval, Logged, Model, OfflineError, OfflineOptions, OfflineValue, StartStates, Support, by_model,
    guaranteed, logged_of, model_of, start_states, starts_of, support_of,
};
use crate::learn::{Evidence, Reading, Sets};
use crate::world::Action;

/// A plan that could be deployed.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Candidate {
    /// What to do, `[stage][state]`.
    #[serde(skip)]
    pub policy_hs: Vec<Action>,
    /// What it is worth by the model.
    pub model: OfflineValue,
    /// What it is worth with probability 1 − δ.
    pub guaranteed: Interval,
    /// Whether the log says what it needs to know.
    pub support: Support,
}

/// What to do about the plans.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recommendation {
    /// The plan by the posterior mean is surely better than what was logged.
    DeployMean,
    /// The plan by the worst members is, and the other is not.
    DeployWorst,
    /// Neither is yet; with about this many episodes more, one would be if it is worth what the model says.
    NotYet {
        /// More than there are.
        episodes: f64,
    },
    /// By the model itself neither is better.
    NotBetter,
    /// By the model one is better, but so much of what was logged is not recorded that more episodes like these would not show it.
    NotShown,
    /// There is no log, or none of its episodes is complete: there is nothing to compare with.
    NothingToCompare,
}

/// Two plans from a log beside what was logged.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct SafePlan {
    /// The best plan by the posterior mean.
    pub mean: Candidate,
    /// The best plan by the worst members of the confidence sets: the greatest value that can be guaranteed.
    pub worst: Candidate,
    /// What was logged; `None` where only evidence is there, which does not say what episodes brought.
    pub logged: Option<Logged>,
    /// Which one to deploy.
    pub recommendation: Recommendation,
    /// [Fingerprint](Evidence::fingerprint) of the evidence that the plans were made from.
    pub evidence: u64,
}

impl SafePlan {
    /// The plan that is recommended; where none is, the one with the greater guaranteed value.
    pub fn recommended(&self) -> &Candidate {
        match self.recommendation {
            Recommendation::DeployMean => &self.mean,
            Recommendation::DeployWorst => &self.worst,
            Recommendation::NotYet { .. }
            | Recommendation::NotBetter
            | Recommendation::NotShown
            | Recommendation::NothingToCompare => {
                if self.worst.guaranteed.low > self.mean.guaranteed.low {
                    &self.worst
                } else {
                    &self.mean
                }
            }
        }
    }

    /// Stages (from 0) and states in which the two plans do different things.
    pub fn differences(&self, n_states: usize) -> Vec<(usize, usize)> {
        let pairs = self.mean.policy_hs.iter().zip(&self.worst.policy_hs).enumerate();
        pairs.filter(|(_, (a, b))| a != b).map(|(i, _)| (i / n_states, i % n_states)).collect()
    }
}

/// Plans from a log: the best by the posterior mean and the best by the worst members, each with what it is worth for sure.
///
/// With probability 1 − δ, both guaranteed intervals and that of what was logged hold together, so a plan whose lower bound is above
/// the upper bound of what was logged is better than it.
pub fn plan_safely(log: &Episodes, options: &OfflineOptions) -> Result<SafePlan, OfflineError> {
    let starts = start_states(log, &options.starts)?;
    let model = model_of(log.evidence(), options)?;
    let logged = logged_of(log, &model, &starts, options)?;
    plan(&model, &starts, Some(logged), options)
}

/// The same from evidence alone, such as a fit leaves beside its world: there is nothing to compare the plans with.
pub fn plan_from_evidence(evidence: Evidence, options: &OfflineOptions) -> Result<SafePlan, OfflineError> {
    let starts = starts_of(&evidence, &options.starts)?;
    plan(&model_of(evidence, options)?, &starts, None, options)
}

fn plan(
    model: &Model,
    starts: &StartStates,
    logged: Option<Logged>,
    options: &OfflineOptions,
) -> Result<SafePlan, OfflineError> {
    let candidate = |reading| -> Result<Candidate, OfflineError> {
        let policy_hs = model.plan(reading)?.policy_hs;
        let who = Followed::Policy(&policy_hs);
        Ok(Candidate {
            model: by_model(model, who, starts, options)?,
            guaranteed: guaranteed(model, who, starts, options)?.0,
            support: support_of(model, &policy_hs, starts, options),
            policy_hs,
        })
    };
    let mean = candidate(Reading::Mean { prior: options.prior })?;
    let worst = candidate(Reading::Worst(Sets::Mixture))?;
    let recommendation = recommend(&mean, &worst, logged);
    Ok(SafePlan { mean, worst, logged, recommendation, evidence: model.evidence().fingerprint() })
}

fn recommend(mean: &Candidate, worst: &Candidate, logged: Option<Logged>) -> Recommendation {
    let Some(Logged { returns: Some(today), model: by_model }) = logged else {
        return Recommendation::NothingToCompare;
    };
    let surely = |plan: &Candidate| plan.guaranteed.low > today.guaranteed.high;
    if surely(mean) {
        return Recommendation::DeployMean;
    }
    if surely(worst) {
        return Recommendation::DeployWorst;
    }
    // Both bounds come closer as one over the root of the number of episodes, but for what is not recorded of what was logged.
    let most = today.means.high;
    let needed = |plan: &Candidate| {
        let gain = plan.model.mean - most;
        let off = (plan.model.mean - plan.guaranteed.low) + (today.guaranteed.high - most);
        (gain > 0.0).then(|| today.episodes * ((off / gain) * (off / gain) - 1.0))
    };
    let needed = [mean, worst].into_iter().filter_map(needed).fold(f64::INFINITY, f64::min);
    let better = [mean, worst].iter().any(|plan| plan.model.mean > by_model.mean);
    match needed {
        needed if needed.is_finite() => Recommendation::NotYet { episodes: needed.max(1.0) },
        _ if today.incomplete > 0.0 && better => Recommendation::NotShown,
        _ => Recommendation::NotBetter,
    }
}
