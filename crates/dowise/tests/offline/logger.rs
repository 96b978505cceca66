//! Whoever is logged, worlds that are logged, and true values.

use dowise::data::LogStep;
use dowise::offline::fit::Fitting;
use dowise::offline::{Episodes, OfflineOptions};
use dowise::simulate::Outcome;
use dowise::{Action, Knowledge, Planner, Simulator, World, worlds};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// A step: stage, state, intervention, its probability, and the outcome.
pub(crate) type Taken = (usize, usize, Action, f64, Outcome);

/// Whoever is logged: the policy, with this probability an intervention drawn from all.
pub(crate) struct Logger<'a> {
    pub(crate) world: &'a World,
    pub(crate) simulator: Simulator,
    pub(crate) policy_hs: Vec<Action>,
    pub(crate) random: f64,
    pub(crate) propensity: bool,
}

impl Logger<'_> {
    pub(crate) fn log(&self, knowledge: &Knowledge, episodes: u64, seed: u64) -> Episodes {
        self.log_in_order(knowledge, (episodes, seed), |_| {})
    }

    /// The log for the world of a fit.
    pub(crate) fn log_of_fit(&self, fitting: &Fitting, episodes: u64, seed: u64) -> Episodes {
        self.add_to(Episodes::of_fit(fitting, 5).unwrap(), (episodes, seed), |_| {})
    }

    /// The same log with its episodes in another order.
    pub(crate) fn log_in_order(
        &self,
        knowledge: &Knowledge,
        size: (u64, u64),
        reorder: impl Fn(&mut Vec<Vec<Taken>>),
    ) -> Episodes {
        self.add_to(Episodes::new(knowledge, 5).unwrap(), size, reorder)
    }

    fn add_to(
        &self,
        mut log: Episodes,
        (episodes, seed): (u64, u64),
        reorder: impl Fn(&mut Vec<Vec<Taken>>),
    ) -> Episodes {
        let [mut starts, mut steps] = Simulator::streams(seed);
        let n = self.world.n_states();
        let mut all = Vec::new();
        for _ in 0..episodes {
            let mut state = self.simulator.start(&mut starts);
            let mut outcomes = Vec::new();
            for stage in 0..self.world.horizon() {
                let (action, propensity) = self.act(stage * n + state, state, &mut steps);
                let mut outcome = Outcome::default();
                self.simulator.step(state, action, &mut steps, &mut outcome);
                let next = outcome.next_state;
                outcomes.push((stage, state, action, propensity, outcome));
                state = next;
            }
            all.push(outcomes);
        }
        reorder(&mut all);
        for (episode, taken) in (0..).zip(&all) {
            let steps: Vec<LogStep<'_>> = taken
                .iter()
                .map(|(stage, state, action, propensity, outcome)| LogStep {
                    propensity: self.propensity.then_some(*propensity),
                    ..LogStep::new(episode, outcome.observation(*stage, *state, *action))
                })
                .collect();
            log.add(&steps).unwrap();
        }
        log
    }

    fn act(&self, at: usize, state: usize, rng: &mut ChaCha8Rng) -> (Action, f64) {
        let own = self.policy_hs[at];
        let all = self.world.interventions().count() as f64;
        let action = if rng.random::<f64>() < self.random { self.simulator.any_allowed(state, rng) } else { own };
        (action, f64::from(u8::from(action == own)) * (1.0 - self.random) + self.random / all)
    }
}

pub(crate) fn logger(world: &World, random: f64) -> Logger<'_> {
    let policy_hs = Planner::new(world).unwrap().plan().policy_hs;
    Logger { world, simulator: Simulator::new(world).unwrap(), policy_hs, random, propensity: false }
}

/// A policy that does something, the same everywhere.
pub(crate) fn constant(world: &World, rank: u64) -> Vec<Action> {
    vec![world.interventions().nth(rank); world.horizon() * world.n_states()]
}

pub(crate) fn truth(world: &World, policy_hs: &[Action]) -> f64 {
    let planner = Planner::new(world).unwrap();
    planner.from_start(&planner.evaluate(policy_hs).unwrap()[..world.n_states()])
}

pub(crate) fn paper(seed: u64) -> World {
    World::new(
        worlds::Paper { levels: 2, levers: 2, factors: 2, horizon: 4, seed, ..Default::default() }.spec().unwrap(),
    )
    .unwrap()
}

