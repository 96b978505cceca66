//! Anytime-validity tests of the graph monitor: under adversarial interventions a true graph is contradicted with
//! probability at most δ.

use super::*;
use crate::random::splitmix64;
use crate::world::World;

const DELTA: f64 = 0.1;

/// The next s depends on z alone; z has as many values as there should be rows.
fn world(rows: usize) -> Knowledge {
    let world = World::builder("rows", 1).state("s", 2).lever("x", 2).key("z", rows);
    let world = world.mechanism("z", [] as [&str; 0], vec![1.0 / rows as f64; rows]);
    let world = world.next("s", ["z"], vec![0.5; 2 * rows]).reward("r", "s", [0.0, 1.0]);
    Knowledge::of(&world.build().expect("a world"))
}

fn step(knowledge: &Knowledge, x: usize, row: usize, next: usize) -> Observation<'static> {
    let at = Observation::at(knowledge, 0, 0).and_then(|o| o.did(knowledge, x)).expect("a step");
    at.saw(knowledge, &[row as u32][..]).and_then(|o| o.then(knowledge, next)).expect("a step")
}

/// A fair coin for every seed and position.
fn coin(seed: u64, i: u64) -> usize {
    (splitmix64(splitmix64(seed) ^ i) >> 40 & 1) as usize
}

/// The adversary sets x = 0 in a new row, and then x = 1 only if the outcome favours a bet.
///
/// Bets on blocks of two visits, 1.4 or 0.6 times the stake for each, are fair if blocks are always completed. Open
/// blocks are not counted, so their losses are hidden: this is the control, and it must fail.
#[test]
fn an_adversary_who_leaves_losing_blocks_open_does_not_fool_the_monitor() {
    let (rows, runs) = (60, 60);
    let knowledge = world(rows);
    let (mut by_blocks, mut by_bets) = (0, 0);
    for seed in 0..runs {
        let mut monitor = Monitor::new(&knowledge, States::Factored, Causes::OwnKeys, DELTA);
        let (mut block, mut alarm, mut drawn) = (0.0, false, 0);
        let mut draw = || {
            drawn += 1;
            coin(seed, drawn)
        };
        for row in 0..rows {
            let first = draw();
            monitor.observe(&step(&knowledge, 0, row, first));
            if first == 1 {
                let second = draw();
                monitor.observe(&step(&knowledge, 1, row, second));
                block += ln(1.4) + ln(if second == 0 { 1.4 } else { 0.6 });
                alarm |= block >= monitor.bar;
            }
        }
        by_blocks += u32::from(alarm);
        by_bets += u32::from(monitor.contradicted());
    }
    assert!(by_blocks > 20, "the control has to be fooled: {by_blocks} of {runs}");
    assert!(by_bets <= 6, "{by_bets} of {runs}");
}

/// The adversary sets the lever with the greatest expected gain of the bets, knowing the true probability.
#[test]
fn an_adversary_who_maximises_the_bets_does_not_fool_the_monitor() {
    let knowledge = world(3);
    let (runs, mut alarms) = (60u64, 0);
    for seed in 0..runs {
        let mut monitor = Monitor::new(&knowledge, States::Factored, Causes::OwnKeys, DELTA);
        let gain = |m: &Monitor| m.outcomes[0].numbers.claims[0].bets[0].gain();
        for i in 0..60u64 {
            let row = (splitmix64(seed ^ i << 32) % 3) as usize;
            let promise = |x: usize| {
                let after = |next: usize| {
                    let mut then = monitor.clone();
                    then.observe(&step(&knowledge, x, row, next));
                    crate::math::exp(gain(&then) - gain(&monitor))
                };
                after(0) + after(1)
            };
            let x = usize::from(promise(1) > promise(0));
            monitor.observe(&step(&knowledge, x, row, coin(seed, i)));
        }
        alarms += u32::from(monitor.contradicted());
    }
    assert!(alarms <= 6, "{alarms} of {runs}");
}

#[test]
fn what_is_missing_is_left_out_and_what_cannot_vary_is_not_claimed() {
    let knowledge = world(2);
    let mut monitor = Monitor::new(&knowledge, States::Factored, Causes::OwnKeys, DELTA);
    let claims: Vec<String> = monitor.report(&[]).claims.into_iter().map(|c| c.claim).collect();
    assert_eq!(claims.len(), 9, "{claims:?}");
    assert!(claims.contains(&"the known parameters of the key variable z are right".to_owned()), "{claims:?}");
    assert!(claims.contains(&"the next s does not depend on the lever x, given z".to_owned()), "{claims:?}");
    assert!(claims.contains(&"the key variable z does not depend on s, given nothing".to_owned()), "{claims:?}");
    // Neither z nor a next state: uninformative.
    monitor.observe(&Observation::at(&knowledge, 0, 0).and_then(|o| o.did(&knowledge, 1)).expect("a step"));
    assert!(monitor.outcomes.iter().all(|o| o.numbers.visits.is_empty()));
    // A learner with whole states relies on fewer claims.
    let flat = Monitor::new(&knowledge, States::Flat, Causes::Keys, DELTA);
    assert!(flat.report(&[]).claims.len() < claims.len());
}

