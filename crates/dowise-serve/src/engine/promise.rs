//! The promise to keep to the baseline: an account in the store. Every change of it is an event of its own, without names, so that the log
//! still gives the same decisions when the episodes that an account rests on have been deleted.

use std::sync::Arc;

use dowise::learn::{SafetyBudget, share_of_episode, share_of_step};
use serde::{Deserialize, Serialize};

use super::answers::text;
use super::{Engine, Failed, Live};
use crate::decide::Mode;
use crate::served::Served;
use crate::snapshot::Snapshot;
use crate::store::{Episode, Event, EventKind, Store, StoreError};

/// A change of the account. `baseline` says whose episode it is: the baseline's, or of the policy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Entry {
    /// An episode begins.
    Begin { baseline: bool },
    /// An episode has ended and returned a share between these of what it can.
    End { baseline: bool, brought: [f64; 2] },
    /// What an ended episode returned was corrected: it may have been wrong by this share.
    Doubt { share: f64 },
}

/// Whose an episode is, for as long as it has not been concluded.
///
/// What an episode of the policy brings is a draw whose mean is the value of one policy, fixed when it began and whatever else is under
/// way: the proof of the promise needs that. So it keeps the policy and the mode of its first decision. Only somebody's word, a stop
/// or a roll back, acts at once; what the policy would have returned is not known then, and it counts as nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// The baseline decides in it.
    Baseline,
    /// It follows this policy, in this mode.
    Policy {
        /// Its version.
        version: u64,
        /// Its hash.
        hash: String,
        /// `online` or `frozen`.
        mode: Mode,
    },
    /// It began with a policy, and somebody had something else decide.
    Interrupted,
}

impl Whose {
    pub(super) fn is_baseline(&self) -> bool {
        *self == Whose::Baseline
    }

    /// As the store keeps it.
    fn mark(&self) -> String {
        match self {
            Whose::Baseline => "baseline".into(),
            Whose::Policy { version, hash, mode } => format!("policy {version} {hash} {}", mode.name()),
            Whose::Interrupted => "interrupted".into(),
        }
    }

    /// Back again. Of an episode whose policy was not noted it is not known what it followed.
    fn of(mark: &[u8]) -> Whose {
        let text = String::from_utf8_lossy(mark);
        let words: Vec<&str> = text.split(' ').collect();
        let mode = Mode::of;
        match words[..] {
            ["baseline"] => Whose::Baseline,
            ["policy", version, hash, name] => match (version.parse(), mode(name)) {
                (Ok(version), Some(mode)) => Whose::Policy { version, hash: hash.into(), mode },
                _ => Whose::Interrupted,
            },
            _ => Whose::Interrupted,
        }
    }
}

/// Whose an episode is, and whether that has to be noted.
#[derive(Clone, Debug)]
pub(super) struct Promised {
    pub(super) whose: Whose,
    noted: Noted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Noted {
    /// It begins now.
    Not,
    /// It was another's.
    Otherwise,
    /// As it is.
    Already,
}

impl Engine {
    /// Whose an episode is that is about to be decided for; `None` where nothing is promised.
    pub(super) fn promised(&self, world: usize, episode: &str) -> Result<Option<Promised>, Failed> {
        let Live { served, standing, active, .. } = &self.worlds[world];
        let Some(account) = account(served, self.store.as_ref())? else { return Ok(None) };
        if let Some(mark) = self.store.value(&mark(served, episode))? {
            let whose = Whose::of(&mark);
            // A policy that somebody pinned, and a mode, are words that act at once.
            let stays = match &whose {
                Whose::Baseline | Whose::Interrupted => true,
                Whose::Policy { version, mode, .. } => {
                    *mode == standing.mode && (!standing.pinned || *version == standing.active)
                }
            };
            return Ok(Some(match stays {
                true => Promised { whose, noted: Noted::Already },
                false => Promised { whose: Whose::Interrupted, noted: Noted::Otherwise },
            }));
        }
        let policy = || Whose::Policy { version: active.version, hash: active.hash.clone(), mode: standing.mode };
        let whose = match standing.mode {
            Mode::Stop | Mode::LearnOnly | Mode::Shadow => Whose::Baseline,
            Mode::Online | Mode::Frozen if account.allows_another() => policy(),
            Mode::Online | Mode::Frozen => Whose::Baseline,
        };
        Ok(Some(Promised { whose, noted: Noted::Not }))
    }

    /// The policy that decides in an episode: its own, or the one that decides now.
    pub(super) fn policy_for(&self, world: usize, promised: Option<&Promised>) -> Result<Arc<Snapshot>, Failed> {
        let live = &self.worlds[world];
        match promised.map(|promised| &promised.whose) {
            Some(Whose::Policy { version, hash, .. }) => Ok(self.policy(live, *version, hash)?),
            Some(Whose::Baseline | Whose::Interrupted) | None => Ok(live.active.clone()),
        }
    }

    /// Notes that an episode has begun, or has become another's, if it has.
    pub(super) fn note_promised(
        &mut self,
        served: &Served,
        episode: &str,
        promised: Option<Promised>,
        at: u64,
    ) -> Result<(), Failed> {
        let Some(Promised { whose, noted }) = promised else { return Ok(()) };
        if noted == Noted::Already {
            return Ok(());
        }
        self.store.put_value(&mark(served, episode), whose.mark().as_bytes())?;
        match noted {
            Noted::Not => self.enter(served, Entry::Begin { baseline: whose.is_baseline() }, at),
            Noted::Otherwise | Noted::Already => Ok(()),
        }
    }

    /// Notes what an episode returned once no more is waited for; with `force` at once, and what was not observed counts at its worst.
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
        let whose = Whose::of(&mark);
        let brought = match seen {
            Ok(seen) if whose != Whose::Interrupted => {
                share_of_episode(&served.knowledge, &seen, episode.closed.is_some())
            }
            _ => [0.0, 1.0],
        };
        self.store.remove_value(&name)?;
        self.enter(served, Entry::End { baseline: whose.is_baseline(), brought }, at)
    }

    /// Notes that a step of an episode was corrected, where what it returned counts already.
    pub(super) fn doubt(&mut self, served: &Served, episode: &str, at: u64) -> Result<(), Failed> {
        if served.choices.promise.is_none() || self.store.value(&mark(served, episode))?.is_some() {
            return Ok(());
        }
        self.enter(served, Entry::Doubt { share: share_of_step(&served.knowledge) }, at)
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
pub(crate) fn account(served: &Served, store: &dyn Store) -> Result<Option<SafetyBudget>, StoreError> {
    let Some([alpha, delta]) = served.choices.promise else { return Ok(None) };
    let wrong = |e: String| StoreError(format!("world \"{}\": the account of its promise: {e}", served.name));
    let account = match store.value(&name(served))? {
        Some(stored) => serde_json::from_slice(&stored).map_err(|e| wrong(e.to_string()))?,
        None => SafetyBudget::new(alpha, delta).map_err(|e| wrong(e.to_string()))?,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_read_as_they_were_written_and_others_are_of_interrupted_episodes() {
        let policy = Whose::Policy { version: 7, hash: "a1b2".into(), mode: Mode::Frozen };
        for whose in [Whose::Baseline, policy, Whose::Interrupted] {
            assert_eq!(Whose::of(whose.mark().as_bytes()), whose);
        }
        for mark in ["policy", "policy x a1b2 online", "policy 7 a1b2 loud", ""] {
            assert_eq!(Whose::of(mark.as_bytes()), Whose::Interrupted);
        }
    }
}
