//! The API without a socket: the router is asked, the threads behind it are real, and so is the store.

mod common;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use common::*;
use dowise_serve::{Key, Role, Sqlite, openapi};
use serde_json::{Value, json};
use tower::ServiceExt;

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

#[test]
fn ids_that_no_database_can_hold_are_refused_before_a_shared_transaction() {
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
        ("graph_watch", "/graph-watch"),
        ("decisions", "/decisions"),
    ] {
        assert_eq!(overview[part], get(path), "{part}");
    }
    assert_eq!(overview["world"]["names"], get("")["names"]);
    assert_eq!(overview["decisions"].as_array().unwrap().len(), 3);
    assert_eq!(get("/overview?limit=2")["decisions"].as_array().unwrap().len(), 2);
    assert_eq!(running.send("GET", "/v1/clinic/overview?limit=0", None, "").0, 422);
}
