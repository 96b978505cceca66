//! How many episodes until a learner can promise that its policy is within 5 % of the way from random to best, and whether its
//! promises were kept.
//!
//! `cargo run --release -p dowise --example certificates [WORLDS [EPISODES [LEARNER]]]` prints the first table of docs/theory/guarantees.md. With `rates`
//! in place of a learner it prints the second: how often any bound is broken in small worlds, over many runs. With `kinds` it prints the third:
//! the first number where episodes end, later steps count less, or both, by the gap and by the difference of the two bounds of values.

#![allow(clippy::print_stdout)] // a study prints its result

use std::ops::ControlFlow;

use dowise::learn::Certificate;
use dowise::{Arena, LearnerSpec, World, worlds};

/// δ of the certificates.
const DELTA: f64 = 0.05;

/// Share of the way from random to best.
const SHARE: f64 = 0.05;

/// A certificate is asked for whenever the episodes have grown by this factor.
const GROWTH: f64 = 1.05;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let number = |i: usize, usual: u64| std::env::args().nth(i).map_or(Ok(usual), |text| text.parse());
    let (n_worlds, episodes) = (number(1, 10)?, number(2, 100_000)?);
    let only = std::env::args().nth(3);
    if only.as_deref() == Some("rates") {
        return rates(n_worlds, episodes);
    }
    if only.as_deref() == Some("kinds") {
        return kinds(n_worlds, episodes);
    }
    println!("| world | learner | gap within 5 % | the learner knows it | bounds broken |");
    println!("|---|---|--:|--:|--:|");
    for (world, learner) in [
        ("paper", "cf-ucbvi:schedule=episode"),
        ("paper", "cf-psrl"),
        ("paper", "c-ucbvi:schedule=episode"),
        ("paper", "c-psrl"),
        ("river-swim", "c-ucbvi:schedule=episode"),
    ] {
        if only.as_ref().is_some_and(|only| only != learner) {
            continue;
        }
        let (mut within, mut known, mut broken, mut asked) = (Vec::new(), Vec::new(), 0, 0);
        for seed in 1..=n_worlds {
            let found = one(world, learner, episodes, seed)?;
            within.push(found.within.unwrap_or(u64::MAX));
            known.push(found.known.unwrap_or(u64::MAX));
            broken += u64::from(found.broken > 0);
            asked += 1;
        }
        let [within, known] = [within, known].map(|list| median(list, episodes));
        println!("| {world} | `{learner}` | {within} | {known} | {broken} of {asked} |");
    }
    Ok(())
}

/// The median; `u64::MAX` stands for more than all episodes.
fn median(mut list: Vec<u64>, episodes: u64) -> String {
    list.sort_unstable();
    match (list[(list.len() - 1) / 2], list[list.len() / 2]) {
        (_, u64::MAX) => format!("> {episodes}"),
        (a, b) => a.midpoint(b).to_string(),
    }
}

/// Lines of a world file after that of the horizon: what is different from the paper's worlds.
const KINDS: [(&str, &str); 4] = [
    ("as in the paper", ""),
    ("episodes end where s1 = s2 = 1", "ends = { when = { s1 = \"1\", s2 = \"1\" } }\n"),
    ("discount 0.7", "discount = 0.7\n"),
    ("both", "ends = { when = { s1 = \"1\", s2 = \"1\" } }\ndiscount = 0.7\n"),
];

/// The paper's world of a seed, with other settings and lines.
fn of_kind(settings: &[(&str, &str)], lines: &str) -> Result<World, Box<dyn std::error::Error>> {
    let world = worlds::world("paper", settings)?;
    let horizon = format!("horizon = {}\n", world.horizon());
    Ok(World::from_toml(&world.to_toml().replace(&horizon, &format!("{horizon}{lines}")), "paper")?)
}

