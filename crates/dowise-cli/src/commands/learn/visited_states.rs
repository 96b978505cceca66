//! `dowise learn` evaluated by Monte Carlo: learning from the states met, with an interval for every value.

mod report;
mod saved;

use dowise::linear::VisitedStatesLearner;
use dowise::simulate::Play;
use dowise::{LearnerSpec, World};
use dowise_study::{MonteCarlo, visited_states_learner};

pub(in crate::commands) use self::saved::{saved, seed_of};

use self::report::Report;
use self::saved::SavedRun;
use super::episodes::{EPISODES, Episodes, Running};
use super::{Args, Task};
use crate::output::{Failure, Status};
use crate::{study, table};

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
            "{name} needs exact values of all {states} states, and this run is evaluated by Monte Carlo; begin one \
             with --evaluate exact"
        ),
        (false, _) => format!(
            "{name} needs all states enumerated, and there are {states}; without it the learner works from the states \
             that it meets"
        ),
    }))
}

/// A run with its learner, between two episodes.
struct MonteCarloRun<'a> {
    play: Play<'a>,
    learner: VisitedStatesLearner,
    rewards: Vec<f64>,
}

impl Running for MonteCarloRun<'_> {
    fn episode(&mut self) {
        let (_, reward) = self.play.episode(&mut self.learner);
        self.rewards.push(reward);
    }

    fn so_far(&self) -> String {
        format!("{} states met", table::count(self.learner.met() as u64))
    }
}

/// Runs a learner over visited states and evaluates its policies by simulated episodes.
pub(super) fn run(task: &Task<'_>, world: &World, learner: &str, seed: u64) -> Result<Status, Failure> {
    let (args, output) = (task.args, task.output);
    refuse(args, world)?;
    let resumed = args.resume.as_deref().map(|file| saved::read(file, world)).transpose()?;
    let spec: LearnerSpec = match &resumed {
        Some(resumed) => resumed.learner.clone(),
        None => learner.parse().map_err(|e| usage(&e))?,
    };
    let (learner, rewards) = first_learner(task, world, (&spec, seed), resumed.as_ref())?;
    let episodes = Episodes::new(args, learner.episodes(), learner.options().episodes)?;
    let monte_carlo = MonteCarlo::new(world, &args.world, seed).map_err(|e| study::failure(e, output))?;
    let mut play = Play::new(monte_carlo.simulator(), seed);
    if let Some(resumed) = &resumed {
        play.go_on(resumed.position);
    }
    output.talk(format_args!("{spec} in {}, seed {seed}", args.world));
    output.talk(table::wrapped(&why_by_play(args, world)));
    for finding in learner.findings() {
        output.talk(table::wrapped(&format!("warning: {finding}")));
    }
    let mut running = MonteCarloRun { play, learner, rewards };
    let interruption = episodes.run(&mut running, output);
    finish(task, &monte_carlo, (&spec, seed), &running)?;
    interruption.check(running.rewards.len())?;
    Ok(Status::Fine)
}

fn usage(error: &dyn std::fmt::Display) -> Failure {
    Failure::Usage(error.to_string())
}

/// The learner before the next episode, new or resumed, with the rewards of its episodes so far.
fn first_learner(
    task: &Task<'_>,
    world: &World,
    (spec, seed): (&LearnerSpec, u64),
    resumed: Option<&SavedRun>,
) -> Result<(VisitedStatesLearner, Vec<f64>), Failure> {
    let knowledge = spec.knowledge(world).map_err(|e| usage(&e))?;
    if let Some(resumed) = resumed {
        let learner = VisitedStatesLearner::restore(&knowledge, &resumed.state).map_err(|e| usage(&e))?;
        return Ok((learner, resumed.rewards.clone()));
    }
    let episodes = task.args.episodes.unwrap_or(EPISODES);
    let learner = visited_states_learner(spec, world, episodes, seed);
    Ok((learner.map_err(|e| study::failure(e, task.output))?, Vec::new()))
}

/// Saves the run and prints its report.
fn finish(
    task: &Task<'_>,
    monte_carlo: &MonteCarlo,
    (spec, seed): (&LearnerSpec, u64),
    running: &MonteCarloRun<'_>,
) -> Result<(), Failure> {
    let (args, output, MonteCarloRun { play, learner, rewards }) = (task.args, task.output, running);
    let save = |file: &std::path::Path| {
        let so_far = (play.position(), rewards.clone());
        SavedRun::new(monte_carlo.world(), (spec.clone(), seed), so_far, learner.save()).write(file, output)
    };
    // A failure to write is reported after the result is printed, so that the result is not lost.
    let written = args.save.as_deref().map_or(Ok(()), save);
    let report = Report::new(&args.world, monte_carlo, learner, (spec, seed), rewards);
    let printed = if args.json { output.json(&report) } else { output.data(report.text()) };
    written.and(printed)
}

/// Why values are estimated, and how to have exact ones.
fn why_by_play(args: &Args, world: &World) -> String {
    let states = table::count(world.n_states() as u64);
    match (world.is_enumerable(), args.evaluate.is_some() || args.resume.is_some()) {
        (false, _) => format!(
            "{states} states cannot be enumerated: it learns from those that it meets, and is evaluated by Monte Carlo"
        ),
        (true, true) => "it learns from the states that it meets, and is evaluated by Monte Carlo".into(),
        (true, false) => format!(
            "exact values of {states} states would take most of the time: it learns from those that it meets, and is \
             evaluated by Monte Carlo; --evaluate exact plans for all of them"
        ),
    }
}
