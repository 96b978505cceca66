//! Plays a world: draws what happens, lets an agent decide, and judges its policies exactly.

use std::ops::ControlFlow;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::learn::{Agent, Observation};
use crate::plan::{Evaluator, Planner};
use crate::world::{Action, Mechanism, Start, VarId, World};

/// A world cannot be played because something in it is to be learned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the world leaves out the mechanism or reward of {}, so it can be learned from data but not simulated; give it", .names.join(", "))]
pub struct NotSimulable {
    /// Variables and reward terms without numbers.
    pub names: Vec<String>,
}

/// Draws starting states and steps of a world.
#[derive(Clone, Debug)]
pub struct Simulator {
    world: World,
    /// Where each state factor's value goes, its stride and its number of values.
    state: Vec<(usize, usize, usize)>,
    mechanisms: Vec<Drawn>,
    transitions: Vec<Drawn>,
    /// Place in its table of each reward term.
    rewards: Vec<Place>,
}

/// Where a row stands in a table: for each variable that it depends on, its number and stride.
#[derive(Clone, Debug)]
struct Place(Vec<(usize, usize)>);

impl Place {
    fn new(world: &World, ids: &[VarId]) -> Place {
        let mut stride = 1;
        let mut of: Vec<(usize, usize)> = Vec::with_capacity(ids.len());
        for id in ids.iter().rev() {
            of.push((id.ix(), stride));
            stride *= world.variable(*id).size();
        }
        Place(of)
    }

    fn of(&self, values: &[u32]) -> usize {
        self.0.iter().map(|&(id, stride)| values[id] as usize * stride).sum()
    }
}

/// What drawing from a mechanism needs, worked out once.
#[derive(Clone, Debug)]
struct Drawn {
    place: Place,
    /// Numbers and sizes of the variables it decides, last first.
    children: Vec<(usize, usize)>,
    /// Values of a row.
    n: usize,
    /// The levers among its children, as bits: where one is set, nothing is drawn.
    levers: u64,
}

impl Drawn {
    fn new(world: &World, m: &Mechanism) -> Drawn {
        let place_of = |id: &VarId| world.levers().iter().position(|l| l == id);
        let children: Vec<(usize, usize)> =
            m.children.iter().rev().map(|id| (id.ix(), world.variable(*id).size())).collect();
        Drawn {
            place: Place::new(world, &m.parents),
            n: children.iter().map(|(_, size)| size).product(),
            children,
            levers: m.children.iter().filter_map(place_of).fold(0, |bits, lever| bits | 1 << lever),
        }
    }

    /// Draws a joint value of the children, given the values of the parents.
    fn draw(&self, m: &Mechanism, values: &[u32], rng: &mut ChaCha8Rng) -> usize {
        let table = m.table.as_deref().expect("checked when the simulator was made");
        draw_from(&table[self.place.of(values) * self.n..][..self.n], rng)
    }
}

/// What one step brought.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Values of all variables by [`VarId`] (state factors: before the step).
    pub values: Vec<u32>,
    /// What each reward term paid.
    pub rewards: Vec<f64>,
    /// Their sum less the cost of the intervention.
    pub reward: f64,
    /// State after.
    pub next_state: usize,
}

impl Outcome {
    /// The step as a learner sees it.
    pub fn observation(&self, stage: usize, state: usize, action: Action) -> Observation<'_> {
        Observation {
            stage,
            state,
            action,
            values: (&self.values).into(),
            rewards: (&self.rewards).into(),
            next_state: Some(self.next_state),
        }
    }
}

impl Simulator {
    /// A simulator of a world in which everything is known.
    pub fn new(world: &World) -> Result<Simulator, NotSimulable> {
        let name = |m: &Mechanism| m.children.iter().map(|&id| world.variable(id).name.clone()).collect::<Vec<_>>();
        let mechanisms =
            world.transitions().iter().chain(world.mechanisms()).filter(|m| m.table.is_none()).flat_map(name);
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
            transitions: drawn(world.transitions()),
            rewards: world.rewards().iter().map(|term| Place::new(world, &term.scope)).collect(),
            world: world.clone(),
        })
    }

    /// The world.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The streams of a seed that a run draws starting states and steps from.
    pub fn streams(seed: u64) -> [ChaCha8Rng; 2] {
        [1, 2].map(|stream| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(stream);
            rng
        })
    }

    /// Draws an intervention that is allowed in a state, all alike.
    pub fn any_allowed(&self, state: usize, rng: &mut ChaCha8Rng) -> Action {
        crate::kernel::any_allowed(self.world.interventions(), self.world.state_space(), state, rng.random())
    }

    /// Draws where an episode starts.
    pub fn start(&self, rng: &mut ChaCha8Rng) -> usize {
        match self.world.start() {
            Start::States(states) => states[draw(states.iter().map(|(_, p)| *p), rng)].0,
            Start::Product(factors) => {
                let strides = self.world.state_space().strides();
                factors.iter().zip(strides).map(|(p, stride)| draw_from(p, rng) * stride).sum()
            }
        }
    }

    /// Draws what an intervention brings: levers that were set are cut off from their parents, all else follows its mechanism.
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
        for (term, place) in world.rewards().iter().zip(&self.rewards) {
            let table = term.table.as_deref().expect("checked when the simulator was made");
            let mean = table[place.of(&out.values)];
            let [lo, hi] = term.range;
            let paid = if !term.random || hi <= lo {
                mean
            } else if rng.random::<f64>() < (mean - lo) / (hi - lo) {
                hi
            } else {
                lo
            };
            out.rewards.push(paid);
        }
        out.reward = out.rewards.iter().sum::<f64>() - all.cost(action);
        let next = world.transitions().iter().zip(&self.transitions).zip(&self.state);
        out.next_state = next.map(|((m, drawn), &(_, stride, _))| drawn.draw(m, &out.values, rng) * stride).sum();
    }

    /// Plays so many episodes of a policy (`[stage][state]`) and gives the position of each decision made in it.
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
            }
        }
        visits
    }
}

