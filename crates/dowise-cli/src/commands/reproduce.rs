//! `dowise reproduce`: the paper's experiments as data, figures, and claims that hold or do not.

mod report;

use std::path::{Path, PathBuf};
use std::time::Instant;

use dowise_study::paper::{self, Part, ReproductionSize, Results};
use dowise_study::{StudyError, make_directory, threads, write_file};

use crate::output::{Failure, Output, Status};
use crate::{study, table};

/// Run the paper's experiments; write data and figures, and say which of its claims hold
///
/// Regret is exact, environments are fresh and the same for every learner. Beside the rule of the figures stand the paper's
/// printed constants, dowise's own learners, and the published curves. Interrupted work goes on when the same command is
/// given again.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Which of the experiments; all of them if none is named.
    #[arg(value_name = "EXPERIMENT", value_parser = clap::value_parser!(u8).range(1..=3))]
    experiments: Vec<u8>,
    /// Also what the paper does not show: the other rules in all experiments, scales, hard exploration, a million
    /// interventions, P(z | s, a) unknown, causal linear MDPs.
    #[arg(long)]
    extras: bool,
    /// Episodes of a run.
    #[arg(long, value_name = "K", default_value_t = 5000)]
    episodes: u64,
    /// Fresh environments.
    #[arg(long, value_name = "N", default_value_t = 10)]
    repetitions: u64,
    /// Seed of the first environment.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Number of threads; results do not depend on it.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Where results go.
    #[arg(short, long, value_name = "DIR", default_value = "reproduction")]
    out: PathBuf,
    /// Also write the page reproduction.md and its figures into this directory.
    #[arg(long, value_name = "DIR")]
    docs: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  dowise reproduce                       all three experiments
  dowise reproduce 1 --json | jq '.claims[] | select(.held | not)'
  dowise reproduce --extras              also what the paper does not show
  dowise plot reproduction               draw the figures again

Exit status: 0 done (whether claims held or not), 2 wrong usage, 3 could not read or write, 130 interrupted.";

pub(crate) fn run(args: Args, output: &Output) -> Result<Status, Failure> {
    let size = ReproductionSize { episodes: args.episodes, repetitions: args.repetitions, seed: args.seed };
    let named = |p: &Part| args.experiments.is_empty() || args.experiments.contains(&(*p as u8 + 1));
    let mut parts: Vec<Part> = Part::EXPERIMENTS.into_iter().filter(named).collect();
    if args.extras {
        parts.extend(Part::EXTRAS);
    }
    let threads = threads(args.threads).map_err(|e| study::failure(e, output))?;
    output.talk(format_args!(
        "{} episodes, {} fresh environments from seed {}, {threads} threads, results in {}",
        table::count(args.episodes),
        args.repetitions,
        args.seed,
        args.out.display()
    ));
    paper::refuse_other_sizes(size, &args.out).map_err(|e| study::failure(e, output))?;
    let mut took = vec![];
    for part in parts {
        let begun = Instant::now();
        let resolved = part.study(size).resolve_untried(Path::new("")).map_err(|e| study::failure(e, output))?;
        study::run(&resolved, &args.out.join(part.folder()), None, threads, output)?;
        let seconds = begun.elapsed().as_secs_f64();
        output.talk(format_args!("{}: {} runs, {seconds:.1} s", part.title(), resolved.n_runs()));
        took.push((part, seconds));
    }
    let begun = Instant::now();
    let results = Results::load(&args.out).and_then(|results| {
        write(&results, &args.out)?;
        args.docs.as_deref().map_or(Ok(()), |docs| write_docs(&results, docs))?;
        Ok(results)
    });
    let results = results.map_err(|e| study::failure(e, output))?;
    output.talk(format_args!("figures and report: {:.1} s", begun.elapsed().as_secs_f64()));
    if args.json {
        output.json(&report::Report::new(&results, size, &took))?;
    } else {
        output.data(report::text(&results, output))?;
    }
    output.talk(format_args!("look at {}", args.out.join("report.html").display()));
    Ok(Status::Fine)
}

/// Draws the figures and writes the report of what lies in a directory.
pub(crate) fn write(results: &Results, out: &Path) -> Result<(), StudyError> {
    make_directory(&out.join("figures"))?;
    for (name, figure) in paper::figures(results) {
        let drawing = figure.draw()?;
        write_file(&out.join("figures").join(format!("{name}.svg")), drawing.svg.as_bytes())?;
        write_file(&out.join("figures").join(format!("{name}.png")), &drawing.png)?;
    }
    write_file(&out.join("report.html"), paper::html(results)?.as_bytes())?;
    write_file(&out.join("reproduction.md"), paper::markdown(results).as_bytes())
}

/// Figures whose PNG goes into the documents; the others are there as SVG only, which is smaller.
const PNG_IN_DOCS: [&str; 3] = ["experiment-1", "experiment-2", "experiment-3"];

fn write_docs(results: &Results, docs: &Path) -> Result<(), StudyError> {
    make_directory(&docs.join("figures"))?;
    for (name, figure) in paper::figures(results) {
        let drawing = figure.draw()?;
        write_file(&docs.join("figures").join(format!("{name}.svg")), drawing.svg.as_bytes())?;
        if PNG_IN_DOCS.contains(&name.as_str()) {
            write_file(&docs.join("figures").join(format!("{name}.png")), &drawing.png)?;
        }
    }
    write_file(&docs.join("reproduction.md"), paper::markdown(results).as_bytes())
}
