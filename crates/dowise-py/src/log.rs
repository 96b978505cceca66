//! `dowise.Log`: a log and the world that it is of, read anew by everything that is asked of it.

use std::ops::ControlFlow;
use std::path::PathBuf;

use dowise::data::{Coded, CsvTable, LogError, LogMap, LogReader, LogReport, LogStep, Table};
use dowise::offline::fit::{FitError, FitOptions, Fitting, OpenQuestion, WarmStartCheck};
use dowise::offline::{
    AssumptionRecord, EpisodeError, Episodes, GraphTest, MissingnessCounts, MissingnessTest, OfflineError,
    OfflineOptions, PropensityCounts, PropensityTest, Starts, evaluate, plan_safely,
};
use pyo3::prelude::*;

use crate::error::{Error, LogError_, Raise, learn};
use crate::learner::Learner;
use crate::plan::{interventions, to_python};
use crate::world::World;
use crate::{given, whole};

/// Folds of episodes: a model is compared only with episodes that it has not seen.
const FOLDS: usize = 5;

/// A column as `_logs.py` hands it over: name, labels, and for each row the position of its label.
type Column = (String, Vec<String>, Vec<Option<u32>>);

/// Fitted world, its text, the evidence's text, the report.
type Fitted<'py> = (World, String, String, Bound<'py, PyAny>);

/// Where the rows are.
enum Source {
    File(PathBuf),
    Columns(Coded),
}

/// A log of a world: steps that somebody played, in a file or a frame; `dowise.Log(source, world)`.
///
/// Nothing of it is kept but the columns of a frame: whatever is asked reads it from start to end.
#[pyclass(frozen, module = "dowise", name = "_Log", subclass)]
pub(crate) struct Log {
    world: Py<World>,
    source: Source,
    map: Option<LogMap>,
    report: LogReport,
    missingness: Vec<MissingnessTest>,
    propensities: PropensityTest,
}

impl Log {
    fn table(&self) -> Result<Box<dyn Table + Send>, LogError> {
        open(&self.source)
    }

    /// Hands every step on, until one fails.
    fn steps<E>(
        &self,
        world: &dowise::World,
        mut visit: impl FnMut(&LogStep<'_>) -> Result<(), E>,
    ) -> Result<Result<(), E>, LogError> {
        let mut outcome = Ok(());
        LogReader::new(self.table()?, world, self.map.as_ref())?.steps(|step| match visit(step) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                outcome = Err(error);
                ControlFlow::Break(())
            }
        })?;
        Ok(outcome)
    }

    /// Hands every episode on, until one fails.
    fn episodes<E>(
        &self,
        world: &dowise::World,
        mut visit: impl FnMut(&[LogStep<'_>]) -> Result<(), E>,
    ) -> Result<Result<(), E>, LogError> {
        let mut outcome = Ok(());
        LogReader::new(self.table()?, world, self.map.as_ref())?.episodes(|steps| match visit(steps) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                outcome = Err(error);
                ControlFlow::Break(())
            }
        })?;
        Ok(outcome)
    }

    /// All episodes, counted for a world some of whose numbers are kept.
    fn counted(
        &self,
        py: Python<'_>,
        keep: Vec<String>,
        randomised: Vec<String>,
        em: bool,
    ) -> PyResult<(Episodes, Vec<OpenQuestion>)> {
        let world = &self.world.get().inner;
        let randomised_steps = self.report.randomised > 0 && !em;
        let options = FitOptions { keep, randomised, randomised_steps, ..FitOptions::default() };
        let fitting = Fitting::new(world, options).map_err(Raise::raise)?;
        let from_file = fitting.rests_on().map_err(Raise::raise)?;
        let mut all = Episodes::of_fit(&fitting, FOLDS).map_err(Raise::raise)?;
        if em {
            all = all.with_em();
        }
        let read = py.detach(|| self.episodes(fitting.world(), |steps| all.add(steps)));
        read.map_err(Raise::raise)?.map_err(Raise::raise)?;
        all.exclude(self.report.excluded(), self.report.rows);
        all.cut(&self.report.binned);
        Ok((all, from_file))
    }

    fn options(&self, offline: Offline) -> PyResult<OfflineOptions> {
        let starts = match offline.start.as_str() {
            "log" => Starts::Log,
            "world" => Starts::Given(self.world.get().inner.start().clone()),
            other => return Err(Error::new_err(format!("start is \"{other}\", expected \"log\" or \"world\""))),
        };
        let Offline { prior, delta, samples, seed, .. } = offline;
        if !(delta > 0.0 && delta < 1.0) {
            return Err(Error::new_err(format!("delta is {delta}, expected a probability above 0 and below 1")));
        }
        Ok(OfflineOptions { prior, delta, samples, seed, starts, ..OfflineOptions::default() })
    }
}

/// How a log is evaluated.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Offline {
    prior: f64,
    delta: f64,
    samples: u32,
    seed: u64,
    start: String,
    em: bool,
}

