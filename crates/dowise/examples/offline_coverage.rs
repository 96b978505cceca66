//! How often the intervals of offline evaluation hold the true value, and how wide they are: the table of `docs/offline.md`.
//!
//! `cargo run --release --example offline_coverage -- [LOGS [EPISODES of each [PRIOR [WORLD [transitions | all]]]]]`

#![allow(clippy::print_stdout)] // a study prints its result

use dowise::data::LogStep;
use dowise::offline::{Episodes, Interval, OfflineOptions, evaluate, plan_safely};
use dowise::simulate::Outcome;
use dowise::{Action, Knowledge, Planner, Simulator, World, worlds};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default: u64| given.get(i).map_or(Ok(default), |a| a.parse());
    let (logs, episodes) = (number(0, 200)?, number(1, 1000)?);
    let prior = given.get(2).map_or(Ok(OfflineOptions::default().prior), |a| a.parse::<f64>())?;
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
        if given.get(3).is_some_and(|only| only != name) {
            continue;
        }
        for all in [false, true] {
            if given.get(4).is_some_and(|unknown| (unknown == "all") != all) {
                continue;
            }
            row(name, options, all, (logs, episodes), prior)?;
        }
    }
    Ok(())
}

fn row(
    name: &str,
    with: &[(&str, &str)],
    all: bool,
    (logs, episodes): (u64, u64),
    prior: f64,
) -> Result<(), Box<dyn std::error::Error>> {
    let options = OfflineOptions { samples: 200, played: 1, prior, ..OfflineOptions::default() };
    let mut errors = [0.0; 2];
    let (mut covered, mut widths, mut effective, mut broken) = ([0u64; 3], [0.0; 3], 0.0, 0u64);
    let mut count = 0;
    for seed in 0..logs {
        let draw = (seed % 10).to_string();
        let mut with = with.to_vec();
        if name == "paper" {
            with.push(("seed", &draw));
        }
        let world = worlds::world(name, &with)?;
        count = world.interventions().count();
        let told = Knowledge::of(&world);
        let told = if all { told.without_mechanisms().without_rewards() } else { told };
        let planner = Planner::new(&world)?;
        let policy = planner.plan().policy_hs;
        let truth = |policy: &[Action]| -> Result<f64, dowise::plan::PlanError> {
            Ok(planner.from_start(&planner.evaluate(policy)?[..world.n_states()]))
        };
        let log = log(&world, &told, episodes, 1000 + seed)?;
        let found = evaluate(&log, &policy, &options)?;
        let robust = found.robust.ok_or("there are fewer than two episodes")?;
        let exact = truth(&policy)?;
        let intervals: [Interval; 3] = [found.model.posterior, found.guaranteed, robust.interval];
        for (i, interval) in intervals.iter().enumerate() {
            covered[i] += u64::from(interval.contains(exact));
            widths[i] += interval.width() / logs as f64;
        }
        errors[0] += (found.model.mean - exact) / logs as f64;
        errors[1] += (robust.mean - exact) / logs as f64;
        effective += robust.effective / logs as f64;
        let safe = plan_safely(&log, &OfflineOptions { samples: 40, ..options.clone() })?;
        for plan in [&safe.mean, &safe.worst] {
            broken += u64::from(plan.guaranteed.low > truth(&plan.policy_hs)?);
        }
    }
    let cell = |i: usize| format!("{:.3} ({:.3})", covered[i] as f64 / logs as f64, widths[i]);
    let unknown = if all { "all" } else { "transitions" };
    let cells = [cell(0), cell(1), cell(2)].join(" | ");
    let errors = format!("{:+.3}, {:+.3}", errors[0], errors[1]);
    println!("| {name} | {count} | {unknown} | {cells} | {errors} | {effective:.0} | {broken} of {} |", 2 * logs);
    Ok(())
}

/// Episodes with interventions drawn from all.
fn log(world: &World, told: &Knowledge, episodes: u64, seed: u64) -> Result<Episodes, Box<dyn std::error::Error>> {
    let simulator = Simulator::new(world)?;
    let [mut starts, mut steps] = Simulator::streams(seed);
    let mut log = Episodes::new(told, 5)?;
    for episode in 0..episodes {
        let mut state = simulator.start(&mut starts);
        let mut seen = Vec::new();
        for stage in 0..world.horizon() {
            let action = simulator.any_allowed(state, &mut steps);
            let mut outcome = Outcome::default();
            simulator.step(state, action, &mut steps, &mut outcome);
            seen.push(LogStep::new(episode, outcome.observation(stage, state, action).into_owned()));
            state = outcome.next_state;
        }
        log.add(&seen)?;
    }
    Ok(log)
}
