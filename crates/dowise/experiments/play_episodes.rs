//! Plays the first episodes of a learner and nothing else, for `valgrind --tool=callgrind` and other profilers.
//!
//! `cargo run --release -p dowise --example play_episodes STATES LEARNER EPISODES` with 8 or 64 states of the paper's environment;
//! `benchmarks/instructions.py` compares two builds of it.

use dowise::worlds::Paper;
use dowise::{Arena, Knowledge, Learner, LearnerSpec, World};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [states, learner, episodes] = &arguments[..] else { return Err("give STATES LEARNER EPISODES".into()) };
    let (paper, planned) = match states.as_str() {
        "8" => (Paper::default(), 5000),
        "64" => (Paper { factors: 6, levels: 7, ..Paper::default() }, 300),
        other => return Err(format!("there are 8 or 64 states, not {other}").into()),
    };
    let world = World::new(paper.spec()?)?;
    let arena = Arena::new(&world)?;
    let spec: LearnerSpec = learner.parse()?;
    let mut learner = Learner::new(&Knowledge::of(&world), spec.options(planned, 1))?;
    let mut run = arena.run(1);
    for _ in 0..episodes.parse()? {
        run.play(&mut learner, false);
    }
    Ok(())
}
