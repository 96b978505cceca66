//! Plays many runs in parallel: worlds are made once and shared, results do not depend on threads, the caller may stop.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use dowise::learn::LearnerSpec;
use dowise::{Arena, Planner, World};

use crate::identity::world_fingerprint;
use crate::monte_carlo::learns_from_visited_states;
use crate::{Evaluation, Evaluator, RunRecord, StudyError, WorldChoice, memory_budget};

/// Where the world of a run comes from.
#[derive(Clone, Debug)]
pub enum WorldSource {
    /// A world that is ready to be played.
    Made(Arc<Evaluator>),
    /// A world made from its text; a fresh one is drawn for each repetition, the same for every learner.
    Chosen {
        /// The text.
        choice: WorldChoice,
        /// The judge, if one was chosen.
        evaluation: Option<Evaluation>,
        /// The fingerprint that its (first) world must still have, if it had one before.
        pinned: Option<String>,
    },
}

impl WorldSource {
    fn choice(&self) -> Option<&WorldChoice> {
        match self {
            WorldSource::Made(_) => None,
            WorldSource::Chosen { choice, .. } => Some(choice),
        }
    }
}

/// One run to be played.
#[derive(Clone, Debug)]
pub struct Job {
    /// Position among the sources.
    pub source: usize,
    /// The learner that plays.
    pub learner: LearnerSpec,
    /// Number of the repetition, from 0; its seed is that of the batch plus this.
    pub repetition: u64,
    /// Episodes at which regret is written down; the last one ends the run.
    pub checkpoints: Arc<[u64]>,
}

/// Receives the progress of a batch, on any of its threads.
pub trait Listener: Sync {
    /// An episode of some run has been played.
    fn episode(&self) {}

    /// A run is done: its position among the jobs, its world and its record. An error ends the batch.
    fn done(&self, job: usize, place: &Evaluator, record: RunRecord) -> Result<(), StudyError>;
}

/// Plays all jobs until they are done or `stop` is set; runs that were cut short are not reported.
///
/// Fewer runs are played at once if memory does not suffice for as many of the largest; a run that does not fit alone is
/// refused. The record of a job depends on the job and the seed alone. Jobs that share a world are played one after the other, and the
/// world goes when the last of them ends.
pub fn play_batch(
    sources: &[WorldSource],
    jobs: &[Job],
    seed: u64,
    threads: usize,
    stop: &AtomicBool,
    listener: &impl Listener,
) -> Result<(), StudyError> {
    let worlds = SharedWorlds::new(sources, jobs);
    // As many runs at once as there are threads, jobs and room for; each shares its large plans with threads of its own. They
    // have a pool each: a thread that waits for its share of a plan must not begin another run on top of its own.
    let at_once = match threads.min(jobs.len()) {
        0 | 1 => 1,
        most => memory_budget::at_once(&needs(sources, jobs, seed)?, dowise::memory_left(), most),
    };
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_key(|&i| (jobs[i].source, jobs[i].repetition));
    let pool = |_| rayon::ThreadPoolBuilder::new().num_threads(threads / at_once).build();
    let pools: Vec<_> = (0..at_once)
        .map(pool)
        .collect::<Result<_, _>>()
        .map_err(|e| StudyError::Invalid(format!("cannot start {threads} threads: {e}")))?;
    let one = |i: usize| -> Result<(), StudyError> {
        let job = &jobs[i];
        let seed = seed + job.repetition;
        let place = worlds.take(job, seed)?;
        let after = |_, _, _| listener.episode();
        let played = place.play(&job.learner, seed, &job.checkpoints, stop, after)?;
        worlds.give_back(job);
        played.map_or(Ok(()), |record| listener.done(i, &place, record))
    };
    // One after the other in order, so that worlds are shared and few are there at a time.
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(None));
    let work = || {
        while !stop.load(Ordering::Relaxed)
            && failed.lock().expect(UNBROKEN).is_none()
            && let Some(&i) = order.get(next.fetch_add(1, Ordering::Relaxed))
        {
            if let Err(error) = one(i) {
                failed.lock().expect(UNBROKEN).get_or_insert(error);
            }
        }
    };
    std::thread::scope(|scope| pools.iter().for_each(|pool| _ = scope.spawn(|| pool.install(work))));
    failed.into_inner().expect(UNBROKEN).map_or(Ok(()), Err)
}

