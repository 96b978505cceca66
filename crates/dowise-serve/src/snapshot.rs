//! A published policy: the plan of the mean, the plans that explore, and what they were made from; immutable.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use dowise::learn::{ActionValues, Estimator, Evidence, LearnError};
use dowise::world::VarId;
use dowise::{Action, Learner};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde_json::{Map, Value};

use crate::served::{Explores, Served};

/// Most samples of one policy: a decision keeps which of them agree with it as bits of one number.
pub const MOST_SAMPLES: usize = 64;

/// A published policy.
#[derive(Debug)]
pub struct Snapshot {
    /// From 1, in the order in which they were made.
    pub version: u64,
    /// All events up to this one were learned from.
    pub seq: u64,
    /// Of everything that decides, in hexadecimal digits.
    pub hash: String,
    /// What each exploring plan does, `[sample][stage][state]`; one optimistic plan, or the mean itself, counts as one sample.
    pub samples: Vec<Vec<Action>>,
    /// The mean: its plan is what there is to exploit.
    pub action_values: ActionValues,
    /// The evidence that it was made from, as text.
    pub evidence: String,
    /// What was foreseen before: a service decides the same few things again and again.
    foreseen: Mutex<BTreeMap<(usize, usize, Action), Arc<Foreseen>>>,
}

/// What is expected of an intervention.
#[derive(Debug)]
pub(crate) struct Foreseen {
    /// Of the rest of the episode.
    pub(crate) value: f64,
    /// `{key variable: {value: probability}}`
    pub(crate) keys: Map<String, Value>,
}

/// Places that are remembered at most.
const MOST_FORESEEN: usize = 1 << 14;

/// A policy as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSnapshot {
    /// From 1.
    pub version: u64,
    /// All events up to this one were learned from.
    pub seq: u64,
    /// Milliseconds since 1970.
    pub at: u64,
    /// See [`Snapshot::hash`].
    pub hash: String,
    /// Steps in the evidence.
    pub steps: u64,
    /// The evidence, compressed.
    pub evidence: Vec<u8>,
}

impl Snapshot {
    /// Plans from what a learner has seen. A function of the world, the choices, the evidence and the version alone.
    pub fn make(served: &Served, learner: &Learner, version: u64, seq: u64) -> Result<Snapshot, LearnError> {
        let mean = match served.explores {
            // What the library would deploy: see `Learner::learned_policy`.
            Explores::Samples { prior } => Estimator::Pooled { prior },
            Explores::Optimism(_) => Estimator::Mean { prior: 1.0 },
            Explores::Never => Estimator::Greedy,
        };
        let action_values = learner.action_values(mean, 0)?;
        let samples = match served.explores {
            Explores::Samples { prior } => (0..served.choices.samples.clamp(1, MOST_SAMPLES))
                .map(|k| {
                    let seed = number(&[served.choices.seed, version, k as u64]);
                    Ok(learner.read(Estimator::Sample { prior }, seed)?.policy_hs)
                })
                .collect::<Result<_, LearnError>>()?,
            Explores::Optimism(reading) => vec![learner.read(reading, 0)?.policy_hs],
            Explores::Never => vec![action_values.plan().policy_hs.clone()],
        };
        let evidence = learner.evidence().ok_or(LearnError::NoTables)?.save();
        let mut hasher = blake3::Hasher::new();
        hasher.update(served.knowledge.fingerprint().as_bytes());
        let plan = action_values.plan();
        let actions = plan.policy_hs.iter().chain(samples.iter().flatten()).map(|a| a.0);
        for part in [version, seq].into_iter().chain(actions).chain(plan.value_hs.iter().map(|v| v.to_bits())) {
            hasher.update(&part.to_le_bytes());
        }
        let hash = hasher.finalize().to_hex()[..16].to_owned();
        Ok(Snapshot { version, seq, hash, samples, action_values, evidence, foreseen: Mutex::default() })
    }

