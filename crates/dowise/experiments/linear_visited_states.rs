//! Where states cannot be enumerated: time of a step, memory, and how near the learned policy comes to a plan by sampled states.
//!
//! `cargo run --release -p dowise --example linear_unlisted -- [PLACES CAUSES SYMBOLS HORIZON EPISODES]` (6 16 10 20 500 by default;
//! `33 64 9 10 500` has d = 65 features, 64 causes and 10^12 states).
#![allow(clippy::print_stdout)]

use std::time::Instant;

use dowise::linear::LinearLearner;
use dowise::simulate::{AtRandom, Estimate, Play, SampledValueIteration};
use dowise::worlds::LinearCode;
use dowise::{Agent, Knowledge, LearnerSpec, Simulator};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given: Vec<usize> = std::env::args().skip(1).map(|a| a.parse()).collect::<Result<_, _>>()?;
    let of = |i: usize, default: usize| given.get(i).copied().unwrap_or(default);
    let (places, causes, symbols, horizon, episodes) = (of(0, 6), of(1, 16), of(2, 10), of(3, 20), of(4, 500));
    let levels = causes.isqrt();
    let code = LinearCode { places, causes, symbols, levels, horizon: horizon as u64, ..LinearCode::default() };
    let world = code.world()?;
    let simulator = Simulator::new(&world)?;
    println!("linear-code with {} states, Z = {causes}, d = {}, H = {horizon}", world.n_states(), 2 * places - 1);
    let mut best = SampledValueIteration::new(&world, 200, 1)?;
    let returns = |agent: &mut dyn Agent| simulator.returns(agent, 1000, 99);
    let (best, random) = (returns(&mut best), returns(&mut AtRandom::new(&simulator, 1)));
    let gap = Estimate::of_pairs(&best, &random, world.return_range());
    let mean = |values: &[f64]| Estimate::of(values.iter().copied(), world.return_range());
    println!(
        "plan by sampled states: {:.3} ± {:.3}, at random {:.3}",
        mean(&best).mean,
        mean(&best).half,
        mean(&random).mean
    );
    for name in ["c-blsvi", "c-rlsvi:schedule=doubling", "c-lsvi-ucb:schedule=doubling"] {
        let spec: LearnerSpec = name.parse()?;
        let options = spec.linear_options(episodes as u64, 1).ok_or("a linear learner")?;
        let mut learner = LinearLearner::over_visited_states(&Knowledge::of(&world), options)?;
        let mut play = Play::new(&simulator, 1);
        let (mut longest, since) = (0.0f64, Instant::now());
        for _ in 0..episodes {
            let began = Instant::now();
            play.episode(&mut learner);
            longest = longest.max(began.elapsed().as_secs_f64());
        }
        let step = since.elapsed().as_secs_f64() / (episodes * horizon) as f64;
        let learned = returns(&mut learner.learned_policy());
        let lost = Estimate::of_pairs(&best, &learned, world.return_range());
        println!(
            "{name}: {:.3} ms a step over {} steps, {:.0} ms the longest episode, {} plans, {} MB for {} states met; \
             {:.1} % of the way from random (± {:.1})",
            1e3 * step,
            episodes * horizon,
            1e3 * longest,
            learner.plans(),
            learner.bytes_taken() >> 20,
            learner.met(),
            100.0 * (1.0 - lost.mean / gap.mean),
            100.0 * lost.half / gap.mean
        );
    }
    Ok(())
}
