//! The API: paths, who may use them, limits, and answers. What requests mean is read by `request.rs`, what they do is the engine's.

mod handlers;
mod limits;
mod openapi;
mod page;
mod queries;
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
use axum::routing::{delete, get, post};
use tokio::sync::mpsc;

use self::limits::Client;
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

/// Every path with its method and the role that it needs; `None` is for everybody. The document and the tests go through it.
pub(crate) const ROUTES: [(&str, &str, Option<Role>); 30] = [
    ("get", "/healthz", None),
    ("get", "/readyz", None),
    ("get", "/metrics", Some(Role::Admin)),
    ("get", "/openapi.json", None),
    ("get", "/v1", Some(Role::Admin)),
    ("post", "/v1/{world}/decide", Some(Role::Decide)),
    ("post", "/v1/{world}/observe", Some(Role::Observe)),
    ("get", "/v1/{world}", Some(Role::Admin)),
    ("get", "/v1/{world}/overview", Some(Role::Admin)),
    ("get", "/v1/{world}/rewards", Some(Role::Admin)),
    ("get", "/v1/{world}/shares", Some(Role::Admin)),
    ("get", "/v1/{world}/calibration", Some(Role::Admin)),
    ("get", "/v1/{world}/mechanisms", Some(Role::Admin)),
    ("get", "/v1/{world}/graph", Some(Role::Admin)),
    ("get", "/v1/{world}/graph.svg", Some(Role::Admin)),
    ("get", "/v1/{world}/graph-watch", Some(Role::Admin)),
    ("post", "/v1/{world}/what-if", Some(Role::Admin)),
    ("get", "/v1/{world}/episodes", Some(Role::Admin)),
    ("post", "/v1/{world}/episodes", Some(Role::Decide)),
    ("post", "/v1/{world}/episodes/{id}/close", Some(Role::Observe)),
    ("delete", "/v1/{world}/episodes/{id}", Some(Role::Admin)),
    ("delete", "/v1/{world}/subjects/{id}", Some(Role::Admin)),
    ("get", "/v1/{world}/decisions", Some(Role::Admin)),
    ("get", "/v1/{world}/decisions/{id}", Some(Role::Admin)),
    ("get", "/v1/{world}/policies", Some(Role::Admin)),
    ("post", "/v1/{world}/policies", Some(Role::Admin)),
    ("get", "/v1/{world}/policies/difference", Some(Role::Admin)),
    ("get", "/v1/{world}/mode", Some(Role::Admin)),
    ("post", "/v1/{world}/mode", Some(Role::Admin)),
    ("get", "/v1/{world}/export", Some(Role::Admin)),
];

/// All paths.
pub(crate) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/", get(page::index))
        .route("/page/{file}", get(page::file))
        .route("/healthz", get(handlers::healthz))
        .route("/readyz", get(handlers::readyz))
        .route("/metrics", get(handlers::metrics))
        .route("/openapi.json", get(handlers::document))
        .route("/v1", get(queries::worlds))
        .route("/v1/{world}/decide", post(handlers::decide))
        .route("/v1/{world}/observe", post(handlers::observe))
        .route("/v1/{world}", get(views::status))
        .route("/v1/{world}/overview", get(views::overview))
        .route("/v1/{world}/rewards", get(views::rewards))
        .route("/v1/{world}/shares", get(views::shares))
        .route("/v1/{world}/calibration", get(views::calibration))
        .route("/v1/{world}/mechanisms", get(views::mechanisms))
        .route("/v1/{world}/graph", get(views::graph))
        .route("/v1/{world}/graph.svg", get(views::picture))
        .route("/v1/{world}/graph-watch", get(views::graph_watch))
        .route("/v1/{world}/what-if", post(views::what_if))
        .route("/v1/{world}/episodes", get(queries::episodes).post(handlers::open))
        .route("/v1/{world}/episodes/{id}/close", post(handlers::close))
        .route("/v1/{world}/episodes/{id}", delete(handlers::forget))
        .route("/v1/{world}/subjects/{id}", delete(handlers::forget_subject))
        .route("/v1/{world}/decisions", get(views::decisions))
        .route("/v1/{world}/decisions/{id}", get(queries::decision))
        .route("/v1/{world}/policies", get(queries::policies).post(handlers::promote))
        .route("/v1/{world}/policies/difference", get(views::difference))
        .route("/v1/{world}/mode", get(queries::mode).post(handlers::set_mode))
        .route("/v1/{world}/export", get(queries::export))
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
        Some(path) if method == "get" && page::PATHS.contains(&path.as_str()) => None,
        Some(path) => match ROUTES.iter().find(|r| (r.0, r.1) == (method, path.as_str())) {
            Some((.., needed)) => *needed,
            None => Some(Role::Admin),
        },
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
