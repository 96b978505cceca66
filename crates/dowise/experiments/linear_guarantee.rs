//! Whether linear learners are optimistic as often as they promise: V̂ ≥ V* at every stage and state of every plan, run by run.
//!
//! `cargo run --release -p dowise --example linear_guarantee -- [RUNS EPISODES]` (1000 runs of 200 episodes by default), each in a random
//! linear world of its own with 6 states, 4 causes, 3 features and 3 steps; δ = 0.1. A run fails if one value of one plan falls short.
#![allow(clippy::print_stdout)]

use dowise::linear::{LinearLearner, LinearOptions, LinearPreset};
use dowise::worlds::Linear;
use dowise::{Agent, Arena, Knowledge, LearnerSpec};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given: Vec<u64> = std::env::args().skip(1).map(|a| a.parse()).collect::<Result<_, _>>()?;
    let (runs, episodes) = (given.first().copied().unwrap_or(1000), given.get(1).copied().unwrap_or(200));
    let names = [
        "c-lsvi-ucb:beta=covering-number",
        "c-lsvi-ucb:beta=covering-number,schedule=doubling",
        "c-lsvi-ucb",
        "c-lsvi-ucb:beta-scale=0.1",
        "c-lsvi-ucb:beta-scale=0.01",
    ];
    for name in names {
        let spec: LearnerSpec = name.parse()?;
        let default = "c-lsvi-ucb".parse::<LinearPreset>()?.options(episodes, 0);
        let (mut failed, mut regret, mut beta) = (0, 0.0, 0.0);
        for seed in 0..runs {
            let world = Linear { states: 6, causes: 4, dimension: 3, horizon: 3, seed, ..Linear::default() }.world()?;
            let arena = Arena::new(&world)?;
            let options = spec.linear_options(episodes, seed).unwrap_or(LinearOptions { seed, ..default.clone() });
            let mut learner = LinearLearner::new(&Knowledge::of(&world), options)?;
            let (mut run, mut short, mut plans) = (arena.run(seed), false, 0);
            for _ in 0..episodes {
                regret += run.episode(&mut learner).regret;
                if learner.plans() > plans {
                    plans = learner.plans();
                    let pairs = learner
                        .enumerated()
                        .expect("all states are planned")
                        .plan()
                        .value_hs
                        .iter()
                        .zip(&arena.best().value_hs);
                    short |= pairs.into_iter().any(|(optimistic, best)| *optimistic < best - 1e-9);
                }
            }
            failed += u64::from(short);
            beta += learner.beta(0);
            learner.end_episode();
        }
        let n = runs as f64;
        println!(
            "{name:<44} {failed:>5} of {runs} runs fell short ({:.1} %, promised at most 10 %); β {:.1}, regret {:.1} in {episodes} episodes",
            100.0 * failed as f64 / n,
            beta / n,
            regret / n
        );
    }
    Ok(())
}
