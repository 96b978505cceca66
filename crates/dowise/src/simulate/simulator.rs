//! Simulator: samples initial states, outcomes of interventions, and next states.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::low_rank::DrawnLowRank;
use super::table_row::{Drawn, NextRow, TableRow, draw, draw_from};
use crate::learn::Observation;
use crate::world::{Action, Mechanism, RewardTerm, Start, World};

/// A world cannot be simulated because a parameter is unknown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the world leaves out the mechanism or reward of {}, so it can be learned from data but not simulated; give it", .names.join(", "))]
pub struct NotSimulable {
    /// Variables and reward terms without numbers.
    pub names: Vec<String>,
}

/// Samples initial states and steps of a world.
#[derive(Clone, Debug)]
pub struct Simulator {
    world: World,
    /// Index, stride and size of each state factor.
    state: Vec<(usize, usize, usize)>,
    mechanisms: Vec<Drawn>,
    transitions: Vec<Drawn>,
    /// Sampler of low-rank transitions, instead of `transitions`.
    low_rank: Option<DrawnLowRank>,
    /// The table row of each reward term, and the positions of its next values.
    rewards: Vec<(TableRow, NextRow)>,
}

/// The outcome of one step.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Values of all variables by [`VarId`](crate::world::VarId) (state factors: before the step).
    pub values: Vec<u32>,
    /// Payment of each reward term.
    pub rewards: Vec<f64>,
    /// Their sum less the cost of the intervention.
    pub reward: f64,
    /// Next state.
    pub next_state: usize,
}

impl Outcome {
    /// The step as an observation for a learner.
    pub fn observation(&self, stage: usize, state: usize, action: Action) -> Observation<'_> {
        Observation {
            stage,
            state,
            action: Some(action),
            values: (&self.values).into(),
            rewards: (&self.rewards).into(),
            next_state: Some(self.next_state),
            unseen_next: 0,
        }
    }
}

impl Simulator {
    /// A simulator of a fully known world.
    pub fn new(world: &World) -> Result<Simulator, NotSimulable> {
        let name = |m: &Mechanism| m.children.iter().map(|&id| world.variable(id).name.clone()).collect::<Vec<_>>();
        let transitions = if world.low_rank().is_some() { &[] } else { world.transitions() };
        let mechanisms = transitions.iter().chain(world.mechanisms()).filter(|m| m.table.is_none()).flat_map(name);
        let rewards = world.rewards().iter().filter(|r| r.table.is_none()).map(|r| r.name.clone());
        let names: Vec<String> = mechanisms.chain(rewards).collect();
        if !names.is_empty() {
            return Err(NotSimulable { names });
        }
        let drawn = |list: &[Mechanism]| list.iter().map(|m| Drawn::new(world, m)).collect();
        let space = world.state_space();
        let state = world.state().iter().zip(space.strides()).zip(space.sizes());
        Ok(Simulator {
            state: state.map(|((id, &stride), &size)| (id.ix(), stride, size)).collect(),
            mechanisms: drawn(world.mechanisms()),
            transitions: drawn(transitions),
            low_rank: world.low_rank().map(|low_rank| DrawnLowRank::new(world, low_rank)),
            rewards: world
                .rewards()
                .iter()
                .map(|term| (TableRow::new(world, &term.scope), NextRow::new(world, &term.next)))
                .collect(),
            world: world.clone(),
        })
    }

    /// The world.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The random streams of a seed for initial states and for steps.
    pub fn streams(seed: u64) -> [ChaCha8Rng; 2] {
        [1, 2].map(|stream| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(stream);
            rng
        })
    }

    /// Samples uniformly from the interventions allowed in a state.
    pub fn any_allowed(&self, state: usize, rng: &mut ChaCha8Rng) -> Action {
        crate::world::any_allowed(self.world.interventions(), self.world.state_space(), state, rng.random())
    }

    /// Samples an initial state.
    pub fn start(&self, rng: &mut ChaCha8Rng) -> usize {
        match self.world.start() {
            Start::States(states) => states[draw(states.iter().map(|(_, p)| *p), rng)].0,
            Start::Product(factors) => {
                let strides = self.world.state_space().strides();
                factors.iter().zip(strides).map(|(p, stride)| draw_from(p, rng) * stride).sum()
            }
        }
    }

    /// Samples the outcome of an intervention: levers that it sets ignore their parents; all other variables follow
    /// their mechanisms.
    pub fn step(&self, state: usize, action: Action, rng: &mut ChaCha8Rng, out: &mut Outcome) {
        let world = &self.world;
        out.values.resize(world.variables().len(), 0);
        for &(id, stride, size) in &self.state {
            out.values[id] = (state / stride % size) as u32;
        }
        let all = world.interventions();
        let mut set = 0u64;
        for (i, id) in world.levers().iter().enumerate() {
            out.values[id.ix()] = 0;
            if let Some(v) = all.lever(action, i) {
                out.values[id.ix()] = v as u32;
                set |= 1 << i;
            }
        }
        for (m, drawn) in world.mechanisms().iter().zip(&self.mechanisms) {
            if drawn.levers & set != 0 {
                continue;
            }
            let mut value = drawn.draw(m, &out.values, rng);
            for &(id, size) in &drawn.children {
                out.values[id] = (value % size) as u32;
                value /= size;
            }
        }
        out.rewards.clear();
        for (term, (place, _)) in world.rewards().iter().zip(&self.rewards) {
            // Next-state rewards are paid once the next state is known.
            let paid = if term.next.is_empty() { paid(term, place.of(&out.values), rng) } else { f64::NAN };
            out.rewards.push(paid);
        }
        out.next_state = match &self.low_rank {
            Some(low_rank) => low_rank.draw(&out.values, rng),
            None => {
                let next = world.transitions().iter().zip(&self.transitions).zip(&self.state);
                next.map(|((m, drawn), &(_, stride, _))| drawn.draw(m, &out.values, rng) * stride).sum()
            }
        };
        for (i, (term, (place, next))) in world.rewards().iter().zip(&self.rewards).enumerate() {
            if !term.next.is_empty() {
                out.rewards[i] = paid(term, next.of(place.of(&out.values), out.next_state), rng);
            }
        }
        out.reward = out.rewards.iter().sum::<f64>() - all.cost(action);
    }

    /// Simulates a policy (`[stage][state]`) and returns the index of each of its decisions.
    pub fn visits(&self, policy_hs: &[Action], episodes: usize, seed: u64) -> Vec<usize> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        // Streams 1 and 2 of a seed belong to runs.
        rng.set_stream(3);
        let n = self.world.n_states();
        let mut outcome = Outcome::default();
        let mut visits = Vec::with_capacity(episodes * self.world.horizon());
        for _ in 0..episodes {
            let mut state = self.start(&mut rng);
            for stage in 0..self.world.horizon() {
                visits.push(stage * n + state);
                self.step(state, policy_hs[stage * n + state], &mut rng, &mut outcome);
                state = outcome.next_state;
                if self.world.has_ended(state) {
                    break;
                }
            }
        }
        visits
    }
}

/// Samples the payment of a term at a row of its table.
fn paid(term: &RewardTerm, row: usize, rng: &mut ChaCha8Rng) -> f64 {
    let table = term.table.as_deref().expect("invariant: a simulator is made only of known tables");
    let (mean, [lo, hi]) = (table[row], term.range);
    if !term.random || hi <= lo {
        mean
    } else if rng.random::<f64>() < (mean - lo) / (hi - lo) {
        hi
    } else {
        lo
    }
}
