//! `dowise test`: is the declared graph contradicted by a log?

mod report;

use std::path::PathBuf;

use dowise::Knowledge;
use dowise::data::LogStep;
use dowise::offline::{GraphReport, GraphTest};
use serde::Serialize;

use crate::output::{Failure, Output, Status};
use crate::{log, render, worldfile};

/// Test the declared graph against a log: is it contradicted?
///
/// A graph promises that levers act through key variables alone, that a factor's next value depends on its scope alone, and that
/// what no arrow and no hidden variable joins is independent. Every promise that the log can break is tested; all tests
/// together contradict a true graph with at most the probability --level. A second family of tests asks whether a
/// variable of the previous step acts on a step (Markov property), at the same level. The numbers of the world play no
/// part.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct Args {
    /// The world file.
    world: PathBuf,
    /// The log: CSV, one row for each step, `.gz` or not.
    log: PathBuf,
    /// Probability with which a true graph may be contradicted.
    #[arg(long, value_name = "P", default_value_t = 0.05, value_parser = level)]
    level: f64,
    /// Renames columns and values, and cuts numbers into bins.
    #[arg(long, value_name = "MAP.toml")]
    map: Option<PathBuf>,
    /// Leave rows out in which something is wrong, instead of refusing the log.
    #[arg(long)]
    skip_bad: bool,
    /// Show every independence, not only the most doubtful ones.
    #[arg(long)]
    all: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  dowise test campaign.toml log.csv
  dowise test clinic.toml records.csv.gz --level 0.01 --all
  dowise test campaign.toml log.csv --json | jq '.tested[0]'

Exit status: 0 not contradicted, 1 graph, Markov property, stationarity or no unmeasured confounding contradicted, 2 wrong usage or nothing could be tested, 3 could not read or write.";

/// What `--json` prints.
#[derive(Serialize)]
struct Json<'a> {
    /// Changes when a field changes its meaning or goes away.
    schema: &'static str,
    contradicted: bool,
    verdict: String,
    markov_contradicted: bool,
    markov_verdict: Option<String>,
    stationarity_contradicted: bool,
    stationarity_verdict: Option<String>,
    confounding_contradicted: bool,
    confounding_verdict: Option<String>,
    #[serde(flatten)]
    report: &'a GraphReport,
}

pub(crate) fn run(args: Args, output: &Output) -> Result<Status, Failure> {
    let world = worldfile::read(&args.world)?.world;
    let world = world.map_err(|error| render::refused(&args.world.display().to_string(), &error, args.json, output))?;
    let mut test = GraphTest::new(&Knowledge::of(&world));
    let add = |steps: &[LogStep<'_>]| {
        let line = steps.first().map_or(0, |step| step.line);
        let wrong = |error| Failure::Usage(format!("{}, line {line}: {error}", args.log.display()));
        test.add_episode(steps).map_err(wrong)
    };
    let found = log::episodes(&args.log, args.map.as_deref(), &world, output, add)?;
    log::refuse_errors(&found, &args.log, args.skip_bad, output)?;
    test.cut(&found.binned);
    let report = test.finish(args.level);
    if report.steps == 0 {
        let log = args.log.display();
        return Err(Failure::Usage(format!("{log}: the log has no steps, so nothing was tested")));
    }
    let contradicted = report.is_contradicted();
    let markov_contradicted = !report.markov_contradictions().is_empty();
    let stationarity_contradicted = !report.stationarity_contradictions().is_empty();
    let confounding_contradicted = !report.confounding_contradictions().is_empty();
    if args.json {
        output.json(&Json {
            schema: "dowise-test/1",
            contradicted,
            verdict: report.verdict(),
            markov_contradicted,
            markov_verdict: report.markov_verdict(),
            stationarity_contradicted,
            stationarity_verdict: report.stationarity_verdict(),
            confounding_contradicted,
            confounding_verdict: report.confounding_verdict(),
            report: &report,
        })?;
    } else {
        output.data(report::text(&report, args.all, output))?;
    }
    if report.tested.is_empty() && report.markov.is_empty() && report.stationarity.is_empty() {
        let why = match report.untested.is_empty() {
            true => "this graph implies no independence that a log could contradict",
            false => "each claim needs 20 visits of rows in which both of its sides vary",
        };
        return Err(Failure::Usage(format!("nothing could be tested: {why}")));
    }
    let found = contradicted || markov_contradicted || stationarity_contradicted || confounding_contradicted;
    Ok(if found { Status::No } else { Status::Fine })
}

fn level(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(level) if level > 0.0 && level < 1.0 => Ok(level),
        Ok(_) | Err(_) => Err("a level is a probability above 0 and below 1, such as 0.05".to_owned()),
    }
}
