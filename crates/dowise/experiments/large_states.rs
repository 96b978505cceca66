//! Episodes of learners where there are many states: those that see the state whole, and those that use its factors.
//!
//! `cargo run --release -p dowise --example large_states [EPISODES [FACTORS [LEARNER]]]` prints one line of JSON per learner and size:
//! milliseconds of an episode, of an episode with its exact evaluation, and of one exact plan, best of the last half; with FACTORS, only that many
//! binary factors (0: only the states that are seen whole). The greatest memory of the process so far is printed where the system says it.
#![allow(clippy::print_stdout)] // a benchmark prints its result

use std::time::Instant;

use dowise::worlds::ManyLevers;
use dowise::{Arena, Knowledge, Learner, Planner, Preset, World};

/// 12 · 12 · 10 states, 8 interventions, 5 steps: each of three quantities moves by one or two.
const SHOP: &str = r#"
dowise = 1
horizon = 5
[state.stock]
values = 12
scope = ["stock", "ordered"]
next = { rows = [{ when = { ordered = "yes" }, shift = { "+2" = 0.4, "+1" = 0.4, "0" = 0.2 } }, { shift = { "0" = 0.3, "-1" = 0.7 } }] }
[state.demand]
values = 12
scope = ["demand", "seen"]
next = { rows = [{ when = { seen = "yes" }, shift = { "+1" = 0.6, "0" = 0.4 } }, { shift = { "0" = 0.5, "-1" = 0.5 } }] }
[state.price]
values = 10
scope = ["price", "raised"]
next = { rows = [{ when = { raised = "yes" }, shift = { "+1" = 0.8, "0" = 0.2 } }, { shift = { "0" = 0.4, "-1" = 0.6 } }] }
[lever.order]
values = ["no", "yes"]
[lever.advertise]
values = ["no", "yes"]
[lever.raise]
values = ["no", "yes"]
[key.ordered]
values = ["no", "yes"]
parents = ["order"]
rows = [{ when = { order = "yes" }, p = [0.1, 0.9] }, { p = [0.9, 0.1] }]
[key.seen]
values = ["no", "yes"]
parents = ["advertise"]
rows = [{ when = { advertise = "yes" }, p = [0.2, 0.8] }, { p = [0.8, 0.2] }]
[key.raised]
values = ["no", "yes"]
parents = ["raise"]
rows = [{ when = { raise = "yes" }, p = [0.05, 0.95] }, { p = [0.95, 0.05] }]
[reward.sales]
scope = ["stock"]
value = [0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05]
[reward.customers]
scope = ["demand"]
value = [0.0, 0.03, 0.06, 0.09, 0.12, 0.15, 0.18, 0.21, 0.24, 0.27, 0.3, 0.33]
[reward.margin]
scope = ["price"]
value = [0.0, 0.04, 0.08, 0.12, 0.16, 0.2, 0.24, 0.2, 0.16, 0.12]
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [episodes, only, learner] = [1, 2, 3].map(|i| std::env::args().nth(i));
    let episodes = episodes.map_or(Ok(40), |text| text.parse::<u32>())?;
    let only = only.map(|text| text.parse::<usize>()).transpose()?;
    let is_asked = |name: &str| learner.as_deref().is_none_or(|learner| learner == name);
    if only.is_none_or(|only| only == 0) {
        let world = World::from_toml(SHOP, "shop.toml")?;
        for name in ["ucbvi", "c-ucbvi", "psrl", "c-psrl"].into_iter().filter(|name| is_asked(name)) {
            report(&world, name, episodes)?;
        }
    }
    for factors in [14, 17].into_iter().filter(|factors| only.is_none_or(|only| only == *factors)) {
        let world = World::new(ManyLevers { factors, levers: 1, ..ManyLevers::default() }.spec()?)?;
        for name in ["graph-psrl", "graph-ucbvi"].into_iter().filter(|name| is_asked(name)) {
            report(&world, name, episodes.min(10))?;
        }
    }
    Ok(())
}

fn report(world: &World, name: &str, episodes: u32) -> Result<(), Box<dyn std::error::Error>> {
    let arena = Arena::new(world)?;
    let planner = Planner::new(world)?;
    let plan = (0..3).map(|_| timed(|| drop(planner.plan()))).fold(f64::INFINITY, f64::min);
    let best = |evaluation: bool| -> Result<f64, Box<dyn std::error::Error>> {
        let mut learner = Learner::new(&Knowledge::of(world), name.parse::<Preset>()?.options(1000, 1))?;
        let mut run = arena.run(1);
        let times: Vec<f64> = (0..episodes).map(|_| timed(|| _ = run.play(&mut learner, evaluation))).collect();
        Ok(times[times.len() / 2..].iter().copied().fold(f64::INFINITY, f64::min))
    };
    let (alone, evaluated) = (best(false)?, best(true)?);
    let memory = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let memory = memory.lines().find_map(|line| line.strip_prefix("VmHWM:")).map_or("0 kB", str::trim);
    println!(
        r#"{{"states": {}, "learner": "{name}", "ms_per_episode": {alone:.2}, "ms_with_judging": {evaluated:.2}, "ms_of_a_plan": {plan:.2}, "memory": "{memory}"}}"#,
        world.n_states()
    );
    Ok(())
}

/// Milliseconds that something takes.
fn timed(run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64() * 1e3
}
