//! `dowise learn` evaluated by Monte Carlo: learning from the states met, with an interval for every value.

use std::path::Path;
use std::sync::atomic::Ordering;

use dowise::linear::VisitedStatesLearner;
use dowise::simulate::{Estimate, Play, Position};
use dowise::{LearnerSpec, World};
use dowise_study::{
    Evaluation, MONTE_CARLO_EPISODES, MonteCarlo, percent, read_text_file, seal, seal_fault, visited_states_learner,
    world_fingerprint, write_file,
};
use serde::{Deserialize, Serialize};

use super::{Args, EPISODES, within_limit};
use crate::output::{Failure, Output, Status};
use crate::progress::Progress;
use crate::{interrupt, study, table};

/// Bytes of the largest saved run: 1 GiB.
const MOST_SAVED: u64 = 1 << 30;

/// A run as a file.
#[derive(Serialize, Deserialize)]
struct SavedRun {
    format: String,
    learner: LearnerSpec,
    seed: u64,
    position: Position,
    rewards: Vec<f64>,
    world: String,
    state: String,
}

/// Runs of format 1 had no checksum.
const FORMAT: &str = "dowise unlisted run 2";

/// A mean with its interval.
#[derive(Serialize)]
struct Interval {
    mean: f64,
    half_width: f64,
}

impl From<Estimate> for Interval {
    fn from(estimate: Estimate) -> Interval {
        Interval { mean: estimate.mean, half_width: estimate.half }
    }
}

#[derive(Serialize)]
struct Report {
    schema: &'static str,
    world: String,
    states: usize,
    /// How policies are evaluated: here always by playing.
    evaluation: Evaluation,
    learner: String,
    episodes: usize,
    seed: u64,
    plans: u64,
    states_met: usize,
    /// Mean reward of an episode over the last tenth of them, while learning.
    reward_at_the_end: Interval,
    /// Expected reward of an episode, by playing: learned policy, the plan by sampled states, at random.
    learned: Interval,
    sampled_plan: Interval,
    uniform: Interval,
    /// What the plan by sampled states has over the learned policy, in pairs of episodes with the same random numbers.
    lost: Interval,
    /// The share of the way from random to that plan; missing where play does not tell these two apart.
    share: Option<f64>,
    /// Whether `--evaluation exact` could give exact values: states can be enumerated.
    exact_possible: bool,
    /// The most that a step paid, and the most that one can pay, where that was never seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    never_paid: Option<[f64; 2]>,
    /// What contradicts the fit, if anything does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    doubts: Vec<String>,
}

/// The first of the options that list states, or need exact values.
pub(super) fn needs_list(args: &Args) -> Option<&'static str> {
    let listing = [
        ("--from", args.from.is_some()),
        ("--evidence", args.evidence.is_some()),
        ("--assumed", args.assumed.is_some()),
        ("--baseline", args.baseline.is_some()),
        ("--policy", args.policy.is_some()),
        ("--until", args.until.is_some()),
        ("--certify", args.certify),
        ("--draw", args.draw.is_some()),
    ];
    listing.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
}

/// Refuses options that list states, by name.
fn refuse(args: &Args, world: &World) -> Result<(), Failure> {
    let Some(name) = needs_list(args) else { return Ok(()) };
    let states = table::count(world.n_states() as u64);
    Err(Failure::Usage(match (world.is_enumerable(), args.resume.is_some()) {
        (true, false) => format!("{name} needs exact values of all {states} states; leave --evaluate monte-carlo out"),
        (true, true) => format!(
            "{name} needs exact values of all {states} states, and this run is evaluated by Monte Carlo; begin one with --evaluate exact"
        ),
        (false, _) => format!(
            "{name} needs all states enumerated, and there are {states}; without it the learner works from the states that it meets"
        ),
    }))
}