/// What was found, and as `from_file` what the log cannot say, so that the numbers of the world file were taken.
fn with_questions<'py>(
    py: Python<'py>,
    found: &impl serde::Serialize,
    from_file: &[OpenQuestion],
) -> PyResult<Bound<'py, PyAny>> {
    let found = to_python(py, found)?;
    found.set_item("from_file", to_python(py, &from_file)?)?;
    Ok(found)
}

fn open(source: &Source) -> Result<Box<dyn Table + Send>, LogError> {
    Ok(match source {
        Source::File(path) => Box::new(CsvTable::open(path)?),
        Source::Columns(columns) => Box::new(columns.clone()),
    })
}

#[pymethods]
impl Log {
    #[new]
    #[pyo3(signature = (world, path, columns, map))]
    fn new(
        py: Python<'_>,
        world: Py<World>,
        path: Option<PathBuf>,
        columns: Option<Vec<Column>>,
        map: Option<(String, String)>,
    ) -> PyResult<Log> {
        let source = match (path, columns) {
            (Some(path), _) => Source::File(path),
            (None, Some(columns)) => Source::Columns(
                Coded::new(columns).ok_or_else(|| Error::new_err("the columns of the log have different lengths"))?,
            ),
            (None, None) => return Err(Error::new_err("a log is a file or a frame")),
        };
        let inner = &world.get().inner;
        let map = map.map(|(text, name)| LogMap::from_toml(&text, &name, inner)).transpose().map_err(Raise::raise)?;
        let knowledge = dowise::Knowledge::of(inner);
        let (mut recorded, mut assigned) = (MissingnessCounts::new(&knowledge), PropensityCounts::new(&knowledge));
        let read = py.detach(|| -> Result<LogReport, LogError> {
            LogReader::new(open(&source)?, inner, map.as_ref())?.steps(|step| {
                recorded.add(&step.observation, step.weight);
                assigned.add(step);
                ControlFlow::Continue(())
            })
        });
        let report = read.map_err(Raise::raise)?;
        let (missingness, propensities) = (recorded.tests(), assigned.test());
        Ok(Log { world, source, map, report, missingness, propensities })
    }

    /// The world that the log is of.
    #[getter]
    fn world(&self, py: Python<'_>) -> Py<World> {
        self.world.clone_ref(py)
    }

    /// What is there: rows, steps, episodes, missing cells, policies, everything that was found, and as `missingness` whether what is missing
    /// depends on what was paid or followed, as `propensities` whether interventions occur as often as these say.
    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let report = to_python(py, &self.report)?;
        report.set_item("missingness", to_python(py, &self.missingness)?)?;
        report.set_item("propensities", to_python(py, &self.propensities)?)?;
        Ok(report)
    }

    #[getter]
    fn _has_errors(&self) -> bool {
        self.report.findings.has_errors()
    }

    #[getter]
    fn _findings(&self) -> String {
        self.report.findings.to_string()
    }

    #[pyo3(signature = (keep, prior, level, em, randomised))]
    fn _fit<'py>(
        &self,
        py: Python<'py>,
        keep: Vec<String>,
        prior: f64,
        level: f64,
        em: bool,
        randomised: Vec<String>,
    ) -> PyResult<Fitted<'py>> {
        let randomised_steps = self.report.randomised > 0;
        let options = FitOptions { keep, prior, level, em, randomised, randomised_steps };
        let mut fitting = Fitting::new(&self.world.get().inner, options).map_err(Raise::raise)?;
        let world = fitting.world().clone();
        let read = py.detach(|| self.episodes(&world, |steps| fitting.add_episode(steps)));
        read.map_err(Raise::raise)?.map_err(|at| at.1.raise())?;
        fitting.exclude(self.report.excluded(), self.report.rows);
        fitting.cut(&self.report.binned);
        let fitted = py.detach(|| fitting.fit()).map_err(Raise::raise)?;
        let report = to_python(py, fitted.report())?;
        Ok((fitted.world().clone().into(), fitted.text().to_owned(), fitted.evidence_text(), report))
    }

    fn _test<'py>(&self, py: Python<'py>, level: f64) -> PyResult<(Bound<'py, PyAny>, String, bool)> {
        if !(level > 0.0 && level < 1.0) {
            return Err(Error::new_err(format!("level is {level}, expected a probability above 0 and below 1")));
        }
        let world = &self.world.get().inner;
        let mut test = GraphTest::new(&dowise::Knowledge::of(world));
        let read = py.detach(|| self.episodes(world, |steps| test.add_episode(steps)));
        read.map_err(Raise::raise)?.map_err(Raise::raise)?;
        test.cut(&self.report.binned);
        let report = py.detach(|| test.finish(level));
        Ok((to_python(py, &report)?, report.verdict(), report.is_contradicted()))
    }

    fn _evaluate<'py>(
        &self,
        py: Python<'py>,
        policy: &Bound<'py, PyAny>,
        keep: Vec<String>,
        randomised: Vec<String>,
        offline: Offline,
    ) -> PyResult<Bound<'py, PyAny>> {
        let policy = interventions(&self.world.get().inner, policy)?;
        let em = offline.em;
        let options = self.options(offline)?;
        let (log, from_file) = self.counted(py, keep, randomised, em)?;
        let found = py.detach(|| evaluate(&log, &policy, &options)).map_err(Raise::raise)?;
        with_questions(py, &found, &from_file)
    }

    /// The plans and their values, and the number of each plan's intervention, `[stage][state]`.
    fn _plan_safely<'py>(
        &self,
        py: Python<'py>,
        keep: Vec<String>,
        randomised: Vec<String>,
        offline: Offline,
    ) -> PyResult<(Bound<'py, PyAny>, Vec<i64>, Vec<i64>)> {
        let em = offline.em;
        let options = self.options(offline)?;
        let (log, from_file) = self.counted(py, keep, randomised, em)?;
        let found = py.detach(|| plan_safely(&log, &options)).map_err(Raise::raise)?;
        let world = &self.world.get().inner;
        let ranks = |policy: &[dowise::Action]| policy.iter().map(|&a| given::rank(world, a)).collect::<Vec<_>>();
        let (mean, worst) = (ranks(&found.mean.policy_hs), ranks(&found.pessimistic.policy_hs));
        Ok((with_questions(py, &found, &from_file)?, mean, worst))
    }

    /// Everything into a learner; the number of steps that went in.
    fn _teach(&self, py: Python<'_>, learner: &Bound<'_, Learner>, randomised: Vec<String>) -> PyResult<u64> {
        let world = &self.world.get().inner;
        let mut learner = learner.borrow_mut();
        learner.belongs_to(world)?;
        learner.between_episodes("observe_log")?;
        let inner = &mut learner.inner;
        let mut n = 0;
        let read = py.detach(|| {
            self.steps(world, |step| {
                n += u64::from(step.weight);
                inner.learn_times(&step.observation, step.weight)
            })
        });
        read.map_err(Raise::raise)?.map_err(|e: dowise::learn::EvidenceError| learn(e.to_string()))?;
        let knowledge = learner.inner.knowledge().clone();
        let record = py.detach(|| self.assumptions(&knowledge, randomised));
        learner.rest_on(record.map_err(Raise::raise)?);
        Ok(n)
    }
}

