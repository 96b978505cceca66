//! One step of an episode: what was decided, the parts that were observed so far, and what of it was learned.

use dowise::Action;
use dowise::learn::{Observation, ObservationError};
use dowise::world::{Given, GivenValue};
use serde::{Deserialize, Serialize};

use crate::served::Served;

/// What was observed of a step, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Parts {
    /// Values of key variables, by their positions.
    pub keys: Vec<Option<usize>>,
    /// Values that levers left alone turned out to have.
    pub levers: Vec<Option<usize>>,
    /// The state that followed.
    pub next: Option<usize>,
    /// What each reward term paid.
    pub rewards: Vec<Option<f64>>,
    /// What was done, if not what was decided.
    pub did: Option<Action>,
    /// Whether the episode ended here.
    pub done: bool,
    /// Whether it was waited for no longer: then the declared values are learned of key variables that nothing was heard of.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
}

/// A step that was taken in by the learner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Learned {
    /// From 0.
    pub stage: usize,
    /// State.
    pub state: usize,
    /// What was done.
    pub action: Action,
    /// What was observed.
    pub parts: Parts,
}

/// What an event changes in the evidence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Steps to be taken back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub back: Vec<Learned>,
    /// Steps to be taken in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add: Vec<Learned>,
}

impl Effect {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.back.is_empty() && self.add.is_empty()
    }
}

/// A step as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The decision.
    pub event_id: String,
    /// The episode.
    pub episode: String,
    /// From 0.
    pub stage: usize,
    /// State.
    pub state: usize,
    /// What was decided.
    pub action: Action,
    /// The policy that decided.
    pub version: u64,
    /// Samples that would have decided the same.
    pub agree: u64,
    /// The probability with which it was decided.
    pub propensity: f64,
    /// Milliseconds since 1970.
    pub at: u64,
    /// What was observed so far.
    pub parts: Parts,
    /// What the learner was given of it.
    pub learned: Option<Parts>,
    /// No more is waited for: complete, closed or timed out.
    pub settled: bool,
}

fn list(values: &[Option<usize>]) -> Given {
    Given::List(values.iter().map(|v| v.map_or(GivenValue::Missing, |v| GivenValue::Number(v as i64))).collect())
}

impl Parts {
    /// Nothing observed.
    pub fn none(served: &Served) -> Parts {
        let world = &served.world;
        Parts {
            keys: vec![None; world.keys().len()],
            levers: vec![None; world.levers().len()],
            rewards: vec![None; world.rewards().len()],
            ..Parts::default()
        }
    }

    /// Whether there is anything to learn from.
    pub fn is_empty(&self) -> bool {
        let none = |values: &[Option<usize>]| values.iter().all(Option::is_none);
        none(&self.keys) && none(&self.levers) && self.next.is_none() && self.rewards.iter().all(Option::is_none)
    }

    /// Whether the learner can be determined all that it learns from.
    pub fn is_complete(&self, served: &Served) -> bool {
        let terms = served.knowledge.rewards().iter().zip(&self.rewards);
        self.keys.iter().all(Option::is_some)
            && (self.next.is_some() || self.done)
            && terms.filter(|(term, _)| term.table.is_none()).all(|(_, paid)| paid.is_some())
    }

    /// Adds what others say; names what contradicts. With `replace` it takes the place of what was there.
    pub fn merge(&mut self, served: &Served, other: &Parts, replace: bool) -> Result<(), String> {
        let world = &served.world;
        let mut merged = self.clone();
        let mut wrong = None;
        let mut put = |to: &mut Option<usize>, from: Option<usize>, what: &dyn Fn() -> String| match (*to, from) {
            (Some(old), Some(new)) if old != new && !replace => wrong = wrong.take().or(Some(what())),
            (_, None) => {}
            (_, Some(new)) => *to = Some(new),
        };
        for ((to, from), &id) in merged.keys.iter_mut().zip(&other.keys).zip(world.keys()) {
            put(to, *from, &|| format!("keys.{}", world.variable(id).name));
        }
        for ((to, from), &id) in merged.levers.iter_mut().zip(&other.levers).zip(world.levers()) {
            put(to, *from, &|| format!("levers.{}", world.variable(id).name));
        }
        put(&mut merged.next, other.next, &|| "next_state".to_owned());
        for ((to, from), term) in merged.rewards.iter_mut().zip(&other.rewards).zip(world.rewards()) {
            match (*to, *from) {
                (Some(old), Some(new)) if old != new && !replace => {
                    wrong = wrong.or_else(|| Some(format!("rewards.{}", term.name)));
                }
                (_, None) => {}
                (_, Some(new)) => *to = Some(new),
            }
        }
        match (merged.did, other.did) {
            (Some(old), Some(new)) if old != new && !replace => wrong = wrong.or_else(|| Some("did".to_owned())),
            (_, None) => {}
            (_, Some(new)) => merged.did = Some(new),
        }
        // Where episodes end, nobody needs to say that this one has.
        merged.done |= other.done || merged.next.is_some_and(|state| world.has_ended(state));
        match wrong {
            Some(field) => Err(field),
            None => {
                *self = merged;
                Ok(())
            }
        }
    }
}

impl Learned {
    /// As the library sees it.
    pub fn observation(&self, served: &Served) -> Result<Observation<'static>, ObservationError> {
        let (knowledge, parts) = (&served.knowledge, &self.parts);
        let mut step = Observation::at(knowledge, self.stage, self.state)?
            .did_action(knowledge, self.action)?
            .saw(knowledge, list(&parts.keys))?
            .found(knowledge, list(&parts.levers))?;
        let paid: Vec<f64> = parts.rewards.iter().map(|r| r.unwrap_or(f64::NAN)).collect();
        step = step.paid(knowledge, &paid)?;
        match parts.next {
            Some(next) => step.then(knowledge, next),
            None => Ok(step),
        }
    }
}

impl Step {
    /// What the learner is given if it knows these parts.
    pub fn with(&self, parts: Parts) -> Learned {
        Learned { stage: self.stage, state: self.state, action: parts.did.unwrap_or(self.action), parts }
    }

    /// Brings what was learned up to date with what is known; what changes in the evidence.
    pub fn settle(&mut self, served: &Served) -> Effect {
        self.settled |= self.parts.is_complete(served) || self.parts.timed_out;
        let mut known = self.parts.clone();
        if std::mem::take(&mut known.timed_out) {
            known.keys.iter_mut().zip(&served.defaults).for_each(|(key, default)| *key = key.or(*default));
        }
        let now = (self.settled && !known.is_empty()).then_some(known);
        if now == self.learned {
            return Effect::default();
        }
        let back = self.learned.take().map(|parts| self.with(parts)).into_iter().collect();
        let add = now.clone().map(|parts| self.with(parts)).into_iter().collect();
        self.learned = now;
        Effect { back, add }
    }
}
