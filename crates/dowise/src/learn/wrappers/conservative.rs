//! Conservative exploration: the learner's cumulative value never falls far below a baseline policy's, with
//! probability 1 − δ.
//!
//! After Garcelon et al. (2020). With b the baseline and f the least return of an episode, the guarantee is, for every
//! number of episodes k simultaneously,
//!
//! ```text
//! Σ_{l ≤ k} (V^{π_l} − f) ≥ (1 − α) k (V^b − f).
//! ```
//!
//! Observed returns bound the left side (`return_bound.rs`), not confidence sets of a model. So no graph has to be
//! right, any learner can be inside, and the cost does not grow with the world. The learner's plan is used if the
//! guarantee would hold even if its episode had the least value; otherwise the baseline is used. Unfinished episodes
//! count with the least return. Episodes may end early, and later steps may be discounted.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::return_bound::ReturnBound;
use super::safety_budget;
use crate::learn::observation::Observation;
use crate::learn::policy::Policy;
use crate::learn::save::{MOST_SAVED, RestoreError};
use crate::learn::session::Session;
use crate::learn::view::MISSING;
use crate::learn::{Knowledge, LearnError, LearnResult};
use crate::memory::Held;
use crate::plan::check_policy;
use crate::world::{Action, RewardTerm};

/// The baseline policy, the allowed loss, and the bounds on returns.
#[derive(Clone, Debug)]
pub(crate) struct Baseline {
    alpha: f64,
    delta: f64,
    policy: Arc<Policy>,
    /// Its value by starting state, if known.
    value_s: Option<Vec<f64>>,
    /// Episodes begun before the guarantee applies.
    since: u64,
    others: ReturnBound,
    own: ReturnBound,
    /// If the baseline's value is known: its sum over the start states of ended episodes, as shares; of others, and of
    /// the baseline's own.
    known: [f64; 2],
    /// Range of the return of an episode, and of the reward of a step.
    range: [f64; 2],
    step: [f64; 2],
    /// Terminal states and discount.
    world: Knowledge,
    _held: Arc<Held>,
}

/// Report of conservative exploration.
#[derive(Clone, Debug, PartialEq)]
pub struct BaselineReport {
    /// The share α of the baseline's value, measured from the least return of an episode, that may be lost.
    pub alpha: f64,
    /// Probability with which the guarantee may fail (δ).
    pub delta: f64,
    /// The least return of an episode (f): the mean value over all episodes stays above f + (1 − α)(V^b − f).
    pub least: f64,
    /// Episodes begun under the guarantee.
    pub episodes: u64,
    /// Those of them that followed the baseline.
    pub fell_back: u64,
    /// Remaining exploration budget: a lower bound on the total value of episodes above (1 − α) of the baseline.
    pub room: f64,
}

/// Serialised form of a baseline.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedBaseline {
    alpha: f64,
    delta: f64,
    policy: Vec<Action>,
    value: Option<Vec<f64>>,
    since: u64,
    others: ReturnBound,
    own: ReturnBound,
    #[serde(rename = "told")]
    known: [f64; 2],
}

impl Baseline {
    /// A baseline without episodes, or the reason why it is invalid.
    pub(crate) fn new(
        knowledge: &Knowledge,
        policy_hs: &[Action],
        [alpha, delta]: [f64; 2],
        value_s: Option<&[f64]>,
        since: u64,
    ) -> LearnResult<Baseline> {
        let step = step_range(knowledge);
        // Sum of the discount weights: 1 + γ + γ² + …
        let steps = match knowledge.world().discount() {
            1.0 => knowledge.horizon() as f64,
            discount => (0..knowledge.horizon()).fold((0.0, 1.0), |(sum, w), _| (sum + w, w * discount)).0,
        };
        let range = step.map(|end| steps * end);
        check(knowledge, policy_hs, alpha, value_s, range)?;
        let bytes = 16 * policy_hs.len() as u128 + 8 * knowledge.n_states() as u128;
        let held = Held::ask(bytes).map_err(|limit| LearnError::TooMuchMemory { bytes, limit })?;
        let fill = |out: &mut Vec<Action>| out.extend_from_slice(policy_hs);
        Ok(Baseline {
            alpha,
            delta,
            policy: Policy::made(&mut Arc::default(), 0, 0, knowledge.n_states(), fill),
            value_s: value_s.map(<[f64]>::to_vec),
            since,
            others: ReturnBound::default(),
            own: ReturnBound::default(),
            known: [0.0; 2],
            range,
            step,
            world: knowledge.clone(),
            _held: Arc::new(held),
        })
    }

