//! `dowise plan`: the best policy of a world in which all is known, or the value of a given one.

mod json;
mod report;
mod safe;

pub(super) use safe::check_fingerprint;

use std::path::PathBuf;

use dowise::Planner;
use dowise::offline::fit::logged_return_in;
use dowise::plan::PlanError;

use super::evaluate::Reading;
use super::fit::evidence_file;
use crate::output::{Failure, Output, Status};
use crate::overwrite::{Files, Overwrite};
use crate::table::Amounts;
use crate::worldfile::{self, WorldFile};
use crate::{policy_file, render, table};

/// Compute the optimal intervention for every stage and state, and its value
///
/// Needs a world in which every mechanism and reward is known. Of equally good interventions the first counts: levers
/// left alone before levers set, values in the order of the file.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct Args {
    /// The world file, `-` for standard input; or a ready-made world.
    file: PathBuf,
    /// Compute the value of the policy in this file instead.
    #[arg(long, value_name = "POLICY.json")]
    evaluate: Option<PathBuf>,
    /// Safe policy improvement: the posterior-mean plan and the pessimistic plan from a log, beside the behaviour policy.
    /// The file is a fitted world of `dowise fit`, or any world with --from.
    #[arg(long, conflicts_with = "evaluate")]
    safe: bool,
    /// The log that a safe plan is made from, instead of the evidence beside a fitted world.
    #[arg(long, value_name = "LOG", requires = "safe")]
    from: Option<PathBuf>,
    /// Write the recommended policy of a safe plan.
    #[arg(long, value_name = "POLICY.json", requires = "safe")]
    policy: Option<PathBuf>,
    /// Plot the worst and the best value of the recommended plan against the strength of unmeasured confounding (Γ), as .svg
    /// or .png.
    #[arg(long, value_name = "FILE", requires = "safe")]
    draw_sensitivity: Option<PathBuf>,
    #[command(flatten)]
    overwrite: Overwrite,
    #[command(flatten, next_help_heading = "Safe plans")]
    reading: Reading,
    /// Print every state, however many there are.
    #[arg(long)]
    all: bool,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  dowise plan campaign.toml
  dowise plan campaign.toml --json > policy.json
  dowise plan campaign.toml --evaluate policy.json
  dowise plan fitted.toml --safe
  dowise plan clinic.toml --safe --from records.csv --policy safe.json

A policy is JSON with a list of rules; for every stage and state the first that fits counts:
  { \"policy\": [ { \"stage\": 1, \"state\": { \"loyalty\": \"fan\" }, \"do\": { \"discount\": \"0%\" } }, ... ] }
A rule without \"stage\" is for all stages, state factors that are not named may have any value.";

/// What a line of a fitted world's file begins with that names what could not be fitted.
const NOT_FITTED: &str = "# Not fitted, see below: ";

pub(crate) fn run(args: Args, output: &Output) -> Result<Status, Failure> {
    let WorldFile { world, source } = worldfile::read(&args.file)?;
    let world = match world {
        Ok(world) => world,
        Err(error) => {
            return Err(render::refused(&args.file.display().to_string(), &error, args.json, output));
        }
    };
    let mut files = Files::default();
    let evidence = (args.safe && args.from.is_none()).then(|| evidence_file(&args.file));
    files
        .read("the world", Some(&args.file))
        .read("--evaluate", args.evaluate.as_deref())
        .read("--from", args.from.as_deref())
        .read("--map", args.reading.map())
        .read("the evidence", evidence.as_deref())
        .write("--policy", args.policy.as_deref())
        .write("--draw-sensitivity", args.draw_sensitivity.as_deref());
    args.overwrite.check(&files, output)?;
    if args.safe {
        return safe::run(&args, &world, &source.text, output);
    }
    if let Some(flag) = args.reading.given() {
        return Err(Failure::Usage(format!("{flag} is for plans from a log; add --safe")));
    }
    let cannot = |e: PlanError| Failure::Usage(format!("{}: {e}", args.file.display()));
    let planner = Planner::new(&world).map_err(cannot)?;
    for finding in render::decisive(&world) {
        render::show(finding, std::slice::from_ref(&source), output);
    }
    for names in source.text.lines().filter_map(|line| line.strip_prefix(NOT_FITTED)) {
        output.talk(table::wrapped(&format!(
            "warning: NOT FITTED: {names}. A hidden variable moves a lever and its effect, so these numbers are not from the log; what stands there are the world file's own, or fillers with all values \
             alike. The first lines of {} say why and what would settle it.",
            args.file.display()
        )));
    }
    let mut best = planner.plan();
    // What is printed is what the policy is worth, not what the search for it came to.
    best.value_hs = planner.verify(&best).map_err(cannot)?;
    let best_value = planner.from_start(&best.value_hs[..best.n_states]);
    let name = args.file.display().to_string();
    if let Some(logged) = logged_return_in(&source.text).filter(|_| args.evaluate.is_none()) {
        output.talk(table::wrapped(&fitted_note(&name, best_value, logged)));
    }
    let Some(file) = &args.evaluate else {
        if args.json {
            output.json(&json::planned(name, &world, &best, best_value))?;
        } else {
            output.data(report::planned(&world, &best, best_value, args.all, output))?;
        }
        return Ok(Status::Fine);
    };
    let policy = policy_file::read(file, &world)?;
    let value_hs = planner.evaluate(&policy).map_err(|e| Failure::Usage(format!("{}: {e}", file.display())))?;
    let value = planner.from_start(&value_hs[..best.n_states]);
    if args.json {
        output.json(&json::Evaluated::new(name, file, value, best_value))?;
    } else {
        output.data(report::evaluated(&world, value, best_value))?;
    }
    Ok(Status::Fine)
}

/// The value of a plan in a fitted world is an estimate of the best among many: it is likely to be too high.
fn fitted_note(file: &str, value: f64, logged: f64) -> String {
    let amounts = Amounts::of([value, logged]);
    let far = if (value - logged).abs() > 0.5 * logged.abs() { ", which is far away" } else { "" };
    format!(
        "note: the logged episodes returned {} on average{far}; the plan's {} are a model's estimate of the best of many \
         plans, which tends to be too high, and no assumption was checked. `dowise plan {file} --safe --from LOG` \
         checks them.",
        amounts.show(logged),
        amounts.show(value)
    )
}