/// An impossible number is refused: derived numbers may not be finite.
#[test]
fn a_monitor_that_cannot_have_come_about_is_refused() {
    let knowledge = world(2);
    let mut monitor = GraphMonitor::new(&knowledge, DELTA).expect("memory");
    for i in 0..40 {
        monitor.observe(&step(&knowledge, coin(3, i), coin(5, i), coin(7, i))).expect("a step");
    }
    let text = monitor.save();
    assert!(GraphMonitor::restore(&knowledge, &text).is_ok());
    let saved: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let changed = |path: &str, value: f64| {
        let mut other = saved.clone();
        *other.pointer_mut(path).expect(path) = value.into();
        GraphMonitor::restore(&knowledge, &other.to_string()).map(|m| m.report().steps).map_err(|e| e.to_string())
    };
    let of = "/monitor/numbers/0";
    for (path, value) in [
        (format!("{of}/visits/0"), 0.5),
        (format!("{of}/visits/0"), 1e300),
        (format!("{of}/sums/0"), -1.0),
        (format!("{of}/sums/0"), 1e6),
        (format!("{of}/claims/0/groups/0"), -3.0),
        (format!("{of}/claims/0/bets/0/gain/0"), 1e308),
        (format!("{of}/claims/0/bets/0/price/1"), -1e308),
        // With the weight of the shrinkage, a division by zero.
        (format!("{of}/claims/0/bets/0/shared/0/1"), -5.0),
        (format!("{of}/claims/0/bets/0/rows/3"), 1e200),
    ] {
        let refused = changed(&path, value).expect_err(&path);
        assert!(refused.contains("cannot have come about"), "{path}: {refused}");
    }
}

/// A world with known parameters only: z is on with probability 0.4 if x = 0 and 0.7 if x = 1, and r pays z.
fn fully_known_world() -> Knowledge {
    let world = World::builder("given", 1).state("s", 2).lever("x", 2).key("z", 2);
    let world = world.mechanism("z", ["x"], vec![0.6, 0.4, 0.3, 0.7]);
    let world = world.next("s", ["z"], vec![0.5; 4]).random_reward("r", "z", [0.2, 0.8], [0.0, 1.0]);
    Knowledge::of(&world.build().expect("a world"))
}

/// The first alarm in steps where z is on with probability `p[x]` and r pays 1 with probability `pay[z]`.
fn first_alarm(
    knowledge: &Knowledge,
    p: [f64; 2],
    pay: [f64; 2],
    seed: u64,
    steps: u64,
) -> Option<(u64, GraphFinding)> {
    let mut monitor = Monitor::new(knowledge, States::Factored, Causes::OwnKeys, DELTA);
    let drawn = |i: u64, of: u64| (splitmix64(splitmix64(seed) ^ (4 * i + of)) >> 11) as f64 / (1u64 << 53) as f64;
    for i in 0..steps {
        let x = usize::from(drawn(i, 0) < 0.5);
        let z = usize::from(drawn(i, 1) < p[x]);
        let paid = f64::from(u8::from(drawn(i, 2) < pay[z]));
        let seen = step(knowledge, x, z, usize::from(drawn(i, 3) < 0.5)).paid_by(knowledge, "r", paid).expect("a step");
        monitor.observe(&seen);
        if let Some(found) = monitor.finding() {
            return Some((i + 1, found));
        }
    }
    None
}

#[test]
fn right_known_parameters_are_kept_and_wrong_ones_are_named() {
    let knowledge = fully_known_world();
    let right = (0..200).filter(|&seed| first_alarm(&knowledge, [0.4, 0.7], [0.2, 0.8], seed, 400).is_some()).count();
    assert!(right <= 20, "{right} of 200 at δ = {DELTA}");
    let (mut steps, mut named) = (Vec::new(), [0; 2]);
    for seed in 0..20 {
        let (after, found) =
            first_alarm(&knowledge, [0.4, 0.4], [0.2, 0.8], seed, 2000).expect("P(z | x = 1) is wrong");
        let z = "the known parameters of the key variable z are not right: P(z = ";
        named[0] += u32::from(found.what.starts_with(z) && found.what.contains(" where x = 1 and it was so in "));
        assert!(found.variable == "known parameters" && found.effect.abs() > 0.1, "{found:?}");
        steps.push(after);
        let (_, found) = first_alarm(&knowledge, [0.4, 0.7], [0.2, 0.4], seed, 2000).expect("what r pays is wrong");
        named[1] += u32::from(found.what.contains("r was given a mean of 0.8 where z = 1 and paid 0."));
    }
    assert!(named.iter().all(|&n| n >= 18), "{named:?} of 20");
    steps.sort_unstable();
    assert!(steps[10] < 200, "{steps:?}");
}

#[test]
fn an_outcome_given_as_impossible_contradicts_at_once_and_is_saved() {
    let world = World::builder("never", 1).state("s", 2).lever("x", 2).key("z", 2);
    let world = world.mechanism("z", ["x"], vec![1.0, 0.0, 0.0, 1.0]).next("s", ["z"], vec![0.5; 4]);
    let knowledge = Knowledge::of(&world.reward("r", "s", [0.0, 1.0]).build().expect("a world"));
    let mut monitor = GraphMonitor::new(&knowledge, DELTA).expect("memory");
    monitor.observe(&step(&knowledge, 0, 0, 0)).expect("a step");
    assert!(!monitor.report().contradicted);
    monitor.observe(&step(&knowledge, 0, 1, 0)).expect("a step");
    let found = monitor.report().found.expect("it cannot have happened");
    assert!(
        found.what.contains("P(z = 1) was given as 0.00 where x = 0 and it was so in 0.50 of 2 times"),
        "{found:?}"
    );
    let again = GraphMonitor::restore(&knowledge, &monitor.save()).expect("what was saved");
    assert!(again.save() == monitor.save() && again.report() == monitor.report());
    let forged = monitor.save().replace("\"product\":", "\"product\":1e9,\"x\":");
    assert!(GraphMonitor::restore(&knowledge, &forged).is_err());
}
