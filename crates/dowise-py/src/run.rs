//! Runs of learners: one that keeps its learner, or many in parallel; without the interpreter's lock.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, mpsc};

use dowise::learn::LearnerSpec;
use dowise_study::{
    Evaluation, Evaluator, Job, Listener, RunRecord, StudyError, WorldChoice, WorldSource, check, play_batch, threads,
};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;

use crate::error::{Error, Raise};
use crate::learner::Learner;
use crate::plan::vector;
use crate::watch::{SIGNALS, Watch};
use crate::whole;
use crate::world::World;

/// starting states, regrets, rewards, and whether it was interrupted
type Played<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, bool);

/// Lets a learner play episodes in its own world; it keeps what it learned.
#[pyfunction]
pub(crate) fn play<'py>(
    py: Python<'py>,
    world: &Bound<'py, World>,
    learner: &Bound<'py, Learner>,
    #[pyo3(from_py_with = whole::episodes)] episodes: u64,
    #[pyo3(from_py_with = whole::seed)] seed: u64,
    tell: Option<Py<PyAny>>,
) -> PyResult<Played<'py>> {
    let mut learner = learner.try_borrow_mut()?;
    learner.between_episodes("a run")?;
    let world = world.get();
    learner.belongs_to(&world.inner)?;
    let agent = &mut learner.inner;
    let mut watch = Watch::new(tell);
    let (mut starts, mut regrets, mut rewards) = (Vec::new(), Vec::new(), Vec::new());
    py.detach(|| -> PyResult<()> {
        let arena = world.arena()?;
        let mut run = arena.run(seed);
        run.episodes(episodes, agent, |episode| {
            starts.push(episode.start as i64);
            regrets.push(episode.regret);
            rewards.push(episode.reward);
            if watch.goes_on(episode.number, episodes) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        Ok(())
    })?;
    let interrupted = watch.interrupted(py)?;
    Ok((vector(py, starts), vector(py, regrets), vector(py, rewards), interrupted))
}

/// regret summed up `[run, episode]`, then for each run: reward, optimal and final value, seconds; and if interrupted
type AllPlayed<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>, bool);

fn read_judge(text: &str) -> PyResult<Evaluation> {
    text.parse().map_err(Error::new_err)
}

/// An error if a learner cannot play in a world with this judge, and whether it is evaluated by Monte Carlo.
#[pyfunction]
pub(crate) fn check_run(
    py: Python<'_>,
    world: &Bound<'_, World>,
    learner: &str,
    #[pyo3(from_py_with = whole::episodes)] episodes: u64,
    #[pyo3(from_py_with = whole::seed)] seed: u64,
    evaluation: Option<&str>,
) -> PyResult<bool> {
    let (world, evaluation) = (&world.get().inner, evaluation.map(read_judge).transpose()?);
    let spec: LearnerSpec = learner.parse().map_err(Raise::raise)?;
    let checked = py.detach(|| check(&spec, world, evaluation, episodes, seed));
    checked.map(|evaluation| evaluation == Evaluation::MonteCarlo).map_err(Raise::raise)
}

