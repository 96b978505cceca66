//! How many decisions and observations a second, how long they take, and what a plain web framework reaches in the same run.
//!
//! ```text
//! cargo run --release -p dowise-serve --example load                 # campaign, 1 to 64 connections
//! cargo run --release -p dowise-serve --example load -- --figure docs/figures/service-load.svg
//! cargo run --release -p dowise-serve --example load -- --alpha 0.1     # with the baseline kept
//! cargo run --release -p dowise-serve --example load -- --fill 500000  # 500,000 pairs into a store, then the time to open it
//! ```
//!
//! Client and server are threads of one process, over loopback. The ceiling is the same web framework with a handler that reads JSON and
//! answers with a fixed text: no decision, no store.

#![allow(clippy::print_stdout)] // what it prints is what it is for

use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use dowise::{Simulator, worlds};
use dowise_serve::{
    Choices, Client, Decide, Engine, LoadOptions, Observe, Request, Served, ServerOptions, Service, Sqlite, StorePlace,
    load_test, serve,
};
use serde_json::{Map, Value, json};

const WORLD: &str = "campaign";

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str, default: u64| {
        let place = args.iter().position(|a| a == name);
        place.and_then(|i| args.get(i + 1)).map_or(default, |text| text.parse().expect("a whole number"))
    };
    let place = args.iter().position(|a| a == "--alpha");
    let alpha = place.and_then(|i| args.get(i + 1)).map(|text| text.parse::<f64>().expect("a number between 0 and 1"));
    let directory = tempfile::tempdir().expect("a directory for the store");
    match number("--fill", 0) {
        0 => {
            let table = load(directory.path(), alpha, number("--customers", 1500), number("--rounds", 3));
            if let Some(file) = args.iter().position(|a| a == "--figure").and_then(|i| args.get(i + 1)) {
                std::fs::write(file, figure(&table)).expect("the figure can be written");
            }
        }
        pairs => fill(directory.path(), alpha, pairs),
    }
}

fn served(alpha: Option<f64>) -> Arc<Served> {
    let world = worlds::world(WORLD, &[]).expect("a ready-made world");
    let choices = Choices { promise: alpha.map(|alpha| [alpha, 0.05]), ..Choices::default() };
    Arc::new(Served::new(WORLD, &world, choices).expect("it can be served"))
}

/// Pairs a second, and the median and the 99th of 100 of decisions in milliseconds.
type Measured = (f64, f64, f64);

fn load(directory: &Path, alpha: Option<f64>, customers: u64, rounds: u64) -> Vec<(usize, [Measured; 2])> {
    let world = worlds::world(WORLD, &[]).expect("a ready-made world");
    let simulator = Arc::new(Simulator::new(&world).expect("it can be simulated"));
    let stop = Arc::new(AtomicBool::new(false));
    let (knowledge, address) = mpsc::channel::<SocketAddr>();
    let stopped = stop.clone();
    let options = ServerOptions {
        store: StorePlace::File(directory.join("store")),
        listen: ([127, 0, 0, 1], 0).into(),
        ..ServerOptions::default()
    };
    let service = std::thread::spawn(move || {
        serve(
            &options,
            vec![served(alpha)],
            move || stopped.load(Ordering::Relaxed),
            |address| knowledge.send(address).expect("somebody listens"),
        )
    });
    let service_url = format!("http://{}", address.recv().expect("an address"));
    let plain_url = format!("http://{}", plain());
    println!("{WORLD}: {customers} customers a round, the best of {rounds} rounds");
    println!("connections |  service pairs/s  p50 ms  p99 ms |  plain pairs/s  p50 ms  p99 ms");
    let mut crowds = 0;
    let mut table = Vec::new();
    let mut episodes = 0;
    println!("memory of the whole process before: {}", memory());
    for connections in [1, 2, 4, 8, 16, 32, 64] {
        let mut best: [Measured; 2] = [(0.0, 0.0, 0.0); 2];
        for _ in 0..rounds {
            crowds += 1;
            let one = LoadOptions {
                url: service_url.clone(),
                world: WORLD.into(),
                customers: customers.min(100 * connections as u64),
                connections,
                prefix: format!("{crowds}-"),
                seed: crowds,
                key: None,
                patience: Duration::from_secs(30),
            };
            let report = load_test(&one, &simulator).expect("the service answers");
            episodes += report.episodes;
            let times = [report.decide_ms, report.observe_ms];
            let worse = |i: usize| times[0][i].max(times[1][i]);
            let measured = [
                (report.steps as f64 / report.seconds, worse(0), worse(1)),
                ceiling(&plain_url, connections, report.steps),
            ];
            for (best, now) in best.iter_mut().zip(measured) {
                if now.0 > best.0 {
                    *best = now;
                }
            }
        }
        table.push((connections, best));
        let [service, plain] = best;
        println!(
            "{connections:>11} | {:>16.0} {:>7.2} {:>7.2} | {:>14.0} {:>7.2} {:>7.2}",
            service.0, service.1, service.2, plain.0, plain.1, plain.2
        );
    }
    println!("memory of the whole process after {episodes} episodes: {}", memory());
    stop.store(true, Ordering::Relaxed);
    service.join().expect("no panic").expect("it stops");
    table
}

