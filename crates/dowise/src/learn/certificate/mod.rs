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
use super::memory::{hold_reading, hold_sets};
use super::options::{Cap, Options, Sets};
use super::tabular::Tabular;
use super::view::Decomposed;
use super::{LearnError, LearnResult, Learner, Plans};
use crate::plan::{Ties, check_policy};
use crate::world::Action;

/// A policy to deploy with what can be promised of it, by starting state.
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
    /// Probability with which anything in certificates of this evidence may be wrong, at any time (δ).
    pub delta: f64,
    /// What to do, `[stage][state]`.
    pub policy_hs: Vec<Action>,
    /// What this policy is worth at least, by starting state.
    pub at_least_s: Vec<f64>,
    /// What the best policy is worth at most.
    pub best_at_most_s: Vec<f64>,
    /// By how much the best policy exceeds this one at most. Often far less than the difference of the two above: what is not
    /// known of both policies alike cancels.
    pub gap_s: Vec<f64>,
    /// By how much this policy exceeds interventions at random at least; `None` where their mean effect is not known exactly.
    pub above_random_s: Option<Vec<f64>>,
    /// What of the gap stands for rounding: no smaller gap can be determined in this world.
    pub rounding: f64,
    /// [Fingerprint](super::Evidence::fingerprint) of the evidence.
    pub evidence: u64,
}

impl Certificate {
    /// What the policy is worth at least, over these probabilities of starting states.
    pub fn at_least(&self, start_s: &[f64]) -> f64 {
        over(&self.at_least_s, start_s)
    }

    /// What the best policy is worth at most.
    pub fn best_at_most(&self, start_s: &[f64]) -> f64 {
        over(&self.best_at_most_s, start_s)
    }

    /// By how much the best policy exceeds this one at most.
    pub fn gap(&self, start_s: &[f64]) -> f64 {
        over(&self.gap_s, start_s)
    }

    /// The gap as a share of the way from interventions at random to the best policy, at most; `None` where it cannot be determined.
    ///
    /// With g the gap and w what the policy exceeds random by, a true gap x ≤ g is the share x/(x + w') ≤ g/(g + w) of the way,
    /// w' ≥ w.
    pub fn share(&self, start_s: &[f64]) -> Option<f64> {
        let gap = self.gap(start_s);
        // Where there is one policy only, it is the best and the one at random too.
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
    /// The policy to deploy, and what can be promised of it with probability 1 − δ, at all times together.
    ///
    /// Of the plan of the pessimistic members and that of the posterior mean, the one whose gap is less, averaged over all states. The forms of
    /// mechanisms (`logit`, `noisy_or`) are not believed: each of their rows counts by itself. Where the world is planned by components,
    /// it is the plan of the posterior mean, and the gap is the difference of the two bounds: policies are not compared cause by cause there.
    ///
    /// # Cost
    /// Three plans and four evaluations; where P(c | s, a) is known and not too large, a look at every corner of what
    /// interventions can set off, O(H · S² · Z) each.
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

    /// What can be promised of a given policy, `[stage][state]`.
    pub fn certificate_of(&self, policy_hs: &[Action], delta: f64) -> LearnResult<Certificate> {
        let (tabular, options) = self.to_certify(delta)?;
        let knowledge = tabular.knowledge();
        check_policy(knowledge.interventions(), knowledge.state_space(), tabular.plan().horizon, policy_hs)?;
        if tabular.view().decomposed.is_some() {
            return ByBounds::new(tabular, &options)?.certify(policy_hs.to_vec());
        }
        Ok(Difference::new(tabular, &options)?.certify(policy_hs.to_vec()))
    }

    /// The learner that counts, and the options of its certificates.
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
        let hold = || if decomposed { hold_sets(tabular, SETS) } else { hold_reading(tabular) };
        drop((hold()?, hold()?, hold()?));
        Ok((tabular, options))
    }
}

/// The options by which a learner's evidence is read for bounds.
pub(crate) fn options_of_bounds(tabular: &Tabular, delta: f64) -> Options {
    Options { delta, cap: Cap::Stage, monotone: false, ..tabular.options.clone() }
}

#[cfg(test)]
mod tests;

/// The sets that certificates rest on.
const SETS: Sets = Sets::Mixture;