pub(super) fn run(args: &Args, world: &World, named: &str, seed: u64, output: &Output) -> Result<Status, Failure> {
    refuse(args, world)?;
    let usage = |e: &dyn std::fmt::Display| Failure::Usage(e.to_string());
    let saved = args.resume.as_deref().map(|file| read(file, world)).transpose()?;
    let spec: LearnerSpec = match &saved {
        Some(saved) => saved.learner.clone(),
        None => named.parse().map_err(|e| usage(&e))?,
    };
    let knowledge = spec.knowledge(world).map_err(|e| usage(&e))?;
    let (mut learner, mut rewards) = match &saved {
        Some(saved) => {
            (VisitedStatesLearner::restore(&knowledge, &saved.state).map_err(|e| usage(&e))?, saved.rewards.clone())
        }
        None => {
            let episodes = args.episodes.unwrap_or(EPISODES);
            let learner =
                visited_states_learner(&spec, world, episodes, seed).map_err(|e| study::failure(e, output))?;
            (learner, Vec::new())
        }
    };
    // Those that the run was meant to have.
    let episodes = args.episodes.unwrap_or(learner.options().episodes);
    within_limit(episodes)?;
    let monte_carlo = MonteCarlo::new(world, &args.world, seed).map_err(|e| study::failure(e, output))?;
    let mut play = Play::new(monte_carlo.simulator(), seed);
    if let Some(saved) = &saved {
        play.go_on(saved.position);
    }
    let done = learner.episodes();
    if episodes <= done {
        let message = format!("the run has had {done} episodes; --episodes is their number in all, so ask for more");
        return Err(Failure::Usage(message));
    }
    output.talk(format_args!("{spec} in {}, seed {seed}", args.world));
    output.talk(table::wrapped(&why_by_play(args, world)));
    for finding in learner.findings() {
        output.talk(table::wrapped(&format!("warning: {finding}")));
    }
    let stop = interrupt::flag();
    let progress = Progress::after(output, done, episodes, "episodes");
    for number in done..episodes {
        rewards.push(play.episode(&mut learner).1);
        if number % 16 == 0 {
            progress.set(number, || format!("{} states met", table::count(learner.met() as u64)));
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    progress.finish();
    let written = args.save.as_deref().map_or(Ok(()), |file| {
        let saved = SavedRun {
            format: FORMAT.to_owned(),
            learner: spec.clone(),
            seed,
            position: play.position(),
            rewards: rewards.clone(),
            world: world_fingerprint(world),
            state: learner.save(),
        };
        let text = serde_json::to_string(&saved).expect("invariant: names and numbers can be written");
        let open = text.strip_suffix('}').expect("invariant: a struct is written as an object");
        let text = format!("{}}}\n", seal(open));
        write_file(file, text.as_bytes()).map_err(|e| study::failure(e, output))?;
        output.talk(format_args!("saved as {}", file.display()));
        Ok(())
    });
    let report = report(args, &monte_carlo, &learner, (&spec, seed), &rewards);
    let printed = if args.json { output.json(&report) } else { output.data(text(&report)) };
    written.and(printed)?;
    if stop.load(Ordering::Relaxed) {
        let message = format!("interrupted after {} of {episodes} episodes; this is what was learned", rewards.len());
        return Err(Failure::Interrupted(message));
    }
    Ok(Status::Fine)
}

/// Why values are estimated, and how to have exact ones.
fn why_by_play(args: &Args, world: &World) -> String {
    let states = table::count(world.n_states() as u64);
    match (world.is_enumerable(), args.evaluate.is_some() || args.resume.is_some()) {
        (false, _) => {
            format!(
                "{states} states cannot be enumerated: it learns from those that it meets, and is evaluated by Monte Carlo"
            )
        }
        (true, true) => "it learns from the states that it meets, and is evaluated by Monte Carlo".into(),
        (true, false) => format!(
            "exact values of {states} states would take most of the time: it learns from those that it meets, and is evaluated by Monte Carlo; \
             --evaluate exact plans for all of them"
        ),
    }
}

fn report(
    args: &Args,
    monte_carlo: &MonteCarlo,
    learner: &VisitedStatesLearner,
    (spec, seed): (&LearnerSpec, u64),
    rewards: &[f64],
) -> Report {
    let evaluated = monte_carlo.evaluate(&mut learner.learned_policy());
    let last = &rewards[rewards.len() - (rewards.len() / 10).max(1)..];
    Report {
        schema: "dowise-learn-unlisted/1",
        world: args.world.clone(),
        states: monte_carlo.world().n_states(),
        evaluation: Evaluation::MonteCarlo,
        learner: spec.to_string(),
        episodes: rewards.len(),
        seed,
        plans: learner.plans(),
        states_met: learner.met(),
        reward_at_the_end: Estimate::of(last.iter().copied(), monte_carlo.world().return_range()).into(),
        learned: evaluated.learned.into(),
        sampled_plan: evaluated.best.into(),
        uniform: evaluated.random.into(),
        lost: evaluated.lost.into(),
        share: evaluated.reached(),
        exact_possible: monte_carlo.world().is_enumerable(),
        never_paid: learner.unseen_reward(),
        doubts: learner.doubts().iter().map(ToString::to_string).collect(),
    }
}

fn text(report: &Report) -> String {
    let line = |what: &str, evaluated: &Interval| {
        format!("{what:<34} {:>9.4} ± {:.4}\n", evaluated.mean, evaluated.half_width)
    };
    let mut out = format!(
        "after {} episodes: {} plans, {} states met\n\n",
        table::count(report.episodes as u64),
        table::count(report.plans),
        table::count(report.states_met as u64)
    );
    out += &format!("expected reward of an episode, estimated by {MONTE_CARLO_EPISODES} episodes each\n");
    out += &line("  learned policy", &report.learned);
    out += &line("  plan by sampled states", &report.sampled_plan);
    out += &line("  at random", &report.uniform);
    out += &line("  lost against the plan (common random numbers)", &report.lost);
    out += &line("  while learning, last tenth", &report.reward_at_the_end);
    out += &match report.share {
        Some(share) => format!("{} of the way from random to that plan\n", percent(share)),
        None => {
            table::wrapped(
                "The Monte Carlo estimate does not distinguish that plan from random interventions: the difference, if any, is too rare or too small for so many episodes. What was not learned may be as rare.",
            ) + "\n"
        }
    };
    if report.exact_possible {
        out += "--evaluate exact has exact values and regret in place of estimates, and takes longer\n";
    }
    if let Some([most, payable]) = report.never_paid {
        let text = format!(
            "Warning: no step had a reward above {most}, and the world states up to {payable}: either the range is too wide, or the best outcome was never observed."
        );
        out += &format!("\n{}\n", table::wrapped(&text));
    }
    for doubt in &report.doubts {
        out += &format!("\n{}\n", table::wrapped(&format!("Warning: {doubt}.")));
    }
    out
}

fn read(file: &Path, world: &World) -> Result<SavedRun, Failure> {
    let shown = file.display();
    let text = read_text_file(file, MOST_SAVED).map_err(|e| Failure::Io(e.to_string()))?;
    if let Some(why) = seal_fault(&text).filter(|_| text.contains(FORMAT)) {
        return Err(Failure::Usage(format!("{shown}: checksum: {why}; go on from another file, or begin again")));
    }
    let saved: SavedRun = serde_json::from_str(&text).map_err(|e| {
        Failure::Usage(format!("{shown}: this is not a saved run that was evaluated by Monte Carlo: {e}"))
    })?;
    if saved.format != FORMAT {
        return Err(Failure::Usage(format!(
            "{shown}: its format is {}, and this program reads {FORMAT}",
            saved.format
        )));
    }
    if saved.world != world_fingerprint(world) {
        return Err(Failure::Usage(format!("{shown}: it was saved in another world")));
    }
    Ok(saved)
}

/// The learner of a saved run, and what it is called.
pub(in crate::commands) fn saved(file: &Path, world: &World) -> Result<(LearnerSpec, VisitedStatesLearner), Failure> {
    let saved = read(file, world)?;
    let usage = |e: &dyn std::fmt::Display| Failure::Usage(format!("{}: {e}", file.display()));
    let knowledge = saved.learner.knowledge(world).map_err(|e| usage(&e))?;
    let learner = VisitedStatesLearner::restore(&knowledge, &saved.state).map_err(|e| usage(&e))?;
    Ok((saved.learner, learner))
}

/// The seed of a saved run, which draws the world; `None` if the file is none of ours.
pub(in crate::commands) fn seed_of(file: &Path) -> Option<u64> {
    #[derive(Deserialize)]
    struct Part {
        format: String,
        seed: u64,
    }
    let text = read_text_file(file, MOST_SAVED).ok()?;
    let part: Part = serde_json::from_str(&text).ok()?;
    (part.format == FORMAT).then_some(part.seed)
}