/// Bytes that each kind of job takes at most: a world and a learner.
fn needs(sources: &[WorldSource], jobs: &[Job], seed: u64) -> Result<Vec<memory_budget::Need>, StudyError> {
    let mut kinds: Vec<(usize, &LearnerSpec, u64, usize)> = Vec::new();
    for job in jobs {
        let episodes = job.checkpoints.last().copied().unwrap_or(0);
        let same = |kind: &&mut (usize, &LearnerSpec, u64, usize)| {
            (kind.0, kind.1, kind.2) == (job.source, &job.learner, episodes)
        };
        match kinds.iter_mut().rev().find(same) {
            Some(kind) => kind.3 += 1,
            None => kinds.push((job.source, &job.learner, episodes, 1)),
        }
    }
    let mut made: Option<(usize, World)> = None;
    let mut out = Vec::with_capacity(kinds.len());
    for (source, learner, episodes, count) in kinds {
        let (world, plan, monte_carlo) = match &sources[source] {
            // Its plan is there already.
            WorldSource::Made(place) => (place.world(), 0, matches!(**place, Evaluator::MonteCarlo(_))),
            WorldSource::Chosen { choice, evaluation, .. } => {
                if made.as_ref().is_none_or(|(of, _)| *of != source) {
                    made = Some((source, choice.make(seed)?));
                }
                let world = &made.as_ref().expect("invariant: it was made above").1;
                let monte_carlo = Evaluation::of(*evaluation, world, &choice.to_string())? == Evaluation::MonteCarlo;
                (world, if monte_carlo { 0 } else { Planner::bytes(world) }, monte_carlo)
            }
        };
        // What is learned from the states met grows with them; it is not known before.
        if monte_carlo && (!world.is_enumerable() || learns_from_visited_states(learner, world)) {
            continue;
        }
        // A learner that cannot be made is refused by name when its turn comes.
        let learner = learner.bytes(world, episodes.max(1)).unwrap_or(0);
        // The policy that was learned is made by a copy.
        let judging = if monte_carlo { 0 } else { Arena::run_bytes(world) };
        let bytes = plan.saturating_add(judging).saturating_add(learner.saturating_mul(2));
        out.push(memory_budget::Need { bytes, count });
    }
    Ok(out)
}

/// Worlds that several runs play in, made when the first needs them and dropped after the last.
struct SharedWorlds<'a> {
    sources: &'a [WorldSource],
    /// Repetitions, that is slots for each source.
    repetitions: usize,
    slots: Vec<Mutex<Slot>>,
}

#[derive(Default)]
struct Slot {
    place: Option<Arc<Evaluator>>,
    /// Jobs that have not ended yet.
    left: usize,
}

impl<'a> SharedWorlds<'a> {
    fn new(sources: &'a [WorldSource], jobs: &[Job]) -> SharedWorlds<'a> {
        let repetitions = jobs.iter().map(|job| job.repetition as usize + 1).max().unwrap_or(0);
        let slots = (0..sources.len() * repetitions).map(|_| Mutex::default()).collect();
        let worlds = SharedWorlds { sources, repetitions, slots };
        jobs.iter().for_each(|job| worlds.slot(job).lock().expect(UNBROKEN).left += 1);
        worlds
    }

    fn slot(&self, job: &Job) -> &Mutex<Slot> {
        let fresh = self.sources[job.source].choice().is_some_and(WorldChoice::is_fresh);
        // A world that is not drawn afresh is the same for all repetitions.
        &self.slots[job.source * self.repetitions + if fresh { job.repetition as usize } else { 0 }]
    }

    /// The world of a job; those who need the same one wait while it is made.
    fn take(&self, job: &Job, seed: u64) -> Result<Arc<Evaluator>, StudyError> {
        let (choice, evaluation, pinned) = match &self.sources[job.source] {
            WorldSource::Made(place) => return Ok(place.clone()),
            WorldSource::Chosen { choice, evaluation, pinned } => (choice, *evaluation, pinned.as_ref()),
        };
        let mut slot = self.slot(job).lock().expect(UNBROKEN);
        if let Some(place) = &slot.place {
            return Ok(place.clone());
        }
        let world = choice.make(seed)?;
        // A world that is drawn afresh has the fingerprint of its first draw; its other draws follow from its settings.
        let known = job.repetition == 0 || !choice.is_fresh();
        if pinned.is_some_and(|pinned| known && world_fingerprint(&world) != *pinned) {
            return Err(StudyError::Invalid(format!(
                "{choice} has changed since the study began; results of two different worlds are not put into one table. \
                 Bring it back and give the same command again, or choose another directory with --out"
            )));
        }
        Ok(slot
            .place
            .insert(Arc::new(Evaluator::new(&world, &choice.to_string(), evaluation, seed - job.repetition)?))
            .clone())
    }

    /// The job has ended.
    fn give_back(&self, job: &Job) {
        let mut slot = self.slot(job).lock().expect(UNBROKEN);
        slot.left -= 1;
        if slot.left == 0 {
            slot.place = None;
        }
    }
}

const UNBROKEN: &str = "invariant: nothing that holds a lock panics";

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps the records by job.
    struct Kept(Mutex<Vec<Option<RunRecord>>>);

