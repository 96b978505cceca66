//! Observations and evidence: checked when made, added in any order, merged, taken back and saved; what is missing is not counted,
//! known transitions are used, and every rule reads the same evidence.

use dowise::learn::{Estimator, Evidence, EvidenceError, Observation, Sets};
use dowise::{Knowledge, Learner, LearnerSpec, Options, Preset, World};
use proptest::prelude::*;

use crate::draft::Draft;
use crate::play::{Arena, Seen, by_name, knowledge, steps};
use crate::small_worlds;

fn views() -> Vec<Options> {
    let mut all: Vec<Options> = ["ucbvi", "f-ucbvi", "c-ucbvi", "cf-ucbvi", "graph-ucbvi"]
        .map(|name| name.parse::<Preset>().unwrap().options(30, 1))
        .to_vec();
    all.push(Options { stage_dependent: true, ..all[4].clone() });
    all
}

#[test]
fn evidence_in_any_order_split_and_merge_is_the_same_bytes_and_can_be_taken_back() {
    let arena = Arena::new(small_worlds::crooked(2));
    let steps: Vec<Observation<'static>> = steps(&arena, 20, 3).iter().map(Seen::observation).collect();
    for knowledge in knowledge(&arena) {
        for options in views() {
            let new = || Evidence::new(&knowledge, &options).unwrap();
            let mut whole = new();
            steps.iter().for_each(|s| whole.add(s).unwrap());
            let mut backwards = new();
            steps.iter().rev().for_each(|s| backwards.add(s).unwrap());
            assert_eq!(backwards.save(), whole.save(), "{options:?}");
            // Three pieces, dealt out like cards, merged in another order.
            let mut pieces = [new(), new(), new()];
            steps.iter().enumerate().for_each(|(i, s)| pieces[i % 3].add(s).unwrap());
            let [a, b, mut c] = pieces;
            c.merge(&a).unwrap();
            c.merge(&b).unwrap();
            assert_eq!((c.save(), c.fingerprint()), (whole.save(), whole.fingerprint()), "{options:?}");
            // Taking one half back leaves the other.
            let (first, second) = steps.split_at(steps.len() / 2);
            let mut half = new();
            second.iter().for_each(|s| half.add(s).unwrap());
            first.iter().for_each(|s| whole.remove(s).unwrap());
            assert_eq!((whole.save(), whole.fingerprint()), (half.save(), half.fingerprint()), "{options:?}");
            second.iter().rev().for_each(|s| whole.remove(s).unwrap());
            assert_eq!(whole.save(), new().save(), "{options:?}");
            assert_eq!(whole.remove(&first[0]), Err(EvidenceError::NotThere));
            assert_eq!(whole.save(), new().save(), "a refused observation changes nothing");
        }
    }
}

#[test]
fn a_step_that_counts_often_is_taken_in_like_as_many_steps_at_the_cost_of_one() {
    let arena = Arena::new(small_worlds::factored(3));
    let seen: Vec<Observation<'static>> = steps(&arena, 6, 1).iter().map(Seen::observation).collect();
    for knowledge in knowledge(&arena) {
        for name in ["graph-ucbvi", "graph-psrl", "ucbvi:width=rlberry", "c-ucbvi:guard=true", "lsvi-ucb"] {
            // Regression needs to know how interventions act.
            if name == "lsvi-ucb" && knowledge.known_mechanisms().is_empty() {
                continue;
            }
            // The same step again and again contradicts the numbers that a guard is given.
            if name.contains("guard") && !knowledge.known_mechanisms().is_empty() {
                continue;
            }
            let [mut one_by_one, mut at_once] = [by_name(&knowledge, name), by_name(&knowledge, name)];
            for (i, step) in seen.iter().enumerate() {
                let times = 1 + (i as u32 * 7) % 11;
                (0..times).for_each(|_| one_by_one.learn(step).unwrap());
                at_once.learn_times(step, times).unwrap();
            }
            let [a, b] = [&at_once, &one_by_one];
            let same = a.evidence().map(Evidence::save) == b.evidence().map(Evidence::save);
            // A test of the graph looks once at what is repeated with a weight.
            assert!(same && (name.contains("guard") || a.save() == b.save()), "{name}");
            // As many as a row of a log may stand for; one by one it would take hours.
            let mut much = by_name(&knowledge, name);
            much.learn_times(&seen[0], 4_000_000_000).unwrap();
            let full = much.learn_times(&seen[0], 4_000_000_000);
            assert_eq!(full, Err(EvidenceError::Full), "{name}");
            much.learn_times(&seen[0], 0).unwrap();
        }
    }
}

