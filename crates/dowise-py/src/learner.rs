//! `dowise.Learner`: decisions and learning in Rust, the loop wherever the user wants it.

use dowise::learn::{Agent, AnyLearner, Estimate, LearnerSpec, Step};
use dowise::linear::LinearPreset;
use dowise::{Options, Preset};
use numpy::PyArray2;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::{Raise, learn};
use crate::options::spec;
use crate::world::World;
use crate::{given, whole};

/// A learner: it decides, takes in what happened, and plans again before every episode.
///
/// `Learner(world, name, episodes=5000, seed=0, **options)`; `dowise.learners()` lists names and options.
#[pyclass(module = "dowise")]
pub(crate) struct Learner {
    pub(crate) inner: AnyLearner,
    /// Its text, as far as that is known.
    name: String,
    world: Py<World>,
    /// Stage of the running episode; `None` between episodes.
    stage: Option<usize>,
    values: Vec<u32>,
    rewards: Vec<f64>,
}

impl Learner {
    pub(crate) fn made(world: Py<World>, name: String, inner: AnyLearner) -> Learner {
        Learner { inner, name, world, stage: None, values: Vec::new(), rewards: Vec::new() }
    }

    pub(crate) fn of(
        py: Python<'_>,
        world: Py<World>,
        spec: LearnerSpec,
        episodes: u64,
        seed: u64,
    ) -> PyResult<Learner> {
        let made = py.detach(|| AnyLearner::new(&spec, &world.get().inner, episodes, seed));
        let inner = made.map_err(Raise::raise)?;
        Ok(Learner::made(world, spec.to_string(), inner))
    }

    /// Prepares an episode if none is running; the stage that comes next.
    fn begin(&mut self, py: Python<'_>) -> PyResult<usize> {
        let horizon = self.inner.knowledge().horizon();
        match self.stage {
            Some(stage) if stage < horizon => Ok(stage),
            Some(_) => Err(learn(format!("the episode has had its {horizon} steps; call end_episode() first"))),
            None => {
                let inner = &mut self.inner;
                py.detach(|| inner.begin_episode());
                self.stage = Some(0);
                Ok(0)
            }
        }
    }

    pub(crate) fn between_episodes(&self, what: &str) -> PyResult<()> {
        match self.stage {
            None => Ok(()),
            Some(_) => Err(learn(format!("{what} is for between episodes; call end_episode() first"))),
        }
    }

    /// Fails unless states, interventions, key variables and horizon are those that the learner was told of; the numbers
    /// in the tables may differ.
    pub(crate) fn belongs_to(&self, world: &dowise::World) -> PyResult<()> {
        let told = self.inner.knowledge();
        let same = told.variables() == world.variables()
            && told.interventions() == world.interventions()
            && told.rewards().len() == world.rewards().len()
            && told.horizon() == world.horizon();
        if same {
            return Ok(());
        }
        let shape = |w: &dowise::World| {
            let count = w.interventions().count();
            format!("{} ({} states, {count} interventions, {} steps)", w.name(), w.n_states(), w.horizon())
        };
        Err(learn(format!("the learner was made for {}, this world is {}", shape(told), shape(world))))
    }

    fn take_rewards(&mut self, action: dowise::Action, given: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let knowledge = self.inner.knowledge();
        let n = knowledge.rewards().len();
        self.rewards.clear();
        self.rewards.resize(n, 0.0);
        if !self.inner.learns_rewards() {
            return Ok(());
        }
        let Some(given) = given else {
            return Err(learn("this learner learns the rewards; pass reward=, one number for each term"));
        };
        match given.extract::<f64>() {
            // What was received has the cost taken off already; the term itself has not.
            Ok(reward) if n == 1 => self.rewards[0] = reward + knowledge.interventions().cost(action),
            Ok(_) => {
                let names: Vec<&str> = knowledge.rewards().iter().map(|r| r.name.as_str()).collect();
                let message = format!(
                    "this learner learns the rewards; pass reward=, one number for each of {}",
                    names.join(", ")
                );
                return Err(learn(message));
            }
            Err(_) => {
                let rewards: Vec<f64> = given.extract().map_err(|_| {
                    learn(format!("reward is {given}, expected a number, or a list with one for each term"))
                })?;
                if rewards.len() != n {
                    return Err(learn(format!("reward has {} numbers, expected {n}", rewards.len())));
                }
                self.rewards = rewards;
            }
        }
        match self.rewards.iter().find(|r| !r.is_finite()) {
            Some(bad) => Err(learn(format!("reward is {bad}, expected a finite number"))),
            None => Ok(()),
        }
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
        Learner::of(py, world, spec(name, options)?, episodes, seed)
    }

    /// The name with what differs from its preset, such as `c-ucbvi:width=paper-plain,scale=0.002`.
    #[getter]
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The world it was told about.
    #[getter]
    fn world(&self, py: Python<'_>) -> Py<World> {
        self.world.clone_ref(py)
    }

    /// Episodes finished.
    #[getter]
    fn episodes(&self) -> u64 {
        self.inner.episodes()
    }

    /// Number of distributions it has to learn.
    #[getter]
    fn cells(&self) -> usize {
        self.inner.cells()
    }

