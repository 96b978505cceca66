//! Plays a store's log again from nothing and compares: every answer, every effect, every policy, and what was learned.

use std::collections::BTreeMap;
use std::sync::Arc;

use dowise::learn::Evidence;
use serde_json::Value;

use crate::decide::Mode;
use crate::engine::{Engine, Entry, Failed, OpenError, Request, Setup};
use crate::learning::Learning;
use crate::request::{Decide, Observe};
use crate::served::Served;
use crate::snapshot::Snapshot;
use crate::store::{Event, EventKind, Sqlite, Store, StoreError};

/// What was played again, all of it equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Events of the log.
    pub events: u64,
    /// Decisions among them.
    pub decisions: u64,
    /// Policies that were made again.
    pub policies: u64,
    /// Policies that cannot be made again, because they were made of episodes that have been forgotten since.
    pub policies_not_checked: u64,
    /// Events of episodes that were deleted or have expired: only their numbers, and what was learned, are left.
    pub blank: u64,
    /// Steps learned from.
    pub steps: u64,
    /// Monitors of graphs that were made again.
    pub monitors: u64,
}

/// Why a store is not what follows from its log.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The log cannot be played.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// An event comes out otherwise.
    #[error(
        "event {seq} ({kind}): {what} comes out otherwise when the log is played again:\n  stored {stored}\n  again  {again}"
    )]
    Differs {
        /// The event.
        seq: u64,
        /// Its kind.
        kind: &'static str,
        /// What differs.
        what: &'static str,
        /// As stored.
        stored: String,
        /// As it comes out.
        again: String,
    },
    /// What was learned is not what follows from the log.
    #[error(
        "world \"{world}\": what was learned is not what follows from the log (fingerprint {stored:016x}, again {again:016x})"
    )]
    Learned {
        /// The world.
        world: String,
        /// Of what is stored.
        stored: u64,
        /// Of what comes out.
        again: u64,
    },
    /// The monitor of the graph is not what follows from the log.
    #[error("world \"{world}\": the monitor of its graph is not what follows from the log")]
    Watched {
        /// The world.
        world: String,
    },
}

impl From<StoreError> for ReplayError {
    fn from(error: StoreError) -> ReplayError {
        ReplayError::Open(error.into())
    }
}

struct World {
    served: Arc<Served>,
    learning: Learning,
    /// Everything up to here may be of episodes that have been forgotten.
    forgotten: u64,
}

/// Plays the log of a store again.
///
/// # Cost
/// All decisions, and a plan for every policy that was ever published.
pub fn replay(store: &dyn Store) -> Result<Replayed, ReplayError> {
    let key = store.value("key")?.and_then(|key| key.try_into().ok());
    let key: [u8; 32] = key.ok_or_else(|| OpenError::Damaged("it has no key".into()))?;
    let mut engine = Engine::with_key(Box::new(Sqlite::in_memory()?), Vec::new(), key, 0)?;
    let mut worlds: BTreeMap<String, (usize, World)> = BTreeMap::new();
    let mut setups: BTreeMap<String, Setup> = Setup::all(store)?.into_iter().collect();
    let mut replayed = Replayed::default();
    loop {
        let events = store.events(None, replayed.events, 1000)?;
        if events.is_empty() {
            break;
        }
        for event in events {
            replayed.events += 1;
            if let Some(setup) = setups.remove(&event.world) {
                let served = Arc::new(setup.served(&event.world)?);
                let forgotten = store.value(&format!("forgotten/{}", event.world))?;
                let forgotten = forgotten.map_or(0, |v| String::from_utf8_lossy(&v).parse().unwrap_or(u64::MAX));
                let world = World { learning: Learning::new(&served)?, served: served.clone(), forgotten };
                worlds.insert(event.world.clone(), (worlds.len(), world));
                engine.add(served, event.at)?;
                replayed.policies += 1;
                compare(engine.store(), &event)?;
                continue;
            }
            let unknown = || OpenError::Damaged(format!("event {} is of an unknown world", event.seq));
            let (index, world) = worlds.get_mut(&event.world).ok_or_else(unknown)?;
            play(&mut engine, *index, world, &event, store, &mut replayed)?;
            compare(engine.store(), &event)?;
        }
    }
    for (name, (_, world)) in &mut worlds {
        world.learning.apply(&world.served, engine.store(), replayed.events)?;
        let again = world.learning.learner.evidence().map_or(0, Evidence::fingerprint);
        let standing = store.value(&format!("standing/{name}"))?.unwrap_or_default();
        let latest = serde_json::from_slice::<Value>(&standing).ok().and_then(|s| s["latest"].as_u64()).unwrap_or(0);
        let damaged = || OpenError::Damaged(format!("world \"{name}\": its last policy is missing or damaged"));
        let row = store.snapshot(name, latest)?.ok_or_else(damaged)?;
        let snapshot = Snapshot::restore(&world.served, &row).ok_or_else(damaged)?;
        let mut kept = Learning::from(&world.served, &snapshot)?;
        kept.apply(&world.served, store, replayed.events)?;
        let stored = kept.learner.evidence().map_or(0, Evidence::fingerprint);
        if stored != again {
            return Err(ReplayError::Learned { world: name.clone(), stored, again });
        }
        replayed.steps += world.learning.steps();
        match crate::graph_watch::verify(&world.served, store)? {
            Some(false) => return Err(ReplayError::Watched { world: name.clone() }),
            same => replayed.monitors += u64::from(same.is_some()),
        }
    }
    Ok(replayed)
}

