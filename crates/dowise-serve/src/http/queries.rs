//! Requests that change nothing: read beside the writer.

use std::sync::{Arc, PoisonError};

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::Response;
use serde_json::{Map, Value, json};

use super::{App, answer, json as json_answer, refuse};
use crate::problem::Problem;
use crate::snapshot::Snapshot;
use crate::step::Step;
use crate::store::{EventKind, Store, StoreError};

type Shared = State<Arc<App>>;
type Sent = Response<Body>;

/// Asks the store, on a thread that may wait for it.
pub(super) async fn blocking<T: Send + 'static>(
    app: &App,
    ask: impl FnOnce(&dyn Store) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Problem> {
    let reader = app.reader.clone();
    let answer =
        tokio::task::spawn_blocking(move || ask(reader.lock().unwrap_or_else(PoisonError::into_inner).as_ref()));
    match tokio::time::timeout_at(app.until(), answer).await {
        Ok(Ok(result)) => result.map_err(Problem::from),
        Ok(Err(_)) => Err(Problem::unavailable("the store could not be read")),
        Err(_) => Err(Problem::unavailable("the store does not answer")),
    }
}

pub(super) fn respond(app: &App, result: Result<Value, Problem>) -> Sent {
    match result {
        Ok(value) => json_answer(value.to_string()),
        Err(wrong) => refuse(app, &wrong),
    }
}

/// A number of the query, from 1.
pub(super) fn whole_number(
    query: &[(String, String)],
    name: &str,
    default: usize,
    most: usize,
) -> Result<usize, Problem> {
    let Some((_, text)) = query.iter().find(|(k, _)| k == name) else { return Ok(default) };
    let number = text.parse().ok().filter(|n| (1..=most).contains(n));
    number.ok_or_else(|| Problem::field(name, format!("expected a whole number from 1 to {most}, found \"{text}\"")))
}

pub(super) fn pairs(query: Option<&str>) -> Vec<(String, String)> {
    let pair = |part: &str| {
        let (k, v) = part.split_once('=').unwrap_or((part, ""));
        (k.to_owned(), v.to_owned())
    };
    query.unwrap_or("").split('&').filter(|p| !p.is_empty()).map(pair).collect()
}

pub(super) async fn worlds(State(app): Shared) -> Sent {
    let one = |(i, served): (usize, &Arc<crate::served::Served>)| {
        let shown = app.published.world(i);
        json!({
            "name": served.name,
            "title": served.world.name(),
            "about": served.world.about(),
            "horizon": served.world.horizon(),
            "learner": served.choices.learner.to_string(),
            "standing": shown.standing,
        })
    };
    json_answer(Value::Array(app.worlds.iter().enumerate().map(one).collect()).to_string())
}

pub(super) async fn mode(State(app): Shared, Path(world): Path<String>) -> Sent {
    let result = app.world(&world).map(|world| json!(app.published.world(world).standing));
    respond(&app, result)
}

pub(super) async fn episodes(State(app): Shared, Path(world): Path<String>, uri: axum::http::Uri) -> Sent {
    let result = async {
        let world = app.world(&world)?;
        let most = whole_number(&pairs(uri.query()), "limit", 100, 10_000)?;
        let name = app.worlds[world].name.clone();
        let episodes = blocking(&app, move |store| store.episodes(&name, most, None)).await?;
        let one = |e: crate::store::Episode| json!({"episode_id": e.id, "subject": e.subject, "opened": e.opened, "closed": e.closed, "decisions": e.decided});
        Ok(Value::Array(episodes.into_iter().map(one).collect()))
    };
    let result = result.await;
    respond(&app, result)
}

pub(super) async fn policies(State(app): Shared, Path(world): Path<String>) -> Sent {
    let result = async {
        let world = app.world(&world)?;
        let name = app.worlds[world].name.clone();
        let rows = blocking(&app, move |store| store.snapshots(&name, 1000)).await?;
        let standing = app.published.world(world).standing;
        let one = |row: crate::snapshot::StoredSnapshot| {
            json!({"version": row.version, "hash": row.hash, "made": row.at, "learned_events": row.seq,
                   "learned_steps": row.steps, "active": row.version == standing.active})
        };
        // A policy that is only made ready for other services is not published yet.
        Ok(Value::Array(rows.into_iter().filter(|row| row.version <= standing.latest).map(one).collect()))
    };
    let result = result.await;
    respond(&app, result)
}

