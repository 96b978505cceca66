//! The API without a socket: the router is asked, the threads behind it are real, and so is the store.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use common::*;
use dowise_serve::{Access, Key, Role, ServerOptions, Service, Sqlite, Store, StoreError, StorePlace, openapi, replay};
use dowise_serve::{Episode, Event, EventKind, Parked, Step, StoredSnapshot};
use proptest::prelude::*;
use serde_json::{Value, json};
use tower::ServiceExt;

struct Running {
    router: Router,
    service: Service,
    runtime: tokio::runtime::Runtime,
    directory: tempfile::TempDir,
}

impl Running {
    fn start(prepare: impl FnOnce(&std::path::Path)) -> Running {
        Running::start_on(ServerOptions::default(), prepare, |store| store)
    }

    /// With every connection to the store wrapped.
    fn start_on(
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

    fn send(&self, method: &str, path: &str, key: Option<&str>, body: impl Into<Body>) -> (u16, String) {
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

    fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let (status, text) = self.send("POST", path, None, body.to_string());
        (status, serde_json::from_str(&text).unwrap())
    }

    /// Stops it, and plays its log again.
    fn replayed(self) -> dowise_serve::Replayed {
        let Running { router, service, directory, .. } = self;
        drop(router);
        service.stop().unwrap();
        replay(&Sqlite::open_to_read(&directory.path().join("store")).unwrap()).unwrap()
    }
}

fn question(id: &str) -> Value {
    json!({"event_id": id, "episode_id": id, "state": state(&world(), 0)})
}

#[test]
fn the_page_is_part_of_the_program_and_needs_no_key() {
    let running = Running::start(|store| {
        let mut store = Sqlite::open(store).unwrap();
        Key::make(&mut store, Role::Admin).unwrap();
    });
    let (status, page) = running.send("GET", "/", None, "");
    assert_eq!(status, 200);
    let files: Vec<&str> = page.split("\"/page/").skip(1).map(|rest| &rest[..rest.find('"').unwrap()]).collect();
    assert!(files.len() >= 4, "styles and scripts: {files:?}");
    for file in files {
        let (status, text) = running.send("GET", &format!("/page/{file}"), None, "");
        assert_eq!(status, 200, "{file}");
        for module in text.split("from \"./").skip(1).map(|rest| &rest[..rest.find('"').unwrap()]) {
            assert_eq!(running.send("GET", &format!("/page/{module}"), None, "").0, 200, "{module} of {file}");
        }
        assert!(!text.contains("https://cdn"), "{file} loads nothing from elsewhere");
    }
    assert_eq!(running.send("GET", "/page/none.js", None, "").0, 404);
    assert_eq!(running.send("GET", "/v1", None, "").0, 401);
    running.service.stop().unwrap();
}

#[test]
fn sixty_four_clients_with_one_event_id_get_one_decision() {
    let running = Running::start(|_| {});
    let body = question("one").to_string();
    let answers: Vec<Vec<u8>> = running.runtime.block_on(async {
        let tasks: Vec<_> = (0..64)
            .map(|_| {
                let (router, body) = (running.router.clone(), body.clone());
                tokio::spawn(async move {
                    let request = Request::post("/v1/clinic/decide").body(Body::from(body)).unwrap();
                    let response = router.oneshot(request).await.unwrap();
                    assert_eq!(response.status(), 200);
                    to_bytes(response.into_body(), 1 << 20).await.unwrap().to_vec()
                })
            })
            .collect();
        let mut out = Vec::new();
        for task in tasks {
            out.push(task.await.unwrap());
        }
        out
    });
    assert!(answers.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(running.replayed().decisions, 1);
}

#[test]
fn every_mistake_is_named_by_its_field() {
    let running = Running::start(|_| {});
    let body = json!({"event_id": 7, "state": {"nothing": 1}, "stage": 0, "extra": true});
    let (status, answer) = running.post("/v1/clinic/decide", &body);
    assert_eq!(status, 422);
    let fields: Vec<&str> = answer["errors"].as_array().unwrap().iter().map(|e| e["field"].as_str().unwrap()).collect();
    assert_eq!(fields, ["event_id", "episode_id", "stage", "state.nothing", "extra"]);
    let (status, answer) = running.post("/v1/hospital/decide", &question("a"));
    assert_eq!((status, answer["detail"].as_str()), (404, Some("there is no world \"hospital\"; there are clinic")));
    let long = json!({"event_id": "x".repeat(20_000)});
    assert_eq!(running.post("/v1/clinic/decide", &long).0, 413);
    assert_eq!(running.send("GET", "/v1/clinic/decide", None, "").0, 405);
}

#[test]
fn a_batch_has_a_status_for_each_observation() {
    let running = Running::start(|_| {});
    assert_eq!(running.post("/v1/clinic/decide", &question("a")).0, 200);
    let good = json!({"observation_id": "1", "event_id": "a", "next_state": state(&world(), 1)});
    let (status, answer) = running.post("/v1/clinic/observe", &json!([good, {"observation_id": "2"}, good, 5]));
    assert_eq!(status, 207);
    let statuses: Vec<u64> = answer.as_array().unwrap().iter().map(|a| a["status"].as_u64().unwrap()).collect();
    assert_eq!(statuses, [200, 422, 200, 400]);
}

#[test]
fn a_past_decision_can_be_explained_a_mode_changed_and_a_policy_rolled_back() {
    let running = Running::start(|_| {});
    let (_, answer) = running.post("/v1/clinic/decide", &question("a"));
    let (status, text) = running.send("GET", "/v1/clinic/decisions/a", None, "");
    assert_eq!(status, 200);
    let explained: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(explained["answer"], answer);
    let votes = explained["policy"]["samples_prefer"].as_array().unwrap();
    assert_eq!(votes.iter().map(|v| v["samples"].as_u64().unwrap()).sum::<u64>(), 8);
    assert_eq!(running.post("/v1/clinic/mode", &json!({"mode": "stop"})).0, 200);
    let (_, stopped) = running.post("/v1/clinic/decide", &question("b"));
    assert_eq!(stopped["why"], "baseline");
    assert_eq!(running.post("/v1/clinic/mode", &json!({"mode": "party"})).0, 422);
    let (status, standing) = running.post("/v1/clinic/policies", &json!({"version": 1}));
    assert_eq!((status, standing["pinned"].as_bool()), (200, Some(true)));
    assert_eq!(running.post("/v1/clinic/policies", &json!({"version": 99})).0, 404);
    let (status, lines) = running.send("GET", "/v1/clinic/export", None, "");
    assert_eq!((status, lines.lines().count()), (200, 3), "a line of names and two steps");
    let question = json!({"state": state(&world(), 0), "stage": 2, "intervention": {"shoes": "door"}, "forbidden": [{"shoes": "cupboard"}]});
    let (status, what) = running.post("/v1/clinic/what-if", &question);
    assert_eq!((status, &what["asked"]["intervention"]), (200, &json!({"shoes": "door"})));
    assert!(what["best"]["expected_value"].as_f64() >= what["asked"]["expected_value"].as_f64());
    let impossible = json!({"state": state(&world(), 0), "intervention": {"shoes": "door", "call": "no"}});
    assert_eq!(running.post("/v1/clinic/what-if", &impossible).0, 422, "one lever at most");
    for path in [
        "",
        "/rewards",
        "/shares",
        "/calibration",
        "/mechanisms",
        "/graph",
        "/graph.svg",
        "/decisions",
        "/policies/difference?from=1&to=1",
    ] {
        let (status, body) = running.send("GET", &format!("/v1/clinic{path}"), None, "");
        assert_eq!(status, 200, "{path}: {body}");
    }
    assert_eq!(running.send("GET", "/v1/clinic/rewards?last=0", None, "").0, 422);
    let (_, body) = running.send("GET", "/v1/clinic/decisions?limit=1", None, "");
    let last: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((last.as_array().unwrap().len(), &last[0]["answer"]), (1, &stopped));
    for path in [
        "/healthz",
        "/readyz",
        "/metrics",
        "/openapi.json",
        "/v1",
        "/v1/clinic/mode",
        "/v1/clinic/policies",
        "/v1/clinic/episodes",
    ] {
        assert_eq!(running.send("GET", path, None, "").0, 200, "{path}");
    }
    assert_eq!(running.replayed().decisions, 2);
}

#[test]
fn the_document_in_the_repository_is_the_one_that_is_served() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let running = Running::start(|_| {});
    let (_, served) = running.send("GET", "/openapi.json", None, "");
    let served: Value = serde_json::from_str(&served).unwrap();
    let text = format!("{}\n", serde_json::to_string_pretty(&served).unwrap());
    if std::env::var_os("UPDATE_OPENAPI").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == text,
        "docs/openapi.json is not what is served; run this test with UPDATE_OPENAPI=1 and read the difference"
    );
}

