//! What the page shows: how a world goes, from its last decisions. Read beside the writer, and kept for a moment.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{Response, Uri};
use serde_json::{Value, json};

use super::queries::{blocking, pairs, respond, whole_number};
use super::{App, answer, refuse};
use crate::dashboard::{self, MOST_WINDOW, Past, Prospects, WINDOW};
use crate::graph_watch::{Watched, Watching};
use crate::problem::Problem;
use crate::request::WhatIf;
use crate::served::Served;
use crate::snapshot::Snapshot;

type Shared = State<Arc<App>>;
type Sent = Response<Body>;

/// How long a window is shown before it is read again.
const FRESH: Duration = Duration::from_secs(1);

/// The window and the prospects of each world that were read last.
#[derive(Debug, Default)]
pub(crate) struct Looked {
    worlds: Mutex<Vec<Option<Kept>>>,
}

/// A look with the moment and the length of its window.
type Kept = (Instant, usize, Arc<Look>);

/// A world at a moment.
#[derive(Debug)]
struct Look {
    past: Vec<Past>,
    whole: Vec<dashboard::Whole>,
    prospects: Option<Prospects>,
    snapshot: Arc<Snapshot>,
    watched: Option<Arc<Watched>>,
}

impl App {
    /// The last decisions of a world, with what was made of them.
    async fn look(self: &Arc<App>, world: usize, most: usize) -> Result<Arc<Look>, Problem> {
        let kept = self.looked.worlds.lock().unwrap_or_else(PoisonError::into_inner).get(world).cloned().flatten();
        if let Some((at, of, look)) = &kept
            && at.elapsed() < FRESH
            && *of == most
        {
            return Ok(look.clone());
        }
        let app = self.clone();
        let made = tokio::task::spawn_blocking(move || {
            let served = &app.worlds[world];
            let reader = app.reader.lock().unwrap_or_else(PoisonError::into_inner);
            let past = dashboard::window(reader.as_ref(), &served.name, most)?;
            // A service that does not learn reads what the one that does has kept.
            let watched = match app.watched[world].get() {
                Some(watched) => Some(watched),
                None => Watching::of_store(served, reader.as_ref())
                    .map_err(|e| Problem::unavailable(e.to_string()))?
                    .map(Arc::new),
            };
            drop(reader);
            let whole = dashboard::episodes(served, &past);
            let snapshot = app.published.world(world).active;
            // Plans are made again only for another policy.
            let prospects = match &kept {
                Some((_, _, look)) if look.snapshot.version == snapshot.version && look.prospects.is_some() => {
                    look.prospects
                }
                _ => {
                    let starts: Vec<usize> = whole.iter().rev().take(1000).map(|e| e.state).collect();
                    dashboard::prospects(served, &snapshot, &starts).map_err(|e| Problem::unavailable(e.to_string()))?
                }
            };
            let look = Arc::new(Look { past, whole, prospects, snapshot, watched });
            let mut worlds = app.looked.worlds.lock().unwrap_or_else(PoisonError::into_inner);
            worlds.resize(app.worlds.len(), None);
            worlds[world] = Some((Instant::now(), most, look.clone()));
            Ok(look)
        });
        made.await.unwrap_or_else(|_| Err(Problem::unavailable("the store could not be read")))
    }

    /// The world and the window that were asked for.
    async fn looked_at(self: &Arc<App>, world: &str, uri: &Uri) -> Result<(usize, Arc<Look>), Problem> {
        let world = self.world(world)?;
        let most = whole_number(&pairs(uri.query()), "last", WINDOW, MOST_WINDOW)?;
        Ok((world, self.look(world, most).await?))
    }
}

/// How a world goes, in one sentence and a few numbers.
pub(super) async fn status(State(app): Shared, Path(world): Path<String>, uri: Uri) -> Sent {
    let result = async {
        let (world, look) = app.looked_at(&world, &uri).await?;
        app.status(world, &look).await
    };
    let result = result.await;
    respond(&app, result)
}

