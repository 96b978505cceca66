//! The API: makes the router of `routes.rs`, checks keys and rates, and answers.
//!
//! `request.rs` reads what a request means; the engine carries it out.

mod handlers;
mod limits;
mod openapi;
mod page;
mod queries;
mod routes;
mod views;

pub(crate) use limits::{Limited, Peer, Rate};
pub use openapi::openapi;
pub(crate) use views::Looked;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::middleware::{self, Next};
use tokio::sync::mpsc;

use self::limits::Client;
use self::routes::ROUTES;
use crate::graph_watch_loop::Slot;
use crate::keys::{Key, Role};
use crate::metrics::Metrics;
use crate::problem::Problem;
use crate::served::Served;
use crate::store::Store;
use crate::writer::{Command, Published};

/// What handlers share.
pub(crate) struct App {
    pub(crate) worlds: Vec<Arc<Served>>,
    pub(crate) commands: mpsc::Sender<Command>,
    pub(crate) published: Arc<Published>,
    pub(crate) reader: Arc<Mutex<Box<dyn Store>>>,
    pub(crate) metrics: Arc<Metrics>,
    /// `None`: whoever reaches the port may do everything.
    pub(crate) keys: Option<RwLock<Vec<Key>>>,
    pub(crate) rate: Option<Rate>,
    pub(crate) most_body: usize,
    pub(crate) patience: std::time::Duration,
    pub(crate) applied: Vec<Arc<AtomicU64>>,
    pub(crate) watched: Vec<Slot>,
    pub(crate) looked: Looked,
    /// Set when it is about to stop.
    pub(crate) stopping: Arc<AtomicBool>,
}

/// The router of all routes.
pub(crate) fn router(app: Arc<App>) -> Router {
    let routes = ROUTES.iter().fold(Router::new(), |router, route| router.route(route.path, (route.handler)()));
    routes
        .fallback(|| async { problem(&Problem::not_found("there is no such path; see /openapi.json")) })
        .method_not_allowed_fallback(|| async { problem(&Problem::method()) })
        .layer(middleware::from_fn_with_state(app.clone(), admit))
        .with_state(app)
}

/// Keys and rates, before anything is read.
async fn admit(State(app): State<Arc<App>>, request: Request, next: Next) -> Response<Body> {
    let path = request.extensions().get::<axum::extract::MatchedPath>().map(|p| p.as_str().to_owned());
    let method = request.method().as_str().to_ascii_lowercase();
    // Every GET answers HEAD as well, so it needs the same key.
    let method = if method == "head" { "get" } else { method.as_str() };
    let needed = match &path {
        // No such path: there is nothing to protect.
        None => None,
        // A method that the path does not have is refused to all but an administrator.
        Some(path) => routes::find(method, path).map_or(Some(Role::Admin), |route| route.role),
    };
    if let Some(needed) = needed
        && let Err(wrong) = may(&app, &request, needed)
    {
        return refuse(&app, &wrong);
    }
    let begun = std::time::Instant::now();
    let response = match tokio::time::timeout(app.patience, next.run(request)).await {
        Ok(response) => response,
        Err(_) => refuse(&app, &Problem::slow()),
    };
    // What the framework refuses by itself, such as an address that is not UTF-8, is said in our way.
    let kind = response.headers().get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    let ours = kind == Some(b"application/problem+json") || kind == Some(b"application/json");
    let response = if response.status().is_client_error() && !ours {
        refuse(&app, &Problem::malformed("the address of the request cannot be read"))
    } else {
        response
    };
    // Never the path as it was sent: it may name somebody.
    let (path, status) = (path.as_deref().unwrap_or("unknown"), response.status().as_u16());
    tracing::debug!(method, path, status, ms = begun.elapsed().as_secs_f64() * 1e3, "request");
    response
}

/// Whether whoever asks has the key that is needed, and has not asked too often: requests are counted by key, and by address where there
/// is no key or a wrong one.
fn may(app: &App, request: &Request, needed: Role) -> Result<(), Problem> {
    let peer = request.extensions().get::<ConnectInfo<Peer>>();
    let address = Client::at(peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |ConnectInfo(Peer(address))| *address));
    let mut client = address;
    let mut allowed = Ok(());
    if let Some(keys) = &app.keys {
        let sent = request.headers().get(header::AUTHORIZATION).and_then(|v| v.to_str().ok());
        let text = sent.and_then(|v| v.strip_prefix("Bearer ")).map(str::trim).unwrap_or_default();
        match Key::find(&keys.read().unwrap_or_else(PoisonError::into_inner), text) {
            None => allowed = Err(Problem::unauthorised()),
            Some(key) => {
                client = Client::Key(key.id.clone());
                if !key.role.may(needed) {
                    allowed = Err(Problem::forbidden(needed.name()));
                }
            }
        }
    }
    match &app.rate {
        Some(rate) if !rate.take(client) => Err(Problem::too_many()),
        Some(_) | None => allowed,
    }
}

/// Counts and answers what is wrong.
pub(super) fn refuse(app: &App, wrong: &Problem) -> Response<Body> {
    if wrong.status >= 500 {
        app.metrics.unavailable.add(1)
    } else {
        app.metrics.refused.add(1)
    }
    problem(wrong)
}

fn problem(wrong: &Problem) -> Response<Body> {
    let mut response = answer(wrong.status, "application/problem+json", wrong.body());
    if matches!(wrong.status, 429 | 503) {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    if wrong.status == 401 {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

pub(super) fn answer(status: u16, kind: &'static str, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::from(body.into()));
    *response.status_mut() = StatusCode::from_u16(status).expect("invariant: our own statuses");
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

pub(super) fn json(body: impl Into<Bytes>) -> Response<Body> {
    answer(200, "application/json", body)
}
