//! A small world, an engine in memory, and simulated customers.

#![allow(dead_code, unreachable_pub, unused_imports)] // every test file uses a part of it

mod running;
mod store_contract;

use std::sync::Arc;

use dowise::simulate::Outcome;
use dowise::{Simulator, World};
use dowise_serve::{Answer, Choices, Decide, Engine, Failed, Learning, Observe, Request, Served, Sqlite, Store};
use serde_json::{Map, Value, json};

pub use running::*;
pub use store_contract::*;

/// Small: a plan takes no time.
const WALK: &str = r#"
dowise = 1
name = "A walk a day"
horizon = 3

[state.mood]
values = ["low", "fair", "high"]
scope = ["mood", "walk"]
next.p = [
  [[0.9, 0.1, 0.0], [0.4, 0.4, 0.2]],
  [[0.4, 0.5, 0.1], [0.1, 0.5, 0.4]],
  [[0.1, 0.5, 0.4], [0.0, 0.3, 0.7]],
]

[lever.shoes]
values = ["cupboard", "door"]
cost = { door = 0.01 }
p = [0.8, 0.2]

[lever.call]
values = ["no", "yes"]
p = [0.9, 0.1]

[key.walk]
values = ["no", "yes"]
parents = ["shoes", "call"]
p = [[[0.8, 0.2], [0.5, 0.5]], [[0.6, 0.4], [0.2, 0.8]]]

[reward.well]
scope = ["mood"]
value = [0.0, 0.5, 1.0]

[interventions]
set = { at_most = 1 }

[[interventions.forbid]]
when = { mood = "low" }
levers = { call = "yes" }
"#;

pub fn world() -> World {
    World::from_toml(WALK, "walk.toml").unwrap()
}

pub fn served(name: &str, choices: Choices) -> Arc<Served> {
    Arc::new(Served::new(name, &world(), choices).unwrap())
}

pub fn choices() -> Choices {
    Choices { samples: 8, episodes: 1000, ..Choices::default() }
}

pub fn engine() -> Engine {
    engine_with(choices())
}

pub fn engine_with(choices: Choices) -> Engine {
    engine_on(Box::new(Sqlite::in_memory().unwrap()), choices)
}

pub fn engine_on(store: Box<dyn Store>, choices: Choices) -> Engine {
    Engine::with_key(store, vec![served("clinic", choices)], [7; 32], 1000).unwrap()
}

/// Sends a body to `decide`.
pub fn decide(engine: &mut Engine, body: &Value) -> Result<Answer, Failed> {
    let asked = Decide::read(&engine.worlds()[0].served, body).map_err(Failed::Problem)?;
    engine.submit(0, &Request::Decide(asked), body, 2000)
}

/// Sends a body to `observe`.
pub fn observe(engine: &mut Engine, body: &Value) -> Result<Answer, Failed> {
    let seen = Observe::read(&engine.worlds()[0].served, body).map_err(Failed::Problem)?;
    engine.submit(0, &Request::Observe(seen), body, 2000)
}

/// Makes a policy of all that was observed, and publishes it.
pub fn publish(engine: &mut Engine) {
    publish_with(engine, None);
}

/// The same, with a monitor of the graph to be kept.
pub fn publish_with(engine: &mut Engine, watching: Option<Vec<u8>>) {
    let served = engine.worlds()[0].served.clone();
    let mut learning = Learning::from(&served, &engine.worlds()[0].latest).unwrap();
    learning.apply(&served, engine.store(), engine.store().last().unwrap().0).unwrap();
    let steps = learning.steps();
    let version = engine.worlds()[0].standing.latest + 1;
    let made = learning.publish(&served, version).unwrap();
    let body = json!({"version": version, "seq": made.seq, "hash": made.hash, "steps": steps});
    let request = Request::Publish { snapshot: Arc::new(made), steps, watching };
    engine.submit(0, &request, &body, 3000).unwrap();
}

/// What is learned of the whole log.
pub fn fingerprint(engine: &Engine) -> (u64, u64) {
    let served = &engine.worlds()[0].served;
    let mut learning = Learning::new(served).unwrap();
    learning.apply(served, engine.store(), u64::MAX >> 1).unwrap();
    (learning.learner.evidence().unwrap().fingerprint(), learning.steps())
}

pub fn state(world: &World, state: usize) -> Value {
    named(world.state_names(state))
}

fn named(pairs: Vec<(&str, &str)>) -> Value {
    Value::Object(pairs.into_iter().map(|(k, v)| (k.to_owned(), json!(v))).collect::<Map<_, _>>())
}

/// One episode as requests: (decide, observe) for every stage, played in the world with the answers of an engine.
pub struct Customer {
    pub id: String,
    pub stage: usize,
    pub state: usize,
    rng: rand_chacha::ChaCha8Rng,
}

impl Customer {
    pub fn new(simulator: &Simulator, number: u64) -> Customer {
        let [mut starts, rng] = Simulator::streams(number);
        Customer { id: format!("patient{number}"), stage: 0, state: simulator.start(&mut starts), rng }
    }

    pub fn question(&self, world: &World) -> Value {
        let event = format!("{}-{}", self.id, self.stage + 1);
        json!({"event_id": event, "episode_id": self.id, "stage": self.stage + 1, "state": state(world, self.state)})
    }

    /// What follows an intervention, as the body of `observe`.
    pub fn outcome(&mut self, simulator: &Simulator, answer: &str) -> Value {
        let world = simulator.world();
        let answer: Value = serde_json::from_str(answer).unwrap();
        let levers: Vec<(String, dowise::world::GivenValue)> = answer["intervention"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(k, v)| (k.clone(), dowise::world::GivenValue::Name(v.as_str().unwrap().to_owned())))
            .collect();
        let action = world.read_action(&dowise::world::Given::Named(levers)).unwrap();
        let mut out = Outcome::default();
        simulator.step(self.state, action, &mut self.rng, &mut out);
        let keys: Map<String, Value> = world
            .keys()
            .iter()
            .map(|&id| {
                let variable = world.variable(id);
                (variable.name.clone(), json!(variable.values[out.values[id.ix()] as usize]))
            })
            .collect();
        let event = format!("{}-{}", self.id, self.stage + 1);
        self.state = out.next_state;
        self.stage += 1;
        json!({"observation_id": format!("o-{event}"), "event_id": event, "keys": keys, "next_state": state(world, self.state)})
    }
}
