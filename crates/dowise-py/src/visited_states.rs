//! `dowise.VisitedStatesLearner`: for worlds whose states cannot be enumerated, with features from the world or from a Python function.

use std::sync::Arc;

use dowise::kernel::CauseSpace;
use dowise::linear::{FeatureFunction, LinearError, LinearLearner as Inner};
use numpy::{PyArray2, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::error::{Raise, learn};
use crate::explanation::preferred;
use crate::observation::{Step, observation};
use crate::options::spec;
use crate::world::World;
use crate::{given, whole};

impl Raise for LinearError {
    fn raise(self) -> PyErr {
        learn(self.to_string())
    }
}

/// A learner that works from the states it met, however many there are.
///
/// `VisitedStatesLearner(world, name="c-blsvi", features=None, dimension=None, episodes=5000, seed=0, **options)`. `features(state)` gets the
/// positions of the state factors' values as a tuple, and gives an array with a row of `dimension` numbers for each entry of
/// `causes`; without it the features are the world's.
#[pyclass(module = "dowise")]
pub(crate) struct VisitedStatesLearner {
    inner: Inner,
    world: Py<World>,
    /// Stage of the running episode; `None` between episodes.
    stage: Option<usize>,
}

/// A Python function as one of ours.
fn function(world: &dowise::World, features: Py<PyAny>, dimension: usize) -> FeatureFunction {
    let (space, n_causes) = (world.state_space().clone(), CauseSpace::new(world).len());
    Arc::new(move |state, out| {
        Python::attach(|py| {
            let said = |e: PyErr| e.to_string();
            let digits = PyTuple::new(py, space.digits(state)).map_err(said)?;
            let given = features.call1(py, (digits,)).map_err(said)?;
            let array =
                py.import("numpy").and_then(|np| np.call_method1("asarray", (given, "float64"))).map_err(said)?;
            let rows = array.cast::<PyArray2<f64>>().map_err(|_| "it is not an array of two dimensions".to_owned())?;
            if rows.shape() != [n_causes, dimension] {
                let shape = rows.shape();
                return Err(format!("its shape is {shape:?}, expected [{n_causes}, {dimension}]: causes, features"));
            }
            let rows = rows.readonly();
            out.iter_mut().zip(rows.as_array().iter()).for_each(|(out, x)| *out = *x);
            Ok(())
        })
    })
}

#[pymethods]
impl VisitedStatesLearner {
    #[new]
    #[pyo3(signature = (world, name = "c-blsvi", *, features = None, dimension = None, episodes = 5000, seed = 0, **options))]
    fn new(
        world: Py<World>,
        name: &str,
        features: Option<Py<PyAny>>,
        dimension: Option<usize>,
        #[pyo3(from_py_with = whole::episodes)] episodes: u64,
        #[pyo3(from_py_with = whole::seed)] seed: u64,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<VisitedStatesLearner> {
        let spec = spec(name, options)?;
        let knowledge = spec.knowledge(&world.get().inner).map_err(Raise::raise)?;
        let Some(options) = spec.linear_options(episodes, seed) else {
            return Err(learn(format!(
                "{spec} counts, and needs all states enumerated; take c-blsvi, c-rlsvi or c-lsvi-ucb"
            )));
        };
        let inner = match (features, dimension) {
            (None, None) => Inner::over_visited_states(&knowledge, options),
            (Some(features), Some(d)) => {
                Inner::with_function(&knowledge, d, function(&world.get().inner, features, d), options)
            }
            (Some(_), None) => return Err(learn("features= needs dimension=, the number of features")),
            (None, Some(_)) => return Err(learn("dimension= is for features=, a function")),
        };
        let inner = inner.map_err(Raise::raise)?.named(spec.to_string());
        Ok(VisitedStatesLearner { inner, world, stage: None })
    }

    /// The name with what differs from its preset.
    #[getter]
    fn name(&self) -> &str {
        self.inner.name()
    }

    /// Episodes ended.
    #[getter]
    fn episodes(&self) -> u64 {
        self.inner.episodes()
    }

    /// Plans made so far.
    #[getter]
    fn plans(&self) -> u64 {
        self.inner.plans()
    }

    /// Number of states that steps led to.
    #[getter]
    fn met(&self) -> usize {
        self.inner.met()
    }

    /// What one should know about the features before anything is learned with them, in words: more of them than there will be steps, constant,
    /// or combinations of each other.
    #[getter]
    fn findings(&self) -> Vec<String> {
        self.inner.findings().iter().map(ToString::to_string).collect()
    }

    /// The joint values of the variables that act, in the order of the rows of the features: a dict for each.
    #[getter]
    fn causes<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let world = &self.world.get().inner;
        let space = CauseSpace::new(world);
        let cause = |c: usize| {
            let out = PyDict::new(py);
            for (i, id) in space.variables().iter().enumerate() {
                let variable = world.variable(*id);
                out.set_item(&variable.name, &variable.values[space.digit(c, i)])?;
            }
            Ok(out)
        };
        (0..space.len()).map(cause).collect()
    }

    /// What to do in a state at the present stage: the number of an intervention. Begins an episode if none is running.
    fn act(&mut self, state: &Bound<'_, PyAny>) -> PyResult<i64> {
        let state = given::state(&self.world.get().inner, state)?;
        let stage = self.running()?;
        let action = self.inner.act_at(stage, state).map_err(Raise::raise)?;
        Ok(given::rank(&self.world.get().inner, action))
    }

    /// Takes in one step: what was done in a state, which key variables were seen, and the state that followed.
    #[pyo3(signature = (state, action, next_state, reward = None, keys = None))]
    fn observe(
        &mut self,
        state: &Bound<'_, PyAny>,
        action: &Bound<'_, PyAny>,
        next_state: &Bound<'_, PyAny>,
        reward: Option<&Bound<'_, PyAny>>,
        keys: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let stage = self.running()?;
        let step = Step { state, action, next_state, reward, keys, levers: None };
        let seen = observation(self.inner.knowledge(), self.inner.learns_rewards(), stage, &step)?;
        self.inner.observe_step(&seen).map_err(Raise::raise)?;
        self.stage = Some(stage + 1);
        Ok(())
    }

    /// Ends the episode; the next `act` plans again if enough was learned.
    fn end_episode(&mut self) -> PyResult<()> {
        self.stage.take().ok_or_else(|| learn("there is no episode to end; act() begins one"))?;
        self.inner.end();
        Ok(())
    }

    /// What was learned, without optimism or noise: what to do in any state at a stage (from 0).
    fn learned(&self, stage: usize, state: &Bound<'_, PyAny>) -> PyResult<i64> {
        let state = given::state(&self.world.get().inner, state)?;
        let action = self.inner.learned_policy().decide(stage, state).map_err(Raise::raise)?;
        Ok(given::rank(&self.world.get().inner, action))
    }

    /// The `n` interventions that it values most in any state at a stage (from 0), best first: as `Learner.explain`.
    #[pyo3(signature = (stage, state, n = 5))]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        stage: usize,
        state: &Bound<'py, PyAny>,
        n: usize,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let world = &self.world.get().inner;
        let state = given::state(world, state)?;
        let explained = self.inner.explain(stage, state, n).map_err(Raise::raise)?;
        preferred(py, world, &explained)
    }

    /// Reasons to doubt the fit, as sentences: too few steps, or residuals that do not average out.
    fn doubts(&self) -> Vec<String> {
        self.inner.doubts().iter().map(ToString::to_string).collect()
    }

    /// The learner as text, between episodes.
    fn save(&self) -> PyResult<String> {
        match self.stage {
            None => Ok(self.inner.save()),
            Some(_) => Err(learn("save is for between episodes; call end_episode() first")),
        }
    }

    /// A learner that goes on where a saved one stopped, in the same world, with the same features. `name` is for texts of before, which do not say
    /// what the learner is called.
    #[staticmethod]
    #[pyo3(signature = (world, text, *, features = None, dimension = None, name = None))]
    fn restore(
        world: Py<World>,
        text: &str,
        features: Option<Py<PyAny>>,
        dimension: Option<usize>,
        name: Option<&str>,
    ) -> PyResult<VisitedStatesLearner> {
        let saved = Inner::name_in(text).map_err(Raise::raise)?;
        let name = saved.as_deref().or(name).unwrap_or("c-blsvi");
        let knowledge = spec(name, None)?.knowledge(&world.get().inner).map_err(Raise::raise)?;
        let inner = match (features, dimension) {
            (Some(features), Some(d)) => {
                Inner::restore_with_function(&knowledge, d, function(&world.get().inner, features, d), text)
            }
            (_, _) => Inner::restore(&knowledge, text),
        };
        Ok(VisitedStatesLearner { inner: inner.map_err(Raise::raise)?.named(name), world, stage: None })
    }

    fn __repr__(&self) -> String {
        format!("<VisitedStatesLearner {}: {} episodes, {} states met>", self.name(), self.episodes(), self.met())
    }
}

impl VisitedStatesLearner {
    /// The stage of the running episode, begun if none is running.
    fn running(&mut self) -> PyResult<usize> {
        let horizon = self.inner.knowledge().horizon();
        if self.stage.is_none() {
            self.inner.begin();
        }
        let stage = *self.stage.get_or_insert(0);
        if stage == horizon {
            return Err(learn(format!("the episode has had its {horizon} steps; call end_episode() first")));
        }
        Ok(stage)
    }
}
