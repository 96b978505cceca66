//! One world played step by step from Python, with the same draws as a run of the same seed.

use dowise::Simulator;
use dowise::simulate::Outcome;
use pyo3::prelude::*;
use rand_chacha::ChaCha8Rng;

use crate::error::Raise;
use crate::given;
use crate::whole;
use crate::world::World;

/// A world being played: `reset` gives a state, `step` plays an intervention.
#[pyclass(module = "dowise._lib")]
pub(crate) struct Simulation {
    simulator: Simulator,
    world: Py<World>,
    seed: u64,
    starts: ChaCha8Rng,
    steps: ChaCha8Rng,
    state: usize,
    outcome: Outcome,
}

/// state after, reward, values of key variables, values of levers, what each reward term paid, intervention done
type Stepped = (usize, f64, Vec<u32>, Vec<u32>, Vec<f64>, i64);

/// How to make it again, from its world, its seed, what was drawn, and its state.
type Pickled<'py> = (Bound<'py, PyAny>, (Py<World>, u64, (u128, u128), usize));

#[pymethods]
impl Simulation {
    #[new]
    fn new(world: Py<World>, #[pyo3(from_py_with = whole::seed)] seed: u64) -> PyResult<Simulation> {
        let simulator = Simulator::new(&world.get().inner).map_err(Raise::raise)?;
        let [starts, steps] = Simulator::streams(seed);
        Ok(Simulation { simulator, world, seed, starts, steps, state: 0, outcome: Outcome::default() })
    }

    /// A simulation whose generators of starting states and of steps are at these positions, in a given state.
    #[staticmethod]
    fn _at(world: Py<World>, seed: u64, drawn: (u128, u128), state: usize) -> PyResult<Simulation> {
        let mut simulation = Simulation::new(world, seed)?;
        simulation.starts.set_word_pos(drawn.0);
        simulation.steps.set_word_pos(drawn.1);
        simulation.state = state;
        Ok(simulation)
    }

    /// Copies and pickles go on with the same draws.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Pickled<'py>> {
        let this = slf.borrow();
        let drawn = (this.starts.get_word_pos(), this.steps.get_word_pos());
        Ok((slf.get_type().getattr("_at")?, (this.world.clone_ref(slf.py()), this.seed, drawn, this.state)))
    }

    /// Draws a starting state.
    fn reset(&mut self) -> usize {
        self.state = self.simulator.start(&mut self.starts);
        self.state
    }

    /// The present state.
    #[getter]
    fn state(&self) -> usize {
        self.state
    }

    /// Plays an intervention; one that is not allowed is an error, or replaced by an allowed one drawn at random.
    /// `None` is always replaced.
    #[pyo3(signature = (action, replace = false))]
    fn step(&mut self, action: Option<&Bound<'_, PyAny>>, replace: bool) -> PyResult<Stepped> {
        let world = &self.world.get().inner;
        let wanted = action.map(|action| given::action(world, action)).transpose()?;
        let action = match wanted.map(|action| given::allowed(world, self.state, action)) {
            Some(Ok(action)) => action,
            Some(Err(error)) if !replace => return Err(error),
            _ => self.simulator.any_allowed(self.state, &mut self.steps),
        };
        self.simulator.step(self.state, action, &mut self.steps, &mut self.outcome);
        let Outcome { values, rewards, reward, next_state } = &self.outcome;
        let of = |ids: &[dowise::world::VarId]| ids.iter().map(|id| values[id.ix()]).collect();
        self.state = *next_state;
        let done = given::rank(world, action);
        Ok((*next_state, *reward, of(world.keys()), of(world.levers()), rewards.clone(), done))
    }
}