/// A past decision: what was asked, answered and observed, and what every sample of its policy would have done.
pub(super) async fn decision(State(app): Shared, Path((world, id)): Path<(String, String)>) -> Sent {
    let result = async {
        let index = app.world(&world)?;
        let served = app.worlds[index].clone();
        let id = app.id(id)?;
        let (name, event_id) = (served.name.clone(), id.clone());
        let found = blocking(&app, move |store| {
            let Some(event) = store.find(&name, EventKind::Decide, &event_id)? else { return Ok(None) };
            let Some(step) = store.step(&name, &event_id)? else { return Ok(None) };
            let row = store.snapshot(&name, step.version)?;
            Ok(Some((event, step, row)))
        });
        let missing = || Problem::not_found(format!("there is no decision \"{id}\""));
        let (event, step, row) = found.await?.ok_or_else(missing)?;
        let active = app.published.world(index).active;
        let of = served.clone();
        let snapshot = if active.version == step.version {
            Some(active)
        } else {
            let made = tokio::task::spawn_blocking(move || row.and_then(|row| Snapshot::restore(&of, &row)));
            made.await.ok().flatten().map(Arc::new)
        };
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        Ok(json!({
            "event": event.seq,
            "at": event.at,
            "request": read(&event.request),
            "answer": read(&event.answer),
            "observed": observed(&served, &step),
            "settled": step.settled,
            "policy": snapshot.map(|snapshot| votes(&served, &snapshot, &step)),
        }))
    };
    let result = result.await;
    respond(&app, result)
}

/// What the mean and the samples of a policy prefer where a decision was made, and what each is worth by the mean.
fn votes(served: &crate::served::Served, snapshot: &Snapshot, step: &Step) -> Value {
    let (stage, state) = (step.stage, step.state);
    let mut actions: Vec<(dowise::Action, usize)> = Vec::new();
    for k in 0..snapshot.samples.len() {
        let action = snapshot.sample(k, stage, state);
        match actions.iter_mut().find(|(a, _)| *a == action) {
            Some((_, n)) => *n += 1,
            None => actions.push((action, 1)),
        }
    }
    actions.sort_by_key(|(action, n)| (usize::MAX - n, *action));
    let one = |(action, n): &(dowise::Action, usize)| {
        json!({"intervention": served.intervention(*action), "samples": n,
               "expected_value": snapshot.action_values.value(stage, state, *action)})
    };
    json!({
        "version": snapshot.version,
        "hash": snapshot.hash,
        "learned_events": snapshot.seq,
        "mean_prefers": served.intervention(snapshot.action_values.plan().action(stage, state)),
        "samples_prefer": actions.iter().map(one).collect::<Vec<_>>(),
    })
}

pub(super) fn observed(served: &crate::served::Served, step: &Step) -> Value {
    let world = &served.world;
    let named = |ids: &[dowise::world::VarId], values: &[Option<usize>]| {
        let pairs = ids.iter().zip(values).filter_map(|(&id, v)| {
            let variable = world.variable(id);
            Some((variable.name.clone(), json!(variable.values[(*v)?])))
        });
        Value::Object(pairs.collect::<Map<_, _>>())
    };
    let rewards = world.rewards().iter().zip(&step.parts.rewards);
    let rewards: Map<String, Value> = rewards.filter_map(|(r, paid)| Some((r.name.clone(), json!((*paid)?)))).collect();
    json!({
        "keys": named(world.keys(), &step.parts.keys),
        "levers": named(world.levers(), &step.parts.levers),
        "rewards": rewards,
        "next_state": step.parts.next.map(|s| served.state(s)),
        "did": step.parts.did.map(|a| served.intervention(a)),
        "done": step.parts.done,
    })
}

/// Everything that was decided and observed, as a log that `dowise fit` and `dowise evaluate` read.
pub(super) async fn export(State(app): Shared, Path(world): Path<String>) -> Sent {
    let result = async {
        let world = app.world(&world)?;
        let served = app.worlds[world].clone();
        blocking(&app, move |store| crate::export::export(&served, store)).await
    };
    match result.await {
        Ok(text) => answer(200, "text/csv; charset=utf-8", text),
        Err(wrong) => refuse(&app, &wrong),
    }
}
