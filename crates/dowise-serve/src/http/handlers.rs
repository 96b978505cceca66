//! Requests that change something: read, sent to the writer, answered when it is durable.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::http::Response;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::queries::blocking;
use super::{App, answer, json as json_answer, refuse};
use crate::decide::Mode;
use crate::engine::{Answer, Request};
use crate::fields::{Fields, MOST_ID, is_id};
use crate::problem::Problem;
use crate::request::{Decide, Observe};
use crate::snapshot::Snapshot;
use crate::writer::Command;

/// Observations of one batch at most.
pub(super) const MOST_BATCH: usize = 1000;

type Shared = State<Arc<App>>;
type Sent = Response<Body>;

impl App {
    /// The world of a path.
    pub(super) fn world(&self, name: &str) -> Result<usize, Problem> {
        self.worlds.iter().position(|w| w.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.worlds.iter().map(|w| w.name.as_str()).collect();
            Problem::not_found(format!("there is no world \"{name}\"; there are {}", names.join(", ")))
        })
    }

    /// The id of a path.
    pub(super) fn id(&self, id: String) -> Result<String, Problem> {
        let expected = || format!("expected text of 1 to {MOST_ID} characters without zeros");
        if is_id(&id) { Ok(id) } else { Err(Problem::field("id", expected())) }
    }

    /// The body, as JSON.
    pub(super) async fn body(&self, body: Body) -> Result<Value, Problem> {
        let bytes = to_bytes(body, self.most_body).await.map_err(|_| Problem::too_large(self.most_body))?;
        serde_json::from_slice(&bytes).map_err(|e| Problem::malformed(format!("the body is not JSON: {e}")))
    }

    /// Puts a request into the writer's queue.
    fn ask(
        &self,
        world: usize,
        request: Request,
        body: Value,
    ) -> Result<oneshot::Receiver<Result<Answer, Problem>>, Problem> {
        let (reply, answer) = oneshot::channel();
        let request = Box::new(request);
        match self.commands.try_send(Command::Do { world, request, body, reply }) {
            Ok(()) => Ok(answer),
            Err(mpsc::error::TrySendError::Full(_)) => {
                Err(Problem::unavailable("too many requests wait; send it again"))
            }
            Err(mpsc::error::TrySendError::Closed(_)) => Err(Problem::unavailable("the service is stopping")),
        }
    }

    /// Has a request carried out.
    async fn done(&self, world: usize, request: Request, body: Value) -> Result<Answer, Problem> {
        let until = self.until();
        let answer = self.ask(world, request, body)?;
        self.answered(answer, until).await
    }

    /// Until when a request waits for the store: a little less than the time that a request may take. A client that has sent
    /// everything then gets an answer about the store, not about its own speed.
    pub(super) fn until(&self) -> tokio::time::Instant {
        tokio::time::Instant::now() + self.patience.mul_f64(0.9)
    }

    /// Waits for the writer.
    async fn answered(
        &self,
        answer: oneshot::Receiver<Result<Answer, Problem>>,
        until: tokio::time::Instant,
    ) -> Result<Answer, Problem> {
        match tokio::time::timeout_at(until, answer).await {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(Problem::unavailable("the service is stopping")),
            Err(_) => Err(Problem::unavailable(
                "the store does not answer; what was asked may still be carried out, so send the same request again",
            )),
        }
    }

    fn respond(&self, result: Result<Answer, Problem>) -> Sent {
        match result {
            Ok(answer) => json_answer(answer.body),
            Err(wrong) => refuse(self, &wrong),
        }
    }
}

pub(super) async fn decide(State(app): Shared, Path(world): Path<String>, body: Body) -> Sent {
    let begun = Instant::now();
    let result = async {
        let world = app.world(&world)?;
        let body = app.body(body).await?;
        let asked = Decide::read(&app.worlds[world], &body)?;
        app.done(world, Request::Decide(asked), body).await
    };
    let result = result.await;
    if result.is_ok() {
        app.metrics.decisions.add(1);
        app.metrics.decide_seconds.observe(begun.elapsed().as_secs_f64());
    }
    app.respond(result)
}

