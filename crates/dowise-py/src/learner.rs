//! `dowise.Learner`: decisions and learning in Rust, the loop wherever the user wants it.

use dowise::learn::{Estimator, Observation, Session, Sets};
use dowise::offline::AssumptionRecord;
use dowise::offline::fit::FitError;
use dowise::{Agent, LearnerSpec};
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{Raise, learn};
use crate::explanation::preferred;
use crate::observation::{Step, observation};
use crate::options::{preset_of, spec};
use crate::session::PySession;
use crate::world::World;
use crate::{given, whole};

/// A learner: it decides, takes in what happened, and plans again before every episode.
///
/// `Learner(world, name, episodes=5000, seed=0, **options)`; `dowise.learners()` lists names and options. `act` and `observe`
/// play one episode after the other; `begin()` gives a session, of which any number may be under way at once.
#[pyclass(module = "dowise")]
pub(crate) struct Learner {
    pub(crate) inner: dowise::Learner,
    /// Its text, as far as that is known.
    name: String,
    pub(crate) world: Py<World>,
    /// The episode that `act` and `observe` play; `None` between episodes.
    session: Option<Session>,
    /// The assumptions of the last log that it took in.
    log_assumptions: Option<AssumptionRecord>,
    /// Whether an assumption of a log failed, or could not be checked.
    doubtful_log: bool,
}

impl Learner {
    /// Keeps the assumptions of a log that was taken in; an error if they could not be checked.
    pub(crate) fn rest_on(&mut self, record: Result<AssumptionRecord, FitError>) {
        self.doubtful_log |= record.as_ref().map_or(true, |record| record.failed().is_some());
        self.log_assumptions = record.ok();
    }

    pub(crate) fn made(world: Py<World>, name: String, inner: dowise::Learner) -> Learner {
        Learner { inner, name, world, session: None, log_assumptions: None, doubtful_log: false }
    }

    pub(crate) fn of(
        py: Python<'_>,
        world: Py<World>,
        spec: LearnerSpec,
        episodes: u64,
        seed: u64,
    ) -> PyResult<Learner> {
        let made = py.detach(|| spec.learner(&world.get().inner, episodes, seed));
        let inner = made.map_err(Raise::raise)?;
        Ok(Learner::made(world, spec.to_string(), inner))
    }

    /// The session of `act` and `observe`, begun if none is running, and its stage.
    fn running(&mut self, py: Python<'_>) -> PyResult<(Session, usize)> {
        let horizon = self.inner.knowledge().horizon();
        let session = match self.session.take() {
            Some(session) => session,
            None => self.begun(py),
        };
        // One step after the other: what was not observed yet is still to come.
        let stage = session.observed();
        if stage == horizon {
            self.session = Some(session);
            return Err(learn(format!("the episode has had its {horizon} steps; call end_episode() first")));
        }
        Ok((session, stage))
    }

    pub(crate) fn begun(&mut self, py: Python<'_>) -> Session {
        let inner = &mut self.inner;
        py.detach(|| inner.begin())
    }

    pub(crate) fn between_episodes(&self, what: &str) -> PyResult<()> {
        match self.session {
            None => Ok(()),
            Some(_) => Err(learn(format!("{what} is for between episodes; call end_episode() first"))),
        }
    }

    /// Fails unless states, interventions, key variables and horizon are those that the learner was given of; the numbers
    /// in the tables may differ.
    pub(crate) fn belongs_to(&self, world: &dowise::World) -> PyResult<()> {
        let knowledge = self.inner.knowledge();
        if knowledge.can_play(world) {
            return Ok(());
        }
        let shape = |name: &str, states: usize, count: u64, horizon: usize| {
            format!("{name} ({states} states, {count} interventions, {horizon} steps)")
        };
        let here = shape(world.name(), world.n_states(), world.interventions().count(), world.horizon());
        let there =
            shape(knowledge.name(), knowledge.n_states(), knowledge.interventions().count(), knowledge.horizon());
        Err(learn(format!("the learner was made for {there}, this world is {here}")))
    }

