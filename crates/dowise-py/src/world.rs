//! `dowise.World`: a whole problem, read from a file, a text, a ready-made name or arrays.

use std::sync::{Arc, OnceLock};

use dowise::plan::PlanError;
use dowise::world::{Kind, MechanismPart, WorldParts, WorldSpec};
use dowise::{Arena, ArenaError, Planner, draw, worlds};
use dowise_study::{Evaluation, Evaluator, WorldChoice};
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::causal::Causal;
use crate::error::Raise;
use crate::mdp::Mdp;
use crate::{flat, given, graph, plan, view, whole};

/// A whole problem: variables, their mechanisms, rewards, horizon. Checked when made, immutable afterwards.
///
/// Made by `World.from_file`, `World.from_text`, `World.named`, `World.from_mdp`, `World.from_arrays`.
#[pyclass(frozen, module = "dowise")]
pub(crate) struct World {
    pub(crate) inner: dowise::World,
    arena: OnceLock<Arc<Arena>>,
}

/// P and R of an ordinary MDP.
type Flat<'py> = (Bound<'py, PyArray3<f64>>, Bound<'py, PyArray2<f64>>);

impl From<dowise::World> for World {
    fn from(inner: dowise::World) -> World {
        World { inner, arena: OnceLock::new() }
    }
}

impl World {
    fn build(py: Python<'_>, spec: WorldSpec) -> PyResult<World> {
        py.detach(|| dowise::World::new(spec)).map(World::from).map_err(Raise::raise)
    }

    /// The world ready to be played and evaluated, made once.
    pub(crate) fn arena(&self) -> PyResult<Arc<Arena>> {
        if let Some(made) = self.arena.get() {
            return Ok(made.clone());
        }
        let made = Arena::new(&self.inner).map_err(|error| match (error, Planner::new(&self.inner)) {
            // What a plan lacks says more than what a simulation lacks.
            (ArenaError::NotSimulable(_), Err(plan)) | (ArenaError::Plan(plan), _) => plan.raise(),
            (ArenaError::NotSimulable(error), Ok(_)) => error.raise(),
        })?;
        Ok(self.arena.get_or_init(|| Arc::new(made)).clone())
    }

    /// The same, or the world with a judge that plays: where that was chosen, or states are too many to enumerate.
    pub(crate) fn place(&self, evaluation: Option<Evaluation>, seed: u64) -> PyResult<Evaluator> {
        match Evaluation::of(evaluation, &self.inner, self.inner.name()).map_err(Raise::raise)? {
            Evaluation::Exact => self.arena().map(Evaluator::Exact),
            Evaluation::MonteCarlo => {
                Evaluator::new(&self.inner, self.inner.name(), evaluation, seed).map_err(Raise::raise)
            }
        }
    }

    /// An error where there are more states than any array can have.
    fn listed(&self) -> PyResult<()> {
        let (n_states, horizon) = (self.inner.n_states(), self.inner.horizon());
        if self.inner.is_enumerable() { Ok(()) } else { Err(PlanError::NotEnumerable { n_states, horizon }.raise()) }
    }

    fn names(&self, kind: Kind) -> Vec<String> {
        self.inner.variables().iter().filter(|v| v.kind == kind).map(|v| v.name.clone()).collect()
    }
}

#[pymethods]
impl World {
    /// Reads a world file (TOML); CSV tables are looked for beside it.
    #[staticmethod]
    fn from_file(py: Python<'_>, path: std::path::PathBuf) -> PyResult<World> {
        py.detach(|| dowise::World::from_file(&path)).map(World::from).map_err(Raise::raise)
    }

    /// Reads the text of a world file; `name` is shown in messages.
    #[staticmethod]
    #[pyo3(signature = (text, name = "<text>"))]
    fn from_text(py: Python<'_>, text: &str, name: &str) -> PyResult<World> {
        py.detach(|| dowise::World::from_toml(text, name)).map(World::from).map_err(Raise::raise)
    }

