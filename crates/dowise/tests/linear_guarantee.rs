//! The guarantee of `beta=covering-number`: optimism at every plan, stage and state at once; with a control that shows the test can fail.

use dowise::linear::{Beta, LinearLearner, LinearOptions, LinearPreset, Switching, Weights};
use dowise::worlds::Linear;
use dowise::{Arena, Knowledge, Simulator};

/// Runs in which some value of some plan falls short of the best.
fn short(options: &LinearOptions, runs: u64, episodes: u64) -> u64 {
    let run = |seed: u64| {
        let linear = Linear { states: 5, causes: 3, dimension: 3, horizon: 3, seed, ..Linear::default() };
        let arena = Arena::new(&linear.world().unwrap()).unwrap();
        let options = LinearOptions { episodes, seed, ..options.clone() };
        let mut learner = LinearLearner::new(&Knowledge::of(arena.world()), options).unwrap();
        let mut run = arena.run(seed);
        (0..episodes).any(|_| {
            run.play(&mut learner, false);
            let pairs = learner.enumerated().unwrap().plan().value_hs.iter().zip(&arena.best().value_hs);
            pairs.into_iter().any(|(optimistic, best)| *optimistic < best - 1e-9)
        })
    };
    (0..runs).filter(|&seed| run(seed)).count() as u64
}

fn covered() -> LinearOptions {
    LinearOptions { beta: Beta::CoveringNumber, .."c-lsvi-ucb".parse::<LinearPreset>().unwrap().options(1, 0) }
}

#[test]
fn values_fall_short_no_more_often_than_promised() {
    // δ = 0.1: of 40 runs 4 may fail on average; 11 or more happen once in a thousand times if the promise just held.
    assert!(short(&covered(), 40, 60) <= 10);
    assert!(short(&LinearOptions { switching: Switching::Doubling, ..covered() }, 40, 60) <= 10);
    let regressed = LinearOptions { rewards: dowise::linear::Rewards::Regressed, ..covered() };
    assert!(short(&regressed, 20, 60) <= 7);
}

#[test]
fn a_thousandth_of_the_width_falls_short_nearly_always() {
    assert!(short(&LinearOptions { beta_scale: 0.0003, ..covered() }, 20, 60) >= 15);
}

#[test]
fn weighed_steps_keep_the_promise_and_a_thousandth_of_their_width_does_not() {
    let weighed = LinearOptions { weights: Weights::Variance, ..covered() };
    assert!(short(&weighed, 40, 60) <= 10);
    let regressed = LinearOptions { rewards: dowise::linear::Rewards::Regressed, ..weighed.clone() };
    assert!(short(&regressed, 20, 60) <= 7);
    assert!(short(&LinearOptions { beta_scale: 0.0003, ..weighed }, 20, 60) >= 15);
}

#[test]
fn where_all_weights_are_one_weighing_changes_nothing() {
    // A first width beyond all variances bounds none of them, and every step counts once.
    let world = Linear { states: 5, causes: 3, dimension: 3, horizon: 3, ..Linear::default() }.world().unwrap();
    let arena = Arena::new(&world).unwrap();
    let knowledge = Knowledge::of(&world);
    let plain = LinearOptions { beta: Beta::Fixed(40.0), ..covered() };
    let plain = LinearOptions { episodes: 30, ..plain };
    let mut alike = LinearLearner::new(&knowledge, plain.clone()).unwrap();
    let mut weighed =
        LinearLearner::new(&knowledge, LinearOptions { weights: Weights::Variance, ..plain.clone() }).unwrap();
    let [mut a, mut b] = [0, 1].map(|_| arena.run(4));
    for _ in 0..30 {
        a.play(&mut alike, false);
        b.play(&mut weighed, false);
        let pairs =
            alike.enumerated().unwrap().plan().value_hs.iter().zip(&weighed.enumerated().unwrap().plan().value_hs);
        pairs.for_each(|(a, b)| assert!((a - b).abs() < 1e-9, "{a} {b}"));
    }
    // A narrow one bounds them, and values differ.
    let narrow = LinearOptions { beta: Beta::Fixed(0.05), episodes: 30, ..covered() };
    let mut alike = LinearLearner::new(&knowledge, narrow.clone()).unwrap();
    let mut weighed = LinearLearner::new(&knowledge, LinearOptions { weights: Weights::Variance, ..narrow }).unwrap();
    let [mut a, mut b] = [0, 1].map(|_| arena.run(4));
    (0..30).for_each(|_| {
        a.play(&mut alike, false);
        b.play(&mut weighed, false);
    });
    assert_ne!(alike.enumerated().unwrap().plan().value_hs, weighed.enumerated().unwrap().plan().value_hs);
    let sampled =
        LinearOptions { weights: Weights::Variance, .."c-blsvi".parse::<LinearPreset>().unwrap().options(9, 1) };
    assert!(LinearLearner::new(&knowledge, sampled.clone()).unwrap_err().to_string().contains("weights=variance"));
    assert!(
        LinearLearner::over_visited_states(&knowledge, sampled).unwrap_err().to_string().contains("weights=variance")
    );
}

#[test]
fn it_is_the_same_from_the_states_met() {
    let world = Linear { states: 6, causes: 3, dimension: 3, low_rank: true, ..Linear::default() }.world().unwrap();
    let knowledge = Knowledge::of(&world);
    let options = LinearOptions { switching: Switching::Doubling, episodes: 40, ..covered() };
    let mut listed = LinearLearner::new(&knowledge, options.clone()).unwrap();
    let mut unlisted = LinearLearner::over_visited_states(&knowledge, options).unwrap();
    let simulator = Simulator::new(&world).unwrap();
    let [mut a, mut b] = [0, 1].map(|_| dowise::simulate::Play::new(&simulator, 4));
    (0..40).for_each(|_| assert_eq!(a.episode(&mut listed), b.episode(&mut unlisted)));
}

#[test]
fn explanations_of_regressions_name_what_the_plan_does() {
    let world = Linear { states: 5, causes: 3, dimension: 3, ..Linear::default() }.world().unwrap();
    let arena = Arena::new(&world).unwrap();
    for name in [
        "c-lsvi-ucb:beta-scale=0.1",
        "c-blsvi",
        "c-lsvi-ucb:features=one-hot,lambda=0.001",
        "lsvi-ucb:beta-scale=0.001",
    ] {
        let mut learner = name.parse::<dowise::LearnerSpec>().unwrap().learner(&world, 30, 1).unwrap();
        let mut run = arena.run(1);
        (0..30).for_each(|_| {
            run.play(&mut learner, false);
        });
        let said = learner.explain(1, 2, 4).unwrap();
        assert_eq!(said.preferred.len(), 4, "{name}");
        assert!(said.preferred.windows(2).all(|w| w[0].optimistic >= w[1].optimistic - 1e-9), "{name}: {said:?}");
        assert!(
            said.preferred.iter().all(|p| p.visits.is_some_and(|n| (0.0..=90.0 + 1e-6).contains(&n))),
            "{name}: {said:?}"
        );
        // What it would do in the next episode is what comes first.
        let mut again = learner.clone();
        let mut session = again.begin();
        if !name.contains("blsvi") {
            assert_eq!(session.act_at(&mut again, 1, 2).unwrap(), said.preferred[0].action, "{name}");
        }
    }
}
