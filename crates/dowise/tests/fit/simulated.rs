//! Simulated logs of known worlds, and fits to them.

use dowise::data::LogStep;
use dowise::kernel::Kernel;
use dowise::learn::{Knowledge, Observation};
use dowise::offline::fit::{FitOptions, Fitted, Fitting};
use dowise::simulate::{Outcome, Simulator};
use dowise::{Action, World, worlds};
use rand_chacha::ChaCha8Rng;

/// One simulated step by the numbers of the true world.
pub(crate) struct Step {
    pub(crate) episode: u64,
    pub(crate) stage: usize,
    pub(crate) state: usize,
    pub(crate) action: Action,
    pub(crate) outcome: Outcome,
}

/// Episodes in which every allowed intervention is as likely.
pub(crate) fn simulate(world: &World, episodes: u64, seed: u64) -> Vec<Step> {
    simulate_with(world, episodes, seed, |simulator, _, state, rng| simulator.any_allowed(state, rng))
}

pub(crate) fn simulate_with(
    world: &World,
    episodes: u64,
    seed: u64,
    choose: impl Fn(&Simulator, usize, usize, &mut ChaCha8Rng) -> Action,
) -> Vec<Step> {
    let simulator = Simulator::new(world).unwrap();
    let [mut starts, mut rng] = Simulator::streams(seed);
    let mut out = Vec::new();
    for episode in 0..episodes {
        let mut state = simulator.start(&mut starts);
        for stage in 0..world.horizon() {
            let action = choose(&simulator, stage, state, &mut rng);
            let mut outcome = Outcome::default();
            simulator.step(state, action, &mut rng, &mut outcome);
            let next = outcome.next_state;
            out.push(Step { episode, stage, state, action, outcome });
            state = next;
        }
    }
    out
}

/// The step as a log has it: hidden variables are not there.
pub(crate) fn logged(world: &World, knowledge: &Knowledge, step: &Step) -> LogStep<'static> {
    let values = |ids: &[dowise::world::VarId]| ids.iter().map(|id| step.outcome.values[id.ix()]).collect::<Vec<u32>>();
    let observation = Observation::at(knowledge, step.stage, step.state)
        .unwrap()
        .did_action(knowledge, step.action)
        .unwrap()
        .saw(knowledge, &values(world.keys())[..])
        .unwrap()
        .found(knowledge, &values(world.levers())[..])
        .unwrap()
        .paid(knowledge, &step.outcome.rewards)
        .unwrap()
        .then(knowledge, step.outcome.next_state)
        .unwrap();
    LogStep::new(step.episode, observation)
}

pub(crate) fn fit(world: &World, steps: &[Step], options: FitOptions) -> Fitted {
    let mut fitting = Fitting::new(world, options).unwrap();
    let knowledge = fitting.knowledge().clone();
    steps.iter().for_each(|step| fitting.add(&logged(world, &knowledge, step)).unwrap());
    fitting.fit().unwrap()
}

/// Small enough to be simulated and planned in quickly.
pub(crate) fn small_worlds() -> Vec<(&'static str, World)> {
    let settings: [(&str, &[(&str, &str)]); 5] = [
        ("campaign", &[]),
        ("treatment", &[]),
        ("river-swim", &[]),
        ("deep-sea", &[("size", "4")]),
        ("paper", &[("levels", "2")]),
    ];
    let make = |(name, choices): (&'static str, &[(&str, &str)])| (name, worlds::world(name, choices).unwrap());
    settings.into_iter().map(make).collect()
}

/// P(cause | s, do(a)) of every cause.
pub(crate) fn kernel_row(world: &World, state: usize, action: Action) -> Vec<f64> {
    let kernel = Kernel::new(world).unwrap();
    let mut out = vec![0.0; kernel.n_causes()];
    kernel.distribution(state, action, &mut out);
    out
}

/// Two symptoms with a hidden common cause, moved by a lever that follows the state when it is left alone.
pub(crate) const SHARED: &str = r#"
dowise = 1
name = "Symptoms"
horizon = 3
[state.age]
values = ["young", "old"]
scope = ["age", "fever"]
next = [[[0.8, 0.2], [0.6, 0.4]], [[0.1, 0.9], [0.3, 0.7]]]
[lever.dose]
values = ["low", "high"]
parents = ["age"]
p = [[0.8, 0.2], [0.3, 0.7]]
[hidden.infection]
values = ["no", "yes"]
parents = ["dose"]
p = [[0.3, 0.7], [0.8, 0.2]]
[key.fever]
values = ["no", "yes"]
parents = ["infection", "age"]
p = [[[0.9, 0.1], [0.8, 0.2]], [[0.2, 0.8], [0.3, 0.7]]]
[key.cough]
values = ["no", "yes"]
parents = ["infection"]
p = [[0.85, 0.15], [0.25, 0.75]]
[reward.well]
scope = ["fever", "cough"]
value = [[1.0, 0.5], [0.4, 0.0]]
[interventions]
set = "any"
"#;