    /// Makes a stored policy again; `None` if it is not the one that was stored.
    pub fn restore(served: &Served, stored: &StoredSnapshot) -> Option<Snapshot> {
        let text = unpack(&stored.evidence)?;
        let evidence = Evidence::restore(&served.knowledge, &served.options, &text).ok()?;
        let learner = served.learner(evidence).ok()?;
        let snapshot = Snapshot::make(served, &learner, stored.version, stored.seq).ok()?;
        (snapshot.hash == stored.hash).then_some(snapshot)
    }

    /// As it is stored.
    pub fn stored(&self, at: u64, steps: u64) -> StoredSnapshot {
        let evidence = pack(&self.evidence);
        StoredSnapshot { version: self.version, seq: self.seq, at, hash: self.hash.clone(), steps, evidence }
    }

    /// What a sample does.
    pub fn sample(&self, k: usize, stage: usize, state: usize) -> Action {
        self.samples[k][stage * self.action_values.plan().n_states + state]
    }

    /// What is expected of an intervention at a stage and state, by the mean.
    pub(crate) fn foresee(&self, served: &Served, stage: usize, state: usize, action: Action) -> Arc<Foreseen> {
        let place = (stage, state, action);
        let kept = || self.foreseen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(foreseen) = kept().get(&place) {
            return foreseen.clone();
        }
        let named = |(id, chances): (VarId, Vec<f64>)| {
            let variable = served.world.variable(id);
            let chances: Map<String, Value> =
                variable.values.iter().cloned().zip(chances.into_iter().map(Value::from)).collect();
            (variable.name.clone(), Value::Object(chances))
        };
        let keys = self.action_values.sets_off(state, action).into_iter().map(named).collect();
        let foreseen = Arc::new(Foreseen { value: self.action_values.value(stage, state, action), keys });
        let mut kept = kept();
        if kept.len() < MOST_FORESEEN {
            kept.insert(place, foreseen.clone());
        }
        foreseen
    }

    /// Which sample an episode follows: a keyed hash of the episode and the version, all alike.
    pub fn index(&self, key: &[u8; 32], episode: &str) -> usize {
        let mut hasher = blake3::Hasher::new_keyed(key);
        hasher.update(&self.version.to_le_bytes());
        hasher.update(episode.as_bytes());
        let drawn = first_number(&hasher.finalize());
        ((u128::from(drawn) * self.samples.len() as u128) >> 64) as usize
    }

    /// A number from 0 to 1 for a rule on shares: a keyed hash of the version, the rule, the stage and the episode.
    pub(crate) fn unit(&self, key: &[u8; 32], episode: &str, stage: usize, rule: usize) -> f64 {
        let mut hasher = blake3::Hasher::new_keyed(key);
        hasher.update(b"share");
        for part in [self.version, rule as u64, stage as u64] {
            hasher.update(&part.to_le_bytes());
        }
        hasher.update(episode.as_bytes());
        to_unit(first_number(&hasher.finalize()))
    }
}

/// 53 bits of a hash as a number from 0 up to, not including, 1.
fn to_unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// A number for these numbers.
fn number(parts: &[u64]) -> u64 {
    let bytes: Vec<u8> = parts.iter().flat_map(|p| p.to_le_bytes()).collect();
    first_number(&blake3::hash(&bytes))
}

fn first_number(hash: &blake3::Hash) -> u64 {
    u64::from_le_bytes(hash.as_bytes()[..8].try_into().expect("invariant: eight bytes"))
}

/// Text, compressed.
pub(crate) fn pack(text: &str) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).expect("invariant: memory can be written to");
    encoder.finish().expect("invariant: memory can be written to")
}

/// Text that was compressed.
pub(crate) fn unpack(bytes: &[u8]) -> Option<String> {
    let mut text = String::new();
    ZlibDecoder::new(bytes).read_to_string(&mut text).ok()?;
    Some(text)
}
