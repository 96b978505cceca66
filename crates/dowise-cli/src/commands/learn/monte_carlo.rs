//! A run that is evaluated by Monte Carlo: learning from the states met, with an interval for every value.

use std::path::Path;

use dowise::linear::LinearLearner;
use dowise::simulate::Play;
use dowise::{LearnerSpec, World};
use dowise_study::{MonteCarlo, visited_states_learner};

use super::program::{self, EPISODES, Episodes, Running};
use super::report::{self, Found, Report};
use super::saved::SavedMonteCarlo;
use super::{Args, Task};
use crate::output::{Failure, Output, Status};
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
    judge: &'a MonteCarlo,
    spec: LearnerSpec,
    seed: u64,
    play: Play<'a>,
    learner: LinearLearner,
    rewards: Vec<f64>,
}

impl Running for MonteCarloRun<'_> {
    fn of(&self) -> (&LearnerSpec, u64) {
        (&self.spec, self.seed)
    }

    fn done(&self) -> u64 {
        self.rewards.len() as u64
    }

    fn planned(&self) -> u64 {
        self.learner.options().episodes
    }

    fn beginning(&self, task: &Task<'_>, _: &Episodes) -> Vec<String> {
        let why = why_by_play(task.args, self.judge.world());
        let features = self.learner.findings().into_iter().map(|finding| format!("warning: {finding}"));
        std::iter::once(why).chain(features).map(|line| table::wrapped(&line)).collect()
    }

    fn episode(&mut self) {
        let (_, reward) = self.play.episode(&mut self.learner);
        self.rewards.push(reward);
    }

    fn so_far(&self) -> String {
        format!("{} states met", table::count(self.learner.met() as u64))
    }

    fn save(&mut self, file: &Path, output: &Output) -> Result<(), Failure> {
        let so_far = (self.play.position(), self.rewards.clone());
        let (world, of) = (self.judge.world(), (self.spec.clone(), self.seed));
        SavedMonteCarlo::new(world, of, so_far, self.learner.save()).write(file, output)
    }

    fn result(&self, task: &Task<'_>) -> (Report, Result<(), Failure>) {
        let found = report::MonteCarlo::new(self.judge, &self.learner, &self.rewards);
        let (world, found) = ((task.args.world.as_str(), self.judge.world()), Found::MonteCarlo(Box::new(found)));
        (Report::new(world, self.of(), self.done(), found), Ok(()))
    }
}

/// Runs a learner over visited states and evaluates its policies by simulated episodes.
pub(super) fn run(
    task: &Task<'_>,
    world: &World,
    (learner, seed): (&str, u64),
    resumed: Option<&SavedMonteCarlo>,
) -> Result<Status, Failure> {
    refuse(task.args, world)?;
    let spec: LearnerSpec = match resumed {
        Some(resumed) => resumed.learner.clone(),
        None => learner.parse().map_err(|e| usage(&e))?,
    };
    let (learner, rewards) = match resumed {
        Some(resumed) => (resumed.learner(world)?, resumed.rewards.clone()),
        None => {
            let episodes = task.args.episodes.unwrap_or(EPISODES);
            let learner = visited_states_learner(&spec, world, episodes, seed);
            (learner.map_err(|e| study::failure(e, task.output))?, Vec::new())
        }
    };
    let judge = MonteCarlo::new(world, &task.args.world, seed).map_err(|e| study::failure(e, task.output))?;
    let mut play = Play::new(judge.simulator(), seed);
    if let Some(resumed) = resumed {
        play.go_on(resumed.position);
    }
    program::run(task, MonteCarloRun { judge: &judge, spec, seed, play, learner, rewards })
}

fn usage(error: &dyn std::fmt::Display) -> Failure {
    Failure::Usage(error.to_string())
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
