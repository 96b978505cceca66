//! The paper's claim for causal linear MDPs: at fixed d, regret grows neither with the interventions nor with the states.
//!
//! `cargo run --release -p dowise --example linear_claim -- [EPISODES SEEDS]` (300 and 2 by default). The combination lock with d = 6, Z = 8,
//! H = 8; interventions from 64 to 10⁶ at 64 states, states from 64 to 65,536 at 64 interventions. A row is *flat* if its greatest regret is at
//! most twice its least, and *grows* if the last is more than twice the first; one that loses more than half of all there is learns next to
//! nothing. `-` where a learner would take too long or is refused.
#![allow(clippy::print_stdout)]

use dowise::worlds::LinearLock;
use dowise::{Arena, LearnerSpec};

const INTERVENTIONS: [usize; 4] = [8, 32, 128, 1000];
const STATES: [usize; 4] = [64, 1024, 8192, 65_536];

fn regret(lock: &LinearLock, learner: &str, episodes: u64, seeds: u64) -> Option<f64> {
    let world = lock.world().ok()?;
    let arena = Arena::new(&world).ok()?;
    let spec: LearnerSpec = learner.parse().ok()?;
    let mut sum = 0.0;
    for seed in 1..=seeds {
        let mut learner = spec.learner(&world, episodes, seed).ok()?;
        let mut run = arena.run(seed);
        sum += (0..episodes).map(|_| run.episode(&mut learner).regret).sum::<f64>();
    }
    // In policies as bad as any: 1 is never to open the lock.
    Some(sum / seeds as f64 / arena.optimal())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given: Vec<u64> = std::env::args().skip(1).map(|a| a.parse()).collect::<Result<_, _>>()?;
    let (episodes, seeds) = (given.first().copied().unwrap_or(300), given.get(1).copied().unwrap_or(2));
    let lock = LinearLock { causes: 8, dimension: 6, horizon: 8, levels: 8, ..LinearLock::default() };
    println!("regret over {episodes} episodes in values of the best policy, mean of {seeds} seeds");
    // (learner, most interventions, most states, whether it should be flat)
    let learners: [(&str, usize, usize, [bool; 2]); 4] = [
        ("c-blsvi", usize::MAX, usize::MAX, [true, true]),
        ("c-lsvi-ucb:schedule=doubling,beta-scale=0.1", usize::MAX, usize::MAX, [true, true]),
        ("lsvi-ucb:beta-scale=0.001", 1024, 64, [false, false]),
        ("c-psrl", usize::MAX, 64, [true, false]),
    ];
    for (axis, title) in ["interventions", "states"].iter().enumerate() {
        let sizes: Vec<(String, LinearLock)> = match axis {
            0 => {
                INTERVENTIONS.iter().map(|&n| ((n * n).to_string(), LinearLock { levels: n, ..lock.clone() })).collect()
            }
            _ => STATES.iter().map(|&n| (n.to_string(), LinearLock { states: n, ..lock.clone() })).collect(),
        };
        let heads: String = sizes.iter().map(|(n, _)| format!("{n:>10}")).collect();
        println!("\n{title:<46}{heads}");
        for (name, most_actions, most_states, flat) in &learners {
            let fits = |l: &LinearLock| l.levels * l.levels <= *most_actions && l.states <= *most_states;
            let found: Vec<Option<f64>> =
                sizes.iter().map(|(_, l)| if fits(l) { regret(l, name, episodes, seeds) } else { None }).collect();
            let cells: String =
                found.iter().map(|r| r.map_or(format!("{:>10}", "-"), |r| format!("{r:>10.1}"))).collect();
            let known: Vec<f64> = found.into_iter().flatten().collect();
            let (least, most) = known.iter().fold((f64::INFINITY, 0.0f64), |(a, b), &r| (a.min(r), b.max(r)));
            let verdict = match (flat[axis], known.len()) {
                _ if least > 0.5 * episodes as f64 => "learns next to nothing",
                (_, 0 | 1) => "too large beyond",
                (true, _) if most <= 2.0 * least => "flat: held",
                (true, _) => "flat: not held",
                (false, _) if known[known.len() - 1] > 2.0 * known[0] => "grows: held",
                (false, _) => "grows: not held",
            };
            println!("{name:<46}{cells}   {verdict}");
        }
    }
    Ok(())
}
