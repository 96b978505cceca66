//! The service as a process: killed at random points under load, on a full disk, asked by curl, and its log read by other commands.

#![allow(clippy::print_stdout)] // many rounds say how many there were

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dowise::{Simulator, World};
use dowise_serve::{Client, LoadOptions, load_test};
use serde_json::{Value, json};

/// Small: a plan takes no time, so that what is tested is the service.
const WORLD: &str = include_str!("cmd/logs.in/walk.toml");

struct Place {
    directory: tempfile::TempDir,
    port: u16,
    /// What else the service is given.
    more: &'static [&'static str],
}

/// A service that ends with the test, however the test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Place {
    fn new() -> Place {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("walk.toml"), WORLD).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Place { directory, port, more: &[] }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Starts the service; `before` is what the shell does first.
    fn serve(&self, before: &str) -> Running {
        self.serve_by(env!("CARGO_BIN_EXE_dowise").as_ref(), before)
    }

    /// The same with another program.
    fn serve_by(&self, program: &Path, before: &str) -> Running {
        let line = format!("{before} exec \"$0\" \"$@\"");
        let mut child = Command::new("sh")
            .args(["-c", &line])
            .arg(program)
            .args(["serve", "walk.toml", "--store", "store"])
            .args(["--pace", "0.05", "--samples", "4", "--log", "off", "--listen", &format!("127.0.0.1:{}", self.port)])
            .args(self.more)
            .current_dir(self.directory.path())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("serving"), "{line}");
        Running(child)
    }

    fn dowise(&self, args: &[&str]) -> (bool, String) {
        let out =
            Command::new(env!("CARGO_BIN_EXE_dowise")).args(args).current_dir(self.directory.path()).output().unwrap();
        (
            out.status.success(),
            String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr),
        )
    }

    fn load_test(&self, prefix: &str, customers: u64) -> LoadOptions {
        LoadOptions {
            url: self.url(),
            world: "walk".into(),
            customers,
            connections: 8,
            prefix: prefix.into(),
            seed: 3,
            key: None,
            patience: Duration::from_secs(120),
        }
    }

    /// Sends one request and waits for its answer.
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Option<(u16, String)> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut client = Client::new(&self.url(), None).unwrap();
        runtime.block_on(client.send(method, path, body)).ok()
    }

    /// Plays the log again; decisions and steps learned from, as the command says.
    fn replayed(&self, store: &str) -> (u64, u64) {
        let (fine, said) = self.dowise(&["replay", store]);
        assert!(fine, "{said}");
        let number_before = |word: &str| {
            let before = said.split(word).next().unwrap();
            let digits: String =
                before.chars().rev().take_while(|c| c.is_ascii_digit() || *c == ',' || *c == ' ').collect();
            digits.chars().rev().filter(char::is_ascii_digit).collect::<String>().parse::<u64>().unwrap()
        };
        (number_before("decisions"), number_before("steps learned"))
    }
}

fn simulator() -> Arc<Simulator> {
    Arc::new(Simulator::new(&World::from_toml(WORLD, "walk.toml").unwrap()).unwrap())
}

