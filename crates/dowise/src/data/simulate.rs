//! Simulated logs: a uniform behaviour policy with propensities, a fixed policy, or a learner.

use std::collections::HashMap;
use std::ops::ControlFlow;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{End, LogStep};
use crate::Simulator;
use crate::learn::{Agent, Learner};
use crate::simulate::Outcome;
use crate::world::n_allowed;
use crate::world::{Action, World};

/// The behaviour policy of a simulated log.
pub enum Chooser<'a> {
    /// The uniform policy over allowed interventions.
    AtRandom,
    /// A policy, `[stage][state]`.
    Policy(&'a [Action]),
    /// A learner that observes every step.
    Learner(&'a mut Learner),
}

/// Share of allowed interventions below which sampling is not exactly uniform; see `world::any_allowed`.
const LEAST_SHARE: f64 = 0.2;

/// Simulates episodes and emits each as a log records it: complete, with all variables except hidden ones.
///
/// Initial states and steps are sampled as in a [`Run`](crate::Run) of the same seed. The propensity is one over the
/// number of allowed interventions for the uniform policy, 1 for a fixed policy, and unknown for a learner. For the
/// uniform policy it is also unknown if more than four of five interventions are forbidden, or if they cannot be
/// counted.
pub fn simulate_log(
    simulator: &Simulator,
    mut chooser: Chooser<'_>,
    episodes: u64,
    seed: u64,
    mut visit: impl FnMut(&[LogStep<'_>]) -> ControlFlow<()>,
) {
    let world = simulator.world();
    let [mut starts, mut steps] = Simulator::streams(seed);
    let mut choices = ChaCha8Rng::seed_from_u64(seed);
    // Streams 1 and 2 of a seed belong to runs, 3 to visits.
    choices.set_stream(4);
    // By visited states, since the world may be non-enumerable.
    let mut propensities: HashMap<usize, Option<f64>> = HashMap::new();
    let mut outcomes = vec![Outcome::default(); world.horizon()];
    let mut played: Vec<(usize, Action, Option<f64>)> = Vec::with_capacity(world.horizon());
    for episode in 0..episodes {
        let mut state = simulator.start(&mut starts);
        if let Chooser::Learner(learner) = &mut chooser {
            learner.begin_episode();
        }
        played.clear();
        for (stage, outcome) in outcomes.iter_mut().enumerate() {
            let (action, propensity) = match &mut chooser {
                Chooser::AtRandom => {
                    let known = *propensities.entry(state).or_insert_with(|| uniform_propensity(world, state));
                    (simulator.any_allowed(state, &mut choices), known)
                }
                Chooser::Policy(policy) => (policy[stage * world.n_states() + state], Some(1.0)),
                Chooser::Learner(learner) => (learner.act(stage, state), None),
            };
            simulator.step(state, action, &mut steps, outcome);
            if let Chooser::Learner(learner) = &mut chooser {
                learner.observe(&outcome.observation(stage, state, action));
            }
            played.push((state, action, propensity));
            state = outcome.next_state;
            if world.has_ended(state) {
                break;
            }
        }
        if let Chooser::Learner(learner) = &mut chooser {
            learner.end_episode();
        }
        let whole = played.iter().zip(&outcomes).enumerate();
        let log: Vec<LogStep<'_>> =
            whole.map(|(stage, (p, outcome))| logged(world, episode, stage, p, outcome)).collect();
        if visit(&log).is_break() {
            return;
        }
    }
}

/// A step as a log records it.
fn logged<'a>(
    world: &World,
    episode: u64,
    stage: usize,
    &(state, action, propensity): &(usize, Action, Option<f64>),
    outcome: &'a Outcome,
) -> LogStep<'a> {
    let mut observation = outcome.observation(stage, state, action);
    for id in world.hidden() {
        observation.values.to_mut()[id.ix()] = crate::learn::MISSING;
    }
    let over = stage + 1 == world.horizon() || world.has_ended(outcome.next_state);
    let end = over.then_some(End::Terminated);
    let (reward, policy) = (Some(outcome.reward), Some(0));
    LogStep { reward, propensity, policy, end, ..LogStep::new(episode, observation) }
}

/// The propensity of each allowed intervention under the uniform policy; `None` if it is unknown.
pub fn uniform_propensity(world: &World, state: usize) -> Option<f64> {
    let all = world.interventions();
    let n = n_allowed(all, &world.state_space().digits(state))?;
    (n >= LEAST_SHARE * all.count() as f64).then_some(1.0 / n)
}
