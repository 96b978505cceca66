//! The arguments of `dowise learn`: which are refused, which files they name, and how the run is evaluated.

use std::path::Path;

use dowise::{LearnerSpec, World};
use dowise_study::{Evaluation, StudyError};

use super::promise::is_svg;
use super::{Args, Task, visited_states};
use crate::output::{Failure, Output};
use crate::overwrite::Files;
use crate::table;

/// The learner if the user names none and the world cannot be made.
const DEFAULT: &str = "graph-psrl";

/// Most episodes of a run: their regrets take 80 MB, and a quarter of what a saved run may take as text.
const MOST_EPISODES: u64 = 10_000_000;

/// How a run is evaluated, with the learner's text.
pub(super) enum Program {
    /// By the exact values of all states.
    Exact { learner: String },
    /// By Monte Carlo, from the visited states; the seed draws the world.
    MonteCarlo { world: Box<World>, learner: String, seed: u64 },
}

/// Refuses arguments that make no sense together, and files that cannot be written.
pub(super) fn check(args: &Args, output: &Output) -> Result<(), Failure> {
    let usage = |message: &str| Err(Failure::Usage(message.into()));
    if args.world.is_empty() {
        return usage("name a world to learn in: a file, or a ready-made one; `dowise new` lists them");
    }
    if args.episodes == Some(0) {
        return usage("--episodes 0: a run needs at least one episode");
    }
    args.episodes.map_or(Ok(()), within_limit)?;
    if args.reading.map.is_some() && args.from.is_none() {
        return usage("--map says how a log is read; give the log with --from");
    }
    let promises = args.until.is_some() || args.certify || args.draw.is_some() || args.baseline.is_some();
    if args.delta.is_some() && !promises {
        return usage(
            "--delta is the probability that a guarantee fails, and this run gives none: add --until, --certify or \
             --baseline; to set the learner's own δ, write `--learner graph-ucbvi:delta=0.01`",
        );
    }
    // A result that cannot be written would be lost at the end of the run.
    args.overwrite.check(&files(args), output)?;
    args.draw.as_deref().map_or(Ok(()), |file| is_svg(file).map(drop))
}

/// The files that a run reads and writes.
fn files(args: &Args) -> Files<'_> {
    let mut files = Files::default();
    files
        .read("the world", Some(Path::new(&args.world)))
        .read("--assumed", args.assumed.as_deref().map(Path::new))
        .read("--from", args.from.as_deref())
        .read("--map", args.reading.map.as_deref())
        .read("--evidence", args.evidence.as_deref())
        .read("--baseline", args.baseline.as_deref());
    // A resumed run may take the place of its file.
    files.go_on(("--resume", args.resume.as_deref()), ("--save", args.save.as_deref()));
    files.write("--policy", args.policy.as_deref()).write("--draw", args.draw.as_deref());
    files
}

/// Refuses more episodes than a run can keep the regrets of.
pub(super) fn within_limit(episodes: u64) -> Result<(), Failure> {
    if episodes <= MOST_EPISODES {
        return Ok(());
    }
    let most = table::count(MOST_EPISODES);
    Err(Failure::Usage(format!(
        "--episodes {episodes}: the regret of every episode is kept, of {most} at most; \
         `dowise compare` keeps checkpoints only"
    )))
}

/// Chooses how the run is evaluated, and the learner if the user names none.
pub(super) fn program(task: &Task<'_>) -> Result<Program, Failure> {
    let args = task.args;
    // Only a run that was evaluated by Monte Carlo has this seed.
    let resumed = args.resume.as_deref().and_then(visited_states::seed_of);
    let seed = resumed.unwrap_or(args.seed);
    let mut learner = args.learner.as_deref().unwrap_or(DEFAULT).to_owned();
    // A world that cannot be made is refused where the exact program makes it.
    let Ok(world) = task.choice.make(seed) else { return Ok(Program::Exact { learner }) };
    if args.learner.is_none() && args.resume.is_none() && args.evidence.is_none() {
        let (spec, why) = LearnerSpec::default_for(&world);
        why.iter().for_each(|why| task.output.talk(format_args!("{why}")));
        learner = spec.to_string();
    }
    let chosen = || evaluation(args, &world, &learner).map_err(|e| task.fail(e));
    if resumed.is_some() || chosen()? == Evaluation::MonteCarlo {
        return Ok(Program::MonteCarlo { world: world.into(), learner, seed });
    }
    Ok(Program::Exact { learner })
}

/// How policies are evaluated. Options that need exact values choose these; so does a resumed exact run.
fn evaluation(args: &Args, world: &World, learner: &str) -> Result<Evaluation, StudyError> {
    let needs_exact = args.resume.is_some() || visited_states::needs_list(args).is_some();
    match (args.evaluate, learner.parse::<LearnerSpec>()) {
        // A wrong name of a learner is refused where learners are made.
        (None, Ok(spec)) if !needs_exact => Ok(Evaluation::while_waiting(world, &spec)),
        (chosen, _) => Evaluation::of(chosen, world, &args.world),
    }
}
