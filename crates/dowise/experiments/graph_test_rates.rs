//! How often the test of a graph contradicts true graphs, and how many episodes wrong ones take to be found.
//!
//! `cargo run --release -p dowise --example graph_test_rates [LOGS [SEED [WORLD]]]` prints three tables from `LOGS` simulated logs each (200,
//! seeds from `SEED` on), or the first alone of one ready-made world, or with `wrong` as the world the third alone:
//! false contradictions at level 0.05 on ready-made worlds under a fixed policy; the same where a learner chose; and the share of
//! wrong graphs contradicted after 100 to 3,000 episodes.
#![allow(clippy::print_stdout)] // a study prints its result

use dowise::data::LogStep;
use dowise::offline::{GraphReport, GraphTest};
use dowise::simulate::Outcome;
use dowise::world::World;
use dowise::{Agent, Arena, Knowledge, LearnerSpec, Observation, Simulator, worlds};

const LEVEL: f64 = 0.05;

/// Episodes of interventions drawn at random, given to the test of another graph over the same variables.
fn uniform(truth: &World, declared: &Knowledge, episodes: u64, seed: u64) -> GraphReport {
    let simulator = Simulator::new(truth).expect("known");
    let mut test = GraphTest::new(declared);
    let [mut starts, mut steps] = Simulator::streams(seed);
    let mut outcome = Outcome::default();
    for episode in 0..episodes {
        let mut state = simulator.start(&mut starts);
        let mut played = Vec::new();
        for stage in 0..truth.horizon() {
            let action = simulator.any_allowed(state, &mut steps);
            simulator.step(state, action, &mut steps, &mut outcome);
            let seen = outcome.observation(stage, state, action).into_owned();
            played.push(LogStep::new(episode, without_hidden(declared, seen)));
            state = outcome.next_state;
        }
        test.add_episode(&played).expect("the same variables");
    }
    test.finish(LEVEL)
}

