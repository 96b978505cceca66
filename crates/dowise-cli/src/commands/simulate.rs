//! `dowise simulate`: a log of a simulated world.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use dowise::data::{Chooser, LogWriter, WrittenColumns, simulate_log};
use dowise::{LearnerSpec, Simulator};
use dowise_study::{StudyError, WorldChoice, check_writable, write_file};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::output::{Failure, Output, Status};
use crate::progress::Progress;
use crate::{interrupt, policy_file, study, table};

/// Write a log of a simulated world
///
/// Plays episodes and writes every step: what was seen, done, paid, and what came next. Without --policy or --learner each
/// intervention that the state allows is chosen with the same probability, step by step, and the log says that
/// probability; a policy has probability 1, a learner's is not written.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A world file, or a ready-made world such as deep-sea:size=6.
    world: String,
    /// Number of episodes.
    #[arg(long, value_name = "K", default_value_t = 100)]
    episodes: u64,
    /// A policy to follow, as `dowise plan --json` and `dowise learn --policy` write it.
    #[arg(long, value_name = "FILE", conflicts_with = "learner")]
    policy: Option<PathBuf>,
    /// A learner that decides and learns.
    #[arg(long, value_name = "LEARNER")]
    learner: Option<String>,
    /// Seed of everything random, of a generated world too if it has none.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Where to write the log, compressed if the name ends in .gz; `-` for standard output.
    #[arg(short, long, value_name = "LOG")]
    output: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  dowise simulate treatment --episodes 1000 -o log.csv
  dowise simulate campaign.toml --learner graph-psrl --episodes 500 -o log.csv.gz
  dowise simulate river-swim --policy policy.json --seed 7 -o -";

/// Most bytes of a log, which is written whole or not at all: 4 GiB in memory.
const MOST_BYTES: usize = 4 << 30;

pub(crate) fn run(args: Args, output: &Output) -> Result<Status, Failure> {
    let fail = |e: StudyError| study::failure(e, output);
    if args.episodes == 0 {
        return Err(Failure::Usage("--episodes 0: a log needs at least one episode".into()));
    }
    let to_stdout = args.output.as_os_str() == "-";
    if !to_stdout {
        check_writable(&args.output).map_err(fail)?;
    }
    let choice = WorldChoice::read(&args.world);
    let world = choice.make(args.seed).map_err(fail)?;
    let simulator = Simulator::new(&world).map_err(|e| Failure::Usage(format!("{choice}: {e}")))?;
    let policy = args.policy.as_deref().map(|file| policy_file::read(file, &world)).transpose()?;
    let mut learner = match &args.learner {
        None => None,
        Some(text) => {
            let spec: LearnerSpec = text.parse().map_err(|e| fail(StudyError::Learner(e)))?;
            let made = spec.learner(&world, args.episodes, args.seed);
            Some(made.map_err(|e| {
                fail(StudyError::Learn { learner: spec.to_string(), world: choice.to_string(), source: e.into() })
            })?)
        }
    };
    let name = match (&args.policy, &args.learner) {
        (Some(file), _) => file.file_stem().map_or("policy".into(), |n| n.to_string_lossy().into_owned()),
        (None, Some(spec)) => spec.clone(),
        (None, None) => "at random".to_owned(),
    };
    let chooser = match (&policy, &mut learner) {
        (Some(policy), _) => Chooser::Policy(policy),
        (None, Some(learner)) => Chooser::Learner(learner),
        (None, None) => Chooser::AtRandom,
    };
    let with =
        WrittenColumns { propensity: args.learner.is_none(), policy: true, end: true, ..WrittenColumns::default() };
    let cannot = |e: std::io::Error| Failure::Io(format!("cannot write {}: {e}", args.output.display()));
    let mut writer = LogWriter::new(&world, Vec::new(), with).map_err(cannot)?;
    let (stop, progress) = (interrupt::flag(), Progress::new(output, args.episodes, "episodes"));
    let (mut steps, mut unknown, mut failed) = (0u64, 0u64, None);
    simulate_log(&simulator, chooser, args.episodes, args.seed, |episode| {
        let number = episode[0].episode + 1;
        steps += episode.len() as u64;
        unknown += episode.iter().filter(|s| s.propensity.is_none()).count() as u64;
        if let Err(error) = writer.episode(&number.to_string(), episode, &[&name]) {
            failed = Some(cannot(error));
        } else if stop.load(Ordering::Relaxed) {
            failed = Some(Failure::Interrupted("interrupted; nothing was written".into()));
        } else if writer.written() > MOST_BYTES as u64 {
            let message = format!("a log of more than {MOST_BYTES} bytes is not written; ask for fewer episodes");
            failed = Some(Failure::Usage(message));
        }
        if number % 64 == 0 {
            progress.set(number, String::new);
        }
        if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    progress.finish();
    if let Some(failure) = failed {
        return Err(failure);
    }
    let text = writer.finish().map_err(cannot)?;
    if to_stdout {
        output.data(String::from_utf8_lossy(&text))?;
        return Ok(Status::Fine);
    }
    let bytes = if args.output.extension().is_some_and(|e| e == "gz") {
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        std::io::Write::write_all(&mut packed, &text).and_then(|()| packed.finish()).map_err(cannot)?
    } else {
        text
    };
    write_file(&args.output, &bytes).map_err(fail)?;
    output.talk(format_args!(
        "wrote {}: {} episodes, {} steps, interventions by \"{name}\"",
        args.output.display(),
        table::count(args.episodes),
        table::count(steps)
    ));
    if args.learner.is_none() && unknown > 0 {
        output.talk(format_args!(
            "of {} steps the propensity is not known: too much is forbidden there",
            table::count(unknown)
        ));
    }
    Ok(Status::Fine)
}