impl Log {
    /// The assumptions under which the log shows what live steps would show.
    fn assumptions(
        &self,
        knowledge: &dowise::Knowledge,
        randomised: Vec<String>,
    ) -> Result<Result<AssumptionRecord, FitError>, LogError> {
        let mut check = match WarmStartCheck::new(knowledge, &self.world.get().inner, randomised) {
            Ok(check) => check,
            Err(error) => return Ok(Err(error)),
        };
        check.exclude(self.report.excluded(), self.report.rows);
        check.cut(&self.report.binned);
        let world = check.world().clone();
        Ok(match self.episodes(&world, |steps| check.add_episode(steps))? {
            Ok(_) => check.finish(),
            Err(at) => Err(at.1),
        })
    }
}

/// A simulated log as CSV text: interventions at random, or a policy's.
#[pyfunction]
#[pyo3(signature = (world, episodes, seed, policy))]
pub(crate) fn simulate_log(
    py: Python<'_>,
    world: &World,
    #[pyo3(from_py_with = whole::episodes)] episodes: u64,
    #[pyo3(from_py_with = whole::seed)] seed: u64,
    policy: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    use dowise::data::{Chooser, LogWriter, WrittenColumns};
    let inner = &world.inner;
    let policy = policy.map(|policy| interventions(inner, policy)).transpose()?;
    let simulator = dowise::Simulator::new(inner).map_err(Raise::raise)?;
    let mut written = Vec::new();
    let done = py.detach(|| -> std::io::Result<()> {
        let with = WrittenColumns { propensity: true, end: true, ..WrittenColumns::default() };
        let mut writer = LogWriter::new(inner, &mut written, with)?;
        let chooser = policy.as_deref().map_or(Chooser::AtRandom, Chooser::Policy);
        let mut failed = Ok(());
        dowise::data::simulate_log(&simulator, chooser, episodes, seed, |steps| {
            let name = steps.first().map_or(0, |step| step.episode) + 1;
            failed = writer.episode(&name.to_string(), steps, &[]);
            if failed.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        failed?;
        writer.finish().map(|_| ())
    });
    done.map_err(|e| Error::new_err(e.to_string()))?;
    String::from_utf8(written).map_err(|e| Error::new_err(e.to_string()))
}

impl Raise for LogError {
    fn raise(self) -> PyErr {
        match self {
            LogError::Map(error) => error.raise(),
            other => LogError_::new_err(other.to_string()),
        }
    }
}

impl Raise for FitError {
    fn raise(self) -> PyErr {
        match self {
            FitError::World(error) => error.raise(),
            FitError::Learn(error) => error.raise(),
            other => LogError_::new_err(other.to_string()),
        }
    }
}

impl Raise for OfflineError {
    fn raise(self) -> PyErr {
        match self {
            OfflineError::Learn(error) => error.raise(),
            OfflineError::Policy(error) => error.raise(),
            other => LogError_::new_err(other.to_string()),
        }
    }
}

impl Raise for EpisodeError {
    fn raise(self) -> PyErr {
        LogError_::new_err(self.to_string())
    }
}
