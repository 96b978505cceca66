//! `dowise serve`: decisions over HTTP, learned from what is observed, kept in one file.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use dowise::LearnerSpec;
use dowise_serve::{Choices, Pace, ServeError, Served, ServerOptions, StorePlace, serve};
use dowise_study::WorldChoice;
use tracing_subscriber::filter::LevelFilter;

use crate::output::{Failure, Output, Status};
use crate::{interrupt, policy_file, study};

/// Serve decisions over HTTP, with an audit log
///
/// Everything is kept in one file (SQLite): each request is durable before it is answered, the same request gets the same answer, and
/// the whole log can be replayed. Stops gracefully at Ctrl-C.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// World files, or ready-made worlds; each is served under the name of its file.
    #[arg(required = true)]
    worlds: Vec<String>,
    /// Where everything is kept: a file, or postgres://USER@HOST/DATABASE for several services at once.
    #[arg(long, value_name = "STORE", default_value = "dowise.store", value_parser = place)]
    store: StorePlace,
    /// Where to listen; an address that others can reach needs API keys (`dowise keys`).
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// Who learns, with its options: a learner that counts.
    #[arg(long, value_name = "LEARNER", default_value = "graph-psrl")]
    learner: LearnerSpec,
    /// Episodes that widths and confidence sets count on.
    #[arg(long, value_name = "K", default_value_t = 100_000)]
    episodes: u64,
    /// Seed of posterior samples.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Posterior samples that a policy consists of, 1 to 64.
    #[arg(long, value_name = "K", default_value_t = 16, value_parser = clap::value_parser!(u8).range(1..=64))]
    samples: u8,
    /// A policy file that decides where the learner may not [default: levers left alone, or the first allowed intervention].
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Seconds after which a step is learned with what is there.
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// What a key variable is taken for if nothing was heard of it by then: key=value.
    #[arg(long = "default", value_name = "KEY=VALUE", requires = "timeout")]
    defaults: Vec<String>,
    /// How often a lever is set to a value, at least and at most, where the policy decides: lever=value:0.1..0.5.
    #[arg(long = "share", value_name = "RULE")]
    shares: Vec<String>,
    /// Keep to the baseline: with probability 1 − δ, at no time have all episodes together been worth less than (1 − SHARE) of it,
    /// counted from the least that an episode can pay.
    #[arg(long, value_name = "SHARE")]
    alpha: Option<f64>,
    /// Probability with which that may fail [default: 0.05].
    #[arg(long, value_name = "P", requires = "alpha")]
    delta: Option<f64>,
    /// Days after their end for which the names of episodes are kept; what was learned from them stays.
    #[arg(long, value_name = "DAYS")]
    retention: Option<u32>,
    /// Seconds between policies at least.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    pace: f64,
    /// Requests a second at most, of each key or, without keys, of each address.
    #[arg(long, value_name = "N")]
    rate: Option<u32>,
    /// Connections at a time at most.
    #[arg(long, value_name = "N", default_value_t = 1024)]
    connections: usize,
    /// What is written to standard error, as lines of JSON.
    #[arg(long, value_enum, default_value_t = Log::Error)]
    log: Log,
}

/// What is written to the log of the process.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Log {
    /// Nothing.
    Off,
    /// Only what went wrong.
    Error,
    /// Policies, and what went wrong.
    Info,
    /// Every request as well.
    Debug,
}

impl Log {
    fn level(self) -> LevelFilter {
        match self {
            Log::Off => LevelFilter::OFF,
            Log::Error => LevelFilter::ERROR,
            Log::Info => LevelFilter::INFO,
            Log::Debug => LevelFilter::DEBUG,
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  dowise serve campaign.toml
  dowise serve campaign.toml --baseline today.json --alpha 0.1
  dowise serve campaign.toml --baseline today.json --timeout 604800 --default opened=no
  curl http://127.0.0.1:8080/v1/campaign
  dowise load-test http://127.0.0.1:8080 campaign.toml --customers 200";

pub(crate) fn run(args: Args, output: &Output) -> Result<Status, Failure> {
    if !(args.pace.is_finite() && args.pace >= 0.0) {
        return Err(Failure::Usage(format!("--pace {}: a number of seconds from 0 on", args.pace)));
    }
    let mut worlds: Vec<Arc<Served>> = Vec::new();
    for text in &args.worlds {
        let world = WorldChoice::read(text).make(args.seed).map_err(|e| study::failure(e, output))?;
        let name = name(text);
        if worlds.iter().any(|w| w.name == name) {
            return Err(Failure::Usage(format!("two worlds are called {name}; let their files have different names")));
        }
        let baseline = args.baseline.as_deref().map(|file| policy_file::read(file, &world)).transpose()?;
        let choices = Choices {
            learner: args.learner.clone(),
            episodes: args.episodes,
            seed: args.seed,
            samples: usize::from(args.samples),
            baseline,
            timeout: args.timeout.map(|seconds| seconds.saturating_mul(1000)),
            shares: args.shares.clone(),
            promise: args.alpha.map(|alpha| [alpha, args.delta.unwrap_or(0.05)]),
            defaults: args.defaults.iter().map(|d| default(d)).collect::<Result<_, _>>()?,
        };
        let served = Served::new(&name, &world, choices).map_err(|e| Failure::Usage(format!("{text}: {e}")))?;
        worlds.push(Arc::new(served));
    }
    let options = ServerOptions {
        store: args.store,
        listen: args.listen,
        most_connections: args.connections.max(1),
        rate: args.rate,
        retention: args.retention.map(|days| u64::from(days) * 24 * 3600 * 1000),
        pace: Pace { least: Duration::from_secs_f64(args.pace), ..Pace::default() },
        ..ServerOptions::default()
    };
    let stop = interrupt::flag();
    // Lines of JSON on standard error; no names of episodes or subjects, no keys.
    let log = tracing_subscriber::fmt().json().with_max_level(args.log.level()).with_target(false);
    log.with_writer(std::io::stderr).init();
    let names: Vec<String> = worlds.iter().map(|w| w.name.clone()).collect();
    let ready = |address: SocketAddr| {
        output.talk(format_args!("serving {} at http://{address}, Ctrl-C stops", names.join(", ")));
    };
    serve(&options, worlds, move || stop.load(Ordering::Relaxed), ready).map_err(|error| match error {
        ServeError::NoKeys(_) => Failure::Usage(error.to_string()),
        ServeError::Open(_) | ServeError::Listen(..) | ServeError::Ended(_) => Failure::Io(error.to_string()),
    })?;
    Ok(Status::Fine)
}

/// Where a store is.
pub(crate) fn place(text: &str) -> Result<StorePlace, std::convert::Infallible> {
    Ok(StorePlace::from(text))
}

/// The name of a world in addresses: that of its file, with anything that addresses do not have made a hyphen.
pub(crate) fn name(text: &str) -> String {
    let stem = Path::new(text).file_stem().map_or(text.to_owned(), |stem| stem.to_string_lossy().into_owned());
    let stem = stem.split(':').next().unwrap_or_default().to_owned();
    stem.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect()
}

fn default(text: &str) -> Result<(String, String), Failure> {
    let pair = text.split_once('=').map(|(k, v)| (k.trim().to_owned(), v.trim().to_owned()));
    pair.ok_or_else(|| Failure::Usage(format!("--default {text}: give key=value, such as opened=no")))
}
