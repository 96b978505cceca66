//! Regret when many episodes run side by side: B of them begin before any is observed.
//!
//! `cargo run --release -p dowise --example side_by_side [RUNS [EPISODES [FIGURE]]]` plays `EPISODES` episodes (5,000) in batches of 1, 10, 100
//! and 1,000, prints the mean regret over `RUNS` runs (10) and draws it as SVG.
#![allow(clippy::print_stdout)] // a study prints its result

use std::fmt::Write;

use dowise::simulate::Outcome;
use dowise::{Arena, Knowledge, Learner, LearnerSpec, Simulator, worlds};

type Failure = Box<dyn std::error::Error>;

const BATCHES: [u64; 4] = [1, 10, 100, 1000];

const CASES: [(&str, &str); 4] =
    [("paper", "cf-psrl"), ("paper", "cf-ucbvi"), ("river-swim", "c-psrl"), ("river-swim", "c-ucbvi")];

/// Regret of all episodes, played in batches.
fn regret(arena: &Arena, learner: &str, episodes: u64, batch: u64, seed: u64) -> Result<f64, Failure> {
    let knowledge = Knowledge::of(arena.world());
    let mut learner = Learner::new(&knowledge, learner.parse::<LearnerSpec>()?.options(episodes, seed))?;
    let [mut starts, mut steps] = Simulator::streams(seed);
    let (simulator, mut outcome, mut total) = (arena.simulator(), Outcome::default(), 0.0);
    let (mut evaluated, mut lost) = (0, 0.0);
    for _ in 0..episodes / batch {
        let mut sessions: Vec<_> = (0..batch).map(|_| learner.begin()).collect();
        for session in &mut sessions {
            let policy = session.policy().ok_or("it decides whole episodes")?;
            // A policy that several sessions share is evaluated once.
            if policy.plan() != evaluated {
                (evaluated, lost) = (policy.plan(), arena.optimal() - arena.value_of(policy.actions())?);
            }
            total += lost;
        }
        for mut session in sessions {
            let mut state = simulator.start(&mut starts);
            for stage in 0..knowledge.horizon() {
                let action = session.act(&mut learner, state)?;
                simulator.step(state, action, &mut steps, &mut outcome);
                session.observe(&mut learner, &outcome.observation(stage, state, action))?;
                state = outcome.next_state;
            }
            session.end(&mut learner);
        }
    }
    Ok(total)
}

/// Regret over the size of a batch, both on logarithmic axes.
fn figure(lines: &[(String, [f64; 4])]) -> String {
    let (width, height, left, bottom) = (560.0, 330.0, 60.0, 280.0);
    let least = lines.iter().flat_map(|(_, y)| y).fold(f64::INFINITY, |a, &b| a.min(b)).log10().floor();
    let most = lines.iter().flat_map(|(_, y)| y).fold(0.0, |a: f64, &b| a.max(b)).log10().ceil();
    let x = |i: usize| left + 100.0 * i as f64;
    let y = |value: f64| bottom - 250.0 * (value.log10() - least) / (most - least);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for power in least as i32..=most as i32 {
        let at = y(10f64.powi(power));
        let _ = writeln!(
            svg,
            "<path d=\"M{left} {at:.1}H400\" stroke=\"#ddd\"/><text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            left - 6.0,
            at + 4.0,
            10f64.powi(power)
        );
    }
    for (i, batch) in BATCHES.iter().enumerate() {
        let _ = writeln!(svg, "<text x=\"{:.0}\" y=\"298\" text-anchor=\"middle\">{batch}</text>", x(i));
    }
    svg += "<text x=\"210\" y=\"320\" text-anchor=\"middle\">episodes side by side</text>\n\
            <text x=\"14\" y=\"155\" text-anchor=\"middle\" transform=\"rotate(-90 14 155)\">regret</text>\n";
    // Names of lines that end together stand below each other.
    let mut places: Vec<(usize, f64)> = lines.iter().map(|(_, values)| y(values[3]) + 4.0).enumerate().collect();
    places.sort_by(|a, b| a.1.total_cmp(&b.1));
    for i in 1..places.len() {
        places[i].1 = places[i].1.max(places[i - 1].1 + 15.0);
    }
    places.sort_by_key(|(line, _)| *line);
    let colours = ["#1b6ca8", "#d1495b", "#3a7d44", "#8d6a9f"];
    for (((name, values), colour), (_, place)) in lines.iter().zip(colours).zip(places) {
        let points: Vec<String> = values.iter().enumerate().map(|(i, &v)| format!("{:.1},{:.1}", x(i), y(v))).collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/><text x=\"408\" y=\"{:.1}\" fill=\"{colour}\">{name}</text>",
            points.join(" "),
            place
        );
    }
    svg + "</svg>\n"
}

fn main() -> Result<(), Failure> {
    let number = |at: usize, default: u64| std::env::args().nth(at).map_or(Ok(default), |n| n.parse());
    let (runs, episodes) = (number(1, 10)?, number(2, 5000)?);
    println!("regret of {episodes} episodes, mean of {runs} runs, by how many run side by side");
    println!("{:<24} {}   B = 10 / B = 1", "", BATCHES.map(|b| format!("{b:>9}")).join(""));
    let mut lines = Vec::new();
    for (world, learner) in CASES {
        let mut means = [0.0; 4];
        for seed in 0..runs {
            let text = seed.to_string();
            let settings: &[(&str, &str)] = if world == "paper" { &[("seed", &text)] } else { &[] };
            let arena = Arena::new(&worlds::world(world, settings)?)?;
            for (mean, batch) in means.iter_mut().zip(BATCHES) {
                *mean += regret(&arena, learner, episodes, batch, seed)? / runs as f64;
            }
        }
        let name = format!("{world}, {learner}");
        println!("{name:<24} {}   {:>14.2}", means.map(|m| format!("{m:>9.2}")).join(""), means[1] / means[0]);
        lines.push((name, means));
    }
    if let Some(file) = std::env::args().nth(3) {
        std::fs::write(file, figure(&lines))?;
    }
    Ok(())
}
