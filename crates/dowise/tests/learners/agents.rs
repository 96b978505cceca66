//! Every agent keeps the contract of the trait: decisions are allowed, and a policy stays fixed during its episode.

use dowise::learn::Agent;
use dowise::linear::{LinearLearner, LinearPreset};
use dowise::simulate::{AtRandom, Outcome, SampledValueIteration};
use dowise::worlds::{self, LinearLock};
use dowise::{Action, Knowledge, LearnerSpec, Simulator, World};

const EPISODES: u64 = 12;

/// Simulates episodes with an agent and checks each call; all decisions, by episode.
fn decisions(what: &str, simulator: &Simulator, agent: &mut dyn Agent) -> Vec<Vec<Action>> {
    let world = simulator.world();
    let [mut starts, mut steps] = Simulator::streams(5);
    let mut outcome = Outcome::default();
    let mut all = Vec::new();
    for episode in 0..EPISODES {
        let mut state = simulator.start(&mut starts);
        agent.begin_episode();
        let fixed = agent.policy().map(<[Action]>::to_vec);
        if let Some(policy) = &fixed {
            assert_eq!(policy.len(), world.horizon() * world.n_states(), "{what}: a decision at each stage and state");
        }
        let mut done = Vec::new();
        for stage in 0..world.horizon() {
            let action = agent.act(stage, state);
            world.check_allowed(state, action).unwrap_or_else(|e| panic!("{what}, episode {episode}: {e}"));
            if let Some(policy) = &fixed {
                assert_eq!(action, policy[stage * world.n_states() + state], "{what}: decisions are the policy's");
            }
            simulator.step(state, action, &mut steps, &mut outcome);
            agent.observe(&outcome.observation(stage, state, action));
            assert_eq!(agent.policy(), fixed.as_deref(), "{what}: the policy of an episode does not change in it");
            done.push(action);
            state = outcome.next_state;
            if world.has_ended(state) {
                break;
            }
        }
        agent.end_episode();
        all.push(done);
    }
    all
}

/// Checks two agents that are made alike: in the same episodes they decide alike.
fn keeps_the_agent_contract<'a>(
    what: &str,
    simulator: &'a Simulator,
    make: impl Fn(&'a Simulator) -> Box<dyn Agent + 'a>,
) {
    let [first, second] = [0, 1].map(|_| decisions(what, simulator, make(simulator).as_mut()));
    assert_eq!(first, second, "{what}: decisions are a function of the seed and of the observations");
}

/// Few states behind features, so that every agent can be made here.
fn lock() -> World {
    LinearLock { states: 12, causes: 4, levels: 2, dimension: 5, horizon: 4, ..LinearLock::default() }.world().unwrap()
}

fn simulated(world: &World) -> Simulator {
    Simulator::new(world).unwrap()
}

#[test]
fn learners_keep_the_agent_contract() {
    let ending = "dowise = 1\nhorizon = 4\nends = { when = { x = \"2\" } }\n\
                  [state.x]\nvalues = 3\nscope = [\"x\", \"z\"]\nstart = [0.5, 0.5, 0]\n\
                  next = [[[0.5, 0.3, 0.2], [0.2, 0.5, 0.3]], \
                  [[0.4, 0.4, 0.2], [0.1, 0.5, 0.4]], [[0, 0, 1], [0, 0, 1]]]\n\
                  [lever.a]\nvalues = 2\n[key.z]\nvalues = 2\nparents = [\"a\"]\np = [[0.8, 0.2], [0.3, 0.7]]\n\
                  [reward.r]\nscope = [\"x\"]\nvalue = [0.2, 1, 0]\n[interventions]\nset = \"all\"\n\
                  [[interventions.forbid]]\nwhen = { x = \"1\" }\nlevers = { a = \"1\" }\n";
    let paper = worlds::world("paper", &[("levers", "2"), ("levels", "2")]).unwrap();
    let presets = [
        "ucbvi",
        "f-ucbvi",
        "c-ucbvi",
        "cf-ucbvi",
        "graph-ucbvi",
        "psrl",
        "f-psrl",
        "c-psrl",
        "cf-psrl",
        "graph-psrl",
        "graph-psrl:unknown=all",
        "graph-psrl:guard=true",
        "graph-ucbvi:forget=window:20",
        "cf-ucbvi:schedule=visited",
        "c-lsvi-ucb:features=one-hot",
        "c-rlsvi:features=one-hot",
        "greedy",
        "epsilon-greedy",
        "uniform",
    ];
    for world in [paper, World::from_toml(ending, "ending.toml").unwrap()] {
        let simulator = simulated(&world);
        for name in presets {
            keeps_the_agent_contract(name, &simulator, |simulator| {
                let spec = name.parse::<LearnerSpec>().unwrap_or_else(|e| panic!("{name}: {e}"));
                Box::new(spec.learner(simulator.world(), EPISODES, 3).unwrap_or_else(|e| panic!("{name}: {e}")))
            });
        }
    }
}

#[test]
fn linear_learners_keep_the_agent_contract() {
    let simulator = simulated(&lock());
    for name in ["c-blsvi", "c-lsvi-ucb", "c-rlsvi"] {
        let options = || name.parse::<LinearPreset>().unwrap().options(EPISODES, 3);
        let knowledge = Knowledge::of(simulator.world());
        keeps_the_agent_contract(name, &simulator, |_| Box::new(LinearLearner::new(&knowledge, options()).unwrap()));
        keeps_the_agent_contract(&format!("{name} over visited states"), &simulator, |_| {
            Box::new(LinearLearner::over_visited_states(&knowledge, options()).unwrap())
        });
        keeps_the_agent_contract(&format!("the policy learned by {name}"), &simulator, |simulator| {
            let mut learner = LinearLearner::over_visited_states(&knowledge, options()).unwrap();
            decisions(name, simulator, &mut learner);
            Box::new(learner.learned_policy())
        });
    }
}

#[test]
fn baselines_keep_the_agent_contract() {
    let treatment = worlds::world("treatment", &[]).unwrap();
    for world in [lock(), treatment] {
        keeps_the_agent_contract("at random", &simulated(&world), |simulator| Box::new(AtRandom::new(simulator, 3)));
    }
    keeps_the_agent_contract("sampled value iteration", &simulated(&lock()), |simulator| {
        Box::new(SampledValueIteration::new(simulator.world(), 20, 3).unwrap())
    });
}
