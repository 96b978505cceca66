//! Rollouts: simulated episodes of an agent and their returns, without evaluation.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{Outcome, Position, Simulator};
use crate::learn::{Agent, Observation};
use crate::world::Action;

/// Simulates episodes, a function of the seed.
///
/// Initial states and steps use two separate random streams (common random numbers): agents with one seed start every
/// episode alike.
///
/// ```
/// use dowise::simulate::{Play, Simulator};
/// use dowise::{Action, Agent, Observation, worlds};
/// struct Nothing;
/// impl Agent for Nothing {
///     fn act(&mut self, _: usize, _: usize) -> Action {
///         Action(0)
///     }
///     fn observe(&mut self, _: &Observation<'_>) {}
/// }
/// let simulator = Simulator::new(&worlds::world("river-swim", &[])?)?;
/// let (_, reward) = Play::new(&simulator, 1).episode(&mut Nothing);
/// assert!(reward >= 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Play<'a> {
    pub(super) simulator: &'a Simulator,
    starts: ChaCha8Rng,
    steps: ChaCha8Rng,
    outcome: Outcome,
    /// Simulated episodes.
    pub(super) episode: u64,
}

impl<'a> Play<'a> {
    /// Starts with the first episode.
    pub fn new(simulator: &'a Simulator, seed: u64) -> Play<'a> {
        let [starts, steps] = Simulator::streams(seed);
        Play { simulator, starts, steps, outcome: Outcome::default(), episode: 0 }
    }

    /// The position between episodes, for resuming.
    pub fn position(&self) -> Position {
        // A run that draws 2^64 words would take centuries.
        let [starts, steps] = [&self.starts, &self.steps].map(|rng| rng.get_word_pos() as u64);
        Position { episode: self.episode, starts, steps }
    }

    /// Resumes from a position of the same world and seed.
    pub fn go_on(&mut self, from: Position) {
        self.episode = from.episode;
        self.starts.set_word_pos(u128::from(from.starts));
        self.steps.set_word_pos(u128::from(from.steps));
    }

    /// Simulates one episode: its initial state, and its discounted return net of costs.
    pub fn episode(&mut self, agent: &mut (impl Agent + ?Sized)) -> (usize, f64) {
        let start = self.begin();
        agent.begin_episode();
        let reward = self.go_through(agent, start);
        agent.end_episode();
        (start, reward)
    }

    /// Samples the next initial state.
    pub(super) fn begin(&mut self) -> usize {
        self.episode += 1;
        self.simulator.start(&mut self.starts)
    }

    /// All steps of an episode that the agent has begun.
    pub(super) fn go_through(&mut self, agent: &mut (impl Agent + ?Sized), start: usize) -> f64 {
        let world = self.simulator.world();
        let (mut state, mut reward, mut weight) = (start, 0.0, 1.0);
        for stage in 0..world.horizon() {
            let action = agent.act(stage, state);
            self.simulator.step(state, action, &mut self.steps, &mut self.outcome);
            agent.observe(&self.outcome.observation(stage, state, action));
            reward += weight * self.outcome.reward;
            weight *= world.discount();
            state = self.outcome.next_state;
            if world.has_ended(state) {
                break;
            }
        }
        reward
    }
}

/// The uniform policy over allowed interventions.
#[derive(Clone, Debug)]
pub struct AtRandom<'a> {
    simulator: &'a Simulator,
    rng: ChaCha8Rng,
}

impl<'a> AtRandom<'a> {
    /// With this seed.
    pub fn new(simulator: &'a Simulator, seed: u64) -> AtRandom<'a> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        // Other parts of the simulation use streams 1 to 4 of a seed.
        rng.set_stream(5);
        AtRandom { simulator, rng }
    }
}

impl Agent for AtRandom<'_> {
    fn act(&mut self, _: usize, state: usize) -> Action {
        self.simulator.any_allowed(state, &mut self.rng)
    }

    fn observe(&mut self, _: &Observation<'_>) {}
}
