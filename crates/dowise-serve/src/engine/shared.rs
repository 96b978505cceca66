//! Stores that several services write: what the others did is taken over at the beginning of each transaction.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Engine, Standing};
use crate::snapshot::Snapshot;
use crate::store::StoreError;

/// Policies that were made ready before they decide, so that nobody waits for a plan: (world, policy), the last ones.
#[derive(Debug, Default)]
pub(crate) struct Ready(Mutex<Vec<(String, Arc<Snapshot>)>>);

/// Policies that are kept ready.
const MOST: usize = 16;

impl Ready {
    /// Keeps a policy.
    pub(crate) fn keep(&self, world: &str, snapshot: Arc<Snapshot>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(name, of)| name != world || of.hash != snapshot.hash);
        kept.push((world.to_owned(), snapshot));
        let extra = kept.len().saturating_sub(MOST);
        kept.drain(..extra);
    }

    /// The policy with this hash.
    pub(crate) fn find(&self, world: &str, hash: &str) -> Option<Arc<Snapshot>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(name, of)| name == world && of.hash == hash).map(|(_, of)| of.clone())
    }
}

impl Engine {
    /// Takes over what others did: the time of the last event, modes, and policies.
    ///
    /// # Cost
    /// One look-up for each world; a plan only where a policy was published that was not made ready before.
    pub(super) fn catch_up(&mut self) -> Result<(), StoreError> {
        self.last_at = self.last_at.max(self.store.last()?.1);
        for live in &mut self.worlds {
            let served = live.served.clone();
            let wrong = |what: &str| StoreError(format!("world \"{}\": {what}", served.name));
            let Some(text) = self.store.value(&format!("standing/{}", served.name))? else { continue };
            let standing: Standing = serde_json::from_slice(&text).map_err(|e| wrong(&e.to_string()))?;
            if standing == live.standing {
                continue;
            }
            let known = [live.active.clone(), live.latest.clone()];
            let find = |version: u64| -> Result<Arc<Snapshot>, StoreError> {
                let row = self.store.snapshot(&served.name, version)?.ok_or_else(|| wrong("a policy is missing"))?;
                if let Some(found) = known
                    .iter()
                    .find(|of| of.hash == row.hash)
                    .cloned()
                    .or_else(|| self.ready.find(&served.name, &row.hash))
                {
                    return Ok(found);
                }
                let made = Snapshot::restore(&served, &row)
                    .ok_or_else(|| wrong("a policy cannot be made again from its evidence"))?;
                Ok(Arc::new(made))
            };
            let active = find(standing.active)?;
            let latest = if standing.latest == standing.active { active.clone() } else { find(standing.latest)? };
            (live.standing, live.active, live.latest) = (standing, active, latest);
        }
        Ok(())
    }
}
