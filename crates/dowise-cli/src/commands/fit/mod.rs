//! `dowise fit`: the numbers of a world from a log.

mod report;
mod rows;

use std::path::{Path, PathBuf};

use dowise::offline::fit::{FitError, FitOptions, FitReport, Fitting};
use dowise_study::write_file;
use serde::Serialize;

use super::learn::promise::is_svg;
use super::new::write;
use crate::output::{Failure, Output, Status};
use crate::overwrite::{Files, Overwrite};
use crate::{log, render, study, worldfile};

/// Estimate the parameters of a world from a log
///
/// Writes a world file with every transition, mechanism, reward and start fitted (posterior means), and beside it the
/// evidence, with which `dowise learn FITTED --evidence FILE` continues. Prints the assumptions, an interval for each row,
/// the uncertain rows that the optimal plan relies on, and what the log does not identify.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct Args {
    /// The world file: its graph, forms and ranges are used; its numbers only for names in --keep.
    world: PathBuf,
    /// The log: CSV, one row for each step, `.gz` or not.
    log: PathBuf,
    /// Where to write the fitted world; the evidence goes beside it as NAME.evidence.json.
    #[arg(short, long, value_name = "FITTED")]
    output: PathBuf,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Do not fit these numbers, use those of the world file: names of variables or reward terms, or `mechanisms`,
    /// `transitions`, `rewards`, `start`.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    keep: Vec<String>,
    /// Levers that were randomised in the log, given recorded variables only: whatever the graph says, no hidden variable
    /// acted on them.
    #[arg(long, value_name = "LEVER", value_delimiter = ',')]
    randomised: Vec<String>,
    /// Renames columns and values, and cuts numbers into bins.
    #[arg(long, value_name = "MAP.toml")]
    map: Option<PathBuf>,
    /// Exclude rows of the log with errors, instead of refusing it.
    #[arg(long)]
    skip_bad: bool,
    /// Impute missing key variables from the rest of the step by EM, instead of excluding the step.
    #[arg(long)]
    em: bool,
    /// Weight of the prior of each row of a table, in visits.
    #[arg(long, value_name = "VISITS", default_value_t = 2.0)]
    prior: f64,
    /// Probability of the intervals.
    #[arg(long, value_name = "P", default_value_t = 0.95)]
    level: f64,
    /// Plot the precision of each part, as .svg or .png.
    #[arg(long, value_name = "FILE")]
    draw: Option<PathBuf>,
    /// Write every row with visits, mean and interval as CSV.
    #[arg(long, value_name = "FILE.csv")]
    rows: Option<PathBuf>,
    /// Print everything as JSON.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  dowise fit campaign.toml log.csv -o fitted.toml
  dowise fit campaign.toml log.csv -o fitted.toml --keep rewards,purse --draw known.svg
  dowise fit clinic.toml records.csv.gz -o fitted.toml --em --rows rows.csv
  dowise plan fitted.toml
  dowise learn fitted.toml --evidence fitted.evidence.json";

pub(crate) fn run(args: Args, output: &Output) -> Result<Status, Failure> {
    let world = worldfile::read(&args.world)?.world;
    let world = world.map_err(|error| render::refused(&args.world.display().to_string(), &error, args.json, output))?;
    let randomised = args.randomised.clone();
    let options = FitOptions {
        keep: args.keep.clone(),
        prior: args.prior,
        level: args.level,
        em: args.em,
        randomised,
        randomised_steps: false,
    };
    let fitting = Fitting::new(&world, options.clone()).map_err(failure)?;
    let evidence = evidence_file(&args.output);
    let svg = args.draw.as_deref().map(is_svg).transpose()?;
    // A long log is not to be read in vain.
    let mut files = Files::default();
    files
        .read("the world", Some(&args.world))
        .read("the log", Some(&args.log))
        .read("--map", args.map.as_deref())
        .write("--output", Some(&args.output))
        .write("the evidence", Some(&evidence))
        .write("--draw", args.draw.as_deref())
        .write("--rows", args.rows.as_deref());
    args.overwrite.check(&files, output)?;
    let from = (args.log.as_path(), args.map.as_deref());
    let mut fitting = log::with_experiments(fitting, (&world, options), from, output)?;
    let counted = fitting.world().clone();
    let found = log::episodes(&args.log, args.map.as_deref(), &counted, output, |steps| {
        fitting.add_episode(steps).map_err(|wrong| {
            let (line, error) = *wrong;
            Failure::Usage(format!("{}, line {line}: {error}", args.log.display()))
        })
    })?;
    log::refuse_errors(&found, &args.log, args.skip_bad, output)?;
    fitting.exclude(found.excluded(), found.rows);
    fitting.cut(&found.binned);
    let fitted = fitting.fit().map_err(failure)?;
    write(&args.output, fitted.text(), args.overwrite.force())?;
    write(&evidence, &format!("{}\n", fitted.evidence_text()), args.overwrite.force())?;
    if let Some(file) = &args.rows {
        write_file(file, rows::csv(fitted.report()).as_bytes()).map_err(|e| study::failure(e, output))?;
    }
    if let (Some(file), Some(svg)) = (&args.draw, svg) {
        let drawing = report::picture(fitted.report(), &world).draw().map_err(|e| study::failure(e, output))?;
        let bytes = if svg { drawing.svg.into_bytes() } else { drawing.png };
        write_file(file, &bytes).map_err(|e| study::failure(e, output))?;
    }
    if args.json {
        output.json(&Json { schema: "dowise-fit/1", report: fitted.report() })?;
    } else {
        output.data(report::text(&fitted, output))?;
    }
    output.talk(format_args!("wrote {} and {}", args.output.display(), evidence.display()));
    Ok(Status::Fine)
}

/// What `dowise fit --json` prints.
#[derive(Serialize)]
struct Json<'a> {
    /// Changes when a field changes its meaning or goes away.
    schema: &'static str,
    #[serde(flatten)]
    report: &'a FitReport,
}

/// Where the evidence of a fitted world goes.
pub(super) fn evidence_file(world: &Path) -> PathBuf {
    world.with_extension("evidence.json")
}

fn failure(error: FitError) -> Failure {
    Failure::Usage(error.to_string())
}
