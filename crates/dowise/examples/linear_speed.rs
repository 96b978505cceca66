//! Time of one episode of the linear learners as the run grows, beside a plain one that sweeps its history again.
//!
//! d = 64, S = 8, A = 64, H = 5, Z = 16: `cargo run --release --example linear_speed`.
#![allow(clippy::print_stdout)]

#[path = "../tests/linear/resweep.rs"]
mod resweep;

use std::time::Instant;

use dowise::linear::{Beta, LinearLearner, LinearOptions, LinearPreset};
use dowise::{Knowledge, Planner, Run, Simulator, worlds};

use resweep::{Recorder, Resweep};

const EPISODES: u64 = 5000;
/// Episodes over which each time is averaged, up to the one named.
const WINDOW: u64 = 10;
/// Where the plain way is timed too; beyond that it takes minutes.
const PLAIN: [u64; 2] = [10, 100];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let world = worlds::Linear { dimension: 64, seed: 1, ..Default::default() }.world()?;
    let (planner, simulator) = (Planner::new(&world)?, Simulator::new(&world)?);
    let best = planner.plan();
    println!("microseconds for one episode (acting, simulating and judging included), mean of {WINDOW}");
    println!("{:<12}{:>9}{:>9}{:>9}{:>9}{:>16}", "episode", 10, 100, 1000, 5000, "whole run (s)");
    for preset in LinearPreset::all() {
        // One β for the plain way and ours, so that both compute the same plans.
        let options = LinearOptions { beta: Beta::Fixed(0.5), ..preset.options(EPISODES, 1) };
        let learner = LinearLearner::new(&Knowledge::of(&world), options)?;
        let plain = Resweep::new(&world, &learner);
        let mut agent = Recorder::new(&world, learner);
        let mut run = Run::new(&simulator, &planner, &best.value_hs, 1);
        let (mut total, mut window, mut shown, mut swept) = (0.0, 0.0, Vec::new(), Vec::new());
        for episode in 1..=EPISODES {
            let clock = Instant::now();
            run.episode(&mut agent);
            let seconds = clock.elapsed().as_secs_f64();
            total += seconds;
            let last = [10, 100, 1000, 5000].into_iter().find(|&at| episode <= at).unwrap_or(EPISODES);
            window = if episode + WINDOW > last { window + seconds } else { 0.0 };
            if episode == last {
                shown.push(window / WINDOW as f64);
                window = 0.0;
            }
            if PLAIN.contains(&episode) {
                let clock = Instant::now();
                std::hint::black_box(plain.values(&agent.history, 0.5));
                swept.push(clock.elapsed().as_secs_f64());
            }
        }
        let micros = |seconds: &[f64]| seconds.iter().map(|s| format!("{:>9.0}", s * 1e6)).collect::<String>();
        println!("{:<12}{}{total:>16.2}", preset.name(), micros(&shown));
        println!("{:<12}{}", "  swept", micros(&swept));
        let ratio = swept.iter().zip(&shown).map(|(plain, ours)| format!("{:>8.0}x", plain / ours)).collect::<String>();
        println!("{:<12}{ratio}", "  ratio");
    }
    println!("swept: one plan that computes designs, weights and the value of every next state from the whole history");
    Ok(())
}
