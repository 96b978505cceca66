//! A service whose router is asked without a socket: the threads behind it are real, and so is the store.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use dowise_serve::{Access, ServerOptions, Service, Sqlite, Store, StoreError, StorePlace, replay};
use serde_json::{Value, json};
use tower::ServiceExt;

use super::{choices, served, state, world};

pub struct Running {
    pub router: Router,
    pub service: Service,
    pub runtime: tokio::runtime::Runtime,
    pub directory: tempfile::TempDir,
}

impl Running {
    pub fn start(prepare: impl FnOnce(&std::path::Path)) -> Running {
        Running::start_on(ServerOptions::default(), prepare, |store| store)
    }

    /// With every connection to the store wrapped.
    pub fn start_on(
        options: ServerOptions,
        prepare: impl FnOnce(&std::path::Path),
        wrap: impl Fn(Box<dyn Store>) -> Box<dyn Store>,
    ) -> Running {
        let directory = tempfile::tempdir().unwrap();
        let store = directory.path().join("store");
        prepare(&store);
        let options = ServerOptions { store: StorePlace::File(store.clone()), most_body: 10_000, ..options };
        let open = |access: Access| -> Result<Box<dyn Store>, StoreError> {
            Ok(wrap(match access {
                Access::Write => Box::new(Sqlite::open(&store)?),
                Access::Read => Box::new(Sqlite::open_to_read(&store)?),
            }))
        };
        let service = Service::start_on(&options, vec![served("clinic", choices())], open).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Running { router: service.router(), service, runtime, directory }
    }

    pub fn send(&self, method: &str, path: &str, key: Option<&str>, body: impl Into<Body>) -> (u16, String) {
        let mut request = Request::builder().method(method).uri(path);
        if let Some(key) = key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let request = request.body(body.into()).unwrap();
        self.runtime.block_on(async {
            let response = self.router.clone().oneshot(request).await.unwrap();
            let status = response.status().as_u16();
            let bytes = to_bytes(response.into_body(), 1 << 20).await.unwrap();
            (status, String::from_utf8(bytes.to_vec()).unwrap())
        })
    }

    pub fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let (status, text) = self.send("POST", path, None, body.to_string());
        (status, serde_json::from_str(&text).unwrap())
    }

    /// Stops it, and plays its log again.
    pub fn replayed(self) -> dowise_serve::Replayed {
        let Running { router, service, directory, .. } = self;
        drop(router);
        service.stop().unwrap();
        replay(&Sqlite::open_to_read(&directory.path().join("store")).unwrap()).unwrap()
    }
}

pub fn question(id: &str) -> Value {
    json!({"event_id": id, "episode_id": id, "state": state(&world(), 0)})
}
