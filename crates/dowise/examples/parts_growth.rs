//! Times of exact plans and of graph learners where worlds fall apart: many key variables, each acting on one state factor alone.
//!
//! `cargo run --release --example parts_growth`

use std::time::Instant;

use dowise::worlds::ManyLevers;
use dowise::{Arena, Knowledge, Learner, Preset, World};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("{:>5} {:>7} {:>8} {:>12} {:>12} {:>14} {:>14}", "keys", "states", "parts", "set up ms", "plan ms", "graph-psrl ms", "graph-ucbvi ms");
    for (factors, keys) in [(2, 8), (3, 12), (4, 16), (5, 20), (6, 24), (8, 32), (12, 48)] {
        let world = World::new(ManyLevers { factors, keys, sparse: true, levers: 1, levels: 3, ..ManyLevers::default() }.spec()?)?;
        let start = Instant::now();
        let planner = dowise::Planner::new(&world)?;
        let set_up = start.elapsed().as_secs_f64() * 1e3;
        let start = Instant::now();
        let plan = planner.plan();
        let planned = start.elapsed().as_secs_f64() * 1e3;
        planner.verify(&plan)?;
        print!("{keys:>5} {:>7} {:>8} {set_up:>12.2} {planned:>12.2}", world.n_states(), planner.n_parts());
        let arena = Arena::new(&world)?;
        for name in ["graph-psrl", "graph-ucbvi"] {
            let options = name.parse::<Preset>()?.options(1000, 1);
            match Learner::new(&Knowledge::of(&world), options) {
                Err(_) => print!(" {:>14}", "refused"),
                Ok(mut learner) => {
                    let mut run = arena.run(1);
                    let start = Instant::now();
                    let mut n = 0;
                    while n < 50 && start.elapsed().as_secs_f64() < 5.0 {
                        run.episode(&mut learner);
                        n += 1;
                    }
                    print!(" {:>14.2}", start.elapsed().as_secs_f64() * 1e3 / f64::from(n));
                }
            }
        }
        println!();
    }
    Ok(())
}
