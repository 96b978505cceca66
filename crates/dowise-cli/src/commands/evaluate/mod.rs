//! `dowise evaluate`: what a policy would have been worth, from a log.

mod episodes;
pub(crate) mod json;
mod picture;
pub(crate) mod report;

use std::path::{Path, PathBuf};

use dowise::World;
use dowise::offline::fit::{FitOptions, Fitting, OpenQuestion};
use dowise::offline::{Episodes, OfflineError, OfflineOptions, Starts, Support, calibrate, evaluate};

use crate::log::LogArgs;
use crate::output::{Failure, Output, Status};
use crate::overwrite::{Files, Overwrite};
use crate::sensitivity::Picture;
use crate::table::count;
use crate::{missingness, policy_file, render, worldfile};

/// Estimate the value of a policy from a log of another policy
///
/// Off-policy evaluation by the model (posterior mean and interval), by guaranteed bounds (confidence sets), and doubly
/// robust, which rests less on the model; beside them the value of the behaviour policy. Refuses a policy without
/// overlap with the log.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct Args {
    /// The world file: its graph, forms and ranges are used; its numbers only for names in --keep.
    world: PathBuf,
    /// The log: CSV, one row for each step, `.gz` or not.
    log: PathBuf,
    /// The policy, as `dowise plan --json`, `dowise plan --safe --policy` or `dowise learn --policy` writes it.
    #[arg(long, value_name = "POLICY.json")]
    policy: PathBuf,
    #[command(flatten)]
    reading: Reading,
    /// Answer without overlap as well: where the log has no data, the prior decides.
    #[arg(long)]
    allow_unsupported: bool,
    /// Plot predictions against observations (calibration), as .svg or .png; returns go into NAME-returns.
    #[arg(long, value_name = "FILE")]
    draw: Option<PathBuf>,
    /// Plot the worst and the best value against the strength of unmeasured confounding (Γ), as .svg or .png.
    #[arg(long, value_name = "FILE")]
    draw_sensitivity: Option<PathBuf>,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// How a log is read and what is guaranteed.
#[derive(clap::Args)]
pub(crate) struct Reading {
    /// Use the numbers of the world file: names of variables or reward terms, or `mechanisms`, `transitions`, `rewards`.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    keep: Vec<String>,
    /// Levers that were randomised in the log, given recorded variables only: whatever the graph says, no hidden variable
    /// acted on them.
    #[arg(long, value_name = "LEVER", value_delimiter = ',')]
    randomised: Vec<String>,
    #[command(flatten)]
    log: LogArgs,
    /// Impute missing key variables from the rest of the step, next state included, by EM, instead of excluding such
    /// steps; no guaranteed bounds then.
    #[arg(long)]
    em: bool,
    /// Exclude rows of the log with errors, instead of refusing it.
    #[arg(long)]
    skip_bad: bool,
    /// Where episodes start: as those of the log, or as the world says [default: log].
    #[arg(long, value_enum, value_name = "WHERE")]
    start: Option<StartOf>,
    /// Probability with which the guaranteed bounds, all together, may fail, if whether a cell is empty depends on nothing but the
    /// state, what was done and what else was recorded before or beside it [default: 0.05].
    #[arg(long, value_name = "P")]
    delta: Option<f64>,
    /// Samples of the posterior, from 40 to 1000000 [default: 400].
    #[arg(long, value_name = "N")]
    samples: Option<u32>,
    /// Weight of the prior of each row of a table, in visits [default: 2].
    #[arg(long, value_name = "VISITS")]
    prior: Option<f64>,
    /// Seed of the samples [default: 0].
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
}

/// A log that was counted.
pub(crate) struct Counted {
    /// The world as it is counted for.
    pub(crate) world: World,
    pub(crate) episodes: Episodes,
    /// What the log cannot say, so that the numbers of the world file are taken.
    pub(crate) from_file: Vec<OpenQuestion>,
    /// What makes answers from it doubtful.
    pub(crate) warnings: Vec<String>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum StartOf {
    /// As those of the log, which are a sample.
    Log,
    /// As the world file says.
    World,
}

impl Reading {
    pub(crate) fn options(&self, world: &World) -> OfflineOptions {
        let default = OfflineOptions::default();
        OfflineOptions {
            prior: self.prior.unwrap_or(default.prior),
            delta: self.delta.unwrap_or(default.delta),
            samples: self.samples.unwrap_or(default.samples),
            seed: self.seed.unwrap_or(default.seed),
            starts: match self.start {
                None | Some(StartOf::Log) => Starts::Log,
                Some(StartOf::World) => Starts::Given(world.start().clone()),
            },
            ..default
        }
    }

    /// The map of the log.
    pub(crate) fn map(&self) -> Option<&Path> {
        self.log.map.as_deref()
    }

