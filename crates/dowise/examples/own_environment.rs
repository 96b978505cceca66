//! A learner driven by one's own loop, saved and restored on the way: `cargo run -p dowise --example own_environment`.
#![allow(clippy::print_stdout)] // an example prints its result

use dowise::world::Form;
use dowise::{Knowledge, Learner, Observation, Preset, World};
use rand::{RngExt, SeedableRng};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let world = World::builder("a walk a day", 7)
        .state("mood", ["low", "high"])
        .lever("shoes", ["cupboard", "door"])
        .key("walk", ["no", "yes"])
        .mechanism("walk", ["shoes"], [0.8, 0.2, 0.3, 0.7])
        .next("mood", ["mood", "walk"], Form::Unknown) // what is to be found out
        .reward("well", "mood", [0.0, 1.0])
        .build()?;
    let knowledge = Knowledge::of(&world);
    let mut learner = Learner::new(&knowledge, "graph-psrl".parse::<Preset>()?.options(200, 1))?;
    let mut life = rand_chacha::ChaCha8Rng::seed_from_u64(7); // stands for what really happens
    for _ in 0..200 {
        let (mut week, mut mood) = (learner.begin(), 0);
        for stage in 0..world.horizon() {
            let action = week.act(&mut learner, mood)?;
            let shoes = world.interventions().lever(action, 0).unwrap_or(0);
            let walk = usize::from(life.random_bool([0.2, 0.7][shoes]));
            let next_state = usize::from(life.random_bool([[0.1, 0.6], [0.5, 0.9]][mood][walk]));
            let day = Observation::at(&knowledge, stage, mood)?.did_action(&knowledge, action)?;
            let day = day.saw(&knowledge, [("walk", ["no", "yes"][walk])])?.then(&knowledge, next_state)?;
            week.observe(&mut learner, &day)?;
            mood = next_state;
        }
        week.end(&mut learner);
        let saved = learner.save(); // between episodes; a file would do
        learner = Learner::restore(&knowledge, &saved)?;
    }
    let action = learner.learned_policy().action(0, 0);
    println!("after {} episodes, mood=low: {}", learner.episodes(), world.describe_intervention(action));
    Ok(())
}
