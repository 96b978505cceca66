//! Observation of one step, by names or numbers: validated against the world at construction; values may be missing.

use crate::tolerance::OBSERVED_REWARD;
use std::borrow::Cow;

use super::Knowledge;
use super::evidence::EvidenceError;
use super::view::MISSING;
use crate::Space;
use crate::random::splitmix64;
use crate::world::{Action, Given, NamingError, VarId};

/// One step: where, what was done, what was seen, what was paid, and what came next.
///
/// It is checked when it is made; after that it can be added to any [`Evidence`](super::Evidence) of the same world, once it says what
/// was done ([`Observation::did`]). Key variables and levers that were not observed, reward terms that are not known and a next state that is not known yet may be missing: what
/// is missing is not counted, and never taken for a zero.
///
/// ```
/// use dowise::learn::Observation;
/// use dowise::{Knowledge, World, worlds};
/// let world = World::from_toml(&worlds::text("treatment", &[])?, "treatment.toml")?;
/// let knowledge = Knowledge::of(&world);
/// let step = Observation::at(&knowledge, 0, 3)?.did(&knowledge, 5)?.then(&knowledge, 2)?;
/// assert_eq!((step.state(), step.next_state()), (3, Some(2)));
/// let wrong = Observation::at(&knowledge, 0, 3)?.did(&knowledge, 5)?.saw(&knowledge, [("fever", "purple")]);
/// assert!(wrong.is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Observation<'a> {
    pub(crate) stage: usize,
    pub(crate) state: usize,
    /// `None` until it is given.
    pub(crate) action: Option<Action>,
    /// Values of all variables by [`VarId`]; [`MISSING`] for missing ones.
    pub(crate) values: Cow<'a, [u32]>,
    /// The reward of each term; NaN if missing.
    pub(crate) rewards: Cow<'a, [f64]>,
    pub(crate) next_state: Option<usize>,
    /// State factors, as bits by position, whose next value is missing although the next state is terminal: a patient
    /// who has left has no next mood. `next_state` is then one of the possible terminal states.
    pub(crate) unseen_next: u64,
}

/// Errors of observations that are impossible in this world.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ObservationError {
    /// A stage beyond the horizon.
    #[error("there is no stage {stage}; an episode has {horizon} steps, stages 1 to {horizon}")]
    Stage {
        /// From 1.
        stage: usize,
        /// Steps of an episode.
        horizon: usize,
    },
    /// A name or a number that the world does not have.
    #[error(transparent)]
    Naming(#[from] NamingError),
    /// A value that depends on the intervention, before the intervention is given.
    #[error("{what} depends on what was done, and this observation does not say it yet; call `did` first")]
    NothingDone {
        /// What was given too early.
        what: &'static str,
    },
    /// A lever that was set to something else.
    #[error("the lever \"{lever}\" was set to {set}, so it cannot have turned out to be {seen}")]
    Lever {
        /// Its name.
        lever: String,
        /// As set.
        set: String,
        /// As given.
        seen: String,
    },
    /// A number of payments that is not the number of reward terms.
    #[error("reward has {found} numbers, expected {}: one for each of {}", .terms.len(), .terms.join(", "))]
    Rewards {
        /// Numbers given.
        found: usize,
        /// Names of the terms.
        terms: Vec<String>,
    },
    /// One number where there are several terms.
    #[error("one number cannot be divided between the reward terms {}; give one for each", .terms.join(", "))]
    OneReward {
        /// Names of the terms.
        terms: Vec<String>,
    },
    /// No reward term of that name.
    #[error("there is no reward term \"{name}\"; there are {}", .terms.join(", "))]
    Term {
        /// As given.
        name: String,
        /// Names of the terms.
        terms: Vec<String>,
    },
    /// A payment that the term cannot make.
    #[error(
        "the reward term \"{term}\" paid {paid}, but it pays between {lo} and {hi}; give the world the range that it has"
    )]
    Range {
        /// Its name.
        term: String,
        /// As given.
        paid: f64,
        /// The least it pays.
        lo: f64,
        /// The most it pays.
        hi: f64,
    },
}

