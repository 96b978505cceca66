//! Sensitivity to unmeasured confounding: how strong an unrecorded cause of the logged interventions has to be before
//! "better (or worse) than the behaviour policy" could be wrong (marginal sensitivity model).
//!
//! Given the state, an unrecorded cause may change the odds of the logged intervention by a factor of at most Γ. With π
//! the share of the intervention a in the state s, every outcome y of a then satisfies
//!
//! α ≤ p(y | s, do(a)) / p(y | s, a) ≤ β,   α = π + (1 − π)/Γ,   β = π + (1 − π) Γ
//!
//! The worst such p puts β on the least values of r + γ V(s') and α on the others, the best one on the greatest. With
//! it, policy evaluation is a pessimistic (optimistic) recursion (Bruns-Smith and Zhou 2023). The value of the behaviour
//! policy needs no such assumption.

mod benchmark;
mod outcomes;

pub use benchmark::Benchmark;

use serde::Serialize;

use self::benchmark::strongest;
use self::outcomes::{Case, Outcomes};
use super::OfflineValue;
use super::interval::Interval;
use super::model::Model;
use super::start::StartStates;
use crate::offline::Episodes;
use crate::world::Action;

/// Greatest Γ that is examined.
const MOST: f64 = 20.0;

/// Values of Γ for which the worst and the best value are reported.
const REPORTED: [f64; 8] = [1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0];

/// Halvings of the interval that contains the tipping point.
const HALVINGS: usize = 14;

/// What the model says of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    /// Its value is greater than that of the behaviour policy.
    Better,
    /// Its value is not greater than that of the behaviour policy.
    Worse,
}

impl Claim {
    /// What a model with this gain over the behaviour policy says.
    pub(crate) fn of(gain: f64) -> Claim {
        if gain > 0.0 { Claim::Better } else { Claim::Worse }
    }

    /// Whether a model with this gain says the same.
    pub(crate) fn holds(self, gain: f64) -> bool {
        Claim::of(gain) == self
    }
}

/// The strength of unmeasured confounding that overturns a comparison with the behaviour policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sensitivity {
    /// What the model says of the policy, and what confounding could overturn.
    pub claim: Claim,
    /// The levers whose logged settings an unrecorded cause may have changed: those that were not randomised.
    pub levers: Vec<String>,
    /// The tipping point: with less confounding than this Γ, the claim holds, with 95 % intervals. 1: no confounding is
    /// allowed for; at most 20 are examined.
    pub gamma: f64,
    /// Pairs of Γ and the policy's value in the worst case.
    pub worst: Vec<[f64; 2]>,
    /// Pairs of Γ and the policy's value in the best case.
    pub best: Vec<[f64; 2]>,
    /// The value of the behaviour policy by the model.
    pub behaviour: f64,
    /// Pairs of Γ and the 95 % margin of the difference, on the side of the claim, that the tipping point leaves.
    pub margin: Vec<[f64; 2]>,
    /// The recorded state factor that changes the odds of the logged interventions the most, as a yardstick for Γ.
    pub benchmark: Option<Benchmark>,
}

impl Sensitivity {
    /// Whether the claim held with the greatest Γ that was examined.
    pub fn is_beyond(&self) -> bool {
        self.gamma >= MOST
    }
}

/// A policy's value by the model, that of the behaviour policy, and the 95 % interval of the difference.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Difference {
    pub(crate) policy: OfflineValue,
    pub(crate) behaviour: f64,
    pub(crate) interval: Interval,
    /// Weight of the prior in visits.
    pub(crate) prior: f64,
}

/// The sensitivity of a comparison with the behaviour policy. `None` if every lever was randomised, if there are
/// next-state rewards, or if there are too many outcomes to sort.
///
/// # Cost
/// For each of about 30 values of Γ and each stage, a sort of the outcomes (configurations, rewards and next states) of
/// every state.
pub(crate) fn sensitivity(
    log: &Episodes,
    model: &Model,
    policy_hs: &[Action],
    starts: &StartStates,
    found: Difference,
) -> Option<Sensitivity> {
    let knowledge = log.knowledge();
    let names = knowledge.levers().iter().map(|&id| knowledge.variable(id).name.clone());
    let levers: Vec<String> = names.filter(|name| !log.declared().randomised.contains(name)).collect();
    let world = model.mean_world(found.prior, starts.to_start());
    if levers.is_empty() || world.pays_on_next_values() {
        return None;
    }
    let outcomes = Outcomes::new(log, &world, policy_hs, HALVINGS + 2 * REPORTED.len() + 2)?;
    let value = |case: Case, gamma: f64| starts.mean(&outcomes.value(case, gamma));
    let gain = found.policy.mean - found.behaviour;
    let claim = Claim::of(gain);
    let [of_difference, of_value] = match claim {
        Claim::Better => [gain - found.interval.low, found.policy.mean - found.policy.posterior.low],
        Claim::Worse => [found.interval.high - gain, found.policy.posterior.high - found.policy.mean],
    };
    // The extreme value less the model's value has errors of at most β − 1 times those of the model's value.
    let margin = |gamma: f64| of_difference.max(0.0) + (outcomes.mean_beta(starts, gamma) - 1.0) * of_value.max(0.0);
    let holds = |gamma: f64| match claim {
        Claim::Better => value(Case::Worst, gamma) - margin(gamma) > found.behaviour,
        Claim::Worse => value(Case::Best, gamma) + margin(gamma) < found.behaviour,
    };
    let (mut low, mut high) = (1.0, MOST);
    if !holds(low) {
        high = low;
    } else if holds(high) {
        low = high;
    }
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if holds(middle) { low = middle } else { high = middle }
    }
    let table = |case: Case| REPORTED.iter().map(|&gamma| [gamma, value(case, gamma)]).collect();
    Some(Sensitivity {
        claim,
        levers,
        gamma: low,
        worst: table(Case::Worst),
        best: table(Case::Best),
        behaviour: found.behaviour,
        margin: REPORTED.iter().map(|&gamma| [gamma, margin(gamma)]).collect(),
        benchmark: strongest(log),
    })
}
