//! `dowise merge`: the parts of a study that several machines ran, put together.

use std::path::PathBuf;

use dowise_study::{Directory, StudyError, Tables, merge};

use super::compare;
use crate::output::{Failure, Output, Status};
use crate::study;

/// Put the parts of a study together that `dowise compare --shard` ran; write its tables and figures
///
/// Tables are the same bytes as those of one run on one machine, but for how long things took. Parts may overlap if
/// they agree; parts of another study, of another version, or with other numbers are refused.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The directories of the parts.
    #[arg(required = true, value_name = "DIR")]
    parts: Vec<PathBuf>,
    /// Where the whole goes; it may be one of the parts.
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  dowise compare --study study.toml --shard 1/2 --out part-1     on one machine
  dowise compare --study study.toml --shard 2/2 --out part-2     on another one
  dowise merge part-1 part-2 --out whole

Exit status: 0 whole, 1 runs are missing, 2 wrong usage, 3 could not read or write.";

pub(crate) fn run(args: Args, output: &Output) -> Result<Status, Failure> {
    let fail = |e: StudyError| study::failure(e, output);
    let opened = args.parts.iter().map(|part| Directory::open(part)).collect::<Result<Vec<_>, _>>().map_err(fail)?;
    let study = opened.first().expect("invariant: clap asks for one part at least").1.clone();
    let parts: Vec<Directory> = opened.into_iter().map(|(directory, _)| directory).collect();
    let whole = Directory::claim(&args.out, &study).map_err(fail)?;
    let merged = merge(&study, &whole, &parts).map_err(fail)?;
    if merged.done < merged.total {
        let (missing, total) = (merged.total - merged.done, merged.total);
        output.error(format_args!(
            "{missing} of {total} runs are in none of the directories, such as {}; what is there is in {}. Run the shards that \
             failed again, and merge again",
            merged.missing.join("; "),
            args.out.display()
        ));
        return Ok(Status::No);
    }
    let tables = Tables::collect(&study, &whole).map_err(fail)?;
    tables.write(&study, &whole).map_err(fail)?;
    compare::show(&study, &tables, &whole, args.json, output)?;
    Ok(Status::Fine)
}