/// Carries one event out again.
fn play(
    engine: &mut Engine,
    index: usize,
    world: &mut World,
    event: &Event,
    store: &dyn Store,
    replayed: &mut Replayed,
) -> Result<(), ReplayError> {
    let damaged = |what: &str| OpenError::Damaged(format!("event {}: {what}", event.seq));
    if event.request.is_empty() {
        // An episode that was deleted or has expired: only its number is left, and what was learned.
        replayed.blank += 1;
        let appended = engine.begin().and_then(|()| engine.store.append(event)).and_then(|_| engine.commit());
        return Ok(appended?);
    }
    if event.kind == EventKind::Promise {
        // It came with the request before it, unless that is of an episode of which only numbers are left.
        if engine.store().last()?.0 >= event.seq {
            return Ok(());
        }
        let entry: Entry = serde_json::from_str(&event.request).map_err(|e| damaged(&e.to_string()))?;
        engine.begin()?;
        return match engine.enter(&world.served, entry, event.at) {
            Ok(()) => Ok(engine.commit()?),
            Err(Failed::Store(error)) => Err(error.into()),
            Err(Failed::Problem(problem)) => Err(damaged(&problem.detail).into()),
        };
    }
    let body: Value = serde_json::from_str(&event.request).map_err(|e| damaged(&e.to_string()))?;
    let word = |name: &str| body[name].as_str().map(str::to_owned).ok_or_else(|| damaged("a name is missing"));
    let number = |name: &str| body[name].as_u64().ok_or_else(|| damaged("a number is missing"));
    let request = match event.kind {
        EventKind::Decide => {
            replayed.decisions += 1;
            Request::Decide(Decide::read(&world.served, &body).map_err(|p| damaged(&p.detail))?)
        }
        EventKind::Observe => Request::Observe(Observe::read(&world.served, &body).map_err(|p| damaged(&p.detail))?),
        EventKind::Open => {
            Request::Open { episode: word("episode_id")?, subject: body["subject"].as_str().map(str::to_owned) }
        }
        EventKind::Close => Request::Close { episode: word("episode_id")? },
        EventKind::Forget => Request::Forget { episode: word("episode_id")? },
        EventKind::Timeout => Request::Timeout { event_id: word("event_id")? },
        EventKind::Mode => {
            let name = word("mode")?;
            let mode = Mode::of(&name).ok_or_else(|| damaged("no such mode"))?;
            Request::Mode(mode)
        }
        EventKind::Promote => {
            let row = engine.store().snapshot(&event.world, number("version")?)?;
            let snapshot = row.and_then(|row| Snapshot::restore(&world.served, &row));
            let snapshot = snapshot.ok_or_else(|| damaged("a policy is missing"))?;
            Request::Promote(Arc::new(snapshot), body["pin"].as_bool().unwrap_or(false))
        }
        EventKind::Promise => unreachable!("invariant: changes of the account are handled above"),
        EventKind::Publish => {
            let (version, seq) = (number("version")?, number("seq")?);
            world.learning.apply(&world.served, engine.store(), seq)?;
            let snapshot = if seq < world.forgotten {
                replayed.policies_not_checked += 1;
                let row = store.snapshot(&event.world, version)?;
                row.and_then(|row| Snapshot::restore(&world.served, &row))
                    .ok_or_else(|| damaged("a policy is missing"))?
            } else {
                replayed.policies += 1;
                world.learning.publish(&world.served, version)?
            };
            if Some(snapshot.hash.as_str()) != body["hash"].as_str() {
                let stored = body["hash"].to_string();
                let again = format!("\"{}\"", snapshot.hash);
                return Err(ReplayError::Differs {
                    seq: event.seq,
                    kind: "publish",
                    what: "the policy",
                    stored,
                    again,
                });
            }
            Request::Publish { snapshot: Arc::new(snapshot), steps: number("steps")?, watching: None }
        }
    };
    match engine.submit(index, &request, &body, event.at) {
        Ok(_) => Ok(()),
        Err(Failed::Store(error)) => Err(error.into()),
        Err(Failed::Problem(problem)) => Err(damaged(&format!("it is refused now: {}", problem.detail)).into()),
    }
}

/// Compares an event with what it came to again.
fn compare(again: &dyn Store, stored: &Event) -> Result<(), ReplayError> {
    let nothing = || OpenError::Damaged(format!("event {} adds nothing to the log", stored.seq));
    let event = again.events(None, stored.seq - 1, 1)?.pop().ok_or_else(nothing)?;
    let differs = |what, stored_text: &str, again: &str| {
        let (kind, seq) = (stored.kind.name(), stored.seq);
        Err(ReplayError::Differs { seq, kind, what, stored: stored_text.to_owned(), again: again.to_owned() })
    };
    if event.answer != stored.answer {
        return differs("the answer", &stored.answer, &event.answer);
    }
    if event.effect != stored.effect {
        return differs("what is learned from it", &stored.effect, &event.effect);
    }
    if (event.seq, event.at, &event.request) != (stored.seq, stored.at, &stored.request) {
        return differs(
            "its place",
            &format!("{} at {}", stored.seq, stored.at),
            &format!("{} at {}", event.seq, event.at),
        );
    }
    Ok(())
}