    impl Listener for Kept {
        fn done(&self, job: usize, _: &Evaluator, record: RunRecord) -> Result<(), StudyError> {
            self.0.lock().unwrap()[job] = Some(RunRecord { seconds: 0.0, ..record });
            Ok(())
        }
    }

    fn chosen(choice: WorldChoice) -> WorldSource {
        WorldSource::Chosen { choice, evaluation: None, pinned: None }
    }

    fn jobs(n_sources: usize, repetitions: u64) -> Vec<Job> {
        let mut jobs = Vec::new();
        for source in 0..n_sources {
            for learner in ["c-psrl", "uniform"] {
                let job = |repetition| Job {
                    source,
                    learner: learner.parse().unwrap(),
                    repetition,
                    checkpoints: [5, 20].into(),
                };
                jobs.extend((0..repetitions).map(job));
            }
        }
        jobs
    }

    fn played(sources: &[WorldSource], jobs: &[Job], threads: usize, stop: bool) -> Vec<Option<RunRecord>> {
        let kept = Kept(Mutex::new(vec![None; jobs.len()]));
        play_batch(sources, jobs, 3, threads, &AtomicBool::new(stop), &kept).unwrap();
        kept.0.into_inner().unwrap()
    }

    #[test]
    fn a_batch_equals_its_runs_one_by_one_on_any_number_of_threads() {
        let (fresh, fixed) = (WorldChoice::read("paper:factors=1"), WorldChoice::read("river-swim:seed=1"));
        let there = Arc::new(Evaluator::new(&fixed.make(0).unwrap(), "fixed", None, 3).unwrap());
        let sources = [chosen(fresh.clone()), chosen(fixed.clone()), WorldSource::Made(there)];
        let jobs = jobs(sources.len(), 3);
        let together = played(&sources, &jobs, 2, false);
        assert_eq!(together, played(&sources, &jobs, 1, false));
        for (job, record) in jobs.iter().zip(&together) {
            let seed = 3 + job.repetition;
            let place = Evaluator::new(&[&fresh, &fixed, &fixed][job.source].make(seed).unwrap(), "", None, 3).unwrap();
            let stop = AtomicBool::new(false);
            let alone = place.play(&job.learner, seed, &job.checkpoints, &stop, |_, _, _| {}).unwrap().unwrap();
            assert_eq!(record.as_ref().unwrap(), &RunRecord { seconds: 0.0, ..alone });
        }
    }

    #[test]
    fn worlds_go_when_their_last_run_ends() {
        let sources = [chosen(WorldChoice::read("paper:factors=1"))];
        let jobs = jobs(1, 2);
        let worlds = SharedWorlds::new(&sources, &jobs);
        let first = worlds.take(&jobs[0], 3).unwrap();
        // The other learner of the same repetition gets the same world, another repetition another one.
        assert!(Arc::ptr_eq(&first, &worlds.take(&jobs[2], 3).unwrap()));
        assert!(!Arc::ptr_eq(&first, &worlds.take(&jobs[1], 4).unwrap()));
        worlds.give_back(&jobs[0]);
        assert_eq!(Arc::strong_count(&first), 2);
        worlds.give_back(&jobs[2]);
        assert_eq!(Arc::strong_count(&first), 1);
    }

    #[test]
    fn a_stopped_batch_reports_no_unfinished_runs() {
        let sources = [chosen(WorldChoice::read("paper:factors=1"))];
        assert!(played(&sources, &jobs(1, 2), 2, true).iter().all(Option::is_none));
    }

    #[test]
    fn what_cannot_be_made_ends_the_batch_with_its_name() {
        let kept = Kept(Mutex::new(vec![None; 4]));
        let sources = [chosen(WorldChoice::read("papper"))];
        let error = play_batch(&sources, &jobs(1, 2), 0, 2, &AtomicBool::new(false), &kept).unwrap_err();
        assert!(error.to_string().contains("did you mean \"paper\"?"), "{error}");
    }
}
