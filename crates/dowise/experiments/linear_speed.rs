//! Time of one episode of the linear learners as the run grows, beside a plain one that sweeps its history again.
//!
//! d = 64, S = 8, A = 64, H = 5, Z = 16: `cargo run --release --example linear_speed`.
#![allow(clippy::print_stdout)]

#[path = "../tests/linear/resweep.rs"]
mod resweep;

use std::time::Instant;

use dowise::linear::{Beta, LinearEstimate, LinearLearner, LinearOptions, LinearPreset};
use dowise::{Arena, Knowledge, worlds};

use resweep::{Recorder, Resweep};

const EPISODES: u64 = 5000;
/// Where times are taken.
const AT: [u64; 4] = [10, 100, 1000, 5000];
/// Each time is the median of as many episodes up to that one, or all of them.
const WINDOW: usize = 51;
/// Where the plain way is timed too; beyond that it takes minutes.
const PLAIN: u64 = 1000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let world = worlds::Linear { dimension: 64, seed: 1, ..Default::default() }.world()?;
    let arena = Arena::new(&world)?;
    println!("microseconds for one episode (acting, simulating and evaluation included), median of {WINDOW}");
    println!("{:<12}{}{:>16}", "episode", AT.map(|at| format!("{at:>9}")).concat(), "whole run (s)");
    for preset in LinearPreset::all() {
        // One β for the plain way and ours, so that both compute the same plans.
        let own = preset.options(EPISODES, 1);
        let beta = if own.beta == Beta::Residuals { own.beta } else { Beta::Fixed(0.5) };
        let sampled = own.estimate == LinearEstimate::Sampled;
        let options = LinearOptions { beta, ..own };
        let learner = LinearLearner::new(&Knowledge::of(&world), options)?;
        let plain = Resweep::new(&world, &learner);
        let mut agent = Recorder::new(&world, learner);
        let mut run = arena.run(1);
        let (mut times, mut shown, mut swept) = (Vec::new(), Vec::new(), Vec::new());
        for episode in 1..=EPISODES {
            let clock = Instant::now();
            run.episode(&mut agent);
            times.push(clock.elapsed().as_secs_f64());
            if AT.contains(&episode) {
                shown.push(median(&times[times.len().saturating_sub(WINDOW)..]));
            }
            // A sample has no counterpart in the plain way.
            if AT.contains(&episode) && episode <= PLAIN && !sampled {
                let clock = Instant::now();
                std::hint::black_box(plain.values(&agent.history, 0.5));
                swept.push(clock.elapsed().as_secs_f64());
            }
        }
        let total: f64 = times.iter().sum();
        let micros = |seconds: &[f64]| seconds.iter().map(|s| format!("{:>9.0}", s * 1e6)).collect::<String>();
        println!("{:<12}{}{total:>16.2}", preset.name(), micros(&shown));
        if swept.is_empty() {
            continue;
        }
        println!("{:<12}{}", "  swept", micros(&swept));
        let ratio = swept.iter().zip(&shown).map(|(plain, ours)| format!("{:>8.0}x", plain / ours)).collect::<String>();
        println!("{:<12}{ratio}", "  ratio");
    }
    println!("swept: one plan that computes designs, weights and the value of every next state from the whole history");
    Ok(())
}

fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
