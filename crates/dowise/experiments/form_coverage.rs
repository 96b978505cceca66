//! Mechanisms whose form is stated rightly, with effects of different sizes: coverage of fitted intervals and of plans'
//! values, and learners by the form beside learners by tables. The tables of `docs/results.md`.
//!
//! `cargo run --release -p dowise --example form_coverage -- [LOGS [SEEDS of learners]]`

#![allow(clippy::print_stdout)] // a study prints its result

use dowise::data::LogStep;
use dowise::offline::fit::{FitOptions, FitPart, Fitting};
use dowise::offline::{Episodes, OfflineOptions, Recommendation, plan_safely};
use dowise::simulate::Outcome;
use dowise::{Arena, LearnerSpec, Observation, Planner, Simulator, World};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

type Outcomes<T> = Result<T, Box<dyn std::error::Error>>;

/// Standard deviations of effects, in log-odds.
const SIZES: [f64; 3] = [0.5, 1.5, 3.0];

/// Parents of the key variable: name and values.
const PARENTS: [(&str, usize); 4] = [("s", 2), ("a", 2), ("b", 3), ("c", 2)];

fn main() -> Outcomes<()> {
    let given: Vec<u64> = std::env::args().skip(1).map(|a| a.parse()).collect::<Result<_, _>>()?;
    let (logs, seeds) = (given.first().copied().unwrap_or(200), given.get(1).copied().unwrap_or(20));
    println!("{logs} logs each, interventions drawn uniformly; intervals at 95 %");
    println!("| effects, sd | rows | P(y \\| parents) | value of the plan | recommended | harmful |");
    println!("|--:|--:|--:|--:|--:|--:|");
    for size in SIZES {
        for rows in [100, 500, 2000] {
            coverage(size, rows, logs)?;
        }
    }
    println!(
        "\n{seeds} worlds each, 1,000 episodes; mean regret (worst), and worlds whose learned policy is not the best"
    );
    println!("| effects, sd | learner | by the form | not best | as a table | not best | ratio |");
    println!("|--:|---|--:|--:|--:|--:|--:|");
    for size in SIZES {
        for learner in ["graph-psrl", "graph-ucbvi"] {
            learners(size, learner, seeds)?;
        }
    }
    Ok(())
}

/// A world of one step: whether y, by an additive logit of a state factor and three levers.
fn world(size: f64, seed: u64) -> Outcomes<World> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut rng) };
    let mut effects = String::new();
    for (name, values) in PARENTS {
        let of_value = (1..values).map(|v| format!("\"{v}\" = {:.6}", size * normal()));
        effects += &format!("logit.effects.{name} = {{ {} }}\n", of_value.collect::<Vec<_>>().join(", "));
    }
    let base = normal();
    let variables = PARENTS[1..].iter().map(|(name, values)| format!("[lever.{name}]\nvalues = {values}\n"));
    let levers: String = variables.collect();
    let text = format!(
        "dowise = 1\nname = \"form\"\nhorizon = 1\n[state.s]\nvalues = 2\nscope = [\"s\"]\nnext.rows = [{{ same_as = \"s\" }}]\n\
         start = [0.5, 0.5]\n{levers}[key.y]\nvalues = [\"no\", \"yes\"]\nparents = [\"s\", \"a\", \"b\", \"c\"]\n\
         logit.base = {base:.6}\n{effects}[reward.r]\nscope = [\"y\"]\nvalue = [0, 1]\n[interventions]\nset = \"all\"\n"
    );
    Ok(World::from_toml(&text, "form.toml")?)
}

