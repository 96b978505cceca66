//! How the time of one exact plan grows with the number of states and of interventions.
//!
//! Prints CSV: `cargo run --release --example plan_growth [MOST_FACTORS]`. Each time is the least of several runs.

use std::hint::black_box;
use std::time::Instant;

use dowise::worlds::ManyLevers;
use dowise::{Planner, World};

#[allow(clippy::print_stdout)] // printing is what it is for
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let most = std::env::args().nth(1).map_or(Ok(20), |text| text.parse::<usize>())?;
    println!("series,states,interventions,causes,horizon,build_s,plan_s,evaluate_s,ns_per_state_and_stage");
    for factors in (4..=most).step_by(2) {
        measure("states", &ManyLevers { factors, ..ManyLevers::default() })?;
    }
    for (levers, levels) in [(1, 5), (2, 4), (3, 4), (4, 4), (5, 4)] {
        measure("interventions", &ManyLevers { factors: 12, levers, levels, ..ManyLevers::default() })?;
    }
    Ok(())
}

#[allow(clippy::print_stdout)]
fn measure(series: &str, settings: &ManyLevers) -> Result<(), Box<dyn std::error::Error>> {
    let world = World::new(settings.spec()?)?;
    let (build, planner) = timed(|| Planner::new(&world));
    let planner = planner?;
    let (first, plan) = timed(|| planner.plan());
    let repeats = (1.0 / first.max(1e-4)).clamp(2.0, 200.0) as usize;
    let plan_s = (0..repeats).map(|_| timed(|| black_box(planner.plan())).0).fold(first, f64::min);
    let evaluations = (0..repeats.min(5)).map(|_| timed(|| black_box(planner.evaluate(&plan.policy_hs))).0);
    let evaluate_s = evaluations.fold(f64::INFINITY, f64::min);
    println!(
        "{series},{},{},{},{},{build:.6},{plan_s:.6},{evaluate_s:.6},{:.1}",
        world.n_states(),
        settings.n_interventions(),
        planner.kernel().n_causes(),
        world.horizon(),
        plan_s * 1e9 / (world.n_states() * world.horizon()) as f64
    );
    Ok(())
}

fn timed<T>(run: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = run();
    (start.elapsed().as_secs_f64(), result)
}
