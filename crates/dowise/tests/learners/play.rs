//! Playing a world with a learner, step by step or all at once.

use dowise::learn::{Agent, Observation, RestoreError};
use dowise::simulate::{Episode, Outcome};
use dowise::world::Action;
use dowise::{Knowledge, Learner, LearnerSpec, Options, Plan, Preset, Run, Simulator, World};

/// A known world and its best plan, with whole runs of learners.
pub(crate) struct Arena {
    pub(crate) world: World,
    pub(crate) optimal: Plan,
    arena: dowise::Arena,
}

impl Arena {
    pub(crate) fn new(world: World) -> Arena {
        let arena = dowise::Arena::new(&world).expect("a known world");
        Arena { world, optimal: arena.best().clone(), arena }
    }

    pub(crate) fn knowledge(&self) -> Knowledge {
        Knowledge::of(&self.world)
    }

    pub(crate) fn simulator(&self) -> &Simulator {
        self.arena.simulator()
    }

    /// Exact values of a policy.
    pub(crate) fn values_of(&self, policy_hs: &[Action]) -> Vec<f64> {
        self.arena.planner().evaluate(policy_hs).expect("a policy of this world")
    }

    pub(crate) fn run(&self, seed: u64) -> Run<'_> {
        self.arena.run(seed)
    }

    /// Regret of each episode of a learner that is given everything but the transitions.
    pub(crate) fn regrets(&self, options: Options, seed: u64) -> Vec<f64> {
        let episodes = options.episodes;
        let mut learner = Learner::new(&self.knowledge(), options).expect("a learner");
        self.regrets_of(&mut learner, episodes, seed)
    }

    /// Regret of each of this many episodes.
    pub(crate) fn regrets_of(&self, agent: &mut impl Agent, episodes: u64, seed: u64) -> Vec<f64> {
        let mut run = self.run(seed);
        (0..episodes).map(|_| run.episode(agent).regret).collect()
    }
}

/// What a step was, kept.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) stage: usize,
    pub(crate) state: usize,
    pub(crate) action: Action,
    pub(crate) values: Vec<u32>,
    pub(crate) rewards: Vec<f64>,
    pub(crate) next_state: usize,
}

impl Seen {
    /// The step as it was observed.
    pub(crate) fn outcome(&self) -> Outcome {
        let (values, rewards) = (self.values.clone(), self.rewards.clone());
        Outcome { values, rewards, reward: 0.0, next_state: self.next_state }
    }

    pub(crate) fn observation(&self) -> Observation<'static> {
        self.outcome().observation(self.stage, self.state, self.action).into_owned()
    }
}

/// A saved learner that was changed, with the checksum that goes with the change.
pub(crate) fn resealed(knowledge: &Knowledge, text: &str) -> String {
    match Learner::restore(knowledge, text) {
        Err(RestoreError::Damaged { field, why }) if field == "seal" => {
            let words: Vec<&str> = why.split([' ', ',']).collect();
            let (written, computed) = (words[6], words[words.len() - 1]);
            text.replacen(&format!("\"seal\":\"{written}\""), &format!("\"seal\":\"{computed}\""), 1)
        }
        _ => text.to_owned(),
    }
}

/// A step of a world whose variables had these values, paid nothing.
pub(crate) fn observed(
    stage: usize,
    state: usize,
    action: Action,
    values: &[u32],
    next_state: usize,
) -> Observation<'static> {
    Seen { stage, state, action, values: values.to_vec(), rewards: vec![0.0], next_state }.observation()
}

/// Plays with one agent and keeps every step.
pub(crate) struct Watched<'a, A> {
    pub(crate) agent: &'a mut A,
    pub(crate) seen: Vec<Seen>,
}

impl<'a, A: Agent> Watched<'a, A> {
    pub(crate) fn new(agent: &'a mut A) -> Self {
        Watched { agent, seen: vec![] }
    }
}

impl<A: Agent> Agent for Watched<'_, A> {
    fn begin_episode(&mut self) {
        self.agent.begin_episode();
    }

    fn act(&mut self, stage: usize, state: usize) -> Action {
        self.agent.act(stage, state)
    }

    fn observe(&mut self, step: &Observation<'_>) {
        self.seen.push(Seen {
            stage: step.stage(),
            state: step.state(),
            action: step.action().unwrap(),
            values: step.values().to_vec(),
            rewards: step.rewards().to_vec(),
            next_state: step.next_state().expect("the simulator knows what follows"),
        });
        self.agent.observe(step);
    }

    fn end_episode(&mut self) {
        self.agent.end_episode();
    }

    fn policy(&mut self) -> Option<&[Action]> {
        self.agent.policy()
    }
}

/// One episode, and what was seen in it.
pub(crate) fn watch(run: &mut Run<'_>, agent: &mut impl Agent) -> (Episode, Vec<Seen>) {
    let mut watched = Watched::new(agent);
    let episode = run.episode(&mut watched);
    (episode, watched.seen)
}

/// Steps of episodes that were played at random.
pub(crate) fn steps(arena: &Arena, episodes: u64, seed: u64) -> Vec<Seen> {
    let options = "uniform".parse::<Preset>().unwrap().options(episodes, seed);
    let mut learner = Learner::new(&arena.knowledge(), options).unwrap();
    let mut run = arena.run(seed);
    (0..episodes).flat_map(|_| watch(&mut run, &mut learner).1).collect()
}

/// All but the transitions, and the graph alone.
pub(crate) fn knowledge(arena: &Arena) -> [Knowledge; 2] {
    [arena.knowledge(), arena.knowledge().without_mechanisms().without_rewards()]
}

/// A learner of either kind by name, given this.
pub(crate) fn by_name(knowledge: &Knowledge, name: &str) -> Learner {
    let spec: LearnerSpec = name.parse().unwrap();
    match spec.linear_options(30, 1) {
        Some(options) => Learner::linear(knowledge, options).unwrap(),
        None => Learner::new(knowledge, spec.options(30, 1)).unwrap(),
    }
}
