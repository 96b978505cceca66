//! The API when something is wrong: the store is gone or hangs, a client asks too often, requests that nobody would write.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use common::*;
use dowise_serve::{Episode, Event, EventKind, Parked, Step, StoredSnapshot};
use dowise_serve::{Key, Role, ServerOptions, Sqlite, Store, StoreError};
use proptest::prelude::*;
use serde_json::{Value, json};

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
fn a_breakable_store_keeps_the_contract_while_it_is_sound() {
    let directory = tempfile::tempdir().unwrap();
    let sound = Arc::new(AtomicU8::new(SOUND));
    keeps_the_store_contract(&|access| {
        Box::new(Breakable(sqlite(&directory.path().join("store"), access), sound.clone()))
    });
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
