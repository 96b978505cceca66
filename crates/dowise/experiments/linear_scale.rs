//! Linear worlds where tables cannot go: time and memory of a plan, of evaluation a policy, and of a learner's episode.
//!
//! `cargo run --release -p dowise --example linear_scale -- [STATES CAUSES DIMENSION [EPISODES]]` (65536 64 8 500 by default).
#![allow(clippy::print_stdout)]

use std::time::Instant;

use dowise::linear::LinearLearner;
use dowise::worlds::LinearLock;
use dowise::{Arena, Knowledge, LearnerSpec, Planner};

/// Greatest memory that the process had, in megabytes.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}

fn say(what: &str, since: Instant) {
    let memory = peak().map_or(String::new(), |mb| format!(", at most {mb} MB so far"));
    println!("{what}: {:.3} s{memory}", since.elapsed().as_secs_f64());
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given: Vec<usize> = std::env::args().skip(1).map(|a| a.parse()).collect::<Result<_, _>>()?;
    let of = |i: usize, default: usize| given.get(i).copied().unwrap_or(default);
    let (states, causes, dimension, episodes) = (of(0, 65_536), of(1, 64), of(2, 8), of(3, 500));
    println!("linear-lock with S = {states}, Z = {causes}, d = {dimension}, H = 10");
    let since = Instant::now();
    let levels = causes.isqrt() + 1;
    let world = LinearLock { states, causes, dimension, levels, ..LinearLock::default() }.world()?;
    say("making it", since);
    let since = Instant::now();
    let planner = Planner::new(&world)?;
    say("laying it out", since);
    let since = Instant::now();
    let plan = planner.plan();
    say("a plan", since);
    let since = Instant::now();
    planner.evaluate(&plan.policy_hs)?;
    say("evaluation a policy", since);
    drop((planner, plan));
    let arena = Arena::new(&world)?;
    for name in ["c-blsvi", "c-lsvi-ucb:schedule=doubling"] {
        let mut learner = name.parse::<LearnerSpec>()?.learner(&world, 2000, 1)?;
        let mut run = arena.run(1);
        let since = Instant::now();
        (0..episodes).for_each(|_| {
            run.play(&mut learner, false);
        });
        let each = since.elapsed().as_secs_f64() / episodes as f64;
        let plans = learner.as_linear().map_or(0, |linear| linear.plans());
        println!(
            "{name}: {:.1} ms an episode over {episodes} episodes, {plans} plans, evaluation left out",
            1e3 * each
        );
    }
    for name in ["c-blsvi", "c-rlsvi:schedule=doubling", "c-lsvi-ucb:schedule=doubling"] {
        let spec: LearnerSpec = name.parse()?;
        let options = spec.linear_options(2000, 1).ok_or("a linear learner")?;
        let mut learner = LinearLearner::over_visited_states(&Knowledge::of(&world), options)?;
        let mut run = arena.run(1);
        let (mut longest, since) = (0.0f64, Instant::now());
        for _ in 0..episodes {
            let began = Instant::now();
            run.play(&mut learner, false);
            longest = longest.max(began.elapsed().as_secs_f64());
        }
        let each = since.elapsed().as_secs_f64() / episodes as f64;
        let (met, plans) = (learner.met(), learner.plans());
        println!(
            "{name} from the states met: {:.1} ms an episode over {episodes} episodes, {:.1} ms the longest, {plans} plans, {met} states met",
            1e3 * each,
            1e3 * longest
        );
    }
    say("in all", since);
    Ok(())
}
