//! One world played step by step from Python, with the same draws as a run of the same seed.

use dowise::Simulator;
use dowise::simulate::Outcome;
use pyo3::prelude::*;
use rand_chacha::ChaCha8Rng;

use crate::error::Raise;
use crate::given;
use crate::world::World;

/// A world being played: `reset` gives a state, `step` plays an intervention.
#[pyclass(module = "dowise._lib")]
pub(crate) struct Simulation {
    simulator: Simulator,
    world: Py<World>,
    starts: ChaCha8Rng,
    steps: ChaCha8Rng,
    state: usize,
    outcome: Outcome,
}

/// state after, reward, values of key variables, values of levers, what each reward term paid, intervention done
type Stepped = (usize, f64, Vec<u16>, Vec<u16>, Vec<f64>, i64);

#[pymethods]
impl Simulation {
    #[new]
    fn new(world: Py<World>, seed: u64) -> PyResult<Simulation> {
        let simulator = Simulator::new(&world.get().inner).map_err(Raise::raise)?;
        let [starts, steps] = Simulator::streams(seed);
        Ok(Simulation { simulator, world, starts, steps, state: 0, outcome: Outcome::default() })
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
