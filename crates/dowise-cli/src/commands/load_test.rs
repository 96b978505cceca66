//! `dowise load-test`: simulated customers against a service that runs.

use std::sync::Arc;
use std::time::Duration;

use dowise::Simulator;
use dowise_serve::{ClientError, LoadOptions, load_test};
use dowise_study::WorldChoice;

use crate::output::{Failure, Output, Status};
use crate::{study, table};

/// Send simulated customers to a service; report rewards and latency
///
/// Every customer is one episode: the service decides, the world file simulates the outcome, and the service observes it. Prints
/// what the episodes paid and how long answers took.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The service, such as http://127.0.0.1:8080.
    url: String,
    /// The world that says what happens: a file, or a ready-made world.
    world: String,
    /// The world's name in the service [default: the name of the file].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Customers in all.
    #[arg(long, value_name = "N", default_value_t = 100)]
    customers: u64,
    /// Customers at a time.
    #[arg(long, value_name = "N", default_value_t = 32)]
    connections: usize,
    /// Names of episodes begin with it; another load needs another one.
    #[arg(long, default_value = "customer-")]
    prefix: String,
    /// Seed of what happens.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// An API key; better in the environment variable DOWISE_KEY.
    #[arg(long)]
    key: Option<String>,
    /// Seconds that a customer waits for a service that does not answer.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    patience: u64,
}

pub(crate) fn run(args: Args, output: &Output) -> Result<Status, Failure> {
    let world = WorldChoice::read(&args.world).make(args.seed).map_err(|e| study::failure(e, output))?;
    let simulator = Simulator::new(&world).map_err(|e| Failure::Usage(format!("{}: {e}", args.world)))?;
    let options = LoadOptions {
        url: args.url,
        world: args.name.unwrap_or_else(|| super::serve::name(&args.world)),
        customers: args.customers,
        connections: args.connections,
        prefix: args.prefix,
        seed: args.seed,
        key: args.key.or_else(|| std::env::var("DOWISE_KEY").ok()),
        patience: Duration::from_secs(args.patience),
    };
    let report = load_test(&options, &Arc::new(simulator)).map_err(|error| match error {
        ClientError::Address(_) => Failure::Usage(error.to_string()),
        ClientError::Connection(..) | ClientError::Refused { .. } => Failure::Io(error.to_string()),
    })?;
    let [first, last] = report.first_and_last;
    let amounts = table::Amounts::of([report.mean_reward, first, last]);
    let times = |[median, most, longest]: [f64; 3]| {
        format!("median {median:.2} ms, 99 of 100 {most:.2} ms, longest {longest:.2} ms")
    };
    output.data(format!(
        "{} episodes, {} decisions and observations in {:.1} s ({:.0} pairs a second)\n\
         reward of an episode: {} on average, {} in the first tenth, {} in the last\n\
         decide: {}\n\
         observe: {}\n",
        table::count(report.episodes),
        table::count(report.steps),
        report.seconds,
        report.steps as f64 / report.seconds.max(1e-9),
        amounts.show(report.mean_reward),
        amounts.show(first),
        amounts.show(last),
        times(report.decide_ms),
        times(report.observe_ms)
    ))?;
    Ok(Status::Fine)
}
