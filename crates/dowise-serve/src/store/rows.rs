//! Rows of a store as what they stand for; each database says how it reads a column.

use dowise::Action;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Episode, Event, EventKind, Kept, Parked, StoreError};
use crate::snapshot::StoredSnapshot;
use crate::step::Step;

/// The columns of a whole event, in the order in which [`event`] reads them.
macro_rules! event_columns {
    () => {
        "seq, world, kind, key, episode, at, request, answer, effect"
    };
}

/// The same for a step.
macro_rules! step_columns {
    () => {
        "event_id, episode, stage, state, action, version, agree, at, parts, learned, settled, propensity"
    };
}

/// The same for an episode.
macro_rules! episode_columns {
    () => {
        "id, subject, opened, closed, decided, forgotten"
    };
}

pub(super) use {episode_columns, event_columns, step_columns};

/// Columns of one row, by position.
pub(super) trait Columns {
    fn text(&self, column: usize) -> Kept<String>;
    fn optional_text(&self, column: usize) -> Kept<Option<String>>;
    fn number(&self, column: usize) -> Kept<i64>;
    fn optional_number(&self, column: usize) -> Kept<Option<i64>>;
    fn real(&self, column: usize) -> Kept<f64>;
    fn flag(&self, column: usize) -> Kept<bool>;
    fn bytes(&self, column: usize) -> Kept<Vec<u8>>;

    /// A number that is never negative.
    fn count(&self, column: usize) -> Kept<u64> {
        Ok(self.number(column)? as u64)
    }
}

pub(super) fn event(row: &dyn Columns) -> Kept<Event> {
    let kind = usize::try_from(row.number(2)?).ok().and_then(|k| EventKind::ALL.get(k).copied());
    Ok(Event {
        seq: row.count(0)?,
        world: row.text(1)?,
        kind: kind.ok_or_else(|| StoreError("an event of an unknown kind".into()))?,
        key: row.optional_text(3)?,
        episode: row.optional_text(4)?,
        at: row.count(5)?,
        request: row.text(6)?,
        answer: row.text(7)?,
        effect: row.text(8)?,
    })
}

pub(super) fn step(row: &dyn Columns) -> Kept<Step> {
    Ok(Step {
        event_id: row.text(0)?,
        episode: row.text(1)?,
        stage: row.count(2)? as usize,
        state: row.count(3)? as usize,
        action: Action(row.count(4)?),
        version: row.count(5)?,
        agree: row.count(6)?,
        at: row.count(7)?,
        parts: from_json(&row.text(8)?)?,
        learned: row.optional_text(9)?.map(|text| from_json(&text)).transpose()?,
        settled: row.flag(10)?,
        propensity: row.real(11)?,
    })
}

pub(super) fn episode(row: &dyn Columns) -> Kept<Episode> {
    Ok(Episode {
        id: row.text(0)?,
        subject: row.optional_text(1)?,
        opened: row.count(2)?,
        closed: row.optional_number(3)?.map(|at| at as u64),
        decided: row.count(4)? as usize,
        forgotten: row.flag(5)?,
    })
}

pub(super) fn snapshot(row: &dyn Columns) -> Kept<StoredSnapshot> {
    Ok(StoredSnapshot {
        version: row.count(0)?,
        seq: row.count(1)?,
        at: row.count(2)?,
        hash: row.text(3)?,
        steps: row.count(4)?,
        evidence: row.bytes(5)?,
    })
}

pub(super) fn parked(row: &dyn Columns) -> Kept<Parked> {
    Ok(Parked { seq: row.count(0)?, request: row.text(1)? })
}

/// Two numbers that are never negative.
pub(super) fn counts(row: &dyn Columns) -> Kept<(u64, u64)> {
    Ok((row.count(0)?, row.count(1)?))
}

/// Text of what is ours, as JSON.
pub(super) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("invariant: names and numbers can be written")
}

fn from_json<T: DeserializeOwned>(text: &str) -> Kept<T> {
    serde_json::from_str(text).map_err(|e| StoreError(format!("a step that cannot be read: {e}")))
}
