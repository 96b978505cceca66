//! Time per episode of learner and simulator together, and of exact evaluation apart, for two sizes of the paper's environment.
//!
//! `cargo run --release -p dowise --example episode_times [STATES [LEARNER [unjudged]]]` prints one line of JSON per learner
//! (any, if it is named) and size; `benchmarks/peers.py` runs it beside rlberry, `benchmarks/where.py` without evaluation.
#![allow(clippy::print_stdout)] // a benchmark prints its result

use std::time::Instant;

use dowise::learn::LearnerSpec;
use dowise::worlds::Paper;
use dowise::{Arena, Knowledge, Learner, World};

const LEARNERS: [&str; 12] = [
    "ucbvi:width=rlberry",
    "f-ucbvi:width=rlberry",
    "c-ucbvi:width=rlberry",
    "cf-ucbvi:width=rlberry",
    "ucbvi",
    "f-ucbvi",
    "c-ucbvi",
    "cf-ucbvi",
    "psrl",
    "c-psrl",
    "cf-psrl",
    "uniform",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [states, only, unjudged] = [1, 2, 3].map(|i| std::env::args().nth(i));
    for (size, world, episodes) in [
        ("S 8, A 64", Paper::default(), 5000),
        ("S 64, A 343", Paper { factors: 6, levels: 7, ..Paper::default() }, 300),
    ] {
        let world = World::new(world.spec()?)?;
        if states.as_deref().is_some_and(|states| states != world.n_states().to_string()) {
            continue;
        }
        let arena = Arena::new(&world)?;
        for name in only.as_deref().map_or(LEARNERS.to_vec(), |only| vec![only]) {
            let spec: LearnerSpec = name.parse()?;
            let fresh = Learner::new(&Knowledge::of(&world), spec.options(episodes, 1))?;
            let time = |evaluation: bool| {
                let mut best = f64::INFINITY;
                let began = Instant::now();
                // The best of many runs: what other programs take from the machine is not ours.
                for attempt in 0.. {
                    if attempt >= 3 && began.elapsed().as_secs_f64() > 1.0 {
                        break;
                    }
                    let mut learner = fresh.clone();
                    let mut run = arena.run(1);
                    let start = Instant::now();
                    for _ in 0..episodes {
                        run.play(&mut learner, evaluation);
                    }
                    best = best.min(start.elapsed().as_secs_f64() * 1e6 / episodes as f64);
                }
                best
            };
            let alone = time(false);
            let evaluation = if unjudged.is_some() { 0.0 } else { (time(true) - alone).max(0.0) };
            println!(
                r#"{{"size": "{size}", "learner": "{name}", "episodes": {episodes}, "us_per_episode": {alone:.2}, "us_judging": {evaluation:.2}}}"#
            );
        }
    }
    Ok(())
}