/// Draws a position with these probabilities.
fn draw(probabilities: impl Iterator<Item = f64>, rng: &mut ChaCha8Rng) -> usize {
    let mut left: f64 = rng.random();
    let mut possible = 0;
    for (i, p) in probabilities.enumerate() {
        left -= p;
        if left < 0.0 {
            return i;
        }
        if p > 0.0 {
            possible = i;
        }
    }
    // Rounding left a sliver above the last one; give it to the last value that can happen.
    possible
}

fn draw_from(probabilities: &[f64], rng: &mut ChaCha8Rng) -> usize {
    draw(probabilities.iter().copied(), rng)
}

/// One finished episode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Episode {
    /// Its number, from 1.
    pub number: u64,
    /// Where it started.
    pub start: usize,
    /// V*(start) − V^π(start) of the policy that was followed, exactly; for an agent that does not tell its policy,
    /// V*(start) less the rewards received, which is the same on average.
    pub regret: f64,
    /// Rewards received less costs paid.
    pub reward: f64,
}

/// How far a run has come: episodes played, and how much was drawn for starting states and for steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Episodes played.
    pub episode: u64,
    /// Words drawn for starting states.
    starts: u64,
    /// Words drawn for what happens.
    steps: u64,
}

/// Plays episodes one after another; everything is a function of the seed.
///
/// Starting states and what happens at each step come from two streams of their own, so that learners compared with one
/// seed start every episode alike.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    simulator: &'a Simulator,
    optimal_s: &'a [f64],
    evaluator: Evaluator<'a>,
    judged: Vec<Action>,
    starts: ChaCha8Rng,
    steps: ChaCha8Rng,
    outcome: Outcome,
    episode: u64,
}

impl<'a> Run<'a> {
    /// `planner` and `optimal_s` (its values at the first stage) belong to the same world as `simulator`.
    pub fn new(simulator: &'a Simulator, planner: &'a Planner, optimal_s: &'a [f64], seed: u64) -> Run<'a> {
        let [starts, steps] = Simulator::streams(seed);
        Run {
            simulator,
            optimal_s,
            evaluator: Evaluator::new(planner),
            judged: Vec::new(),
            starts,
            steps,
            outcome: Outcome::default(),
            episode: 0,
        }
    }

    /// How far the run has come, between episodes.
    pub fn position(&self) -> Position {
        // A run that draws 2^64 words would take centuries.
        let [starts, steps] = [&self.starts, &self.steps].map(|rng| rng.get_word_pos() as u64);
        Position { episode: self.episode, starts, steps }
    }

    /// Goes on from where a run of the same world and seed had come to.
    pub fn go_on(&mut self, from: Position) {
        self.episode = from.episode;
        self.starts.set_word_pos(u128::from(from.starts));
        self.steps.set_word_pos(u128::from(from.steps));
    }

    /// Plays one episode and judges the policy that was followed.
    pub fn episode(&mut self, agent: &mut (impl Agent + ?Sized)) -> Episode {
        self.play(agent, true)
    }

    /// Plays one episode; the regret is exact, or zero if the policy is not to be judged.
    pub fn play(&mut self, agent: &mut (impl Agent + ?Sized), judge: bool) -> Episode {
        self.episode += 1;
        let start = self.simulator.start(&mut self.starts);
        agent.begin_episode();
        let exact = agent.policy().filter(|_| judge).map(|policy| self.judge(policy, start));
        let mut state = start;
        let mut reward = 0.0;
        for stage in 0..self.simulator.world.horizon() {
            let action = agent.act(stage, state);
            self.simulator.step(state, action, &mut self.steps, &mut self.outcome);
            agent.observe(&self.outcome.observation(stage, state, action));
            reward += self.outcome.reward;
            state = self.outcome.next_state;
        }
        agent.end_episode();
        let regret = match exact {
            Some(regret) => regret,
            None if judge => self.optimal_s[start] - reward,
            None => 0.0,
        };
        Episode { number: self.episode, start, regret, reward }
    }

    /// V*(start) − V^π(start); a policy that was judged last time is not judged again.
    fn judge(&mut self, policy: &[Action], start: usize) -> f64 {
        if self.judged != policy {
            self.evaluator.evaluate(policy);
            self.judged.clear();
            self.judged.extend_from_slice(policy);
        }
        self.optimal_s[start] - self.evaluator.value_hs[start]
    }

    /// Plays so many episodes, telling `after` about each; it may stop the run.
    pub fn episodes(
        &mut self,
        n: u64,
        agent: &mut (impl Agent + ?Sized),
        mut after: impl FnMut(&Episode) -> ControlFlow<()>,
    ) {
        for _ in 0..n {
            if after(&self.episode(agent)).is_break() {
                break;
            }
        }
    }
}
