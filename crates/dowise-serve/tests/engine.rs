//! The engine without a network: idempotent, whatever the order, and equal to the library.

mod common;

use common::*;
use dowise::Simulator;
use dowise::learn::{Evidence, Observation};
use dowise_serve::{Choices, Failed, Learned, Mode, Request, Served, Sqlite, replay};
use proptest::prelude::*;
use serde_json::{Value, json};

fn status(result: Result<dowise_serve::Answer, Failed>) -> u16 {
    match result {
        Ok(answer) => answer.status,
        Err(Failed::Problem(problem)) => problem.status,
        Err(Failed::Store(error)) => panic!("{error}"),
    }
}

/// Episodes played one after the other; the requests in their order.
fn played(engine: &mut dowise_serve::Engine, episodes: u64) -> Vec<(bool, Value)> {
    let world = world();
    let simulator = Simulator::new(&world).unwrap();
    let mut log = Vec::new();
    for number in 0..episodes {
        let mut customer = Customer::new(&simulator, number);
        for _ in 0..world.horizon() {
            let question = customer.question(&world);
            let answer = decide(engine, &question).unwrap();
            let seen = customer.outcome(&simulator, &answer.body);
            observe(engine, &seen).unwrap();
            log.extend([(true, question), (false, seen)]);
        }
    }
    log
}

#[test]
fn the_same_event_gets_the_same_bytes_and_another_body_a_conflict() {
    let mut engine = engine();
    let world = world();
    let simulator = Simulator::new(&world).unwrap();
    let mut customer = Customer::new(&simulator, 1);
    let question = customer.question(&world);
    let first = decide(&mut engine, &question).unwrap();
    publish(&mut engine);
    assert_eq!(decide(&mut engine, &question).unwrap(), first);
    let mut other = question.clone();
    other["state"] = state(&world, (customer.state + 1) % world.n_states());
    assert_eq!(status(decide(&mut engine, &other)), 409);
    let seen = customer.outcome(&simulator, &first.body);
    let noted = observe(&mut engine, &seen).unwrap();
    assert_eq!(observe(&mut engine, &seen).unwrap(), noted);
    let mut other = seen.clone();
    other["done"] = json!(true);
    assert_eq!(status(observe(&mut engine, &other)), 409);
    assert_eq!(fingerprint(&engine).1, 1, "one step, however often it was sent");
}

#[test]
fn what_is_learned_equals_the_librarys_evidence_and_the_replay_of_the_log() {
    let mut engine = engine();
    played(&mut engine, 5);
    publish(&mut engine);
    played_from(&mut engine, 5, 9);
    let served = engine.worlds()[0].served.clone();
    let mut evidence = Evidence::new(&served.knowledge, &served.options).unwrap();
    for event in engine.store().events(None, 0, 10_000).unwrap() {
        let Ok(effect) = serde_json::from_str::<dowise_serve::Effect>(&event.effect) else { continue };
        for Learned { stage, state, action, parts } in effect.add {
            // By hand, from the numbers alone.
            let keys: Vec<u32> = parts.keys.iter().map(|k| k.unwrap() as u32).collect();
            let step = Observation::at(&served.knowledge, stage, state)
                .unwrap()
                .did_action(&served.knowledge, action)
                .unwrap();
            let step =
                step.saw(&served.knowledge, &keys[..]).unwrap().then(&served.knowledge, parts.next.unwrap()).unwrap();
            evidence.add(&step).unwrap();
        }
    }
    let horizon = world().horizon() as u64;
    assert_eq!(fingerprint(&engine), (evidence.fingerprint(), 9 * horizon));
    let replayed = replay(engine.store()).unwrap();
    assert_eq!((replayed.decisions, replayed.policies, replayed.steps), (9 * horizon, 2, 9 * horizon));
}