/// All that the page shows of a world, in one answer.
pub(super) async fn overview(State(app): Shared, Path(world): Path<String>, uri: Uri) -> Sent {
    let result = async {
        let most = whole_number(&pairs(uri.query()), "limit", 50, 1000)?;
        let (index, look) = app.looked_at(&world, &uri).await?;
        let served = &app.worlds[index];
        Ok(json!({
            "world": app.status(index, &look).await?,
            "rewards": dashboard::series(&look.whole, look.prospects.as_ref()),
            "shares": dashboard::shares(served, &look.past),
            "calibration": dashboard::calibration(served, &look.past),
            "mechanisms": made(&app, &world, dashboard::known).await?,
            "graph": made(&app, &world, dashboard::graph).await?,
            "graph_watch": dashboard::graph_watch(look.watched.as_deref()),
            "decisions": listed(served, look.past.iter().rev().take(most)),
        }))
    };
    let result = result.await;
    respond(&app, result)
}

impl App {
    /// One sentence, a few numbers, and all names.
    async fn status(&self, world: usize, look: &Look) -> Result<Value, Problem> {
        let served = &self.worlds[world];
        let standing = self.published.world(world).standing;
        let totals: Vec<f64> = look.whole.iter().map(|e| e.paid).collect();
        let sentence = dashboard::sentence(
            served,
            &standing,
            &look.past,
            &totals,
            look.prospects.as_ref(),
            look.watched.as_deref(),
        );
        let of = served.clone();
        let (last, account) =
            blocking(self, move |store| Ok((store.last()?, crate::engine::account(&of, store)?))).await?;
        let learned = self.applied[world].load(std::sync::atomic::Ordering::Relaxed);
        Ok(json!({
            "name": served.name,
            "title": served.world.name(),
            "about": served.world.about(),
            "sentence": sentence,
            "horizon": served.world.horizon(),
            "learner": served.choices.learner.to_string(),
            "standing": standing,
            "policy": {"version": look.snapshot.version, "hash": look.snapshot.hash, "learned_events": look.snapshot.seq},
            "log": {"events": last.0, "last_at": last.1, "learned_events": learned},
            "window": {"decisions": look.past.len(), "episodes": totals.len()},
            "paid": dashboard::mean(&totals),
            "expected": look.prospects,
            "shares": served.choices.shares,
            "baseline_kept": dashboard::kept(account.as_ref()),
            "timeout_ms": served.choices.timeout,
            "names": {
                "state": named(served, served.world.state()),
                "levers": named(served, served.world.levers()),
                "keys": named(served, served.world.keys()),
                "rewards": served.world.rewards().iter().map(|r| &r.name).collect::<Vec<_>>(),
            },
        }))
    }
}

/// Decisions with state, answer and what was observed.
fn listed<'a>(served: &Served, past: impl Iterator<Item = &'a Past>) -> Value {
    let one = |past: &Past| {
        json!({"at": past.at, "state": served.state(past.step.state), "answer": past.answer, "settled": past.step.settled,
               "observed": super::queries::observed(served, &past.step)})
    };
    Value::Array(past.map(one).collect())
}

fn named(served: &Served, ids: &[dowise::world::VarId]) -> Value {
    let one = |&id: &dowise::world::VarId| {
        let variable = served.world.variable(id);
        json!({"name": variable.name, "values": variable.values})
    };
    Value::Array(ids.iter().map(one).collect())
}

pub(super) async fn rewards(State(app): Shared, Path(world): Path<String>, uri: Uri) -> Sent {
    let result = app.looked_at(&world, &uri).await;
    respond(&app, result.map(|(_, look)| dashboard::series(&look.whole, look.prospects.as_ref())))
}

pub(super) async fn shares(State(app): Shared, Path(world): Path<String>, uri: Uri) -> Sent {
    let result = app.looked_at(&world, &uri).await;
    respond(&app, result.map(|(world, look)| dashboard::shares(&app.worlds[world], &look.past)))
}

pub(super) async fn calibration(State(app): Shared, Path(world): Path<String>, uri: Uri) -> Sent {
    let result = app.looked_at(&world, &uri).await;
    respond(&app, result.map(|(world, look)| dashboard::calibration(&app.worlds[world], &look.past)))
}

/// The last decisions, the last first, with their answers.
pub(super) async fn decisions(State(app): Shared, Path(world): Path<String>, uri: Uri) -> Sent {
    let result = async {
        let world = app.world(&world)?;
        let most = whole_number(&pairs(uri.query()), "limit", 50, 1000)?;
        let served = app.worlds[world].clone();
        let rows = blocking(&app, move |store| dashboard::window(store, &served.name, most)).await?;
        Ok(listed(&app.worlds[world], rows.iter().rev()))
    };
    let result = result.await;
    respond(&app, result)
}