/// Times the service is killed: few by default, more with FAULT_ROUNDS.
fn rounds() -> u64 {
    std::env::var("FAULT_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(4)
}

#[test]
fn a_service_killed_under_load_loses_nothing_acknowledged_and_repeats_nothing() {
    // With the baseline kept, so that episodes have an account and a policy of their own besides.
    let place = Place { more: &["--alpha", "0.3"], ..Place::new() };
    let mut service = place.serve("");
    let simulator = simulator();
    let done = Arc::new(AtomicBool::new(false));
    let episodes = Arc::new(AtomicU64::new(0));
    // Loads follow one another until the last kill, so that every kill finds requests on their way.
    let playing = {
        let (done, episodes, simulator) = (done.clone(), episodes.clone(), simulator.clone());
        let mut options = place.load_test("", 20);
        std::thread::spawn(move || {
            let mut n = 0;
            while !done.load(Ordering::SeqCst) {
                options.prefix = format!("c{n}-");
                options.seed = n;
                let report = load_test(&options, &simulator).expect("every request is answered in the end");
                assert_eq!((report.episodes, report.steps), (20, 20 * simulator.world().horizon() as u64));
                episodes.fetch_add(report.episodes, Ordering::SeqCst);
                n += 1;
            }
        })
    };
    let mut wait = 0x9e37_79b9_u64;
    let mut last = 0;
    for round in 0..rounds() {
        wait = wait.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let begun = Instant::now();
        // Something was answered since the last kill, and then a while passes that nobody can foresee.
        while episodes.load(Ordering::SeqCst) <= last && !playing.is_finished() {
            assert!(begun.elapsed() < Duration::from_secs(60), "nothing is answered");
            std::thread::sleep(Duration::from_millis(2));
        }
        last = episodes.load(Ordering::SeqCst);
        std::thread::sleep(Duration::from_micros((wait >> 33) % 60_000));
        assert!(!playing.is_finished(), "round {round}: the crowd is still playing when the service is killed");
        service.0.kill().unwrap();
        service.0.wait().unwrap();
        service = place.serve("");
    }
    done.store(true, Ordering::SeqCst);
    playing.join().unwrap();
    let steps = episodes.load(Ordering::SeqCst) * simulator.world().horizon() as u64;
    // A copy while it runs, and a graceful stop.
    let (fine, said) = place.dowise(&["backup", "store", "copy"]);
    assert!(fine, "{said}");
    assert!(Command::new("kill").arg(service.0.id().to_string()).status().unwrap().success());
    let begun = Instant::now();
    assert!(service.0.wait().unwrap().success());
    assert!(begun.elapsed() < Duration::from_secs(20));
    let (fine, said) = place.dowise(&["restore", "copy", "store"]);
    assert!(!fine && said.contains("move it away first"), "{said}");
    let (fine, said) = place.dowise(&["restore", "copy", "again"]);
    assert!(fine, "{said}");
    for store in ["store", "copy", "again"] {
        assert_eq!(place.replayed(store), (steps, steps), "{store}");
    }
    println!("{} kills, {steps} decisions, none lost, none twice", rounds());
}

/// Versions follow one another on one store while a crowd plays: each is stopped as an operator would, or dies, and the next one starts. Both are
/// this program under two names, unless DOWISE_OLD names an earlier one, which then serves first.
#[test]
fn versions_follow_one_another_under_load_and_nothing_is_lost() {
    let place = Place::new();
    let this = PathBuf::from(env!("CARGO_BIN_EXE_dowise"));
    let next = place.file("dowise-next");
    std::fs::copy(&this, &next).unwrap();
    let old = std::env::var_os("DOWISE_OLD").map(PathBuf::from);
    let mut service = place.serve_by(old.as_ref().unwrap_or(&this), "");
    let simulator = simulator();
    let done = Arc::new(AtomicBool::new(false));
    let played = Arc::new(AtomicU64::new(0));
    let playing = {
        let (done, played, simulator) = (done.clone(), played.clone(), simulator.clone());
        let mut options = place.load_test("", 20);
        std::thread::spawn(move || {
            let mut n = 0;
            while !done.load(Ordering::SeqCst) {
                (options.prefix, options.seed) = (format!("u{n}-"), n);
                let report = load_test(&options, &simulator).expect("every request is answered in the end");
                played.fetch_add(report.steps, Ordering::SeqCst);
                n += 1;
            }
        })
    };
    for round in 0..rounds() {
        let (before, begun) = (played.load(Ordering::SeqCst), Instant::now());
        while played.load(Ordering::SeqCst) == before && !playing.is_finished() {
            assert!(begun.elapsed() < Duration::from_secs(60), "nothing is answered");
            std::thread::sleep(Duration::from_millis(2));
        }
        assert!(!playing.is_finished(), "round {round}: the crowd is still playing when the next version comes");
        if round % 2 == 0 {
            assert!(Command::new("kill").arg(service.0.id().to_string()).status().unwrap().success());
            assert!(service.0.wait().unwrap().success(), "round {round}: it stops after what was asked is answered");
        } else {
            service.0.kill().unwrap();
            service.0.wait().unwrap();
        }
        service = place.serve_by(if round % 2 == 0 { &next } else { &this }, "");
    }
    done.store(true, Ordering::SeqCst);
    playing.join().unwrap();
    let steps = played.load(Ordering::SeqCst);
    assert!(Command::new("kill").arg(service.0.id().to_string()).status().unwrap().success());
    assert!(service.0.wait().unwrap().success());
    assert_eq!(place.replayed("store"), (steps, steps));
    println!("{} upgrades, {steps} decisions, none lost, none twice", rounds());
}

#[test]
fn on_a_full_disk_nothing_is_decided_that_is_not_written() {
    let place = Place::new();
    // No file may grow beyond 2000 blocks of 512 bytes; the process is given so by an error, not killed.
    let mut service = place.serve("trap '' XFSZ; ulimit -f 2000;");
    let simulator = simulator();
    let state = |i: u64| json!({"mood": if i.is_multiple_of(2) { "low" } else { "high" }});
    let (mut answered, mut refused) = (Vec::new(), 0);
    for i in 0..3000 {
        let body = json!({"event_id": format!("d{i}"), "episode_id": format!("d{i}"), "state": state(i)});
        match place.ask("POST", "/v1/walk/decide", Some(&body)) {
            Some((200, answer)) => answered.push((body, answer)),
            Some((503, _)) => refused += 1,
            other => panic!("{other:?}"),
        }
        if refused >= 20 {
            break;
        }
    }
    assert!(refused >= 20 && answered.len() > 10, "{refused} refused, {} answered", answered.len());
    assert_eq!(place.ask("GET", "/healthz", None).map(|a| a.0), Some(200));
    service.0.kill().unwrap();
    service.0.wait().unwrap();
    drop(service);
    let _service = place.serve("");
    let before = answered.len() as u64;
    for (body, answer) in &answered {
        assert_eq!(place.ask("POST", "/v1/walk/decide", Some(body)), Some((200, answer.clone())), "the stored answer");
    }
    load_test(&place.load_test("after-", 5), &simulator).unwrap();
    assert_eq!(place.replayed("store").0, before + 5 * simulator.world().horizon() as u64);
}

#[test]
fn what_was_served_is_a_log_that_other_commands_read() {
    let place = Place::new();
    let _service = place.serve("");
    let report = load_test(&place.load_test("", 150), &simulator()).unwrap();
    assert_eq!(report.episodes, 150);
    let (status, log) = place.ask("GET", "/v1/walk/export", None).unwrap();
    assert_eq!(status, 200);
    std::fs::write(place.file("served.csv"), log).unwrap();
    let (fine, plan) = place.dowise(&["plan", "walk.toml", "--json"]);
    assert!(fine, "{plan}");
    std::fs::write(place.file("policy.json"), plan).unwrap();
    for args in [
        &["data", "served.csv", "walk.toml"][..],
        &["fit", "walk.toml", "served.csv", "-o", "fitted.toml"],
        &["evaluate", "walk.toml", "served.csv", "--policy", "policy.json"],
        // What is served depends on when the policies change: at the level 0.05 a true graph would fail every tenth run.
        &["test", "walk.toml", "served.csv", "--level", "1e-6"],
    ] {
        let (fine, said) = place.dowise(args);
        assert!(fine, "{args:?}: {said}");
    }
    let (_, said) = place.dowise(&["data", "served.csv", "walk.toml"]);
    assert!(said.contains("450 rows, 150 episodes"), "{said}");
    let (status, text) = place.ask("GET", "/v1/walk", None).unwrap();
    let how: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, &how["window"]["episodes"]), (200, &json!(150)));
    assert!((how["paid"]["mean"].as_f64().unwrap() - report.mean_reward).abs() < 1e-9, "{how}");
}

