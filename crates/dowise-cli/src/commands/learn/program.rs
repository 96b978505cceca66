//! The program of every run: episodes with progress and Ctrl-C, then the saved run, the result and the report.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use dowise::LearnerSpec;

use super::arguments::within_limit;
use super::report::Report;
use super::{Args, Task};
use crate::interrupt;
use crate::output::{Failure, Output, Status};
use crate::progress::Progress;
use crate::table;

/// Episodes of a run if the user does not say how many.
pub(super) const EPISODES: u64 = 1000;

/// Episodes between two updates of the progress.
const BETWEEN: u64 = 16;

/// A run with its learner, between two episodes.
pub(super) trait Running {
    /// The learner as text, and the seed of the run.
    fn of(&self) -> (&LearnerSpec, u64);

    /// Episodes so far, those before it was resumed included.
    fn done(&self) -> u64;

    /// Episodes that the learner was made for.
    fn planned(&self) -> u64;

    /// What the learner knows, how it is evaluated, and what is doubtful from the beginning, as sentences.
    fn beginning(&self, task: &Task<'_>, episodes: &Episodes) -> Vec<String>;

    /// Runs one episode.
    fn episode(&mut self);

    /// What the progress says beside the number of episodes.
    fn so_far(&self) -> String;

    /// Whether the run has reached its aim after this episode.
    fn may_stop(&mut self) -> bool {
        false
    }

    /// Is called after the last episode.
    fn end(&mut self) {}

    /// Writes the run into a file, to go on later.
    fn save(&mut self, file: &Path, output: &Output) -> Result<(), Failure>;

    /// What the run found out; writes what else was asked for into files.
    fn result(&self, task: &Task<'_>) -> (Report, Result<(), Failure>);

    /// Whether the run has reached its aim, if it has one.
    fn status(&self, _task: &Task<'_>) -> Status {
        Status::Fine
    }
}

/// Runs the remaining episodes, saves the run, and prints what it found out.
pub(super) fn run(task: &Task<'_>, mut running: impl Running) -> Result<Status, Failure> {
    let (args, output) = (task.args, task.output);
    let episodes = Episodes::new(args, running.done(), running.planned())?;
    let (spec, seed) = running.of();
    output.talk(format_args!("{spec} in {}, seed {seed}", task.choice));
    running.beginning(task, &episodes).iter().for_each(|line| output.talk(line));
    let interruption = episodes.run(&mut running, output);
    running.end();
    // A failure to write is reported after the result is printed, so that the result is not lost.
    let saved = args.save.as_deref().map_or(Ok(()), |file| running.save(file, output));
    let (report, written) = running.result(task);
    let printed = match args.json {
        true => {
            report.noticed().iter().for_each(|line| output.talk(table::wrapped(line)));
            output.json(&report)
        }
        false => output.data(report.text(output)),
    };
    saved.and(written).and(printed)?;
    interruption.check(running.done())?;
    Ok(running.status(task))
}

/// The episodes of a run: those before it was resumed, and all.
pub(super) struct Episodes {
    pub(super) done: u64,
    pub(super) total: u64,
}

impl Episodes {
    /// The total is what the user asked for, or what the run was planned with.
    fn new(args: &Args, done: u64, planned: u64) -> Result<Episodes, Failure> {
        let total = args.episodes.unwrap_or(planned);
        within_limit(total)?;
        if total <= done {
            return Err(Failure::Usage(format!(
                "the run has had {done} episodes; --episodes is their number in all, so ask for more"
            )));
        }
        Ok(Episodes { done, total })
    }

    /// Runs the remaining episodes, until the run may stop or the user interrupts it.
    fn run(&self, running: &mut impl Running, output: &Output) -> Interruption {
        let stop = interrupt::flag();
        let progress = Progress::after(output, self.done, self.total, "episodes");
        for number in self.done + 1..=self.total {
            running.episode();
            if number % BETWEEN == 0 {
                progress.set(number, || running.so_far());
            }
            if running.may_stop() || stop.load(Ordering::Relaxed) {
                break;
            }
        }
        progress.finish();
        Interruption { stop, total: self.total }
    }
}

/// Whether the user interrupts the run, which may also happen while its results are written.
struct Interruption {
    stop: &'static AtomicBool,
    total: u64,
}

impl Interruption {
    /// Fails if the run was interrupted; `done` is the number of its episodes.
    fn check(&self, done: u64) -> Result<(), Failure> {
        if !self.stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let total = self.total;
        Err(Failure::Interrupted(format!("interrupted after {done} of {total} episodes; this is what was learned")))
    }
}