/// Plays every learner in every world several times, on all cores; runs are ordered by world, learner, repetition.
///
/// Worlds are `World` objects or texts such as `paper:levels=3`, which are drawn afresh for each repetition; `first` is the number of the first
/// repetition, so that one played elsewhere is the one that it is here.
#[pyfunction]
pub(crate) fn play_all<'py>(
    py: Python<'py>,
    worlds: Vec<Bound<'py, PyAny>>,
    learners: Vec<String>,
    #[pyo3(from_py_with = whole::episodes)] episodes: u64,
    #[pyo3(from_py_with = whole::repetitions)] repetitions: u64,
    #[pyo3(from_py_with = whole::seed)] seed: u64,
    n_threads: Option<usize>,
    tell: Option<Py<PyAny>>,
    evaluation: Option<&str>,
    first: u64,
) -> PyResult<AllPlayed<'py>> {
    let evaluation: Option<Evaluation> = evaluation.map(read_judge).transpose()?;
    if worlds.is_empty() || learners.is_empty() || episodes == 0 || repetitions == 0 {
        return Err(Error::new_err("a comparison needs at least one world, learner, episode and repetition"));
    }
    let specs: Vec<LearnerSpec> =
        learners.iter().map(|text| text.parse()).collect::<Result<_, _>>().map_err(Raise::raise)?;
    let source = |world: &Bound<'py, PyAny>| -> PyResult<WorldSource> {
        if let Ok(text) = world.extract::<String>() {
            return Ok(WorldSource::Chosen { choice: WorldChoice::read(&text), evaluation, pinned: None });
        }
        let world = world.cast::<World>().map_err(PyErr::from)?.get();
        Ok(WorldSource::Made(py.detach(|| world.place(evaluation, seed))?.into()))
    };
    let sources: Vec<WorldSource> = worlds.iter().map(source).collect::<PyResult<_>>()?;
    let every: Arc<[u64]> = (1..=episodes).collect();
    let mut jobs = Vec::with_capacity(sources.len() * specs.len() * repetitions as usize);
    for source in 0..sources.len() {
        for learner in &specs {
            let job = |repetition| Job { source, learner: learner.clone(), repetition, checkpoints: every.clone() };
            jobs.extend((first..first + repetitions).map(job));
        }
    }
    let mut watch = Watch::new(tell);
    let total = jobs.len() as u64 * episodes;
    let n_threads = threads(n_threads).map_err(Raise::raise)?;
    let played = py.detach(|| all(&sources, &jobs, seed, n_threads, total, &mut watch));
    let interrupted = watch.interrupted(py)?;
    let records = played.map_err(Raise::raise)?;
    let n = jobs.len();
    let (mut regret, mut numbers) = (Vec::with_capacity(n * episodes as usize), Vec::with_capacity(4 * n));
    for record in &records {
        // Runs that were not finished are holes, so that the others keep their positions.
        let hole = RunRecord {
            regret: vec![f64::NAN; episodes as usize],
            reward: f64::NAN,
            optimal: f64::NAN,
            value: f64::NAN,
            random: f64::NAN,
            seconds: f64::NAN,
            estimated: false,
        };
        let record = record.as_ref().unwrap_or(&hole);
        regret.extend_from_slice(&record.regret);
        numbers.extend([record.reward, record.optimal, record.value, record.seconds]);
    }
    let regret = vector(py, regret).reshape([n, episodes as usize])?;
    Ok((regret, vector(py, numbers).reshape([n, 4])?, interrupted))
}

/// Plays a batch on threads of its own, looking out for signals meanwhile; runs that were cut short are left out.
fn all(
    sources: &[WorldSource],
    jobs: &[Job],
    seed: u64,
    n_threads: usize,
    total: u64,
    watch: &mut Watch,
) -> Result<Vec<Option<RunRecord>>, StudyError> {
    let stop = AtomicBool::new(false);
    let gathered = Gathered { episodes: AtomicU64::new(0), records: Mutex::new(vec![None; jobs.len()]) };
    std::thread::scope(|scope| {
        let (send, receive) = mpsc::channel();
        let (stop, gathered) = (&stop, &gathered);
        scope.spawn(move || {
            let played = play_batch(sources, jobs, seed, n_threads, stop, gathered);
            // Sending fails only if the waiting thread is gone.
            let _ = send.send(played);
        });
        // Signals reach the thread that called, so it waits here and looks up now and then.
        loop {
            match receive.recv_timeout(SIGNALS) {
                Ok(played) => return played,
                Err(RecvTimeoutError::Timeout) if watch.goes_on(gathered.episodes.load(Ordering::Relaxed), total) => {}
                Err(RecvTimeoutError::Timeout) => stop.store(true, Ordering::Relaxed),
                Err(RecvTimeoutError::Disconnected) => panic!("invariant: a batch ends with a result"),
            }
        }
    })?;
    Ok(gathered.records.into_inner().expect(UNBROKEN))
}

/// Counts episodes, and keeps the record of each run.
struct Gathered {
    episodes: AtomicU64,
    records: Mutex<Vec<Option<RunRecord>>>,
}

const UNBROKEN: &str = "invariant: keeping a record does not panic";

impl Listener for Gathered {
    fn episode(&self) {
        self.episodes.fetch_add(1, Ordering::Relaxed);
    }

    fn done(&self, job: usize, _: &Evaluator, record: RunRecord) -> Result<(), StudyError> {
        self.records.lock().expect(UNBROKEN)[job] = Some(record);
        Ok(())
    }
}
