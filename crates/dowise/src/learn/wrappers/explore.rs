//! Random exploration (ε-greedy or uniform): the baseline learners, and exploration for graph repair.

use crate::kernel::Tie;
use crate::learn::Knowledge;
use crate::plan::Ties;
use crate::random::splitmix64;
use crate::world::Action;
use crate::world::any_allowed;

/// At each step, with some probability, a uniformly random intervention.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Explore {
    pub(crate) probability: f64,
    pub(crate) seed: u64,
}

impl Explore {
    /// If every step is random, no plan is needed.
    pub(crate) fn takes_over(&self) -> Option<(u64, u64)> {
        (self.probability >= 1.0).then_some((0, 0))
    }

    pub(crate) fn fill_policy(&self, knowledge: &Knowledge, episode: u64, out: &mut Vec<Action>) {
        fill_at_random(knowledge, self.seed, episode, out);
    }

    pub(crate) fn instead(&self, knowledge: &Knowledge, episode: u64, stage: usize, state: usize) -> Option<Action> {
        let random = random(self.seed, episode, stage, state);
        (share(splitmix64(random ^ 0x636f_696e)) < self.probability).then(|| any(knowledge, state, random))
    }
}

/// A random allowed intervention for every stage and state.
pub(crate) fn fill_at_random(knowledge: &Knowledge, seed: u64, episode: u64, out: &mut Vec<Action>) {
    for stage in 0..knowledge.horizon() {
        out.extend((0..knowledge.n_states()).map(|s| any(knowledge, s, random(seed, episode, stage, s))));
    }
}

/// A number between 0 and 1 from the upper bits of a pseudo-random one.
pub(crate) fn share(random: u64) -> f64 {
    (random >> 11) as f64 / (1u64 << 53) as f64
}

fn any(knowledge: &Knowledge, state: usize, random: u64) -> Action {
    any_allowed(knowledge.interventions(), knowledge.state_space(), state, random)
}

/// A pseudo-random number: a function of the seed, the episode, the stage and the state.
fn random(seed: u64, episode: u64, stage: usize, state: usize) -> u64 {
    match Ties::Seeded(splitmix64(seed ^ splitmix64(episode))).at(stage, state) {
        Tie::Random(random) => random,
        Tie::First => unreachable!("invariant: seeded ties are random"),
    }
}
