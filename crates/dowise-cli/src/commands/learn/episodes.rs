//! The loop over episodes that exact and Monte Carlo runs share: how many, progress, and Ctrl-C.

use std::sync::atomic::{AtomicBool, Ordering};

use super::Args;
use super::arguments::within_limit;
use crate::interrupt;
use crate::output::{Failure, Output};
use crate::progress::Progress;

/// Episodes of a run if the user does not say how many.
pub(super) const EPISODES: u64 = 1000;

/// Episodes between two updates of the progress.
const BETWEEN: u64 = 16;

/// A run that the loop moves on by one episode at a time.
pub(super) trait Running {
    /// Runs one episode.
    fn episode(&mut self);

    /// What the progress says beside the number of episodes.
    fn so_far(&self) -> String;

    /// Whether the run has reached its aim after this episode.
    fn may_stop(&mut self) -> bool {
        false
    }
}

/// The episodes of a run: those before it was resumed, and all.
pub(super) struct Episodes {
    pub(super) done: u64,
    pub(super) total: u64,
}

impl Episodes {
    /// The total is what the user asked for, or what the run was planned with.
    pub(super) fn new(args: &Args, done: u64, planned: u64) -> Result<Episodes, Failure> {
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
    pub(super) fn run(&self, running: &mut impl Running, output: &Output) -> Interruption {
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
pub(super) struct Interruption {
    stop: &'static AtomicBool,
    total: u64,
}

impl Interruption {
    /// Fails if the run was interrupted; `done` is the number of its episodes.
    pub(super) fn check(&self, done: usize) -> Result<(), Failure> {
        if !self.stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let total = self.total;
        Err(Failure::Interrupted(format!("interrupted after {done} of {total} episodes; this is what was learned")))
    }
}
