//! A world ready for simulation and exact regret: its simulator, its planner, and an optimal plan.

use super::{NotSimulable, Run, Simulator};
use crate::plan::{Plan, PlanError, Planner};
use crate::world::{Action, World};

/// Why a world cannot be simulated and evaluated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ArenaError {
    /// A parameter that has to be sampled is unknown.
    #[error(transparent)]
    NotSimulable(#[from] NotSimulable),
    /// An optimal policy cannot be computed.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

/// A world ready for simulation and exact evaluation.
///
/// Create it once and share it: every [`Run`] borrows it, on any number of threads.
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
    /// Prepares a world in which everything is known.
    pub fn new(world: &World) -> Result<Arena, ArenaError> {
        let simulator = Simulator::new(world)?;
        // Checks the memory of a run now, since evaluation cannot fail later.
        Planner::ask(world, Arena::bytes(world))?;
        let planner = Planner::new(world)?;
        let best = planner.plan();
        Ok(Arena { simulator, planner, best })
    }

    /// Maximum bytes of planning and one run, without the learner; each further run takes [`Arena::run_bytes`].
    pub fn bytes(world: &World) -> u128 {
        Planner::bytes(world).saturating_add(Arena::run_bytes(world))
    }

    /// Maximum bytes for evaluating policies in a run, without the learner.
    pub fn run_bytes(world: &World) -> u128 {
        Planner::evaluation_bytes(world)
    }

    /// The world.
    pub fn world(&self) -> &World {
        self.simulator.world()
    }

    /// The simulator.
    pub fn simulator(&self) -> &Simulator {
        &self.simulator
    }

    /// The planner, which evaluates policies.
    pub fn planner(&self) -> &Planner {
        &self.planner
    }

    /// An optimal policy and its values.
    pub fn best(&self) -> &Plan {
        &self.best
    }

    /// A run from its first episode on, a function of the seed.
    pub fn run(&self, seed: u64) -> Run<'_> {
        Run::new(&self.simulator, &self.planner, &self.best.value_hs, seed)
    }

    /// Expected return of an episode under an optimal policy.
    pub fn optimal(&self) -> f64 {
        self.planner.from_start(&self.best.value_hs[..self.world().n_states()])
    }

    /// The initial-state distribution.
    pub fn start_distribution(&self) -> Vec<f64> {
        self.world().start_distribution()
    }

    /// Exact expected return of an episode under a policy (`[stage][state]`).
    pub fn value_of(&self, policy_hs: &[Action]) -> Result<f64, PlanError> {
        let values = self.planner.evaluate(policy_hs)?;
        Ok(self.planner.from_start(&values[..self.world().n_states()]))
    }

    /// Upper bound on the absolute return of an episode, net of costs.
    pub fn reward_bound(&self) -> f64 {
        self.world().reward_bound()
    }

    /// Expected return of an episode under the uniform policy, and whether it is exact: see [`Planner::at_random`].
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
