//! Where everything is kept: one log of events, and what follows from it. Narrow, so that other databases can follow.

mod location;
mod postgres;
mod rows;
mod schema;
mod sqlite;

pub use location::StorePlace;
pub use postgres::Postgres;
pub use sqlite::Sqlite;

use crate::snapshot::StoredSnapshot;
use crate::step::Step;

/// The store failed: the disk is full, the file is damaged, or somebody else holds it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the store: {0}")]
pub struct StoreError(pub String);

/// What kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A decision, by `event_id`.
    Decide,
    /// An observation, by `observation_id`.
    Observe,
    /// An episode was closed, by `episode_id`.
    Close,
    /// No more is waited for, by `event_id`.
    Timeout,
    /// Another mode.
    Mode,
    /// Another policy decides.
    Promote,
    /// A policy was made.
    Publish,
    /// An episode was forgotten, by `episode_id`.
    Forget,
    /// An episode was opened, by `episode_id`.
    Open,
    /// The account of the promise to keep to the baseline has changed.
    Promise,
}

impl EventKind {
    /// All, in the order of their numbers in the store.
    pub const ALL: [EventKind; 10] = [
        EventKind::Decide,
        EventKind::Observe,
        EventKind::Close,
        EventKind::Timeout,
        EventKind::Mode,
        EventKind::Promote,
        EventKind::Publish,
        EventKind::Forget,
        EventKind::Open,
        EventKind::Promise,
    ];

    /// Its number in the store.
    pub fn number(self) -> i64 {
        EventKind::ALL.iter().position(|k| *k == self).expect("invariant: the list is whole") as i64
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            EventKind::Decide => "decide",
            EventKind::Observe => "observe",
            EventKind::Close => "close",
            EventKind::Timeout => "timeout",
            EventKind::Mode => "mode",
            EventKind::Promote => "promote",
            EventKind::Publish => "publish",
            EventKind::Forget => "forget",
            EventKind::Open => "open",
            EventKind::Promise => "promise",
        }
    }
}

/// One event of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its number; 0 until it is appended.
    pub seq: u64,
    /// The world.
    pub world: String,
    /// Its kind.
    pub kind: EventKind,
    /// What makes it the one it is among its kind; the same key is never appended twice.
    pub key: Option<String>,
    /// The episode, if it is of one.
    pub episode: Option<String>,
    /// Milliseconds since 1970, never less than those of the event before.
    pub at: u64,
    /// The request, as canonical JSON.
    pub request: String,
    /// The answer, as it was sent.
    pub answer: String,
    /// What changes in the evidence, as JSON; empty if nothing does.
    pub effect: String,
}

impl Event {
    /// An event that is about to be appended, and changes nothing in the evidence yet.
    pub fn of(
        world: &str,
        kind: EventKind,
        key: Option<&str>,
        episode: Option<&str>,
        at: u64,
        request: String,
        answer: String,
    ) -> Event {
        let (world, key, episode) = (world.to_owned(), key.map(str::to_owned), episode.map(str::to_owned));
        Event { seq: 0, world, kind, key, episode, at, request, answer, effect: String::new() }
    }
}

/// An episode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Episode {
    /// Its name.
    pub id: String,
    /// Whose it is.
    pub subject: Option<String>,
    /// When its first decision was made.
    pub opened: u64,
    /// When it ended.
    pub closed: Option<u64>,
    /// Decisions made.
    pub decided: usize,
    /// Whether it is to be forgotten: nothing is learned from it any more, and its names go with the next policy.
    pub forgotten: bool,
}

/// An observation whose decision has not come yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parked {
    /// Its event.
    pub seq: u64,
    /// The request.
    pub request: String,
}

type Kept<T> = Result<T, StoreError>;

/// Reads and writes. Writes happen between [`Store::begin`] and [`Store::commit`], by one writer; after a commit they are durable.
pub trait Store: Send {
    /// Whether other programs may write as well, so that what is kept in memory has to be looked up at each [`Store::begin`].
    fn is_shared(&self) -> bool {
        false
    }
    /// From now on reads what is there now, whatever others write meanwhile.
    fn hold_still(&self) -> Kept<()>;
    /// Whether this connection is the one whose holder learns; it becomes it if nobody else is.
    fn lead(&mut self) -> Kept<bool> {
        Ok(true)
    }

