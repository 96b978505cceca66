//! The one thread that writes: all requests that wait are carried out in one transaction, and answered once it is durable.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::engine::{Answer, Engine, Failed, Request, Standing};
use crate::metrics::Metrics;
use crate::problem::Problem;
use crate::snapshot::Snapshot;
use crate::store::StoreError;

/// Requests of one transaction at most.
const BATCH: usize = 512;

/// Steps that time out in one transaction at most.
const TIMEOUTS: usize = 500;

/// What the writer is asked for.
pub(crate) enum Command {
    /// Carry out a request.
    Do { world: usize, request: Box<Request>, body: Value, reply: oneshot::Sender<Result<Answer, Problem>> },
    /// A second has passed: look for steps that have timed out.
    Tick,
    /// Carry out what waits, and end.
    Stop,
}

/// Who decides in a world, as others may see it.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) standing: Standing,
    pub(crate) active: Arc<Snapshot>,
}

/// What the writer tells others.
#[derive(Debug, Default)]
pub(crate) struct Published {
    /// The last event that is durable.
    pub(crate) seq: AtomicU64,
    /// World by world.
    pub(crate) worlds: RwLock<Vec<Shown>>,
}

impl Published {
    pub(crate) fn world(&self, world: usize) -> Shown {
        self.worlds.read().unwrap_or_else(PoisonError::into_inner)[world].clone()
    }

    pub(crate) fn show(&self, engine: &Engine) {
        let shown = |live: &crate::engine::Live| Shown { standing: live.standing.clone(), active: live.active.clone() };
        *self.worlds.write().unwrap_or_else(PoisonError::into_inner) = engine.worlds().iter().map(shown).collect();
        if let Ok((seq, _)) = engine.store().last() {
            self.seq.store(seq, Ordering::Release);
        }
    }
}

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64)
}

/// Writes until nobody can ask any more.
pub(crate) fn write(
    mut engine: Engine,
    mut commands: mpsc::Receiver<Command>,
    published: &Published,
    metrics: &Metrics,
    retention: Option<u64>,
) {
    let mut stop = false;
    while !stop && let Some(first) = commands.blocking_recv() {
        let mut batch = vec![first];
        while batch.len() < BATCH
            && let Ok(next) = commands.try_recv()
        {
            batch.push(next);
        }
        let begun = Instant::now();
        let before = engine.standings();
        let mut replies = Vec::with_capacity(batch.len());
        let mut failed = engine.begin().err();
        for command in batch {
            match command {
                Command::Do { world, request, body, reply } => {
                    let result = match &failed {
                        Some(_) => Err(Problem::unavailable("")),
                        None => match engine.handle(world, &request, &body, now()) {
                            Ok(answer) => Ok(answer),
                            Err(Failed::Problem(problem)) => Err(problem),
                            Err(Failed::Store(error)) => {
                                failed = Some(error);
                                Err(Problem::unavailable(""))
                            }
                        },
                    };
                    replies.push((reply, result));
                }
                Command::Stop => stop = true,
                Command::Tick => failed = failed.or_else(|| tick(&mut engine, retention).err()),
            }
        }
        failed = failed.or_else(|| engine.commit().err());
        if let Some(error) = failed {
            engine.roll_back();
            engine.stand(before);
            metrics.failed_commits.add(1);
            tracing::error!(%error, requests = replies.len(), "nothing was written");
            // Nothing of the batch was written, so nothing of it is answered.
            for (reply, _) in replies {
                let _ = reply.send(Err(Problem::unavailable(format!("nothing was written, send it again: {error}"))));
            }
            continue;
        }
        published.show(&engine);
        metrics.commits.add(1);
        metrics.commit_seconds.observe(begun.elapsed().as_secs_f64());
        for (reply, result) in replies {
            // Somebody who has gone away will ask again with the same id.
            let _ = reply.send(result);
        }
    }
}

/// Settles the steps that have waited too long, and removes the names of episodes that are past keeping.
fn tick(engine: &mut Engine, retention: Option<u64>) -> Result<(), StoreError> {
    let at = now();
    for world in 0..engine.worlds().len() {
        let served = engine.worlds()[world].served.clone();
        let mut late = Vec::new();
        if let Some(timeout) = served.choices.timeout {
            late = engine.store().unsettled(&served.name, at.saturating_sub(timeout), TIMEOUTS)?;
        }
        let passed = late.into_iter().try_for_each(|event_id| {
            let body = json!({"event_id": event_id});
            match engine.handle(world, &Request::Timeout { event_id }, &body, at) {
                Ok(_) | Err(Failed::Problem(_)) => Ok(()),
                Err(Failed::Store(error)) => Err(error),
            }
        });
        passed?;
        if let Some(retention) = retention {
            match engine.expire(world, at.saturating_sub(retention), TIMEOUTS, at) {
                Ok(0) | Err(Failed::Problem(_)) => {}
                Ok(episodes) => tracing::info!(world = served.name, episodes, "expired"),
                Err(Failed::Store(error)) => return Err(error),
            }
        }
    }
    Ok(())
}
