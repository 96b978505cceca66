//! Everything together: the store, the thread that writes, those that learn, and the port.

use std::future::IntoFuture;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use tokio::sync::mpsc;

use crate::engine::{Engine, OpenError};
use crate::graph_watch_loop::Slot;
use crate::http::{App, Limited, Looked, Peer, Rate, router};
use crate::keys::Key;
use crate::learn_loop::{LearnLoop, Pace};
use crate::metrics::Metrics;
use crate::served::Served;
use crate::store::{Store, StoreError, StorePlace};
use crate::writer::{Command, Published, now, write};

/// How to serve.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Where everything is kept.
    pub store: StorePlace,
    /// The address; other than loopback needs keys.
    pub listen: SocketAddr,
    /// Bytes of a body at most.
    pub most_body: usize,
    /// Connections at a time at most.
    pub most_connections: usize,
    /// Requests a second of each client at most: of each key, or where there is none of each address.
    pub rate: Option<u32>,
    /// When policies are made.
    pub pace: Pace,
    /// Milliseconds after their end for which the names of episodes are kept.
    pub retention: Option<u64>,
    /// Time after which a request is given up.
    pub patience: Duration,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            store: StorePlace::File("dowise.store".into()),
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            most_body: 1 << 20,
            most_connections: 1024,
            rate: None,
            pace: Pace::default(),
            retention: None,
            patience: Duration::from_secs(30),
        }
    }
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The store or a world.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// An address that others reach, and no keys.
    #[error(
        "{0} can be reached by others, and the store has no API keys; make one first (`dowise keys add admin`), or listen on 127.0.0.1"
    )]
    NoKeys(SocketAddr),
    /// The port.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, std::io::Error),
    /// A thread has ended before its time.
    #[error("the service has stopped by itself: {0}")]
    Ended(String),
}

impl From<StoreError> for ServeError {
    fn from(error: StoreError) -> ServeError {
        ServeError::Open(error.into())
    }
}

/// A service that runs; without a port of its own, so that tests can ask the router.
pub struct Service {
    app: Arc<App>,
    writer: JoinHandle<()>,
    learners: Vec<JoinHandle<Result<(), OpenError>>>,
    stop: Arc<AtomicBool>,
    /// Others are kept from serving the same store.
    held: Option<std::fs::File>,
}

/// What a connection to a store is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading alone.
    Read,
    /// Reading and writing.
    Write,
}

/// Requests that may wait for the writer.
const QUEUE: usize = 4096;

impl Service {
    /// Opens the store and starts the threads.
    pub fn start(options: &ServerOptions, worlds: Vec<Arc<Served>>) -> Result<Service, ServeError> {
        let held = options.store.hold()?;
        let open = |access: Access| match access {
            Access::Write => options.store.open(),
            Access::Read => options.store.open_to_read(),
        };
        let service = Service::start_on(options, worlds, open)?;
        Ok(Service { held, ..service })
    }

    /// The same with connections to any store: one that writes, several that read.
    pub fn start_on(
        options: &ServerOptions,
        worlds: Vec<Arc<Served>>,
        open: impl Fn(Access) -> Result<Box<dyn Store>, StoreError>,
    ) -> Result<Service, ServeError> {
        let engine = Engine::open(open(Access::Write)?, worlds.clone(), now())?;
        let reader = || open(Access::Read);
        // Who learns in a store that is shared says so there, and prepares policies for the others.
        let learning = if engine.store().is_shared() { Access::Write } else { Access::Read };
        let keys = Key::all(engine.store())?;
        let published = Arc::new(Published::default());
        published.show(&engine);
        let metrics = Arc::new(Metrics::default());
        let stop = Arc::new(AtomicBool::new(false));
        let (commands, receiver) = mpsc::channel(QUEUE);
        let mut learners = Vec::new();
        let mut applied = Vec::new();
        let watched: Vec<Slot> = worlds.iter().map(|_| Slot::default()).collect();
        for (world, live) in engine.worlds().iter().enumerate() {
            let at = Arc::new(AtomicU64::new(live.latest.seq));
            applied.push(at.clone());
            let learner = LearnLoop {
                world,
                served: live.served.clone(),
                latest: live.latest.clone(),
                reader: open(learning)?,
                ready: engine.ready.clone(),
                commands: commands.downgrade(),
                published: published.clone(),
                metrics: metrics.clone(),
                pace: options.pace,
                stop: stop.clone(),
                applied: at,
                watched: watched[world].clone(),
            };
            learners.push(std::thread::spawn(move || learner.run()));
        }
        let (shown, counted) = (published.clone(), metrics.clone());
        let retention = options.retention;
        let writer = std::thread::spawn(move || write(engine, receiver, &shown, &counted, retention));
        let app = Arc::new(App {
            worlds,
            commands,
            published,
            reader: Arc::new(Mutex::new(reader()?)),
            metrics,
            keys: (!keys.is_empty()).then(|| RwLock::new(keys)),
            rate: options.rate.map(Rate::new),
            most_body: options.most_body,
            patience: options.patience,
            applied,
            watched,
            looked: Looked::default(),
            // Its own flag: learners go on until the last request is answered.
            stopping: Arc::default(),
        });
        Ok(Service { app, writer, learners, stop, held: None })
    }

