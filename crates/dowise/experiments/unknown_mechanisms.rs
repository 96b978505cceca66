//! What learners reach that know the graph and nothing else, beside what was aimed at.
//!
//! `cargo run --release -p dowise --example unknown_mechanisms` prints the table of goals, each with held or missed: six
//! seeds that nothing was chosen by, the mean over them and the worst. With arguments, `WORLD [EPISODES [SEEDS [LEARNER…]]]`, it
//! prints the same measures for another world (a file, or such as `treatment` or `paper:joint=false`) and other learners; SEEDS is a number of
//! seeds from 1, or a first and a last one such as `101-124`.
#![allow(clippy::print_stdout)] // a benchmark prints its result

use std::time::Instant;

use dowise::{Arena, LearnerSpec, World, worlds};

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// The first seed of the table of goals; parts of the learners were chosen while looking at seeds 1 to 6.
const FIRST_SEED: u64 = 101;
const SEEDS: u64 = 6;

const LEARNERS: [&str; 4] =
    ["graph-psrl:unknown=all", "graph-psrl:unknown=all,forms=false", "graph-ucbvi:unknown=all", "uniform"];

/// What one run came to.
#[derive(Clone, Copy)]
struct Reached {
    /// Share of the way from random to best of the learned policy, and of what was played in the last 100 episodes.
    learned: f64,
    played: f64,
    regret: f64,
    milliseconds: f64,
    /// Milliseconds that the learned policy took to make.
    planning: f64,
}

/// One measure of some runs, and what was aimed at.
struct Goal {
    what: &'static str,
    of: fn(&Reached) -> f64,
    bound: Bound,
}

enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

fn main() -> Fallible<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(world) = arguments.first() else { return goals() };
    let most: u64 = arguments.get(1).map_or(Ok(5000), |n| n.parse())?;
    let seeds = arguments.get(2).map_or("6", String::as_str);
    let (first, last) = seeds.split_once('-').unwrap_or(("1", seeds));
    let (first, last): (u64, u64) = (first.parse()?, last.parse()?);
    let named: Vec<&str> = arguments.iter().skip(3).map(String::as_str).collect();
    println!("{world}: means of seeds {first} to {last} (worst in brackets); regret ± the standard error of its mean");
    println!(
        "{:<40} {:>8} {:>16} {:>16} {:>24} {:>10} {:>17}",
        "learner", "episodes", "learned %", "last 100 %", "regret", "ms/episode", "ms/learned policy"
    );
    let stops: Vec<u64> = [1000, 5000].into_iter().filter(|&stop| stop < most).chain([most]).collect();
    for name in if named.is_empty() { &LEARNERS[..] } else { &named[..] } {
        for (stop, found) in stops.iter().zip(&runs(world, name, &stops, first, (last + 1).saturating_sub(first))?) {
            let [learned, played] =
                [|r: &Reached| r.learned, |r: &Reached| r.played].map(|of| (mean(found, of), least(found, of)));
            let (regret, time) = (mean(found, |r| r.regret), mean(found, |r| r.milliseconds));
            let planning = mean(found, |r| r.planning);
            let worst = -least(found, |r| -r.regret);
            let error = standard_error(found, |r| r.regret);
            println!(
                "{name:<40} {stop:>8} {:>8.1} ({:>5.1}) {:>8.1} ({:>5.1}) {regret:>8.1} ±{error:>5.1} ({worst:>6.1}) {time:>10.3} {planning:>17.1}",
                learned.0, learned.1, played.0, played.1
            );
        }
    }
    Ok(())
}

