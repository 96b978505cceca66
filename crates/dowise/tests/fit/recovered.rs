//! Fitted worlds against the worlds that were simulated: numbers, intervals, plans, and what the report says.

use dowise::data::LogStep;
use dowise::learn::{Estimator, Evidence, Knowledge, Observation};
use dowise::offline::fit::{FitError, FitOptions, FitPart, Fitting, fingerprint_in, not_fitted_in, read_evidence};
use dowise::simulate::Simulator;
use dowise::{Action, Arena, Learner, Options, Planner, Preset, World, worlds};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::simulated::*;

#[test]
fn a_fitted_world_is_read_back_from_its_file_and_nearly_as_good_to_plan_in() {
    for (name, world) in small_worlds() {
        let arena = Arena::new(&world).unwrap();
        // Half of what was done is the best, half anything: at random alone nobody swims up a river.
        let mixed = |simulator: &Simulator, stage: usize, state: usize, rng: &mut ChaCha8Rng| {
            let any = simulator.any_allowed(state, rng);
            if rng.random::<f64>() < 0.5 { arena.best().action(stage, state) } else { any }
        };
        let fitted = fit(&world, &simulate_with(&world, 2000, 3, mixed), FitOptions::default());
        let again = World::from_toml(fitted.text(), "fitted.toml").unwrap();
        assert_eq!(again.to_toml(), fitted.world().to_toml(), "{name}");
        assert!(again.is_fully_known(), "{name}");
        assert!(
            fitted
                .text()
                .starts_with(&format!("# Fitted to a log of {} steps in 2000 episodes.", fitted.report().steps))
        );
        let planned = Planner::new(&again).unwrap().plan();
        let (best, ours) = (arena.optimal(), arena.value_of(&planned.policy_hs).unwrap());
        let uniform: f64 = {
            let steps = simulate(&world, 2000, 4);
            steps.iter().map(|s| s.outcome.reward).sum::<f64>() / 2000.0
        };
        let share = (ours - uniform) / (best - uniform);
        assert!(share > 0.9, "{name}: {share} of the way from random {uniform} to best {best}");
    }
}

#[test]
fn intervals_cover_the_truth_at_their_rate_and_means_converge() {
    // Free tables: all of the treatment world and of the river, whose rows hold zeros and ones as well.
    for (name, world) in small_worlds().into_iter().filter(|(name, _)| ["treatment", "river-swim"].contains(name)) {
        let (mut held, mut all) = (0u32, 0u32);
        let mut off = [0.0f64; 2];
        for (size, episodes) in [(0, 40), (1, 4000)] {
            for seed in 0..if size == 0 { 20 } else { 1 } {
                let fitted = fit(&world, &simulate(&world, episodes, seed), FitOptions::default());
                for (i, table) in fitted.report().tables.iter().filter(|t| t.part == FitPart::Transition).enumerate() {
                    let truth = world.transitions()[i].table.as_ref().unwrap();
                    for (row, truth) in table.rows.iter().zip(truth.chunks(table.outcomes.len())) {
                        // One value of each row: those of a binary row hold together. An endpoint that was rounded
                        // counts as reached.
                        let (low, high, p) = (row.low[0], row.high[0], truth[0]);
                        if row.visits > 0 && size == 0 {
                            all += 1;
                            held += u32::from(low <= p + 1e-12 && p <= high + 1e-12);
                        }
                        if row.visits >= 200 {
                            off[size] = off[size].max((row.mean[0] - p).abs());
                        }
                    }
                }
            }
        }
        // Binomial: three standard deviations below the promised rate.
        let least = 0.95 * f64::from(all) - 3.0 * (0.95 * 0.05 * f64::from(all)).sqrt();
        assert!(all > 150 && f64::from(held) >= least, "{name}: {held} of {all}");
        assert!(off[1] < 0.09, "{name}: {off:?}");
    }
}

#[test]
fn intervals_of_forms_cover_the_truth_at_their_rate() {
    let world = worlds::world("campaign", &[]).unwrap();
    let (mut held, mut all) = (0u32, 0u32);
    for seed in 0..6 {
        let fitted = fit(&world, &simulate(&world, 1500, seed), FitOptions::default());
        let table = fitted.report().tables.iter().find(|t| t.what.starts_with("P(price |")).unwrap();
        let truth = world.mechanisms().iter().find(|m| world.variable(m.children[0]).name == "price").unwrap();
        let truth = truth.table.as_ref().unwrap();
        for (row, truth) in table.rows.iter().zip(truth.chunks(3)) {
            for v in 0..3 {
                all += 1;
                held += u32::from(row.low[v] <= truth[v] && truth[v] <= row.high[v]);
            }
        }
    }
    // Rows of one fit share parameters, so they fall together: half of the bound is left to that.
    assert!(all == 6 * 96 && f64::from(held) >= 0.9 * f64::from(all), "{held} of {all}");
}

