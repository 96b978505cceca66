//! Opens a store for the worlds that are served, or makes it; what is served must be what was served before.

use std::sync::Arc;

use dowise::learn::{Evidence, LearnError};
use dowise::{Action, World};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Engine, Live, Request, Standing};
use crate::decide::Mode;
use crate::served::{Choices, Served, ServedError};
use crate::snapshot::Snapshot;
use crate::store::{Store, StoreError};

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The world cannot be served.
    #[error(transparent)]
    Served(#[from] ServedError),
    /// No policy can be made.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// Another world, or other choices, than the store was made with.
    #[error("the store holds \"{world}\" with another {what}; serve it as it was, or begin a new store")]
    Other {
        /// The world.
        world: String,
        /// What differs.
        what: &'static str,
    },
    /// What is stored is not what was written.
    #[error("the store is damaged: {0}")]
    Damaged(String),
    /// No random numbers.
    #[error("the system gives no random numbers: {0}")]
    Random(String),
}

/// A world with all that was chosen for it, as a store keeps it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    world: String,
    learner: String,
    episodes: u64,
    seed: u64,
    samples: usize,
    baseline: Vec<Action>,
    timeout: Option<u64>,
    defaults: Vec<(String, String)>,
    #[serde(default)]
    shares: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    promise: Option<[f64; 2]>,
}

impl Setup {
    /// Of a world that is served.
    pub fn of(served: &Served) -> Setup {
        let choices = &served.choices;
        Setup {
            world: served.world.to_toml(),
            learner: choices.learner.to_string(),
            episodes: choices.episodes,
            seed: choices.seed,
            samples: choices.samples,
            baseline: served.baseline.clone(),
            timeout: choices.timeout,
            defaults: choices.defaults.clone(),
            shares: choices.shares.clone(),
            promise: choices.promise,
        }
    }

    /// The world to be served.
    pub fn served(&self, name: &str) -> Result<Served, OpenError> {
        let damaged = |e: String| OpenError::Damaged(format!("world \"{name}\": {e}"));
        let world = World::from_toml(&self.world, name).map_err(|e| damaged(e.to_string()))?;
        let choices = Choices {
            learner: self.learner.parse().map_err(|e: dowise::learn::SpecError| damaged(e.to_string()))?,
            episodes: self.episodes,
            seed: self.seed,
            samples: self.samples,
            baseline: Some(self.baseline.clone()),
            timeout: self.timeout,
            defaults: self.defaults.clone(),
            shares: self.shares.clone(),
            promise: self.promise,
        };
        Ok(Served::new(name, &world, choices)?)
    }

    /// Of every world in a store.
    pub fn all(store: &dyn Store) -> Result<Vec<(String, Setup)>, OpenError> {
        let read = |(name, value): (String, Vec<u8>)| {
            let setup = serde_json::from_slice(&value).map_err(|e| OpenError::Damaged(e.to_string()))?;
            Ok((name["world/".len()..].to_owned(), setup))
        };
        store.values("world/")?.into_iter().map(read).collect()
    }

    /// What differs.
    fn difference(&self, other: &Setup) -> Option<&'static str> {
        let same = [
            ("world file", self.world == other.world),
            ("learner", self.learner == other.learner),
            ("number of episodes", self.episodes == other.episodes),
            ("seed", self.seed == other.seed),
            ("number of samples", self.samples == other.samples),
            ("baseline", self.baseline == other.baseline),
            ("timeout", self.timeout == other.timeout),
            ("default", self.defaults == other.defaults),
            ("rule on shares", self.shares == other.shares),
            ("promise to keep to the baseline", self.promise == other.promise),
        ];
        same.into_iter().find(|(_, same)| !same).map(|(what, _)| what)
    }
}

impl Engine {
    /// Opens a store for these worlds. A world that is new to the store gets its first policy: what follows from the prior.
    pub fn open(store: Box<dyn Store>, served: Vec<Arc<Served>>, at: u64) -> Result<Engine, OpenError> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|e| OpenError::Random(e.to_string()))?;
        Engine::with_key(store, served, key, at)
    }

    /// The same with a key of one's own, for stores that have none yet.
    pub fn with_key(
        mut store: Box<dyn Store>,
        served: Vec<Arc<Served>>,
        key: [u8; 32],
        at: u64,
    ) -> Result<Engine, OpenError> {
        // Services that start together agree on one key.
        store.begin()?;
        let key = match store.value("key")? {
            Some(stored) => stored.try_into().map_err(|_| OpenError::Damaged("the key has another length".into()))?,
            None => {
                store.put_value("key", &key)?;
                key
            }
        };
        store.commit()?;
        let last_at = store.last()?.1;
        let mut engine = Engine { store, worlds: Vec::new(), key, last_at, ready: Arc::default() };
        for served in served {
            engine.add(served, at)?;
        }
        Ok(engine)
    }

    /// Serves one more world.
    pub fn add(&mut self, served: Arc<Served>, at: u64) -> Result<(), OpenError> {
        let name = format!("world/{}", served.name);
        let setup = Setup::of(&served);
        let text = serde_json::to_vec(&setup).expect("invariant: names and numbers can be written");
        let damaged = |what: &str| OpenError::Damaged(format!("world \"{}\": {what}", served.name));
        if let Some(stored) = self.store.value(&name)? {
            let stored: Setup = serde_json::from_slice(&stored).map_err(|e| damaged(&e.to_string()))?;
            if let Some(what) = stored.difference(&setup) {
                return Err(OpenError::Other { world: served.name.clone(), what });
            }
            let standing = self.store.value(&format!("standing/{}", served.name))?.unwrap_or_default();
            let standing: Standing = serde_json::from_slice(&standing).map_err(|e| damaged(&e.to_string()))?;
            let restore = |version| -> Result<Arc<Snapshot>, OpenError> {
                let row = self.store.snapshot(&served.name, version)?.ok_or_else(|| damaged("a policy is missing"))?;
                let made = Snapshot::restore(&served, &row);
                Ok(Arc::new(made.ok_or_else(|| damaged("a policy cannot be made again from its evidence"))?))
            };
            let active = restore(standing.active)?;
            let latest = if standing.latest == standing.active { active.clone() } else { restore(standing.latest)? };
            self.worlds.push(Live { served, standing, active, latest });
            return Ok(());
        }
        let evidence = Evidence::new(&served.knowledge, &served.options)?;
        let learner = served.learner(evidence)?;
        let first = Arc::new(Snapshot::make(&served, &learner, 1, 0)?);
        let standing = Standing { mode: Mode::Online, active: 0, latest: 0, pinned: false, before: 0 };
        self.store.begin()?;
        if self.store.value(&name)?.is_some() {
            // Another service that started with this one was faster.
            self.store.rollback();
            return self.add(served, at);
        }
        self.worlds.push(Live { served, standing, active: first.clone(), latest: first.clone() });
        self.store.put_value(&name, &text)?;
        let body = publish_body(&first, 0);
        let world = self.worlds.len() - 1;
        match self.handle(world, &Request::Publish { snapshot: first, steps: 0, watching: None }, &body, at) {
            Ok(_) => Ok(self.store.commit()?),
            Err(super::Failed::Store(error)) => Err(error.into()),
            Err(super::Failed::Problem(problem)) => Err(OpenError::Damaged(problem.detail)),
        }
    }
}

/// What the log keeps of a policy that was made.
pub(crate) fn publish_body(snapshot: &Snapshot, steps: u64) -> serde_json::Value {
    json!({"version": snapshot.version, "seq": snapshot.seq, "hash": snapshot.hash, "steps": steps})
}
