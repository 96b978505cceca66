//! Suboptimality certificates: anytime bounds on the gap of the policy to deploy, valid with probability 1 − δ.
//!
//! All bounds rest on one event: every learned row lies in its confidence set, at every number of visits. The sets are
//! those of [`Sets::Mixture`], which hold at all times simultaneously. So certificates may be requested at any time,
//! and a run may stop once the gap is small enough. `docs/theory/guarantees.md` states and proves the bounds.

mod decomposed;
mod difference;
mod joint_set;
mod random;
mod relative;
mod step;

use self::decomposed::ByBounds;
use self::difference::Difference;
use super::belief::Estimator;
use super::error::check;
use super::learner::Kind;
use super::memory::{hold_belief, hold_sets};
use super::options::{Cap, Options, Sets};
use super::tabular::Tabular;
use super::view::Decomposed;
use super::{LearnError, LearnResult, Learner, Plans};
use crate::plan::{Ties, check_policy};
use crate::world::Action;

/// Suboptimality certificate: a policy to deploy with bounds on its value and its gap, by starting state.
///
/// ```
/// use dowise::{Arena, Learner, Preset, Knowledge, worlds};
/// let arena = Arena::new(&worlds::world("river-swim", &[])?)?;
/// let options = "c-ucbvi".parse::<Preset>()?.options(300, 1);
/// let mut learner = Learner::new(&Knowledge::of(arena.world()), options)?;
/// arena.run(1).episodes(300, &mut learner, |_| std::ops::ControlFlow::Continue(()));
/// let certificate = learner.certificate(0.05)?;
/// let starts = arena.start_distribution();
/// assert!(arena.value_of(&certificate.policy_hs)? >= certificate.at_least(&starts));
/// assert!(arena.optimal() - arena.value_of(&certificate.policy_hs)? <= certificate.gap(&starts));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Certificate {
    /// Probability that any certificate of this evidence is ever wrong (δ).
    pub delta: f64,
    /// The policy, `[stage][state]`.
    pub policy_hs: Vec<Action>,
    /// Lower bound on the value of this policy, by starting state.
    pub at_least_s: Vec<f64>,
    /// Upper bound on the optimal value.
    pub best_at_most_s: Vec<f64>,
    /// Upper bound on the gap between the optimal policy and this one. Often far less than the difference of the two
    /// bounds above, since uncertainty common to both policies cancels.
    pub gap_s: Vec<f64>,
    /// Lower bound on the advantage of this policy over random interventions; `None` if their mean effect is not known
    /// exactly.
    pub above_random_s: Option<Vec<f64>>,
    /// The part of the gap that accounts for rounding: no smaller gap can be certified in this world.
    pub rounding: f64,
    /// [Fingerprint](super::Evidence::fingerprint) of the evidence.
    pub evidence: u64,
}

impl Certificate {
    /// Lower bound on the value of the policy, for these probabilities of starting states.
    pub fn at_least(&self, start_s: &[f64]) -> f64 {
        over(&self.at_least_s, start_s)
    }

    /// Upper bound on the optimal value.
    pub fn best_at_most(&self, start_s: &[f64]) -> f64 {
        over(&self.best_at_most_s, start_s)
    }

    /// Upper bound on the gap between the optimal policy and this one.
    pub fn gap(&self, start_s: &[f64]) -> f64 {
        over(&self.gap_s, start_s)
    }

    /// Upper bound on the gap as a share of the optimal policy's advantage over random interventions; `None` if it
    /// cannot be determined.
    ///
    /// With g the gap and w the policy's advantage over random, a true gap x ≤ g is the share x/(x + w') ≤ g/(g + w),
    /// w' ≥ w.
    pub fn share(&self, start_s: &[f64]) -> Option<f64> {
        let gap = self.gap(start_s);
        // If there is only one policy, it is both optimal and random.
        if gap <= 0.0 {
            return Some(0.0);
        }
        let above = over(self.above_random_s.as_ref()?, start_s);
        (above > 0.0).then(|| gap / (gap + above))
    }
}

