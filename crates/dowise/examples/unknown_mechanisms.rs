//! What learners reach that are told the graph and nothing else: no mechanisms, no rewards, no transitions.
//!
//! `cargo run --release -p dowise --example unknown_mechanisms [WORLD [EPISODES [SEEDS [LEARNER…]]]]` prints, at 1,000 and 5,000
//! episodes (or the number given), the share of the way from random to best of the learned policy and of what was played
//! in the last 100 episodes, the regret, and the time of an episode: the mean over the seeds, and the worst.
#![allow(clippy::print_stdout)] // a benchmark prints its result

use std::time::Instant;

use dowise::{Arena, LearnerSpec, worlds};

const LEARNERS: [&str; 4] =
    ["graph-psrl:unknown=all", "graph-psrl:unknown=all,forms=false", "graph-ucbvi:unknown=all", "uniform"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let world = worlds::world(arguments.first().map_or("campaign", String::as_str), &[])?;
    let most: u64 = arguments.get(1).map_or(Ok(5000), |n| n.parse())?;
    let seeds: u64 = arguments.get(2).map_or(Ok(6), |n| n.parse())?;
    let named: Vec<&str> = arguments.iter().skip(3).map(String::as_str).collect();
    let arena = Arena::new(&world)?;
    let (best, random) = (arena.optimal(), arena.uniform(200, 1));
    let share = |value: f64| 100.0 * (value - random) / (best - random);
    println!("{}: best {best:.4}, random {random:.4}, {seeds} seeds (worst in brackets)", world.name());
    println!(
        "{:<40} {:>8} {:>16} {:>16} {:>18} {:>10}",
        "learner", "episodes", "learned %", "last 100 %", "regret", "ms/episode"
    );
    for name in if named.is_empty() { &LEARNERS[..] } else { &named[..] } {
        let spec: LearnerSpec = name.parse()?;
        let stops: Vec<u64> = [1000, 5000].into_iter().filter(|&stop| stop < most).chain([most]).collect();
        let mut found: Vec<Vec<[f64; 4]>> = vec![Vec::new(); stops.len()];
        for seed in 1..=seeds {
            let mut learner = spec.learner(&world, most, seed)?;
            let mut run = arena.run(seed);
            let (mut regret, mut last, mut seconds) = (0.0, std::collections::VecDeque::new(), 0.0);
            for episode in 1..=most {
                let began = Instant::now();
                let played = run.play(&mut learner, true);
                seconds += began.elapsed().as_secs_f64();
                regret += played.regret;
                last.push_back(played.regret);
                if last.len() > 100 {
                    last.pop_front();
                }
                if let Some(stop) = stops.iter().position(|&stop| stop == episode) {
                    let learned = share(arena.value_of(learner.learned_policy().actions())?);
                    let recent = last.iter().sum::<f64>() / last.len() as f64;
                    found[stop].push([
                        learned,
                        100.0 * (1.0 - recent / (best - random)),
                        regret,
                        1e3 * seconds / episode as f64,
                    ]);
                }
            }
        }
        for (stop, found) in stops.iter().zip(&found) {
            let mean = |i: usize| found.iter().map(|f| f[i]).sum::<f64>() / found.len() as f64;
            let least = |i: usize| found.iter().map(|f| f[i]).fold(f64::INFINITY, f64::min);
            let most = found.iter().map(|f| f[2]).fold(0.0, f64::max);
            println!(
                "{name:<40} {stop:>8} {:>8.1} ({:>5.1}) {:>8.1} ({:>5.1}) {:>9.1} ({most:>6.1}) {:>10.3}",
                mean(0),
                least(0),
                mean(1),
                least(1),
                mean(2),
                mean(3)
            );
        }
    }
    Ok(())
}
