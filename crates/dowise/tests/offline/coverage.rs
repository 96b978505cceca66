//! Intervals hold the true value as often as they say, and predictions are calibrated.

use dowise::offline::{OfflineOptions, calibrate, evaluate, plan_safely};
use dowise::{Knowledge, Planner, World, worlds};

use super::logger::*;

#[test]
fn intervals_cover_at_their_rate() {
    let rounds = 120;
    let (mut posterior, mut robust, mut guaranteed, mut returns, mut below) = (0, 0, 0, 0, 0);
    for seed in 0..rounds {
        let world = paper(seed % 6);
        let knowledge = Knowledge::of(&world).without_rewards();
        let logger = logger(&world, 1.0);
        let log = logger.log(&knowledge, 150, 1000 + seed);
        let found = evaluate(&log, &logger.policy_hs, &OfflineOptions { played: 1, ..quick() }).unwrap();
        let exact = truth(&world, &logger.policy_hs);
        posterior += u64::from(found.model.posterior.contains(exact));
        robust += u64::from(found.robust.unwrap().interval.contains(exact));
        guaranteed += u64::from(found.guaranteed.unwrap().contains(exact));
        let uniform = Planner::new(&world).unwrap();
        let all = world.interventions().count() as usize;
        let value = uniform.evaluate_mixed(&vec![1.0 / all as f64; all * world.n_states()]).unwrap();
        returns +=
            u64::from(found.logged.returns.unwrap().normal.contains(uniform.from_start(&value[..world.n_states()])));
        let safe = plan_safely(&log, &OfflineOptions { samples: 40, played: 1, ..quick() }).unwrap();
        for plan in [&safe.mean, &safe.pessimistic] {
            below += u64::from(plan.guaranteed.unwrap().low <= truth(&world, &plan.policy_hs));
        }
    }
    // 95 % of 120 is 114; four standard deviations less is 104.
    assert!(posterior >= 104 && robust >= 104 && returns >= 104, "{posterior} {robust} {returns} of {rounds}");
    assert!(guaranteed >= 114 && below >= 228, "{guaranteed} {below}");
}

#[test]
fn intervals_hold_where_tables_are_thin_and_the_posterior_alone_would_not() {
    // 36 interventions with rows of their own, seen about ten times each, and the best of them is followed.
    let rounds = 60;
    let (mut posterior, mut alone, mut robust, mut moved) = (0, 0, 0, 0.0);
    for seed in 0..rounds {
        let spec = worlds::Paper { levels: 6, levers: 2, factors: 2, horizon: 4, seed: seed % 6, ..Default::default() };
        let world = World::new(spec.spec().unwrap()).unwrap();
        let knowledge = Knowledge::of(&world).without_mechanisms().without_rewards();
        let logger = logger(&world, 1.0);
        let log = logger.log(&knowledge, 90, 2000 + seed);
        let found = evaluate(&log, &logger.policy_hs, &OfflineOptions { played: 1, ..quick() }).unwrap();
        let exact = truth(&world, &logger.policy_hs);
        let (interval, by) = (found.model.posterior, found.model.by_prior);
        posterior += u64::from(interval.contains(exact));
        alone += u64::from((interval.low + by.max(0.0)..=interval.high + by.min(0.0)).contains(&exact));
        robust += u64::from(found.robust.unwrap().interval.contains(exact));
        moved += by / rounds as f64;
    }
    // The prior pulls down what a good policy picks.
    assert!(moved < 0.0, "{moved}");
    assert!(posterior >= 51 && robust >= 48, "{posterior} {robust} of {rounds}, the posterior alone {alone}");
    assert!(alone < posterior, "{alone} {posterior}");
}

#[test]
fn doubly_robust_intervals_hold_where_mechanisms_have_forms_behind_hidden_variables() {
    // The prior of a form pulls effects to zero, and the best policy relies on effects that are greater than most. With that prior in the ratios
    // and in the model, values were too low by about one standard deviation, and the interval held in two logs of three.
    let world = worlds::world("campaign", &[]).unwrap();
    let knowledge = Knowledge::of(&world).without_mechanisms().without_rewards();
    let logger = logger(&world, 1.0);
    let exact = truth(&world, &logger.policy_hs);
    let rounds = 16;
    let (mut covered, mut off) = (0, 0.0);
    for seed in 0..rounds {
        let log = logger.log(&knowledge, 600, 3000 + seed);
        let options = OfflineOptions { samples: 60, played: 1, ..OfflineOptions::default() };
        let robust = evaluate(&log, &logger.policy_hs, &options).unwrap().robust.unwrap();
        covered += u64::from(robust.interval.contains(exact));
        off += (robust.mean - exact) / rounds as f64;
    }
    // Sixteen values have a standard error of about 0.013.
    assert!(off.abs() < 0.035, "{off}");
    assert!(covered >= 13, "{covered} of {rounds}");
}

#[test]
fn predictions_of_a_true_graph_are_calibrated() {
    let world = worlds::world("treatment", &[]).unwrap();
    let knowledge = Knowledge::of(&world).without_mechanisms();
    let found = calibrate(&logger(&world, 0.7).log(&knowledge, 1500, 6), 2.0).unwrap();
    let bins: Vec<_> = found.variables.iter().flat_map(|v| &v.bins).filter(|b| b.n >= 100.0).collect();
    assert!(bins.len() >= 10);
    let inside = bins.iter().filter(|b| b.interval.contains(b.predicted)).count();
    assert!(inside as f64 >= 0.8 * bins.len() as f64, "{inside} of {}", bins.len());
    assert_eq!(found.returns.len(), world.horizon());
    assert!(found.returns.iter().all(|b| (b.predicted - b.observed).abs() < 1.5 * b.interval.width()), "{found:?}");
}

#[test]
fn what_those_who_were_logged_are_worth_by_the_model_holds_as_often_as_it_says() {
    let (rounds, mut held) = (60, 0);
    let world = copied();
    let knowledge = Knowledge::of(&world);
    let planner = Planner::new(&world).unwrap();
    let all = world.interventions().count() as usize;
    let value = planner.evaluate_mixed(&vec![1.0 / all as f64; all * world.n_states()]).unwrap();
    let exact = planner.from_start(&value[..world.n_states()]);
    for seed in 0..rounds {
        let log = logger(&world, 1.0).log(&knowledge, 80, seed);
        let found = dowise::offline::evaluate_logged(&log, &quick()).unwrap();
        held += u64::from(found.model.unwrap().posterior.contains(exact));
    }
    // 57 of 60 at 95 %; four standard deviations less is 50. Without the draw of what was set off, far fewer hold.
    assert!(held >= 50, "{held} of {rounds}");
}
