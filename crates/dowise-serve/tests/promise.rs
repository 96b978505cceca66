//! The promise to keep to the baseline, as a guardrail of the service: it is kept, it is said, and the log gives the same decisions again.

mod common;

use common::*;
use dowise::{Planner, Simulator};
use dowise_serve::{Choices, Engine, Mode, Request, Snapshot, Sqlite, replay};
use serde_json::{Value, json};

const ALPHA: f64 = 0.2;
const KEPT: &str = "baseline kept: what episodes paid does not yet allow another one of the policy";

/// The best plan as the baseline, so that whatever is learned cannot be better.
fn promising() -> Choices {
    let baseline = Planner::new(&world()).unwrap().plan().policy_hs;
    Choices { promise: Some([ALPHA, 0.05]), baseline: Some(baseline), ..choices() }
}

/// Plays one episode to its end; the answers.
fn play(engine: &mut Engine, number: u64) -> Vec<Value> {
    let world = world();
    let simulator = Simulator::new(&world).unwrap();
    let mut customer = Customer::new(&simulator, number);
    let mut answers = Vec::new();
    for _ in 0..world.horizon() {
        let answer = decide(engine, &customer.question(&world)).unwrap();
        let seen = customer.outcome(&simulator, &answer.body);
        observe(engine, &seen).unwrap();
        answers.push(serde_json::from_str(&answer.body).unwrap());
    }
    answers
}

fn is_kept(answer: &Value) -> bool {
    answer["guardrails"].as_array().unwrap().iter().any(|g| g == KEPT)
}

