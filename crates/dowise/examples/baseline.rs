//! What it costs never to be much worse than today: regret of learners that keep to a baseline, beside the same learners without it,
//! and whether the promise was kept.
//!
//! `cargo run --release -p dowise --example baseline [RUNS [EPISODES [LEARNER [ALPHA]]]]` prints the table of docs/guarantees.md. Each
//! run has a world of its own. The baseline is the best policy of another world of the same shape, the first (of seeds counted on from
//! 1000) that is worth between 40 and 60 % of the way from random to best.

#![allow(clippy::print_stdout)] // a study prints its result

use std::ops::ControlFlow;

use dowise::{Action, Arena, Knowledge, LearnerSpec, worlds};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let argument = |i: usize| std::env::args().nth(i);
    let number = |i: usize, usual: u64| argument(i).map_or(Ok(usual), |text| text.parse());
    let (runs, episodes) = (number(1, 10)?, number(2, 5000)?);
    let alphas = match argument(4) {
        Some(alpha) => vec![alpha.parse()?],
        None => vec![0.05, 0.1, 0.2],
    };
    println!(
        "| learner | α | regret without | regret with | episodes of the baseline | surely better | broken without | broken with |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    for learner in ["graph-psrl:unknown=rewards", "graph-ucbvi:unknown=rewards", "cf-ucbvi:unknown=rewards"] {
        if argument(3).is_some_and(|only| only != learner) {
            continue;
        }
        for &alpha in &alphas {
            let mut sum = [0.0; 6];
            for seed in 1..=runs {
                let one = one(learner, alpha, episodes, seed)?;
                sum.iter_mut().zip(one).for_each(|(sum, x)| *sum += x);
            }
            let mean = |i: usize| sum[i] / runs as f64;
            println!(
                "| `{learner}` | {alpha} | {:.1} | {:.1} | {:.0} | {:.0} | {} of {runs} | {} of {runs} |",
                mean(0),
                mean(1),
                mean(2),
                mean(3),
                sum[4],
                sum[5]
            );
        }
    }
    Ok(())
}

/// Regret without and with the baseline, episodes that fell back on it and on what is surely better, and whether the promise was broken
/// without and with it.
fn one(learner: &str, alpha: f64, episodes: u64, seed: u64) -> Result<[f64; 6], Box<dyn std::error::Error>> {
    let paper = |seed: u64| worlds::world("paper", &[("seed", &seed.to_string())]);
    let arena = Arena::new(&paper(seed)?)?;
    let (best, random) = (arena.optimal(), arena.at_random().0);
    let mut today: Option<Vec<Action>> = None;
    for other in 1000.. {
        let policy = Arena::new(&paper(other)?)?.best().policy_hs.clone();
        if (0.4..=0.6).contains(&((arena.value_of(&policy)? - random) / (best - random))) {
            today = Some(policy);
            break;
        }
    }
    let today = today.ok_or("no world has such a policy")?;
    let value = arena.planner().evaluate(&today)?;
    let told = Knowledge::of(arena.world());
    let floor = told.horizon() as f64 * (told.reward_range()[0] - told.interventions().cost_range()[1]);
    let mut found = [0.0; 6];
    for with in [false, true] {
        let mut agent = learner.parse::<LearnerSpec>()?.learner(arena.world(), episodes, seed)?;
        if with {
            agent.keep_baseline(&today, alpha, None)?;
        }
        let (mut side, mut broken, mut regret) = (0.0, false, 0.0);
        arena.run(seed).episodes(episodes, &mut agent, |e| {
            side += arena.best().value(0, e.start) - e.regret - value[e.start] + alpha * (value[e.start] - floor);
            broken |= side < -1e-9;
            regret += e.regret;
            ControlFlow::Continue(())
        });
        found[usize::from(with)] = regret;
        found[4 + usize::from(with)] = f64::from(u8::from(broken));
        if let Some(report) = agent.baseline() {
            (found[2], found[3]) = (report.fell_back as f64, report.surely_better as f64);
        }
    }
    Ok(found)
}
