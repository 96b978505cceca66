//! Whether memory stays as it is: a service with its threads, asked for a million episodes of one step each.
//!
//! ```text
//! cargo run --release -p dowise-serve --example memory              # 1,000,000 episodes
//! cargo run --release -p dowise-serve --example memory -- 100000
//! ```
//!
//! The router is asked without sockets, by tasks of the same process, so its resident memory is that of the service and of its clients.

#![allow(clippy::print_stdout)] // what it prints is what it is for

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use dowise::simulate::Outcome;
use dowise::world::{Given, GivenValue};
use dowise::{Simulator, World, worlds};
use dowise_serve::{Choices, Served, ServerOptions, Service, StorePlace};
use serde_json::{Map, Value, json};
use tower::ServiceExt;

/// Customers at a time.
const TASKS: u64 = 256;

fn main() {
    let episodes: u64 = std::env::args().nth(1).map_or(1_000_000, |text| text.parse().expect("a whole number"));
    // One step, so that a million episodes are a million decisions.
    let whole = worlds::world("treatment", &[]).expect("a ready-made world").to_toml();
    let text: Vec<&str> = whole.lines().map(|l| if l.starts_with("horizon =") { "horizon = 1" } else { l }).collect();
    let world = World::from_toml(&text.join("\n"), "treatment.toml").expect("a world");
    let directory = tempfile::tempdir().expect("a directory for the store");
    let file = directory.path().join("store");
    let options = ServerOptions { store: StorePlace::File(file.clone()), ..ServerOptions::default() };
    let served = Arc::new(Served::new("treatment", &world, Choices::default()).expect("it can be served"));
    let service = Service::start(&options, vec![served]).expect("it starts");
    let simulator = Arc::new(Simulator::new(&world).expect("it can be simulated"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a thread");
    let (done, begun) = (Arc::new(AtomicU64::new(0)), Instant::now());
    println!("  episodes  seconds  resident, MB  store, MB  policies");
    let every = (episodes / 20).max(1);
    runtime.block_on(async {
        let tasks: Vec<_> = (0..TASKS)
            .map(|task| {
                let (router, simulator, done) = (service.router(), simulator.clone(), done.clone());
                let file = file.clone();
                tokio::spawn(async move {
                    for number in (task..episodes).step_by(TASKS as usize) {
                        play(&router, &simulator, number).await;
                        let n = done.fetch_add(1, Ordering::Relaxed) + 1;
                        if n == 1000 || n % every == 0 {
                            let store = std::fs::metadata(&file).map_or(0, |m| m.len()) >> 20;
                            let (_, policies) = ask(&router, "GET", "policies", &Value::Null).await;
                            let version = policies[0]["version"].as_u64().unwrap_or(0);
                            let seconds = begun.elapsed().as_secs_f64();
                            println!("{n:>10}  {seconds:>7.0}  {:>12.1}  {store:>9}  {version:>8}", resident());
                        }
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("no panic");
        }
    });
    service.stop().expect("it stops");
}

/// One episode: a decision, and what came of it.
async fn play(router: &Router, simulator: &Simulator, number: u64) {
    let world = simulator.world();
    let [mut starts, mut rng] = Simulator::streams(number);
    let state = simulator.start(&mut starts);
    let id = number.to_string();
    let question = json!({"event_id": id, "episode_id": id, "state": named(world.state_names(state))});
    let (status, answer) = ask(router, "POST", "decide", &question).await;
    assert_eq!(status, 200, "{answer}");
    let levers = answer["intervention"].as_object().into_iter().flatten();
    let levers = levers.map(|(k, v)| (k.clone(), GivenValue::Name(v.as_str().unwrap_or_default().to_owned())));
    let action = world.read_action(&Given::Named(levers.collect())).expect("an intervention");
    let mut out = Outcome::default();
    simulator.step(state, action, &mut rng, &mut out);
    let seen = json!({"observation_id": id, "event_id": id, "keys": keys(world, &out), "next_state": named(world.state_names(out.next_state))});
    let (status, answer) = ask(router, "POST", "observe", &seen).await;
    assert_eq!(status, 200, "{answer}");
}

async fn ask(router: &Router, method: &str, verb: &str, body: &Value) -> (u16, Value) {
    let request = Request::builder().method(method).uri(format!("/v1/treatment/{verb}"));
    let request = request.body(Body::from(body.to_string())).expect("a request");
    let response = router.clone().oneshot(request).await.expect("an answer");
    let status = response.status().as_u16();
    let bytes = to_bytes(response.into_body(), 1 << 24).await.expect("a body");
    (status, serde_json::from_slice(&bytes).unwrap_or_default())
}

fn named(pairs: Vec<(&str, &str)>) -> Map<String, Value> {
    pairs.into_iter().map(|(k, v)| (k.to_owned(), json!(v))).collect()
}

fn keys(world: &World, out: &Outcome) -> Map<String, Value> {
    let one = |&id: &dowise::world::VarId| {
        let variable = world.variable(id);
        (variable.name.clone(), json!(variable.values[out.values[id.ix()] as usize]))
    };
    world.keys().iter().map(one).collect()
}

/// Resident memory in megabytes, where the system says so.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kilobytes.map_or(f64::NAN, |kb| kb / 1024.0)
}
