//! Worlds in which features matter: how far linear learners and tables come, rewards unknown, by the value of their policies.
//!
//! `cargo run --release -p dowise --example linear_goals -- [WORLD EPISODES SEEDS [LEARNER …]]`; without arguments the goals
//! that were set beforehand, at S = 4,096, Z = 16, d = 8, H = 10: 2,000 episodes, seeds 1 to 5 (`SEEDS` is their number, or `101-105`). A share is of the way from interventions at
//! random to the best policy, over the policies of the last hundred episodes. A learner that does not fit into memory says so.
//! The tables that sample take about three hours of processor time at that size, everything else minutes.
#![allow(clippy::print_stdout)]

use std::ops::RangeInclusive;
use std::time::Instant;

use dowise::{Arena, LearnerSpec, World, worlds};

const LINEAR: [&str; 3] = ["c-blsvi", "c-rlsvi:schedule=doubling", "c-lsvi-ucb:schedule=doubling"];
/// Tables that explore by optimism, at the states visited, and those that sample.
const TABLES: [&str; 4] = ["c-ucbvi:schedule=visited", "c-ucbvi:width=quasi,schedule=visited", "c-psrl", "graph-psrl"];
/// At least as much for the best linear learner, at most as much for the best table.
const GOALS: [f64; 2] = [0.95, 0.60];
const LAST: u64 = 100;

/// A ready-made world by name and settings: `linear-lock:states=4096,causes=16`.
fn world(text: &str) -> Result<World, Box<dyn std::error::Error>> {
    let (name, settings) = text.split_once(':').unwrap_or((text, ""));
    let pairs = settings.split(',').filter(|s| !s.is_empty()).map(|s| s.split_once('=').ok_or("not key=value"));
    let pairs: Vec<(&str, &str)> = pairs.collect::<Result<_, _>>()?;
    Ok(worlds::world(name, &pairs)?)
}

/// Share of the way of each seed, and seconds for an episode; why not, if the learner cannot be made.
fn shares(arena: &Arena, learner: &str, episodes: u64, seeds: RangeInclusive<u64>) -> Result<(Vec<f64>, f64), String> {
    let spec: LearnerSpec = learner.parse().map_err(|e| format!("{e}"))?;
    let (best, random) = (arena.optimal(), arena.at_random().0);
    let since = Instant::now();
    let mut out = Vec::new();
    for seed in seeds.clone() {
        let mut learner = spec.learner(arena.world(), episodes, seed).map_err(|e| e.to_string())?;
        let mut run = arena.run(seed);
        let (mut worth, mut evaluated) = (0.0, 0.0);
        for episode in 1..=episodes {
            let evaluation = episode + LAST > episodes;
            let played = run.play(&mut learner, evaluation);
            if evaluation {
                worth += run.value_of_judged().unwrap_or(best - played.regret);
                evaluated += 1.0;
            }
        }
        out.push((worth / evaluated - random) / (best - random));
    }
    Ok((out, since.elapsed().as_secs_f64() / (episodes * seeds.count() as u64) as f64))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let episodes = args.get(1).map_or(Ok(2000), |a| a.parse())?;
    let seeds = args.get(2).map_or("5", String::as_str);
    let (first, last) = seeds.split_once('-').unwrap_or(("1", seeds));
    let seeds: RangeInclusive<u64> = first.parse()?..=last.parse()?;
    let all = [
        "linear-lock:states=4096,causes=16,dimension=8,horizon=10",
        "linear-river:states=4096,causes=16,dimension=8,horizon=10,forward=0.9",
        "linear-doses:levels=64,causes=16,horizon=10",
    ];
    let worlds: Vec<&str> = args.first().map_or(all.to_vec(), |one| vec![one]);
    for text in worlds {
        let arena = Arena::new(&world(text)?)?;
        println!("{text}\n  best {:.3}, at random {:.4}", arena.optimal(), arena.at_random().0);
        let given: Vec<&str> = args.iter().skip(3).map(String::as_str).collect();
        let groups = if given.is_empty() { vec![LINEAR.to_vec(), TABLES.to_vec()] } else { vec![given] };
        let mut reached = Vec::new();
        for group in &groups {
            let mut most = f64::NEG_INFINITY;
            for learner in group {
                match shares(&arena, learner, episodes, seeds.clone()) {
                    Err(why) => println!("  {learner:<37} {why}"),
                    Ok((found, seconds)) => {
                        let mean = found.iter().sum::<f64>() / found.len() as f64;
                        let worst = found.iter().copied().fold(f64::INFINITY, f64::min);
                        most = most.max(mean);
                        let (mean, worst) = (100.0 * mean, 100.0 * worst);
                        println!(
                            "  {learner:<12} {mean:6.1} % (worst {worst:6.1} %), {:.1} ms an episode",
                            1e3 * seconds
                        );
                    }
                }
            }
            reached.push(most);
        }
        if let [linear, tables] = reached[..] {
            let held = |held: bool| if held { "held" } else { "not held" };
            println!("  best linear learner at least {:.0} %: {}", 100.0 * GOALS[0], held(linear >= GOALS[0]));
            println!("  best table below {:.0} %: {}", 100.0 * GOALS[1], held(tables < GOALS[1]));
        }
    }
    Ok(())
}
