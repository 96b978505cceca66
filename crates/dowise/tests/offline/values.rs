//! Values: exact where they must be, corrected where the model is wrong, and what plans are recommended.

use dowise::offline::fit::{FitOptions, Fitting};
use dowise::offline::{Candidate, OfflineOptions, Recommendation, Starts, evaluate, plan_from_evidence, plan_safely};
use dowise::{Knowledge, World, worlds};

use super::common;
use super::logger::*;

#[test]
fn values_come_to_the_true_one_as_the_log_grows() {
    for name in ["paper", "river-swim", "treatment"] {
        let world = worlds::world(name, &[]).unwrap();
        let logger = logger(&world, 0.5);
        let policy = &logger.policy_hs;
        let exact = truth(&world, policy);
        let knowledge = Knowledge::of(&world).without_rewards();
        let mut widths = Vec::new();
        for episodes in [200, 3200] {
            let found = evaluate(&logger.log(&knowledge, episodes, 1), policy, &quick()).unwrap();
            let robust = found.robust.unwrap();
            assert!(found.guaranteed.unwrap().contains(exact), "{name} {found:?} {exact}");
            widths.push([found.model.posterior.width(), found.guaranteed.unwrap().width()]);
            let off = [(found.model.mean - exact).abs(), (robust.mean - exact).abs()];
            assert!(off[0] < 1.5 * widths.last().unwrap()[0], "{name}, {episodes}: {off:?} {widths:?}");
            // Products of sixteen ratios leave few effective episodes in a river, and then no interval to rely on.
            assert!(
                off[1] < 1.5 * robust.interval.width() || robust.effective < 50.0,
                "{name}, {episodes}: {robust:?}"
            );
            assert!(robust.effective >= 20.0 || episodes == 200 || name == "river-swim", "{name}: {robust:?}");
        }
        // Sixteen times as many episodes: widths fall to a quarter, up to priors, logarithms and rows that were rarely seen.
        for (small, large) in widths[0].iter().zip(&widths[1]) {
            assert!(large < &(0.6 * small), "{name}: {widths:?}");
        }
    }
}

#[test]
fn the_logged_policy_itself_has_ratio_one_and_the_value_of_the_logged_mean() {
    let world = copied();
    let knowledge = Knowledge::of(&world);
    for propensity in [false, true] {
        let logger = Logger { propensity, ..logger(&world, 0.0) };
        let log = logger.log(&knowledge, 60, 3);
        let found = evaluate(&log, &logger.policy_hs, &quick()).unwrap();
        let (robust, returns) = (found.robust.unwrap(), found.logged.returns.unwrap());
        assert!((robust.greatest_ratio - 1.0).abs() < 1e-12 && (robust.effective - 60.0).abs() < 1e-9, "{robust:?}");
        assert!((robust.mean - returns.mean).abs() < 1e-12, "{robust:?} {returns:?}");
        assert!((robust.interval.width() - returns.normal.width()).abs() < 1e-12);
        assert_eq!((robust.corrected, robust.not_corrected), (180, 0));
        assert_eq!(robust.by_propensity, if propensity { 180 } else { 0 });
        assert!((found.model.mean - found.logged.model.unwrap().mean).abs() < 1e-12, "the same causes, the same value");
    }
}

#[test]
fn logged_probabilities_are_used_where_every_intervention_was_seen() {
    let world = paper(2);
    let knowledge = Knowledge::of(&world);
    let logger = Logger { propensity: true, ..logger(&world, 0.5) };
    let policy = constant(&world, 1);
    let found = evaluate(&logger.log(&knowledge, 2000, 5), &policy, &quick()).unwrap();
    let robust = found.robust.unwrap();
    assert_eq!(robust.by_propensity, robust.corrected);
    let exact = truth(&world, &policy);
    assert!((robust.mean - exact).abs() < robust.interval.width(), "{robust:?} {exact}");
}

