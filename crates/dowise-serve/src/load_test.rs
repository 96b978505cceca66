//! A simulated load: customers of a world who are decided for by a service, many at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use dowise::Simulator;
use dowise::simulate::Outcome;
use dowise::world::{Given, GivenValue};
use serde_json::{Map, Value, json};

use crate::client::{Client, ClientError};

/// How many simulated customers, and where they go.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// `http://host:port`
    pub url: String,
    /// The world's name there.
    pub world: String,
    /// Customers in all; each plays one episode.
    pub customers: u64,
    /// Customers at a time.
    pub connections: usize,
    /// Names of episodes begin with it, so that two crowds can meet in one service.
    pub prefix: String,
    /// Seed of what happens to them.
    pub seed: u64,
    /// An API key.
    pub key: Option<String>,
    /// How long a customer waits for an answer before giving up.
    pub patience: Duration,
}

/// How it went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadReport {
    /// Episodes played to their end.
    pub episodes: u64,
    /// Decisions, and as many observations.
    pub steps: u64,
    /// Mean reward of an episode, costs taken off.
    pub mean_reward: f64,
    /// Mean reward of the first and of the last tenth of the episodes, by their numbers.
    pub first_and_last: [f64; 2],
    /// Wall-clock time.
    pub seconds: f64,
    /// Times of decisions in milliseconds: median, 99 of 100, the longest.
    pub decide_ms: [f64; 3],
    /// The same of observations.
    pub observe_ms: [f64; 3],
}

/// What one connection met.
#[derive(Default)]
struct Met {
    rewards: Vec<(u64, f64)>,
    decide: Vec<f64>,
    observe: Vec<f64>,
}

/// Plays all customers.
pub fn load_test(options: &LoadOptions, simulator: &Arc<Simulator>) -> Result<LoadReport, ClientError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| ClientError::Connection(options.url.clone(), e.to_string()))?;
    let begun = Instant::now();
    let next = Arc::new(AtomicU64::new(0));
    let met = runtime.block_on(async {
        let tasks: Vec<_> = (0..options.connections.max(1))
            .map(|_| tokio::spawn(connection(options.clone(), simulator.clone(), next.clone())))
            .collect();
        let mut all = Met::default();
        for task in tasks {
            let one = task.await.map_err(|e| ClientError::Connection(options.url.clone(), e.to_string()))??;
            all.rewards.extend(one.rewards);
            all.decide.extend(one.decide);
            all.observe.extend(one.observe);
        }
        Ok::<Met, ClientError>(all)
    })?;
    Ok(report(met, begun.elapsed().as_secs_f64()))
}

async fn connection(options: LoadOptions, simulator: Arc<Simulator>, next: Arc<AtomicU64>) -> Result<Met, ClientError> {
    let mut client = Client::new(&options.url, options.key.clone())?;
    let mut met = Met::default();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= options.customers {
            return Ok(met);
        }
        let reward = customer(&options, &simulator, number, &mut client, &mut met).await?;
        met.rewards.push((number, reward));
    }
}

/// One customer's episode; what it paid.
async fn customer(
    options: &LoadOptions,
    simulator: &Simulator,
    number: u64,
    client: &mut Client,
    met: &mut Met,
) -> Result<f64, ClientError> {
    let world = simulator.world();
    let [decide, observe] = ["decide", "observe"].map(|verb| format!("/v1/{}/{verb}", options.world));
    let [mut starts, mut steps] =
        Simulator::streams(options.seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    let mut state = simulator.start(&mut starts);
    let episode = format!("{}{number}", options.prefix);
    let mut out = Outcome::default();
    let (mut total, mut weight) = (0.0, 1.0);
    for stage in 1..=world.horizon() {
        let event = format!("{episode}-{stage}");
        let question =
            json!({"event_id": event, "episode_id": episode, "stage": stage, "state": names(world.state_names(state))});
        let begun = Instant::now();
        let answer = client.post(&decide, &question, options.patience).await?;
        met.decide.push(begun.elapsed().as_secs_f64() * 1e3);
        let wrong = |e: String| ClientError::Refused { status: 200, body: e };
        let answer: Value = serde_json::from_str(&answer).map_err(|e| wrong(e.to_string()))?;
        let given = |(name, value): (&String, &Value)| {
            (name.clone(), GivenValue::Name(value.as_str().unwrap_or("").to_owned()))
        };
        let set: Vec<_> = answer["intervention"].as_object().into_iter().flatten().map(given).collect();
        let action = world.read_action(&Given::Named(set)).map_err(|e| wrong(e.to_string()))?;
        simulator.step(state, action, &mut steps, &mut out);
        total += weight * out.reward;
        weight *= world.discount();
        let value = |id: dowise::world::VarId| {
            let variable = world.variable(id);
            (variable.name.clone(), json!(variable.values[out.values[id.ix()] as usize]))
        };
        let keys: Map<String, Value> = world.keys().iter().map(|&id| value(id)).collect();
        let alone =
            world.levers().iter().enumerate().filter(|(i, _)| world.interventions().lever(action, *i).is_none());
        let levers: Map<String, Value> = alone.map(|(_, &id)| value(id)).collect();
        let rewards = world.rewards().iter().zip(&out.rewards).map(|(r, paid)| (r.name.clone(), json!(paid)));
        let seen = json!({
            "observation_id": format!("{event}-seen"), "event_id": event, "keys": keys, "levers": levers,
            "rewards": rewards.collect::<Map<_, _>>(), "next_state": names(world.state_names(out.next_state)),
        });
        let begun = Instant::now();
        client.post(&observe, &seen, options.patience).await?;
        met.observe.push(begun.elapsed().as_secs_f64() * 1e3);
        state = out.next_state;
        if world.has_ended(state) {
            break;
        }
    }
    Ok(total)
}

fn names(pairs: Vec<(&str, &str)>) -> Map<String, Value> {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
}

fn report(mut met: Met, seconds: f64) -> LoadReport {
    met.rewards.sort_by_key(|(number, _)| *number);
    let mean = |part: &[(u64, f64)]| part.iter().map(|(_, r)| r).sum::<f64>() / part.len().max(1) as f64;
    let n = met.rewards.len();
    let tenth = n.div_ceil(10);
    let times = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        let at = |share: f64| {
            times
                .get(((times.len() as f64 * share) as usize).min(times.len().saturating_sub(1)))
                .copied()
                .unwrap_or(0.0)
        };
        [at(0.5), at(0.99), at(1.0)]
    };
    LoadReport {
        episodes: n as u64,
        steps: met.decide.len() as u64,
        mean_reward: mean(&met.rewards),
        first_and_last: [mean(&met.rewards[..tenth.min(n)]), mean(&met.rewards[n - tenth.min(n)..])],
        seconds,
        decide_ms: times(&mut met.decide),
        observe_ms: times(&mut met.observe),
    }
}
