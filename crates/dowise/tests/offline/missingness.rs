//! Missingness tests: values that are missing depending on the outcome are found, and no plan rests on them.

use dowise::data::LogStep;
use dowise::offline::fit::{FitOptions, Fitting, read_summary};
use dowise::offline::{About, Episodes, OfflineOptions, Recommendation, plan_from_evidence, plan_safely};
use dowise::{Knowledge, Simulator};
use rand::RngExt;

use super::logger::*;

#[test]
fn recording_that_depends_on_what_followed_is_found_for_the_variable_that_it_is_of() {
    let world = two_keys();
    let knowledge = Knowledge::of(&world).without_mechanisms().without_rewards();
    let [walk, sleep] = ["walk", "sleep"].map(|name| world.find(name).unwrap().ix());
    let mut false_alarms = 0;
    for (seed, how) in (0..30).map(|seed| (seed, 0)).chain((0..3).map(|seed| (seed, 1))).chain((0..3).map(|s| (s, 2))) {
        let log = log_with(&world, Episodes::new(&knowledge, 5).unwrap(), 600, seed, |outcome, state, chance| {
            // The next fitness; in the third way towards different values in different states, so that sums cancel out.
            let next = match how {
                2 => (outcome.next_state + state) % 2,
                _ => outcome.next_state % 2,
            };
            let share = if how > 0 && next == 0 { 0.6 } else { 0.2 };
            if chance < share {
                outcome.values[walk] = HIDDEN;
            }
            if (0.1..0.4).contains(&chance) {
                outcome.values[sleep] = HIDDEN;
            }
        });
        let tests = log.missingness_tests();
        let [of_walk, of_sleep] = &tests[..] else { panic!("{tests:?}") };
        assert_eq!((of_walk.what.as_str(), of_sleep.what.as_str()), ("key variable walk", "key variable sleep"));
        if how > 0 {
            assert!(of_walk.depends_on_outcome() && of_walk.differs.as_deref() == Some("next fit"), "{how} {tests:?}");
        } else {
            false_alarms += u32::from(of_walk.p < 0.05) + u32::from(of_sleep.p < 0.05);
        }
    }
    // 5 % of 60 is 3; more than 10 has probability below 0.001.
    assert!(false_alarms <= 10, "{false_alarms} of 60 at 0.05");
}

#[test]
fn missingness_that_depends_on_its_own_value_shows_in_the_rewards() {
    let world = paid_by_key(false);
    let knowledge = Knowledge::of(&world).without_mechanisms().without_rewards();
    let [z, a] = ["z", "a"].map(|name| world.find(name).unwrap().ix());
    let log = log_with(&world, Episodes::new(&knowledge, 5).unwrap(), 600, 1, |outcome, _, chance| {
        if outcome.values[z] == 0 && outcome.values[a] == 1 && chance < 0.9 {
            outcome.values[z] = HIDDEN;
        }
    });
    let tests = log.missingness_tests();
    let [of_z] = &tests[..] else { panic!("{tests:?}") };
    assert!(of_z.depends_on_outcome() && of_z.differs.as_deref() == Some("what pay paid"), "{of_z:?}");
    assert!(!of_z.in_next);
}

#[test]
fn no_plan_is_recommended_where_values_are_missing_not_at_random() {
    let world = paid_by_key(false);
    let [z, a] = ["z", "a"].map(|name| world.find(name).unwrap().ix());
    // Without a trace in the log nothing contradicts it: by chance.
    for (by_value, expected) in [(true, true), (false, false)] {
        let mut fitting = Fitting::new(&world, FitOptions::default()).unwrap();
        let knowledge = fitting.knowledge().clone();
        let mut log = Episodes::new(&knowledge, 5).unwrap();
        let simulator = Simulator::new(&world).unwrap();
        let mut streams = Simulator::streams(3);
        for episode in 0..1500 {
            let mut steps = played(&simulator, &world, &mut streams);
            for (_, _, _, outcome) in &mut steps {
                let share = match by_value {
                    true => [0.9, 0.0][outcome.values[z] as usize] * f64::from(outcome.values[a]),
                    false => 0.3,
                };
                if streams[1].random::<f64>() < share {
                    outcome.values[z] = HIDDEN;
                }
            }
            let steps: Vec<LogStep<'_>> =
                steps.iter().map(|(h, s, a, o)| LogStep::new(episode, o.observation(*h, *s, *a))).collect();
            log.add(&steps).unwrap();
            fitting.add_episode(&steps).unwrap();
        }
        let fitted = fitting.fit().unwrap();
        let text = fitted.evidence_text();
        let seen = read_summary(fitted.world(), &text).unwrap();
        assert_eq!(seen.missingness(), &log.missingness_tests()[..]);
        assert_eq!(fitted.text().contains("# MISSING NOT AT RANDOM: whether key variable z"), expected);
        let options = OfflineOptions { samples: 40, ..quick() };
        for plan in [plan_safely(&log, &options).unwrap(), plan_from_evidence(seen, &options).unwrap()] {
            assert_eq!(
                plan.recommendation == Recommendation::Refused { because: About::Missingness },
                expected,
                "{:?}",
                plan.recommendation
            );
            assert!(plan.learns_from_incomplete && plan.missingness.len() == 1);
        }
    }
}

