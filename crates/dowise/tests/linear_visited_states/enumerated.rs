//! Learners over visited states against learners over enumerable states: decisions, values, reasons and refusals.

use dowise::linear::{Beta, Doubt, LinearLearner, LinearOptions};
use dowise::simulate::{Play, SampledValueIteration};
use dowise::worlds::{Linear, LinearCode, LinearLock};
use dowise::{Knowledge, Learner, LearnerSpec, Observation, Simulator, World, worlds};
use proptest::prelude::*;

use super::{options, weighed};

/// Plays the same learner twice, with states listed and from the states met, and compares what it does and believes.
fn compare(world: &World, options: LinearOptions, episodes: usize) {
    let knowledge = Knowledge::of(world);
    let mut listed = LinearLearner::new(&knowledge, options.clone()).unwrap();
    let mut unlisted = LinearLearner::over_visited_states(&knowledge, options).unwrap();
    let simulator = Simulator::new(world).unwrap();
    let [mut a, mut b] = [0, 1].map(|_| Play::new(&simulator, 7));
    for episode in 0..episodes {
        assert_eq!(a.episode(&mut listed), b.episode(&mut unlisted), "{episode}");
        assert_eq!(a.position(), b.position(), "{episode}");
    }
    assert_eq!(listed.plans(), unlisted.plans());
    assert!(unlisted.plans() < episodes as u64 && unlisted.plans() > 2);
    // What they would deploy has all the steps made since the last plan, and is the same.
    let (mut deployed, mut from_met) = (listed.learned_policy(), unlisted.learned_policy());
    for (stage, state) in (0..world.horizon()).flat_map(|h| (0..world.n_states()).map(move |s| (h, s))) {
        let (of, with) = (deployed.decide(stage, state).unwrap(), from_met.decide(stage, state).unwrap());
        assert!(of == with || world.has_ended(state), "stage {stage}, state {state}: {of:?} {with:?}");
    }
    // Values of the last plan at states that it knew, where nothing was met since.
    let (now, before) = (unlisted.values(1), listed.enumerated().unwrap().plan());
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
        let mut unlisted = LinearLearner::over_visited_states(&knowledge, options("c-lsvi-ucb", seed)).unwrap();
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
        let mut unlisted = LinearLearner::over_visited_states(&knowledge, options()).unwrap();
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
                for (x, y) in [(a.optimistic, b.optimistic), (a.mean, b.mean), (a.visits.unwrap(), b.visits.unwrap())] {
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
            LinearLearner::over_visited_states(&Knowledge::of(&world), spec.linear_options(300, 1).unwrap()).unwrap();
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
    let few = LinearLearner::over_visited_states(
        &Knowledge::of(&LinearCode::default().world().unwrap()),
        options("c-blsvi", 1),
    )
    .unwrap();
    assert!(few.doubts()[0].to_string().contains("11 weights are fitted to 0 steps"));
    assert!(few.explain(99, 0, 3).is_err() && few.explain(0, 12345, 3).unwrap().preferred.len() == 3);
}

#[test]
fn a_step_that_was_not_taken_is_refused_as_by_a_session() {
    let world =
        LinearLock { states: 30, causes: 4, dimension: 5, horizon: 3, ..LinearLock::default() }.world().unwrap();
    let knowledge = Knowledge::of(&world);
    let mut unlisted = LinearLearner::over_visited_states(&knowledge, options("c-blsvi", 1)).unwrap();
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
fn states_are_enumerated_unless_that_is_impossible_or_unwanted() {
    let small =
        LinearLock { states: 30, causes: 4, dimension: 5, horizon: 3, ..LinearLock::default() }.world().unwrap();
    let large = LinearCode::default().world().unwrap();
    let [of_small, of_large] = [&small, &large].map(Knowledge::of);
    let new = |knowledge: &Knowledge| LinearLearner::new(knowledge, options("c-blsvi", 1)).unwrap();
    assert!(new(&of_small).enumerated().is_some() && new(&of_large).enumerated().is_none());
    assert!(LinearLearner::over_visited_states(&of_small, options("c-blsvi", 1)).unwrap().enumerated().is_none());
    assert!(LinearLearner::over_all_states(&of_large, options("c-blsvi", 1)).is_err());
    // A file says what it stores.
    for learner in [new(&of_small), LinearLearner::over_visited_states(&of_small, options("c-blsvi", 1)).unwrap()] {
        let text = learner.clone().named("c-blsvi:lambda=1").save();
        let again = LinearLearner::restore(&of_small, &text).unwrap();
        assert_eq!((again.enumerated().is_some(), again.name()), (learner.enumerated().is_some(), "c-blsvi:lambda=1"));
        assert_eq!(LinearLearner::name_in(&text).unwrap().as_deref(), Some("c-blsvi:lambda=1"));
    }
}

#[test]
fn sessions_and_steps_of_others_are_the_same_over_all_and_over_visited_states() {
    let world =
        LinearLock { states: 30, causes: 4, dimension: 5, horizon: 3, ..LinearLock::default() }.world().unwrap();
    let knowledge = Knowledge::of(&world);
    let both = [LinearLearner::over_all_states, LinearLearner::over_visited_states];
    let [mut over_all, mut over_visited] = both.map(|new| new(&knowledge, options("c-lsvi-ucb", 1)).unwrap());
    let action = world.interventions().nth(0);
    let step = Observation::at(&knowledge, 0, 4).unwrap().did_action(&knowledge, action).unwrap();
    let step =
        step.saw(&knowledge, &[1u32][..]).unwrap().paid(&knowledge, &[0.0]).unwrap().then(&knowledge, 6).unwrap();
    let learned = [&mut over_all, &mut over_visited].map(|learner| {
        learner.learn((1, 2), 0, 0.0, 9).unwrap();
        learner.learn_observation(&step).unwrap();
        let errors =
            [learner.learn((9, 2), 0, 0.0, 9), learner.learn((1, 2), 99, 0.0, 9), learner.learn((1, 2), 0, 7.0, 9)];
        let decided = learner.act_at(0, 4).unwrap();
        let other = learner.act_at(0, 5).unwrap_err().to_string();
        learner.observe_step(&step).unwrap();
        let twice = learner.observe_step(&step).unwrap_err().to_string();
        learner.end();
        let explained = learner.explain(1, 3, 1).unwrap().preferred[0].action;
        assert!(learner.explain(9, 3, 1).is_err() && learner.explain(1, 99, 1).is_err());
        let policy = learner.learned_policy().decide(1, 3).unwrap();
        let again = LinearLearner::restore(&knowledge, &learner.save()).unwrap();
        assert_eq!(again.save(), learner.save());
        let errors = errors.map(|error| error.unwrap_err().to_string());
        (
            (decided, explained, policy),
            (errors, other, twice),
            (learner.met(), learner.dimension(), learner.n_weights()),
        )
    });
    assert_eq!(learned[0], learned[1]);
    assert!((over_all.beta(0) - over_visited.beta(0)).abs() < 1e-9 * over_all.beta(0));
    let [of_all, of_visited] = [over_all.values(1), over_visited.values(1)];
    assert_eq!((of_all.len(), of_visited.len()), (30, 2));
    assert!(of_visited.iter().all(|&(state, value)| (value - of_all[state].1).abs() < 1e-9));
}
