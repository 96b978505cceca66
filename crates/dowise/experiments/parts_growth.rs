//! How plans and episodes grow with the number of key variables where worlds fall apart: four key variables to a state factor.
//!
//! Prints CSV: `cargo run --release --example parts_growth [MOST_FACTORS]`. Times are in milliseconds; a plan over joint causes is made
//! for comparison as long as these are few. Learners are given rewards and P(z | s, a), or (`unknown`) have to learn both.

use std::time::Instant;

use dowise::worlds::ManyLevers;
use dowise::{Arena, Knowledge, Learner, Planner, Preset, World};

/// Joint causes up to which a plan over all of them is timed as well.
const MOST_JOINT: usize = 1 << 16;

#[allow(clippy::print_stdout)] // printing is what it is for
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let most = std::env::args().nth(1).map_or(Ok(12), |text| text.parse::<usize>())?;
    println!(
        "keys,states,parts,set_up_ms,plan_ms,joint_plan_ms,graph_psrl_ms,graph_ucbvi_ms,graph_psrl_unknown_ms,graph_ucbvi_unknown_ms"
    );
    for factors in [2, 3, 4, 5, 6, 8, 10, 12].into_iter().filter(|&factors| factors <= most) {
        let many =
            ManyLevers { factors, keys: 4 * factors, sparse: true, levers: 1, levels: 2, ..ManyLevers::default() };
        let world = World::new(many.spec()?)?;
        let (set_up, planner) = timed(|| Planner::decomposed(&world));
        let planner = planner?.ok_or("no part of these worlds is too large")?;
        let (first, plan) = timed(|| planner.plan());
        let planned = (0..3).map(|_| timed(|| planner.plan()).0).fold(first, f64::min);
        planner.verify(&plan)?;
        let joint = if planner.kernel().n_causes() <= MOST_JOINT {
            let joint = Planner::over_joint_causes(&world)?;
            (0..2).map(|_| timed(|| joint.plan()).0).fold(f64::INFINITY, f64::min)
        } else {
            f64::NAN
        };
        print!("{},{},{},{set_up:.3},{planned:.3},{joint:.3}", many.keys, world.n_states(), planner.n_parts());
        let arena = Arena::new(&world)?;
        let knowledge = Knowledge::of(&world);
        for knowledge in [knowledge.clone(), knowledge.without_rewards().without_mechanisms()] {
            for name in ["graph-psrl", "graph-ucbvi"] {
                let mut learner = Learner::new(&knowledge, name.parse::<Preset>()?.options(1000, 1))?;
                let mut run = arena.run(1);
                let episodes = if factors > 8 { 5 } else { 100 };
                let (time, _) = timed(|| (0..episodes).map(|_| run.play(&mut learner, false).reward).sum::<f64>());
                print!(",{:.3}", time / f64::from(episodes));
            }
        }
        println!();
    }
    Ok(())
}

/// Milliseconds that something takes, and what it gives.
fn timed<T>(run: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = run();
    (start.elapsed().as_secs_f64() * 1e3, result)
}
