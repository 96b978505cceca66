//! History of observed steps, each distinct step once with its multiplicity: a revised graph is counted again from it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::learn::evidence::EvidenceError;
use crate::learn::observation::Observation;
use crate::learn::{Evidence, Knowledge, Options};
use crate::world::Action;

/// Most distinct steps; later ones are counted only in the present graph.
const MOST_KINDS: usize = 1 << 20;

/// Distinct steps in a canonical order: the same steps give the same bytes, in any order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct History(#[serde(with = "as_list")] BTreeMap<Vec<u64>, u32>);

impl History {
    /// Most bytes for a learner that runs its episodes.
    pub(crate) fn bytes(knowledge: &Knowledge, options: &Options) -> u128 {
        let steps = u128::from(options.episodes).saturating_mul(knowledge.horizon() as u128);
        let numbers = 4 + knowledge.variables().len() + knowledge.rewards().len();
        // A step in a map: its numbers, their place, and the free room of the map.
        steps.min(MOST_KINDS as u128) * (8 * numbers as u128 + 96)
    }

    pub(crate) fn add(&mut self, observation: &Observation<'_>, more: u32) {
        let key = key(observation);
        let room = self.0.len() < MOST_KINDS;
        match self.0.get_mut(&key) {
            Some(times) => *times = times.saturating_add(more),
            None if room => drop(self.0.insert(key, more)),
            None => {}
        }
    }

    /// Whether such a step was added, as far as known.
    pub(crate) fn may_have(&self, observation: &Observation<'_>) -> bool {
        self.0.len() == MOST_KINDS || self.0.contains_key(&key(observation))
    }

    pub(crate) fn remove(&mut self, observation: &Observation<'_>) {
        let key = key(observation);
        match self.0.get_mut(&key) {
            Some(times) if *times > 1 => *times -= 1,
            Some(_) => drop(self.0.remove(&key)),
            None => {}
        }
    }

    /// Adds all steps to evidence of the same variables.
    pub(crate) fn count_in(&self, evidence: &mut Evidence) -> Result<(), EvidenceError> {
        let knowledge = evidence.view.knowledge.clone();
        self.0.iter().try_for_each(|(key, &times)| {
            let observation = observation(key, &knowledge).ok_or(EvidenceError::OtherWorld)?;
            evidence.add_times(&observation, times)
        })
    }
}

/// A step encoded as numbers.
pub(super) fn key(observation: &Observation<'_>) -> Vec<u64> {
    let Observation { stage, state, action, values, rewards, .. } = observation;
    let next = observation.whole_next_state().map_or(u64::MAX, |s| s as u64);
    let mut key = Vec::with_capacity(4 + values.len() + rewards.len());
    key.extend([*stage as u64, *state as u64, action.map_or(u64::MAX, |a| a.0), next]);
    key.extend(values.iter().map(|&v| u64::from(v)));
    // All NaN values encode missing rewards alike.
    key.extend(rewards.iter().map(|r| if r.is_nan() { f64::NAN.to_bits() } else { r.to_bits() }));
    key
}

/// The step with this encoding; `None` if the number of entries does not fit the world.
pub(super) fn observation(key: &[u64], knowledge: &Knowledge) -> Option<Observation<'static>> {
    let &[stage, state, action, next, ref rest @ ..] = key else { return None };
    let n = knowledge.variables().len();
    if rest.len() != n + knowledge.rewards().len() {
        return None;
    }
    let values: Option<Vec<u32>> = rest[..n].iter().map(|&v| u32::try_from(v).ok()).collect();
    Some(Observation {
        stage: stage.try_into().ok()?,
        state: state.try_into().ok()?,
        action: (action != u64::MAX).then_some(Action(action)),
        values: values?.into(),
        rewards: rest[n..].iter().map(|&r| f64::from_bits(r)).collect::<Vec<f64>>().into(),
        next_state: if next == u64::MAX { None } else { Some(next.try_into().ok()?) },
        unseen_next: 0,
    })
}

/// JSON has no maps with numeric keys: a list of steps with multiplicities.
mod as_list {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(map: &BTreeMap<Vec<u64>, u32>, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(map)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<Vec<u64>, u32>, D::Error> {
        let list: Vec<(Vec<u64>, u32)> = Vec::deserialize(from)?;
        Ok(list.into_iter().collect())
    }
}