#[test]
fn saved_evidence_is_restored_and_what_cannot_be_is_refused_by_field() {
    let arena = Arena::new(small_worlds::factored(2));
    let knowledge = arena.knowledge().without_rewards();
    let options = views().remove(4);
    let mut seen = Evidence::new(&knowledge, &options).unwrap();
    steps(&arena, 10, 1).iter().for_each(|s| seen.add(&s.observation()).unwrap());
    let text = seen.save();
    let again = Evidence::restore(&knowledge, &options, &text).unwrap();
    assert_eq!((again.save(), again.steps(), again.fingerprint()), (text.clone(), seen.steps(), seen.fingerprint()));
    let refused = |text: &str| Evidence::restore(&knowledge, &options, text).unwrap_err();
    let other = Evidence::restore(&arena.knowledge(), &options, &text).unwrap_err();
    assert!(matches!(other, EvidenceError::OtherView { .. }), "{other}");
    assert!(matches!(refused("{}"), EvidenceError::File(_)));
    assert!(refused(&text.replacen("\"version\":1", "\"version\":9", 1)).to_string().contains("version 9"));
    let field = |text: &str| match refused(text) {
        EvidenceError::Damaged { field, .. } => field,
        other => panic!("{other}"),
    };
    assert_eq!(field(&text.replacen("\"steps\":", "\"steps\":1", 1)), "visits");
    assert_eq!(field(&text.replacen("\"seal\":\"", "\"seal\":\"0", 1)), "seal");
}

#[test]
fn a_learner_that_begins_with_the_evidence_of_another_believes_the_same() {
    let arena = Arena::new(small_worlds::factored(3));
    for knowledge in knowledge(&arena) {
        for name in ["graph-ucbvi", "graph-psrl", "c-ucbvi", "greedy", "cf-ucbvi:width=hoeffding-v"] {
            let options = name.parse::<LearnerSpec>().unwrap().options(60, 5);
            let mut first = Learner::new(&knowledge, options.clone()).unwrap();
            arena.regrets_of(&mut first, 60, 1);
            let second = Learner::with_evidence(first.evidence().unwrap().clone(), options).unwrap();
            for reading in [
                Estimator::Greedy,
                Estimator::Mean { prior: 2.0 },
                Estimator::Optimistic(Sets::Mixture),
                Estimator::Pessimistic(Sets::L1),
            ] {
                assert_eq!(first.read(reading, 1).unwrap(), second.read(reading, 1).unwrap(), "{name} {reading:?}");
            }
            assert_eq!(
                second.read(Estimator::Sample { prior: 2.0 }, 4).unwrap(),
                first.read(Estimator::Sample { prior: 2.0 }, 4).unwrap()
            );
        }
    }
}

#[test]
fn observations_are_checked_when_they_are_made() {
    let arena = Arena::new(small_worlds::factored(1));
    let knowledge = arena.knowledge();
    let says = |made: Result<Observation<'_>, dowise::learn::ObservationError>| made.unwrap_err().to_string();
    let horizon = arena.world.horizon();
    let at = || Observation::at(&knowledge, 0, 0).unwrap();
    let text = says(Observation::at(&knowledge, horizon, 0));
    assert_eq!(
        text,
        format!("there is no stage {}; an episode has {horizon} steps, stages 1 to {horizon}", horizon + 1)
    );
    assert!(says(Observation::at(&knowledge, 0, 999)).starts_with("there is no state 999; states run from 0 to"));
    assert!(says(at().did(&knowledge, 999)).starts_with("there is no intervention 999"));
    assert!(
        says(at().did(&knowledge, 0).unwrap().saw(&knowledge, [("nose", "1")]))
            .starts_with("there is no key variable \"nose\"")
    );
    assert!(says(at().paid(&knowledge, &[])).starts_with("reward has 0 numbers"));
    let term = &arena.world.rewards()[0];
    let text = says(at().paid_by(&knowledge, &term.name, term.range[1] + 1.0));
    assert!(text.starts_with(&format!("the reward term \"{}\" paid ", term.name)), "{text}");
    assert!(says(at().paid_by(&knowledge, "luck", 0.0)).starts_with("there is no reward term \"luck\""));
    assert!(says(at().then(&knowledge, 999)).starts_with("there is no state 999"));
}

