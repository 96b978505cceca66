//! `dowise evaluate`: what a policy would have been worth, from a log.

mod json;
mod picture;
mod report;

use std::path::PathBuf;

use dowise::World;
use dowise::offline::fit::{FitOptions, Fitting};
use dowise::offline::{OfflineError, OfflineOptions, Starts, Support, calibrate, evaluate};

use crate::output::{Failure, Output, Status};
use crate::table::count;
use crate::{logfile, policy_file, render, worldfile};

/// Say what a policy would have been worth, from a log of what others did
///
/// By the model that the log gives (posterior mean and interval), guaranteed by confidence sets, and doubly robust as a
/// check that trusts the model less; beside it what those who were logged are worth. Refuses where the policy needs to
/// know what the log never saw.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The world file: its graph, forms and ranges count; its numbers only where they are kept.
    world: PathBuf,
    /// The log: CSV, one row for each step, `.gz` or not.
    log: PathBuf,
    /// The policy, as `dowise plan --json`, `dowise plan --safe --policy` or `dowise learn --policy` writes it.
    #[arg(long, value_name = "POLICY.json")]
    policy: PathBuf,
    #[command(flatten)]
    reading: Reading,
    /// Answer even where the log never saw what the policy needs to know: the prior decides there.
    #[arg(long)]
    allow_unsupported: bool,
    /// Draw predictions against what was observed, as .svg or .png; the returns go beside it as NAME-returns.
    #[arg(long, value_name = "FILE")]
    draw: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// How a log is read and what is promised.
#[derive(clap::Args)]
pub(crate) struct Reading {
    /// Numbers that stay as the world file gives them: names of variables or reward terms, or `mechanisms`, `transitions`,
    /// `rewards`.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    keep: Vec<String>,
    /// Renames columns and values of the log, and cuts numbers into bins.
    #[arg(long, value_name = "MAP.toml")]
    map: Option<PathBuf>,
    /// Where episodes start: as those of the log, or as the world says.
    #[arg(long, value_enum, default_value_t, value_name = "WHERE")]
    start: StartOf,
    /// Probability with which the guaranteed bounds, all together, may fail.
    #[arg(long, value_name = "P", default_value_t = 0.05)]
    delta: f64,
    /// Samples of the posterior.
    #[arg(long, value_name = "N", default_value_t = 400)]
    samples: u32,
    /// Weight of the prior of each row of a table, in visits.
    #[arg(long, value_name = "VISITS", default_value_t = 2.0)]
    prior: f64,
    /// Seed of the samples.
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    seed: u64,
}

#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum StartOf {
    /// As those of the log, which are a sample.
    #[default]
    Log,
    /// As the world file says.
    World,
}

impl Reading {
    pub(crate) fn options(&self, world: &World) -> OfflineOptions {
        let starts = match self.start {
            StartOf::Log => Starts::Log,
            StartOf::World => Starts::Given(world.start().clone()),
        };
        let (prior, delta, samples, seed) = (self.prior, self.delta, self.samples, self.seed);
        OfflineOptions { prior, delta, samples, seed, starts, ..OfflineOptions::default() }
    }

    /// Whether anything is said that only the reading of a log needs.
    pub(crate) fn log_only(&self) -> Option<&'static str> {
        if !self.keep.is_empty() {
            Some("--keep")
        } else if self.map.is_some() {
            Some("--map")
        } else {
            None
        }
    }

    /// The episodes of a log, counted for a world, and the world as it is counted for.
    pub(crate) fn episodes(
        &self,
        world: &World,
        log: &std::path::Path,
        output: &Output,
    ) -> Result<(World, dowise::offline::Episodes), Failure> {
        let options = FitOptions { keep: self.keep.clone(), ..FitOptions::default() };
        let fitting = Fitting::new(world, options).map_err(|e| Failure::Usage(e.to_string()))?;
        let (world, told) = (fitting.world().clone(), fitting.told().clone());
        let episodes = logfile::episodes(log, self.map.as_deref(), &world, &told, output)?;
        Ok((world, episodes))
    }
}

const EXAMPLES: &str = "\
Examples:
  dowise evaluate clinic.toml records.csv --policy policy.json
  dowise evaluate clinic.toml records.csv --policy policy.json --keep rewards --draw calibration.svg
  dowise evaluate clinic.toml records.csv --policy policy.json --start world --delta 0.1

Exit status: 0 answered, 1 the log does not say what the policy needs, 2 wrong usage, 3 could not read or write.";

/// Share of episodes that may pass through what the log never saw.
pub(crate) const NOTABLE: f64 = 0.01;

/// Rows named in a refusal.
const NAMED: usize = 10;

pub(crate) fn run(args: Args, output: &Output) -> Result<Status, Failure> {
    let pictures = args.draw.as_deref().map(picture::Pictures::from_name).transpose()?;
    let world = worldfile::read(&args.world)?.world.map_err(|error| {
        render::problems(&error, output);
        Failure::Shown
    })?;
    let policy = policy_file::read(&args.policy, &world)?;
    let options = args.reading.options(&world);
    let (world, log) = args.reading.episodes(&world, &args.log, output)?;
    let found = evaluate(&log, &policy, &options).map_err(failure)?;
    if let Some(pictures) = &pictures {
        let calibration = calibrate(&log, options.prior).map_err(|e| failure(e.into()))?;
        pictures.draw(&world, &calibration, output)?;
    }
    let refused = found.support.share > NOTABLE && !args.allow_unsupported;
    if args.json {
        output.json(&json::evaluated(&args.log, &args.policy, &log, &options, &found, refused))?;
    }
    if refused {
        for line in unsupported(&found.support) {
            output.error(line);
        }
        output.talk("collect episodes that do this, choose another policy, or --allow-unsupported: the prior then decides there");
        return Ok(Status::No);
    }
    if !args.json {
        output.data(report::report(&world, &log, &options, &found, output))?;
    }
    Ok(Status::Fine)
}

/// What the log never saw and a policy needs, one line each.
pub(crate) fn unsupported(support: &Support) -> Vec<String> {
    let share = |p: f64| format!("{:.1} %", 100.0 * p);
    let mut lines =
        vec![format!("{} of the policy's episodes pass through what the log never saw:", share(support.share))];
    let rows = support.rows.iter().take(NAMED);
    lines.extend(rows.map(|row| format!("never seen: {row}, in {} of episodes", share(row.share))));
    if support.rows.len() > NAMED {
        lines.push(format!("and {} more", count((support.rows.len() - NAMED) as u64)));
    }
    lines
}

pub(crate) fn failure(error: OfflineError) -> Failure {
    Failure::Usage(error.to_string())
}