    pub(crate) fn report(&self) -> BaselineReport {
        BaselineReport {
            alpha: self.alpha,
            delta: self.delta,
            least: self.range[0],
            episodes: self.others.episodes() + self.own.episodes(),
            fell_back: self.own.episodes(),
            // If all bounds hold, the guarantee holds.
            room: (self.room(0) * (self.range[1] - self.range[0])).max(0.0),
        }
    }

    /// Lower bound on the remaining budget, in shares of an episode's range, if `more` episodes had the least value.
    fn room(&self, more: u64) -> f64 {
        match &self.value_s {
            None => safety_budget::room(&self.others, &self.own, [self.alpha, self.delta], more),
            Some(value_s) => {
                let shares = || value_s.iter().map(|&v| self.share(v));
                let (most, fewest) = (shares().fold(0.0, f64::max), shares().fold(1.0, f64::min));
                let [others, own] = self.known;
                // Open episodes are assumed to start in the worst state.
                let others = others + (self.others.open + more) as f64 * most;
                let own = own + self.own.open as f64 * fewest;
                let received = self.others.episodes() as f64 * self.others.at_least(self.delta);
                received - (1.0 - self.alpha) * others + self.alpha * own
            }
        }
    }

    /// An amount as a share of an episode's range.
    fn share(&self, amount: f64) -> f64 {
        let [least, most] = self.range;
        if most > least { ((amount - least) / (most - least)).clamp(0.0, 1.0) } else { 1.0 }
    }

    /// The policy of an episode: the planned one (`None` if decisions are computed on demand), or the baseline.
    pub(crate) fn replaces(&mut self, planned: Option<Arc<Policy>>) -> Option<Arc<Policy>> {
        let planned = match planned {
            Some(planned) if self.is_own(Some(&planned)) => Some(planned),
            planned if self.room(1) >= 0.0 => planned,
            _ => Some(self.policy.clone()),
        };
        self.kind(planned.as_ref()).open += 1;
        planned
    }

    fn is_own(&self, policy: Option<&Arc<Policy>>) -> bool {
        policy.is_some_and(|p| Arc::ptr_eq(p, &self.policy) || p.actions() == self.policy.actions())
    }

    fn kind(&mut self, policy: Option<&Arc<Policy>>) -> &mut ReturnBound {
        if self.is_own(policy) { &mut self.own } else { &mut self.others }
    }

    /// Records the end or abandonment of an episode: missing rewards count at their worst.
    pub(crate) fn end(&mut self, session: &Session) {
        let policy = session.policy();
        if session.id() <= self.since || self.kind(policy).open == 0 {
            return;
        }
        if session.is_untouched() {
            // Without decisions or observations, the episode was not run.
            self.kind(policy).open -= 1;
            return;
        }
        // With an unknown start state, the episode stays open, at its worst.
        let Some(start) = session.start() else { return };
        let brought = session.brought(self.step, self.world.world()).map(|amount| self.share(amount));
        if let Some(value_s) = &self.value_s {
            let share = self.share(value_s[start]);
            self.known[usize::from(self.is_own(policy))] += share;
        }
        self.kind(policy).end(brought);
    }

    /// Accounts for a removed step, maybe of an ended episode, whose return may have been wrong.
    pub(crate) fn doubt(&mut self) {
        let (step, range) = (self.step[1] - self.step[0], self.range[1] - self.range[0]);
        let share = if range > 0.0 { step / range } else { 0.0 };
        self.others.doubt(share);
        self.own.doubt(share);
    }

    pub(crate) fn saved(&self) -> SavedBaseline {
        SavedBaseline {
            alpha: self.alpha,
            delta: self.delta,
            policy: self.policy.actions().to_vec(),
            value: self.value_s.clone(),
            since: self.since,
            others: self.others,
            own: self.own,
            known: self.known,
        }
    }

    /// Restores a saved baseline of a learner with this knowledge.
    pub(crate) fn restored(saved: SavedBaseline, knowledge: &Knowledge) -> Result<Baseline, RestoreError> {
        let damaged = |why: &str| RestoreError::damaged("around.baseline", why);
        crate::learn::error::check_delta(saved.delta)?;
        let shares = [saved.alpha, saved.delta];
        let baseline = Baseline::new(knowledge, &saved.policy, shares, saved.value.as_deref(), saved.since)?;
        let SavedBaseline { others, own, known, .. } = saved;
        let few = |kind: &ReturnBound| kind.ended <= MOST_SAVED && kind.open <= MOST_SAVED && kind.is_sound();
        if !few(&others) || !few(&own) {
            return Err(damaged("its episodes cannot have returned what they are said to have"));
        }
        let within = |(sum, kind): (&f64, &ReturnBound)| (0.0..=kind.ended as f64 * (1.0 + 1e-9)).contains(sum);
        if !known.iter().zip([&others, &own]).all(within) {
            return Err(damaged("the baseline is worth more than its episodes can pay"));
        }
        Ok(Baseline { others, own, known, ..baseline })
    }
}