#[test]
fn learning_goes_on_from_the_evidence_beside_a_fitted_world() {
    for (name, world) in small_worlds() {
        let steps = simulate(&world, 30, 5);
        let fitted = fit(&world, &steps, FitOptions::default());
        let again = World::from_toml(fitted.text(), "fitted.toml").unwrap();
        let evidence = read_evidence(&again, &fitted.evidence_text()).unwrap();
        assert_eq!(evidence.save(), fitted.evidence().save(), "{name}");
        let options: Options = "graph-psrl".parse::<Preset>().unwrap().options(100, 1);
        let mut resumed = Learner::with_evidence(evidence, options.clone()).unwrap();
        // The same log, seen by a learner that knows what is to be fitted.
        let mut direct = Learner::new(resumed.knowledge(), options).unwrap();
        let knowledge = direct.knowledge().clone();
        steps.iter().for_each(|step| direct.learn(&logged(&world, &knowledge, step).observation).unwrap());
        assert_eq!(direct.evidence().unwrap().save(), resumed.evidence().unwrap().save(), "{name}");
        let arena = Arena::new(&again).unwrap();
        let (mut one, mut two) = (arena.run(9), arena.run(9));
        for _ in 0..5 {
            assert_eq!(one.episode(&mut direct).regret, two.episode(&mut resumed).regret, "{name}");
        }
    }
}

#[test]
fn the_plan_of_a_fitted_world_is_a_learners_posterior_mean_plan() {
    for (name, world) in small_worlds().into_iter().filter(|(name, _)| *name != "campaign") {
        let fitted = fit(&world, &simulate(&world, 50, 6), FitOptions::default());
        let options = "graph-psrl".parse::<Preset>().unwrap().options(100, 1);
        let learner = Learner::with_evidence(fitted.evidence().clone(), Options { ..options }).unwrap();
        let planner = Planner::new(fitted.world()).unwrap();
        let mean = learner.read(Estimator::Mean { prior: FitOptions::default().prior }, 0).unwrap();
        let [ours, theirs] = [planner.plan().policy_hs, mean.policy_hs]
            .map(|policy| planner.from_start(&planner.evaluate(&policy).unwrap()[..fitted.world().n_states()]));
        assert!((ours - theirs).abs() < 1e-9, "{name}: {ours} {theirs}");
    }
}

#[test]
fn a_step_with_a_weight_counts_as_often() {
    let world = worlds::world("treatment", &[]).unwrap();
    let steps = simulate(&world, 10, 7);
    let knowledge = Knowledge::of(&world).without_mechanisms().without_rewards();
    let [mut once, mut often] = [0, 1].map(|_| Evidence::new(&knowledge, &Options::default()).unwrap());
    for (i, step) in steps.iter().enumerate() {
        let seen = logged(&world, &knowledge, step).observation;
        often.add_times(&seen, i as u32 % 4).unwrap();
        (0..i % 4).for_each(|_| once.add(&seen).unwrap());
    }
    assert_eq!(once.save(), often.save());
    assert_eq!(once.fingerprint(), often.fingerprint());
}

#[test]
fn natural_levers_and_keys_with_a_hidden_common_cause_are_fitted_correctly() {
    let world = World::from_toml(SHARED, "symptoms.toml").unwrap();
    let fitted = fit(&world, &simulate(&world, 8000, 2), FitOptions::default());
    let table = fitted.report().tables.iter().find(|t| t.what == "P(fever, cough | age, dose)").unwrap();
    assert_eq!((table.rows.len(), table.outcomes.len()), (4, 4));
    for state in 0..2 {
        // Left alone, and each value set.
        for a in 0..3 {
            let [ours, truth] = [fitted.world(), &world].map(|w| kernel_row(w, state, Action(a)));
            assert!(ours.iter().zip(&truth).all(|(o, t)| (o - t).abs() < 0.02), "{state} {a}: {ours:?} {truth:?}");
        }
    }
}

