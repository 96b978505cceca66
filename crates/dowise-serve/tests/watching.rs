//! The monitor of the graph follows from the log: gone on event by event, kept and restored, corrected and deleted, it is the same.

mod common;

use std::time::{Duration, Instant};

use common::*;
use dowise::learn::{GraphMonitor, GraphWatch};
use dowise::{Simulator, World};
use dowise_serve::{Engine, Learned, Request, Watching, replay};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Plays episodes whose next state follows a lever directly with some probability: no key variable explains that.
fn played(engine: &mut Engine, episodes: std::ops::Range<u64>, past: f64) {
    let world = world();
    let simulator = Simulator::new(&world).unwrap();
    for number in episodes {
        let mut customer = Customer::new(&simulator, number);
        for _ in 0..world.horizon() {
            let answer = decide(engine, &customer.question(&world)).unwrap();
            let mut seen = customer.outcome(&simulator, &answer.body);
            let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11;
            if (mixed as f64 / (1u64 << 53) as f64) < past && answer.body.contains("\"door\"") {
                seen["next_state"]["mood"] = json!("high");
                customer.state = 2;
            }
            observe(engine, &seen).unwrap();
        }
    }
}

fn last(engine: &Engine) -> u64 {
    engine.store().last().unwrap().0
}

/// By the library alone, from the effects of the log.
fn by_hand(engine: &Engine) -> GraphWatch {
    let served = &engine.worlds()[0].served;
    let mut monitor = GraphMonitor::new(&served.knowledge, 0.05).unwrap();
    let effects = engine.store().effects("clinic", 0, u64::MAX >> 1, 100_000).unwrap();
    let effects: Vec<dowise_serve::Effect> = effects.iter().map(|(_, e)| serde_json::from_str(e).unwrap()).collect();
    let mut back: Vec<&Learned> = effects.iter().flat_map(|e| &e.back).collect();
    for step in effects.iter().flat_map(|e| &e.add) {
        match back.iter().position(|b| *b == step) {
            Some(i) => drop(back.remove(i)),
            None => monitor.observe(&step.observation(served).unwrap()).unwrap(),
        }
    }
    assert!(back.is_empty(), "whatever was taken back was there");
    monitor.report()
}

/// Goes on until nothing is left to be done.
fn caught_up(watching: &mut Watching, engine: &Engine, most: usize) {
    let (served, upto) = (&engine.worlds()[0].served, last(engine));
    while watching.advance(served, engine.store(), upto, most).unwrap() || watching.is_stale() {
        if watching.is_stale() {
            watching.begin_again(served, engine.store(), upto).unwrap();
        }
    }
}

fn of_log(engine: &Engine) -> GraphWatch {
    Watching::of_log(&engine.worlds()[0].served, engine.store(), last(engine)).unwrap().knowledge().report
}

#[test]
fn a_right_graph_stands_and_a_lever_that_acts_past_the_keys_is_named() {
    let mut right = engine();
    played(&mut right, 0..60, 0.0);
    let watch = of_log(&right);
    assert!(!watch.contradicted && watch.steps == 180, "{watch:?}");
    assert_eq!(watch, by_hand(&right));

    let mut wrong = engine();
    played(&mut wrong, 0..400, 0.9);
    let found = of_log(&wrong).found.expect("a lever that decides the next mood is noticed");
    assert_eq!((found.variable.as_str(), found.outcome.as_str()), ("shoes", "mood"), "{found:?}");
}

/// What happens to a log.
#[derive(Clone, Debug)]
enum Op {
    Play,
    Correct(u64),
    Forget(u64),
    Publish,
    Look(usize),
    Keep,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => Just(Op::Play),
        2 => (0..12u64).prop_map(Op::Correct),
        1 => (0..12u64).prop_map(Op::Forget),
        1 => Just(Op::Publish),
        3 => (1..9usize).prop_map(Op::Look),
        1 => Just(Op::Keep),
    ]
}

