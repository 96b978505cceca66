//! Runs what is not done yet, in parallel, keeping each result as soon as it is there.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::batch::{Job, Listener, WorldSource, play_batch};
use crate::{Combination, Directory, Evaluator, RunRecord, Shard, Study, StudyError, Tables};

/// Progress of a study.
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
        /// Its world, learner and episodes.
        combination: &'a Combination,
        /// Its results.
        record: &'a RunRecord,
    },
}

/// How a study ended.
#[derive(Debug)]
pub enum Ending {
    /// All runs are done and the tables written.
    Finished(Box<Tables>),
    /// All runs of a shard are done; those of other shards are not all here, so there are no tables.
    Part {
        /// Runs here.
        done: usize,
        /// Runs of the study.
        total: usize,
    },
    /// It was given to stop; what is done is kept.
    Interrupted {
        /// Runs done.
        done: usize,
        /// Runs in all.
        total: usize,
    },
}

/// Runs a study in its directory on a number of threads until it is done or `stop` is set.
///
/// With a shard only its runs are run. Tables are written when all runs of the study are done. They depend on the study alone, never on threads, interruptions or time;
/// only `timings.csv` does.
pub fn execute(
    study: &Study,
    directory: &Directory,
    shard: Option<Shard>,
    threads: usize,
    stop: &AtomicBool,
    tell: &(dyn Fn(Event<'_>) + Sync),
) -> Result<Ending, StudyError> {
    let runs = (0..study.combinations.len())
        .flat_map(|i| (0..study.repetitions).map(move |repetition| (i, repetition)))
        .enumerate();
    let mut open: Vec<(usize, u64)> = Vec::new();
    let mut elsewhere = 0;
    for (position, (i, repetition)) in runs {
        if directory.record(study, i, repetition)?.is_some() {
            continue;
        }
        match shard.is_none_or(|shard| shard.has(position)) {
            true => open.push((i, repetition)),
            false => elsewhere += 1,
        }
    }
    // What other shards have left here counts as done, and what they have not as nobody's here.
    let total = study.n_runs() - elsewhere;
    let done = AtomicUsize::new(total - open.len());
    tell(Event::Begun { done: total - open.len(), total });

    let (sources, source_of) = sources(study);
    let job = |&(combination, repetition): &(usize, u64)| {
        let Combination { learner, episodes, .. } = &study.combinations[combination];
        let checkpoints = study.checkpoints.of(*episodes).into();
        Job { source: source_of[combination], learner: learner.clone(), repetition, checkpoints }
    };
    let jobs: Vec<Job> = open.iter().map(job).collect();
    let keeper = Keeper { study, directory, open: &open, total, done: &done, tell };
    play_batch(&sources, &jobs, study.seed, threads, stop, &keeper)?;
    let done = done.into_inner();
    if done < total {
        return Ok(Ending::Interrupted { done, total });
    }
    if elsewhere > 0 {
        return Ok(Ending::Part { done, total: study.n_runs() });
    }
    let _held = directory.hold()?;
    let tables = Tables::collect(study, directory)?;
    tables.write(study, directory)?;
    Ok(Ending::Finished(Box::new(tables)))
}

/// The worlds of a study, each once, and for each combination which of them is its own.
fn sources(study: &Study) -> (Vec<WorldSource>, Vec<usize>) {
    let mut worlds: Vec<&Combination> = Vec::new();
    let mut source_of = Vec::with_capacity(study.combinations.len());
    for combination in &study.combinations {
        let known = worlds
            .iter()
            .position(|known| (&known.world, known.monte_carlo) == (&combination.world, combination.monte_carlo));
        source_of.push(known.unwrap_or(worlds.len()));
        if known.is_none() {
            worlds.push(combination);
        }
    }
    let source = |s: &Combination| {
        let (choice, pinned) = (s.world.clone(), Some(s.fingerprint.clone()));
        WorldSource::Chosen { choice, evaluation: Some(s.evaluation()), pinned }
    };
    (worlds.into_iter().map(source).collect(), source_of)
}

/// Keeps each result in the directory as soon as it is there.
struct Keeper<'a> {
    study: &'a Study,
    directory: &'a Directory,
    /// Combination and repetition of each job.
    open: &'a [(usize, u64)],
    total: usize,
    done: &'a AtomicUsize,
    tell: &'a (dyn Fn(Event<'_>) + Sync),
}

impl Listener for Keeper<'_> {
    fn done(&self, job: usize, place: &Evaluator, record: RunRecord) -> Result<(), StudyError> {
        let (combination, repetition) = self.open[job];
        self.directory.keep(self.study, combination, repetition, place.world().reward_bound(), &record)?;
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        (self.tell)(Event::Done {
            done,
            total: self.total,
            combination: &self.study.combinations[combination],
            record: &record,
        });
        Ok(())
    }
}