#[test]
fn a_wrong_model_is_corrected_by_the_doubly_robust_value() {
    // The world is given with a scope that leaves out what the next mood depends on.
    let world = World::builder("a walk needs good weather", 3)
        .state("mood", ["low", "high"])
        .state("sun", ["no", "yes"])
        .lever("shoes", ["cupboard", "door"])
        .key("walk", ["no", "yes"])
        .mechanism("walk", ["shoes", "sun"], [0.2, 0.8, 0.9, 0.1, 0.9, 0.1, 0.1, 0.9])
        .next("mood", ["walk", "sun"], [0.8, 0.2, 0.7, 0.3, 0.9, 0.1, 0.05, 0.95])
        .next("sun", ["sun"], [0.5, 0.5, 0.5, 0.5])
        .reward("well", "mood", [0.0, 1.0])
        .build()
        .unwrap();
    let believed = World::builder("a walk needs good weather", 3)
        .state("mood", ["low", "high"])
        .state("sun", ["no", "yes"])
        .lever("shoes", ["cupboard", "door"])
        .key("walk", ["no", "yes"])
        .mechanism("walk", ["shoes", "sun"], [0.2, 0.8, 0.9, 0.1, 0.9, 0.1, 0.1, 0.9])
        .next("mood", ["walk"], [0.75, 0.25, 0.5, 0.5])
        .next("sun", ["sun"], [0.5, 0.5, 0.5, 0.5])
        .reward("well", "mood", [0.0, 1.0])
        .build()
        .unwrap();
    let policy = constant(&world, 1);
    let log = logger(&world, 1.0).log(&Knowledge::of(&believed), 4000, 8);
    let found = evaluate(&log, &policy, &quick()).unwrap();
    let exact = truth(&world, &policy);
    assert!(!found.model.posterior.contains(exact), "the model is wrong: {found:?} {exact}");
    let robust = found.robust.unwrap();
    assert!((robust.mean - exact).abs() < robust.interval.width(), "{robust:?} {exact}");
    assert!((robust.mean - exact).abs() < 0.5 * (found.model.mean - exact).abs());
}

#[test]
fn unknown_mechanisms_and_rewards_widen_every_interval_and_bounds_still_hold() {
    let world = paper(1);
    let logger = logger(&world, 0.8);
    let policy = constant(&world, 2);
    let exact = truth(&world, &policy);
    let known = Knowledge::of(&world);
    let unknown = Knowledge::of(&world).without_mechanisms().without_rewards();
    let [known, unknown] =
        [known, unknown].map(|knowledge| evaluate(&logger.log(&knowledge, 500, 4), &policy, &quick()).unwrap());
    assert!(
        unknown.guaranteed.unwrap().low < known.guaranteed.unwrap().low
            && known.guaranteed.unwrap().high < unknown.guaranteed.unwrap().high
    );
    assert!(known.model.posterior.width() < unknown.model.posterior.width());
    assert!(known.guaranteed.unwrap().contains(exact) && unknown.guaranteed.unwrap().contains(exact));
    assert!(
        unknown.guaranteed.unwrap().low <= unknown.model.mean && unknown.model.mean <= unknown.guaranteed.unwrap().high
    );
}

#[test]
fn where_starts_are_given_nothing_is_added_for_them() {
    let world = paper(3);
    let logger = logger(&world, 1.0);
    let log = logger.log(&Knowledge::of(&world), 300, 9);
    let given = OfflineOptions { starts: Starts::Given(world.start().clone()), ..quick() };
    let [of_log, given] = [quick(), given].map(|o| evaluate(&log, &logger.policy_hs, &o).unwrap());
    assert!(of_log.for_starts > 0.0 && given.for_starts == 0.0);
    assert!(given.guaranteed.unwrap().width() < of_log.guaranteed.unwrap().width());
    let exact = truth(&world, &logger.policy_hs);
    assert!(given.guaranteed.unwrap().contains(exact) && (given.robust.unwrap().mean - exact).abs() < 0.2);
}

