//! What it costs never to be much worse than today: regret of learners that keep to a baseline, beside the same learners without it,
//! and whether the promise was kept.
//!
//! `cargo run --release -p dowise --example baseline [RUNS [EPISODES [LEARNER [ALPHA]]]]` prints the table of docs/theory/guarantees.md. Each
//! run has a world of its own: the paper's, and the same with a factor's scope cut down to itself and one key variable (`sparse`). The baseline is the best policy of another world of the same shape, the first (of seeds counted on from 1000) that
//! is worth between 40 and 60 % of the way from random to best.

#![allow(clippy::print_stdout)] // a study prints its result

use dowise::world::{Form, RewardForm, WorldSpec};
use dowise::{Action, Arena, Knowledge, LearnerSpec, World, worlds};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let argument = |i: usize| std::env::args().nth(i);
    let number = |i: usize, usual: u64| argument(i).map_or(Ok(usual), |text| text.parse());
    let (runs, episodes) = (number(1, 10)?, number(2, 5000)?);
    let alphas = match argument(4) {
        Some(alpha) => vec![alpha.parse()?],
        None => vec![0.05, 0.1, 0.2],
    };
    println!(
        "| world | learner | α | V^b | regret without | with | times | episodes of the baseline | broken without | broken with |"
    );
    println!("|---|---|--:|---|--:|--:|--:|--:|--:|--:|");
    for (world, learner) in [
        ("paper", "graph-psrl:unknown=rewards"),
        ("paper", "graph-ucbvi:unknown=rewards,schedule=episode"),
        ("sparse", "graph-psrl:unknown=rewards"),
        ("sparse", "graph-ucbvi:unknown=rewards,schedule=episode"),
        ("paper", "ucbvi:unknown=rewards,schedule=episode"),
    ] {
        if argument(3).is_some_and(|only| only != learner) {
            continue;
        }
        // Best policies of other worlds of the same shape, as far as they were needed.
        let mut others = Vec::new();
        for &alpha in &alphas {
            for known in [false, true] {
                let mut sum = [0.0; 5];
                for seed in 1..=runs {
                    let one = one(world, learner, (alpha, known), episodes, seed, &mut others)?;
                    sum.iter_mut().zip(one).for_each(|(sum, x)| *sum += x);
                }
                let mean = |i: usize| sum[i] / runs as f64;
                println!(
                    "| {world} | `{learner}` | {alpha} | {} | {:.1} | {:.1} | {:.1} | {:.0} | {} of {runs} | {} of {runs} |",
                    if known { "given" } else { "not known" },
                    mean(0),
                    mean(1),
                    mean(1) / mean(0),
                    mean(2),
                    sum[3],
                    sum[4]
                );
            }
        }
    }
    Ok(())
}

/// Regret without and with the baseline, episodes that followed it, and whether the promise was broken without and with it.
fn one(
    world: &str,
    learner: &str,
    (alpha, known): (f64, bool),
    episodes: u64,
    seed: u64,
    others: &mut Vec<Vec<Action>>,
) -> Result<[f64; 5], Box<dyn std::error::Error>> {
    let arena = Arena::new(&drawn(world, seed)?)?;
    let (best, random) = (arena.optimal(), arena.at_random().0);
    let mut at = 0;
    let today = loop {
        if at == others.len() {
            others.push(Arena::new(&drawn(world, 1000 + at as u64)?)?.best().policy_hs.clone());
        }
        if (0.4..=0.6).contains(&((arena.value_of(&others[at])? - random) / (best - random))) {
            break others[at].clone();
        }
        at += 1;
    };
    let (value_s, value) = (arena.planner().evaluate(&today)?, arena.value_of(&today)?);
    let knowledge = Knowledge::of(arena.world());
    let floor = knowledge.horizon() as f64 * (knowledge.reward_range()[0] - knowledge.interventions().cost_range()[1]);
    let mut found = [0.0; 5];
    for with in [false, true] {
        let mut agent = learner.parse::<LearnerSpec>()?.learner(arena.world(), episodes, seed)?;
        if with {
            let value_s = &value_s[..arena.world().n_states()];
            agent.keep_baseline(&today, alpha, known.then_some(value_s))?;
        }
        let (mut side, mut broken, mut regret) = (0.0, false, 0.0);
        let mut run = arena.run(seed);
        for _ in 0..episodes {
            let e = run.episode(&mut agent);
            // With a given value the promise is of values where episodes start, otherwise of their means.
            let [worth, own] = match known {
                true => [arena.best().value(0, e.start) - e.regret, value_s[e.start]],
                false => [run.value_of_judged().ok_or("a learner tells its policy")?, value],
            };
            side += worth - floor - (1.0 - alpha) * (own - floor);
            regret += e.regret;
            broken |= side < -1e-9;
        }
        found[usize::from(with)] = regret;
        found[3 + usize::from(with)] = f64::from(u8::from(broken));
        if let Some(report) = agent.baseline() {
            found[2] = report.fell_back as f64;
        }
    }
    Ok(found)
}

/// A world of the paper's, or one with scopes of a single key variable each.
fn drawn(world: &str, seed: u64) -> Result<World, Box<dyn std::error::Error>> {
    let mut spec: WorldSpec = worlds::Paper { seed, ..Default::default() }.spec()?;
    if world == "sparse" {
        for i in 0..spec.transitions.len() {
            let (transition, reward) = (&mut spec.transitions[i], &mut spec.rewards[i]);
            transition.parents = vec![transition.parents[0].clone(), transition.parents[i + 1].clone()];
            reward.scope = vec![reward.scope[0].clone(), reward.scope[i + 1].clone()];
            if let (Form::Table(next), RewardForm::Table(pays)) = (&mut transition.form, &mut reward.form) {
                // Of the eight rows of a value of the factor, those in which the other key variables have their first value.
                let rows = [0, 4 >> i, 8, 8 + (4 >> i)];
                *next = rows.iter().flat_map(|&row| [next[2 * row], next[2 * row + 1]]).collect();
                *pays = rows.iter().map(|&row| pays[row]).collect();
            }
        }
    }
    Ok(World::new(spec)?)
}
