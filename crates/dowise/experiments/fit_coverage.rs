//! How often the intervals of a fit hold the true numbers, and how often recording by chance alone is said to depend on what followed: the table of `docs/reference/fit.md`.
//!
//! `cargo run --release --example fit_coverage -- [LOGS [EPISODES of each]]`

#![allow(clippy::print_stdout)] // a study prints its result

use dowise::data::LogStep;
use dowise::offline::MissingnessCounts;
use dowise::offline::fit::{FitOptions, FitPart, Fitted, Fitting};
use dowise::simulate::Outcome;
use dowise::{Simulator, World, worlds};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

type Outcomes<T> = Result<T, Box<dyn std::error::Error>>;

/// Whether key variables are recorded.
#[derive(Clone, Copy, PartialEq)]
enum Holes {
    None,
    /// Four of five are.
    ByChance,
    /// Depending on the next state, and expected (EM).
    ByNextState,
}

fn main() -> Outcomes<()> {
    let given: Vec<u64> = std::env::args().skip(1).map(|a| a.parse()).collect::<Result<_, _>>()?;
    let (logs, episodes) = (given.first().copied().unwrap_or(200), given.get(1).copied().unwrap_or(300));
    println!(
        "{logs} logs of {episodes} episodes with interventions drawn from all; rows that were seen, intervals at 95 %"
    );
    println!("| world | key variables | transitions | rewards | alarms at p < 0.05 | at p < 0.001 |");
    println!("|---|---|---|---|---|---|");
    for (name, options) in [
        ("treatment", &[][..]),
        ("river-swim", &[]),
        ("paper", &[("levels", "2"), ("joint", "false")]),
        ("campaign", &[]),
    ] {
        for holes in [Holes::None, Holes::ByChance, Holes::ByNextState] {
            row(name, &worlds::world(name, options)?, (logs, episodes), holes)?;
        }
    }
    Ok(())
}

fn row(name: &str, world: &World, (logs, episodes): (u64, u64), holes: Holes) -> Outcomes<()> {
    let (mut transitions, mut rewards) = ([0u64; 2], [0u64; 2]);
    let (mut alarms, mut tests) = ([0u64; 2], 0u64);
    for seed in 0..logs {
        let (fitted, recorded) = fit(world, episodes, seed, holes)?;
        for test in recorded.tests() {
            tests += 1;
            alarms[0] += u64::from(test.p < 0.05);
            alarms[1] += u64::from(test.depends_on_outcome());
        }
        let mut next = world.transitions().iter();
        let mut terms = world.rewards().iter();
        for table in &fitted.report().tables {
            let (truth, tally) = match table.part {
                FitPart::Transition => (next.next().and_then(|m| m.table.as_ref()), &mut transitions),
                FitPart::Reward => (terms.next().and_then(|r| r.table.as_ref()), &mut rewards),
                FitPart::Mechanism | FitPart::Start => continue,
            };
            let truth = truth.ok_or("a ready-made world has all numbers")?;
            let n = table.outcomes.len();
            for (row, truth) in table.rows.iter().zip(truth.chunks_exact(n)).filter(|(row, _)| row.visits > 0) {
                // Of two values, one says it all.
                for v in 0..if n == 2 { 1 } else { n } {
                    tally[1] += 1;
                    tally[0] += u64::from(row.low[v] <= truth[v] + 1e-12 && truth[v] <= row.high[v] + 1e-12);
                }
            }
        }
    }
    let share = |[held, all]: [u64; 2]| match all {
        0 => "none".to_owned(),
        _ => format!("{:.3} of {all}", held as f64 / all as f64),
    };
    let (what, alarms) = match holes {
        Holes::None => ("all recorded", [String::new(), String::new()]),
        Holes::ByChance => ("20 % missing by chance", alarms.map(|n| share([n, tests]))),
        Holes::ByNextState => ("5 or 40 % missing by the next state, --em", alarms.map(|n| share([n, tests]))),
    };
    println!("| {name} | {what} | {} | {} | {} | {} |", share(transitions), share(rewards), alarms[0], alarms[1]);
    Ok(())
}

fn fit(world: &World, episodes: u64, seed: u64, holes: Holes) -> Outcomes<(Fitted, MissingnessCounts)> {
    let options = FitOptions { em: holes == Holes::ByNextState, ..FitOptions::default() };
    let mut fitting = Fitting::new(world, options)?;
    let knowledge = fitting.knowledge().clone();
    let mut recorded = MissingnessCounts::new(&knowledge);
    let simulator = Simulator::new(world)?;
    let [mut starts, mut rng] = Simulator::streams(seed);
    let mut outcome = Outcome::default();
    for episode in 0..episodes {
        let mut state = simulator.start(&mut starts);
        for stage in 0..world.horizon() {
            if world.has_ended(state) {
                break;
            }
            let action = simulator.any_allowed(state, &mut rng);
            simulator.step(state, action, &mut rng, &mut outcome);
            // By name, since a fit may leave hidden variables out.
            let mut step = dowise::Observation::at(&knowledge, stage, state)?
                .did_action(&knowledge, action)?
                .found(&knowledge, &world.levers().iter().map(|id| outcome.values[id.ix()]).collect::<Vec<_>>()[..])?
                .paid(&knowledge, &outcome.rewards[..])?
                .then(&knowledge, outcome.next_state)?;
            for &id in world.keys() {
                if !hides(world, &outcome, holes, &mut rng) {
                    let key = world.variable(id);
                    step = step.saw(
                        &knowledge,
                        [(key.name.as_str(), key.values[outcome.values[id.ix()] as usize].as_str())],
                    )?;
                }
            }
            recorded.add(&step, 1);
            fitting.add(&LogStep::new(episode, step))?;
            state = outcome.next_state;
        }
    }
    Ok((fitting.fit()?, recorded))
}

fn hides(world: &World, outcome: &Outcome, holes: Holes, rng: &mut ChaCha8Rng) -> bool {
    match holes {
        Holes::None => false,
        Holes::ByChance => rng.random::<f64>() < 0.2,
        Holes::ByNextState => rng.random::<f64>() < if outcome.next_state * 2 >= world.n_states() { 0.4 } else { 0.05 },
    }
}