#[test]
fn the_document_and_the_router_have_the_same_paths() {
    let running = Running::start(|_| {});
    for (path, methods) in openapi()["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let asked = path.replace("{world}", "clinic").replace("{id}", "x");
            let (status, body) = running.send(&method.to_uppercase(), &asked, None, "");
            assert!(status != 405 && !body.contains("no such path"), "{method} {path}: {status} {body}");
        }
    }
}

#[test]
fn a_store_with_keys_lets_in_only_who_has_one_of_the_right_role() {
    let mut keys = Vec::new();
    let running = Running::start(|store| {
        let mut store = Sqlite::open(store).unwrap();
        keys.extend([Role::Decide, Role::Observe, Role::Admin].map(|role| Key::make(&mut store, role).unwrap().1));
        Key::make(&mut store, Role::Admin).unwrap();
        assert!(Key::make(&mut store, Role::Admin).is_err(), "two at a time");
    });
    let [decide, observe, admin] = [0, 1, 2].map(|i| Some(keys[i].as_str()));
    let body = || question("a").to_string();
    let ask = |key| running.send("POST", "/v1/clinic/decide", key, body()).0;
    assert_eq!([None, Some("dw_x"), observe, decide, admin].map(ask), [401, 401, 403, 200, 200]);
    for method in ["GET", "HEAD"] {
        assert_eq!(running.send(method, "/v1/clinic/export", decide, "").0, 403, "{method}");
    }
    assert_eq!(running.send("GET", "/healthz", None, "").0, 200);
}

