//! `dowise simulate`: a log of a simulated world.

use std::io::{BufWriter, ErrorKind, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use dowise::data::{Chooser, LogWriter, WrittenColumns, simulate_log};
use dowise::{LearnerSpec, Simulator};
use dowise_study::{StudyError, WorldChoice, stream_file};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::known::Known;
use crate::number::counted;
use crate::output::{Failure, Output, Status};
use crate::overwrite::{Files, Overwrite};
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
    #[arg(value_parser = Known::World, hide_possible_values = true)]
    world: String,
    /// Number of episodes.
    #[arg(long, value_name = "K", default_value_t = 100, value_parser = counted, allow_negative_numbers = true)]
    episodes: u64,
    /// A policy to follow, as `dowise plan --json` and `dowise learn --policy` write it.
    #[arg(long, value_name = "FILE", conflicts_with = "learner")]
    policy: Option<PathBuf>,
    /// A learner that decides and learns.
    #[arg(long, value_name = "LEARNER", value_parser = Known::Learner, hide_possible_values = true)]
    learner: Option<String>,
    /// Seed of everything random, of a generated world too if it has none.
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Where to write the log, compressed if the name ends in .gz; `-` for standard output.
    #[arg(short, long, value_name = "LOG")]
    output: PathBuf,
    #[command(flatten)]
    overwrite: Overwrite,
}

const EXAMPLES: &str = "\
Examples:
  dowise simulate treatment --episodes 1000 -o log.csv
  dowise simulate campaign.toml --learner graph-psrl --episodes 500 -o log.csv.gz
  dowise simulate river-swim --policy policy.json --seed 7 -o -";

pub(crate) fn run(args: Args, output: &Output) -> Result<Status, Failure> {
    let fail = |e: StudyError| study::failure(e, output);
    if args.episodes == 0 {
        return Err(Failure::Usage("--episodes 0: a log needs at least one episode".into()));
    }
    let to_stdout = args.output.as_os_str() == "-";
    if !to_stdout {
        let mut files = Files::default();
        files.read("the world", Some(Path::new(&args.world))).read("--policy", args.policy.as_deref());
        files.write("--output", Some(&args.output));
        args.overwrite.check(&files, output)?;
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
    let place = args.output.display();
    let play = Play { args: &args, simulator: &simulator, name: &name, with };
    let played = if to_stdout {
        let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
        play.write(&mut out, chooser, output)?;
        return match out.flush() {
            Ok(()) => Ok(Status::Fine),
            Err(error) => Err(play.cannot(error)),
        };
    } else if args.output.extension().is_some_and(|e| e == "gz") {
        stream_file(&args.output, fail, |out| {
            let mut packed = GzEncoder::new(out, Compression::default());
            let played = play.write(&mut packed, chooser, output)?;
            packed.finish().map_err(|e| play.cannot(e))?;
            Ok(played)
        })?
    } else {
        stream_file(&args.output, fail, |out| play.write(out, chooser, output))?
    };
    output.talk(format_args!(
        "wrote {place}: {} episodes, {} steps, interventions by \"{name}\"",
        table::count(args.episodes),
        table::count(played.steps)
    ));
    if args.learner.is_none() && played.unknown > 0 {
        output.talk(format_args!(
            "of {} steps the propensity is not known: too much is forbidden there",
            table::count(played.unknown)
        ));
    }
    Ok(Status::Fine)
}

/// Simulated episodes and written one by one.
struct Play<'a> {
    args: &'a Args,
    simulator: &'a Simulator,
    name: &'a str,
    with: WrittenColumns,
}

/// What was written.
struct Played {
    steps: u64,
    /// Steps whose propensity is not known.
    unknown: u64,
}

impl Play<'_> {
    fn write(&self, out: &mut dyn Write, chooser: Chooser<'_>, output: &Output) -> Result<Played, Failure> {
        let Play { args, simulator, name, with } = *self;
        let mut writer = LogWriter::new(simulator.world(), out, with).map_err(|e| self.cannot(e))?;
        let (stop, progress) = (interrupt::flag(), Progress::new(output, args.episodes, "episodes"));
        let mut played = Played { steps: 0, unknown: 0 };
        let mut failed = None;
        simulate_log(simulator, chooser, args.episodes, args.seed, |episode| {
            let number = episode[0].episode + 1;
            played.steps += episode.len() as u64;
            played.unknown += episode.iter().filter(|s| s.propensity.is_none()).count() as u64;
            if let Err(error) = writer.episode(&number.to_string(), episode, &[name]) {
                failed = Some(self.cannot(error));
            } else if stop.load(Ordering::Relaxed) {
                failed = Some(Failure::Interrupted(format!(
                    "interrupted; {}",
                    if args.output.as_os_str() == "-" { "the log is not complete" } else { "nothing was written" }
                )));
            }
            if number % 64 == 0 {
                progress.set(number, String::new);
            }
            if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        progress.finish();
        match failed {
            Some(failure) => Err(failure),
            None => writer.finish().map(|_| played).map_err(|e| self.cannot(e)),
        }
    }

    fn cannot(&self, error: std::io::Error) -> Failure {
        match error.kind() {
            // The reader of standard output, such as `head`, has closed it.
            ErrorKind::BrokenPipe if self.args.output.as_os_str() == "-" => Failure::ClosedPipe,
            _ => Failure::Io(format!("cannot write {}: {error}", self.args.output.display())),
        }
    }
}