/// On a thread that may take its time.
async fn made(app: &Arc<App>, world: &str, make: fn(&Served, &Snapshot) -> Value) -> Result<Value, Problem> {
    let world = app.world(world)?;
    let (served, snapshot) = (app.worlds[world].clone(), app.published.world(world).active);
    let made = tokio::task::spawn_blocking(move || make(&served, &snapshot)).await;
    made.map_err(|_| Problem::unavailable("it could not be worked out"))
}

pub(super) async fn mechanisms(State(app): Shared, Path(world): Path<String>) -> Sent {
    let result = made(&app, &world, dashboard::known).await;
    respond(&app, result)
}

pub(super) async fn graph(State(app): Shared, Path(world): Path<String>) -> Sent {
    let result = made(&app, &world, dashboard::graph).await;
    respond(&app, result)
}

/// Whether what was observed contradicts the graph.
pub(super) async fn graph_watch(State(app): Shared, Path(world): Path<String>, uri: Uri) -> Sent {
    let result = app.looked_at(&world, &uri).await;
    respond(&app, result.map(|(_, look)| dashboard::graph_watch(look.watched.as_deref())))
}

/// The causal graph as a picture.
pub(super) async fn picture(State(app): Shared, Path(world): Path<String>) -> Sent {
    match app.world(&world) {
        Ok(world) => answer(200, "image/svg+xml", dowise::draw::svg(&app.worlds[world].world)),
        Err(wrong) => refuse(&app, &wrong),
    }
}

/// What an intervention would set off; nothing is decided, and nothing is written.
pub(super) async fn what_if(State(app): Shared, Path(world): Path<String>, body: Body) -> Sent {
    let result = async {
        let world = app.world(&world)?;
        let body = app.body(body).await?;
        let served = app.worlds[world].clone();
        let asked = WhatIf::read(&served, &body)?;
        let snapshot = app.published.world(world).active;
        let made = tokio::task::spawn_blocking(move || {
            dashboard::what_if(&served, &snapshot, asked.stage, asked.state, &asked.forbid, asked.action)
        });
        made.await.map_err(|_| Problem::unavailable("it could not be worked out"))
    };
    let result = result.await;
    respond(&app, result)
}

/// Where two policies differ: the means of both, state by state.
pub(super) async fn difference(State(app): Shared, Path(world): Path<String>, uri: Uri) -> Sent {
    let result = async {
        let index = app.world(&world)?;
        let query = pairs(uri.query());
        let standing = app.published.world(index).standing;
        let most = usize::MAX >> 1;
        let from = whole_number(&query, "from", standing.before as usize, most)? as u64;
        let to = whole_number(&query, "to", standing.active as usize, most)? as u64;
        let served = app.worlds[index].clone();
        let name = served.name.clone();
        let rows =
            blocking(&app, move |store| Ok([(from, store.snapshot(&name, from)?), (to, store.snapshot(&name, to)?)]))
                .await?;
        let mut plans = Vec::new();
        for (version, row) in rows {
            let row = row.ok_or_else(|| Problem::not_found(format!("there is no policy {version}")))?;
            let of = served.clone();
            let made = tokio::task::spawn_blocking(move || Snapshot::restore(&of, &row)).await.ok().flatten();
            plans.push(made.ok_or_else(|| Problem::unavailable(format!("policy {version} cannot be made again")))?);
        }
        let (horizon, n_states) = (served.world.horizon(), served.world.n_states());
        let [old, new] = [0, 1].map(|i| plans[i].action_values.plan());
        let places = (0..horizon).flat_map(|stage| (0..n_states).map(move |state| (stage, state)));
        let other: Vec<_> = places.filter(|&(h, s)| old.action(h, s) != new.action(h, s)).collect();
        let one = |&(stage, state): &(usize, usize)| {
            let [before, after] = [old, new].map(|plan| plan.action(stage, state));
            json!({"stage": stage + 1, "state": served.state(state), "before": served.intervention(before),
                   "after": served.intervention(after)})
        };
        Ok(json!({"from": from, "to": to, "compared": horizon * n_states, "differ": other.len(),
                  "differences": other.iter().take(200).map(one).collect::<Vec<_>>()}))
    };
    let result = result.await;
    respond(&app, result)
}
