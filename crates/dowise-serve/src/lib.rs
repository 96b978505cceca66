//! The decision service: decide, observe, learn, and be able to answer for it.
//!
//! ```text
//! request → engine → store (one log, durable) → answer
//!                      │
//!                      └→ learning → policy (immutable) → engine
//! ```
//!
//! Nothing is decided or learned here: a policy is a plan of the library, an observation is the library's, evidence is counted
//! there. This crate keeps the log from which all of it follows, and answers for it.

mod client;
mod dashboard;
mod decide;
mod engine;
mod export;
mod fields;
mod graph_watch;
mod graph_watch_loop;
mod http;
mod keys;
mod learn_loop;
mod learning;
mod load_test;
mod metrics;
mod problem;
mod replay;
mod request;
mod served;
mod server;
mod shares;
mod snapshot;
mod step;
mod store;
mod writer;

pub use client::{Client, ClientError};
pub use decide::{Decision, Mode, NothingAllowed, Situation, Why, all_samples};
pub use engine::{Answer, Engine, Failed, Live, OpenError, Request, Setup, Standing};
pub use graph_watch::{Watched, Watching};
pub use http::openapi;
pub use keys::{Key, KeyError, MOST_KEYS, Role};
pub use learn_loop::Pace;
pub use learning::Learning;
pub use load_test::{LoadOptions, LoadReport, load_test};
pub use problem::{FieldError, Problem};
pub use replay::{ReplayError, Replayed, replay};
pub use request::{Decide, Observe};
pub use served::{Choices, Explores, Served, ServedError};
pub use server::{Access, ServeError, ServerOptions, Service, serve};
pub use shares::{MOST_SHARES, Share};
pub use snapshot::{MOST_SAMPLES, Snapshot, StoredSnapshot};
pub use step::{Effect, Learned, Parts, Step};
pub use store::{Episode, Event, EventKind, Parked, Postgres, Sqlite, Store, StoreError, StorePlace};
