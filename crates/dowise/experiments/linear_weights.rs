//! Whether weighing steps by variance helps at a practical scale of β: regret and the share of the way to the best policy, world by world.
//!
//! `cargo run --release -p dowise --example linear_weights -- [STATES [EPISODES [SEEDS]]]` (256 300 3 by default).
#![allow(clippy::print_stdout)]

use dowise::worlds::{Linear, LinearDoses, LinearLock, LinearRiver};
use dowise::{Arena, LearnerSpec, World};

const LEARNERS: [&str; 7] = [
    "c-lsvi-ucb:schedule=doubling",
    "c-lsvi-ucb:schedule=doubling,weights=variance",
    "c-lsvi-ucb:schedule=doubling,beta-scale=0.1",
    "c-lsvi-ucb:schedule=doubling,beta-scale=0.1,weights=variance",
    "c-lsvi-ucb:schedule=doubling,beta-scale=0.02",
    "c-lsvi-ucb:schedule=doubling,beta-scale=0.02,weights=variance",
    "c-blsvi",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given: Vec<u64> = std::env::args().skip(1).map(|a| a.parse()).collect::<Result<_, _>>()?;
    let of = |i: usize, default: u64| given.get(i).copied().unwrap_or(default);
    let (states, episodes, seeds) = (of(0, 256) as usize, of(1, 300), of(2, 3));
    println!(
        "S = {states}, Z = 8, d = 8, {episodes} episodes, seeds 1 to {seeds}: mean regret as a share of what can be lost, last tenth in brackets"
    );
    let worlds: [(&str, World); 4] = [
        ("linear-lock", LinearLock { states, causes: 8, ..LinearLock::default() }.world()?),
        ("linear-river", LinearRiver { states, causes: 8, ..LinearRiver::default() }.world()?),
        ("linear-doses", LinearDoses { levels: states.isqrt(), causes: 8, ..LinearDoses::default() }.world()?),
        ("linear", Linear { states, causes: 8, dimension: 8, low_rank: true, ..Linear::default() }.world()?),
    ];
    for name in LEARNERS {
        let spec: LearnerSpec = name.parse()?;
        print!("{name:<62}");
        for (_, world) in &worlds {
            let arena = Arena::new(world)?;
            let lost = arena.optimal() - arena.at_random().0;
            let (mut total, mut late) = (0.0, 0.0);
            for seed in 1..=seeds {
                let mut learner = spec.learner(world, episodes, seed)?;
                let mut run = arena.run(seed);
                for episode in 0..episodes {
                    let regret = run.episode(&mut learner).regret;
                    total += regret;
                    late += if episode >= episodes - episodes / 10 { regret } else { 0.0 };
                }
            }
            let all = (seeds * episodes) as f64 * lost;
            print!(
                "{:>7.1} % [{:>5.1} %]",
                100.0 * total / all,
                100.0 * late / (seeds * (episodes / 10)) as f64 / lost
            );
        }
        println!();
    }
    Ok(())
}