pub(crate) fn quick() -> OfflineOptions {
    OfflineOptions { samples: 200, played: 1000, ..OfflineOptions::default() }
}

/// The key variable is the lever: what the model expects of a cause is what it expects of the intervention.
pub(crate) fn copied() -> World {
    World::builder("a lever that is its own key variable", 3)
        .state("mood", ["low", "high"])
        .lever("shoes", ["cupboard", "door"])
        .key("walk", ["no", "yes"])
        .mechanism("walk", ["shoes"], [1.0, 0.0, 0.0, 1.0])
        .next("mood", ["mood", "walk"], [0.9, 0.1, 0.4, 0.6, 0.5, 0.5, 0.1, 0.9])
        .reward("well", "mood", [0.0, 1.0])
        .build()
        .unwrap()
}

/// An episode of a world, whatever is done, as steps that can be changed before they are logged.
pub(crate) fn played(
    simulator: &Simulator,
    world: &World,
    streams: &mut [ChaCha8Rng; 2],
) -> Vec<(usize, usize, Action, Outcome)> {
    let mut state = simulator.start(&mut streams[0]);
    let mut out = Vec::new();
    for stage in 0..world.horizon() {
        let (action, mut outcome) = (simulator.any_allowed(state, &mut streams[1]), Outcome::default());
        simulator.step(state, action, &mut streams[1], &mut outcome);
        let next = outcome.next_state;
        out.push((stage, state, action, outcome));
        state = next;
    }
    out
}

/// Two key variables that act on a state factor each.
pub(crate) fn two_keys() -> World {
    World::builder("two", 3)
        .state("mood", ["low", "high"])
        .state("fit", ["no", "yes"])
        .lever("shoes", ["cupboard", "door"])
        .key("walk", ["no", "yes"])
        .key("sleep", ["bad", "good"])
        .mechanism("walk", ["shoes"], [0.8, 0.2, 0.3, 0.7])
        .mechanism("sleep", ["shoes"], [0.6, 0.4, 0.3, 0.7])
        .next("mood", ["mood", "sleep"], [0.8, 0.2, 0.3, 0.7, 0.6, 0.4, 0.1, 0.9])
        .next("fit", ["fit", "walk"], [0.9, 0.1, 0.4, 0.6, 0.6, 0.4, 0.2, 0.8])
        .reward("well", "mood", [0.0, 1.0])
        .build()
        .unwrap()
}

/// What is paid depends on a key variable; a second one is moved by the first where `linked`.
pub(crate) fn paid_by_key(linked: bool) -> World {
    let world = World::builder("paid", 2)
        .state("x", ["low", "high"])
        .state("y", ["low", "high"])
        .lever("a", ["off", "on"])
        .key("z", ["no", "yes"])
        .key("w", ["no", "yes"])
        .mechanism("z", ["a"], [0.5, 0.5, 0.6, 0.4]);
    let world = match linked {
        true => world.mechanism("w", ["z"], [0.8, 0.2, 0.3, 0.7]),
        false => world.mechanism("w", ["a"], [0.7, 0.3, 0.3, 0.7]),
    };
    world
        .next("x", ["x"], [0.5, 0.5, 0.5, 0.5])
        .next("y", ["y", "w"], [0.8, 0.2, 0.3, 0.7, 0.6, 0.4, 0.1, 0.9])
        .reward("pay", "z", [0.0, 1.0])
        .build()
        .unwrap()
}

/// A log in which `hides` takes out of every step what is not recorded.
pub(crate) fn log_with(
    world: &World,
    mut log: Episodes,
    episodes: u64,
    seed: u64,
    mut hides: impl FnMut(&mut Outcome, usize, f64),
) -> Episodes {
    let simulator = Simulator::new(world).unwrap();
    let mut streams = Simulator::streams(seed);
    for episode in 0..episodes {
        let mut steps = played(&simulator, world, &mut streams);
        steps.iter_mut().for_each(|(_, state, _, outcome)| hides(outcome, *state, streams[1].random()));
        let steps: Vec<LogStep<'_>> =
            steps.iter().map(|(h, s, a, o)| LogStep::new(episode, o.observation(*h, *s, *a))).collect();
        log.add(&steps).unwrap();
    }
    log
}

/// What a value that was not recorded is in an outcome.
pub(crate) const HIDDEN: u32 = u32::MAX;
