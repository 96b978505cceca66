//! How soon a wrong graph is noticed, how often a right one is accused, and what a guard costs and gains.
//!
//! `cargo run --release -p dowise --example graph_monitor [RUNS [EPISODES]]` prints tables from `RUNS` runs each (20) of `EPISODES`
//! episodes (600): the paper's environment with one thing wrong in the graph that the learner is given; true graphs; and
//! regret with and without a guard. With `rates` as a third word the second table alone, with `power` the first, with `limit` what the
//! data can say at most of a hidden common cause.
#![allow(clippy::print_stdout)] // a study prints its result

use dowise::simulate::Outcome;
use dowise::world::{Form, World, WorldSpec};
use dowise::worlds::Paper;
use dowise::{Arena, Knowledge, Learner, LearnerSpec, Observation, Simulator, worlds};

type Failure = Box<dyn std::error::Error>;

const DELTA: f64 = 0.1;

/// What is in the truth and not in the declared graph.
#[derive(Clone, Copy, PartialEq)]
enum Wrong {
    Lever,
    Parent,
    Common,
}

/// The paper's environment with probabilities kept away from 0 and 1 by `by`: the truth with one thing more, and what is declared.
fn paper(wrong: Wrong, by: f64, seed: u64) -> Result<(World, World), Failure> {
    let mut spec = Paper { seed, ..Paper::default() }.spec()?;
    for transition in &mut spec.transitions {
        if let Form::Table(table) = &mut transition.form {
            table.iter_mut().for_each(|p| *p = by + (1.0 - 2.0 * by) * *p);
        }
    }
    let declared = World::new(spec.clone())?;
    match wrong {
        Wrong::Lever => add_parent(&mut spec, 0, "x2", &[-by, -by, by, by]),
        Wrong::Parent => add_parent(&mut spec, 0, "s2", &[-by, by]),
        Wrong::Common => {
            // A key variable that the learner does not know stands for the hidden cause.
            let mut season = spec.variables.last().cloned().ok_or("a key variable")?;
            season.name = "season".into();
            spec.variables.push(season);
            let mut coin = spec.mechanisms[0].clone();
            (coin.children, coin.parents, coin.form) = (vec!["season".into()], vec![], Form::Table(vec![0.5, 0.5]));
            spec.mechanisms.push(coin);
            (0..2).for_each(|i| add_parent(&mut spec, i, "season", &[-by, by]));
        }
    }
    Ok((World::new(spec)?, declared))
}

/// Adds a parent of a factor that moves its probability by these amounts.
fn add_parent(spec: &mut WorldSpec, factor: usize, parent: &str, moves: &[f64]) {
    let transition = &mut spec.transitions[factor];
    if let Form::Table(table) = &mut transition.form {
        let split = |row: &[f64]| moves.iter().flat_map(|m| [row[0] - m, row[1] + m]).collect::<Vec<_>>();
        *table = table.chunks_exact(2).flat_map(split).collect();
    }
    transition.parents.push(parent.into());
}

