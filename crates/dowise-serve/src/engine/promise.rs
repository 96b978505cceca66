//! The promise to keep to the baseline: an account in the store. Every change of it is an event of its own, without names, so that the log
//! still gives the same decisions when the episodes that an account rests on have been deleted.

use dowise::learn::{BaselineLedger, share_of_episode, share_of_step};
use serde::{Deserialize, Serialize};

use super::answers::text;
use super::{Engine, Failed};
use crate::decide::Mode;
use crate::served::Served;
use crate::store::{Episode, Event, EventKind, Store, StoreError};

/// A change of the account. `baseline` says whose episode it is: the baseline's, or of the policy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Entry {
    /// An episode begins.
    Begin { baseline: bool },
    /// An episode has ended and brought a share between these of what it can.
    End { baseline: bool, brought: [f64; 2] },
    /// What an ended episode brought was corrected: it may have been wrong by this share.
    Doubt { share: f64 },
}

/// Whose an episode is, and whether it begins now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Promised {
    /// The baseline decides in it.
    pub(super) baseline: bool,
    begins: bool,
}

impl Engine {
    /// Whose an episode is that is about to be decided for; `None` where nothing is promised.
    pub(super) fn promised(&self, served: &Served, episode: &str, mode: Mode) -> Result<Option<Promised>, Failed> {
        let Some(account) = account(served, self.store.as_ref())? else { return Ok(None) };
        if let Some(mark) = self.store.value(&mark(served, episode))? {
            return Ok(Some(Promised { baseline: mark == OF_BASELINE, begins: false }));
        }
        let baseline = match mode {
            Mode::Stop | Mode::Apprentice | Mode::Shadow => true,
            Mode::Online | Mode::Frozen => !account.allows_another(),
        };
        Ok(Some(Promised { baseline, begins: true }))
    }

    /// Notes that an episode has begun, if it has.
    pub(super) fn begin_promised(
        &mut self,
        served: &Served,
        episode: &str,
        promised: Option<Promised>,
        at: u64,
    ) -> Result<(), Failed> {
        let Some(Promised { baseline, begins: true }) = promised else { return Ok(()) };
        self.store.put_value(&mark(served, episode), if baseline { OF_BASELINE } else { OF_POLICY })?;
        self.enter(served, Entry::Begin { baseline }, at)
    }

    /// Notes what an episode brought once no more is waited for; with `force` at once, and what was not observed counts at its worst.
    pub(super) fn conclude(&mut self, served: &Served, episode: &Episode, force: bool, at: u64) -> Result<(), Failed> {
        if served.choices.promise.is_none() || (episode.closed.is_none() && !force) {
            return Ok(());
        }
        let name = mark(served, &episode.id);
        let Some(mark) = self.store.value(&name)? else { return Ok(()) };
        let steps = self.store.steps_of(&served.name, &episode.id)?;
        if !force && steps.iter().any(|step| !step.settled) {
            return Ok(());
        }
        let seen: Result<Vec<_>, _> =
            steps.iter().map(|step| step.with(step.parts.clone()).observation(served)).collect();
        let brought = seen.map_or([0.0, 1.0], |seen| share_of_episode(&served.told, &seen, episode.closed.is_some()));
        self.store.remove_value(&name)?;
        self.enter(served, Entry::End { baseline: mark == OF_BASELINE, brought }, at)
    }

    /// Notes that a step of an episode was corrected, where what it brought counts already.
    pub(super) fn doubt(&mut self, served: &Served, episode: &str, at: u64) -> Result<(), Failed> {
        if served.choices.promise.is_none() || self.store.value(&mark(served, episode))?.is_some() {
            return Ok(());
        }
        self.enter(served, Entry::Doubt { share: share_of_step(&served.told) }, at)
    }

    /// Changes the account, and writes the change to the log with what the account comes to.
    pub(crate) fn enter(&mut self, served: &Served, entry: Entry, at: u64) -> Result<(), Failed> {
        let Some(mut account) = account(served, self.store.as_ref())? else { return Ok(()) };
        match entry {
            Entry::Begin { baseline } => account.begin(baseline),
            Entry::End { baseline, brought } => account.end(baseline, brought),
            Entry::Doubt { share } => account.doubt(share),
        }
        let after = text(&account);
        self.store.put_value(&name(served), after.as_bytes())?;
        self.store.append(&Event::of(&served.name, EventKind::Promise, None, None, at, text(&entry), after))?;
        Ok(())
    }
}

/// What the promise of a world rests on now; `None` where nothing is promised.
pub(crate) fn account(served: &Served, store: &dyn Store) -> Result<Option<BaselineLedger>, StoreError> {
    let Some([alpha, delta]) = served.choices.promise else { return Ok(None) };
    let wrong = |e: String| StoreError(format!("world \"{}\": the account of its promise: {e}", served.name));
    let account = match store.value(&name(served))? {
        Some(stored) => serde_json::from_slice(&stored).map_err(|e| wrong(e.to_string()))?,
        None => BaselineLedger::new(alpha, delta).map_err(|e| wrong(e.to_string()))?,
    };
    Ok(Some(account))
}

fn name(served: &Served) -> String {
    format!("promise/{}", served.name)
}

/// Whose an episode is that has not been concluded.
fn mark(served: &Served, episode: &str) -> String {
    format!("promised/{}/{episode}", served.name)
}

const OF_BASELINE: &[u8] = b"baseline";
const OF_POLICY: &[u8] = b"policy";
