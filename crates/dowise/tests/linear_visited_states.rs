//! Learners that work from the states they met: the same as those that list states, where states can be enumerated.

use std::sync::Arc;

use dowise::kernel::Kernel;
use dowise::linear::{
    Beta, Doubt, Features, LinearLearner, LinearOptions, LinearPreset, Switching, VisitedStatesLearner, Weights,
};
use dowise::simulate::{AtRandom, Estimate, Play, SampledValueIteration};
use dowise::world::{FeatureForm, FeatureSpec, Form};
use dowise::worlds::{Linear, LinearCode, LinearLock};
use dowise::{Agent, Knowledge, Learner, LearnerSpec, Observation, Simulator, World, worlds};
use proptest::prelude::*;

fn options(name: &str, seed: u64) -> LinearOptions {
    let options = name.parse::<LinearPreset>().unwrap().options(200, seed);
    LinearOptions { switching: Switching::Doubling, ..options }
}

/// Plays the same learner twice, with states listed and from the states met, and compares what it does and believes.
fn compare(world: &World, options: LinearOptions, episodes: usize) {
    let knowledge = Knowledge::of(world);
    let mut listed = LinearLearner::new(&knowledge, options.clone()).unwrap();
    let mut unlisted = VisitedStatesLearner::new(&knowledge, options).unwrap();
    let simulator = Simulator::new(world).unwrap();
    let [mut a, mut b] = [0, 1].map(|_| Play::new(&simulator, 7));
    for episode in 0..episodes {
        assert_eq!(a.episode(&mut listed), b.episode(&mut unlisted), "{episode}");
        assert_eq!(a.position(), b.position(), "{episode}");
    }
    assert_eq!(listed.plans(), unlisted.plans());
    assert!(unlisted.plans() < episodes as u64 && unlisted.plans() > 2);
    // What they would deploy has all the steps made since the last plan, and is the same.
    let (deployed, mut from_met) = (listed.learned_plan(), unlisted.learned_policy());
    for (stage, state) in (0..world.horizon()).flat_map(|h| (0..world.n_states()).map(move |s| (h, s))) {
        let (of, with) = (deployed.action(stage, state), from_met.decide(stage, state).unwrap());
        assert!(of == with || world.has_ended(state), "stage {stage}, state {state}: {of:?} {with:?}");
    }
    // Values of the last plan at states that it knew, where nothing was met since.
    let (now, before) = (unlisted.values(1), listed.plan());
    for (state, value) in now {
        assert!((value - before.value(1, state)).abs() < 1e-9, "{state}: {value} {}", before.value(1, state));
    }
}

#[test]
fn what_it_does_is_what_the_learner_does_that_lists_states() {
    let lock = LinearLock { states: 30, causes: 4, dimension: 5, horizon: 6, ..LinearLock::default() }.world().unwrap();
    let random = Linear { states: 9, causes: 5, dimension: 4, low_rank: true, seed: 2, ..Linear::default() };
    for world in [lock, random.world().unwrap()] {
        for name in ["c-lsvi-ucb", "c-rlsvi"] {
            compare(&world, options(name, 3), 60);
            compare(&world, LinearOptions { stage_dependent: true, ..options(name, 3) }, 60);
        }
    }
    // Rewards are given here, so that residuals are those of values alone, and not of payments known by their means.
    let knowledge = Linear { states: 12, causes: 4, dimension: 3, low_rank: true, seed: 5, ..Linear::default() };
    compare(&knowledge.world().unwrap(), options("c-blsvi", 1), 60);
}

/// `c-lsvi-ucb` with steps weighed by variance, at a scale of β at which weights differ.
fn weighed(beta: Beta, beta_scale: f64) -> LinearOptions {
    LinearOptions { weights: Weights::Variance, beta, beta_scale, ..options("c-lsvi-ucb", 3) }
}

#[test]
fn steps_weighted_by_variance_have_the_weights_of_enumerated_states() {
    let lock = LinearLock { states: 30, causes: 4, dimension: 5, horizon: 6, ..LinearLock::default() }.world().unwrap();
    let random = Linear { states: 9, causes: 5, dimension: 4, low_rank: true, seed: 2, ..Linear::default() };
    let ending = World::from_toml(ENDING, "ending.toml").unwrap();
    for world in [lock, random.world().unwrap(), ending] {
        for options in [weighed(Beta::SelfNormalised, 0.05), weighed(Beta::CoveringNumber, 1e-3)] {
            compare(&world, options.clone(), 60);
            compare(&world, LinearOptions { stage_dependent: true, ..options }, 60);
        }
    }
}

