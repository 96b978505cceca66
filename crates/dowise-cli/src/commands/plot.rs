//! `dowise plot`: makes the figures of a study again from its tables.

use std::path::PathBuf;

use dowise_study::paper::Results;
use dowise_study::{Directory, StudyError, Tables};

use super::reproduce;
use crate::output::{Failure, Output, Status};
use crate::study;

/// Draw the figures of a finished study again from its tables, without running anything
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The results directory.
    directory: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  dowise plot dowise-compare
  dowise plot reproduction";

pub(crate) fn run(args: Args, output: &Output) -> Result<Status, Failure> {
    let fail = |e| study::failure(e, output);
    let study_file = args.directory.join("study.toml");
    let there = std::fs::metadata(&args.directory).and_then(|_| study_file.try_exists());
    if !there.map_err(|source| fail(StudyError::Read { path: study_file, source }))? {
        let results = Results::load(&args.directory).map_err(fail)?;
        if results.parts.is_empty() {
            let directory = args.directory.display();
            return Err(Failure::Usage(format!("{directory} holds no finished study: there is no study.toml in it")));
        }
        reproduce::write(&results, &args.directory).map_err(fail)?;
        output.talk(format_args!("drew the figures in {}", args.directory.join("figures").display()));
        return Ok(Status::Fine);
    }
    let (directory, resolved) = Directory::open(&args.directory).map_err(fail)?;
    let tables = Tables::read(&resolved, &directory).map_err(fail)?;
    for name in study::draw(&resolved, &tables, &directory, output)? {
        output.talk(format_args!("drew {0}.svg and {0}.png", directory.file("figures").join(name).display()));
    }
    Ok(Status::Fine)
}
