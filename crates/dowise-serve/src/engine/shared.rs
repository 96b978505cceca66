//! Policies that are kept ready, and stores that several services write: what the others did is taken over at the beginning of each
//! transaction.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Engine, Live, Standing};
use crate::snapshot::Snapshot;
use crate::store::StoreError;

/// Policies that were made ready before they decide, or that episodes under way still follow, so that nobody waits for a plan: (world,
/// policy), those used last.
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
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept.iter().rposition(|(name, of)| name == world && of.hash == hash)?;
        let found = kept.remove(place);
        kept.push(found.clone());
        Some(found.1)
    }
}

impl Engine {
    /// A policy that was published, made again if it is not ready: what it decides follows from its evidence.
    pub(super) fn policy(&self, live: &Live, version: u64, hash: &str) -> Result<Arc<Snapshot>, StoreError> {
        let name = &live.served.name;
        let known = [&live.active, &live.latest].into_iter().find(|of| of.hash == hash).cloned();
        if let Some(found) = known.or_else(|| self.ready.find(name, hash)) {
            return Ok(found);
        }
        let wrong =
            |what: &str| StoreError(format!("world \"{name}\": policy {version}, which an episode follows, {what}"));
        let row = self.store.snapshot(name, version)?.ok_or_else(|| wrong("is missing"))?;
        let made = Snapshot::restore(&live.served, &row).filter(|made| made.hash == hash);
        let made = Arc::new(made.ok_or_else(|| wrong("cannot be made again from its evidence"))?);
        self.ready.keep(name, made.clone());
        Ok(made)
    }

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
            live.standing = standing;
            live.latest = latest;
            let before = std::mem::replace(&mut live.active, active);
            if served.choices.promise.is_some() {
                // Episodes under way go on with it.
                self.ready.keep(&served.name, before);
            }
        }
        Ok(())
    }
}