#[test]
fn others_cannot_be_served_without_keys_and_a_store_is_served_once() {
    let place = Place::new();
    let args = ["serve", "walk.toml", "--samples", "1", "--listen", "0.0.0.0:0", "--store", "other"];
    let (fine, said) = place.dowise(&args);
    assert!(!fine && said.contains("dowise keys add admin"), "{said}");
    let _service = place.serve("");
    let (fine, said) = place.dowise(&["serve", "walk.toml", "--store", "store", "--listen", "127.0.0.1:0"]);
    assert!(!fine && said.contains("served already"), "{said}");
    assert!(Path::new(&place.file("store")).exists());
}

/// The commands of the first section of docs/reference/service.md, one by one: a command goes on while a quote is open.
fn walk_through() -> Vec<String> {
    let docs = include_str!("../../../docs/reference/service.md");
    let section = docs.split("## What can be relied on").next().unwrap();
    let mut commands: Vec<String> = Vec::new();
    let mut open = false;
    for line in section.lines().filter_map(|line| line.strip_prefix("    ")) {
        match commands.last_mut() {
            Some(command) if open => *command += &format!("\n{line}"),
            _ => commands.push(line.to_owned()),
        }
        open ^= line.matches('\'').count() % 2 == 1;
    }
    commands
}