    /// A ready-made world with its settings, such as `World.named("paper", levels=3, seed=1)`.
    #[staticmethod]
    #[pyo3(signature = (name, **settings))]
    fn named(py: Python<'_>, name: &str, settings: Option<&Bound<'_, PyDict>>) -> PyResult<World> {
        let choices = crate::options::pairs(settings)?;
        let choices: Vec<(&str, &str)> = choices.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        let text = worlds::text(name, &choices).map_err(Raise::raise)?;
        World::from_text(py, &text, name)
    }

    /// A world file or a ready-made world with settings, as the command line takes them; `seed` draws those without one.
    #[staticmethod]
    fn _chosen(py: Python<'_>, text: &str, #[pyo3(from_py_with = whole::seed)] seed: u64) -> PyResult<World> {
        py.detach(|| WorldChoice::read(text).make(seed)).map(World::from).map_err(Raise::raise)
    }

    #[staticmethod]
    #[pyo3(signature = (transitions, rewards, horizon, order, start, admissible, name))]
    fn _from_mdp(
        py: Python<'_>,
        transitions: Bound<'_, PyAny>,
        rewards: Bound<'_, PyAny>,
        #[pyo3(from_py_with = whole::horizon)] horizon: u64,
        order: String,
        start: Option<Bound<'_, PyAny>>,
        admissible: Option<Bound<'_, PyAny>>,
        name: String,
    ) -> PyResult<World> {
        World::build(py, Mdp { transitions, rewards, horizon, order, start, admissible, name }.spec()?)
    }

    #[staticmethod]
    #[pyo3(signature = (kernel, transitions, rewards, horizon, states, levers, keys, start, name))]
    fn _from_arrays(
        py: Python<'_>,
        kernel: Bound<'_, PyAny>,
        transitions: Bound<'_, PyAny>,
        rewards: Bound<'_, PyAny>,
        #[pyo3(from_py_with = whole::horizon)] horizon: u64,
        states: Option<Bound<'_, PyAny>>,
        levers: Option<Bound<'_, PyAny>>,
        keys: Option<Bound<'_, PyAny>>,
        start: Option<Bound<'_, PyAny>>,
        name: String,
    ) -> PyResult<World> {
        let given = Causal { kernel, transitions, rewards, horizon, states, levers, keys, start, name };
        World::build(py, given.spec()?)
    }

    /// The world as the text of a world file, from which the same world is read, bit by bit.
    fn to_text(&self) -> String {
        self.inner.to_toml()
    }

    /// Title.
    #[getter]
    fn name(&self) -> &str {
        self.inner.name()
    }

    /// A sentence or two for people.
    #[getter]
    fn about(&self) -> &str {
        self.inner.about()
    }

    /// Number of steps in an episode (H).
    #[getter]
    fn horizon(&self) -> usize {
        self.inner.horizon()
    }

    /// How much less a reward counts with every step that it comes later; 1 where all steps count alike.
    #[getter]
    fn discount(&self) -> f64 {
        self.inner.discount()
    }

    /// Whether an episode has ended, state by state.
    #[getter]
    fn ended<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<bool>>> {
        self.listed()?;
        Ok(PyArray1::from_vec(py, (0..self.inner.n_states()).map(|s| self.inner.has_ended(s)).collect()))
    }

    /// Whether the states are few enough to be enumerated. If not, nothing can be planned exactly; learners that regress on features learn
    /// from the states that they meet, and are evaluated by Monte Carlo.
    #[getter]
    fn is_enumerable(&self) -> bool {
        self.inner.is_enumerable()
    }

    /// The former name of `is_enumerable`.
    #[getter]
    fn is_listed(&self) -> bool {
        self.inner.is_enumerable()
    }

    /// Number of states (S).
    #[getter]
    fn n_states(&self) -> usize {
        self.inner.n_states()
    }

    /// Number of interventions (A), forbidden combinations not taken off.
    #[getter]
    fn n_actions(&self) -> u64 {
        self.inner.interventions().count()
    }