#[test]
fn a_plan_is_recommended_once_it_is_better_with_confidence_and_not_before() {
    let world = paper(0);
    let knowledge = Knowledge::of(&world);
    let logger = logger(&world, 1.0);
    let plan = |episodes| plan_safely(&logger.log(&knowledge, episodes, 2), &quick()).unwrap();
    let (few, many) = (plan(20), plan(5000));
    match few.recommendation {
        Recommendation::NotYet { episodes } => assert!(episodes > 20.0 && episodes < 1e6, "{episodes}"),
        other => panic!("{other:?} after 20 episodes"),
    }
    assert_eq!(many.recommendation, Recommendation::DeployMean);
    assert!(many.recommended().guaranteed.unwrap().low > many.logged.unwrap().returns.unwrap().guaranteed.high);
    // The pessimistic plan has the greatest guaranteed value there is.
    for plan in [&few, &many] {
        assert!(plan.pessimistic.guaranteed.unwrap().low >= plan.mean.guaranteed.unwrap().low - 1e-9);
        assert!(plan.mean.model.mean >= plan.pessimistic.model.mean - 1e-9);
    }
    // Evidence alone gives the same plans and bounds, and nothing to compare them with.
    let alone = plan_from_evidence(logger.log(&knowledge, 20, 2).evidence(), &quick()).unwrap();
    let [mean, pessimistic] = [&few.mean, &few.pessimistic].map(|plan| Candidate { difference: None, ..plan.clone() });
    assert_eq!((&alone.mean, &alone.pessimistic, alone.logged), (&mean, &pessimistic, None));
    assert_eq!(alone.recommendation, Recommendation::NothingToCompare);
    assert!(many.differences(world.n_states()).len() <= few.differences(world.n_states()).len());
}

#[test]
fn a_seed_gives_the_same_numbers() {
    let world = paper(4);
    let logger = logger(&world, 1.0);
    let log = logger.log(&Knowledge::of(&world), 50, 1);
    let [a, b] = [0, 0].map(|seed| evaluate(&log, &logger.policy_hs, &OfflineOptions { seed, ..quick() }).unwrap());
    assert_eq!(a, b);
    let other = evaluate(&log, &logger.policy_hs, &OfflineOptions { seed: 1, ..quick() }).unwrap();
    assert_eq!(a.model.mean, other.model.mean);
    assert_ne!(a.model.posterior, other.model.posterior);
}

#[test]
fn confounded_mechanisms_come_from_the_world_file_and_the_others_from_the_log() {
    let world = World::from_toml(common::DOCTORS, "doctors.toml").unwrap();
    let fitting = Fitting::new(&world, FitOptions::default()).unwrap();
    assert_eq!(fitting.rests_on().unwrap().len(), 1);
    let drawn = logger(&world, 1.0);
    let log = drawn.log(fitting.knowledge(), 2000, 3);
    for rank in 0..world.interventions().count() {
        let policy = constant(&world, rank);
        let exact = truth(&world, &policy);
        let found = evaluate(&log, &policy, &quick()).unwrap();
        assert!((found.model.mean - exact).abs() < 0.05, "{rank}: {found:?} {exact}");
        assert!(
            found.guaranteed.unwrap().contains(exact) && found.robust.unwrap().interval.contains(exact),
            "{rank}: {found:?}"
        );
    }
    let safe = plan_safely(&log, &quick()).unwrap();
    assert_eq!(safe.mean.policy_hs, drawn.policy_hs);
}

#[test]
fn estimates_are_the_same_for_every_order_of_the_episodes() {
    let world = paper(4);
    let whoever = logger(&world, 0.5);
    let policy = constant(&world, 1);
    let found = |reorder: &dyn Fn(&mut Vec<Vec<Taken>>)| {
        let log = whoever.log_in_order(&Knowledge::of(&world), (150, 9), reorder);
        evaluate(&log, &policy, &quick()).unwrap()
    };
    let as_logged = found(&|_| {});
    for reordered in [found(&|all| all.reverse()), found(&|all| all.rotate_left(37))] {
        let [a, b] = [&as_logged, &reordered].map(|e| e.robust.unwrap());
        for (x, y) in [(a.mean, b.mean), (a.interval.low, b.interval.low), (a.interval.high, b.interval.high)] {
            assert!((x - y).abs() < 1e-9, "{x} and {y}");
        }
        assert_eq!(as_logged.model.posterior, reordered.model.posterior);
    }
}
