//! The engine: takes requests one after the other, decides, and writes the log. Everything that changes a store goes through it.
//!
//! It is synchronous and has no clock: the same requests at the same times give the same log, to the byte, which is what
//! `replay.rs` checks.

mod answers;
mod decide;
mod episodes;
mod observe;
mod open;
mod promise;
mod shared;

pub use answers::Answer;
pub(crate) use open::publish_body;
pub use open::{OpenError, Setup};
pub(crate) use promise::{Entry, account};
pub(crate) use shared::Ready;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::decide::Mode;
use crate::problem::Problem;
use crate::request::{Decide, Observe};
use crate::served::Served;
use crate::snapshot::Snapshot;
use crate::step::Effect;
use crate::store::{Event, EventKind, Store, StoreError};

/// A request to a world, checked already.
#[derive(Clone, Debug)]
pub enum Request {
    /// What to do?
    Decide(Decide),
    /// This happened.
    Observe(Observe),
    /// An episode begins.
    Open {
        /// Its name.
        episode: String,
        /// Whose it is.
        subject: Option<String>,
    },
    /// An episode is over.
    Close {
        /// Its name.
        episode: String,
    },
    /// No more is waited for.
    Timeout {
        /// The decision.
        event_id: String,
    },
    /// Another mode.
    Mode(Mode),
    /// Another policy decides, from now on; with `pin` no later one takes its place.
    Promote(Arc<Snapshot>, bool),
    /// A policy was made.
    Publish {
        /// The policy.
        snapshot: Arc<Snapshot>,
        /// Steps that it was made from.
        steps: u64,
        /// The monitor of the graph as it is kept, if it has gone on: [`Watching::kept`](crate::Watching::kept).
        watching: Option<Vec<u8>>,
    },
    /// An episode is to be forgotten.
    Forget {
        /// Its name.
        episode: String,
    },
}

/// Why a request was not carried out; nothing has changed.
#[derive(Clone, Debug, PartialEq)]
pub enum Failed {
    /// The request is wrong.
    Problem(Problem),
    /// The store is.
    Store(StoreError),
}

impl From<Problem> for Failed {
    fn from(problem: Problem) -> Failed {
        Failed::Problem(problem)
    }
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Failed {
        Failed::Store(error)
    }
}

/// Who decides in a world, and by what; stored with every change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Who decides.
    pub mode: Mode,
    /// The policy that decides.
    pub active: u64,
    /// The policy made last.
    pub latest: u64,
    /// Whether the policy that decides was chosen by somebody, so that no later one takes its place.
    pub pinned: bool,
    /// The policy that decided before this one.
    pub before: u64,
}

/// A world while it is served.
#[derive(Debug)]
pub struct Live {
    /// What does not change.
    pub served: Arc<Served>,
    /// Who decides.
    pub standing: Standing,
    /// The policy that decides.
    pub active: Arc<Snapshot>,
    /// The policy made last.
    pub latest: Arc<Snapshot>,
}

/// The engine.
pub struct Engine {
    pub(crate) store: Box<dyn Store>,
    pub(crate) worlds: Vec<Live>,
    key: [u8; 32],
    last_at: u64,
    pub(crate) ready: Arc<Ready>,
}

impl Engine {
    /// The worlds.
    pub fn worlds(&self) -> &[Live] {
        &self.worlds
    }