    /// Begins to write.
    fn begin(&mut self) -> Kept<()>;
    /// Makes all since [`Store::begin`] durable.
    fn commit(&mut self) -> Kept<()>;
    /// Forgets all since [`Store::begin`].
    fn rollback(&mut self);

    /// The event of a kind with this key.
    fn find(&self, world: &str, kind: EventKind, key: &str) -> Kept<Option<Event>>;
    /// Appends an event; its number.
    fn append(&mut self, event: &Event) -> Kept<u64>;
    /// Events of a world, or of all, after a number, in order.
    fn events(&self, world: Option<&str>, after: u64, most: usize) -> Kept<Vec<Event>>;
    /// Number, effect of the events of a world after a number that change the evidence, in order; up to `upto`.
    fn effects(&self, world: &str, after: u64, upto: u64, most: usize) -> Kept<Vec<(u64, String)>>;
    /// The number and the time of the last event; zeros if there is none.
    fn last(&self) -> Kept<(u64, u64)>;
    /// Decisions of a world with their steps, the last first.
    fn recent(&self, world: &str, most: usize) -> Kept<Vec<(Event, Step)>>;
    /// Removes what an episode's events say, and the episode; the numbers of the events stay, and with `keep_effects` what was learned
    /// from them, which has no names in it.
    fn blank(&mut self, world: &str, episode: &str, keep_effects: bool) -> Kept<()>;
    /// Removes what the observations say that have waited for a decision since before a time; how many.
    fn blank_parked(&mut self, world: &str, before: u64, most: usize) -> Kept<usize>;

    /// The step of a decision.
    fn step(&self, world: &str, event_id: &str) -> Kept<Option<Step>>;
    /// Steps of an episode, by stage.
    fn steps_of(&self, world: &str, episode: &str) -> Kept<Vec<Step>>;
    /// Steps of a world by episode and stage, after a place; to write a log.
    fn steps_after(&self, world: &str, after: (&str, i64), most: usize) -> Kept<Vec<Step>>;
    /// Writes a step; of one that is there what was observed and learned of it, and whether it is settled.
    fn put_step(&mut self, world: &str, step: &Step) -> Kept<()>;
    /// Decisions made before a time whose steps are not settled.
    fn unsettled(&self, world: &str, before: u64, most: usize) -> Kept<Vec<String>>;

    /// An episode.
    fn episode(&self, world: &str, id: &str) -> Kept<Option<Episode>>;
    /// Episodes of a world, the last first.
    fn episodes(&self, world: &str, most: usize, subject: Option<&str>) -> Kept<Vec<Episode>>;
    /// Episodes that ended before a time.
    fn ended(&self, world: &str, before: u64, most: usize) -> Kept<Vec<String>>;
    /// Episodes that were opened before a time and have not ended.
    fn unended(&self, world: &str, before: u64, most: usize) -> Kept<Vec<String>>;
    /// Writes an episode; of one that is there when it ended, how far it is, and whether it is forgotten.
    fn put_episode(&mut self, world: &str, episode: &Episode) -> Kept<()>;

    /// Observations that wait for a decision.
    fn parked(&self, world: &str, event_id: &str) -> Kept<Vec<Parked>>;
    /// Lets an observation wait for its decision.
    fn park(&mut self, world: &str, event_id: &str, seq: u64) -> Kept<()>;
    /// Nothing waits for this decision any more: what did belongs to its episode.
    fn unpark(&mut self, world: &str, event_id: &str, episode: &str) -> Kept<()>;

    /// Writes a policy.
    fn put_snapshot(&mut self, world: &str, snapshot: &StoredSnapshot) -> Kept<()>;
    /// A policy.
    fn snapshot(&self, world: &str, version: u64) -> Kept<Option<StoredSnapshot>>;
    /// All policies of a world, the last first, without their evidence.
    fn snapshots(&self, world: &str, most: usize) -> Kept<Vec<StoredSnapshot>>;

    /// A value by name.
    fn value(&self, name: &str) -> Kept<Option<Vec<u8>>>;
    /// All values whose names begin so.
    fn values(&self, prefix: &str) -> Kept<Vec<(String, Vec<u8>)>>;
    /// Writes a value.
    fn put_value(&mut self, name: &str, value: &[u8]) -> Kept<()>;
    /// Removes a value.
    fn remove_value(&mut self, name: &str) -> Kept<()>;
}
