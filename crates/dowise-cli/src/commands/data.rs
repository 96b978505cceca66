//! `dowise data`: what a log holds, and what is wrong with it.

use std::path::PathBuf;

use dowise::Knowledge;
use dowise::data::LogReport;
use dowise::offline::{MissingnessCounts, MissingnessTest, PropensityCounts, PropensityTest};
use dowise_study::WorldChoice;
use serde::Serialize;

use crate::log::{self, LogArgs};
use crate::missingness::probability;
use crate::output::{Failure, Output, Status};
use crate::study;
use crate::table::{self, Align};

/// Say what a log holds, and everything that is wrong with it
///
/// A log is a table with a row for each step, in CSV: comma, semicolon or tab, compressed by gzip or not. docs/reference/logs.md
/// describes its columns. Whatever is found is shown at once, grouped, with lines and columns.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The log.
    log: PathBuf,
    /// The world that it is a log of: a world file or a ready-made world.
    world: String,
    #[command(flatten)]
    reading: LogArgs,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  dowise simulate treatment --episodes 100 -o log.csv
  dowise data log.csv treatment
  dowise data records.csv.gz treatment.toml --map map.toml

Exit status: 0 fine, 1 errors found, 2 wrong usage, 3 could not read.";

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    world: &'a str,
    #[serde(flatten)]
    log: &'a LogReport,
    /// Whether what is missing depends on what followed.
    missingness: Vec<MissingnessTest>,
    /// Whether interventions occur as often as their propensities say.
    propensities: PropensityTest,
}

pub(crate) fn run(args: Args, output: &Output) -> Result<Status, Failure> {
    let world = WorldChoice::read(&args.world).make(0);
    let world = world.map_err(|e| study::failure_in(&args.world, e, args.json, output))?;
    let knowledge = Knowledge::of(&world);
    let (mut recorded, mut assigned) = (MissingnessCounts::new(&knowledge), PropensityCounts::new(&knowledge));
    let report = log::steps(&args.log, args.reading.map.as_deref(), &world, output, |step| {
        recorded.add(&step.observation, step.weight);
        assigned.add(step);
        Ok(())
    })?;
    let (missingness, propensities) = (recorded.tests(), assigned.test());
    if args.json {
        output.json(&Report {
            schema: "dowise-log/1",
            world: world.name(),
            log: &report,
            missingness,
            propensities,
        })?;
    } else {
        let missingness = crate::missingness::section(&missingness, recorded.not_counted(), output);
        let tests = missingness + &assignment(&propensities, output);
        output.data(text(&report, &tests, world.name(), output))?;
    }
    Ok(if report.findings.has_errors() { Status::No } else { Status::Fine })
}

/// Propensities against frequencies; empty if the log has no propensities.
fn assignment(test: &PropensityTest, output: &Output) -> String {
    if test.steps == 0 {
        return String::new();
    }
    let words = match &test.clearest {
        Some(clearest) if test.is_contradicted() => {
            let expected = clearest.expected.map_or("fewer".to_owned(), |n| format!("about {n:.0}"));
            format!(
                "NOT ASSIGNED AS STATED: in state {}, {} was logged in {} of {} steps, and its propensities say {expected} \
                 (adjusted p = {}). Look for rows that were filtered or lost, and for rows by bots; if the rows are right, \
                 remove the column.",
                clearest.place,
                clearest.intervention,
                table::count(clearest.found),
                table::count(clearest.steps),
                probability(test.p)
            )
        }
        _ if !test.is_tested() => {
            format!("{} steps with propensities are too few to compare with frequencies.", table::count(test.steps))
        }
        _ => format!(
            "Interventions occur about as often as their propensities say: none of {} frequencies differs at level 0.001.",
            table::count(test.compared as u64)
        ),
    };
    format!("\n{}\n{}\n", output.heading("Propensities and frequencies"), table::wrapped(&words))
}

fn text(report: &LogReport, tests: &str, world: &str, output: &Output) -> String {
    let count = table::count;
    let some = |n: u64, what: &str| format!("{} {what}{}", count(n), if n == 1 { "" } else { "s" });
    let (rows, episodes) = (some(report.rows, "row"), some(report.episodes, "episode"));
    let mut text = format!("A log of {world}: {rows}, {episodes}.\n\n");
    let mut rows = vec![("steps", report.steps), ("rows left out", report.left_out)];
    if report.weight != report.steps {
        rows.push(("steps by weight", report.weight));
    }
    if report.randomised > 0 {
        rows.push(("randomised steps", report.randomised));
    }
    rows.push(("next state not known", report.next_missing));
    rows.push(("episodes terminated", report.terminated));
    rows.push(("episodes truncated", report.truncated));
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(name, n)| vec![name.to_owned(), count(n)]).collect();
    text += &table::table(&["", "number"], &rows, &[Align::Left, Align::Right]);

    let share = |n: u64, of: u64| format!("{:.1} %", 100.0 * n as f64 / of.max(1) as f64);
    let both = [Align::Left, Align::Right, Align::Right];
    let lengths = report.lengths.iter().take(MOST_ROWS);
    let rows: Vec<Vec<String>> =
        lengths.map(|(length, &n)| vec![length.to_string(), count(n), share(n, report.episodes)]).collect();
    if !rows.is_empty() {
        text += &format!("\n{}\n", output.heading("Episodes by length"));
        text += &table::table(&["stages", "episodes", "share"], &rows, &[Align::Right; 3]);
        text += &more(report.lengths.len(), "lengths");
    }
    if !report.policies.is_empty() {
        text += &format!("\n{}\n", output.heading("Steps by policy"));
        let policies = report.policies.iter().take(MOST_ROWS);
        let rows: Vec<Vec<String>> =
            policies.map(|p| vec![p.name.clone(), count(p.steps), share(p.steps, report.steps)]).collect();
        text += &table::table(&["policy", "steps", "share"], &rows, &both);
        text += &more(report.policies.len(), "policies");
    }
    let missing: Vec<_> = report.columns.iter().filter(|c| c.missing > 0).collect();
    if !missing.is_empty() {
        text += &format!("\n{}\n", output.heading("Empty cells by column"));
        let rows: Vec<Vec<String>> = missing
            .iter()
            .take(MOST_ROWS)
            .map(|c| vec![c.name.clone(), count(c.missing), share(c.missing, report.rows)])
            .collect();
        text += &table::table(&["column", "empty", "share"], &rows, &both);
        text += &more(missing.len(), "columns");
    }
    text += tests;
    text += "\n";
    text += &match report.findings.list() {
        [] => "Nothing is wrong or odd.\n".to_owned(),
        _ => format!("{}\n{}", output.heading("Findings"), report.findings),
    };
    text
}

/// Rows of a table.
const MOST_ROWS: usize = 20;

fn more(n: usize, what: &str) -> String {
    if n > MOST_ROWS { format!("and {} more {what}\n", n - MOST_ROWS) } else { String::new() }
}