    /// The store.
    pub fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }

    /// Begins a transaction; if that fails nothing was begun.
    pub fn begin(&mut self) -> Result<(), StoreError> {
        self.store.begin()?;
        if self.store.is_shared()
            && let Err(error) = self.catch_up()
        {
            self.store.rollback();
            return Err(error);
        }
        Ok(())
    }

    /// Makes what was done since [`Engine::begin`] durable; if that fails nothing was done.
    pub fn commit(&mut self) -> Result<(), StoreError> {
        self.store.commit()
    }

    /// Forgets what was done since [`Engine::begin`].
    pub fn roll_back(&mut self) {
        self.store.rollback();
    }

    /// Carries out one request in a transaction of its own.
    pub fn submit(&mut self, world: usize, request: &Request, body: &Value, at: u64) -> Result<Answer, Failed> {
        self.begin()?;
        let before = self.standings();
        match self.handle(world, request, body, at).and_then(|answer| Ok(self.commit().map(|()| answer)?)) {
            Ok(answer) => Ok(answer),
            Err(failed) => {
                self.roll_back();
                self.stand(before);
                Err(failed)
            }
        }
    }

    /// Carries out one request within a transaction. `body` is what the log keeps of it.
    pub fn handle(&mut self, world: usize, request: &Request, body: &Value, at: u64) -> Result<Answer, Failed> {
        self.last_at = self.last_at.max(at);
        let at = self.last_at;
        let body = body.to_string();
        match request {
            Request::Decide(decide) => self.decide(world, decide, body, at),
            Request::Observe(observe) => self.observe(world, observe, body, at),
            Request::Open { episode, subject } => self.open_episode(world, episode, subject.as_deref(), body, at),
            Request::Close { episode } => self.close(world, episode, body, at),
            Request::Timeout { event_id } => self.time_out(world, event_id, body, at),
            Request::Forget { episode } => self.forget(world, episode, body, at),
            Request::Mode(mode) => {
                let live = &mut self.worlds[world];
                live.standing.mode = *mode;
                // What was made while nothing could take its place does so now.
                if *mode != Mode::Frozen && !live.standing.pinned && live.standing.active != live.standing.latest {
                    live.standing.before = std::mem::replace(&mut live.standing.active, live.standing.latest);
                    live.active = live.latest.clone();
                }
                self.note_standing(world, EventKind::Mode, body, at)
            }
            Request::Promote(snapshot, pin) => {
                let live = &mut self.worlds[world];
                live.standing.before = std::mem::replace(&mut live.standing.active, snapshot.version);
                live.standing.pinned = *pin;
                live.active = snapshot.clone();
                self.note_standing(world, EventKind::Promote, body, at)
            }
            Request::Publish { snapshot, steps, watching } => {
                let name = self.worlds[world].served.name.clone();
                // Somebody else has learned meanwhile: what this policy was made from is not the log's order any more.
                if snapshot.version != self.worlds[world].standing.latest + 1 {
                    return Err(Problem::conflict("another policy was published first").into());
                }
                self.store.put_snapshot(&name, &snapshot.stored(at, *steps))?;
                if let Some(kept) = watching {
                    self.store.put_value(&crate::graph_watch::name(&name), kept)?;
                }
                self.forget_for_good(&name, snapshot.seq)?;
                let live = &mut self.worlds[world];
                live.standing.latest = snapshot.version;
                live.latest = snapshot.clone();
                if live.standing.mode != Mode::Frozen && !live.standing.pinned {
                    let before = std::mem::replace(&mut live.standing.active, snapshot.version);
                    // Before the first policy there is none to go back to but itself.
                    live.standing.before = before.max(1);
                    let before = std::mem::replace(&mut live.active, snapshot.clone());
                    if live.served.choices.promise.is_some() {
                        // Episodes under way go on with it.
                        self.ready.keep(&name, before);
                    }
                }
                self.note_standing(world, EventKind::Publish, body, at)
            }
        }
    }

    /// Who decides in every world, to go back to if a transaction fails.
    pub fn standings(&self) -> Vec<(Standing, Arc<Snapshot>, Arc<Snapshot>)> {
        self.worlds.iter().map(|live| (live.standing.clone(), live.active.clone(), live.latest.clone())).collect()
    }

    /// Goes back to who decided before.
    pub fn stand(&mut self, before: Vec<(Standing, Arc<Snapshot>, Arc<Snapshot>)>) {
        for (live, (standing, active, latest)) in self.worlds.iter_mut().zip(before) {
            (live.standing, live.active, live.latest) = (standing, active, latest);
        }
    }

    fn note_standing(&mut self, world: usize, kind: EventKind, request: String, at: u64) -> Result<Answer, Failed> {
        let live = &self.worlds[world];
        let name = &live.served.name;
        let answer = serde_json::to_string(&live.standing).expect("invariant: names and numbers can be written");
        self.store.put_value(&format!("standing/{name}"), answer.as_bytes())?;
        let event = Event::of(name, kind, None, None, at, request, answer);
        self.append(event, &Effect::default())
    }

    /// Appends an event; its answer.
    fn append(&mut self, mut event: Event, effect: &Effect) -> Result<Answer, Failed> {
        if !effect.is_empty() {
            event.effect = serde_json::to_string(effect).expect("invariant: names and numbers can be written");
        }
        let seq = self.store.append(&event)?;
        Ok(Answer { status: 200, body: event.answer, seq })
    }

    /// The answer to the same request before; a conflict if it was another one.
    fn before(&self, world: &str, kind: EventKind, key: &str, request: &str) -> Result<Option<Answer>, Failed> {
        match self.store.find(world, kind, key)? {
            None => Ok(None),
            Some(event) if event.request == request => {
                Ok(Some(Answer { status: 200, body: event.answer, seq: event.seq }))
            }
            Some(_) => Err(Problem::conflict(format!(
                "{} \"{key}\" was sent before with another body; a new {} needs an id of its own",
                kind.name(),
                kind.name()
            ))
            .into()),
        }
    }
}