/// Times against pairs a second, both logarithmic: median and 99th of 100, service and plain framework.
fn figure(table: &[(usize, [Measured; 2])]) -> String {
    use std::fmt::Write;
    let (width, height, left, bottom, top, right) = (640.0, 400.0, 70.0, 60.0, 40.0, 20.0);
    let (x_ends, y_ends) = ([10.0f64, 100_000.0], [0.01f64, 100.0]);
    let share = |v: f64, [a, b]: [f64; 2]| ((v.clamp(a, b)).log10() - a.log10()) / (b.log10() - a.log10());
    let x = |v: f64| left + share(v, x_ends) * (width - left - right);
    let y = |v: f64| height - bottom - share(v, y_ends) * (height - bottom - top);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for v in [10.0, 100.0, 1000.0, 10_000.0, 100_000.0] {
        let _ = writeln!(
            out,
            "<path d=\"M{0:.1} {top}V{1}\" stroke=\"#ddd\"/><text x=\"{0:.1}\" y=\"{2}\" text-anchor=\"{3}\">{v}</text>",
            x(v),
            height - bottom,
            height - bottom + 18.0,
            if v == x_ends[1] { "end" } else { "middle" }
        );
    }
    for v in [0.01, 0.1, 1.0, 10.0, 100.0] {
        let _ = writeln!(
            out,
            "<path d=\"M{left} {0:.1}H{1}\" stroke=\"#ddd\"/><text x=\"{2}\" y=\"{3:.1}\" text-anchor=\"end\">{v}</text>",
            y(v),
            width - right,
            left - 6.0,
            y(v) + 4.0
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{:.0}\" y=\"{}\" text-anchor=\"middle\">decide + observe pairs a second</text>",
        (left + width - right) / 2.0,
        height - 18.0
    );
    let _ = writeln!(
        out,
        "<text transform=\"translate(18 {:.0}) rotate(-90)\" text-anchor=\"middle\">milliseconds for a request</text>",
        (top + height - bottom) / 2.0
    );
    for (i, (name, colour)) in [("dowise serve", "#1b6ca8"), ("plain framework", "#999999")].into_iter().enumerate() {
        for (what, dash) in [("median", "none"), ("99 of 100", "5 4")] {
            let points: Vec<String> = table
                .iter()
                .map(|(_, of)| format!("{:.1},{:.1}", x(of[i].0), y(if what == "median" { of[i].1 } else { of[i].2 })))
                .collect();
            let _ = writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\"/>",
                points.join(" ")
            );
            let row = 2 * i + usize::from(what != "median");
            let (lx, ly) = (left + 12.0 + 195.0 * (row / 2) as f64, top - 22.0 + 16.0 * (row % 2) as f64);
            let _ = writeln!(
                out,
                "<path d=\"M{lx} {ly}h24\" stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\"/><text x=\"{}\" y=\"{}\">{name}, {what}</text>",
                lx + 30.0,
                ly + 4.0
            );
        }
        for (connections, of) in table {
            let _ = writeln!(
                out,
                "<circle cx=\"{0:.1}\" cy=\"{1:.1}\" r=\"3\" fill=\"{colour}\"/><text x=\"{0:.1}\" y=\"{2:.1}\" font-size=\"10\" fill=\"{colour}\" text-anchor=\"middle\">{connections}</text>",
                x(of[i].0),
                y(of[i].1),
                y(of[i].1) + 15.0
            );
        }
    }
    out + "</svg>\n"
}

/// Resident memory, where the system says so.
fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    line.map_or("not known".to_owned(), |line| line["VmRSS:".len()..].trim().to_owned())
}

