//! A treatment plan learned safely: today's policy is a floor, and the graph that the learner is given lacks an arrow.
//!
//! `cargo run --release -p dowise --example safely [RUNS [EPISODES]]` prints the table of docs/guide/safe-learning.md. In truth a diuretic harms the
//! kidney past all that is measured; the learner is given that it acts through blood pressure alone. Today everybody gets a low dose of
//! the blocker, walks, and sleeps for eight hours. Each row is a mean over runs; `broken` counts those in which the promise was broken after some episode, by exact values
//! in the true world.

#![allow(clippy::print_stdout)] // a study prints its result

use dowise::{Action, Agent, Arena, LearnerSpec, World, worlds};

type Failure = Box<dyn std::error::Error>;

const ALPHA: f64 = 0.05;

fn main() -> Result<(), Failure> {
    let number = |i: usize, usual: u64| std::env::args().nth(i).map_or(Ok(usual), |text| text.parse());
    let (runs, episodes) = (number(1, 10)?, number(2, 3000)?);
    let text = worlds::text("treatment", &[])?;
    let declared = World::from_toml(&text, "treatment.toml")?;
    let truth = World::from_toml(&with_arrow(&text)?, "truth.toml")?;
    let arena = Arena::new(&truth)?;
    let usual = truth.read_action(&[("blocker", "low dose"), ("exercise", "walking"), ("sleep", "8 h")].into())?;
    let today = vec![usual; truth.horizon() * truth.n_states()];
    let (best, own) = (arena.optimal(), arena.value_of(&today)?);
    println!(
        "Today's policy is worth {own:.3}, the best {best:.3}, interventions at random {:.3}.\n",
        arena.at_random().0
    );
    println!("| learner | baseline | regret | episodes of the baseline | arrow added in episode | learned | broken |");
    println!("|---|---|--:|--:|--:|--:|--:|");
    for learner in ["graph-psrl", "graph-psrl:guard=true"] {
        for with in [false, true] {
            let (mut sum, mut broken, mut found) = ([0.0; 3], 0, Vec::new());
            for seed in 1..=runs {
                let mut agent = learner.parse::<LearnerSpec>()?.learner(&declared, episodes, seed)?;
                if with {
                    agent.keep_baseline(&today, ALPHA, None)?;
                }
                let (mut run, mut side, mut least) = (arena.run(seed), 0.0, 0.0f64);
                let mut last: (Vec<Action>, f64) = (Vec::new(), 0.0);
                for _ in 0..episodes {
                    agent.begin_episode();
                    let policy = agent.policy().ok_or("a policy")?;
                    if last.0 != policy {
                        last = (policy.to_vec(), arena.value_of(policy)?);
                    }
                    // Begun already: the run goes on with this episode.
                    sum[0] += run.episode(&mut Begun(&mut agent)).regret;
                    let floor = least_of(&truth);
                    side += last.1 - floor - (1.0 - ALPHA) * (own - floor);
                    least = least.min(side);
                }
                broken += u64::from(least < -1e-9);
                sum[1] += agent.baseline().map_or(0.0, |kept| kept.fell_back as f64);
                sum[2] += (arena.value_of(agent.learned_policy().actions())? - own) / (best - own);
                found.extend(agent.amendments().first().map(|a| a.episode));
            }
            let mean = |i: usize| sum[i] / runs as f64;
            found.sort_unstable();
            println!(
                "| `{learner}` | {} | {:.1} | {:.0} | {} | {:.0} % | {broken} of {runs} |",
                if with { "kept" } else { "none" },
                mean(0),
                mean(1),
                found.get(found.len() / 2).map_or("-".to_owned(), |e| format!("{e} ({} of {runs})", found.len())),
                100.0 * mean(2),
            );
        }
    }
    Ok(())
}

/// The treatment plan in which a diuretic acts on the kidney directly.
fn with_arrow(text: &str) -> Result<String, Failure> {
    let scope = "scope = [\"kidney\", \"heart\", \"pressure\"]\nnext.rows = [\n";
    if !text.contains(scope) {
        return Err("the kidney's scope is not where it was".into());
    }
    let harm = "scope = [\"kidney\", \"heart\", \"pressure\", \"diuretic\"]\nnext.rows = [\n  \
                { when = { diuretic = \"strong\" }, shift = { \"0\" = 0.5, \"1\" = 0.5 } },\n  \
                { when = { diuretic = \"mild\" }, shift = { \"0\" = 0.7, \"1\" = 0.3 } },\n";
    Ok(text.replace(scope, harm))
}

/// The least that an episode can pay.
fn least_of(world: &World) -> f64 {
    world.horizon() as f64 * (world.reward_range()[0] - world.interventions().cost_range()[1])
}

/// An agent whose episode has begun already.
struct Begun<'a>(&'a mut dowise::Learner);

impl Agent for Begun<'_> {
    fn begin_episode(&mut self) {}

    fn act(&mut self, stage: usize, state: usize) -> Action {
        self.0.act(stage, state)
    }

    fn observe(&mut self, observation: &dowise::Observation<'_>) {
        self.0.observe(observation);
    }

    fn end_episode(&mut self) {
        self.0.end_episode();
    }

    fn policy(&mut self) -> Option<&[Action]> {
        self.0.policy()
    }
}
