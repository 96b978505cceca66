//! Hashes of plans and of what learners know after a few episodes, a line for each: the same lines on every machine.
//! `cargo run -p dowise --example fingerprints`; `make same-bits` compares them with those of WebAssembly.
#![allow(clippy::print_stdout)] // an example prints its result

use dowise::{Agent, Arena, LearnerSpec, Preset, World, worlds};

/// FNV-1a.
fn hash(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, b| (hash ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

fn hash_of_numbers(numbers: &[f64]) -> u64 {
    hash(numbers.iter().flat_map(|x| x.to_bits().to_le_bytes()))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let with_options = [
        "c-ucbvi:width=paper",
        "c-ucbvi:width=bernstein",
        "cf-ucbvi:sets=kl",
        "graph-ucbvi:guard=true",
        "graph-ucbvi:unknown=all",
        "graph-psrl:unknown=all",
    ];
    let all: [(&str, World); 4] = [
        ("treatment", worlds::world("treatment", &[])?),
        ("river-swim", worlds::world("river-swim", &[])?),
        ("paper", World::new(worlds::Paper::default().spec()?)?),
        ("linear", worlds::Linear { distance: 0.1, ..Default::default() }.world()?),
    ];
    for (name, world) in &all {
        let arena = Arena::new(world)?;
        println!(
            "{name}: {:016x}, plan {:016x}",
            hash(world.to_toml().bytes()),
            hash_of_numbers(&arena.best().value_hs)
        );
        let presets = Preset::all().iter().map(|preset| preset.name());
        for learner in presets.chain(with_options) {
            let spec: LearnerSpec = learner.parse()?;
            // Some need features, or few interventions.
            let Ok(mut playing) = spec.learner(world, 6, 7) else { continue };
            let mut run = arena.run(7);
            let regrets: Vec<f64> = (0..6).map(|_| run.episode(&mut playing).regret).collect();
            playing.begin_episode();
            let [regret, plan] = [hash_of_numbers(&regrets), hash_of_numbers(&playing.plan().value_hs)];
            println!("{name}, {learner}: {regret:016x} {plan:016x} {:016x}", hash(playing.save().bytes()));
        }
    }
    Ok(())
}