#[test]
fn what_is_missing_is_not_counted_and_never_taken_for_the_first_value() {
    // Two factors, each with a key variable of its own.
    let world = Draft::new(2, 4)
        .state("s", 2)
        .state("t", 2)
        .lever("x", 2)
        .key("y", 2)
        .key("z", 2)
        .drawn(&["y"], &["x"])
        .drawn(&["z"], &["x"])
        .next("s", &["s", "y"])
        .next("t", &["t", "z"])
        .pays_between("r", &["z"], [0.0, 1.0], false)
        .world();
    let knowledge = Knowledge::of(&world).without_mechanisms().without_rewards();
    let options = Options::default();
    let count = |step: Observation<'_>, what: &str| -> Vec<usize> {
        let mut seen = Evidence::new(&knowledge, &options).unwrap();
        seen.add(&step).unwrap();
        let file: serde_json::Value = serde_json::from_str(&seen.save()).unwrap();
        let tables = if what == "transitions" { &file[what][0] } else { &file[what] };
        tables.as_array().unwrap().iter().map(|t| t.as_array().unwrap().len()).collect()
    };
    let at = || Observation::at(&knowledge, 0, 0).unwrap().did(&knowledge, 1).unwrap();
    let whole = || {
        at().saw(&knowledge, [("y", "1"), ("z", "1")])
            .unwrap()
            .paid(&knowledge, &[0.5])
            .unwrap()
            .then(&knowledge, 3)
            .unwrap()
    };
    assert_eq!((count(whole(), "transitions"), count(whole(), "payments")), (vec![1, 1], vec![1]));
    // z not seen: only s, which does not depend on it, and the mechanism of y.
    let half =
        || at().saw(&knowledge, [("y", "1")]).unwrap().paid(&knowledge, &[0.5]).unwrap().then(&knowledge, 3).unwrap();
    assert_eq!((count(half(), "transitions"), count(half(), "payments")), (vec![1, 0], vec![0]));
    assert_eq!(
        count(half(), "mechanisms").iter().sum::<usize>() + 1,
        count(whole(), "mechanisms").iter().sum::<usize>()
    );
    // The next state not known yet, the reward not known.
    let early = || at().saw(&knowledge, [("y", "1"), ("z", "1")]).unwrap();
    assert_eq!((count(early(), "transitions"), count(early(), "payments")), (vec![0, 0], vec![0]));
}

#[test]
fn known_transitions_are_used_and_not_learned() {
    let arena = Arena::new(small_worlds::factored(1));
    let names: Vec<&str> = arena.world.state().iter().map(|&id| arena.world.variable(id).name.as_str()).collect();
    let cells = |knowledge: &Knowledge, options: &Options| Learner::new(knowledge, options.clone()).unwrap().cells();
    let all = arena.knowledge().with_transitions_of(&arena.world, &names).unwrap();
    assert_eq!(all.known_transitions(), names);
    for name in [
        "graph-ucbvi",
        "graph-psrl",
        "cf-ucbvi",
        "cf-psrl",
        "greedy",
        "cf-ucbvi:width=hoeffding-v",
        "graph-ucbvi:sets=l1,schedule=visited",
    ] {
        let options = name.parse::<LearnerSpec>().unwrap().options(40, 2);
        // All known: nothing is left to learn, and the first plan is the best one.
        let mut sure = Learner::new(&all, options.clone()).unwrap();
        assert_eq!(sure.cells(), 0, "{name}");
        let regrets = arena.regrets_of(&mut sure, 5, 1);
        // Real-time dynamic programming brings values down where it comes, and only there.
        let by_visits = name.contains("visited");
        assert!(by_visits || regrets.iter().all(|r| r.abs() < 1e-9), "{name}: {regrets:?}");
        // One known: fewer cells, and saved and restored like any other.
        let one = arena.knowledge().with_transitions_of(&arena.world, &names[..1]).unwrap();
        assert!(cells(&one, &options) < cells(&arena.knowledge(), &options), "{name}");
        let mut learner = Learner::new(&one, options.clone()).unwrap();
        arena.regrets_of(&mut learner, 40, 1);
        let again = Learner::restore_in(&arena.world, &learner.save()).unwrap();
        assert_eq!(again.save(), learner.save(), "{name}");
        assert_eq!(again.explain(0, 0, 3), learner.explain(0, 0, 3));
    }
    let refused = |name: &str| {
        let spec: LearnerSpec = format!("{name}:known={}", names[0]).parse().unwrap();
        spec.learner(&arena.world, 10, 1).unwrap_err().to_string()
    };
    assert!(refused("c-ucbvi").contains("this learner sees the state whole"));
    assert!(refused("f-ucbvi").contains("this learner knows only interventions"));
    let text =
        "graph-psrl:known=mod".parse::<LearnerSpec>().unwrap().learner(&arena.world, 10, 1).unwrap_err().to_string();
    assert!(text.starts_with("there is no state factor `mod`"), "{text}");
}

