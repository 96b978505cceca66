//! Runs of learners: one that keeps its learner, or many in parallel; without the interpreter's lock.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, mpsc};

use dowise::Run;
use dowise::learn::LearnerSpec;
use dowise_study::{Environment, RunRecord, StudyError, WorldChoice, threads};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use rayon::prelude::*;

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
        let environment = world.environment()?;
        let mut run = Run::new(&environment.simulator, &environment.planner, &environment.best.value_hs, seed);
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

/// Where runs are played: in a world that is there, or in one that is chosen, perhaps afresh for each repetition.
enum Place {
    There(Arc<Environment>),
    Chosen(WorldChoice),
}

/// One run to be done.
struct Job {
    place: usize,
    learner: usize,
    repetition: u64,
}

/// regret summed up `[run, episode]`, then for each run: reward, optimal and final value, seconds; and if interrupted
type AllPlayed<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>, bool);

/// Plays every learner in every world so many times, on all cores; runs are ordered by world, learner, repetition.
///
/// Worlds are `World` objects or texts such as `paper:levels=3`, which are drawn afresh for each repetition.
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
) -> PyResult<AllPlayed<'py>> {
    if worlds.is_empty() || learners.is_empty() || episodes == 0 || repetitions == 0 {
        return Err(Error::new_err("a comparison needs at least one world, learner, episode and repetition"));
    }
    let specs: Vec<LearnerSpec> =
        learners.iter().map(|text| text.parse()).collect::<Result<_, _>>().map_err(Raise::raise)?;
    let place = |world: &Bound<'py, PyAny>| -> PyResult<Place> {
        if let Ok(text) = world.extract::<String>() {
            return Ok(Place::Chosen(WorldChoice::read(&text)));
        }
        let world = world.cast::<World>().map_err(PyErr::from)?.get();
        Ok(Place::There(py.detach(|| world.environment())?))
    };
    let places: Vec<Place> = worlds.iter().map(place).collect::<PyResult<_>>()?;
    let jobs: Vec<Job> = (0..places.len())
        .flat_map(|place| (0..specs.len()).map(move |learner| (place, learner)))
        .flat_map(|(place, learner)| (0..repetitions).map(move |repetition| Job { place, learner, repetition }))
        .collect();
    let mut watch = Watch::new(tell);
    let played = py.detach(|| all(&places, &specs, &jobs, episodes, repetitions, seed, n_threads, &mut watch));
    let interrupted = watch.interrupted(py)?;
    let records = played.map_err(Raise::raise)?;
    let n = jobs.len();
    let (mut regret, mut numbers) = (Vec::with_capacity(n * episodes as usize), Vec::with_capacity(4 * n));
    for record in &records {
        // Runs that were not finished are holes, so that the others keep their places.
        let hole = RunRecord {
            regret: vec![f64::NAN; episodes as usize],
            reward: f64::NAN,
            optimal: f64::NAN,
            value: f64::NAN,
            seconds: f64::NAN,
        };
        let record = record.as_ref().unwrap_or(&hole);
        regret.extend_from_slice(&record.regret);
        numbers.extend([record.reward, record.optimal, record.value, record.seconds]);
    }
    let regret = vector(py, regret).reshape([n, episodes as usize])?;
    Ok((regret, vector(py, numbers).reshape([n, 4])?, interrupted))
}

fn all(
    places: &[Place],
    specs: &[LearnerSpec],
    jobs: &[Job],
    episodes: u64,
    repetitions: u64,
    seed: u64,
    n_threads: Option<usize>,
    watch: &mut Watch,
) -> Result<Vec<Option<RunRecord>>, StudyError> {
    let every: Vec<u64> = (1..=episodes).collect();
    let made: Vec<Mutex<Option<Arc<Environment>>>> =
        (0..places.len() * repetitions as usize).map(|_| Mutex::new(None)).collect();
    let environment = |job: &Job, seed: u64| -> Result<Arc<Environment>, StudyError> {
        let choice = match &places[job.place] {
            Place::There(environment) => return Ok(environment.clone()),
            Place::Chosen(choice) => choice,
        };
        // A world that is not drawn afresh is the same for all repetitions.
        let repetition = if choice.is_fresh() { job.repetition as usize } else { 0 };
        let mut slot = made[job.place * repetitions as usize + repetition].lock().expect("no run panics here");
        if let Some(there) = slot.as_ref() {
            return Ok(there.clone());
        }
        Ok(slot.insert(Arc::new(Environment::new(choice, seed)?)).clone())
    };
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads(n_threads)?)
        .build()
        .map_err(|e| StudyError::Settings(format!("cannot start threads: {e}")))?;
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let total = jobs.len() as u64 * episodes;
    std::thread::scope(|scope| {
        let (send, receive) = mpsc::channel();
        let (stop, done) = (&stop, &done);
        scope.spawn(move || {
            let records = pool.install(|| {
                jobs.par_iter()
                    .with_max_len(1)
                    .map(|job| {
                        if stop.load(Ordering::Relaxed) {
                            return Ok(None);
                        }
                        let seed = seed + job.repetition;
                        let environment = environment(job, seed)?;
                        dowise_study::play(&environment, &specs[job.learner], seed, &every, stop, |_, _, _| {
                            done.fetch_add(1, Ordering::Relaxed);
                        })
                    })
                    .collect()
            });
            // Nobody waits any more only if this thread's owner is gone.
            let _ = send.send(records);
        });
        // Signals reach the thread that called, so it waits here and looks up now and then.
        loop {
            match receive.recv_timeout(SIGNALS) {
                Ok(records) => return records,
                Err(RecvTimeoutError::Timeout) if watch.goes_on(done.load(Ordering::Relaxed), total) => {}
                Err(RecvTimeoutError::Timeout) => stop.store(true, Ordering::Relaxed),
                Err(RecvTimeoutError::Disconnected) => panic!("a run ended without a result"),
            }
        }
    })
}
