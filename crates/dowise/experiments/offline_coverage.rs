//! How often the intervals of offline evaluation hold the true value, and how wide they are: the tables of `docs/results.md`.
//!
//! `cargo run --release --example offline_coverage -- [LOGS [EPISODES of each [WORLD | any [transitions | all | any [MISSING]]]]]`
//!
//! MISSING: `payments` lack what was paid, more often after some next states than after others; `keys` lack key variables, more often where they are 1; `em`
//! lacks key variables depending on the next state, and expects them.

#![allow(clippy::print_stdout)] // a study prints its result

use dowise::data::LogStep;
use dowise::offline::{Episodes, Interval, OfflineOptions, evaluate, plan_safely};
use dowise::simulate::Outcome;
use dowise::{Action, Knowledge, Planner, Simulator, World, worlds};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

type Outcomes<T> = Result<T, Box<dyn std::error::Error>>;

/// What is not recorded.
#[derive(Clone, Copy, PartialEq)]
enum Missing {
    Nothing,
    Payments,
    Keys,
    Em,
}

fn main() -> Outcomes<()> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default: u64| given.get(i).map_or(Ok(default), |a| a.parse());
    let (logs, episodes) = (number(0, 200)?, number(1, 1000)?);
    let is = |i: usize, word: &str| given.get(i).is_none_or(|only| only == word || only == "any");
    let missing = match given.get(4).map(String::as_str) {
        None => Missing::Nothing,
        Some("payments") => Missing::Payments,
        Some("keys") => Missing::Keys,
        Some("em") => Missing::Em,
        Some(other) => return Err(format!("what is missing: payments, keys or em, not {other}").into()),
    };
    println!(
        "{logs} logs of {episodes} episodes with interventions drawn from all; share of logs that cover, and mean width"
    );
    println!(
        "| world | interventions | unknown | posterior 95 % | guaranteed 95 % | doubly robust 95 % | errors | effective | plans below their bound |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (name, options) in
        [("paper", &[][..]), ("paper", &[("levels", "100"), ("joint", "false")][..]), ("campaign", &[][..])]
    {
        for all in [false, true] {
            if is(2, name) && is(3, if all { "all" } else { "transitions" }) {
                row(name, options, all, (logs, episodes), missing)?;
            }
        }
    }
    Ok(())
}

fn row(name: &str, with: &[(&str, &str)], all: bool, (logs, episodes): (u64, u64), missing: Missing) -> Outcomes<()> {
    let options = OfflineOptions { samples: 200, played: 1, ..OfflineOptions::default() };
    let mut errors = [0.0; 2];
    let (mut covered, mut widths, mut given) = ([0u64; 3], [0.0; 3], [0u64; 3]);
    let (mut effective, mut broken, mut plans, mut count) = (0.0, 0u64, 0u64, 0);
    for seed in 0..logs {
        let draw = (seed % 10).to_string();
        let mut with = with.to_vec();
        if name == "paper" {
            with.push(("seed", &draw));
        }
        let world = worlds::world(name, &with)?;
        count = world.interventions().count();
        let knowledge = Knowledge::of(&world);
        let knowledge = if all || missing == Missing::Payments { knowledge.without_rewards() } else { knowledge };
        let knowledge = if all { knowledge.without_mechanisms() } else { knowledge };
        let planner = Planner::new(&world)?;
        let policy = planner.plan().policy_hs;
        let truth = |policy: &[Action]| -> Result<f64, dowise::plan::PlanError> {
            Ok(planner.from_start(&planner.evaluate(policy)?[..world.n_states()]))
        };
        let log = log(&world, &knowledge, episodes, 1000 + seed, missing)?;
        let found = evaluate(&log, &policy, &options)?;
        let exact = truth(&policy)?;
        let intervals: [Option<Interval>; 3] =
            [Some(found.model.posterior), found.guaranteed, found.robust.map(|r| r.interval)];
        for (i, interval) in intervals.iter().enumerate() {
            let Some(interval) = interval else { continue };
            covered[i] += u64::from(interval.contains(exact));
            widths[i] += interval.width();
            given[i] += 1;
        }
        errors[0] += (found.model.mean - exact) / logs as f64;
        errors[1] += (found.robust.map_or(f64::NAN, |r| r.mean) - exact) / logs as f64;
        effective += found.robust.map_or(f64::NAN, |r| r.effective) / logs as f64;
        let safe = plan_safely(&log, &OfflineOptions { samples: 40, ..options.clone() })?;
        for plan in [&safe.mean, &safe.pessimistic] {
            let Some(bounds) = plan.guaranteed else { continue };
            broken += u64::from(bounds.low > truth(&plan.policy_hs)?);
            plans += 1;
        }
    }
    let cell = |i: usize| match given[i] {
        0 => "not given".to_owned(),
        n => format!("{:.3} ({:.3})", covered[i] as f64 / n as f64, widths[i] / n as f64),
    };
    let unknown = if all { "all" } else { "transitions" };
    let cells = [cell(0), cell(1), cell(2)].join(" | ");
    let errors = format!("{:+.3}, {:+.3}", errors[0], errors[1]);
    println!("| {name} | {count} | {unknown} | {cells} | {errors} | {effective:.0} | {broken} of {plans} |");
    Ok(())
}

/// Episodes with interventions drawn from all, in which something is missing.
fn log(world: &World, knowledge: &Knowledge, episodes: u64, seed: u64, missing: Missing) -> Outcomes<Episodes> {
    let simulator = Simulator::new(world)?;
    let [mut starts, mut steps] = Simulator::streams(seed);
    let mut log = Episodes::new(knowledge, 5)?;
    if missing == Missing::Em {
        log = log.with_em();
    }
    for episode in 0..episodes {
        let mut state = simulator.start(&mut starts);
        let mut seen = Vec::new();
        for stage in 0..world.horizon() {
            let action = simulator.any_allowed(state, &mut steps);
            let mut outcome = Outcome::default();
            simulator.step(state, action, &mut steps, &mut outcome);
            hide(world, &mut outcome, missing, &mut steps);
            seen.push(LogStep::new(episode, outcome.observation(stage, state, action).into_owned()));
            state = outcome.next_state;
        }
        log.add(&seen)?;
    }
    Ok(log)
}

fn hide(world: &World, outcome: &mut Outcome, missing: Missing, rng: &mut ChaCha8Rng) {
    let second_half = outcome.next_state * 2 >= world.n_states();
    match missing {
        Missing::Nothing => {}
        Missing::Payments => {
            if rng.random::<f64>() < if second_half { 0.6 } else { 0.1 } {
                outcome.rewards.fill(f64::NAN);
            }
        }
        Missing::Keys | Missing::Em => {
            for key in world.keys() {
                let value = &mut outcome.values[key.ix()];
                let often = if missing == Missing::Keys { *value == 1 } else { second_half };
                if rng.random::<f64>() < if often { 0.2 } else { 0.05 } {
                    *value = u32::MAX;
                }
            }
        }
    }
}