/// Lets a learner play in a world of which it is given another; `see` is shown each step, `after` is called after each episode and may
/// stop.
fn play(
    truth: &Simulator,
    knowledge: &Knowledge,
    learner: &mut Learner,
    episodes: u64,
    seed: u64,
    mut see: impl FnMut(&Observation<'_>),
    mut after: impl FnMut(&Learner, u64) -> bool,
) -> Result<(), Failure> {
    let [mut starts, mut steps] = Simulator::streams(seed);
    let mut outcome = Outcome::default();
    let n = knowledge.variables().len();
    for episode in 1..=episodes {
        let mut session = learner.begin();
        let mut state = truth.start(&mut starts);
        for stage in 0..knowledge.horizon() {
            let action = session.act(learner, state)?;
            truth.step(state, action, &mut steps, &mut outcome);
            // What the learner has no variable for comes last.
            outcome.values.truncate(n);
            let seen: Observation<'_> = outcome.observation(stage, state, action);
            see(&seen);
            session.observe(learner, &seen)?;
            state = outcome.next_state;
        }
        session.end(learner);
        if after(learner, episode) {
            break;
        }
    }
    Ok(())
}

fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn power(runs: u64, episodes: u64) -> Result<(), Failure> {
    println!("wrong graphs, paper's environment, δ = {DELTA}, {runs} worlds, {episodes} episodes at most");
    println!("{:<40} {:<12} {:>7} {:>7} {:>6}  named right", "what is wrong", "learner", "median", "90 %", "found");
    for (wrong, by, words) in [
        (Wrong::Lever, 0.1, "a lever acts on a factor directly, ±0.1"),
        (Wrong::Parent, 0.1, "a parent is missing in a scope, ±0.1"),
        (Wrong::Common, 0.2, "two factors share a hidden cause, ±0.2"),
        (Wrong::Common, 0.1, "two factors share a hidden cause, ±0.1"),
    ] {
        for name in ["graph-psrl", "cf-ucbvi:schedule=episode"] {
            let (mut found, mut right) = (vec![], 0);
            for seed in 0..runs {
                let (truth, declared) = paper(wrong, by, seed)?;
                let knowledge = Knowledge::of(&declared);
                let mut learner = Learner::new(&knowledge, name.parse::<LearnerSpec>()?.options(5000, seed))?;
                learner.watch_graph(DELTA)?;
                let mut at = f64::INFINITY;
                play(
                    &Simulator::new(&truth)?,
                    &knowledge,
                    &mut learner,
                    episodes,
                    seed,
                    |_| {},
                    |learner, episode| {
                        if !learner.graph_contradicted() {
                            return false;
                        }
                        let Some(found) = learner.graph_watch().and_then(|watch| watch.found) else { return false };
                        at = episode as f64;
                        right += u32::from(match wrong {
                            Wrong::Lever => found.outcome == "s1" && found.variable == "x2",
                            Wrong::Parent => found.outcome == "s1" && found.variable == "s2",
                            Wrong::Common => {
                                found.outcome == "s2" && found.variable == "s1" && found.what.contains("share")
                            }
                        });
                        true
                    },
                )?;
                found.push(at);
            }
            let n = found.iter().filter(|k| k.is_finite()).count();
            let middle = median(&mut found);
            let late = found[found.len() * 9 / 10];
            println!("{words:<40} {name:<12} {middle:>7} {late:>7} {n:>6}  {right}");
        }
    }
    Ok(())
}

/// What the data can say at most of two factors with a hidden common cause: nats that somebody gains who knows the cause, its effect
/// and all probabilities, against who takes the factors to be independent. No test of level δ is sooner than these reach ln(1/δ).
fn limit(runs: u64, episodes: u64) -> Result<(), Failure> {
    println!("what knowing all about the hidden cause gains in {episodes} episodes of graph-psrl, nats");
    for by in [0.2, 0.1] {
        let (mut gains, mut bar) = (vec![], 0.0);
        for seed in 0..runs {
            let (truth, declared) = paper(Wrong::Common, by, seed)?;
            let knowledge = Knowledge::of(&declared);
            let mut learner = Learner::new(&knowledge, "graph-psrl".parse::<LearnerSpec>()?.options(5000, seed))?;
            learner.watch_graph(DELTA)?;
            let mut gain = 0.0;
            let see = |seen: &Observation<'_>| {
                let Some(next) = seen.next_state() else { return };
                let part = |i: usize| {
                    let transition = &declared.transitions()[i];
                    let value = |row: usize, id: &dowise::world::VarId| {
                        row * declared.variable(*id).values.len() + seen.values()[id.ix()] as usize
                    };
                    let row = transition.parents.iter().fold(0, value);
                    let v = declared.state_space().digit(next, i);
                    let p = transition.table.as_ref().map_or(0.5, |table| table[2 * row + v]);
                    if v == 1 { by / p } else { -by / p }
                };
                // Half of (p + by)(q + by) + (p − by)(q − by) is p q + by².
                gain += (1.0 + part(0) * part(1)).ln();
            };
            play(&Simulator::new(&truth)?, &knowledge, &mut learner, episodes, seed, see, |_, _| false)?;
            gains.push(gain);
            bar = learner.graph_watch().map_or(0.0, |watch| watch.bar);
        }
        let middle = median(&mut gains);
        println!("±{by}: median {middle:.1}, greatest {:.1}; an alarm takes {bar:.1}", gains[gains.len() - 1]);
    }
    Ok(())
}