/// What the declared world has no variable for is not in its log: such variables come last in the worlds below.
fn without_hidden(declared: &Knowledge, seen: Observation<'static>) -> Observation<'static> {
    if seen.values().len() == declared.variables().len() {
        return seen;
    }
    let values: Vec<(String, dowise::world::GivenValue)> = declared
        .keys()
        .iter()
        .map(|&id| {
            (declared.variable(id).name.clone(), dowise::world::GivenValue::Number(seen.values()[id.ix()].into()))
        })
        .collect();
    let step = Observation::at(declared, seen.stage(), seen.state()).expect("a state");
    let step = step.did_action(declared, seen.action().expect("done")).expect("an action");
    let step = step.saw(declared, dowise::world::Given::Named(values)).expect("key variables");
    step.then(declared, seen.next_state().expect("a next state")).expect("a state")
}

/// Lets a learner play and keeps what it saw.
struct Recorder<A> {
    agent: A,
    played: Vec<LogStep<'static>>,
}

impl<A: Agent> Agent for Recorder<A> {
    fn act(&mut self, stage: usize, state: usize) -> dowise::Action {
        self.agent.act(stage, state)
    }
    fn observe(&mut self, seen: &Observation<'_>) {
        self.played.push(LogStep::new(0, seen.clone().into_owned()));
        self.agent.observe(seen);
    }
    fn begin_episode(&mut self) {
        self.agent.begin_episode();
    }
    fn end_episode(&mut self) {
        self.agent.end_episode();
    }
    fn policy(&mut self) -> Option<&[dowise::Action]> {
        self.agent.policy()
    }
}

fn adaptive(arena: &Arena, learner: &str, episodes: u64, seed: u64) -> GraphReport {
    let spec: LearnerSpec = learner.parse().expect("a learner");
    let agent = spec.learner(arena.world(), episodes, seed).expect("a learner");
    let mut recorder = Recorder { agent, played: Vec::new() };
    let mut test = GraphTest::new(&Knowledge::of(arena.world()));
    let mut run = arena.run(seed);
    for _ in 0..episodes {
        recorder.played.clear();
        run.play(&mut recorder, false);
        test.add_episode(&recorder.played).expect("the same world");
    }
    test.finish(LEVEL)
}

fn line(name: &str, episodes: u64, reports: &[GraphReport]) {
    let n = reports.len();
    let wrong = reports.iter().filter(|r| r.is_contradicted()).count();
    let below = |p: f64| {
        let all: Vec<f64> = reports.iter().flat_map(|r| r.tested.iter().map(|t| t.p)).collect();
        100.0 * all.iter().filter(|&&found| found <= p).count() as f64 / all.len().max(1) as f64
    };
    let tested = reports.iter().map(|r| r.tested.len()).sum::<usize>() / n;
    println!(
        "{name:<34} {episodes:>8} {tested:>6} {:>14} {:>9.1} {:>9.2} {:>10.3}",
        format!("{wrong} of {n}"),
        100.0 * wrong as f64 / n as f64,
        below(0.05),
        below(0.001)
    );
    let mut first: Vec<&str> =
        reports.iter().filter_map(|r| Some(r.contradictions().first()?.claim.as_str())).collect();
    first.sort_unstable();
    println!("    contradicted: {}", first.join("; "));
}

/// Two state factors, two levers, two key variables; what `wrong` names is in the truth and not in the declared graph.
fn clinic(wrong: &str) -> Result<World, dowise::WorldError> {
    let hidden = wrong == "hidden";
    let pair = |p: f64| [1.0 - p, p];
    let mut world = World::builder("clinic", 5)
        .state("heart", ["weak", "sound"])
        .state("weight", ["high", "normal"])
        .lever("drug", ["none", "some"])
        .lever("diet", ["usual", "light"])
        .key("pressure", ["high", "normal"])
        .key("appetite", ["large", "small"]);
    if hidden {
        // A cause of both next factors that is not declared: here a third key variable, left out of the log.
        world = world.key("season", ["cold", "warm"]).mechanism("season", [] as [&str; 0], vec![0.5, 0.5]);
    }
    let add = if wrong == "lever" { 0.1 } else { 0.0 };
    let scope = if wrong == "scope" { 0.1 } else { 0.0 };
    let parent = if wrong == "parent" { 0.1 } else { 0.0 };
    let common = if hidden { 0.2 } else { 0.0 };
    let mut pressure = Vec::new();
    for heart in 0..2 {
        for drug in 0..2 {
            for diet in 0..2 {
                let p = 0.3 + 0.2 * f64::from(heart) + 0.25 * f64::from(drug) + parent * (2.0 * f64::from(diet) - 1.0);
                pressure.extend(pair(p));
            }
        }
    }
    let mut appetite = Vec::new();
    for diet in 0..2 {
        appetite.extend(pair(0.3 + 0.4 * f64::from(diet)));
    }
    // Scopes with all that any wrong graph needs: what is not used has no effect.
    let mut heart = Vec::new();
    for now in 0..2 {
        for pressure in 0..2 {
            for weight in 0..2 {
                for drug in 0..2 {
                    for season in 0..if hidden { 2 } else { 1 } {
                        let sign = |x: i32| 2.0 * f64::from(x) - 1.0;
                        let p = 0.25 + 0.25 * f64::from(now) + 0.25 * f64::from(pressure);
                        heart.extend(pair(p + scope * sign(weight) + add * sign(drug) + common * sign(season)));
                    }
                }
            }
        }
    }
    let mut weight = Vec::new();
    for now in 0..2 {
        for appetite in 0..2 {
            for season in 0..if hidden { 2 } else { 1 } {
                let p = 0.25 + 0.25 * f64::from(now) + 0.25 * f64::from(appetite);
                weight.extend(pair(p + common * (2.0 * f64::from(season) - 1.0)));
            }
        }
    }
    let scoped = |names: &[&'static str]| -> Vec<&'static str> {
        names.iter().copied().chain(hidden.then_some("season")).collect()
    };
    world
        .mechanism("pressure", ["heart", "drug", "diet"], pressure)
        .mechanism("appetite", ["diet"], appetite)
        .next("heart", scoped(&["heart", "pressure", "weight", "drug"]), heart)
        .next("weight", scoped(&["weight", "appetite"]), weight)
        .reward("well", "heart", [0.0, 1.0])
        .build()
}

/// A world, its settings, and how many episodes a log has.
type Case = (&'static str, &'static [(&'static str, &'static str)], u64);

/// The graph that is declared: the numbers play no part.
fn declared() -> Result<World, dowise::WorldError> {
    World::builder("clinic", 5)
        .state("heart", ["weak", "sound"])
        .state("weight", ["high", "normal"])
        .lever("drug", ["none", "some"])
        .lever("diet", ["usual", "light"])
        .key("pressure", ["high", "normal"])
        .key("appetite", ["large", "small"])
        .mechanism("pressure", ["heart", "drug"], [0.5; 8])
        .mechanism("appetite", ["diet"], [0.5; 4])
        .next("heart", ["heart", "pressure"], [0.5; 8])
        .next("weight", ["weight", "appetite"], [0.5; 8])
        .reward("well", "heart", [0.0, 1.0])
        .build()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let logs: u64 = std::env::args().nth(1).map_or(Ok(200), |n| n.parse())?;
    let from: u64 = std::env::args().nth(2).map_or(Ok(0), |n| n.parse())?;
    let only = std::env::args().nth(3);
    let seeds = from..from + logs;
    if only.as_deref() == Some("wrong") {
        return power(logs, seeds);
    }
    println!("true graphs, level {LEVEL}, {logs} logs each, interventions drawn at random");
    println!(
        "{:<34} {:>8} {:>6} {:>14} {:>9} {:>9} {:>10}",
        "world", "episodes", "tests", "contradicted", "%", "p≤.05 %", "p≤.001 %"
    );
    let cases: [Case; 8] = [
        ("campaign", &[], 200),
        ("campaign", &[], 1000),
        ("treatment", &[], 200),
        ("treatment", &[], 1000),
        ("paper", &[], 300),
        ("paper", &[("joint", "false")], 300),
        ("river-swim", &[], 300),
        ("deep-sea", &[], 300),
    ];
    for (name, settings, episodes) in cases {
        if only.as_deref().is_some_and(|only| only != name) {
            continue;
        }
        let world = worlds::world(name, settings)?;
        let knowledge = Knowledge::of(&world);
        let reports: Vec<GraphReport> = seeds.clone().map(|seed| uniform(&world, &knowledge, episodes, seed)).collect();
        line(&format!("{name}{}", if settings.is_empty() { "" } else { ":joint=false" }), episodes, &reports);
    }
    if only.is_some() {
        return Ok(());
    }
    println!("\ntrue graphs, interventions chosen by a learner that learns from the log");
    for (name, learner, episodes) in
        [("paper", "graph-psrl", 300), ("paper", "graph-psrl", 1000), ("paper", "graph-ucbvi:schedule=episode", 300)]
    {
        let arena = Arena::new(&worlds::world(name, &[])?)?;
        let reports: Vec<GraphReport> = seeds.clone().map(|seed| adaptive(&arena, learner, episodes, seed)).collect();
        line(&format!("{name}, {learner}"), episodes, &reports);
    }
    println!();
    power(logs, seeds)
}

/// How often each kind of wrong graph is found.
fn power(logs: u64, seeds: std::ops::Range<u64>) -> Result<(), Box<dyn std::error::Error>> {
    println!("wrong graphs, share contradicted in %, and the claim found first in most logs");
    let sizes = [100, 200, 300, 500, 1000, 2000];
    println!("{:<44} {}", "what is wrong", sizes.map(|n| format!("{n:>6}")).join(""));
    let knowledge = Knowledge::of(&declared()?);
    for (wrong, words) in [
        ("none", "nothing"),
        ("lever", "drug acts on next heart directly (±0.1)"),
        ("scope", "scope of heart lacks weight (±0.1)"),
        ("parent", "parents of pressure lack diet (±0.1)"),
        ("hidden", "hidden cause of both next factors (±0.2)"),
    ] {
        let world = clinic(wrong)?;
        let power = |episodes: u64| {
            let found =
                seeds.clone().filter(|&seed| uniform(&world, &knowledge, episodes, seed).is_contradicted()).count();
            format!("{:>6.0}", 100.0 * found as f64 / logs as f64)
        };
        let first = uniform(&world, &knowledge, 2000, 0);
        println!(
            "{words:<44} {}   {}",
            sizes.map(power).join(""),
            first.contradictions().first().map_or("-", |t| &t.claim)
        );
    }
    Ok(())
}