#[test]
fn pessimistic_estimates_are_below_the_true_value_and_optimistic_ones_above() {
    for (seed, unknown) in [(1, false), (2, false), (1, true), (2, true)] {
        let arena = Arena::new(small_worlds::factored(seed));
        let knowledge =
            if unknown { arena.knowledge().without_mechanisms().without_rewards() } else { arena.knowledge() };
        for name in ["graph-ucbvi", "c-ucbvi"] {
            let options = Options { delta: 0.05, ..name.parse::<Preset>().unwrap().options(400, seed) };
            let mut learner = Learner::new(&knowledge, options).unwrap();
            let mut gaps = vec![];
            for _ in 0..4 {
                arena.regrets_of(&mut learner, 100, seed);
                for sets in Sets::ALL {
                    let [worst, best] = [Estimator::Pessimistic(*sets), Estimator::Optimistic(*sets)]
                        .map(|r| learner.read(r, 0).unwrap());
                    let kept = arena.values_of(&worst.policy_hs);
                    for i in 0..kept.len() {
                        assert!(
                            worst.value_hs[i] <= kept[i] + 1e-9,
                            "{name}: {} promised, {} kept",
                            worst.value_hs[i],
                            kept[i]
                        );
                        assert!(best.value_hs[i] >= arena.optimal.value_hs[i] - 1e-9, "{name}");
                    }
                    gaps.push(best.value_hs[0] - worst.value_hs[0]);
                }
            }
            let closes_in = (0..Sets::ALL.len()).all(|kind| gaps[gaps.len() - Sets::ALL.len() + kind] < gaps[kind]);
            assert!(closes_in, "{name}: the bounds close in: {gaps:?}");
        }
    }
}

#[test]
fn bounds_hold_where_levers_are_left_alone_cost_something_and_act_directly() {
    for seed in 1..4 {
        let arena = Arena::new(small_worlds::crooked(seed));
        for knowledge in knowledge(&arena) {
            for name in ["graph-ucbvi", "c-ucbvi", "cf-ucbvi:stage-dependent=true", "ucbvi"] {
                let options = name.parse::<LearnerSpec>().unwrap().options(200, seed);
                let mut learner = Learner::new(&knowledge, options).unwrap();
                for _ in 0..3 {
                    for sets in Sets::ALL {
                        let [worst, best] = [Estimator::Pessimistic(*sets), Estimator::Optimistic(*sets)]
                            .map(|r| learner.read(r, 0).unwrap());
                        let kept = arena.values_of(&worst.policy_hs);
                        for i in 0..kept.len() {
                            assert!(worst.value_hs[i] <= kept[i] + 1e-9, "{name}: {} {}", worst.value_hs[i], kept[i]);
                            assert!(best.value_hs[i] >= arena.optimal.value_hs[i] - 1e-9, "{name}");
                        }
                    }
                    arena.regrets_of(&mut learner, 60, seed);
                }
            }
        }
    }
}