/// Prints every goal with what was reached.
fn goals() -> Fallible<()> {
    use Bound::{AtLeast, AtMost};
    let learned = |bound| Goal { what: "learned policy, %", of: |r| r.learned, bound };
    let played = |bound| Goal { what: "last 100 episodes, %", of: |r| r.played, bound };
    let regret = |bound| Goal { what: "regret", of: |r| r.regret, bound };
    let time = |bound| Goal { what: "ms an episode, by the clock", of: |r| r.milliseconds, bound };
    println!(
        "{SEEDS} seeds from {FIRST_SEED}; shares of the way from random to best; worlds of `paper` are drawn anew for each seed"
    );
    println!("{:<76} {:>9} {:>8} {:>9}", "", "goal", "reached", "worst");
    let aim = |world: &str, learner: &str, stops: &[(u64, Vec<Goal>)]| -> Fallible<()> {
        let episodes: Vec<u64> = stops.iter().map(|(stop, _)| *stop).collect();
        let found = runs(world, learner, &episodes, FIRST_SEED, SEEDS)?;
        for ((stop, goals), found) in stops.iter().zip(&found) {
            for Goal { what, of, bound } in goals {
                let reached = mean(found, of);
                let (goal, held, worst) = match *bound {
                    AtLeast(least_wanted) => (format!("≥ {least_wanted}"), reached >= least_wanted, least(found, of)),
                    AtMost(most) => (format!("≤ {most}"), reached <= most, -least(found, |r| -of(r))),
                };
                let what = format!("{world} {learner}, {stop}: {what}");
                let word = if held { "held" } else { "missed" };
                println!("{what:<76} {goal:>9} {reached:>8.2} {worst:>9.2}  {word}");
            }
        }
        Ok(())
    };
    aim(
        "campaign",
        "graph-psrl:unknown=all",
        &[
            (1000, vec![learned(AtLeast(92.0)), played(AtLeast(78.0)), regret(AtMost(115.0))]),
            (5000, vec![learned(AtLeast(98.0)), played(AtLeast(91.0)), regret(AtMost(280.0)), time(AtMost(2.0))]),
        ],
    )?;
    let free = [(1000, vec![learned(AtLeast(70.0))]), (5000, vec![learned(AtLeast(87.0))])];
    aim("campaign", "graph-psrl:unknown=all,forms=false", &free)?;
    aim("campaign", "graph-ucbvi:unknown=all,schedule=episode", &[(1000, vec![time(AtMost(10.0))])])?;
    aim("paper:joint=false", "graph-ucbvi:unknown=kernel", &[(5000, vec![regret(AtMost(150.0))])])?;
    aim("paper:joint=false", "graph-psrl:unknown=kernel", &[(5000, vec![regret(AtMost(50.0))])])?;
    // Samples with 0.7 times the posterior's standard deviation: half the variance.
    let narrow = [(1000, vec![played(AtLeast(78.0)), regret(AtMost(115.0))])];
    aim("campaign", "graph-psrl:unknown=all,scale=0.7", &narrow)?;
    aim("paper:joint=false", "graph-psrl:unknown=kernel,scale=0.7", &[(5000, vec![regret(AtMost(50.0))])])?;
    aim("river-swim", "graph-ucbvi", &[(2000, vec![regret(AtMost(50.0))])])?;
    // Experiment 1; with its own seeds it is `dowise reproduce`.
    aim("paper", "c-ucbvi", &[(5000, vec![regret(AtMost(10.0))])])?;
    aim("paper", "cf-ucbvi", &[(5000, vec![regret(AtMost(1.8))])])?;
    aim("paper", "cf-ucbvi:schedule=episode", &[(5000, vec![regret(AtMost(1.8))])])
}

fn mean(found: &[Reached], of: impl Fn(&Reached) -> f64) -> f64 {
    found.iter().map(of).sum::<f64>() / found.len() as f64
}

/// How far a mean over the seeds may be from the mean over all seeds there are: its standard deviation.
fn standard_error(found: &[Reached], of: impl Fn(&Reached) -> f64) -> f64 {
    let (n, mean) = (found.len() as f64, mean(found, &of));
    (found.iter().map(|r| (of(r) - mean) * (of(r) - mean)).sum::<f64>() / (n * (n - 1.0).max(1.0))).sqrt()
}

fn least(found: &[Reached], of: impl Fn(&Reached) -> f64) -> f64 {
    found.iter().map(of).fold(f64::INFINITY, f64::min)
}

/// A world file, or a ready-made world such as `campaign` or `paper:joint=false`; random ones are drawn by the seed.
fn ready_made(text: &str, seed: u64) -> Fallible<World> {
    if text.ends_with(".toml") {
        return Ok(World::from_toml(&std::fs::read_to_string(text)?, text)?);
    }
    let (name, choices) = text.split_once(':').unwrap_or((text, ""));
    let seed = seed.to_string();
    let mut chosen: Vec<(&str, &str)> = choices.split(',').filter_map(|choice| choice.split_once('=')).collect();
    if name == "paper" && chosen.iter().all(|(key, _)| *key != "seed") {
        chosen.push(("seed", &seed));
    }
    Ok(worlds::world(name, &chosen)?)
}

/// Plays a learner with every seed; what was reached by each number of episodes, `[stop][seed]`.
fn runs(world: &str, learner: &str, stops: &[u64], first: u64, seeds: u64) -> Fallible<Vec<Vec<Reached>>> {
    let spec: LearnerSpec = learner.parse()?;
    let most = stops.iter().copied().max().unwrap_or(0);
    let mut found: Vec<Vec<Reached>> = vec![Vec::new(); stops.len()];
    for seed in first..first + seeds {
        let world = ready_made(world, seed)?;
        let arena = Arena::new(&world)?;
        let (best, random) = (arena.optimal(), arena.at_random().0);
        let mut learner = spec.learner(&world, most, seed)?;
        let mut run = arena.run(seed);
        let (mut regrets, mut seconds) = (Vec::new(), 0.0);
        for episode in 1..=most {
            let began = Instant::now();
            regrets.push(run.play(&mut learner, true).regret);
            seconds += began.elapsed().as_secs_f64();
            if let Some(stop) = stops.iter().position(|&stop| stop == episode) {
                let began = Instant::now();
                let learned = learner.learned_policy();
                let planning = 1e3 * began.elapsed().as_secs_f64();
                let value = arena.value_of(learned.actions())?;
                let last = &regrets[regrets.len().saturating_sub(100)..];
                found[stop].push(Reached {
                    learned: 100.0 * (value - random) / (best - random),
                    played: 100.0 * (1.0 - last.iter().sum::<f64>() / last.len() as f64 / (best - random)),
                    regret: regrets.iter().sum(),
                    milliseconds: 1e3 * seconds / episode as f64,
                    planning,
                });
            }
        }
    }
    Ok(found)
}
