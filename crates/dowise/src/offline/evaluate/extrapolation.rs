//! Extrapolation: what a policy does that no logged step did in the same state.
//!
//! Rows of the graph may have data although the intervention was never logged in the state: the graph says that other
//! settings do not matter. That is the strength of a causal graph, and it is an assumption. Where the log cannot even
//! test the independence behind it, nothing but the graph speaks for the answer.

use std::collections::HashSet;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::model::Model;
use super::start::StartStates;
use super::support::HARDLY_ANY;
use crate::offline::Episodes;
use crate::offline::episodes::Step;
use crate::random::splitmix64;
use crate::simulate::{Outcome, Simulator};
use crate::world::{Action, World};

/// Episodes simulated in the model.
const EPISODES: u32 = 2000;

/// What a policy does that no logged step did.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Extrapolation {
    /// Share of its steps with an intervention that was never logged in their state.
    pub share: f64,
    /// The independence that the log cannot test and that most of its steps rest on.
    pub untested: Option<RestsOn>,
}

/// An independence that a policy's value rests on.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct RestsOn {
    /// Such as `opened ⊥ customer | message`.
    pub claim: String,
    /// Share of the policy's steps with values of these variables that were never logged together.
    pub share: f64,
}

/// State factors and levers, by position, on whose joint values a claim rests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Projection {
    pub(crate) claim: String,
    pub(crate) factors: Vec<usize>,
    pub(crate) levers: Vec<usize>,
}

impl Projection {
    /// The values of its state factors, and of its levers (0: left alone).
    fn of(&self, world: &World, state: usize, action: Action) -> Vec<usize> {
        let factors = self.factors.iter().map(|&f| world.state_space().digit(state, f));
        let lever = |&l: &usize| world.interventions().lever(action, l).map_or(0, |value| value + 1);
        factors.chain(self.levers.iter().map(lever)).collect()
    }
}

/// Simulates a policy in the model, and compares what it does with the steps of the log.
///
/// # Cost
/// 2,000 episodes, and O(steps · untested independences).
pub(crate) fn extrapolation(
    log: &Episodes,
    model: &Model,
    policy_hs: &[Action],
    starts: &StartStates,
    seed: u64,
) -> Extrapolation {
    let world = model.mean_world(HARDLY_ANY, starts.to_start());
    let all = (0..world.state().len()).collect();
    let whole = Projection { claim: String::new(), factors: all, levers: (0..world.levers().len()).collect() };
    let projections: Vec<Projection> = std::iter::once(whole).chain(log.graph_test().untested_projections()).collect();
    let mut logged: Vec<HashSet<Vec<usize>>> = vec![HashSet::new(); projections.len()];
    // Other steps do not show what an intervention does, if mechanisms are learned from randomised ones only.
    let shows = |step: &&Step| step.randomised || !log.learns_from_experiments();
    for step in log.steps.iter().filter(shows) {
        let Some(action) = step.action else { continue };
        for (seen, projection) in logged.iter_mut().zip(&projections) {
            seen.insert(projection.of(&world, step.state as usize, action));
        }
    }
    let (mut new, mut steps) = (vec![0u64; projections.len()], 0u64);
    let simulator = Simulator::new(&world).expect("invariant: the mean of the posterior gives every number");
    let mut rng = ChaCha8Rng::seed_from_u64(splitmix64(seed ^ 0x6578_7472));
    let mut outcome = Outcome::default();
    for _ in 0..EPISODES {
        let mut state = simulator.start(&mut rng);
        for stage in 0..world.horizon() {
            if world.has_ended(state) {
                break;
            }
            let action = policy_hs[stage * world.n_states() + state];
            steps += 1;
            for ((new, seen), projection) in new.iter_mut().zip(&logged).zip(&projections) {
                *new += u64::from(!seen.contains(&projection.of(&world, state, action)));
            }
            simulator.step(state, action, &mut rng, &mut outcome);
            state = outcome.next_state;
        }
    }
    let share = |n: u64| n as f64 / steps.max(1) as f64;
    let claims = projections.iter().zip(&new).skip(1).filter(|(_, n)| **n > 0);
    let most = claims.max_by_key(|(_, n)| **n);
    let untested = most.map(|(of, n)| RestsOn { claim: of.claim.clone(), share: share(*n) });
    Extrapolation { share: share(new[0]), untested }
}
