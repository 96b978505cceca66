//! Logs for a command: the map, progress through a long file, and refusal of a log in which something is wrong.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use dowise::World;
use dowise::data::{CsvTable, LogError, LogMap, LogReader, LogReport, LogStep, has_randomised_row};
use dowise::offline::fit::{FitOptions, Fitting};
use dowise_study::{MOST_TEXT, read_text_file};

use crate::output::{Failure, Output};
use crate::progress::Progress;
use crate::{interrupt, render, table};

/// How a log is read.
#[derive(clap::Args)]
pub(crate) struct LogArgs {
    /// A map of the log: other names of columns and values, bins of numbers, and what means missing.
    #[arg(long, value_name = "FILE")]
    pub(crate) map: Option<PathBuf>,
}

/// Steps between two looks at how far the file has been read.
const STEPS_BETWEEN: u32 = 1 << 14;

/// Reads a log to its end, handing every step on; the report says what was found.
pub(crate) fn steps(
    log: &Path,
    map: Option<&Path>,
    world: &World,
    output: &Output,
    mut visit: impl FnMut(&LogStep<'_>) -> Result<(), Failure>,
) -> Result<LogReport, Failure> {
    read(log, map, world, output, |reader, watch| reader.steps(|step| watch.go_on(1, step.episode, visit(step))))
}

/// The same with whole episodes.
pub(crate) fn episodes(
    log: &Path,
    map: Option<&Path>,
    world: &World,
    output: &Output,
    mut visit: impl FnMut(&[LogStep<'_>]) -> Result<(), Failure>,
) -> Result<LogReport, Failure> {
    read(log, map, world, output, |reader, watch| {
        reader.episodes(|steps| {
            let episode = steps.first().map_or(0, |step| step.episode);
            watch.go_on(steps.len() as u32, episode, visit(steps))
        })
    })
}

/// Opens a log and lets `all` read it, watched.
fn read(
    log: &Path,
    map: Option<&Path>,
    world: &World,
    output: &Output,
    all: impl FnOnce(LogReader<'_, CsvTable>, &mut Watch<'_>) -> Result<LogReport, LogError>,
) -> Result<LogReport, Failure> {
    let shown = |error: LogError| failure(error, log, output);
    let map = map.map(|file| read_map(file, log, world, output)).transpose()?;
    let table = CsvTable::open(log).map_err(shown)?;
    let (read, size) = (table.bytes_read(), table.size().unwrap_or(0));
    let reader = LogReader::new(table, world, map.as_ref()).map_err(shown)?;
    let progress = Progress::new(output, size, "bytes");
    let mut watch = Watch { log, progress, read, stop: interrupt::flag(), failed: None, since: 0 };
    let report = all(reader, &mut watch);
    watch.progress.finish();
    if watch.failed.is_none() {
        interrupt::at_once();
    }
    match watch.failed {
        Some(failure) => Err(failure),
        None => report.map_err(|error| failure(error, log, output)),
    }
}

fn read_map(file: &Path, log: &Path, world: &World, output: &Output) -> Result<LogMap, Failure> {
    let text = read_text_file(file, MOST_TEXT).map_err(|e| Failure::Io(e.to_string()))?;
    let read = LogMap::from_toml(&text, &file.display().to_string(), world);
    read.map_err(|error| failure(LogError::Map(error), log, output))
}

/// The fit of a log in which some rows are randomised: these show what confounding hides in the others. The same fit if
/// nothing is confounded, or if no row is randomised.
pub(crate) fn with_experiments(
    fitting: Fitting,
    (world, options): (&World, FitOptions),
    (log, map): (&Path, Option<&Path>),
    output: &Output,
) -> Result<Fitting, Failure> {
    if fitting.confounded().is_empty() || options.em {
        return Ok(fitting);
    }
    let shown = |error: LogError| failure(error, log, output);
    let map = map.map(|file| read_map(file, log, world, output)).transpose()?;
    let table = CsvTable::open(log).map_err(shown)?;
    if !has_randomised_row(table, world, map.as_ref()).map_err(shown)? {
        return Ok(fitting);
    }
    let options = FitOptions { randomised_steps: true, ..options };
    Fitting::new(world, options).map_err(|e| Failure::Usage(e.to_string()))
}

/// Shows how far a log has been read, and stops where something fails or the user wishes it.
struct Watch<'a> {
    log: &'a Path,
    progress: Progress,
    read: Arc<AtomicU64>,
    stop: &'static AtomicBool,
    failed: Option<Failure>,
    since: u32,
}

impl Watch<'_> {
    fn go_on(&mut self, steps: u32, episode: u64, visited: Result<(), Failure>) -> ControlFlow<()> {
        self.since += steps;
        if self.since >= STEPS_BETWEEN {
            self.since = 0;
            self.progress.set(self.read.load(Ordering::Relaxed), || format!("episode {}", table::count(episode + 1)));
            if self.stop.load(Ordering::Relaxed) {
                self.failed = Some(Failure::Interrupted(format!("interrupted while reading {}", self.log.display())));
                return ControlFlow::Break(());
            }
        }
        match visited {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }
}

/// Fails if something in the log is wrong, unless such rows are to be skipped; what was found is said.
pub(crate) fn refuse_errors(report: &LogReport, log: &Path, skip_bad: bool, output: &Output) -> Result<(), Failure> {
    if report.findings.list().is_empty() {
        return Ok(());
    }
    if report.findings.has_errors() && !skip_bad {
        output.error(format_args!(
            "{}: {} of {} rows would be left out; mend the log, or leave these rows out with --skip-bad\n{}",
            log.display(),
            table::count(report.left_out),
            table::count(report.rows),
            report.findings.to_string().trim_end()
        ));
        return Err(Failure::Shown);
    }
    output.talk(report.findings.to_string().trim_end());
    if report.left_out > 0 {
        output.talk(format_args!(
            "{}: {} of {} rows are left out",
            log.display(),
            table::count(report.left_out),
            table::count(report.rows)
        ));
    }
    Ok(())
}

fn failure(error: LogError, log: &Path, output: &Output) -> Failure {
    match error {
        LogError::Map(problems) => {
            render::problems(&problems, output);
            Failure::Shown
        }
        LogError::Io { .. } | LogError::Encoding { .. } | LogError::Empty { .. } | LogError::Row { .. } => {
            Failure::Io(error.to_string())
        }
        LogError::Columns { .. } | LogError::Twice { .. } | LogError::EmptyValue { .. } => {
            Failure::Usage(format!("{}: {error}", log.display()))
        }
    }
}