/// The account as the log has it last: (episodes, of the baseline).
fn account(engine: &Engine) -> Value {
    let bytes = engine.store().value("promise/clinic").unwrap().unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

#[test]
fn whole_episodes_are_left_to_the_baseline_and_the_promise_is_kept_at_all_times() {
    let world = world();
    let planner = Planner::new(&world).unwrap();
    let n = world.n_states();
    let mut engine = engine_with(promising());
    let best = planner.plan();
    let (mut gained, mut promised, mut fell_back) = (0.0, 0.0, 0);
    for number in 0..150 {
        let start = Customer::new(&Simulator::new(&world).unwrap(), number).state;
        let active = engine.worlds()[0].active.clone();
        let answers = play(&mut engine, number);
        // The baseline decides in all of an episode or in none of it.
        let kept = is_kept(&answers[0]);
        assert!(answers.iter().all(|a| is_kept(a) == kept && (a["why"] == "baseline") == kept), "{answers:?}");
        assert!(answers.iter().all(|a| !kept || a["propensity"] == 1.0));
        let value = match kept {
            true => best.value_hs[start],
            false => {
                let k = active.index(&[7; 32], &format!("patient{number}"));
                planner.evaluate(&active.samples[k]).unwrap()[..n][start]
            }
        };
        fell_back += u32::from(kept);
        // The least that an episode can pay: nothing, less what levers cost.
        let least = world.horizon() as f64 * -0.01;
        gained += value - least;
        promised += (1.0 - ALPHA) * (best.value_hs[start] - least);
        assert!(gained >= promised, "broken after {number} episodes: {gained} {promised}");
        if number % 10 == 9 {
            publish(&mut engine);
        }
    }
    assert!((4..150).contains(&fell_back), "{fell_back}");
    let account = account(&engine);
    assert_eq!(account["own"]["ended"].as_u64().unwrap(), u64::from(fell_back));
    assert_eq!(account["others"]["ended"].as_u64().unwrap(), 150 - u64::from(fell_back));
    assert_eq!((&account["own"]["open"], &account["others"]["open"]), (&json!(0), &json!(0)));
    assert!(engine.store().values("promised/").unwrap().is_empty(), "no name is left of episodes that ended");
    replay(engine.store()).unwrap();
}

#[test]
fn unfinished_episodes_count_as_if_they_had_returned_nothing() {
    let mut engine = engine_with(promising());
    let world = world();
    let simulator = Simulator::new(&world).unwrap();
    (0..40).for_each(|number| drop(play(&mut engine, number)));
    // Everybody begins at once, and nothing is heard of anybody: few may follow the policy.
    let first = |engine: &mut Engine, number: u64| -> Value {
        let question = Customer::new(&simulator, number).question(&world);
        serde_json::from_str(&decide(engine, &question).unwrap().body).unwrap()
    };
    let kept = (100..160).filter(|&number| is_kept(&first(&mut engine, number))).count();
    assert!(kept >= 30, "{kept} of 60");
    replay(engine.store()).unwrap();
}

#[test]
fn the_log_replays_after_episodes_were_deleted_corrected_or_expired() {
    let mut engine = engine_with(promising());
    (0..30).for_each(|number| drop(play(&mut engine, number)));
    publish(&mut engine);
    let before = account(&engine);
    // Corrected after its end: what it returned may have been wrong.
    let wrong =
        json!({"observation_id": "late", "event_id": "patient3-2", "keys": {"walk": "yes"}, "correction": true});
    observe(&mut engine, &wrong).unwrap();
    assert_ne!(account(&engine)["own"]["share"], before["own"]["share"]);
    assert_eq!(account(&engine)["own"]["ended"], before["own"]["ended"]);
    // Deleted, one after its end and one in the middle.
    let world = world();
    let simulator = Simulator::new(&world).unwrap();
    decide(&mut engine, &Customer::new(&simulator, 500).question(&world)).unwrap();
    for id in ["patient5", "patient500"] {
        let body = json!({"episode_id": id});
        engine.submit(0, &Request::Forget { episode: id.into() }, &body, 6000).unwrap();
    }
    assert!(engine.store().values("promised/").unwrap().is_empty());
    replay(engine.store()).unwrap();
    publish(&mut engine);
    (30..45).for_each(|number| drop(play(&mut engine, number)));
    replay(engine.store()).unwrap();
    // One that is open and one that was closed early; then nothing but numbers is left of all of them.
    decide(&mut engine, &Customer::new(&simulator, 600).question(&world)).unwrap();
    decide(&mut engine, &Customer::new(&simulator, 601).question(&world)).unwrap();
    engine
        .submit(0, &Request::Close { episode: "patient601".into() }, &json!({"episode_id": "patient601"}), 7000)
        .unwrap();
    engine.begin().unwrap();
    // The open one is closed by the first, and goes with the second.
    engine.expire(0, 8000, 1000, 9000).unwrap();
    engine.expire(0, 20_000, 1000, 30_000).unwrap();
    engine.commit().unwrap();
    let log = engine.store().events(None, 0, 100_000).unwrap();
    assert!(log.iter().all(|e| !format!("{e:?}").contains("patient")), "names are gone from the log");
    let kept = account(&engine);
    assert_eq!((&kept["own"]["open"], &kept["others"]["open"]), (&json!(0), &json!(0)));
    (700..720).for_each(|number| drop(play(&mut engine, number)));
    let replayed = replay(engine.store()).unwrap();
    assert!(replayed.blank > 100, "{replayed:?}");
}

#[test]
fn modes_that_follow_the_baseline_count_for_it_and_episodes_keep_their_kind() {
    let mut engine = engine_with(promising());
    mode(&mut engine, Mode::LearnOnly);
    (0..40).for_each(|number| drop(play(&mut engine, number)));
    let account_then = account(&engine);
    assert_eq!((&account_then["own"]["ended"], &account_then["others"]["ended"]), (&json!(40), &json!(0)));
    // Begun while the baseline decided, it goes on with it.
    let world = world();
    let simulator = Simulator::new(&world).unwrap();
    let mut customer = Customer::new(&simulator, 90);
    let answer = decide(&mut engine, &customer.question(&world)).unwrap();
    let seen = customer.outcome(&simulator, &answer.body);
    observe(&mut engine, &seen).unwrap();
    mode(&mut engine, Mode::Online);
    let second: Value = serde_json::from_str(&decide(&mut engine, &customer.question(&world)).unwrap().body).unwrap();
    assert!(is_kept(&second), "{second}");
    // Forty episodes of the baseline allow some of the policy at once.
    let answers = play(&mut engine, 91);
    assert!(answers.iter().all(|a| !is_kept(a) && a["why"] != "baseline"), "{answers:?}");
    replay(engine.store()).unwrap();
}

/// Forty episodes of the baseline, so that the policy may have some; then one of the policy, after its first step.
fn begun_with_the_policy(engine: &mut Engine, number: u64) -> (Customer, Value) {
    mode(engine, Mode::LearnOnly);
    (0..40).for_each(|number| drop(play(engine, number)));
    publish(engine);
    mode(engine, Mode::Online);
    let mut customer = Customer::new(&Simulator::new(&world()).unwrap(), number);
    let first = step(engine, &mut customer);
    assert!(!is_kept(&first) && first["why"] != "baseline", "{first}");
    (customer, first)
}

fn mode(engine: &mut Engine, mode: Mode) {
    engine.submit(0, &Request::Mode(mode), &json!({"mode": mode.name()}), 5000).unwrap();
}

/// One decision, and what was observed of it; the answer.
fn step(engine: &mut Engine, customer: &mut Customer) -> Value {
    let world = world();
    let answer = decide(engine, &customer.question(&world)).unwrap();
    let seen = customer.outcome(&Simulator::new(&world).unwrap(), &answer.body);
    observe(engine, &seen).unwrap();
    serde_json::from_str(&answer.body).unwrap()
}

/// Pins a policy that was published.
fn pin(engine: &mut Engine, version: u64) {
    let row = engine.store().snapshot("clinic", version).unwrap().unwrap();
    let snapshot = Snapshot::restore(&served("clinic", promising()), &row).unwrap();
    let request = Request::Promote(std::sync::Arc::new(snapshot), true);
    engine.submit(0, &request, &json!({"version": version, "pin": true}), 5000).unwrap();
}

/// How much the ended episodes of the policy returned, as a log is kept of it.
fn last_end(engine: &Engine) -> Value {
    let log = engine.store().events(None, 0, 100_000).unwrap();
    let requests = log.iter().filter_map(|e| serde_json::from_str::<Value>(&e.request).ok());
    requests.rev().find(|e| e["end"].is_object()).unwrap()["end"].clone()
}

#[test]
fn an_episode_keeps_the_policy_that_it_began_with_also_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("clinic.store");
    let open = || {
        let store = Box::new(Sqlite::open(&path).unwrap());
        Engine::with_key(store, vec![served("clinic", promising())], [7; 32], 1000).unwrap()
    };
    let mut engine = open();
    let (mut customer, first) = begun_with_the_policy(&mut engine, 90);
    // Twenty policies later, more than are kept ready.
    for number in 100..120 {
        play(&mut engine, number);
        publish(&mut engine);
    }
    assert!(engine.worlds()[0].active.version > first["policy"]["version"].as_u64().unwrap() + 19);
    drop(engine);
    let mut engine = open();
    for _ in 1..world().horizon() {
        let next = step(&mut engine, &mut customer);
        assert_eq!(next["policy"], first["policy"], "the policy of the first decision");
    }
    assert!(last_end(&engine)["brought"][0].as_f64().unwrap() > 0.0, "what it returned counts");
    let other = step(&mut engine, &mut Customer::new(&Simulator::new(&world()).unwrap(), 91));
    assert_eq!(other["policy"]["version"], engine.worlds()[0].active.version, "new episodes follow the latest");
    replay(engine.store()).unwrap();
}