/// Episodes until the gap is within the share of the true way, and until the difference of the two bounds is.
fn kinds(n_worlds: u64, episodes: u64) -> Result<(), Box<dyn std::error::Error>> {
    println!("| world | learner | gap within 5 % | upper less lower value within 5 % | bounds broken |");
    println!("|---|---|--:|--:|--:|");
    for (kind, lines) in KINDS {
        for learner in ["cf-ucbvi:schedule=episode", "c-ucbvi:schedule=episode"] {
            let (mut by_gap, mut by_values, mut broken) = (Vec::new(), Vec::new(), 0);
            for seed in 1..=n_worlds {
                let arena = Arena::new(&of_kind(&[("seed", &seed.to_string())], lines)?)?;
                let (start, way) = (arena.start_distribution(), arena.optimal() - arena.at_random().0);
                let mut agent = learner.parse::<LearnerSpec>()?.learner(arena.world(), episodes, seed)?;
                let (mut run, mut played, mut found, mut fails) = (arena.run(seed), 0, [None; 2], false);
                while found.contains(&None) && played < episodes {
                    let next = ((played as f64 * GROWTH) as u64).max(played + 10).min(episodes);
                    run.episodes(next - played, &mut agent, |_| ControlFlow::Continue(()));
                    played = next;
                    let certificate = agent.certificate(DELTA)?;
                    fails |= !holds(&arena, &certificate)?;
                    let bounds = certificate.best_at_most(&start) - certificate.at_least(&start);
                    for (found, gap) in found.iter_mut().zip([certificate.gap(&start), bounds]) {
                        if found.is_none() && gap <= SHARE * way {
                            *found = Some(played);
                        }
                    }
                }
                by_gap.push(found[0].unwrap_or(u64::MAX));
                by_values.push(found[1].unwrap_or(u64::MAX));
                broken += u64::from(fails);
            }
            let [by_gap, by_values] = [by_gap, by_values].map(|list| median(list, episodes));
            println!("| {kind} | `{learner}` | {by_gap} | {by_values} | {broken} of {n_worlds} |");
        }
    }
    Ok(())
}

/// How often any bound of any certificate of a run is broken; asked for after 10 episodes, 20, 40, …
fn rates(runs: u64, episodes: u64) -> Result<(), Box<dyn std::error::Error>> {
    println!("| world | learner | runs | certificates | runs in which a bound was broken |");
    println!("|---|---|--:|--:|--:|");
    let learners = [
        "cf-ucbvi:schedule=episode",
        "graph-psrl:unknown=rewards",
        "c-ucbvi:schedule=episode",
        "ucbvi:schedule=episode",
    ];
    for ((kind, lines), learner) in KINDS.into_iter().flat_map(|kind| learners.map(|learner| (kind, learner))) {
        let (mut broken, mut asked) = (0, 0);
        for seed in 1..=runs {
            let text = seed.to_string();
            let settings = [("factors", "2"), ("levels", "2"), ("levers", "2"), ("horizon", "3"), ("seed", &text)];
            let arena = Arena::new(&of_kind(&settings, lines)?)?;
            let mut agent = learner.parse::<LearnerSpec>()?.learner(arena.world(), episodes, seed)?;
            let (mut run, mut played, mut next, mut fails) = (arena.run(seed), 0, 10, false);
            while played < episodes {
                let to = next.min(episodes);
                run.episodes(to - played, &mut agent, |_| ControlFlow::Continue(()));
                (played, next) = (to, 2 * next);
                fails |= !holds(&arena, &agent.certificate(DELTA)?)?;
                asked += 1;
            }
            broken += u64::from(fails);
        }
        println!("| {kind} | `{learner}` | {runs} | {asked} | {broken} |");
    }
    Ok(())
}

/// Whether the bounds of a certificate hold in truth.
fn holds(arena: &Arena, certificate: &Certificate) -> Result<bool, Box<dyn std::error::Error>> {
    let (start, best) = (arena.start_distribution(), arena.optimal());
    let value = arena.value_of(&certificate.policy_hs)?;
    let rounding = 1e-9 * best.abs().max(1.0);
    Ok(value >= certificate.at_least(&start) - rounding
        && best <= certificate.best_at_most(&start) + rounding
        && best - value <= certificate.gap(&start) + rounding)
}

/// Episodes after which the gap is within the share of the true way, after which the learner can tell, and bounds that did not hold.
#[derive(Default)]
struct Found {
    within: Option<u64>,
    known: Option<u64>,
    broken: u64,
}

fn one(world: &str, learner: &str, episodes: u64, seed: u64) -> Result<Found, Box<dyn std::error::Error>> {
    let text = seed.to_string();
    let choices: &[(&str, &str)] = if world == "paper" { &[("seed", &text)] } else { &[] };
    let arena = Arena::new(&worlds::world(world, choices)?)?;
    let (start, best) = (arena.start_distribution(), arena.optimal());
    let way = best - arena.at_random().0;
    let mut agent = learner.parse::<LearnerSpec>()?.learner(arena.world(), episodes, seed)?;
    let (mut run, mut found) = (arena.run(seed), Found::default());
    let mut played = 0;
    while found.known.is_none() && played < episodes {
        let next = ((played as f64 * GROWTH) as u64).max(played + 10).min(episodes);
        run.episodes(next - played, &mut agent, |_| ControlFlow::Continue(()));
        played = next;
        let certificate = agent.certificate(DELTA)?;
        let gap = certificate.gap(&start);
        found.broken += u64::from(!holds(&arena, &certificate)?);
        if found.within.is_none() && gap <= SHARE * way {
            found.within = Some(played);
        }
        if certificate.share(&start).is_some_and(|share| share <= SHARE) {
            found.known = Some(played);
        }
    }
    Ok(found)
}