    /// State factors, levers, key and hidden variables as `{name: [values]}`.
    #[getter]
    fn variables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let out = PyDict::new(py);
        for v in self.inner.variables() {
            out.set_item(&v.name, v.values.clone())?;
        }
        Ok(out)
    }

    /// Names of the state factors, in order.
    #[getter]
    fn states(&self) -> Vec<String> {
        self.names(Kind::State)
    }

    /// Names of the levers, in order.
    #[getter]
    fn levers(&self) -> Vec<String> {
        self.names(Kind::Lever)
    }

    /// Names of the key variables, in order.
    #[getter]
    fn keys(&self) -> Vec<String> {
        self.names(Kind::Key)
    }

    /// Names of the hidden variables, in order.
    #[getter]
    fn hidden(&self) -> Vec<String> {
        self.names(Kind::Hidden)
    }

    /// Names of the reward terms, in order.
    #[getter]
    fn rewards(&self) -> Vec<String> {
        self.inner.rewards().iter().map(|r| r.name.clone()).collect()
    }

    /// Least and greatest reward of one step, costs not counted.
    #[getter]
    fn reward_range(&self) -> (f64, f64) {
        self.inner.reward_range().into()
    }

    /// How an intervention is made: `"all"` levers set, `"some"` of them, or one of a `"list"`.
    #[getter]
    fn setting(&self) -> &'static str {
        match self.inner.interventions().lever_rule() {
            dowise::world::LeverRule::All => "all",
            dowise::world::LeverRule::AtMost(_) => "some",
            dowise::world::LeverRule::List(_) => "list",
        }
    }

    /// Whether some interventions are not allowed in some states.
    #[getter]
    fn restricted(&self) -> bool {
        !self.inner.interventions().forbid().is_empty()
    }

    /// The best policy and its values.
    fn plan(slf: &Bound<'_, Self>, py: Python<'_>) -> PyResult<plan::Plan> {
        let world = slf.get();
        let (best, value) = py.detach(|| -> PyResult<_> {
            let arena = world.arena()?;
            Ok((arena.best().clone(), arena.optimal()))
        })?;
        plan::Plan::new(py, slf.clone().unbind(), best, value)
    }

    /// Values `[stage, state]` of a policy: numbers of interventions `[stage, state]` or `[state]`, or probabilities
    /// `[stage, state, action]` or `[state, action]`. Where a shape could be either, integers are interventions and floats
    /// are probabilities; `kind="interventions"` or `kind="probabilities"` says which.
    #[pyo3(signature = (policy, *, kind = None))]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        policy: &Bound<'_, PyAny>,
        kind: Option<&str>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let kind = kind.map(plan::PolicyKind::read).transpose()?;
        let arena = py.detach(|| self.arena())?;
        let values = plan::evaluate(py, &self.inner, arena.planner(), policy, kind)?;
        plan::by_stage(py, values, self.inner.n_states())
    }

    /// Expected value over starting states of something with one number per state, such as `evaluate(policy)[0]`.
    #[allow(clippy::wrong_self_convention)] // the planner's own word
    fn from_start(&self, values: &Bound<'_, PyAny>) -> PyResult<f64> {
        let numbers = crate::arrays::Numbers::read("values", values)?;
        numbers.expect(&[&[self.inner.n_states()]], "state")?;
        Ok(self.arena()?.planner().from_start(&numbers.values))
    }

    #[pyo3(signature = (episodes))]
    fn _check<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = whole::episodes)] episodes: u64,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let findings: Vec<_> = self.inner.findings().iter().map(|p| p.finding(self.inner.sources())).collect();
        Ok((plan::to_python(py, &findings)?, plan::to_python(py, &self.inner.analyse(episodes))?))
    }

    /// An intervention by number, as `{lever: value}`; levers left alone are left out.
    pub(crate) fn intervention<'py>(&self, py: Python<'py>, action: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let action = given::action(&self.inner, action)?;
        let out = PyDict::new(py);
        for (value, &id) in self.inner.interventions().levers(action).into_iter().zip(self.inner.levers()) {
            if let Some(value) = value {
                let variable = self.inner.variable(id);
                out.set_item(&variable.name, &variable.values[value])?;
            }
        }
        Ok(out.into_any())
    }

    /// What an intervention does to each lever: the position of its value, `None` where it is left alone.
    fn settings(&self, action: &Bound<'_, PyAny>) -> PyResult<Vec<Option<usize>>> {
        Ok(self.inner.interventions().levers(given::action(&self.inner, action)?))
    }

    /// Number of the intervention that sets these levers: `{lever: value}` or a list, `None` leaves a lever alone.
    fn action(&self, levers: &Bound<'_, PyAny>) -> PyResult<i64> {
        Ok(given::rank(&self.inner, given::action(&self.inner, levers)?))
    }

    /// Number of a state: `{factor: value}` or a list of values.
    fn state(&self, factors: &Bound<'_, PyAny>) -> PyResult<usize> {
        given::state(&self.inner, factors)
    }

    /// Values of the state factors in a state, by position.
    fn factors(&self, state: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
        Ok(self.inner.state_space().digits(given::state(&self.inner, state)?))
    }

    /// Which interventions are allowed in a state, one entry for each.
    fn allowed<'py>(&self, py: Python<'py>, state: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let state = given::state(&self.inner, state)?;
        let digits = self.inner.state_space().digits(state);
        let all = self.inner.interventions();
        if all.count() > 1 << 24 {
            return Err(crate::error::learn(format!("{} interventions are too many to enumerate", all.count())));
        }
        let allowed = (0..all.count()).map(|rank| !all.is_forbidden(&digits, all.nth(rank)));
        Ok(plan::vector(py, allowed.collect()))
    }

    /// Names of the variables that P(z | s, do(a)) is about, in the order of `kernel`.
    #[getter]
    fn causes(&self) -> Vec<String> {
        let causes = dowise::kernel::CauseSpace::new(&self.inner);
        causes.variables().iter().map(|&id| self.inner.variable(id).name.clone()).collect()
    }

    /// P(z | s, do(a)) as an array `[state, action, *causes]`, exact.
    fn kernel<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        self.listed()?;
        let inner = &self.inner;
        let kernel = dowise::kernel::Kernel::new(inner).map_err(Raise::raise)?;
        let all = inner.interventions();
        let (n, count, z) = (inner.n_states(), all.count() as usize, kernel.n_causes());
        if n.checked_mul(count).and_then(|x| x.checked_mul(z)).is_none_or(|x| x > 1 << 28) {
            let message = format!("{n} states × {count} interventions × {z} causes are too many for one array");
            return Err(crate::error::array(message));
        }
        let mut prob = vec![0.0; n * count * z];
        py.detach(|| {
            for (i, row) in prob.chunks_exact_mut(z).enumerate() {
                kernel.distribution(i / count, all.nth((i % count) as u64), row);
            }
        });
        let shape = [vec![n, count], inner.sizes(kernel.causes().variables())].concat();
        plan::vector(py, prob).reshape(shape)
    }

    /// The world as an ordinary MDP, `(P, R)`: exact P(s' | s, do(a)) as `[state, action, next state]` and expected rewards
    /// less costs as `[state, action]`. `allowed(state)` says which interventions may be chosen.
    fn mdp<'py>(&self, py: Python<'py>) -> PyResult<Flat<'py>> {
        self.listed()?;
        let (n, count) = (self.inner.n_states(), self.inner.interventions().count() as usize);
        if n.checked_mul(count).and_then(|x| x.checked_mul(n)).is_none_or(|x| x > flat::MOST) {
            let message = format!("{n} states × {count} interventions × {n} next states are too many for one array");
            return Err(crate::error::array(message));
        }
        let arena = self.arena()?;
        let (transitions, rewards) = py.detach(|| flat::flat(&self.inner, arena.planner()));
        Ok((plan::vector(py, transitions).reshape([n, count, n])?, plan::vector(py, rewards).reshape([n, count])?))
    }

    /// The tables without copies, read-only: `{name: (scope, array)}` for next states, mechanisms and rewards.
    fn tables<'py>(slf: &Bound<'py, Self>, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let inner = &slf.get().inner;
        let out = PyDict::new(py);
        let names = |ids: &[dowise::world::VarId]| -> Vec<String> {
            ids.iter().map(|&id| inner.variable(id).name.clone()).collect()
        };
        for (group, mechanisms) in [("next", inner.transitions()), ("mechanisms", inner.mechanisms())] {
            let tables = PyDict::new(py);
            for m in mechanisms {
                let shape = [inner.sizes(&m.parents), inner.sizes(&m.children)].concat();
                let array = m.table.as_deref().map(|t| view::shown(slf, &shape, t)).transpose()?;
                tables.set_item(names(&m.children).join("|"), (names(&m.parents), array))?;
            }
            out.set_item(group, tables)?;
        }
        let tables = PyDict::new(py);
        for r in inner.rewards() {
            let shape = [inner.sizes(&r.scope), inner.sizes(&r.next)].concat();
            let array = r.table.as_deref().map(|t| view::shown(slf, &shape, t)).transpose()?;
            let next = names(&r.next).into_iter().map(|name| format!("next.{name}"));
            let scope: Vec<String> = names(&r.scope).into_iter().chain(next).collect();
            tables.set_item(&r.name, (scope, array))?;
        }
        out.set_item("rewards", tables)?;
        Ok(out)
    }

    /// The causal graph as SVG.
    fn to_svg(&self) -> String {
        draw::svg(&self.inner)
    }

    /// The causal graph in the DOT language.
    fn to_dot(&self) -> String {
        draw::dot(&self.inner)
    }

    /// One step of the world as text for other tools: `"bif"`, `"xmlbif"`, `"dagitty"`, `"dot"` or `"gml"`.
    fn to_graph(&self, format: &str) -> PyResult<String> {
        graph::export_text(&self.inner, format)
    }

    /// One step of the world as (name, values, role) of each variable, and pairs of names.
    fn _graph(&self) -> PyResult<graph::Parts> {
        graph::export_parts(&self.inner)
    }

    fn _repr_html_(&self) -> String {
        format!("<div style=\"max-width: 60em\">{}</div>", draw::svg(&self.inner))
    }

    fn __repr__(&self) -> String {
        format!(
            "<World {}: {} states, {} interventions, {} steps>",
            self.inner.name(),
            self.inner.n_states(),
            self.inner.interventions().count(),
            self.inner.horizon()
        )
    }

    fn __eq__(&self, other: &World) -> bool {
        self.inner.to_parts() == other.inner.to_parts()
    }

    #[staticmethod]
    fn _from_parts(text: String, mechanisms: Vec<NamedTable>, rewards: Vec<Option<Vec<u8>>>) -> PyResult<World> {
        let part = |(children, parents, table): NamedTable| MechanismPart {
            children,
            parents,
            table: table.map(|bytes| from_bytes(&bytes)),
        };
        let parts = WorldParts {
            text,
            mechanisms: mechanisms.into_iter().map(part).collect(),
            rewards: rewards.into_iter().map(|table| table.map(|bytes| from_bytes(&bytes))).collect(),
        };
        dowise::World::from_parts(parts).map(World::from).map_err(Raise::raise)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Pickled<'py>)> {
        let parts = slf.get().inner.to_parts();
        let bytes = |t: Option<Arc<[f64]>>| t.map(|t| to_bytes(py, &t));
        let mechanisms = parts.mechanisms.into_iter().map(|m| (m.children, m.parents, bytes(m.table))).collect();
        let rewards = parts.rewards.into_iter().map(bytes).collect();
        Ok((slf.get_type().getattr("_from_parts")?, (parts.text, mechanisms, rewards)))
    }
}

type NamedTable = (Vec<String>, Vec<String>, Option<Vec<u8>>);
type PickledTable<'py> = (Vec<String>, Vec<String>, Option<Bound<'py, PyBytes>>);
type Pickled<'py> = (String, Vec<PickledTable<'py>>, Vec<Option<Bound<'py, PyBytes>>>);

fn to_bytes<'py>(py: Python<'py>, table: &[f64]) -> Bound<'py, PyBytes> {
    let bytes: Vec<u8> = table.iter().flat_map(|x| x.to_le_bytes()).collect();
    PyBytes::new(py, &bytes)
}

fn from_bytes(bytes: &[u8]) -> Arc<[f64]> {
    bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect()
}
