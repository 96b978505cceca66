//! A world made ready for runs: simulator, planner, and the best values that regret is measured against.

use dowise::{Agent, Plan, Planner, Preset, Simulator, World, learn::LearnerSpec};

use crate::{StudyError, WorldChoice};

/// A world with all that judging a learner in it takes.
#[derive(Debug)]
pub struct Environment {
    /// Plays it.
    pub simulator: Simulator,
    /// Judges policies.
    pub planner: Planner,
    /// The best policy and its values.
    pub best: Plan,
}

impl Environment {
    /// Makes a chosen world ready; `seed` is for fresh ones.
    pub fn new(choice: &WorldChoice, seed: u64) -> Result<Environment, StudyError> {
        Environment::of(&choice.make(seed)?, &choice.to_string())
    }

    /// Makes a world ready; `name` is for messages.
    pub fn of(world: &World, name: &str) -> Result<Environment, StudyError> {
        let simulator = Simulator::new(world)
            .map_err(|e| StudyError::NotSimulable { world: name.to_owned(), message: e.to_string() })?;
        let planner = Planner::new(world).map_err(|source| StudyError::Plan { world: name.to_owned(), source })?;
        let best = planner.plan();
        Ok(Environment { simulator, planner, best })
    }

    /// The world.
    pub fn world(&self) -> &World {
        self.simulator.world()
    }

    /// Expected sum of rewards of an episode under the best policy.
    pub fn optimal(&self) -> f64 {
        self.planner.from_start(&self.best.value_hs[..self.world().n_states()])
    }

    /// At least the size of any sum of rewards, less costs, that an episode can bring.
    pub fn reward_bound(&self) -> f64 {
        let world = self.world();
        let size = |range: [f64; 2]| range[0].abs().max(range[1].abs());
        let terms: f64 = world.rewards().iter().map(|r| size(r.range)).sum();
        let dearest = |costs: &Vec<f64>| costs.iter().fold(0.0, |most: f64, c| most.max(c.abs()));
        let costs: f64 = world.interventions().costs().iter().map(dearest).sum();
        world.horizon() as f64 * (terms.max(size(world.reward_range())) + costs)
    }

    /// Expected sum of rewards of an episode under the policy of an agent that has begun an episode.
    pub fn value_of(&self, agent: &mut (dyn Agent + Send)) -> f64 {
        let values = self.planner.evaluate(agent.policy()).expect("an agent's policy is one of this world");
        self.planner.from_start(&values[..self.world().n_states()])
    }

    /// The same under interventions at random: the mean over so many random policies, each judged exactly.
    pub fn uniform(&self, policies: usize, seed: u64) -> f64 {
        let uniform: Preset = "uniform".parse().expect("a preset");
        let mut agent =
            LearnerSpec::new(uniform).agent(self.world(), 1, seed).expect("doing things at random needs nothing");
        let mut sum = 0.0;
        for _ in 0..policies {
            agent.begin_episode();
            sum += self.value_of(agent.as_mut());
            agent.end_episode();
        }
        sum / policies as f64
    }
}