fn played_from(engine: &mut dowise_serve::Engine, from: u64, to: u64) {
    let world = world();
    let simulator = Simulator::new(&world).unwrap();
    let mut customers: Vec<Customer> = (from..to).map(|n| Customer::new(&simulator, n)).collect();
    // Interleaved: everybody's first stage, then everybody's second.
    for _ in 0..world.horizon() {
        for customer in &mut customers {
            let answer = decide(engine, &customer.question(&world)).unwrap();
            let seen = customer.outcome(&simulator, &answer.body);
            observe(engine, &seen).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn every_event_three_times_in_any_order_gives_the_same_state(order in Just((0..24usize).collect::<Vec<_>>()).prop_shuffle()) {
        let mut first = engine();
        let mut log = played(&mut first, 1 + 24 / (2 * world().horizon() as u64));
        log.truncate(8);
        let mut plain = engine();
        for (is_decision, body) in &log {
            if *is_decision { decide(&mut plain, body).unwrap(); } else { observe(&mut plain, body).unwrap(); }
        }
        let mut shuffled = engine();
        // A decision that comes too early is refused, and sent again: later in the list, and at the end until all are there.
        let send = |engine: &mut dowise_serve::Engine, i: usize| {
            let (is_decision, body) = &log[i % log.len()];
            status(if *is_decision { decide(engine, body) } else { observe(engine, body) })
        };
        for i in order {
            let status = send(&mut shuffled, i);
            prop_assert!(status == 200 || status == 409, "{status}");
        }
        for _ in 0..log.len() {
            (0..log.len()).for_each(|i| { send(&mut shuffled, i); });
        }
        prop_assert_eq!(fingerprint(&shuffled), fingerprint(&plain));
        prop_assert!(replay(shuffled.store()).is_ok());
    }
}

#[test]
fn propensities_are_the_shares_of_keys_that_choose_the_same() {
    let mut engine = engine();
    played(&mut engine, 3);
    publish(&mut engine);
    let live = &engine.worlds()[0];
    let (served, snapshot) = (&live.served, &live.active);
    let n = snapshot.samples.len();
    let world = world();
    let simulator = Simulator::new(&world).unwrap();
    let customer = Customer::new(&simulator, 99);
    // For every sample an episode name that follows it.
    let name_of = |k: usize| (0..).map(|i| format!("n{i}")).find(|name| snapshot.index(&[7; 32], name) == k).unwrap();
    let situation = |name: &str, stage, state, consistent| {
        dowise_serve::Situation {
            served,
            snapshot,
            mode: Mode::Online,
            key: &[7; 32],
            episode: name,
            stage,
            state,
            forbid: &[],
            kept: false,
            consistent,
        }
        .decide()
        .unwrap()
    };
    let names: Vec<String> = (0..n).map(name_of).collect();
    let all = dowise_serve::all_samples(snapshot);
    let first: Vec<_> = names.iter().map(|name| situation(name, 0, customer.state, all)).collect();
    for decision in &first {
        let same = first.iter().filter(|d| d.action == decision.action).count();
        assert_eq!(decision.propensity, same as f64 / n as f64);
    }
    // The second decision, given the first: among the samples that agreed with it.
    for decision in &first {
        let agreeing: Vec<usize> = (0..n).filter(|&k| first[k].action == decision.action).collect();
        let second: Vec<_> = agreeing.iter().map(|&k| situation(&names[k], 1, 0, all & decision.agree)).collect();
        for one in &second {
            let same = second.iter().filter(|d| d.action == one.action).count();
            assert_eq!(one.propensity, same as f64 / agreeing.len() as f64);
        }
    }
}

#[test]
fn partial_observations_wait_for_the_rest_and_contradictions_need_a_correction() {
    let mut engine = engine();
    let world = world();
    let simulator = Simulator::new(&world).unwrap();
    let mut customer = Customer::new(&simulator, 1);
    let answer = decide(&mut engine, &customer.question(&world)).unwrap();
    let whole = customer.outcome(&simulator, &answer.body);
    let keys = json!({"observation_id": "a", "event_id": whole["event_id"], "keys": whole["keys"]});
    observe(&mut engine, &keys).unwrap();
    assert_eq!(fingerprint(&engine).1, 0, "the next state is missing");
    let next = json!({"observation_id": "b", "event_id": whole["event_id"], "next_state": whole["next_state"]});
    observe(&mut engine, &next).unwrap();
    let first = fingerprint(&engine);
    assert_eq!(first.1, 1);
    let other = state(&world, (customer.state + 1) % world.n_states());
    let mut wrong = json!({"observation_id": "c", "event_id": whole["event_id"], "next_state": other});
    assert_eq!(status(observe(&mut engine, &wrong)), 409);
    wrong["correction"] = json!(true);
    observe(&mut engine, &wrong).unwrap();
    assert_ne!(fingerprint(&engine).0, first.0);
    let back = json!({"observation_id": "d", "event_id": whole["event_id"], "next_state": whole["next_state"], "correction": true});
    observe(&mut engine, &back).unwrap();
    assert_eq!(fingerprint(&engine), first, "a correction of a correction");
}

#[test]
fn stop_is_the_baseline_at_once_and_a_forgotten_episode_leaves_no_trace() {
    let mut engine = engine();
    played(&mut engine, 2);
    let before = fingerprint(&engine);
    played_from(&mut engine, 7, 8);
    engine.submit(0, &Request::Mode(Mode::Stop), &json!({"mode": "stop"}), 5000).unwrap();
    let question = json!({"event_id": "x", "episode_id": "x", "state": state(&world(), 0)});
    let answer: Value = serde_json::from_str(&decide(&mut engine, &question).unwrap().body).unwrap();
    assert_eq!((answer["why"].as_str(), answer["propensity"].as_f64()), (Some("baseline"), Some(1.0)));
    let body = json!({"episode_id": "patient7"});
    engine.submit(0, &Request::Forget { episode: "patient7".into() }, &body, 6000).unwrap();
    assert_eq!(fingerprint(&engine), before);
    publish(&mut engine);
    let log = engine.store().events(None, 0, 10_000).unwrap();
    assert!(log.iter().all(|e| !format!("{e:?}").contains("patient7")), "its name is gone from the log");
    assert_eq!(fingerprint(&engine), before);
    replay(engine.store()).unwrap();
}

#[test]
fn rules_on_shares_are_kept_and_propensities_are_the_frequencies_over_episodes() {
    let rules = vec!["shoes=door:0.2..0.6".to_owned(), "call=yes:..0.3".to_owned()];
    let mut engine = engine_with(Choices { shares: rules, ..choices() });
    played(&mut engine, 40);
    publish(&mut engine);
    for mood in [0, 1] {
        let n = 4000;
        let mut seen: std::collections::BTreeMap<String, (f64, u32)> = Default::default();
        for i in 0..n {
            let id = format!("m{mood}-{i}");
            let question = json!({"event_id": id, "episode_id": id, "state": state(&world(), mood)});
            let answer: Value = serde_json::from_str(&decide(&mut engine, &question).unwrap().body).unwrap();
            let propensity = answer["propensity"].as_f64().unwrap();
            let entry = seen.entry(answer["intervention"].to_string()).or_insert((propensity, 0));
            assert_eq!(entry.0, propensity, "the same intervention in the same place has one propensity");
            entry.1 += 1;
        }
        let total: f64 = seen.values().map(|(p, _)| p).sum();
        assert!((total - 1.0).abs() < 1e-12, "{seen:?}");
        let share = |what: &str| seen.iter().filter(|(a, _)| a.contains(what)).map(|(_, (p, _))| p).sum::<f64>();
        assert!((0.2..=0.6 + 1e-12).contains(&share("\"shoes\":\"door\"")), "{seen:?}");
        assert!(share("\"call\":\"yes\"") <= 0.3 + 1e-12, "{seen:?}");
        for (action, (p, k)) in &seen {
            let sigma = (p * (1.0 - p) / f64::from(n)).sqrt();
            assert!((f64::from(*k) / f64::from(n) - p).abs() < 4.5 * sigma + 1e-12, "{action}: {p}, {k} of {n}");
        }
    }
    assert_eq!(replay(engine.store()).unwrap().decisions, 8000 + 120);
}

#[test]
fn a_learner_that_dies_between_applying_and_publishing_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("store");
    let open = || engine_on(Box::new(Sqlite::open(&file).unwrap()), choices());
    let mut engine = open();
    played(&mut engine, 4);
    let served = engine.worlds()[0].served.clone();
    let learned = |engine: &dowise_serve::Engine| {
        let mut learning = dowise_serve::Learning::from(&served, &engine.worlds()[0].latest).unwrap();
        learning.apply(&served, engine.store(), engine.store().last().unwrap().0).unwrap();
        learning.publish(&served, 2).unwrap()
    };
    // It has applied and planned; its policy is never written.
    let lost = learned(&engine);
    let before = fingerprint(&engine);
    drop(engine);
    let mut engine = open();
    assert_eq!((engine.worlds()[0].standing.latest, fingerprint(&engine)), (1, before));
    assert_eq!(learned(&engine).hash, lost.hash, "the next one comes to the same policy");
    publish(&mut engine);
    assert_eq!(engine.worlds()[0].latest.hash, lost.hash);
    replay(engine.store()).unwrap();
}

#[test]
fn a_clock_that_is_set_back_does_not_take_the_log_with_it() {
    let mut engine = engine();
    for (i, at) in [9000, 100, 9500, 0].into_iter().enumerate() {
        let body = json!({"event_id": i.to_string(), "episode_id": i.to_string(), "state": state(&world(), 0)});
        let asked = dowise_serve::Decide::read(&engine.worlds()[0].served, &body).unwrap();
        engine.submit(0, &Request::Decide(asked), &body, at).unwrap();
    }
    let times: Vec<u64> = engine.store().events(None, 0, 100).unwrap().iter().map(|e| e.at).collect();
    assert_eq!(times, [1000, 9000, 9000, 9500, 9500]);
    assert_eq!(replay(engine.store()).unwrap().decisions, 4);
}

#[test]
fn a_deleted_episode_takes_nothing_in_any_more_and_what_waited_for_it_goes_too() {
    let mut engine = engine();
    let world = world();
    let simulator = Simulator::new(&world).unwrap();
    let mut customer = Customer::new(&simulator, 1);
    let question = customer.question(&world);
    let mut early = json!({"observation_id": "early", "event_id": question["event_id"], "keys": {"walk": "no"}});
    observe(&mut engine, &early).unwrap();
    let answer = decide(&mut engine, &question).unwrap();
    let forget = |engine: &mut dowise_serve::Engine| {
        let body = json!({"episode_id": "patient1"});
        status(engine.submit(0, &Request::Forget { episode: "patient1".into() }, &body, 6000))
    };
    assert_eq!(forget(&mut engine), 200);
    assert_eq!(forget(&mut engine), 410);
    let seen = customer.outcome(&simulator, &answer.body);
    assert_eq!(status(observe(&mut engine, &seen)), 410);
    assert_eq!(status(decide(&mut engine, &customer.question(&world))), 410);
    played_from(&mut engine, 2, 3);
    publish(&mut engine);
    let log = format!("{:?}", engine.store().events(None, 0, 1000).unwrap());
    assert!(!log.contains("patient1") && !log.contains("early"), "{log}");
    early["keys"] = json!({"walk": "yes"});
    assert_eq!(status(observe(&mut engine, &early)), 200, "its name is free again");
    assert_eq!(fingerprint(&engine).1, 3);
    let replayed = replay(engine.store()).unwrap();
    assert_eq!((replayed.blank, replayed.steps), (3, 3));
}

#[test]
fn expired_episodes_lose_their_names_and_what_was_learned_stays() {
    let mut engine = engine();
    played(&mut engine, 3);
    let open = json!({"event_id": "open", "episode_id": "open", "state": state(&world(), 0)});
    decide(&mut engine, &open).unwrap();
    let alone = json!({"observation_id": "alone", "event_id": "nobody", "keys": {"walk": "no"}});
    observe(&mut engine, &alone).unwrap();
    let before = fingerprint(&engine);
    engine.begin().unwrap();
    let expired = engine.expire(0, 2001, 100, 9000).unwrap();
    engine.commit().unwrap();
    assert_eq!(expired, 4, "three that ended, and an observation that waits; the open one is closed first");
    engine.begin().unwrap();
    assert_eq!(engine.expire(0, 9001, 100, 9999).unwrap(), 1);
    engine.commit().unwrap();
    assert_eq!(fingerprint(&engine), before);
    publish(&mut engine);
    let log = format!("{:?}", engine.store().events(None, 0, 1000).unwrap());
    assert!(!log.contains("patient") && !log.contains("alone") && !log.contains("open\""), "{log}");
    let replayed = replay(engine.store()).unwrap();
    assert_eq!((replayed.decisions, replayed.steps, replayed.policies), (0, 9, 2));
}

#[test]
fn a_timeout_puts_the_declared_value_in_place_of_a_key_variable_and_never_another() {
    let mut engine =
        engine_with(Choices { timeout: Some(100), defaults: vec![("walk".into(), "no".into())], ..choices() });
    let question = json!({"event_id": "a", "episode_id": "a", "state": state(&world(), 1)});
    decide(&mut engine, &question).unwrap();
    let next = json!({"observation_id": "n", "event_id": "a", "next_state": state(&world(), 2)});
    observe(&mut engine, &next).unwrap();
    assert_eq!(fingerprint(&engine).1, 0, "a key variable that is missing is not its first value");
    engine.submit(0, &Request::Timeout { event_id: "a".into() }, &json!({"event_id": "a"}), 9000).unwrap();
    let late = fingerprint(&engine);
    assert_eq!(late.1, 1);
    let mut other = engine_with(choices());
    decide(&mut other, &question).unwrap();
    let whole =
        json!({"observation_id": "n", "event_id": "a", "next_state": state(&world(), 2), "keys": {"walk": "no"}});
    observe(&mut other, &whole).unwrap();
    assert_eq!(fingerprint(&other), late);
    replay(engine.store()).unwrap();
}

#[test]
fn a_learner_that_forgets_is_refused_by_name() {
    for forget in ["reset", "window:30", "discount:0.9"] {
        let learner = format!("graph-psrl:forget={forget}").parse().unwrap();
        let refused = Served::new("clinic", &world(), Choices { learner, ..choices() }).unwrap_err().to_string();
        assert!(refused.contains("a deleted episode could not be taken out again without a trace"), "{refused}");
    }
}