#[test]
fn evidence_says_which_world_it_is_of_and_what_its_fit_expected_beyond_it() {
    let world = World::from_toml(SHARED, "symptoms.toml").unwrap();
    let steps = simulate(&world, 200, 2);
    let fitted = fit(&world, &steps, FitOptions::default());
    let beside = not_fitted_in(&fitted.evidence_text()).unwrap();
    assert_eq!(fingerprint_in(fitted.text()), beside.fingerprint.as_deref());
    assert!(!beside.em && beside.unpaid.is_empty() && fingerprint_in(&world.to_toml()).is_none());
    let other = fit(&world, &steps[..300], FitOptions::default());
    assert_ne!(fingerprint_in(other.text()), beside.fingerprint.as_deref());
    // With nothing missing there is nothing to expect.
    let em = || FitOptions { em: true, ..FitOptions::default() };
    assert!(!not_fitted_in(&fit(&world, &steps, em()).evidence_text()).unwrap().em);
    for (options, expected) in [(em(), true), (FitOptions::default(), false)] {
        let mut fitting = Fitting::new(&world, options).unwrap();
        let knowledge = fitting.knowledge().clone();
        for next in [0, 1, 1, 0, 1] {
            let step =
                Observation::at(&knowledge, 0, 0).unwrap().did(&knowledge, 1).unwrap().then(&knowledge, next).unwrap();
            fitting.add(&LogStep::new(0, step)).unwrap();
        }
        let fitted = fitting.fit().unwrap();
        assert_eq!(not_fitted_in(&fitted.evidence_text()).unwrap().em, expected);
    }
}

#[test]
fn what_was_never_recorded_or_done_is_said_by_name() {
    let world = worlds::world("treatment", &[]).unwrap();
    let mut fitting = Fitting::new(&world, FitOptions::default()).unwrap();
    let knowledge = fitting.knowledge().clone();
    let lone = Observation::at(&knowledge, 0, 0).unwrap().did(&knowledge, 0).unwrap();
    fitting.add(&LogStep::new(0, lone)).unwrap();
    let fitted = fitting.fit().unwrap();
    let report = fitted.report();
    let open: Vec<&str> = report.open.iter().map(|o| o.what.as_str()).collect();
    for key in world.keys() {
        let name = format!("key variable {}", world.variable(*key).name);
        assert!(open.contains(&name.as_str()), "{open:?}");
    }
    assert!(open.contains(&"transitions"), "{open:?}");
    assert!(report.tables.iter().filter(|t| t.part != FitPart::Start).all(|t| t.never_seen() == t.rows.len()));
    assert!(report.missing.iter().any(|m| m.what == "next state" && m.steps == 1));
    let wrong = FitOptions { keep: vec!["fevr".into(), "sunshine".into()], ..FitOptions::default() };
    let message = Fitting::new(&world, wrong).unwrap_err().to_string();
    assert!(message.contains("\"fevr\"") && message.contains("\"sunshine\""), "{message}");
    let nothing = Fitting::new(&world, FitOptions::default()).unwrap().fit().unwrap_err();
    assert!(matches!(nothing, FitError::NoSteps));
}

#[test]
fn what_the_best_plan_relies_on_adds_up_to_the_steps_of_an_episode() {
    let world = worlds::world("treatment", &[]).unwrap();
    let fitted = fit(&world, &simulate(&world, 50, 1), FitOptions::default());
    let used = fitted.reliance(50, 0).unwrap();
    assert_eq!(used.len(), fitted.report().tables.len());
    for (table, used) in fitted.report().tables.iter().zip(&used) {
        assert_eq!(table.rows.len(), used.len());
        let steps = if table.part == FitPart::Start { 1.0 } else { world.horizon() as f64 };
        let used: f64 = used.iter().sum();
        // A lever's own mechanism is used only where the lever is left alone.
        let own = |name: &str| table.what.strip_prefix("P(").and_then(|rest| rest.strip_prefix(name));
        let lever =
            world.levers().iter().any(|&id| own(&world.variable(id).name).is_some_and(|r| r.starts_with([' ', ')'])));
        assert!(used <= steps + 1e-9 && (lever || used >= steps - 1e-9), "{}: {used}", table.what);
    }
}

#[test]
fn kept_rewards_are_known_although_learners_of_the_world_would_learn_them() {
    let text = "dowise = 1\nhorizon = 1\n[state.s]\nvalues = 2\nnext = { p = [0.5, 0.5] }\nscope = []\n[lever.a]\nvalues = 2\n\
                [key.k]\nvalues = 2\nparents = [\"a\"]\n[reward.r]\nscope = [\"k\"]\nvalue = [0.25, 0.5]\nlearn = true\nrange = [0, 1]";
    let world = World::from_toml(text, "w.toml").unwrap();
    let table = |keep: &[&str]| {
        let keep = keep.iter().map(|&name| name.to_owned()).collect();
        let fitting = Fitting::new(&world, FitOptions { keep, ..FitOptions::default() }).unwrap();
        fitting.knowledge().rewards()[0].table.as_deref().map(<[f64]>::to_vec)
    };
    assert_eq!(table(&["rewards"]), Some(vec![0.25, 0.5]));
    assert_eq!(table(&[]), None);
}