fn rates(runs: u64, episodes: u64) -> Result<(), Failure> {
    println!("true graphs, δ = {DELTA}: runs of {episodes} episodes in which a claim was ever contradicted");
    for world in ["paper", "treatment", "river-swim"] {
        for name in ["graph-psrl", "graph-ucbvi:schedule=episode"] {
            let mut wrong = 0;
            for seed in 0..runs {
                let settings = [("seed", seed.to_string())];
                let settings: Vec<(&str, &str)> = settings.iter().map(|(k, v)| (*k, v.as_str())).collect();
                let world = worlds::world(world, if world == "paper" { &settings } else { &[] })?;
                let knowledge = Knowledge::of(&world);
                let mut learner = Learner::new(&knowledge, name.parse::<LearnerSpec>()?.options(5000, seed))?;
                learner.watch_graph(DELTA)?;
                play(&Simulator::new(&world)?, &knowledge, &mut learner, episodes, seed, |_| {}, |_, _| false)?;
                wrong += u32::from(learner.graph_watch().is_some_and(|watch| watch.contradicted));
            }
            println!("{world:<12} {name:<12} {wrong:>4} of {runs}");
        }
    }
    Ok(())
}

fn regret(runs: u64, episodes: u64) -> Result<(), Failure> {
    println!("regret of {} episodes, mean of {runs} worlds, given the declared graph", 5 * episodes);
    println!("{:<40} {:<12} {:>10} {:>10}", "what is wrong", "learner", "unguarded", "guarded");
    for (wrong, words) in [(None, "nothing"), (Some(Wrong::Lever), "a lever acts on a factor directly, ±0.1")] {
        for name in ["graph-psrl", "graph-ucbvi:schedule=episode"] {
            let mut sums = [0.0; 2];
            for seed in 0..runs {
                let (truth, declared) = match wrong {
                    Some(wrong) => paper(wrong, 0.1, seed)?,
                    None => {
                        let world = World::new(Paper { seed, ..Paper::default() }.spec()?)?;
                        (world.clone(), world)
                    }
                };
                let (arena, knowledge) = (Arena::new(&truth)?, Knowledge::of(&declared));
                for (sum, guard) in sums.iter_mut().zip([false, true]) {
                    let mut options = name.parse::<LearnerSpec>()?.options(5 * episodes, seed);
                    options.guard = guard;
                    let (mut learner, mut run) = (Learner::new(&knowledge, options)?, arena.run(seed));
                    *sum += (0..5 * episodes).map(|_| run.episode(&mut learner).regret).sum::<f64>() / runs as f64;
                }
            }
            println!("{words:<40} {name:<12} {:>10.2} {:>10.2}", sums[0], sums[1]);
        }
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    let number = |at: usize, default: u64| std::env::args().nth(at).map_or(Ok(default), |n| n.parse());
    let (runs, episodes) = (number(1, 20)?, number(2, 600)?);
    let only = std::env::args().nth(3);
    let wants = |table: &str| only.as_deref().is_none_or(|only| only == table);
    if wants("power") {
        power(runs, episodes)?;
    }
    if wants("limit") {
        limit(runs, episodes)?;
    }
    if wants("rates") {
        rates(runs, episodes)?;
    }
    if wants("regret") {
        regret(runs, episodes)?;
    }
    Ok(())
}