    /// The first flag that was given and that only the reading of a log needs.
    pub(crate) fn for_logs(&self) -> Option<&'static str> {
        let given = [
            (!self.keep.is_empty(), "--keep"),
            (!self.randomised.is_empty(), "--randomised"),
            (self.log.map.is_some(), "--map"),
            (self.em, "--em"),
            (self.skip_bad, "--skip-bad"),
        ];
        given.into_iter().find(|(is, _)| *is).map(|(_, flag)| flag)
    }

    /// The first flag that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given = [
            (self.start.is_some(), "--start"),
            (self.delta.is_some(), "--delta"),
            (self.samples.is_some(), "--samples"),
            (self.prior.is_some(), "--prior"),
            (self.seed.is_some(), "--seed"),
        ];
        self.for_logs().or_else(|| given.into_iter().find(|(is, _)| *is).map(|(_, flag)| flag))
    }

    /// The episodes of a log, counted for a world.
    pub(crate) fn episodes(&self, world: &World, log: &Path, output: &Output) -> Result<Counted, Failure> {
        let options =
            FitOptions { keep: self.keep.clone(), randomised: self.randomised.clone(), ..FitOptions::default() };
        let fitting = Fitting::new(world, options.clone()).map_err(|e| Failure::Usage(e.to_string()))?;
        let options = FitOptions { em: self.em, ..options };
        let fitting = crate::log::with_experiments(fitting, (world, options), (log, self.map()), output)?;
        let from_file = fitting.rests_on().map_err(|e| Failure::Usage(e.to_string()))?;
        let reading = episodes::Reading { map: self.log.map.as_deref(), skip_bad: self.skip_bad, em: self.em };
        let episodes = episodes::episodes(log, reading, &fitting, output)?;
        let tests = episodes.missingness_tests();
        let mut warnings = missingness::warnings(&tests, self.em);
        if !self.em {
            warnings.extend(missingness::condition(&tests, !fitting.knowledge().knows_mechanisms()));
        }
        Ok(Counted { world: fitting.world().clone(), episodes, from_file, warnings })
    }
}

const EXAMPLES: &str = "\
Examples:
  dowise plan treatment.toml --json > policy.json
  dowise simulate treatment.toml --episodes 1000 -o log.csv
  dowise evaluate treatment.toml log.csv --policy policy.json
  dowise evaluate clinic.toml records.csv --policy policy.json --keep rewards --draw calibration.svg
  dowise evaluate clinic.toml records.csv --policy policy.json --start world --delta 0.1

Exit status: 0 answered, 1 the log does not say what the policy needs, 2 wrong usage, 3 could not read or write.";

/// Share of episodes that may pass through what the log never saw.
pub(crate) const NOTABLE: f64 = 0.01;

/// Rows named in a refusal.
const NAMED: usize = 10;

pub(crate) fn run(args: Args, output: &Output) -> Result<Status, Failure> {
    let pictures = args.draw.as_deref().map(picture::Pictures::from_name).transpose()?;
    let picture = args.draw_sensitivity.as_deref().map(Picture::from_name).transpose()?;
    let mut files = Files::default();
    files
        .read("the world", Some(&args.world))
        .read("the log", Some(&args.log))
        .read("the policy", Some(&args.policy))
        .read("--map", args.reading.map());
    for file in pictures.iter().flat_map(picture::Pictures::files) {
        files.write("--draw", Some(file));
    }
    files.write("--draw-sensitivity", args.draw_sensitivity.as_deref());
    args.overwrite.check(&files, output)?;
    let world = worldfile::read(&args.world)?.world;
    let world = world.map_err(|error| render::refused(&args.world.display().to_string(), &error, args.json, output))?;
    let policy = policy_file::read(&args.policy, &world)?;
    let options = args.reading.options(&world);
    let Counted { world, episodes: log, from_file, warnings } = args.reading.episodes(&world, &args.log, output)?;
    let found = evaluate(&log, &policy, &options).map_err(failure)?;
    if let Some(pictures) = &pictures {
        let calibration = calibrate(&log, options.prior).map_err(|e| failure(e.into()))?;
        pictures.draw(&world, &calibration, output)?;
    }
    let refused = found.support.share > NOTABLE && !args.allow_unsupported;
    if let Some(picture) = &picture {
        picture.draw(&world, found.sensitivity.as_ref().filter(|_| !refused), output)?;
    }
    if args.json {
        output.json(&json::evaluated(
            &args.log,
            &args.policy,
            &log,
            &options,
            &found,
            refused,
            (from_file, warnings),
        ))?;
        return Ok(if refused { refuse(&found.support, output) } else { Status::Fine });
    }
    if refused {
        return Ok(refuse(&found.support, output));
    }
    output.data(report::report(&world, &log, &options, &found, (&from_file, &warnings), output))?;
    Ok(Status::Fine)
}

/// Says why there is no answer.
fn refuse(support: &Support, output: &Output) -> Status {
    for line in unsupported(support) {
        output.error(line);
    }
    output.talk(
        "collect episodes that do this, choose another policy, or --allow-unsupported: the prior then decides there",
    );
    Status::No
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