/// A world of low rank in which episodes end early: what pays most from step to step leads there.
const ENDING: &str = r#"
dowise = 1
horizon = 6
discount = 0.8
ends = { when = { a = "hi" } }

[state.a]
values = ["lo", "mid", "hi"]
scope = ["a", "z"]

[state.b]
values = 2
scope = ["a", "z"]
start = [0.3, 0.7]

[lever.x]
values = ["p", "q", "r"]
cost = { r = 0.15, q = 0.05 }

[key.z]
values = 2
parents = ["x", "a"]
p = [[[0.9, 0.1], [0.8, 0.2], [0.5, 0.5]], [[0.5, 0.5], [0.4, 0.6], [0.2, 0.8]], [[0.1, 0.9], [0.1, 0.9], [0.3, 0.7]]]

[reward.pay]
scope = ["a", "b", "z"]
value = [[[0.0, 0.1], [0.2, -0.3]], [[0.5, 0.6], [0.1, 0.9]], [[1.0, 1.0], [1.0, 1.0]]]

[features]
kind = "table"
scope = ["a", "z"]
value = [[[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]], [[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]], [[0.3, 0.3, 0.4], [0.1, 0.1, 0.8]]]

[low_rank]
next.a = [[0.9, 0.1, 0.0], [0.1, 0.7, 0.2], [0.0, 0.3, 0.7]]
next.b = [[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]]
"#;