#[test]
fn recording_may_depend_on_what_comes_before_or_beside_but_not_on_what_it_moves() {
    for linked in [false, true] {
        let world = paid_by_key(linked);
        let knowledge = Knowledge::of(&world).without_mechanisms().without_rewards();
        let [z, w, a] = ["z", "w", "a"].map(|name| world.find(name).unwrap().ix());
        let (rounds, mut alarms, mut sure) = (60, [0; 3], [0; 3]);
        for seed in 0..rounds {
            for by in 0..3 {
                let log =
                    log_with(&world, Episodes::new(&knowledge, 5).unwrap(), 400, seed, |outcome, state, chance| {
                        let decides = match by {
                            0 => state as u32 / 2,
                            1 => outcome.values[a],
                            _ => outcome.values[w],
                        };
                        if chance < [0.1, 0.6][decides as usize] {
                            outcome.values[z] = HIDDEN;
                        }
                    });
                let tests = log.missingness_tests();
                let [of_z] = &tests[..] else { panic!("{tests:?}") };
                alarms[by] += u32::from(of_z.p < 0.05);
                sure[by] += u32::from(of_z.depends_on_outcome());
            }
        }
        // 5 % of 60 is 3; more than 10 has probability below 0.001.
        let harmless = if linked { 2 } else { 3 };
        assert!(alarms[..harmless].iter().all(|&n| n <= 10), "{alarms:?} of {rounds} at 0.05");
        assert!(sure[..harmless].iter().all(|&n| n <= 1), "{sure:?} of {rounds} at 0.001");
        // Where z moves w, those with z recorded is not missing at random of z.
        assert!(!linked || sure[2] == rounds as u32, "{sure:?} of {rounds}");
    }
}

#[test]
fn joint_missingness_of_several_variables_is_tested() {
    let world = two_keys();
    let knowledge = Knowledge::of(&world).without_mechanisms().without_rewards();
    let keys = ["walk", "sleep"].map(|name| world.find(name).unwrap().ix());
    let log = log_with(&world, Episodes::new(&knowledge, 5).unwrap(), 600, 1, |outcome, _, chance| {
        if chance < if outcome.next_state == 0 { 0.6 } else { 0.2 } {
            keys.iter().for_each(|&key| outcome.values[key] = HIDDEN);
        }
    });
    let tests = log.missingness_tests();
    assert!(tests.len() == 2 && tests.iter().all(|test| test.depends_on_outcome()), "{tests:?}");
}

#[test]
fn recording_that_depends_on_what_followed_is_found_where_no_pair_is_seen_often() {
    // 4,096 interventions: no state and intervention is seen ten times.
    let world = dowise::worlds::world("paper", &[("levels", "16"), ("levers", "3"), ("joint", "false")]).unwrap();
    let knowledge = Knowledge::of(&world);
    let key = world.keys()[0].ix();
    let log = log_with(&world, Episodes::new(&knowledge, 2).unwrap(), 3000, 1, |outcome, _, chance| {
        if chance < if outcome.next_state % 2 == 0 { 0.5 } else { 0.1 } {
            outcome.values[key] = HIDDEN;
        }
    });
    let tests = log.missingness_tests();
    assert!(tests.iter().any(|test| test.depends_on_outcome()), "{tests:?}");
}