#[test]
fn a_stop_and_a_roll_back_act_at_once_and_what_they_interrupt_counts_as_nothing() {
    for stops in [true, false] {
        let mut engine = engine_with(promising());
        let (mut customer, first) = begun_with_the_policy(&mut engine, 90);
        let version = first["policy"]["version"].as_u64().unwrap();
        if stops {
            mode(&mut engine, Mode::Stop);
            assert_eq!(step(&mut engine, &mut customer)["why"], "baseline");
        } else {
            pin(&mut engine, version - 1);
            assert_eq!(step(&mut engine, &mut customer)["policy"]["version"], version - 1);
        }
        // It does not become the policy's again.
        mode(&mut engine, Mode::Online);
        (2..world().horizon()).for_each(|_| drop(step(&mut engine, &mut customer)));
        let end = last_end(&engine);
        assert_eq!((&end["baseline"], &end["brought"]), (&json!(false), &json!([0.0, 1.0])));
        replay(engine.store()).unwrap();
    }
}

#[test]
fn modes_without_decisions_and_pins_of_the_same_policy_interrupt_nothing() {
    let mut engine = engine_with(promising());
    let (mut customer, first) = begun_with_the_policy(&mut engine, 90);
    mode(&mut engine, Mode::Stop);
    mode(&mut engine, Mode::Online);
    pin(&mut engine, first["policy"]["version"].as_u64().unwrap());
    (1..world().horizon()).for_each(|_| assert_eq!(step(&mut engine, &mut customer)["policy"], first["policy"]));
    assert!(last_end(&engine)["brought"][0].as_f64().unwrap() > 0.0);
    replay(engine.store()).unwrap();
}

#[test]
fn a_promise_belongs_to_its_store_and_wrong_ones_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("clinic.store");
    let open = |choices: Choices| {
        Engine::with_key(Box::new(Sqlite::open(&path).unwrap()), vec![served("clinic", choices)], [7; 32], 1000)
    };
    let mut engine = open(promising()).unwrap();
    (0..12).for_each(|number| drop(play(&mut engine, number)));
    let before = account(&engine);
    drop(engine);
    let again = open(promising()).unwrap();
    assert_eq!(account(&again), before);
    drop(again);
    let other = open(Choices { promise: Some([0.5, 0.05]), ..promising() }).err().unwrap().to_string();
    assert!(other.contains("with another promise to keep to the baseline"), "{other}");
    for wrong in [[0.0, 0.05], [1.5, 0.05], [0.1, 0.0], [f64::NAN, 0.05]] {
        assert!(
            dowise_serve::Served::new("clinic", &world(), Choices { promise: Some(wrong), ..promising() }).is_err()
        );
    }
}