#[test]
fn every_line_of_the_walk_through_in_the_docs_runs() {
    let place = Place::new();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_dowise"), place.file("dowise")).unwrap();
    let path = format!("{}:{}", place.directory.path().display(), std::env::var("PATH").unwrap());
    let shell = |command: &str| {
        let mut shell = Command::new("sh");
        shell
            .args(["-ec", &command.replace("8080", &place.port.to_string())])
            .current_dir(place.directory.path())
            .env("PATH", &path);
        shell
    };
    let mut service = None;
    let commands = walk_through();
    assert!(commands.iter().filter(|c| c.starts_with("curl")).count() >= 5, "{commands:?}");
    for command in commands {
        if command.starts_with("dowise serve") {
            let listen = format!("exec {command} --listen 127.0.0.1:8080");
            service = Some(Running(shell(&listen).spawn().unwrap()));
            let begun = Instant::now();
            while place.ask("GET", "/readyz", None).map(|answer| answer.0) != Some(200) {
                assert!(begun.elapsed() < Duration::from_secs(60), "it does not start");
                std::thread::sleep(Duration::from_millis(50));
            }
            continue;
        }
        let out = shell(&command).output().unwrap();
        let said = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{command}: {said}");
        if command.starts_with("curl") {
            let answer: Value = serde_json::from_str(&said).unwrap_or_else(|e| panic!("{command}: {e}: {said}"));
            assert!(answer.get("title").is_none(), "{command}: {said}");
        }
    }
    assert!(service.is_some());
}

#[test]
fn policies_and_modes_change_under_load_and_the_log_still_replays() {
    let place = Place::new();
    let service = place.serve("");
    let simulator = simulator();
    let playing = {
        let (options, simulator) = (place.load_test("", 300), simulator.clone());
        std::thread::spawn(move || load_test(&options, &simulator).unwrap())
    };
    let mut changes = 0;
    while !playing.is_finished() {
        let version = [json!("previous"), json!(1), json!("latest")][changes % 3].clone();
        let mode = ["shadow", "online", "frozen", "stop", "online", "learn-only"][changes % 6];
        for (path, body) in [("policies", json!({"version": version})), ("mode", json!({"mode": mode}))] {
            let (status, said) = place.ask("POST", &format!("/v1/walk/{path}"), Some(&body)).unwrap();
            assert_eq!(status, 200, "{said}");
        }
        changes += 1;
    }
    let report = playing.join().unwrap();
    assert!(changes >= 6, "{changes} changes were made while the crowd played");
    let (status, said) = place.ask("GET", "/v1/walk/policies/difference?from=1", None).unwrap();
    assert_eq!(status, 200, "{said}");
    // While it runs, and after it was killed.
    assert_eq!(place.replayed("store").0, report.steps);
    drop(service);
    assert_eq!(place.replayed("store").0, report.steps);
}

#[test]
fn a_connection_that_says_nothing_more_does_not_hold_up_the_end() {
    use std::io::Write;
    let place = Place::new();
    let mut service = place.serve("");
    let mut half = std::net::TcpStream::connect(("127.0.0.1", place.port)).unwrap();
    half.write_all(b"POST /v1/walk/decide HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{\"event_id\"").unwrap();
    load_test(&place.load_test("", 3), &simulator()).unwrap();
    assert!(Command::new("kill").arg(service.0.id().to_string()).status().unwrap().success());
    let begun = Instant::now();
    assert!(service.0.wait().unwrap().success(), "it ends as it should");
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!(place.replayed("store").0, 9);
}