#[test]
fn the_optimistic_value_after_the_end_is_zero() {
    let world = World::from_toml(ENDING, "ending.toml").unwrap();
    for name in ["c-lsvi-ucb", "c-rlsvi", "c-blsvi"] {
        compare(&world, options(name, 3), 60);
    }
    let arena = dowise::Arena::new(&world).unwrap();
    let plan = SampledValueIteration::new(&world, 500, 1).unwrap();
    let n = world.n_states();
    let policy: Vec<_> = (0..world.horizon() * n).map(|i| plan.decide(i / n, i % n).0).collect();
    let (value, best) = (arena.value_of(&policy).unwrap(), arena.optimal());
    assert!(value <= best + 1e-9 && value > 0.995 * best, "{value} {best}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    #[test]
    fn in_random_worlds_too(states in 2usize..12, causes in 1usize..6, d in 1usize..6, horizon in 1u64..5, seed in 0u64..99) {
        let world = Linear { states, causes, dimension: d, horizon, low_rank: true, seed, ..Linear::default() }.world().unwrap();
        let knowledge = Knowledge::of(&world);
        let mut listed = LinearLearner::new(&knowledge, options("c-lsvi-ucb", seed)).unwrap();
        let mut unlisted = VisitedStatesLearner::new(&knowledge, options("c-lsvi-ucb", seed)).unwrap();
        let simulator = Simulator::new(&world).unwrap();
        let [mut a, mut b] = [0, 1].map(|_| Play::new(&simulator, seed));
        for _ in 0..20 {
            prop_assert_eq!(a.episode(&mut listed), b.episode(&mut unlisted));
        }
    }
}

#[test]
fn its_reasons_and_doubts_are_those_of_the_learner_that_lists_states() {
    let lock = LinearLock { states: 30, causes: 4, dimension: 5, horizon: 6, ..LinearLock::default() }.world().unwrap();
    let (knowledge, simulator) = (Knowledge::of(&lock), Simulator::new(&lock).unwrap());
    for features in ["world", "polynomial-1"] {
        let spec: LearnerSpec = format!("c-lsvi-ucb:features={features},schedule=doubling").parse().unwrap();
        let options = || spec.linear_options(200, 3).unwrap();
        let mut listed = Learner::linear(&knowledge, options()).unwrap();
        let mut unlisted = VisitedStatesLearner::new(&knowledge, options()).unwrap();
        let [mut a, mut b] = [0, 1].map(|_| Play::new(&simulator, 7));
        (0..200).for_each(|_| assert_eq!(a.episode(&mut listed), b.episode(&mut unlisted)));
        for (stage, state) in [(0, 0), (1, 3), (3, 5), (5, 8)] {
            let all = 1 << 16;
            let mut of = listed.explain(stage, state, all).unwrap().preferred;
            let mut with = unlisted.explain(stage, state, all).unwrap().preferred;
            assert_eq!((of.len(), of[0].action), (with.len(), with[0].action));
            // Behind the one that it takes, rounding orders what is worth the same.
            [&mut of, &mut with].into_iter().for_each(|list| list.sort_by_key(|p| p.action));
            for (a, b) in of.iter().zip(&with) {
                assert_eq!(a.action, b.action);
                for (x, y) in [(a.optimistic, b.optimistic), (a.mean, b.mean), (a.visits, b.visits)] {
                    assert!((x - y).abs() <= 1e-7 * (1.0 + x.abs()), "{a:?} {b:?}");
                }
            }
        }
        let (of, with) = (listed.as_linear().unwrap().doubts(), unlisted.doubts());
        assert_eq!(
            of.iter().map(ToString::to_string).collect::<Vec<_>>(),
            with.iter().map(ToString::to_string).collect::<Vec<_>>()
        );
    }
    // Constant features know of no state and no cause: the fit is wrong, and more steps do not mend it.
    let blind = |features: &str| {
        let world = worlds::world("linear-lock", &[("causes", "4")]).unwrap();
        let spec: LearnerSpec = format!("c-blsvi:features={features}").parse().unwrap();
        let mut learner =
            VisitedStatesLearner::new(&Knowledge::of(&world), spec.linear_options(300, 1).unwrap()).unwrap();
        let simulator = Simulator::new(&world).unwrap();
        let mut play = Play::new(&simulator, 1);
        (0..300).for_each(|_| {
            play.episode(&mut learner);
        });
        learner.doubts()
    };
    assert_eq!(blind("world"), []);
    let found = blind("polynomial-1");
    assert!(matches!(found[..], [Doubt::Residuals { deviations, .. }] if deviations.abs() > 4.0), "{found:?}");
    let few = VisitedStatesLearner::new(&Knowledge::of(&LinearCode::default().world().unwrap()), options("c-blsvi", 1))
        .unwrap();
    assert!(few.doubts()[0].to_string().contains("11 weights are fitted to 0 steps"));
    assert!(few.explain(99, 0, 3).is_err() && few.explain(0, 12345, 3).unwrap().preferred.len() == 3);
}

#[test]
fn a_restored_learner_goes_on_as_if_it_had_never_stopped() {
    let world = LinearCode::default().world().unwrap();
    let knowledge = Knowledge::of(&world);
    let simulator = Simulator::new(&world).unwrap();
    let stages_apart = LinearOptions { stage_dependent: true, ..weighed(Beta::SelfNormalised, 0.05) };
    let all = [options("c-blsvi", 1), options("c-lsvi-ucb", 1), weighed(Beta::SelfNormalised, 0.05), stages_apart];
    for (name, options) in all.into_iter().enumerate() {
        let mut whole = VisitedStatesLearner::new(&knowledge, options).unwrap();
        let mut play = Play::new(&simulator, 2);
        (0..7).for_each(|_| {
            play.episode(&mut whole);
        });
        let mut again = VisitedStatesLearner::restore(&knowledge, &whole.save()).unwrap();
        assert_eq!(again.save(), whole.save());
        let mut later = Play::new(&simulator, 2);
        later.go_on(play.position());
        for _ in 0..7 {
            assert_eq!(later.episode(&mut again), play.episode(&mut whole), "{name}");
        }
        assert_eq!(again.save(), whole.save(), "{name}");
    }
    let mut learner = VisitedStatesLearner::new(&knowledge, weighed(Beta::SelfNormalised, 0.05)).unwrap();
    // Before the first plan: steps made elsewhere, and then a restart.
    learner.learn((0, 3), 1, 0.0, 7).unwrap();
    let mut again = VisitedStatesLearner::restore(&knowledge, &learner.save()).unwrap();
    assert_eq!((again.plans(), again.values(0)), (0, learner.values(0)));
    assert_eq!(again.decide(0, 3).unwrap(), learner.decide(0, 3).unwrap());
    let mut play = Play::new(&simulator, 2);
    (0..3).for_each(|_| _ = play.episode(&mut learner));
    let text = learner.save();
    let [from, to] = ["\"weights\":[[", "\"weights\":[[1e-9,"];
    let first = text.find(from).unwrap() + from.len();
    let changed =
        format!("{}{to}{}", &text[..first - from.len()], &text[text[first..].find(',').unwrap() + first + 1..]);
    let error = VisitedStatesLearner::restore(&knowledge, &changed).unwrap_err().to_string();
    assert!(error.contains("not those of a plan"), "{error}");
    let learner = VisitedStatesLearner::new(&knowledge, options("c-blsvi", 1)).unwrap();
    let says = |text: &str| VisitedStatesLearner::restore(&knowledge, text).unwrap_err().to_string();
    assert!(says(&learner.save().replace("\"dimension\":11", "\"dimension\":12")).contains("12 features"));
    assert!(says("{}").len() > 10);
    let other = Knowledge::of(&LinearCode { causes: 8, ..LinearCode::default() }.world().unwrap());
    assert!(VisitedStatesLearner::restore(&other, &learner.save()).is_err());
}

#[test]
fn it_learns_where_no_state_is_ever_met_twice() {
    let world = LinearCode { places: 4, horizon: 12, ..LinearCode::default() }.world().unwrap();
    let simulator = Simulator::new(&world).unwrap();
    let mut learner = VisitedStatesLearner::new(&Knowledge::of(&world), options("c-blsvi", 1)).unwrap();
    let mut play = Play::new(&simulator, 3);
    (0..150).for_each(|_| {
        play.episode(&mut learner);
    });
    assert_eq!(learner.met(), 150 * 12);
    let mut best = SampledValueIteration::new(&world, 200, 1).unwrap();
    let returns = |agent: &mut dyn Agent| simulator.returns(agent, 400, 11);
    let learned = returns(&mut learner.learned_policy());
    let (best, random) = (returns(&mut best), returns(&mut AtRandom::new(&simulator, 1)));
    let gap = Estimate::of_pairs(&best, &random, world.return_range());
    let lost = Estimate::of_pairs(&best, &learned, world.return_range());
    assert!(gap.mean > 5.0 * gap.half, "{gap:?}");
    assert!(lost.mean - lost.half < 0.25 * gap.mean, "{lost:?} of {gap:?}");
    // Paired with the same random numbers the difference is known better than either.
    let alone = Estimate::of(best.iter().copied(), world.return_range());
    assert!(lost.half < 1.5 * alone.half, "{lost:?} {alone:?}");
}

#[test]
fn features_from_code_are_those_of_the_map() {
    let world =
        LinearLock { states: 30, causes: 4, dimension: 5, horizon: 6, ..LinearLock::default() }.world().unwrap();
    let knowledge = Knowledge::of(&world);
    let features = Features::of(&world).unwrap();
    let function = move |state: usize, out: &mut [f64]| {
        out.chunks_exact_mut(5).enumerate().for_each(|(c, row)| row.copy_from_slice(features.row(state, c)));
        Ok(())
    };
    let mut of_map = VisitedStatesLearner::new(&knowledge, options("c-blsvi", 1)).unwrap();
    let mut of_code =
        VisitedStatesLearner::with_function(&knowledge, 5, Arc::new(function), options("c-blsvi", 1)).unwrap();
    let simulator = Simulator::new(&world).unwrap();
    let [mut a, mut b] = [0, 1].map(|_| Play::new(&simulator, 7));
    (0..30).for_each(|_| assert_eq!(a.episode(&mut of_map), b.episode(&mut of_code)));
    assert_eq!(of_map.save(), of_code.save());
}

#[test]
fn wrong_features_and_steps_are_named() {
    let world = World::builder("own", 4)
        .state("a", 1 << 16)
        .state("b", 1 << 16)
        .lever("x", 2)
        .key("z", ["no", "yes"])
        .mechanism("z", "x", [0.9, 0.1, 0.2, 0.8])
        .next("a", ["a", "z"], Form::LowRank)
        .next("b", ["b", "z"], Form::LowRank)
        .reward("r", "z", [0.0, 1.0])
        .build()
        .unwrap();
    assert!(!world.is_enumerable());
    let knowledge = Knowledge::of(&world);
    let bare = VisitedStatesLearner::new(&knowledge, options("c-blsvi", 1)).unwrap_err().to_string();
    assert!(
        bare.starts_with("the world has no features, and one for each of its 8589934592 states and causes"),
        "{bare}"
    );
    let with = |value: f64| {
        let function = move |state: usize, out: &mut [f64]| {
            if state == 9 {
                return Err("no sensor".to_owned());
            }
            out[0] = 1.0;
            out[3] = if state == 5 { value } else { 0.5 };
            Ok(())
        };
        VisitedStatesLearner::with_function(&knowledge, 2, Arc::new(function), options("c-blsvi", 1)).unwrap()
    };
    let says = |value: f64, state: usize| with(value).decide(0, state).unwrap_err().to_string();
    assert!(
        says(1.5, 5).starts_with("the features at a = \"0\", b = \"5\", z = \"yes\" have length 1.5"),
        "{}",
        says(1.5, 5)
    );
    assert!(says(f64::NAN, 5).starts_with("feature 2 at a = \"0\", b = \"5\", z = \"yes\" is NaN"));
    assert_eq!(says(0.0, 9), "the features of the state a = \"0\", b = \"9\" could not be computed: no sensor");
    assert_eq!(says(0.0, 1 << 40), "there is no state 1099511627776: states are numbered from 0 to 4294967295");
    let mut fine = with(0.5);
    assert!(fine.decide(0, 5).is_ok());
    let learn = |learner: &mut VisitedStatesLearner, cause, next| {
        learner.learn((0, 1), cause, 0.0, next).map_err(|e| e.to_string())
    };
    assert_eq!(learn(&mut fine, 2, 1).unwrap_err(), "there is no cause 2: causes are numbered from 0 to 1");
    assert!(learn(&mut fine, 0, 9).unwrap_err().contains("no sensor"));
    assert!(learn(&mut fine, 1, 4_000_000_000).is_ok());
    let interventions =
        LinearOptions { regression: dowise::linear::Regression::Interventions, ..options("c-blsvi", 1) };
    let refused =
        VisitedStatesLearner::with_function(&knowledge, 2, Arc::new(|_, _| Ok(())), interventions).unwrap_err();
    assert!(refused.to_string().contains("regress on causes"), "{refused}");
    // What lists states says that it cannot.
    let mut plain = dowise::LearnerSpec::learner(&"graph-psrl".parse().unwrap(), &world, 10, 1);
    assert!(plain.is_err(), "{:?}", plain.as_mut().map(|_| ()));
    assert!("c-blsvi".parse::<dowise::LearnerSpec>().unwrap().learner(&world, 10, 1).is_err());
}

#[test]
fn features_from_code_are_tried_before_anything_runs() {
    let mut builder = World::builder("own", 3).lever("x", 2).key("z", 2).mechanism("z", "x", [0.9, 0.1, 0.2, 0.8]);
    for i in 0..40 {
        builder = builder.state(format!("b{i}"), 2).next(format!("b{i}"), "z", Form::LowRank);
    }
    let world = builder.reward("r", "z", [0.0, 1.0]).build().unwrap();
    let knowledge = Knowledge::of(&world);
    let make = |function: dowise::linear::FeatureFunction| {
        VisitedStatesLearner::with_function(&knowledge, 3, function, options("c-blsvi", 1))
    };
    let says = |function: dowise::linear::FeatureFunction| make(function).unwrap_err().to_string();
    let long = says(Arc::new(|_, out| {
        out[4] = 1.5;
        Ok(())
    }));
    assert!(long.contains("z = \"1\" have length 1.5"), "{long}");
    assert!(
        says(Arc::new(|_, out| {
            out[2] = f64::INFINITY;
            Ok(())
        }))
        .starts_with("feature 3 at b0 = ")
    );
    assert!(says(Arc::new(|_, _| Err("no sensor".to_owned()))).ends_with("could not be computed: no sensor"));
    // Some states may be impossible, and need no features.
    let some = make(Arc::new(|state, out| {
        let share = f64::from((state as u64).count_ones()) / 80.0;
        out.copy_from_slice(&[share, 0.5, 0.0, share, 0.5, 0.1]);
        if state % 2 == 0 { Ok(()) } else { Err("impossible".to_owned()) }
    }));
    assert_eq!(some.unwrap().findings(), []);
    let found = |function: dowise::linear::FeatureFunction| {
        make(function).unwrap().findings().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let constant = found(Arc::new(|_, out| {
        out.fill(0.3);
        Ok(())
    }));
    assert!(constant[0].starts_with("the features are the same for all states and causes"), "{constant:?}");
    let twice = found(Arc::new(|state, out| {
        let share = f64::from((state as u64).count_ones()) / 80.0;
        out.copy_from_slice(&[share, 0.5, share + 0.1, 0.2, 0.5, 0.3]);
        Ok(())
    }));
    assert_eq!(
        twice,
        [
            "feature 3 is a combination of those before it, and only 2 of 3 features are independent; leave those out that say nothing new"
        ]
    );
    let few = VisitedStatesLearner::with_function(
        &knowledge,
        3,
        Arc::new(|state, out| {
            out[state % 6] = 0.5;
            Ok(())
        }),
        "c-blsvi".parse::<LinearPreset>().unwrap().options(1, 1),
    );
    assert_eq!(few.unwrap().findings(), []);
}

/// A world of two factors on which the key variable depends, with or without a list of states.
fn depends(horizon: u64) -> World {
    let rows: Vec<f64> = (0..3 * 5 * 2).flat_map(|i| [0.1 + 0.02 * f64::from(i), 0.9 - 0.02 * f64::from(i)]).collect();
    World::builder("two", horizon)
        .state("a", 3)
        .state("b", 20)
        .state("c", 5)
        .lever("x", 2)
        .key("z", 2)
        .mechanism("z", ["a", "c", "x"], rows)
        .next("a", ["a", "z"], Form::LowRank)
        .next("b", ["b", "z"], Form::LowRank)
        .next("c", ["c", "z"], Form::LowRank)
        .reward("r", ["a", "z"], [0.0, 1.0, 0.3, 0.2, 0.5, 0.1])
        .build()
        .unwrap()
}

#[test]
fn kernels_are_the_same_without_a_list_of_states() {
    let (listed, unlisted) = (depends(10), depends(1_000_000));
    assert!(listed.is_enumerable() && !unlisted.is_enumerable());
    let [a, b] = [&listed, &unlisted].map(|world| Kernel::new(world).unwrap());
    let [mut p, mut q] = [[0.0; 2], [0.0; 2]];
    for state in 0..listed.n_states() {
        for rank in 0..listed.interventions().count() {
            let action = listed.interventions().nth(rank);
            a.distribution(state, action, &mut p);
            b.distribution(state, action, &mut q);
            assert_eq!(p, q);
        }
    }
}

#[test]
fn means_of_tables_survive_their_file_and_mistakes_are_named() {
    let world = LinearCode { symbols: 3, letters: 2, causes: 3, places: 3, ..LinearCode::default() }.world().unwrap();
    let text = world.to_toml();
    let again = World::from_toml(&text, "code.toml").unwrap();
    assert_eq!(again.to_toml(), text);
    assert_eq!(again.features(), world.features());
    let large = LinearCode::default().world().unwrap();
    let again = World::from_toml(&large.to_toml(), "code.toml").unwrap();
    assert_eq!((again.n_states(), again.features()), (large.n_states(), large.features()));
    let wrong = |from: &str, to: &str| {
        let text = large.to_toml();
        let at = text.find("[low_rank.weights]").unwrap();
        let changed = format!("{}{}", &text[..at], text[at..].replacen(from, to, 1));
        let error = World::from_toml(&changed, "code.toml").unwrap_err();
        error.problems.iter().map(|p| p.message.clone()).collect::<Vec<_>>().join("; ")
    };
    let one = wrong("[1.0, 0.0", "[0.5, 0.0");
    assert!(one.starts_with("the weights given place = \"0\", c1 = ") && one.ends_with(" sum to 0.5, not 1"), "{one}");
    let negative = wrong("[1.0, 0.0", "[1.0, -0.5");
    assert!(negative.contains("have a probability of -0.5") || negative.contains("length"), "{negative}");
    let long = FeatureSpec {
        form: FeatureForm::Mean {
            tables: vec![FeatureSpec {
                form: FeatureForm::Table { scope: Some(vec!["z".into()]), dimension: 1, values: vec![0.5, 2.0, 0.5] },
                scale: false,
                at: None,
            }],
        },
        scale: false,
        at: None,
    };
    let error = world.with_features(&long).unwrap_err().to_string();
    assert!(error.contains("the features of z = \"1\" have length 2, more than 1"), "{error}");
}

#[test]
fn a_world_to_be_learned_needs_no_numbers_for_its_states() {
    let mut builder = World::builder("own", 3).lever("x", 2).key("z", 2).mechanism("z", "x", [0.9, 0.1, 0.2, 0.8]);
    for i in 0..40 {
        builder = builder.state(format!("b{i}"), 2).next(format!("b{i}"), "z", Form::LowRank);
    }
    let world = builder.reward("r", "z", [0.0, 1.0]).build().unwrap();
    assert!(!world.is_enumerable() && world.low_rank().is_none());
    let text = world.to_toml();
    assert!(text.contains("[low_rank]\nlearn = true"), "{text}");
    let again = World::from_toml(&text, "again.toml").unwrap();
    assert_eq!((again.to_toml(), again.n_states()), (text.clone(), 1 << 40));
    let both = text.replace("learn = true", "learn = true\nnext.b1 = [[0.5, 0.5]]");
    assert!(World::from_toml(&both, "both.toml").is_err());
    let listed =
        World::from_toml(&text.replace("learn = true", "learn = false"), "listed.toml").unwrap_err().to_string();
    assert!(listed.contains("next"), "{listed}");
}

#[test]
fn a_step_that_was_not_taken_is_refused_as_by_a_session() {
    let world =
        LinearLock { states: 30, causes: 4, dimension: 5, horizon: 3, ..LinearLock::default() }.world().unwrap();
    let knowledge = Knowledge::of(&world);
    let mut unlisted = VisitedStatesLearner::new(&knowledge, options("c-blsvi", 1)).unwrap();
    let mut listed = Learner::linear(&knowledge, options("c-blsvi", 1)).unwrap();
    let mut session = listed.begin();
    unlisted.begin();
    let seen = |stage: usize, state: usize, action, next: usize| {
        let seen = Observation::at(&knowledge, stage, state).unwrap().did_action(&knowledge, action).unwrap();
        seen.saw(&knowledge, &[0u32][..]).unwrap().paid(&knowledge, &[0.0]).unwrap().then(&knowledge, next).unwrap()
    };
    let action = unlisted.act_at(0, 4).unwrap();
    assert_eq!(session.act_at(&mut listed, 0, 4), Ok(action));
    let mut refused = |step: &Observation<'_>, what: &str| {
        let (of, with) = (session.observe(&mut listed, step), unlisted.observe_step(step));
        assert_eq!(of.as_ref().err().map(ToString::to_string), with.err().map(|e| e.to_string()));
        let said = of.err().map(|e| e.to_string()).unwrap_or_default();
        assert!(said.contains(what) && said.is_empty() == what.is_empty(), "{said}");
    };
    refused(&seen(0, 5, action, 6), "is in state 4, not in state 5");
    refused(&seen(0, 4, action, 6), "");
    refused(&seen(0, 4, action, 6), "has been observed already");
    refused(&seen(1, 7, action, 6), "is in state 6, not in state 7");
    assert!(unlisted.act_at(1, 7).unwrap_err().to_string().contains("is in state 6, not in state 7"));
    assert_eq!(unlisted.met(), 1);
    unlisted.end();
    // What was played elsewhere is learned from by its own door.
    unlisted.learn_observation(&seen(2, 9, action, 1)).unwrap();
    assert_eq!(unlisted.met(), 2);
}

#[test]
fn a_saved_learner_knows_its_name() {
    let world = LinearCode::default().world().unwrap();
    let knowledge = Knowledge::of(&world);
    let learner = VisitedStatesLearner::new(&knowledge, options("c-blsvi", 1)).unwrap();
    assert_eq!(VisitedStatesLearner::name_in(&learner.save()).unwrap(), None);
    let text = learner.named("c-blsvi:lambda=1").save();
    assert_eq!(VisitedStatesLearner::name_in(&text).unwrap().as_deref(), Some("c-blsvi:lambda=1"));
    assert_eq!(VisitedStatesLearner::restore(&knowledge, &text).unwrap().name(), "c-blsvi:lambda=1");
}

#[test]
fn it_reports_rewards_that_were_never_observed() {
    let lock = LinearLock { states: 30, causes: 4, dimension: 5, horizon: 6, ..LinearLock::default() }.world().unwrap();
    let (knowledge, simulator) = (Knowledge::of(&lock), Simulator::new(&lock).unwrap());
    let mut learner = VisitedStatesLearner::new(&knowledge, options("c-blsvi", 1)).unwrap();
    assert_eq!(learner.unseen_reward(), None);
    let mut play = Play::new(&simulator, 7);
    let mut paid = 0.0f64;
    for _ in 0..200 {
        paid += play.episode(&mut learner).1;
        assert_eq!(learner.unseen_reward(), (paid == 0.0).then_some([0.0, 1.0]));
    }
    assert!(paid > 0.0);
}