/// Another mood after the last stage of an episode.
fn corrected(engine: &mut Engine, episode: u64, i: usize) {
    let body = json!({"observation_id": format!("again{i}"), "event_id": format!("patient{episode}-3"), "correction": true,
                      "next_state": {"mood": if i.is_multiple_of(2) { "low" } else { "high" }}});
    let _ = observe(engine, &body);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn whatever_happens_to_a_log_the_monitor_is_the_one_of_the_log(ops in prop::collection::vec(op(), 1..24)) {
        let mut engine = engine();
        let served = engine.worlds()[0].served.clone();
        let mut watching = Watching::open(&served, engine.store()).unwrap();
        let mut episodes = 0;
        for (i, op) in ops.into_iter().enumerate() {
            match op {
                Op::Play => {
                    played(&mut engine, episodes..episodes + 1, 0.3);
                    episodes += 1;
                }
                // What is observed of a decision that has not come waits for it.
                Op::Correct(episode) if episode >= episodes => {}
                Op::Correct(episode) => corrected(&mut engine, episode, i),
                Op::Forget(episode) => {
                    let id = format!("patient{episode}");
                    let _ = engine.submit(0, &Request::Forget { episode: id.clone() }, &json!({"episode_id": id}), 2000);
                }
                Op::Publish => publish_with(&mut engine, None),
                Op::Look(most) => {
                    let upto = last(&engine);
                    watching.advance(&served, engine.store(), upto, most).unwrap();
                    if watching.is_stale() {
                        watching.begin_again(&served, engine.store(), upto).unwrap();
                    }
                }
                Op::Keep => {
                    publish_with(&mut engine, Some(watching.kept()));
                    prop_assert!(replay(engine.store()).is_ok(), "{:?}", replay(engine.store()));
                    watching = Watching::open(&served, engine.store()).unwrap();
                }
            }
        }
        caught_up(&mut watching, &engine, 7);
        prop_assert_eq!(&watching.knowledge().report, &of_log(&engine));
        prop_assert_eq!(&watching.knowledge().report, &by_hand(&engine));
    }
}

#[test]
fn a_monitor_that_does_not_follow_from_the_log_is_found_by_the_replay() {
    let mut engine = engine();
    played(&mut engine, 0..4, 0.0);
    let served = engine.worlds()[0].served.clone();
    let mut watching = Watching::open(&served, engine.store()).unwrap();
    caught_up(&mut watching, &engine, 100);
    publish_with(&mut engine, Some(watching.kept()));
    assert_eq!(replay(engine.store()).unwrap().monitors, 1);
    let mut other = common::engine();
    played(&mut other, 4..8, 0.0);
    let mut of_other = Watching::open(&served, other.store()).unwrap();
    caught_up(&mut of_other, &other, 100);
    publish_with(&mut engine, Some(of_other.kept()));
    assert!(replay(engine.store()).unwrap_err().to_string().contains("the monitor of its graph"));
    publish_with(&mut engine, Some(b"nothing".to_vec()));
    assert!(replay(engine.store()).unwrap_err().to_string().contains("the monitor of its graph"));
}

/// The same through the service: the page says it, and so do the metrics; after a restart it is known at once.
#[test]
fn a_running_service_says_that_the_graph_is_contradicted() {
    let running = Running::start(|_| {});
    let (world, get) = (world(), |path: &str| -> Value {
        let (status, text) = running.send("GET", path, None, "");
        assert_eq!(status, 200, "{path}: {text}");
        serde_json::from_str(&text).unwrap()
    });
    assert!(get("/v1/clinic/graph-watch")["sentence"].as_str().unwrap().contains("declared graph"));
    play_wrong(&running, &world, 300);
    let begun = Instant::now();
    let watch = loop {
        let watch = get("/v1/clinic/graph-watch");
        if watch["contradicted"] == json!(true) {
            break watch;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{watch}");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(watch["found"]["variable"], json!("shoes"), "{watch}");
    assert!(watch["sentence"].as_str().unwrap().contains("The lever shoes acts on the next mood directly"), "{watch}");
    let overview = get("/v1/clinic/overview");
    assert!(overview["world"]["sentence"].as_str().unwrap().contains("contradicted"), "{}", overview["world"]);
    assert!(running.send("GET", "/metrics", None, "").1.contains("dowise_graph_contradicted{world=\"clinic\"} 1"));
    running.replayed();
}

/// Episodes over HTTP in which the shoes at the door make for a high mood.
fn play_wrong(running: &Running, world: &World, episodes: u64) {
    let simulator = Simulator::new(world).unwrap();
    for number in 0..episodes {
        let mut customer = Customer::new(&simulator, number);
        for _ in 0..world.horizon() {
            let (status, answer) = running.post("/v1/clinic/decide", &customer.question(world));
            assert_eq!(status, 200, "{answer}");
            let mut seen = customer.outcome(&simulator, &answer.to_string());
            if answer["intervention"]["shoes"] == json!("door") {
                seen["next_state"]["mood"] = json!("high");
                customer.state = 2;
            }
            assert_eq!(running.post("/v1/clinic/observe", &seen).0, 200);
        }
    }
}
