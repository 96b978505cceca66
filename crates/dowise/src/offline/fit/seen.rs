//! Counts of recorded and missing values of a log, beside the evidence.

use super::report::Missing;
use crate::data::LogStep;
use crate::learn::Knowledge;

/// Counts that evidence lacks, with multiplicity.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) episodes: u64,
    /// Steps without each key variable, in order.
    pub(super) keys_missing: Vec<u64>,
    /// Number of times each lever was set to each value, `[lever][value]`.
    pub(super) set: Vec<Vec<u64>>,
    /// Number of times each lever was left alone, and of those with its value missing.
    pub(super) left: Vec<u64>,
    pub(super) left_missing: Vec<u64>,
    /// Steps without each reward term.
    pub(super) rewards_missing: Vec<u64>,
    pub(super) next_missing: u64,
    /// Steps without an intervention; they are not counted.
    pub(super) without_action: u64,
}

impl Seen {
    pub(super) fn new(knowledge: &Knowledge) -> Seen {
        let levers = knowledge.levers();
        Seen {
            episodes: 0,
            keys_missing: vec![0; knowledge.keys().len()],
            set: levers.iter().map(|&id| vec![0; knowledge.variable(id).size()]).collect(),
            left: vec![0; levers.len()],
            left_missing: vec![0; levers.len()],
            rewards_missing: vec![0; knowledge.rewards().len()],
            next_missing: 0,
            without_action: 0,
        }
    }

    /// Counts a step with an intervention.
    pub(super) fn add(&mut self, knowledge: &Knowledge, step: &LogStep<'_>) {
        let (seen, times) = (&step.observation, u64::from(step.weight));
        self.episodes = self.episodes.max(step.episode + 1);
        let missing = |id| seen.value(id).is_none();
        for (n, &id) in self.keys_missing.iter_mut().zip(knowledge.keys()) {
            *n += times * u64::from(missing(id));
        }
        let action = seen.action().expect("invariant: evidence has taken the step, so it says what was done");
        for (i, &id) in knowledge.levers().iter().enumerate() {
            match knowledge.interventions().lever(action, i) {
                Some(value) => self.set[i][value] += times,
                None => {
                    self.left[i] += times;
                    self.left_missing[i] += times * u64::from(missing(id));
                }
            }
        }
        for (n, paid) in self.rewards_missing.iter_mut().zip(seen.rewards()) {
            *n += times * u64::from(paid.is_nan());
        }
        self.next_missing += times * u64::from(seen.next_state().is_none());
    }

    /// Variables and payments that are missing in some steps, by name.
    pub(super) fn missing(&self, knowledge: &Knowledge) -> Vec<Missing> {
        let name = |id| &knowledge.variable(id).name;
        let keys =
            knowledge.keys().iter().zip(&self.keys_missing).map(|(&id, &n)| (format!("key variable {}", name(id)), n));
        let levers = knowledge.levers().iter().zip(&self.left_missing);
        let levers = levers.map(|(&id, &n)| (format!("lever {}, left alone", name(id)), n));
        let rewards = knowledge.rewards().iter().zip(&self.rewards_missing);
        let rewards = rewards.filter(|(r, _)| r.table.is_none()).map(|(r, &n)| (format!("reward {}", r.name), n));
        let next = [
            ("next state".to_owned(), self.next_missing),
            ("what was done, so that they are not counted".to_owned(), self.without_action),
        ];
        let all = keys.chain(levers).chain(rewards).chain(next);
        all.filter(|(_, n)| *n > 0).map(|(what, steps)| Missing { what, steps }).collect()
    }
}
