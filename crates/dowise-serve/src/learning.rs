//! What is learned of a log: its effects applied in order to a learner.

use dowise::Learner;
use dowise::learn::Evidence;

use crate::engine::OpenError;
use crate::served::Served;
use crate::snapshot::Snapshot;
use crate::step::Effect;
use crate::store::{Store, StoreError};

/// Events that are applied at a time.
const BATCH: usize = 1000;

/// A learner, and how far in the log it is.
#[derive(Debug)]
pub struct Learning {
    /// What it has seen.
    pub learner: Learner,
    /// All events up to this one are applied.
    pub seq: u64,
    /// Whether something was taken back since the last policy.
    pub took_back: bool,
}

impl Learning {
    /// Nothing learned yet.
    pub fn new(served: &Served) -> Result<Learning, OpenError> {
        let evidence = Evidence::new(&served.knowledge, &served.options)?;
        Ok(Learning { learner: served.learner(evidence)?, seq: 0, took_back: false })
    }

    /// Goes on where a policy was made.
    pub fn from(served: &Served, snapshot: &Snapshot) -> Result<Learning, OpenError> {
        let evidence = Evidence::restore(&served.knowledge, &served.options, &snapshot.evidence)
            .map_err(|e| OpenError::Damaged(e.to_string()))?;
        Ok(Learning { learner: served.learner(evidence)?, seq: snapshot.seq, took_back: false })
    }

    /// Steps learned from.
    pub fn steps(&self) -> u64 {
        self.learner.evidence().map_or(0, Evidence::steps)
    }

    /// Applies all events up to one.
    pub fn apply(&mut self, served: &Served, store: &dyn Store, upto: u64) -> Result<(), OpenError> {
        loop {
            let effects = store.effects(&served.name, self.seq, upto, BATCH)?;
            let whole = effects.len() < BATCH;
            for (seq, effect) in effects {
                let wrong = |e: String| OpenError::Damaged(format!("event {seq}: {e}"));
                let effect: Effect = serde_json::from_str(&effect).map_err(|e| wrong(e.to_string()))?;
                for step in &effect.back {
                    let step = step.observation(served).map_err(|e| wrong(e.to_string()))?;
                    self.learner.take_back(&step).map_err(|e| wrong(e.to_string()))?;
                    self.took_back = true;
                }
                for step in &effect.add {
                    let step = step.observation(served).map_err(|e| wrong(e.to_string()))?;
                    self.learner.learn(&step).map_err(|e| wrong(e.to_string()))?;
                }
                self.seq = seq;
            }
            if whole {
                self.seq = self.seq.max(upto);
                return Ok(());
            }
        }
    }

    /// Makes a policy of what was learned.
    pub fn publish(&mut self, served: &Served, version: u64) -> Result<Snapshot, OpenError> {
        self.took_back = false;
        Ok(Snapshot::make(served, &self.learner, version, self.seq)?)
    }
}

impl From<StoreError> for crate::problem::Problem {
    fn from(error: StoreError) -> crate::problem::Problem {
        crate::problem::Problem::unavailable(error.to_string())
    }
}