/// Worlds of several shapes for random orders.
fn any_world(seed: u64) -> World {
    match seed % 3 {
        0 => small_worlds::factored(seed),
        1 => small_worlds::crooked(seed),
        _ => small_worlds::all_keys(seed),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn any_order_and_split_of_any_steps_gives_the_same_evidence(
        seed in 0u64..50,
        keys in prop::collection::vec(any::<u32>(), 40),
        cut in 0usize..40,
        view in 0usize..6,
    ) {
        let arena = Arena::new(any_world(seed));
        let knowledge = arena.knowledge().without_mechanisms().without_rewards();
        let Ok(mut whole) = Evidence::new(&knowledge, &views()[view]) else { return Ok(()) };
        let mut steps: Vec<Observation<'static>> = steps(&arena, 10, seed).iter().map(Seen::observation).collect();
        steps.truncate(keys.len());
        let (mut left, mut right) = (whole.clone(), whole.clone());
        steps.iter().for_each(|s| whole.add(s).unwrap());
        let mut order: Vec<usize> = (0..steps.len()).collect();
        order.sort_by_key(|&i| keys[i]);
        for (place, &i) in order.iter().enumerate() {
            if place < cut { left.add(&steps[i]).unwrap() } else { right.add(&steps[i]).unwrap() }
        }
        right.merge(&left).unwrap();
        prop_assert_eq!(right.save(), whole.save());
        prop_assert_eq!(right.fingerprint(), whole.fingerprint());
    }
}

#[test]
fn observations_without_an_intervention_are_refused() {
    let arena = Arena::new(small_worlds::crooked(1));
    let knowledge = arena.knowledge();
    let at = || Observation::at(&knowledge, 0, 0).unwrap();
    for options in views() {
        let mut seen = Evidence::new(&knowledge, &options).unwrap();
        let before = seen.save();
        let step = at().then(&knowledge, 1).unwrap();
        assert_eq!(step.action(), None);
        assert_eq!(seen.add(&step), Err(EvidenceError::NothingDone), "{options:?}");
        assert_eq!(seen.remove(&step), Err(EvidenceError::NothingDone), "{options:?}");
        assert_eq!(seen.save(), before);
    }
    let text = at().found(&knowledge, [("x1", "1")]).unwrap_err().to_string();
    assert!(text.ends_with("depends on what was done, and this observation does not say it yet; call `did` first"));
    // Said twice, the second counts, and nothing is left of the first.
    let both = at().did(&knowledge, [("x1", "1"), ("x2", "2")]).unwrap().did(&knowledge, [("x1", "0")]).unwrap();
    let once = at().did(&knowledge, [("x1", "0")]).unwrap();
    assert_eq!((both.action(), both.values()), (once.action(), once.values()));
}

#[test]
fn net_rewards_subtract_the_cost_of_the_intervention_which_must_be_given() {
    let world = Draft::new(2, 4)
        .state("s", 2)
        .lever("x", 2)
        .cost(&[0.25, 0.5])
        .key("y", 2)
        .drawn(&["y"], &["x"])
        .next("s", &["s", "y"])
        .pays_between("r", &["y"], [0.0, 1.0], false)
        .world();
    let knowledge = Knowledge::of(&world);
    let at = || Observation::at(&knowledge, 0, 0).unwrap();
    assert_eq!(at().did(&knowledge, [("x", "1")]).unwrap().received(&knowledge, 0.25).unwrap().rewards(), [0.75]);
    let text = at().received(&knowledge, 0.25).unwrap_err().to_string();
    assert!(text.starts_with("what was received for the whole step depends on what was done"), "{text}");
}

#[test]
fn an_observation_of_another_world_is_refused_and_changes_nothing() {
    let arena = Arena::new(small_worlds::factored(1));
    for (n, other) in [small_worlds::one_factor(1), small_worlds::all_keys(1)].iter().enumerate() {
        let theirs = Knowledge::of(other);
        let last = theirs.n_states() - 1;
        let keys: Vec<u32> = theirs.keys().iter().map(|_| 1).collect();
        let step = Observation::at(&theirs, theirs.horizon() - 1, last).unwrap().did(&theirs, 0).unwrap();
        let step = step.saw(&theirs, &keys[..]).unwrap().then(&theirs, last).unwrap();
        for name in ["ucbvi", "graph-psrl", "graph-ucbvi:guard=true", "lsvi-ucb:features=one-hot"] {
            let mut learner = by_name(&arena.knowledge(), name);
            learner.learn(&steps(&arena, 1, 1)[0].observation()).unwrap();
            let before = learner.save();
            assert_eq!(learner.learn(&step), Err(EvidenceError::OtherWorld), "{name}, world {n}");
            assert_eq!(learner.take_back(&step), Err(EvidenceError::OtherWorld), "{name}, world {n}");
            assert_eq!(learner.save(), before, "{name}, world {n}");
        }
    }
}

#[test]
fn a_regression_takes_back_no_payment_that_cannot_have_been_made() {
    let arena = Arena::new(small_worlds::one_factor(1));
    let knowledge = arena.knowledge().without_rewards();
    let mut learner = by_name(&knowledge, "c-lsvi-ucb:features=one-hot");
    let paid = |reward: f64| {
        let at = Observation::at(&knowledge, 0, 0).unwrap().did(&knowledge, 0).unwrap();
        at.saw(&knowledge, &[0u32][..]).unwrap().paid(&knowledge, &[reward]).unwrap().then(&knowledge, 0).unwrap()
    };
    learner.learn(&paid(1.0)).unwrap();
    learner.learn(&paid(1.0)).unwrap();
    assert_eq!(learner.take_back(&paid(0.0)), Err(EvidenceError::NotThere));
    learner.take_back(&paid(1.0)).unwrap();
}