/// One observation, or a list of them with a status for each.
pub(super) async fn observe(State(app): Shared, Path(world): Path<String>, body: Body) -> Sent {
    let result = async {
        let world = app.world(&world)?;
        match app.body(body).await? {
            Value::Array(items) if items.len() > MOST_BATCH => {
                Err(Problem::field("", format!("expected at most {MOST_BATCH} observations, found {}", items.len())))
            }
            Value::Array(items) => Ok(batch(&app, world, items).await),
            one => {
                let seen = Observe::read(&app.worlds[world], &one)?;
                let answer = app.done(world, Request::Observe(seen), one).await?;
                app.metrics.observations.add(1);
                Ok(json_answer(answer.body))
            }
        }
    };
    result.await.unwrap_or_else(|wrong: Problem| refuse(&app, &wrong))
}

async fn batch(app: &App, world: usize, items: Vec<Value>) -> Sent {
    let until = app.until();
    // All are in the queue before the first is waited for, so that they are written together.
    let asked: Vec<Result<_, Problem>> = items
        .into_iter()
        .map(|item| {
            Observe::read(&app.worlds[world], &item).and_then(|seen| app.ask(world, Request::Observe(seen), item))
        })
        .collect();
    let mut out = Vec::with_capacity(asked.len());
    for one in asked {
        let result = match one {
            Ok(answer) => app.answered(answer, until).await,
            Err(wrong) => Err(wrong),
        };
        out.push(match result {
            Ok(answer) => {
                app.metrics.observations.add(1);
                json!({"status": answer.status, "answer": serde_json::from_str::<Value>(&answer.body).unwrap_or_default()})
            }
            Err(wrong) => {
                app.metrics.refused.add(1);
                json!({"status": wrong.status, "problem": serde_json::to_value(&wrong).unwrap_or_default()})
            }
        });
    }
    answer(207, "application/json", Value::Array(out).to_string())
}

/// Opens an episode before its first decision.
pub(super) async fn open(State(app): Shared, Path(world): Path<String>, body: Body) -> Sent {
    let result = async {
        let world = app.world(&world)?;
        let body = app.body(body).await?;
        let mut fields = Fields::of(&body)?;
        let episode = fields.id("episode_id");
        let subject = fields.optional_id("subject");
        fields.end()?;
        app.done(world, Request::Open { episode, subject }, body).await
    };
    let result = result.await;
    app.respond(result)
}

pub(super) async fn close(State(app): Shared, Path((world, id)): Path<(String, String)>) -> Sent {
    let result = async {
        let world = app.world(&world)?;
        let id = app.id(id)?;
        app.done(world, Request::Close { episode: id.clone() }, json!({"episode_id": id})).await
    };
    let result = result.await;
    app.respond(result)
}

pub(super) async fn forget(State(app): Shared, Path((world, id)): Path<(String, String)>) -> Sent {
    let result = async {
        let world = app.world(&world)?;
        let id = app.id(id)?;
        app.done(world, Request::Forget { episode: id.clone() }, json!({"episode_id": id})).await
    };
    let result = result.await;
    app.respond(result)
}

/// Forgets every episode of a subject.
pub(super) async fn forget_subject(State(app): Shared, Path((world, id)): Path<(String, String)>) -> Sent {
    let result = async {
        let world = app.world(&world)?;
        let id = app.id(id)?;
        let (name, subject) = (app.worlds[world].name.clone(), id.clone());
        let episodes = blocking(&app, move |store| store.episodes(&name, usize::MAX >> 1, Some(&subject))).await?;
        if episodes.is_empty() {
            return Err(Problem::not_found(format!("there is no episode of the subject \"{id}\"")));
        }
        let mut count = 0;
        for episode in episodes.into_iter().filter(|e| !e.forgotten) {
            count += 1;
            let body = json!({"episode_id": episode.id});
            app.done(world, Request::Forget { episode: episode.id }, body).await?;
        }
        Ok(json_answer(json!({"subject": id, "episodes": count, "status": "forgotten"}).to_string()))
    };
    result.await.unwrap_or_else(|wrong: Problem| refuse(&app, &wrong))
}

