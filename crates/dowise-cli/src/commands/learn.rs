//! `dowise learn`: one learner in one world, and what it learned.

mod report;

use std::sync::atomic::Ordering;

use dowise::Run;
use dowise::learn::LearnerSpec;
use dowise_study::{Environment, StudyError, WorldChoice};

use self::report::Report;
use crate::output::{Failure, Output, Status};
use crate::progress::Progress;
use crate::{interrupt, study};

/// Let one learner learn in a world, and show what it learned
///
/// Plays episode after episode in the simulated world and judges every policy exactly. At the end: regret, what the
/// learned policy is worth beside the best one and doing things at random, and what it does where it matters most.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A world file, or a ready-made world such as deep-sea:size=6.
    world: String,
    /// The learner; options behind a colon. `--learner help` lists them.
    #[arg(long, value_name = "LEARNER", default_value = "graph-psrl")]
    learner: String,
    /// Number of episodes.
    #[arg(long, value_name = "K", default_value_t = 1000)]
    episodes: u64,
    /// Seed of everything random, of a generated world too if it has none.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Rows of the table of what was learned.
    #[arg(long, value_name = "N", default_value_t = 12)]
    rows: usize,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  dowise learn river-swim
  dowise learn campaign.toml --learner graph-psrl --episodes 2000
  dowise learn paper:levels=3 --learner c-ucbvi:width=rlberry,cap=horizon --seed 7
  dowise learn treatment --learner cf-ucbvi:unknown=kernel+rewards
  dowise learn paper --learner help";

pub(crate) fn run(args: Args, output: &Output) -> Result<Status, Failure> {
    if args.learner == "help" {
        output.data(report::learners(output))?;
        return Ok(Status::Fine);
    }
    let fail = |e: StudyError| study::failure(e, output);
    let spec: LearnerSpec = args.learner.parse().map_err(|e| fail(StudyError::Learner(e)))?;
    if args.episodes == 0 {
        return Err(Failure::Usage("--episodes 0: a run needs at least one episode".into()));
    }
    let choice = WorldChoice::read(&args.world);
    let environment = Environment::new(&choice, args.seed).map_err(fail)?;
    let made = spec.agent(environment.world(), args.episodes, args.seed);
    let mut agent = made.map_err(|source| {
        fail(StudyError::Learn { learner: spec.to_string(), world: choice.to_string(), source: source.into() })
    })?;

    output.talk(format_args!("{spec} in {choice}, seed {}", args.seed));
    let stop = interrupt::flag();
    let progress = Progress::new(output, args.episodes, "episodes");
    let mut run = Run::new(&environment.simulator, &environment.planner, &environment.best.value_hs, args.seed);
    let (mut regrets, mut reward) = (Vec::new(), 0.0);
    let mut total = 0.0;
    run.episodes(args.episodes, agent.as_mut(), |episode| {
        total += episode.regret;
        reward += episode.reward;
        regrets.push(episode.regret);
        if episode.number % 16 == 0 {
            progress.set(episode.number, || format!("regret {total:.1}"));
        }
        if stop.load(Ordering::Relaxed) {
            std::ops::ControlFlow::Break(())
        } else {
            std::ops::ControlFlow::Continue(())
        }
    });
    progress.finish();
    // A policy is one of an episode: the one that would be followed next has learned from all of them.
    agent.begin_episode();
    let report = Report::new(&environment, &spec, agent.as_mut(), &regrets, reward, args.seed, args.rows);
    if args.json {
        output.json(&report)?;
    } else {
        output.data(report.text(output))?;
    }
    if stop.load(Ordering::Relaxed) {
        let message =
            format!("interrupted after {} of {} episodes; this is what was learned", regrets.len(), args.episodes);
        return Err(Failure::Interrupted(message));
    }
    Ok(Status::Fine)
}
