//! A world ready to be played and evaluated: its simulator, its planner, and the best plan that regret is measured against.

use super::{NotSimulable, Run, Simulator};
use crate::plan::{Plan, PlanError, Planner};
use crate::world::{Action, World};

/// Why a world cannot be played and evaluated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ArenaError {
    /// It leaves out something that has to be drawn.
    #[error(transparent)]
    NotSimulable(#[from] NotSimulable),
    /// Its best policy cannot be computed.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// A world ready to be played and evaluated.
///
/// Made once and shared: every [`Run`] borrows it, on any number of threads.
///
/// ```
/// use dowise::{Arena, Knowledge, Learner, Preset, World, worlds};
/// let arena = Arena::new(&World::new(worlds::RiverSwim::default().spec()?)?)?;
/// let options = "graph-psrl".parse::<Preset>()?.options(50, 1);
/// let mut learner = Learner::new(&Knowledge::of(arena.world()), options)?;
/// let mut run = arena.run(1);
/// let regret: f64 = (0..50).map(|_| run.episode(&mut learner).regret).sum();
/// assert!(0.0 <= regret && regret <= 50.0 * arena.optimal());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Arena {
    simulator: Simulator,
    planner: Planner,
    best: Plan,
}

impl Arena {
    /// Makes a world ready; everything in it has to be known.
    pub fn new(world: &World) -> Result<Arena, ArenaError> {
        let simulator = Simulator::new(world)?;
        // Whether a run fits beside the plan is asked now, since nobody can refuse to judge later.
        Planner::ask(world, Arena::bytes(world))?;
        let planner = Planner::new(world)?;
        let best = planner.plan();
        Ok(Arena { simulator, planner, best })
    }

    /// Bytes that planning and one run take at most, without the learner; each further run takes [`Arena::run_bytes`].
    pub fn bytes(world: &World) -> u128 {
        Planner::bytes(world).saturating_add(Arena::run_bytes(world))
    }

    /// Bytes that a run takes at most to judge policies, without the learner.
    pub fn run_bytes(world: &World) -> u128 {
        Planner::evaluation_bytes(world)
    }

    /// The world.
    pub fn world(&self) -> &World {
        self.simulator.world()
    }

    /// Draws what happens.
    pub fn simulator(&self) -> &Simulator {
        &self.simulator
    }

    /// Judges policies.
    pub fn planner(&self) -> &Planner {
        &self.planner
    }

    /// The best policy and its values.
    pub fn best(&self) -> &Plan {
        &self.best
    }

    /// A run from its first episode on; everything that happens in it is a function of the seed.
    pub fn run(&self, seed: u64) -> Run<'_> {
        Run::new(&self.simulator, &self.planner, &self.best.value_hs, seed)
    }

    /// Expected sum of rewards of an episode under the best policy.
    pub fn optimal(&self) -> f64 {
        self.planner.from_start(&self.best.value_hs[..self.world().n_states()])
    }

    /// How likely an episode starts in each state.
    pub fn start_distribution(&self) -> Vec<f64> {
        self.world().start_distribution()
    }

    /// Expected sum of rewards of an episode under a policy (`[stage][state]`), exactly.
    pub fn value_of(&self, policy_hs: &[Action]) -> Result<f64, PlanError> {
        let values = self.planner.evaluate(policy_hs)?;
        Ok(self.planner.from_start(&values[..self.world().n_states()]))
    }

    /// At least the size of any sum of rewards, less costs, that an episode can bring.
    pub fn reward_bound(&self) -> f64 {
        self.world().reward_bound()
    }

    /// Expected sum of rewards of an episode under interventions at random, and whether that is exact: see
    /// [`Planner::at_random`].
    pub fn at_random(&self) -> (f64, bool) {
        let (values, exact) = self.planner.at_random();
        (self.planner.from_start(&values[..self.world().n_states()]), exact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worlds;

    #[test]
    fn the_best_policy_has_the_best_value_and_no_regret() {
        for name in ["river-swim", "paper", "treatment"] {
            let arena = Arena::new(&worlds::world(name, &[]).unwrap()).unwrap();
            let value = arena.value_of(&arena.best().policy_hs).unwrap();
            assert!((value - arena.optimal()).abs() < 1e-9, "{name}: {value} and {}", arena.optimal());
            assert!(arena.at_random().0 < arena.optimal(), "{name}");
        }
    }

    #[test]
    fn what_is_not_known_is_named() {
        let text = worlds::text("river-swim", &[]).unwrap();
        let world = World::from_toml(&text, "river").unwrap();
        let unknown = crate::Knowledge::of(&world).without_rewards();
        let error = Arena::new(unknown.world()).unwrap_err();
        assert!(error.to_string().contains("food"), "{error}");
    }

    #[test]
    fn a_policy_of_another_size_is_refused() {
        let arena = Arena::new(&worlds::world("river-swim", &[]).unwrap()).unwrap();
        assert!(matches!(arena.value_of(&[]), Err(PlanError::PolicySize { found: 0, .. })));
    }
}