pub(super) async fn set_mode(State(app): Shared, Path(world): Path<String>, body: Body) -> Sent {
    let result = async {
        let world = app.world(&world)?;
        let body = app.body(body).await?;
        let mut fields = Fields::of(&body)?;
        let name = fields.id("mode");
        let mode = Mode::of(&name);
        if mode.is_none() {
            let names: Vec<&str> = Mode::ALL.iter().map(|(n, _)| *n).collect();
            fields.wrong("mode", format!("expected one of {}", names.join(", ")));
        }
        fields.end()?;
        let mode = mode.expect("invariant: a missing mode is a wrong field");
        app.done(world, Request::Mode(mode), json!({"mode": mode.name()})).await
    };
    let result = result.await;
    app.respond(result)
}

/// Another policy decides: a version, `latest`, or `previous`.
pub(super) async fn promote(State(app): Shared, Path(world): Path<String>, body: Body) -> Sent {
    let result = async {
        let world = app.world(&world)?;
        let body = app.body(body).await?;
        let standing = app.published.world(world).standing;
        let mut fields = Fields::of(&body)?;
        let (version, pin) = match fields.get("version") {
            Some(Value::String(word)) if word == "latest" => (standing.latest, false),
            Some(Value::String(word)) if word == "previous" => (standing.before, true),
            Some(Value::Number(n)) if n.as_u64().is_some() => (n.as_u64().unwrap_or(0), true),
            _ => {
                fields.wrong("version", "expected the number of a policy, \"latest\" or \"previous\"");
                (0, false)
            }
        };
        fields.end()?;
        let name = app.worlds[world].name.clone();
        let row = blocking(&app, move |store| store.snapshot(&name, version)).await?;
        // A policy that is only made ready for other services is not published yet.
        let row = row.filter(|row| row.version <= standing.latest);
        let row = row.ok_or_else(|| Problem::not_found(format!("there is no policy {version}")))?;
        // Made again beside the writer: decisions do not wait for it.
        let served = app.worlds[world].clone();
        let made = tokio::task::spawn_blocking(move || Snapshot::restore(&served, &row)).await;
        let snapshot = made.ok().flatten().ok_or_else(|| Problem::unavailable("the policy cannot be made again"))?;
        let body = json!({"version": version, "pin": pin});
        app.done(world, Request::Promote(Arc::new(snapshot), pin), body).await
    };
    let result = result.await;
    app.respond(result)
}

pub(super) async fn healthz() -> Sent {
    json_answer("{\"status\":\"alive\"}")
}

/// Ready if the writer takes requests and the store answers.
pub(super) async fn readyz(State(app): Shared) -> Sent {
    if app.stopping.load(Ordering::Acquire) || app.commands.is_closed() {
        return refuse(&app, &Problem::unavailable("the service is stopping"));
    }
    match blocking(&app, |store| store.last()).await {
        Ok(_) => json_answer("{\"status\":\"ready\"}"),
        Err(wrong) => refuse(&app, &wrong),
    }
}

pub(super) async fn metrics(State(app): Shared) -> Sent {
    let mut gauges = vec![("dowise_log_events", "", app.published.seq.load(Ordering::Relaxed))];
    for (world, served) in app.worlds.iter().enumerate() {
        gauges.push(("dowise_policy_version", served.name.as_str(), app.published.world(world).standing.active));
    }
    for (served, applied) in app.worlds.iter().zip(&app.applied) {
        gauges.push(("dowise_learned_events", served.name.as_str(), applied.load(Ordering::Relaxed)));
    }
    for (served, watched) in app.worlds.iter().zip(&app.watched) {
        // Only who learns watches.
        let found = watched.get().map(|watched| u64::from(watched.report.contradicted));
        gauges.extend(found.map(|found| ("dowise_graph_contradicted", served.name.as_str(), found)));
    }
    let (kept, of_baseline) = ("dowise_promised_episodes", "dowise_promised_episodes_of_baseline");
    for name in [kept, of_baseline] {
        for served in app.worlds.iter().filter(|served| served.choices.promise.is_some()) {
            let of = served.clone();
            // A store that does not answer has other numbers to say so.
            let Ok(Some(account)) = blocking(&app, move |store| crate::engine::account(&of, store)).await else {
                continue;
            };
            let value = if name == kept { account.episodes() } else { account.of_baseline() };
            gauges.push((name, served.name.as_str(), value));
        }
    }
    answer(200, "text/plain; version=0.0.4", app.metrics.text(&gauges))
}

pub(super) async fn document() -> Sent {
    json_answer(super::openapi().to_string())
}