fn over(value_s: &[f64], start_s: &[f64]) -> f64 {
    value_s.iter().zip(start_s).filter(|(_, p)| **p > 0.0).map(|(v, p)| v * p).sum()
}

impl Learner {
    /// The policy to deploy with its suboptimality certificate, which holds with probability 1 − δ at all times
    /// simultaneously.
    ///
    /// Of the pessimistic plan and the posterior-mean plan, the one with the smaller gap, averaged over all states, is
    /// chosen. The forms of mechanisms (`logit`, `noisy_or`) are not used: each of their rows counts separately. In
    /// decomposed planning, the policy is the posterior-mean plan, and the gap is the difference of the two bounds.
    ///
    /// # Cost
    /// Three plans and four evaluations. If P(c | s, a) is known and not too large, also an evaluation of every corner
    /// of the interventions' effects, O(H · S² · Z) each.
    pub fn certificate(&self, delta: f64) -> LearnResult<Certificate> {
        let (tabular, options) = self.to_certify(delta)?;
        let mean = || LearnResult::Ok(tabular.read(Estimator::Mean { prior: 1.0 }, 0, Ties::First)?.0.policy_hs);
        if tabular.view().decomposed.is_some() {
            return ByBounds::new(tabular, &options)?.certify(mean()?);
        }
        let mut difference = Difference::new(tabular, &options)?;
        let mean = mean()?;
        let worst = difference.certify(difference.worst_plan().policy_hs.clone());
        if mean == worst.policy_hs {
            return Ok(worst);
        }
        let mean = difference.certify(mean);
        let total = |c: &Certificate| c.gap_s.iter().sum::<f64>();
        Ok(if total(&mean) < total(&worst) { mean } else { worst })
    }

    /// The certificate of a given policy, `[stage][state]`.
    pub fn certificate_of(&self, policy_hs: &[Action], delta: f64) -> LearnResult<Certificate> {
        let (tabular, options) = self.to_certify(delta)?;
        let knowledge = tabular.knowledge();
        check_policy(knowledge.interventions(), knowledge.state_space(), tabular.plan().horizon, policy_hs)?;
        if tabular.view().decomposed.is_some() {
            return ByBounds::new(tabular, &options)?.certify(policy_hs.to_vec());
        }
        Ok(Difference::new(tabular, &options)?.certify(policy_hs.to_vec()))
    }

    /// The tabular learner, and the options of its certificates.
    fn to_certify(&self, delta: f64) -> LearnResult<(&Tabular, Options)> {
        let Kind::Tabular(tabular) = &self.kind else { return Err(LearnError::NoTables) };
        if self.forgets() {
            return Err(LearnError::Forgets {
                what: "a certificate",
                why: "it rests on a world that stays as it is; leave forget out",
            });
        }
        let decomposed = tabular.view().decomposed.is_some();
        if decomposed && !Decomposed::fits_sets(tabular.knowledge()) {
            return Err(LearnError::ComponentTooUncertain);
        }
        if let Some(why) = self.wrong_view() {
            return Err(LearnError::WrongView { why });
        }
        let options = options_of_bounds(tabular, delta);
        check(&options)?;
        // Three beliefs as large as the learner's own at the same time.
        let hold = || if decomposed { hold_sets(tabular, SETS) } else { hold_belief(tabular) };
        drop((hold()?, hold()?, hold()?));
        Ok((tabular, options))
    }
}

/// The learner's options for computing bounds.
pub(crate) fn options_of_bounds(tabular: &Tabular, delta: f64) -> Options {
    Options { delta, cap: Cap::Stage, monotone: false, ..tabular.options.clone() }
}

#[cfg(test)]
mod tests;

/// The confidence sets of certificates.
const SETS: Sets = Sets::Mixture;
