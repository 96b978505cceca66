//! A world built by names, and its best policy: `cargo run -p dowise --example plan`.
#![allow(clippy::print_stdout)] // an example prints its result

use dowise::{Arena, World};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let world = World::builder("a walk a day", 7)
        .state("mood", ["low", "high"])
        .lever("shoes", ["cupboard", "door"])
        .lever("friend", ["at home", "calls"])
        .key("walk", ["no", "yes"]) // levers act through this alone; rows run over mood, shoes, friend
        .mechanism(
            "walk",
            ["mood", "shoes", "friend"],
            [0.9, 0.1, 0.7, 0.3, 0.6, 0.4, 0.3, 0.7, 0.7, 0.3, 0.6, 0.4, 0.2, 0.8, 0.4, 0.6],
        )
        .next("mood", ["mood", "walk"], [0.9, 0.1, 0.4, 0.6, 0.5, 0.5, 0.1, 0.9])
        .reward("well", "mood", [0.0, 1.0])
        .start("mood", "low")
        .build()?;
    let arena = Arena::new(&world)?;
    println!("{:.2} good days of {} under the best policy", arena.optimal(), world.horizon());
    for state in 0..world.n_states() {
        let action = arena.best().action(0, state);
        println!("{}: {}", world.describe_state(state), world.describe_intervention(action));
    }
    Ok(())
}