    /// The paths.
    pub fn router(&self) -> Router {
        router(self.app.clone())
    }

    /// The last event of the log that the learner of a world has applied.
    pub fn learned(&self, world: usize) -> u64 {
        self.app.applied[world].load(Ordering::Acquire)
    }

    /// Stops: what was asked is answered, what was answered is durable.
    pub fn stop(self) -> Result<(), ServeError> {
        self.stop.store(true, Ordering::Release);
        self.app.stopping.store(true, Ordering::Release);
        let Service { app, writer, learners, held, .. } = self;
        let ended = |what: &str| ServeError::Ended(format!("the thread that {what} has panicked"));
        for learner in learners {
            learner.thread().unpark();
            learner.join().map_err(|_| ended("learns"))??;
        }
        while app.commands.try_send(Command::Stop).is_err() && !writer.is_finished() {
            std::thread::sleep(Duration::from_millis(1));
        }
        writer.join().map_err(|_| ended("writes"))?;
        // Only now may somebody else serve the store.
        drop(held);
        Ok(())
    }

    /// Whether a thread has ended though it should not.
    fn has_ended(&self) -> bool {
        self.writer.is_finished() || self.learners.iter().any(JoinHandle::is_finished)
    }
}

/// How long a stop waits for requests that are not answered yet.
const MOST_GRACE: Duration = Duration::from_secs(5);

/// Serves until `stop` says so; `ready` knows the address.
pub fn serve(
    options: &ServerOptions,
    worlds: Vec<Arc<Served>>,
    stop: impl Fn() -> bool + Send + Sync + 'static,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), ServeError> {
    let service = Service::start(options, worlds)?;
    if !options.listen.ip().is_loopback() && service.app.keys.is_none() {
        return Err(ServeError::NoKeys(options.listen));
    }
    let wrong = |e| ServeError::Listen(options.listen, e);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(wrong)?;
    let mut service = Arc::new(service);
    let (app, watched) = (service.app.clone(), Arc::downgrade(&service));
    let served = runtime.block_on(async move {
        let listener = tokio::net::TcpListener::bind(options.listen).await.map_err(wrong)?;
        ready(listener.local_addr().map_err(wrong)?);
        let ticks = tokio::spawn(tick(app.clone()));
        let asked = Arc::new(tokio::sync::Notify::new());
        let knowledge = asked.clone();
        let stopping = app.stopping.clone();
        let until = async move {
            while !stop() && watched.upgrade().is_some_and(|service| !service.has_ended()) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            stopping.store(true, Ordering::Release);
            knowledge.notify_one();
        };
        let limited = Limited::new(listener, options.most_connections);
        let served = axum::serve(limited, router(app).into_make_service_with_connect_info::<Peer>())
            .with_graceful_shutdown(until);
        // Whoever holds a connection open without asking anything does not hold up the end.
        let served = tokio::select! {
            served = served.into_future() => served,
            () = async { asked.notified().await; tokio::time::sleep(options.patience.min(MOST_GRACE)).await } => Ok(()),
        };
        ticks.abort();
        served.map_err(wrong)
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    // A task that has not ended yet may be looking at it.
    let service = loop {
        match Arc::try_unwrap(service) {
            Ok(service) => break service,
            Err(shared) => service = shared,
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    tracing::info!("stopping");
    let ended = service.has_ended();
    service.stop()?;
    served?;
    if ended { Err(ServeError::Ended("a thread has ended".into())) } else { Ok(()) }
}

/// Every second: steps that have timed out, keys that were made or removed.
async fn tick(app: Arc<App>) {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let _ = app.commands.try_send(Command::Tick);
        let Some(keys) = &app.keys else { continue };
        let reader = app.reader.clone();
        let read = tokio::task::spawn_blocking(move || {
            Key::all(reader.lock().unwrap_or_else(PoisonError::into_inner).as_ref())
        });
        if let Ok(Ok(now)) = read.await {
            *keys.write().unwrap_or_else(PoisonError::into_inner) = now;
        }
    }
}