    /// Stage of the running episode, from 0; `None` between episodes.
    #[getter]
    fn stage(&self) -> Option<usize> {
        self.stage
    }

    /// With `guard=True`: the episode after which the causal model was given up, if it was.
    #[getter]
    fn gave_up_causes(&self) -> Option<u64> {
        match &self.inner {
            AnyLearner::Counts(learner) => learner.gave_up_causes(),
            AnyLearner::Linear(_) => None,
        }
    }

    /// What to do in a state at the present stage: the number of an intervention. Begins an episode if none is running.
    fn act(&mut self, py: Python<'_>, state: &Bound<'_, PyAny>) -> PyResult<i64> {
        let state = given::state(self.inner.knowledge(), state)?;
        let stage = self.begin(py)?;
        let action = self.inner.act(stage, state);
        Ok(given::rank(self.inner.knowledge(), action))
    }

    /// Takes in one step: what was done in a state, which key variables were seen, and the state that followed.
    ///
    /// `keys` has one value for each key variable (list or dict), `reward` the reward received or a list with one number
    /// for each reward term, `levers` what levers left alone turned out to be.
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
        let world = self.inner.knowledge();
        let state = given::state(world, state)?;
        let next_state = given::state(world, next_state)?;
        let action = given::allowed(world, state, given::action(world, action)?)?;
        self.values.clear();
        self.values.resize(world.variables().len(), 0);
        let space = world.state_space();
        for (i, id) in world.state().iter().enumerate() {
            self.values[id.ix()] = space.digit(state, i) as u32;
        }
        if !world.keys().is_empty() {
            let keys = keys.ok_or_else(|| {
                let names: Vec<&str> = world.keys().iter().map(|&id| world.variable(id).name.as_str()).collect();
                learn(format!("keys is missing; pass the values of {}", names.join(", ")))
            })?;
            let seen = given::digits(world, world.keys(), "key variable", keys, false)?;
            for (id, value) in world.keys().iter().zip(seen) {
                self.values[id.ix()] = value.unwrap_or(0) as u32;
            }
        }
        let found = match levers {
            Some(levers) => given::digits(world, world.levers(), "lever", levers, true)?,
            None => vec![None; world.levers().len()],
        };
        for (i, (id, found)) in world.levers().iter().zip(found).enumerate() {
            if let Some(value) = world.interventions().lever(action, i).or(found) {
                self.values[id.ix()] = value as u32;
            }
        }
        let stage = self.begin(py)?;
        self.take_rewards(action, reward)?;
        let Learner { inner, values, rewards, .. } = self;
        inner.observe(&Step { stage, state, action, values, rewards, next_state });
        self.stage = Some(stage + 1);
        Ok(())
    }

    /// Ends the episode; the next `act` plans again.
    fn end_episode(&mut self) -> PyResult<()> {
        if self.stage.take().is_none() {
            return Err(learn("there is no episode to end; act() begins one"));
        }
        self.inner.end_episode();
        Ok(())
    }

    /// Numbers of the interventions of the present policy, `[stage, state]`.
    fn policy<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        use numpy::PyArrayMethods;
        let policy = self.inner.policy().to_vec();
        let knowledge = self.inner.knowledge();
        let ranks: Vec<i64> = policy.iter().map(|&a| given::rank(knowledge, a)).collect();
        crate::plan::vector(py, ranks).reshape([knowledge.horizon(), knowledge.n_states()])
    }

    /// The learner's own values `[stage, state]`, optimistic or sampled, with one further stage of zeros.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let plan = self.inner.plan();
        crate::plan::by_stage(py, plan.value_hs.clone(), plan.n_states)
    }

    /// The learner as text, between episodes: options, counts (or sums of features) and plan. The same learner gives the same bytes.
    fn save(&self) -> PyResult<String> {
        self.between_episodes("save()")?;
        Ok(self.inner.save())
    }

    /// A learner that goes on where a saved one stopped, in the same world.
    #[staticmethod]
    fn restore(py: Python<'_>, world: Py<World>, text: &str) -> PyResult<Learner> {
        let inner = py.detach(|| AnyLearner::restore(&world.get().inner, text)).map_err(Raise::raise)?;
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

/// How to restore it, from its world, its text and its name.
type Pickled<'py> = (Bound<'py, PyAny>, (Py<World>, String, String));

/// The preset that sees the world and estimates in the same way.
fn preset_of(learner: &AnyLearner) -> &'static str {
    match learner {
        AnyLearner::Counts(learner) => {
            let kind = |o: &Options| {
                let optimistic = matches!(o.estimate, Estimate::Width(_) | Estimate::Sets(_));
                // Sets and widths are two ways of being optimistic; all others are told apart.
                (o.states, o.causes, (!optimistic).then_some(std::mem::discriminant(&o.estimate)))
            };
            let same = |p: &&Preset| p.linear().is_none() && kind(&p.options(1, 0)) == kind(learner.options());
            Preset::all().iter().find(same).map_or("restored", Preset::name)
        }
        AnyLearner::Linear(learner) => {
            let kind = |o: &dowise::linear::LinearOptions| (o.regression, o.estimate);
            let same = |p: &&LinearPreset| kind(&p.options(1, 0)) == kind(learner.options());
            LinearPreset::all().iter().find(same).map_or("restored", LinearPreset::name)
        }
    }
}