impl<'a> Observation<'a> {
    /// A step in a state at a stage (from 0), without an intervention yet.
    pub fn at(
        knowledge: &Knowledge,
        stage: usize,
        state: impl Into<Given>,
    ) -> Result<Observation<'static>, ObservationError> {
        let (world, horizon) = (knowledge.world(), knowledge.horizon());
        if stage >= horizon {
            return Err(ObservationError::Stage { stage: stage.saturating_add(1), horizon });
        }
        let state = world.read_state(&state.into())?;
        let mut values = vec![MISSING; world.variables().len()];
        for (i, id) in world.state().iter().enumerate() {
            values[id.ix()] = world.state_space().digit(state, i) as u32;
        }
        Ok(Observation {
            stage,
            state,
            action: None,
            values: values.into(),
            rewards: vec![f64::NAN; world.rewards().len()].into(),
            next_state: None,
            unseen_next: 0,
        })
    }

    /// Sets the intervention.
    pub fn did(self, knowledge: &Knowledge, action: impl Into<Given>) -> Result<Self, ObservationError> {
        let action = knowledge.world().read_action(&action.into())?;
        self.did_action(knowledge, action)
    }

    /// Sets the intervention by its library number.
    pub fn did_action(mut self, knowledge: &Knowledge, action: Action) -> Result<Self, ObservationError> {
        let world = knowledge.world();
        world.check_allowed(self.state, action)?;
        let before = self.action.replace(action);
        for (i, id) in world.levers().iter().enumerate() {
            if before.is_some_and(|before| world.interventions().lever(before, i).is_some()) {
                self.values.to_mut()[id.ix()] = MISSING;
            }
            if let Some(value) = world.interventions().lever(action, i) {
                self.values.to_mut()[id.ix()] = value as u32;
            }
        }
        Ok(self)
    }

    /// Values of key variables; those not given are missing.
    pub fn saw(mut self, knowledge: &Knowledge, keys: impl Into<Given>) -> Result<Self, ObservationError> {
        let world = knowledge.world();
        let seen = world.read_values(world.keys(), "key variable", &keys.into())?;
        self.put(world.keys(), seen);
        Ok(self)
    }

    /// Observed values of levers that were not set.
    pub fn found(mut self, knowledge: &Knowledge, levers: impl Into<Given>) -> Result<Self, ObservationError> {
        let world = knowledge.world();
        let Some(action) = self.action else {
            return Err(ObservationError::NothingDone { what: "what levers left alone turned out to be" });
        };
        let seen = world.read_values(world.levers(), "lever", &levers.into())?;
        for (i, (id, seen)) in world.levers().iter().zip(&seen).enumerate() {
            if let (Some(set), Some(seen)) = (world.interventions().lever(action, i), *seen)
                && set != seen
            {
                let variable = world.variable(*id);
                let [set, seen] = [set, seen].map(|v| variable.values[v].clone());
                return Err(ObservationError::Lever { lever: variable.name.clone(), set, seen });
            }
        }
        self.put(world.levers(), seen);
        Ok(self)
    }

    fn put(&mut self, ids: &[VarId], seen: Vec<Option<usize>>) {
        for (id, value) in ids.iter().zip(seen) {
            if let Some(value) = value {
                self.values.to_mut()[id.ix()] = value as u32;
            }
        }
    }

    /// The reward of each term, before costs; NaN if missing.
    pub fn paid(mut self, knowledge: &Knowledge, rewards: &[f64]) -> Result<Self, ObservationError> {
        if rewards.len() != knowledge.rewards().len() {
            return Err(ObservationError::Rewards { found: rewards.len(), terms: terms(knowledge) });
        }
        for (i, &paid) in rewards.iter().enumerate() {
            self.pay(knowledge, i, paid)?;
        }
        Ok(self)
    }

    /// The reward of the term with this name.
    pub fn paid_by(mut self, knowledge: &Knowledge, name: &str, paid: f64) -> Result<Self, ObservationError> {
        let Some(i) = knowledge.rewards().iter().position(|r| r.name == name) else {
            return Err(ObservationError::Term { name: name.to_owned(), terms: terms(knowledge) });
        };
        self.pay(knowledge, i, paid)?;
        Ok(self)
    }

    /// The net reward of the whole step, after the cost of the intervention: for worlds with one reward term.
    pub fn received(mut self, knowledge: &Knowledge, reward: f64) -> Result<Self, ObservationError> {
        if knowledge.rewards().len() != 1 {
            return Err(ObservationError::OneReward { terms: terms(knowledge) });
        }
        let Some(action) = self.action else {
            return Err(ObservationError::NothingDone { what: "what was received for the whole step" });
        };
        self.pay(knowledge, 0, reward + knowledge.interventions().cost(action))?;
        Ok(self)
    }

    fn pay(&mut self, knowledge: &Knowledge, term: usize, paid: f64) -> Result<(), ObservationError> {
        let of = &knowledge.rewards()[term];
        let [lo, hi] = of.range;
        if !paid.is_nan() && !within_range(paid, of.range) {
            return Err(ObservationError::Range { term: of.name.clone(), paid, lo, hi });
        }
        self.rewards.to_mut()[term] = paid;
        Ok(())
    }

    /// Sets the next state.
    pub fn then(mut self, knowledge: &Knowledge, next_state: impl Into<Given>) -> Result<Self, ObservationError> {
        self.next_state = Some(knowledge.world().read_state(&next_state.into())?);
        self.unseen_next = 0;
        Ok(self)
    }

    /// Stage, from 0.
    pub fn stage(&self) -> usize {
        self.stage
    }

    /// State before.
    pub fn state(&self) -> usize {
        self.state
    }

    /// The intervention, if given.
    pub fn action(&self) -> Option<Action> {
        self.action
    }

    /// The value of a variable, if it was observed (state factors: before the step).
    pub fn value(&self, id: VarId) -> Option<u32> {
        Some(self.values[id.ix()]).filter(|&v| v != MISSING)
    }

    /// Values of all variables by [`VarId`]; `u32::MAX` for missing ones.
    pub fn values(&self) -> &[u32] {
        &self.values
    }

    /// The reward of each term; NaN if missing.
    pub fn rewards(&self) -> &[f64] {
        &self.rewards
    }

    /// The next state, if known. If it is terminal and some factors are missing, it is one of the possible terminal
    /// states: all have the same value.
    pub fn next_state(&self) -> Option<usize> {
        self.next_state
    }

    /// The next value of the state factor at this position, if it was observed.
    #[inline]
    pub(crate) fn next_value(&self, states: &Space, factor: usize) -> Option<usize> {
        self.next_state.filter(|_| self.saw_next(factor)).map(|next| states.digit(next, factor))
    }

    /// Whether the next value of a factor was observed, where a next state is known.
    #[inline]
    pub(crate) fn saw_next(&self, factor: usize) -> bool {
        self.unseen_next == 0 || factor >= 64 || self.unseen_next >> factor & 1 == 0
    }

    /// The next state, if every factor of it was observed.
    pub(crate) fn whole_next_state(&self) -> Option<usize> {
        self.next_state.filter(|_| self.unseen_next == 0)
    }

    /// The same observation with values of its own, to be kept.
    pub fn into_owned(self) -> Observation<'static> {
        Observation {
            values: self.values.into_owned().into(),
            rewards: self.rewards.into_owned().into(),
            stage: self.stage,
            state: self.state,
            action: self.action,
            next_state: self.next_state,
            unseen_next: self.unseen_next,
        }
    }

    /// What was done, if this can have been observed in the world that knows of; `sizes` are the numbers of values of its
    /// variables, by [`VarId`].
    #[inline]
    pub(crate) fn done(
        &self,
        knowledge: &Knowledge,
        sizes: impl ExactSizeIterator<Item = u32>,
    ) -> Result<Action, EvidenceError> {
        let inside = |state: usize| state < knowledge.n_states();
        let fits = self.stage < knowledge.horizon()
            && inside(self.state)
            && self.next_state.is_none_or(inside)
            && self.rewards.len() == knowledge.rewards().len()
            && self.values.len() == sizes.len();
        // What is missing is the greatest number there is, and 0 after one is added. All are looked at: that is one comparison.
        let inside = self.values.iter().zip(sizes).fold(true, |all, (&v, size)| all & (v.wrapping_add(1) <= size));
        if !fits || !inside {
            return Err(EvidenceError::OtherWorld);
        }
        self.action.ok_or(EvidenceError::NothingDone)
    }

    /// A number for exactly this observation.
    pub(crate) fn fingerprint(&self) -> u64 {
        let next = self.next_state.map_or(u64::MAX, |s| s as u64);
        let action = self.action.map_or(u64::MAX, |a| a.0);
        // One multiplication a part, two values in each, and a loop for each kind: this is done for every step that is played.
        let mut hash = 0u64;
        let mut join = |part: u64| hash = crate::hash::join(hash, part);
        [self.stage as u64, self.state as u64, next, action].into_iter().for_each(&mut join);
        let (pairs, last) = self.values.as_chunks::<2>();
        pairs.iter().for_each(|&[v, w]| join(u64::from(v) | u64::from(w) << 32));
        last.iter().for_each(|&v| join(u64::from(v)));
        if self.unseen_next != 0 {
            join(self.unseen_next);
        }
        // All that is not a number is missing alike.
        self.rewards.iter().for_each(|r| join(if r.is_nan() { u64::MAX } else { r.to_bits() }));
        splitmix64(hash)
    }

    /// The levers that were set, as bits by their positions.
    pub(crate) fn levers_set(&self, knowledge: &Knowledge) -> u64 {
        let all = knowledge.interventions();
        let Some(action) = self.action else { return 0 };
        (0..all.n_levers()).filter(|&l| all.lever(action, l).is_some()).fold(0, |bits, l| bits | 1 << l)
    }
}

/// Whether a payment is within its range, up to rounding.
pub(crate) fn within_range(paid: f64, [lo, hi]: [f64; 2]) -> bool {
    let slack = OBSERVED_REWARD * (hi - lo).max(lo.abs()).max(hi.abs());
    paid >= lo - slack && paid <= hi + slack
}

fn terms(knowledge: &Knowledge) -> Vec<String> {
    knowledge.rewards().iter().map(|r| r.name.clone()).collect()
}
