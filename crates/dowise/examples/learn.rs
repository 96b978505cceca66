//! A learner that knows the graph of a world with a million interventions: `cargo run -p dowise --example learn`.
#![allow(clippy::print_stdout)] // an example prints its result

use dowise::{Arena, LearnerSpec, worlds};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let world = worlds::world("campaign", &[])?; // or World::from_file, or World::builder
    let arena = Arena::new(&world)?;
    let spec: LearnerSpec = "graph-psrl".parse()?; // options as on the command line: "c-ucbvi:width=bernstein"
    let (episodes, seed) = (500, 1);
    let mut learner = spec.learner(&world, episodes, seed)?;
    let mut run = arena.run(seed);
    let mut regret = 0.0;
    for episode in 1..=episodes {
        regret += run.episode(&mut learner).regret; // exact: V* less the value of the policy followed
        if [1, 10, 100, 500].contains(&episode) {
            println!("regret after {episode} episodes: {regret:.3}");
        }
    }
    let learned = arena.value_of(learner.learned_policy().actions())?;
    println!("value of an episode: learned {learned:.4}, best {:.4}", arena.optimal());
    Ok(())
}
