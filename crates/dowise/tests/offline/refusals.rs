//! What is refused or bounded, by name.

use dowise::data::LogStep;
use dowise::learn::EvidenceError;
use dowise::offline::{EpisodeError, Episodes, OfflineOptions, evaluate, plan_safely};
use dowise::simulate::Outcome;
use dowise::{Action, Knowledge, Simulator, World, worlds};

use super::logger::*;

#[test]
fn no_interval_leaves_what_is_possible_however_little_was_seen() {
    let mut clipped = 0;
    for seed in 0..8 {
        let spec = worlds::Paper { levels: 6, levers: 2, factors: 2, horizon: 4, seed, ..Default::default() };
        let world = World::new(spec.spec().unwrap()).unwrap();
        let knowledge = Knowledge::of(&world).without_mechanisms().without_rewards();
        let [lo, hi] = world.reward_range().map(|r| r * world.horizon() as f64);
        let logger = logger(&world, 1.0);
        for (episodes, prior) in [(2, 2.0), (2, 100.0), (5, 1e6)] {
            let log = logger.log(&knowledge, episodes, seed);
            let found = evaluate(&log, &logger.policy_hs, &OfflineOptions { prior, samples: 40, ..quick() }).unwrap();
            for interval in [found.model.posterior, found.guaranteed.unwrap(), found.robust.unwrap().interval] {
                assert!(lo <= interval.low && interval.low <= interval.high && interval.high <= hi, "{interval:?}");
                clipped += u64::from(interval.low == lo || interval.high == hi);
            }
        }
    }
    assert!(clipped > 8, "the test would not see it: {clipped}");
}

#[test]
fn episodes_whose_weights_cannot_be_counted_together_are_refused() {
    let world = paper(0);
    let knowledge = Knowledge::of(&world);
    let simulator = Simulator::new(&world).unwrap();
    let mut outcome = Outcome::default();
    let mut log = Episodes::new(&knowledge, 2).unwrap();
    let [_, mut rng] = Simulator::streams(1);
    simulator.step(0, Action(0), &mut rng, &mut outcome);
    // Each fold has room for one of them, and both together have not.
    let step = LogStep { weight: 3_000_000_000, ..LogStep::new(0, outcome.observation(0, 0, Action(0))) };
    log.add(std::slice::from_ref(&step)).unwrap();
    let error = log.add(&[step]).unwrap_err();
    assert!(matches!(&error, EpisodeError::Step { error: EvidenceError::Full, .. }), "{error}");
    assert_eq!(log.evidence().steps(), 3_000_000_000);
}

#[test]
fn rows_that_the_log_never_saw_are_named_with_their_share() {
    let world = copied();
    let knowledge = Knowledge::of(&world);
    // Whoever was logged never put the shoes to the door.
    let always = |rank| Logger { policy_hs: constant(&world, rank), ..logger(&world, 0.0) };
    let log = always(0).log(&knowledge, 100, 1);
    let same = evaluate(&log, &constant(&world, 0), &quick()).unwrap().support;
    assert_eq!((same.share, same.rows.len()), (0.0, 0));
    let other = evaluate(&log, &constant(&world, 1), &quick()).unwrap().support;
    assert_eq!((other.share, other.rows.len()), (1.0, 2));
    let words = other.rows.iter().map(|row| row.to_string()).collect::<Vec<_>>().join("; ");
    assert!(words.contains("the next value of mood where mood=low walk=yes"), "{words}");
    assert!(words.contains("do shoes=door"), "{words}");
    // Where mechanisms are learned as tables, their rows have to be seen too.
    let knowledge = Knowledge::of(&world).without_mechanisms();
    let other = evaluate(&always(0).log(&knowledge, 100, 1), &constant(&world, 1), &quick()).unwrap().support;
    assert!(other.rows.iter().any(|row| row.what == "walk" && row.share == 1.0), "{:?}", other.rows);
}

#[test]
fn an_interval_of_too_few_samples_is_refused() {
    let world = paper(0);
    let logger = logger(&world, 1.0);
    let log = logger.log(&Knowledge::of(&world), 20, 1);
    for samples in [0, 1, 39, 1_000_001, u32::MAX] {
        let options = OfflineOptions { samples, ..quick() };
        let expected = format!("samples = {samples}: from 40 to 1000000, since an interval is their middle 95 %");
        assert_eq!(evaluate(&log, &logger.policy_hs, &options).unwrap_err().to_string(), expected);
        assert_eq!(plan_safely(&log, &options).unwrap_err().to_string(), expected);
    }
    assert!(evaluate(&log, &logger.policy_hs, &OfflineOptions { samples: 40, ..quick() }).is_ok());
}