    /// One step as the user tells it.
    pub(crate) fn observation(&self, stage: usize, step: &Step<'_, '_>) -> PyResult<Observation<'static>> {
        observation(self.inner.knowledge(), self.inner.learns_rewards(), stage, step)
    }
}

#[pymethods]
impl Learner {
    #[new]
    #[pyo3(signature = (world, name = "graph-psrl", *, episodes = 5000, seed = 0, **options))]
    fn new(
        py: Python<'_>,
        world: Py<World>,
        name: &str,
        #[pyo3(from_py_with = whole::episodes)] episodes: u64,
        #[pyo3(from_py_with = whole::seed)] seed: u64,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Learner> {
        let inner = &world.get().inner;
        if !inner.is_enumerable() {
            return Err(learn(format!(
                "the {} states of {} are too many to enumerate; dowise.VisitedStatesLearner learns from those that it meets, and dowise.compare evaluates by Monte Carlo",
                inner.n_states(),
                inner.name()
            )));
        }
        Learner::of(py, world, spec(name, options)?, episodes, seed)
    }

    /// The name with what differs from its preset, such as `c-ucbvi:width=paper-plain,scale=0.002`.
    #[getter]
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The world it was given about.
    #[getter]
    fn world(&self, py: Python<'_>) -> Py<World> {
        self.world.clone_ref(py)
    }

    /// Episodes ended.
    #[getter]
    fn episodes(&self) -> u64 {
        self.inner.episodes()
    }

    /// Number of distributions and rewards it has to learn: rows of tables, and of what has a form as well.
    #[getter]
    fn cells(&self) -> usize {
        self.inner.cells()
    }

    /// Numbers it has to learn: the probabilities of each row less one, the parameters of what has a form, rewards, weights.
    #[getter]
    fn numbers(&self) -> usize {
        self.inner.numbers()
    }

    /// Stage of the running episode, from 0; `None` between episodes.
    #[getter]
    fn stage(&self) -> Option<usize> {
        self.session.as_ref().map(Session::observed)
    }