fn coverage(size: f64, rows: u64, logs: u64) -> Outcomes<()> {
    let (mut of_rows, mut of_values, mut recommended, mut harmful) = ([0u64; 2], [0u64; 2], 0, 0);
    for seed in 0..logs {
        let world = world(size, 1000 + seed)?;
        let keep = FitOptions { keep: vec!["rewards".into()], ..FitOptions::default() };
        let mut fitting = Fitting::new(&world, keep)?;
        let mut log = Episodes::of_fit(&fitting, 5)?;
        let today = simulate(&world, rows, seed, &mut fitting, &mut log)?;
        let truth = world.mechanisms()[0].table.clone().ok_or("the world has all numbers")?;
        let fitted = fitting.fit()?;
        let tables = fitted.report().tables.iter().filter(|table| table.part == FitPart::Mechanism);
        for (row, truth) in tables.flat_map(|table| &table.rows).zip(truth.chunks_exact(2)) {
            of_rows[1] += 1;
            of_rows[0] += u64::from(row.low[1] <= truth[1] + 1e-12 && truth[1] <= row.high[1] + 1e-12);
        }
        let plan = plan_safely(&log, &OfflineOptions { seed, ..OfflineOptions::default() })?;
        // Starts count as those of the log.
        let value = |policy: &[dowise::Action]| -> Outcomes<f64> {
            let by_state = Planner::new(&world)?.evaluate(policy)?;
            Ok(today.starts.iter().zip(&by_state).map(|(share, v)| share * v).sum())
        };
        let of_plan = value(&plan.mean.policy_hs)?;
        of_values[1] += 1;
        let interval = plan.mean.model.posterior;
        of_values[0] += u64::from(interval.low <= of_plan && of_plan <= interval.high);
        if matches!(plan.recommendation, Recommendation::DeployMean | Recommendation::DeployPessimistic) {
            recommended += 1;
            harmful += u64::from(value(&plan.recommended().policy_hs)? < today.truth);
        }
    }
    let share = |[held, all]: [u64; 2]| held as f64 / all as f64;
    println!(
        "| {size} | {rows} | {:.3} of {} | {:.3} of {} | {recommended} | {harmful} |",
        share(of_rows),
        of_rows[1],
        share(of_values),
        of_values[1]
    );
    Ok(())
}

/// The behaviour policy of a log.
struct Today {
    /// Its true value for the starts of the log.
    truth: f64,
    /// Shares of the starting states.
    starts: Vec<f64>,
}

fn simulate(world: &World, rows: u64, seed: u64, fitting: &mut Fitting, log: &mut Episodes) -> Outcomes<Today> {
    let knowledge = fitting.knowledge().clone();
    let simulator = Simulator::new(world)?;
    let [mut starts, mut rng] = Simulator::streams(seed);
    let mut outcome = Outcome::default();
    let mut n_s = vec![0.0; world.n_states()];
    for episode in 0..rows {
        let state = simulator.start(&mut starts);
        n_s[state] += 1.0;
        let action = simulator.any_allowed(state, &mut rng);
        simulator.step(state, action, &mut rng, &mut outcome);
        let y = world.variable(world.keys()[0]).values[outcome.values[world.keys()[0].ix()] as usize].clone();
        let step = Observation::at(&knowledge, 0, state)?
            .did_action(&knowledge, action)?
            .saw(&knowledge, [("y", y.as_str())])?
            .then(&knowledge, outcome.next_state)?;
        let step = LogStep::new(episode, step);
        fitting.add(&step)?;
        log.add(&[step])?;
    }
    let all = world.interventions();
    let planner = Planner::new(world)?;
    let values = (0..all.count()).map(|rank| planner.evaluate(&vec![all.nth(rank); world.n_states()]));
    let values = values.collect::<Result<Vec<_>, _>>()?;
    let shares: Vec<f64> = n_s.iter().map(|n| n / rows as f64).collect();
    let of = |values: &Vec<f64>| -> f64 { shares.iter().zip(values).map(|(share, v)| share * v).sum() };
    let truth = values.iter().map(of).sum::<f64>() / values.len() as f64;
    Ok(Today { truth, starts: shares })
}

fn learners(size: f64, learner: &str, seeds: u64) -> Outcomes<()> {
    let mut found = Vec::new();
    for forms in ["true", "false"] {
        let spec: LearnerSpec = format!("{learner}:unknown=kernel,forms={forms}").parse()?;
        let (mut regrets, mut not_best) = (Vec::new(), 0);
        for seed in 0..seeds {
            let world = world(size, 5000 + seed)?;
            let arena = Arena::new(&world)?;
            let mut learner = spec.learner(&world, 1000, seed)?;
            let mut run = arena.run(seed);
            let regret: f64 = (0..1000).map(|_| run.play(&mut learner, true).regret).sum();
            regrets.push(regret);
            let learned = arena.value_of(learner.learned_policy().actions())?;
            // A hundredth of the distance to random interventions.
            let (best, random) = (arena.optimal(), arena.at_random().0);
            not_best += u64::from(best - learned > 0.01 * (best - random).max(1e-9));
        }
        found.push((regrets, not_best));
    }
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let worst = |of: &[f64]| of.iter().copied().fold(0.0, f64::max);
    let [(form, of_form), (table, of_table)] = &found[..] else { return Err("two kinds".into()) };
    println!(
        "| {size} | `{learner}` | {:.1} ({:.1}) | {of_form} | {:.1} ({:.1}) | {of_table} | {:.2} |",
        mean(form),
        worst(form),
        mean(table),
        worst(table),
        mean(form) / mean(table)
    );
    Ok(())
}