/// Range of the reward of a step net of costs; it includes 0 if episodes may end before the horizon.
fn step_range(knowledge: &Knowledge) -> [f64; 2] {
    let ([least, most], [cheapest, dearest]) = (knowledge.reward_range(), knowledge.interventions().cost_range());
    let [least, most] = [least - dearest, most - cheapest];
    if knowledge.world().ends().is_some() { [least.min(0.0), most.max(0.0)] } else { [least, most] }
}

/// Bounds on the net reward of a step: the observed reward, the known mean if its scope was observed, and the full
/// range otherwise.
pub(crate) fn brought(knowledge: &Knowledge, observation: &Observation<'_>) -> [f64; 2] {
    let terms = knowledge.rewards().iter().zip(observation.rewards());
    let paid = terms.map(|(term, &paid)| if paid.is_nan() { mean_of(knowledge, term, observation) } else { [paid; 2] });
    let sum = paid.fold([0.0; 2], |sum, of| [sum[0] + of[0], sum[1] + of[1]]);
    let cost = observation.action().map(|action| knowledge.interventions().cost(action));
    let [least, most] = step_range(knowledge);
    match cost {
        // The joint range of terms may be narrower than the sum of their ranges.
        Some(cost) => [(sum[0] - cost).max(least), (sum[1] - cost).min(most)],
        None => [least, most],
    }
}

/// The mean reward of an unobserved term, or its range.
fn mean_of(knowledge: &Knowledge, term: &RewardTerm, observation: &Observation<'_>) -> [f64; 2] {
    let Some(table) = &term.table else { return term.range };
    let mut row = 0;
    for id in &term.scope {
        match observation.values()[id.ix()] {
            MISSING => return term.range,
            value => row = row * knowledge.variable(*id).values.len() + value as usize,
        }
    }
    if !term.next.is_empty() {
        let Some(next) = observation.whole_next_state() else { return term.range };
        for &id in &term.next {
            let value = knowledge.state_space().digit(next, knowledge.world().state_axis(id));
            row = row * knowledge.variable(id).values.len() + value;
        }
    }
    [table[row]; 2]
}

/// Validates a baseline: its share, its size, its interventions, and its value.
fn check(
    knowledge: &Knowledge,
    policy_hs: &[Action],
    alpha: f64,
    value_s: Option<&[f64]>,
    range: [f64; 2],
) -> Result<(), LearnError> {
    safety_budget::check_alpha(alpha)?;
    let cannot = |why: String| Err(LearnError::Baseline { why });
    let (n, horizon) = (knowledge.n_states(), knowledge.horizon());
    if policy_hs.len() != horizon * n {
        return cannot(format!(
            "the policy has {} entries, and {horizon} stages of {n} states need {}; give one intervention for each",
            policy_hs.len(),
            horizon * n
        ));
    }
    let not_allowed =
        |i: usize| !knowledge.interventions().allows(&knowledge.state_space().digits(i % n), policy_hs[i]);
    if let Some(i) = (0..policy_hs.len()).find(|&i| not_allowed(i)) {
        let state = knowledge.world().describe_state(i % n);
        return cannot(format!(
            "what it does at stage {} in the state {state} is not allowed there; give an intervention that is",
            i / n + 1
        ));
    }
    check_policy(knowledge.interventions(), knowledge.state_space(), horizon, policy_hs)?;
    let [least, most] = range;
    let slack = 1e-9 * (most - least).max(least.abs()).max(most.abs());
    match value_s {
        Some(value) if value.len() != n => {
            cannot(format!("its value has {} entries, and there are {n} starting states", value.len()))
        }
        Some(value) => match value.iter().position(|v| !(least - slack..=most + slack).contains(v)) {
            Some(s) => cannot(format!(
                "its value in the state {} is {}, and an episode pays between {least} and {most}; leave it out if it is not known",
                knowledge.world().describe_state(s),
                value[s]
            )),
            None => Ok(()),
        },
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "conservative_tests.rs"]
mod tests;
