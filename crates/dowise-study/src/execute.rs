//! Runs what is not done yet, in parallel, keeping each result as soon as it is there.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use rayon::prelude::*;

use crate::identity::fingerprint;
use crate::{Directory, Environment, RunRecord, Setting, Study, StudyError, Tables, run};

/// What happens during a study.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// It begins, or goes on with so many runs done before.
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

/// Runs a study in its directory on so many threads until it is done or `stop` is set.
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
    let jobs = jobs(study);
    let total = jobs.len();
    let mut open: Vec<&Job> = Vec::new();
    for job in &jobs {
        if directory.record(study, job.setting, job.repetition)?.is_none() {
            open.push(job);
        }
    }
    let done = AtomicUsize::new(total - open.len());
    tell(Event::Begun { done: total - open.len(), total });

    let worlds = study.settings.len();
    let environments: Vec<Mutex<Weak<Environment>>> =
        (0..worlds * study.repetitions as usize).map(|_| Mutex::new(Weak::new())).collect();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| StudyError::Settings(format!("cannot start {threads} threads: {e}")))?;
    pool.install(|| {
        // One run at a time for each thread, in order, so that what is done is a prefix and worlds are shared.
        open.par_iter().with_max_len(1).try_for_each(|job| -> Result<(), StudyError> {
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let setting = &study.settings[job.setting];
            let seed = study.seed + job.repetition;
            let environment = shared(&environments[job.environment], || environment(setting, job.repetition, seed))?;
            let checkpoints = study.checkpoints.of(setting.episodes);
            let played = run::play(&environment, &setting.learner, seed, &checkpoints, stop, |_, _, _| {})?;
            let Some(record) = played else { return Ok(()) };
            directory.keep(study, job.setting, job.repetition, environment.reward_bound(), &record)?;
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            tell(Event::Done { done, total, setting, record: &record });
            Ok(())
        })
    })?;
    let done = done.into_inner();
    if done < total {
        return Ok(Ending::Interrupted { done, total });
    }
    let _held = directory.hold();
    let tables = Tables::collect(study, directory)?;
    tables.write(study, directory)?;
    Ok(Ending::Finished(Box::new(tables)))
}

/// One run.
struct Job {
    setting: usize,
    repetition: u64,
    /// Which world instance it is played in.
    environment: usize,
}

/// All runs; those that share a world instance stand together.
fn jobs(study: &Study) -> Vec<Job> {
    let first = |s: &Setting| study.settings.iter().position(|o| o.world == s.world).expect("it is one of them");
    let mut jobs: Vec<Job> = Vec::with_capacity(study.n_runs());
    for (i, setting) in study.settings.iter().enumerate() {
        let first = first(setting);
        for repetition in 0..study.repetitions {
            let environment = first * study.repetitions as usize + repetition as usize;
            jobs.push(Job { setting: i, repetition, environment });
        }
    }
    jobs.sort_by_key(|j| j.environment);
    jobs
}

/// The world of a repetition made ready, if it is still the one that the study was resolved with.
fn environment(setting: &Setting, repetition: u64, seed: u64) -> Result<Environment, StudyError> {
    let world = setting.world.make(seed)?;
    // A world that is drawn afresh has the fingerprint of its first draw; its other draws follow from its settings.
    let known = repetition == 0 || !setting.world.is_fresh();
    if known && fingerprint(&world) != setting.fingerprint {
        return Err(StudyError::Settings(format!(
            "{} has changed since the study began; results of two different worlds are not put into one table. \
             Bring it back and give the same command again, or choose another directory with --out",
            setting.world
        )));
    }
    Environment::of(&world, &setting.world.to_string())
}

/// The environment that others use already, or a new one; it goes when the last run that uses it ends.
fn shared(
    slot: &Mutex<Weak<Environment>>,
    make: impl FnOnce() -> Result<Environment, StudyError>,
) -> Result<Arc<Environment>, StudyError> {
    let mut slot = slot.lock().expect("no run panics while it holds this");
    if let Some(there) = slot.upgrade() {
        return Ok(there);
    }
    let made = Arc::new(make()?);
    *slot = Arc::downgrade(&made);
    Ok(made)
}