/// A plain server: reads JSON, answers with a text as long as a decision.
fn plain() -> SocketAddr {
    let (knowledge, address) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads");
        runtime.block_on(async move {
            let answer = |body: axum::body::Bytes| async move {
                let read: Value = serde_json::from_slice(&body).unwrap_or_default();
                json!({"event_id": read["event_id"], "text": "x".repeat(600)}).to_string()
            };
            let router = axum::Router::new().route("/", axum::routing::post(answer));
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
            knowledge.send(listener.local_addr().expect("an address")).expect("somebody listens");
            axum::serve(listener, router).await.expect("it serves");
        });
    });
    address.recv().expect("an address")
}

/// As many requests to the plain server as pairs have: two each.
fn ceiling(url: &str, connections: usize, pairs: u64) -> Measured {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a thread");
    let left = Arc::new(AtomicU64::new(2 * pairs));
    let begun = Instant::now();
    let mut times: Vec<f64> = runtime.block_on(async {
        let tasks: Vec<_> = (0..connections)
            .map(|_| {
                let (url, left) = (url.to_owned(), left.clone());
                tokio::spawn(async move {
                    let mut client = Client::new(&url, None).expect("an address");
                    let body = json!({"event_id": "1-100-3", "episode_id": "1-100", "stage": 3, "state": {"a": "b", "c": "d", "e": "f"}});
                    let mut times = Vec::new();
                    while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_ok() {
                        let begun = Instant::now();
                        client.post("/", &body, Duration::from_secs(5)).await.expect("it answers");
                        times.push(begun.elapsed().as_secs_f64() * 1e3);
                    }
                    times
                })
            })
            .collect();
        let mut all = Vec::new();
        for task in tasks {
            all.extend(task.await.expect("no panic"));
        }
        all
    });
    let seconds = begun.elapsed().as_secs_f64();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() as f64 * share) as usize).min(times.len() - 1)];
    (pairs as f64 / seconds, at(0.5), at(0.99))
}

/// Fills a store, and measures how long it takes to open.
fn fill(directory: &Path, alpha: Option<f64>, pairs: u64) {
    let file = directory.join("store");
    let served = served(alpha);
    let world = &served.world;
    let mut engine =
        Engine::open(Box::new(Sqlite::open(&file).expect("a store")), vec![served.clone()], 0).expect("it opens");
    let begun = Instant::now();
    let named =
        |pairs: Vec<(&str, &str)>| pairs.into_iter().map(|(k, v)| (k.to_owned(), json!(v))).collect::<Map<_, _>>();
    let keys: Map<String, Value> =
        world.keys().iter().map(|&id| (world.variable(id).name.clone(), json!(world.variable(id).values[0]))).collect();
    for i in 0..pairs {
        if i % 1000 == 0 {
            engine.begin().expect("it can be written");
        }
        let stage = i as usize % world.horizon();
        let (id, episode, state) =
            (format!("{i}"), format!("e{}", i as usize / world.horizon()), named(world.state_names(0)));
        let body = json!({"event_id": id, "episode_id": episode, "stage": stage + 1, "state": state});
        let asked = Request::Decide(Decide::read(&served, &body).expect("a request"));
        engine.handle(0, &asked, &body, i).expect("it decides");
        let body = json!({"observation_id": id, "event_id": id, "keys": keys, "next_state": state});
        let seen = Request::Observe(Observe::read(&served, &body).expect("a request"));
        engine.handle(0, &seen, &body, i).expect("it learns");
        if i % 1000 == 999 || i + 1 == pairs {
            engine.commit().expect("it can be written");
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{} events written in {seconds:.0} s ({:.0} pairs a second, no network)",
        2 * pairs,
        pairs as f64 / seconds
    );
    let last = engine.store().last().expect("it can be read").0;
    drop(engine);
    println!("{} MB", std::fs::metadata(&file).map_or(0, |m| m.len()) >> 20);
    for time in ["first", "second"] {
        let begun = Instant::now();
        let options = ServerOptions { store: StorePlace::File(file.clone()), ..ServerOptions::default() };
        let service = Service::start(&options, vec![served.clone()]).expect("it opens");
        println!("opened for the {time} time in {:.2} s", begun.elapsed().as_secs_f64());
        // The log that no policy has been made of is applied beside; it is waited for here, decisions do not wait.
        while service.learned(0) < last {
            std::thread::sleep(Duration::from_millis(10));
        }
        println!("  all of the log learned after {:.1} s", begun.elapsed().as_secs_f64());
        std::thread::sleep(Duration::from_secs(3));
        service.stop().expect("it stops");
    }
}
