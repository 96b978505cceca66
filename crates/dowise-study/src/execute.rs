//! Runs what is not done yet, in parallel, keeping each result as soon as it is there.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use dowise::Arena;

use crate::batch::{Job, Listener, Place, play_batch};
use crate::{Directory, RunRecord, Setting, Study, StudyError, Tables};

/// What happens during a study.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// It begins, or goes on after runs that were done before.
    Begun {
        /// Runs that were done before.
        done: usize,
        /// Runs in all.
        total: usize,
    },
    /// A run is done.
    Done {
        /// Runs done.
        done: usize,
        /// Runs in all.
        total: usize,
        /// What was run.
        setting: &'a Setting,
        /// What came of it.
        record: &'a RunRecord,
    },
}

/// How a study ended.
#[derive(Debug)]
pub enum Ending {
    /// All runs are done and the tables written.
    Finished(Box<Tables>),
    /// It was told to stop; what is done is kept.
    Interrupted {
        /// Runs done.
        done: usize,
        /// Runs in all.
        total: usize,
    },
}

/// Runs a study in its directory on a number of threads until it is done or `stop` is set.
///
/// Tables are written when all runs are done. They depend on the study alone, never on threads, interruptions or time;
/// only `timings.csv` does.
pub fn execute(
    study: &Study,
    directory: &Directory,
    threads: usize,
    stop: &AtomicBool,
    tell: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Ending, StudyError> {
    let runs: Vec<(usize, u64)> =
        (0..study.settings.len()).flat_map(|i| (0..study.repetitions).map(move |repetition| (i, repetition))).collect();
    let total = runs.len();
    let mut open: Vec<(usize, u64)> = Vec::new();
    for (i, repetition) in runs {
        if directory.record(study, i, repetition)?.is_none() {
            open.push((i, repetition));
        }
    }
    let done = AtomicUsize::new(total - open.len());
    tell(Event::Begun { done: total - open.len(), total });

    let (places, place_of) = places(study);
    let job = |&(setting, repetition): &(usize, u64)| {
        let Setting { learner, episodes, .. } = &study.settings[setting];
        let checkpoints = study.checkpoints.of(*episodes).into();
        Job { place: place_of[setting], learner: learner.clone(), repetition, checkpoints }
    };
    let jobs: Vec<Job> = open.iter().map(job).collect();
    let keeper = Keeper { study, directory, open: &open, total, done: &done, tell };
    play_batch(&places, &jobs, study.seed, threads, stop, &keeper)?;
    let done = done.into_inner();
    if done < total {
        return Ok(Ending::Interrupted { done, total });
    }
    let _held = directory.hold();
    let tables = Tables::collect(study, directory)?;
    tables.write(study, directory)?;
    Ok(Ending::Finished(Box::new(tables)))
}

/// The worlds of a study, each once, and for each setting which of them is its own.
fn places(study: &Study) -> (Vec<Place>, Vec<usize>) {
    let mut worlds: Vec<&Setting> = Vec::new();
    let mut place_of = Vec::with_capacity(study.settings.len());
    for setting in &study.settings {
        let known = worlds.iter().position(|known| known.world == setting.world);
        place_of.push(known.unwrap_or(worlds.len()));
        if known.is_none() {
            worlds.push(setting);
        }
    }
    let place = |s: &Setting| Place::Pinned(s.world.clone(), s.fingerprint.clone());
    (worlds.into_iter().map(place).collect(), place_of)
}

/// Keeps each result in the directory as soon as it is there.
struct Keeper<'a> {
    study: &'a Study,
    directory: &'a Directory,
    /// Setting and repetition of each job.
    open: &'a [(usize, u64)],
    total: usize,
    done: &'a AtomicUsize,
    tell: &'a (dyn Fn(Event<'_>) + Sync),
}

impl Listener for Keeper<'_> {
    fn done(&self, job: usize, arena: &Arena, record: RunRecord) -> Result<(), StudyError> {
        let (setting, repetition) = self.open[job];
        self.directory.keep(self.study, setting, repetition, arena.reward_bound(), &record)?;
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        (self.tell)(Event::Done { done, total: self.total, setting: &self.study.settings[setting], record: &record });
        Ok(())
    }
}