    /// With `guard=True`: how the declared graph was changed: `episode`, what was `found`, and what it `became`.
    #[getter]
    fn amendments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        crate::plan::to_python(py, &self.inner.amendments())
    }

    /// With `forget="reset"`: changes of the world that were noticed, in order: `what` in words, `episode` and `since`, the `names` and
    /// what they depend on (`given`), and `shares` of each value before and since.
    #[getter]
    fn changes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        crate::plan::to_python(py, &self.inner.changes())
    }

    /// After a warm start from a log: the contradiction between live steps and the log (`what` in words, `episode`, the numbers of
    /// `logged` and `live` steps, and whether the logged ones were `dropped`), or `None`. A log whose rows are those of live steps is
    /// contradicted with probability 0.01 at most.
    #[getter]
    fn log_contradicted<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.inner.log_contradicted().map(|found| crate::plan::to_python(py, found)).transpose()
    }

    /// The assumptions under which the last log of a warm start shows what live steps would show (`assumptions`,
    /// `identification`), or `None`. If one failed, certificates are void. A saved learner does not contain them.
    #[getter]
    fn log_assumptions<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.log_assumptions.as_ref().map(|record| crate::plan::to_python(py, record)).transpose()
    }

    /// Begins to test the declared graph on every step that is observed from now on; a true graph is ever said to be contradicted
    /// with probability `delta` at most.
    #[pyo3(signature = (delta = 0.05))]
    fn watch_graph(&mut self, delta: f64) -> PyResult<()> {
        self.inner.watch_graph(delta).map_err(Raise::raise)
    }

    /// How the graph fares, if it is tested (`guard=True`, or since `watch_graph()`): whether it is `contradicted`, what was `found`,
    /// every claim with `log_e`, the logarithm of what bets against it have gained, and what is `untested`.
    fn graph_watch<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        crate::plan::to_python(py, &self.inner.graph_watch())
    }

    /// Keeps to a baseline from the next episode on, such as what is done today: with probability 1 − δ (the learner's `delta`), at all
    /// times together, the values of the policies played sum to no less than 1 − `alpha` of the baseline's, measured from the least that
    /// an episode can pay. `policy` has the numbers of interventions, `[stage, state]` or `[state]`; `value` what it is worth by starting
    /// state, if that is known. Pass `reward=` to `observe`: what is not observed counts at its worst.
    #[pyo3(signature = (policy, alpha = 0.1, value = None))]
    fn keep_baseline(
        &mut self,
        policy: &Bound<'_, PyAny>,
        alpha: f64,
        value: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.between_episodes("keep_baseline")?;
        let world = &self.world.get().inner;
        let policy = crate::plan::interventions(world, policy)?;
        let value = value.map(|value| {
            let numbers = crate::arrays::Numbers::read("value", value)?;
            numbers.expect(&[&[world.n_states()]], "state")?;
            PyResult::Ok(numbers.values)
        });
        let value = value.transpose()?;
        self.inner.keep_baseline(&policy, alpha, value.as_deref()).map_err(Raise::raise)
    }

    /// How the baseline was kept, if there is one: `alpha`, `delta`, `least` (the least that an episode can pay, from which values are counted), `episodes`, how many of them followed the baseline (`fell_back`), and `room`,
    /// what could be lost now and the promise still be kept.
    #[getter]
    fn baseline<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(report) = self.inner.baseline() else { return Ok(None) };
        let out = PyDict::new(py);
        out.set_item("alpha", report.alpha)?;
        out.set_item("episodes", report.episodes)?;
        out.set_item("delta", report.delta)?;
        out.set_item("least", report.least)?;
        out.set_item("fell_back", report.fell_back)?;
        out.set_item("room", report.room)?;
        Ok(Some(out))
    }

    /// With `guard=True`: the episode in which the causal model was given up, if it was.
    #[getter]
    fn gave_up_causes(&self) -> Option<u64> {
        self.inner.gave_up_causes()
    }

    /// What to do in a state at the present stage: the number of an intervention. Begins an episode if none is running.
    fn act(&mut self, py: Python<'_>, state: &Bound<'_, PyAny>) -> PyResult<i64> {
        let state = given::state(&self.world.get().inner, state)?;
        let (mut session, stage) = self.running(py)?;
        let decided = session.act_at(&mut self.inner, stage, state);
        self.session = Some(session);
        Ok(given::rank(&self.world.get().inner, decided.map_err(Raise::raise)?))
    }

    /// Takes in one step: what was done in a state, which key variables were seen, and the state that followed.
    ///
    /// `keys` has one value for each key variable (list or dict, `None` where one was not observed), `reward` the reward
    /// received or a list with one number for each reward term, `levers` what levers left alone turned out to be.
    #[pyo3(signature = (state, action, next_state, reward = None, keys = None, levers = None))]
    fn observe(
        &mut self,
        py: Python<'_>,
        state: &Bound<'_, PyAny>,
        action: &Bound<'_, PyAny>,
        next_state: &Bound<'_, PyAny>,
        reward: Option<&Bound<'_, PyAny>>,
        keys: Option<&Bound<'_, PyAny>>,
        levers: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let step = Step { state, action, next_state, reward, keys, levers };
        // Looked at before an episode is begun, so that a mistake begins none.
        let stage = self.session.as_ref().map_or(0, Session::observed).min(self.inner.knowledge().horizon() - 1);
        let seen = self.observation(stage, &step)?;
        let (mut session, _) = self.running(py)?;
        let observed = session.observe(&mut self.inner, &seen);
        self.session = Some(session);
        observed.map_err(Raise::raise)
    }

    /// Ends the episode; the next `act` plans again.
    fn end_episode(&mut self) -> PyResult<()> {
        let session = self.session.take().ok_or_else(|| learn("there is no episode to end; act() begins one"))?;
        session.end(&mut self.inner);
        Ok(())
    }

    /// Begins an episode of its own: a session that acts, observes and ends, beside any number of others.
    fn begin(slf: &Bound<'_, Self>) -> PyResult<PySession> {
        let session = slf.try_borrow_mut()?.begun(slf.py());
        Ok(PySession::new(slf.clone().unbind(), session))
    }

    /// Takes in one step that this learner did not play, such as one of a log; `stage` counts from 0.
    #[pyo3(signature = (state, action, next_state, reward = None, keys = None, levers = None, *, stage = 0))]
    fn learn(
        &mut self,
        state: &Bound<'_, PyAny>,
        action: &Bound<'_, PyAny>,
        next_state: &Bound<'_, PyAny>,
        reward: Option<&Bound<'_, PyAny>>,
        keys: Option<&Bound<'_, PyAny>>,
        levers: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = whole::stage)] stage: u64,
    ) -> PyResult<()> {
        let stage = usize::try_from(stage).unwrap_or(usize::MAX);
        let seen = self.observation(stage, &Step { state, action, next_state, reward, keys, levers })?;
        self.inner.learn(&seen).map_err(Raise::raise)
    }

    /// Takes back one step that was taken in before; `stage` counts from 0.
    #[pyo3(signature = (state, action, next_state, reward = None, keys = None, levers = None, *, stage = 0))]
    fn take_back(
        &mut self,
        state: &Bound<'_, PyAny>,
        action: &Bound<'_, PyAny>,
        next_state: &Bound<'_, PyAny>,
        reward: Option<&Bound<'_, PyAny>>,
        keys: Option<&Bound<'_, PyAny>>,
        levers: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = whole::stage)] stage: u64,
    ) -> PyResult<()> {
        let stage = usize::try_from(stage).unwrap_or(usize::MAX);
        let seen = self.observation(stage, &Step { state, action, next_state, reward, keys, levers })?;
        self.inner.take_back(&seen).map_err(Raise::raise)
    }

    /// Numbers of the interventions of the present policy, `[stage, state]`.
    fn policy<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let policy = match &self.session {
            Some(session) if session.policy().is_some() => session.policy().map(|p| p.actions().to_vec()),
            _ => {
                let mut now = self.inner.clone();
                now.begin_episode();
                now.policy().map(<[dowise::Action]>::to_vec)
            }
        };
        self.ranks(py, &policy.unwrap_or_default())
    }

    /// What to deploy: numbers of the interventions of the policy that was learned, `[stage, state]`, without exploring.
    ///
    /// For posterior sampling the plan of the posterior mean, not of the next sample.
    fn learned_policy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        self.inner.room_to_deploy().map_err(Raise::raise)?;
        let policy = py.detach(|| self.inner.learned_policy());
        self.ranks(py, policy.actions())
    }

    /// Values `[stage, state]` that hold with probability 1 − δ, with one further stage of zeros: the first array is kept by
    /// the policy of the pessimistic members of the confidence sets, no policy is worth more than the second.
    #[allow(clippy::type_complexity)]
    fn bounds<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<f64>>)> {
        if self.inner.forgets() {
            let why = "they rest on a world that stays as it is; leave forget out";
            return Err(dowise::learn::LearnError::Forgets { what: "bounds", why }.raise());
        }
        let read = |reading| self.inner.read(reading, 0);
        let both = py.detach(|| {
            Ok([read(Estimator::Pessimistic(Sets::default()))?, read(Estimator::Optimistic(Sets::default()))?])
        });
        let [least, most] = both.map_err(|e: dowise::learn::LearnError| e.raise())?;
        let array = |plan: dowise::Plan| crate::plan::by_stage(py, plan.value_hs, plan.n_states);
        Ok((array(least)?, array(most)?))
    }

    /// What can be promised of a policy with probability 1 − δ, at all times together: a dict with `policy` (`[stage, state]`,
    /// numbers of interventions), `at_least` (what it is worth at least), `best_at_most` (what no policy exceeds), `gap` (by how much
    /// the best one exceeds it at most) and `share` (the gap as a share of the way from random to best, or None), averaged over where
    /// episodes of the world start, and `gap_by_state`. It is `void` where the graph is tested and contradicted, since it rests on it.
    #[pyo3(signature = (delta = 0.05))]
    fn certificate<'py>(&self, py: Python<'py>, delta: f64) -> PyResult<Bound<'py, PyDict>> {
        let world = &self.world.get().inner;
        let certificate = py.detach(|| self.inner.certificate(delta)).map_err(Raise::raise)?;
        let start = world.start_distribution();
        let ranks: Vec<i64> = certificate.policy_hs.iter().map(|&a| given::rank(world, a)).collect();
        let out = PyDict::new(py);
        out.set_item("policy", ranks.into_pyarray(py).reshape([world.horizon(), world.n_states()])?)?;
        out.set_item("at_least", certificate.at_least(&start))?;
        out.set_item("best_at_most", certificate.best_at_most(&start))?;
        out.set_item("gap", certificate.gap(&start))?;
        out.set_item("share", certificate.share(&start))?;
        out.set_item("gap_by_state", certificate.gap_s.clone().into_pyarray(py))?;
        out.set_item("delta", certificate.delta)?;
        out.set_item("void", self.doubtful_log || self.inner.is_contradicted())?;
        Ok(out)
    }

    /// The interventions that it values most in a state at a stage (from 0): a list of dicts with `intervention` (by names),
    /// `action` (its number), `optimistic` (value that it plans with), `mean` (by averages of what was seen) and `visits`.
    #[pyo3(signature = (stage, state, n = 5))]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = whole::stage)] stage: u64,
        state: &Bound<'py, PyAny>,
        n: usize,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let world = &self.world.get().inner;
        let state = given::state(world, state)?;
        let (stage, horizon) = (usize::try_from(stage).unwrap_or(usize::MAX), world.horizon());
        if stage >= horizon {
            return Err(learn(format!("there is no stage {stage}; stages run from 0 to {}", horizon - 1)));
        }
        let explained = py.detach(|| self.inner.explain(stage, state, n)).map_err(Raise::raise)?;
        preferred(py, world, &explained)
    }

    /// The learner's own values `[stage, state]`, optimistic or sampled, with one further stage of zeros.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let plan = self.inner.plan();
        crate::plan::by_stage(py, plan.value_hs.clone(), plan.n_states)
    }

    /// The learner as text, between episodes: options, what it has seen, and its plan. The same learner gives the same bytes.
    fn save(&self) -> PyResult<String> {
        self.between_episodes("save()")?;
        Ok(self.inner.save())
    }

    /// A learner that goes on where a saved one stopped, in the same world.
    #[staticmethod]
    fn restore(py: Python<'_>, world: Py<World>, text: &str) -> PyResult<Learner> {
        let inner = py.detach(|| dowise::Learner::restore_in(&world.get().inner, text)).map_err(Raise::raise)?;
        let name = preset_of(&inner).to_owned();
        Ok(Learner::made(world, name, inner))
    }

    #[staticmethod]
    fn _restored(py: Python<'_>, world: Py<World>, text: &str, name: String) -> PyResult<Learner> {
        Ok(Learner { name, ..Learner::restore(py, world, text)? })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        let this = slf.borrow();
        let text = this.save()?;
        Ok((slf.get_type().getattr("_restored")?, (this.world.clone_ref(slf.py()), text, this.name.clone())))
    }

    fn __repr__(&self) -> String {
        format!("<Learner {}: {} episodes, {} cells>", self.name, self.inner.episodes(), self.inner.cells())
    }
}

impl Learner {
    fn ranks<'py>(&self, py: Python<'py>, policy: &[dowise::Action]) -> PyResult<Bound<'py, PyArray2<i64>>> {
        use numpy::PyArrayMethods;
        let world = &self.world.get().inner;
        let ranks: Vec<i64> = policy.iter().map(|&a| given::rank(world, a)).collect();
        crate::plan::vector(py, ranks).reshape([world.horizon(), world.n_states()])
    }
}

/// How to restore it, from its world, its text and its name.
type Pickled<'py> = (Bound<'py, PyAny>, (Py<World>, String, String));