#[test]
fn a_subject_is_deleted_for_good_even_if_nothing_was_learned_from_it() {
    let running = Running::start(|_| {});
    for id in ["a", "b"] {
        let mut body = question(id);
        body["subject"] = json!("ann");
        assert_eq!(running.post("/v1/clinic/decide", &body).0, 200);
    }
    let mut opened = json!({"episode_id": "c", "subject": "ann"});
    assert_eq!(running.post("/v1/clinic/episodes", &opened).0, 200);
    assert_eq!(running.post("/v1/clinic/episodes", &opened).0, 200, "the same again");
    opened["subject"] = json!("ben");
    assert_eq!(running.post("/v1/clinic/episodes", &opened).0, 409);
    assert_eq!(running.send("DELETE", "/v1/clinic/episodes/a", None, "").0, 200);
    let (status, said) = running.send("DELETE", "/v1/clinic/subjects/ann", None, "");
    assert_eq!((status, serde_json::from_str::<Value>(&said).unwrap()["episodes"].as_u64()), (200, Some(2)), "{said}");
    let begun = std::time::Instant::now();
    while running.send("GET", "/v1/clinic/decisions/b", None, "").0 != 404 {
        assert!(begun.elapsed() < std::time::Duration::from_secs(30), "its names are still there");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let (_, episodes) = running.send("GET", "/v1/clinic/episodes", None, "");
    assert_eq!(episodes, "[]");
    assert_eq!(running.send("DELETE", "/v1/clinic/subjects/ann", None, "").0, 404);
    let replayed = running.replayed();
    assert_eq!((replayed.decisions, replayed.blank), (0, 6));
}

/// What is the matter with a store.
const SOUND: u8 = 0;
const GONE: u8 = 1;
const HANGS: u8 = 2;

/// A store that can be broken: from then on nothing can be read or written, or everything waits until it is sound again.
struct Breakable(Box<dyn Store>, Arc<AtomicU8>);

impl Breakable {
    fn there(&self) -> Result<(), StoreError> {
        while self.1.load(Ordering::SeqCst) == HANGS {
            std::thread::sleep(Duration::from_millis(5));
        }
        if self.1.load(Ordering::SeqCst) == GONE { Err(StoreError("gone".into())) } else { Ok(()) }
    }
}

impl Store for Breakable {
    fn hold_still(&self) -> Result<(), StoreError> {
        self.there()?;
        self.0.hold_still()
    }
    fn begin(&mut self) -> Result<(), StoreError> {
        self.there()?;
        self.0.begin()
    }
    fn commit(&mut self) -> Result<(), StoreError> {
        self.there()?;
        self.0.commit()
    }
    fn rollback(&mut self) {
        self.0.rollback();
    }
    fn find(&self, world: &str, kind: EventKind, key: &str) -> Result<Option<Event>, StoreError> {
        self.there()?;
        self.0.find(world, kind, key)
    }
    fn append(&mut self, event: &Event) -> Result<u64, StoreError> {
        self.there()?;
        self.0.append(event)
    }
    fn events(&self, world: Option<&str>, after: u64, most: usize) -> Result<Vec<Event>, StoreError> {
        self.there()?;
        self.0.events(world, after, most)
    }
    fn effects(&self, world: &str, after: u64, upto: u64, most: usize) -> Result<Vec<(u64, String)>, StoreError> {
        self.there()?;
        self.0.effects(world, after, upto, most)
    }
    fn last(&self) -> Result<(u64, u64), StoreError> {
        self.there()?;
        self.0.last()
    }
    fn recent(&self, world: &str, most: usize) -> Result<Vec<(Event, Step)>, StoreError> {
        self.there()?;
        self.0.recent(world, most)
    }
    fn blank(&mut self, world: &str, episode: &str, keep_effects: bool) -> Result<(), StoreError> {
        self.there()?;
        self.0.blank(world, episode, keep_effects)
    }
    fn blank_parked(&mut self, world: &str, before: u64, most: usize) -> Result<usize, StoreError> {
        self.there()?;
        self.0.blank_parked(world, before, most)
    }
    fn step(&self, world: &str, event_id: &str) -> Result<Option<Step>, StoreError> {
        self.there()?;
        self.0.step(world, event_id)
    }
    fn steps_of(&self, world: &str, episode: &str) -> Result<Vec<Step>, StoreError> {
        self.there()?;
        self.0.steps_of(world, episode)
    }
    fn steps_after(&self, world: &str, after: (&str, i64), most: usize) -> Result<Vec<Step>, StoreError> {
        self.there()?;
        self.0.steps_after(world, after, most)
    }
    fn put_step(&mut self, world: &str, step: &Step) -> Result<(), StoreError> {
        self.there()?;
        self.0.put_step(world, step)
    }
    fn unsettled(&self, world: &str, before: u64, most: usize) -> Result<Vec<String>, StoreError> {
        self.there()?;
        self.0.unsettled(world, before, most)
    }
    fn episode(&self, world: &str, id: &str) -> Result<Option<Episode>, StoreError> {
        self.there()?;
        self.0.episode(world, id)
    }
    fn episodes(&self, world: &str, most: usize, subject: Option<&str>) -> Result<Vec<Episode>, StoreError> {
        self.there()?;
        self.0.episodes(world, most, subject)
    }
    fn ended(&self, world: &str, before: u64, most: usize) -> Result<Vec<String>, StoreError> {
        self.there()?;
        self.0.ended(world, before, most)
    }
    fn unended(&self, world: &str, before: u64, most: usize) -> Result<Vec<String>, StoreError> {
        self.there()?;
        self.0.unended(world, before, most)
    }
    fn put_episode(&mut self, world: &str, episode: &Episode) -> Result<(), StoreError> {
        self.there()?;
        self.0.put_episode(world, episode)
    }
    fn parked(&self, world: &str, event_id: &str) -> Result<Vec<Parked>, StoreError> {
        self.there()?;
        self.0.parked(world, event_id)
    }
    fn park(&mut self, world: &str, event_id: &str, seq: u64) -> Result<(), StoreError> {
        self.there()?;
        self.0.park(world, event_id, seq)
    }
    fn unpark(&mut self, world: &str, event_id: &str, episode: &str) -> Result<(), StoreError> {
        self.there()?;
        self.0.unpark(world, event_id, episode)
    }
    fn put_snapshot(&mut self, world: &str, snapshot: &StoredSnapshot) -> Result<(), StoreError> {
        self.there()?;
        self.0.put_snapshot(world, snapshot)
    }
    fn snapshot(&self, world: &str, version: u64) -> Result<Option<StoredSnapshot>, StoreError> {
        self.there()?;
        self.0.snapshot(world, version)
    }
    fn snapshots(&self, world: &str, most: usize) -> Result<Vec<StoredSnapshot>, StoreError> {
        self.there()?;
        self.0.snapshots(world, most)
    }
    fn value(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.there()?;
        self.0.value(name)
    }
    fn values(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        self.there()?;
        self.0.values(prefix)
    }
    fn put_value(&mut self, name: &str, value: &[u8]) -> Result<(), StoreError> {
        self.there()?;
        self.0.put_value(name, value)
    }
    fn remove_value(&mut self, name: &str) -> Result<(), StoreError> {
        self.there()?;
        self.0.remove_value(name)
    }
}

#[test]
fn while_the_store_is_gone_nothing_is_decided_and_afterwards_everything_goes_on() {
    let broken = Arc::new(AtomicU8::new(SOUND));
    let running =
        Running::start_on(ServerOptions::default(), |_| {}, |store| Box::new(Breakable(store, broken.clone())));
    assert_eq!(running.post("/v1/clinic/decide", &question("a")).0, 200);
    broken.store(GONE, Ordering::SeqCst);
    for id in ["a", "b"] {
        let (status, body) = running.post("/v1/clinic/decide", &question(id));
        assert_eq!(status, 503, "{body}");
    }
    assert_eq!(running.send("GET", "/readyz", None, "").0, 503);
    assert_eq!(running.send("GET", "/healthz", None, "").0, 200);
    assert_eq!(running.post("/v1/clinic/mode", &json!({"mode": "stop"})).0, 503);
    broken.store(SOUND, Ordering::SeqCst);
    let (status, answer) = running.post("/v1/clinic/decide", &question("b"));
    assert_eq!((status, &answer["mode"]), (200, &json!("online")), "a mode that was not written does not hold");
    assert_eq!(running.send("GET", "/readyz", None, "").0, 200);
    assert_eq!(running.replayed().decisions, 2);
}

#[test]
fn a_store_that_hangs_is_answered_with_503_and_what_waited_is_carried_out_once() {
    let broken = Arc::new(AtomicU8::new(SOUND));
    let options = ServerOptions { patience: Duration::from_millis(400), ..ServerOptions::default() };
    let running = Running::start_on(options, |_| {}, |store| Box::new(Breakable(store, broken.clone())));
    assert_eq!(running.post("/v1/clinic/decide", &question("a")).0, 200);
    broken.store(HANGS, Ordering::SeqCst);
    let (status, body) = running.post("/v1/clinic/decide", &question("b"));
    assert_eq!(status, 503, "{body}");
    assert!(body["detail"].as_str().unwrap().contains("send the same request again"), "{body}");
    let two = json!([{"observation_id": "x", "event_id": "a"}, {"observation_id": "y", "event_id": "a"}]);
    let (status, each) = running.post("/v1/clinic/observe", &two);
    assert_eq!((status, &each[0]["status"], &each[1]["status"]), (207, &json!(503), &json!(503)), "{each}");
    assert_eq!(running.send("GET", "/readyz", None, "").0, 503);
    broken.store(SOUND, Ordering::SeqCst);
    assert_eq!(running.post("/v1/clinic/decide", &question("b")).0, 200);
    assert_eq!(running.replayed().decisions, 2);
}

#[test]
fn an_id_that_no_database_can_hold_is_refused_before_it_comes_into_a_transaction_with_others() {
    let running = Running::start(|_| {});
    for id in ["a%00b".to_owned(), "x".repeat(201)] {
        for (method, path) in [
            ("POST", format!("episodes/{id}/close")),
            ("DELETE", format!("episodes/{id}")),
            ("DELETE", format!("subjects/{id}")),
            ("GET", format!("decisions/{id}")),
        ] {
            let (status, body) = running.send(method, &format!("/v1/clinic/{path}"), None, "");
            assert_eq!(status, 422, "{method} {path}: {body}");
        }
    }
}

#[test]
fn one_answer_has_all_that_the_page_shows() {
    let running = Running::start(|_| {});
    for id in ["a", "b", "c"] {
        assert_eq!(running.post("/v1/clinic/decide", &question(id)).0, 200);
    }
    let get = |path: &str| -> Value {
        let (status, text) = running.send("GET", &format!("/v1/clinic{path}"), None, "");
        assert_eq!(status, 200, "{path}: {text}");
        serde_json::from_str(&text).unwrap()
    };
    let overview = get("/overview");
    for (part, path) in [
        ("rewards", "/rewards"),
        ("shares", "/shares"),
        ("calibration", "/calibration"),
        ("mechanisms", "/mechanisms"),
        ("graph", "/graph"),
        ("decisions", "/decisions"),
    ] {
        assert_eq!(overview[part], get(path), "{part}");
    }
    assert_eq!(overview["world"]["names"], get("")["names"]);
    assert_eq!(overview["decisions"].as_array().unwrap().len(), 3);
    assert_eq!(get("/overview?limit=2")["decisions"].as_array().unwrap().len(), 2);
    assert_eq!(running.send("GET", "/v1/clinic/overview?limit=0", None, "").0, 422);
}

#[test]
fn a_key_that_asks_too_often_does_not_hold_up_another_and_wrong_keys_count_as_well() {
    let mut keys = Vec::new();
    let options = ServerOptions { rate: Some(5), ..ServerOptions::default() };
    let prepare = |store: &std::path::Path| {
        let mut store = Sqlite::open(store).unwrap();
        keys.extend([Role::Admin, Role::Admin].map(|role| Key::make(&mut store, role).unwrap().1));
    };
    let running = Running::start_on(options, prepare, |store| store);
    let ask = |key: Option<&str>| running.send("GET", "/v1", key, "").0;
    let many = |key: Option<&str>| (0..50).map(|_| ask(key)).collect::<Vec<u16>>();
    let (greedy, wrong) = (many(Some(&keys[0])), many(Some("dw_x")));
    assert!(greedy.contains(&200) && greedy.contains(&429), "{greedy:?}");
    assert!(wrong.contains(&401) && wrong.contains(&429) && !wrong.contains(&200), "{wrong:?}");
    assert_eq!(ask(Some(&keys[1])), 200);
    assert_eq!(running.send("GET", "/healthz", None, "").0, 200);
}

/// Any JSON, not too deep.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|b| json!(b)),
        any::<i64>().prop_map(|n| json!(n)),
        any::<f64>().prop_map(|x| json!(x)),
        ".{0,12}".prop_map(|s| json!(s)),
        Just(json!("x".repeat(300))),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map(".{0,6}", inner, 0..4).prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

/// Text that is nearly a request: fields with anything in them, or a good request with one thing changed, or any text.
fn nearly() -> impl Strategy<Value = String> {
    let names = prop::sample::select(vec![
        "event_id",
        "episode_id",
        "observation_id",
        "stage",
        "state",
        "keys",
        "next_state",
        "rewards",
        "levers",
        "did",
        "done",
        "correction",
        "allowed",
        "forbidden",
        "subject",
        "mode",
        "version",
        "intervention",
    ]);
    let body = prop::collection::btree_map(names, anything(), 0..8);
    let good = json!({
        "event_id": "a", "episode_id": "a", "observation_id": "a", "stage": 1, "state": {"mood": "low"}, "keys": {"walk": "no"},
        "next_state": {"mood": "fair"}, "rewards": {"well": 0.5}, "levers": {"call": "no"}, "did": {"shoes": "door"}, "done": false,
        "allowed": {"shoes": ["door"]}, "forbidden": [{"call": "yes"}], "intervention": {"shoes": "door"}, "mode": "online", "version": 1,
    });
    let kept = ["decide", "observe", "what-if", "mode", "version"].map(|what| match what {
        "decide" => vec!["event_id", "episode_id", "stage", "state", "allowed", "forbidden"],
        "observe" => vec!["observation_id", "event_id", "keys", "next_state", "rewards", "levers", "did", "done"],
        "what-if" => vec!["stage", "state", "intervention", "allowed"],
        one => vec![one],
    });
    let changed = (prop::sample::select(kept.to_vec()), any::<prop::sample::Index>(), any::<bool>(), anything());
    let changed = changed.prop_map(move |(fields, which, deep, value)| {
        let mut body: Value =
            fields.iter().map(|f| ((*f).to_owned(), good[f].clone())).collect::<serde_json::Map<_, _>>().into();
        let field = fields[which.index(fields.len())];
        match body[field].as_object_mut() {
            Some(inner) if deep => inner.values_mut().for_each(|v| *v = value.clone()),
            _ => body[field] = value,
        }
        body.to_string()
    });
    prop_oneof![
        2 => body.prop_map(|map| Value::Object(map.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()).to_string()),
        4 => changed,
        1 => ".{0,40}",
    ]
}

#[test]
fn nothing_that_is_sent_is_answered_with_500() {
    let running = Arc::new(Running::start(|_| {}));
    let verbs =
        ["decide", "observe", "mode", "policies", "what-if", "episodes", "episodes/a/close", "episodes/%00%ff/close"];
    let paths = verbs.map(|verb| format!("/v1/clinic/{verb}"));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    runner
        .run(&(prop::sample::select(paths.to_vec()), nearly()), |(path, body)| {
            let (status, answer) = running.send("POST", &path, None, body);
            prop_assert!(status < 500, "{status} {answer}");
            prop_assert!(serde_json::from_str::<Value>(&answer).is_ok());
            Ok(())
        })
        .unwrap();
}

#[test]
fn odd_addresses_and_queries_are_answered_without_a_500() {
    let running = Running::start(|_| {});
    let odd = [
        "%00",
        "%ff",
        "..",
        "%2e%2e%2f",
        "a%20b",
        "%22",
        "'",
        "-1",
        "99999999999999999999",
        "",
        "\u{1f600}",
        "%F0%9F%98%80",
    ];
    let paths = [
        "episodes?limit=",
        "decisions?limit=",
        "rewards?last=",
        "policies/difference?from=",
        "policies/difference?to=",
        "decisions/",
        "?last=",
    ];
    for path in paths {
        for text in odd {
            let text: String =
                text.chars().flat_map(|c| if c.is_ascii() { vec![c] } else { "%C3%BC".chars().collect() }).collect();
            let (status, body) = running.send("GET", &format!("/v1/clinic/{path}{text}"), None, "");
            assert!(status < 500, "{path}{text}: {status} {body}");
            for method in ["DELETE", "POST", "PUT"] {
                let (status, body) = running.send(method, &format!("/v1/clinic/subjects/{text}"), None, "");
                assert!(status < 500, "{method} {text}: {status} {body}");
            }
        }
    }
}
