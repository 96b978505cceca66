//! Propensities that interventions do not have are noticed, and those that they have are not.

use dowise::data::LogStep;
use dowise::offline::{
    About, Episodes, PropensityCounts, PropensityTest, Recommendation, Status, evaluate, plan_safely,
};
use dowise::simulate::Outcome;
use dowise::{Knowledge, Simulator, World};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::logger::{constant, copied, quick};

/// What the policy does and what the log says of it: an intervention and its logged propensity.
type Acts = fn(usize, usize, Option<u64>, &mut ChaCha8Rng) -> (u64, f64);

/// Episodes of a world, of which some are lost.
fn log(
    world: &World,
    episodes: u64,
    seed: u64,
    acts: Acts,
    lost: fn(u64, &[u64]) -> bool,
) -> (Episodes, PropensityTest) {
    let (simulator, knowledge) = (Simulator::new(world).unwrap(), Knowledge::of(world));
    let (mut log, mut counts) = (Episodes::new(&knowledge, 5).unwrap(), PropensityCounts::new(&knowledge));
    let [mut starts, mut rng] = Simulator::streams(seed);
    for episode in 0..episodes {
        let mut state = simulator.start(&mut starts);
        let (mut steps, mut ranks) = (Vec::new(), Vec::new());
        for stage in 0..world.horizon() {
            let (rank, propensity) = acts(stage, state, ranks.last().copied(), &mut rng);
            let (action, mut outcome) = (world.interventions().nth(rank), Outcome::default());
            simulator.step(state, action, &mut rng, &mut outcome);
            let step = LogStep::new(episode, outcome.observation(stage, state, action).into_owned());
            steps.push(LogStep { propensity: Some(propensity), ..step });
            state = outcome.next_state;
            ranks.push(rank);
        }
        if !lost(episode, &ranks) {
            log.add(&steps).unwrap();
            steps.iter().for_each(|step| counts.add(step));
        }
    }
    let test = counts.test();
    assert_eq!(test, log.propensity_test());
    (log, test)
}

/// Draws the second intervention with probability p, and logs it as q.
fn drawn(p: f64, q: f64, rng: &mut ChaCha8Rng) -> (u64, f64) {
    if rng.random::<f64>() < p { (1, q) } else { (0, 1.0 - q) }
}

fn none(_: u64, _: &[u64]) -> bool {
    false
}

/// The propensity depends on the state.
const BY_STATE: Acts = |_, state, _, rng| {
    let p = [0.3, 0.85][state];
    drawn(p, p, rng)
};

/// It depends on the previous intervention, so that no state has one.
const BY_HISTORY: Acts = |_, _, before, rng| {
    let p = if before == Some(0) { 0.7 } else { 0.4 };
    drawn(p, p, rng)
};

#[test]
fn propensities_that_are_right_are_rarely_rejected() {
    let world = copied();
    for (name, acts) in [("by state", BY_STATE), ("by history", BY_HISTORY)] {
        let p: Vec<f64> = (0..200).map(|seed| log(&world, 60, seed, acts, none).1.p).collect();
        let below = |level: f64| p.iter().filter(|p| **p < level).count();
        // 20 of 200 at level 0.05 have a probability of 0.003.
        assert!(below(0.05) <= 20 && below(0.001) <= 2, "{name}: {} and {}", below(0.05), below(0.001));
    }
    // A propensity of 1/3 that is written with two digits.
    let thirds: Acts = |_, _, _, rng| drawn(1.0 / 3.0, 0.33, rng);
    assert!(!log(&world, 20_000, 1, thirds, none).1.is_contradicted());
}

#[test]
fn halves_that_are_logged_as_three_to_two_are_noticed() {
    let world = copied();
    let wrong: Acts = |_, _, _, rng| drawn(0.5, 0.6, rng);
    let found = (0..20).filter(|&seed| log(&world, 400, seed, wrong, none).1.is_contradicted()).count();
    assert!(found >= 18, "{found} of 20");
    let (_, test) = log(&world, 2000, 1, wrong, none);
    let clearest = test.clearest.unwrap();
    let expected = clearest.expected.unwrap() / clearest.steps as f64;
    assert!((expected - 0.6).abs() < 0.01 || (expected - 0.4).abs() < 0.01, "{clearest:?}");
    // Where propensities depend on the past, the intervention that is too frequent is found.
    let wrong: Acts = |stage, state, before, rng| {
        let (rank, p) = BY_HISTORY(stage, state, before, rng);
        if rank == 0 && rng.random::<f64>() < 0.4 { (1, 1.0 - p) } else { (rank, p) }
    };
    assert!(log(&world, 1500, 1, wrong, none).1.is_contradicted());
    // Episodes that are lost by what was done in them.
    let lost = |episode: u64, ranks: &[u64]| ranks[0] == 0 && episode.is_multiple_of(2);
    assert!(log(&world, 2000, 1, BY_STATE, lost).1.is_contradicted());
}

#[test]
fn wrong_propensities_fail_and_no_ratio_uses_them() {
    let world = copied();
    let wrong: Acts = |_, _, _, rng| drawn(0.5, 0.6, rng);
    let (of_wrong, _) = log(&world, 1500, 1, wrong, none);
    let plan = plan_safely(&of_wrong, &quick()).unwrap();
    let failed = plan.record.about(About::Propensities).unwrap();
    assert_eq!(failed.status, Status::Failed, "{failed:?}");
    assert!(failed.statement.contains("its propensities say about"), "{}", failed.statement);
    assert_eq!(plan.recommendation, Recommendation::Refused { because: About::Propensities });
    let policy = constant(&world, 1);
    let robust = |log: &Episodes| evaluate(log, &policy, &quick()).unwrap().robust.unwrap();
    let of_frequencies = robust(&of_wrong);
    assert_eq!(of_frequencies.by_propensity, 0);
    let (of_right, _) = log(&world, 1500, 1, |_, _, _, rng| drawn(0.5, 0.5, rng), none);
    let right = robust(&of_right);
    assert_eq!(right.by_propensity, right.corrected);
    assert!((of_frequencies.mean - right.mean).abs() < 0.1, "{} {}", of_frequencies.mean, right.mean);
    assert_eq!(
        evaluate(&of_right, &policy, &quick()).unwrap().record.about(About::Propensities).unwrap().status,
        Status::Passed
    );
}
