//! The arguments of `dowise learn`: which are refused, which files they name, and how the run is evaluated.

use std::path::Path;

use dowise::{LearnerSpec, World};
use dowise_study::{Evaluation, StudyError};

use super::promise::is_svg;
use super::saved::{Saved, SavedExact, SavedMonteCarlo};
use super::{Args, Task, monte_carlo};
use crate::output::{Failure, Output};
use crate::overwrite::Files;
use crate::table;

/// The learner if the user names none and the world cannot be made.
const DEFAULT: &str = "graph-psrl";

/// Most episodes of a run: their regrets take 80 MB, and a quarter of what a saved run may take as text.
const MOST_EPISODES: u64 = 10_000_000;

/// How a run is evaluated, with the learner's text, and the run to go on with, if any.
pub(super) enum Program {
    /// By the exact values of all states.
    Exact { learner: String, resumed: Option<SavedExact> },
    /// By Monte Carlo, from the visited states; the seed draws the world.
    MonteCarlo { world: Box<World>, learner: String, seed: u64, resumed: Option<SavedMonteCarlo> },
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

/// Chooses how the run is evaluated, and the learner if the user names none. A resumed run is evaluated as before.
pub(super) fn program(task: &Task<'_>) -> Result<Program, Failure> {
    let args = task.args;
    let mut learner = args.learner.as_deref().unwrap_or(DEFAULT).to_owned();
    match args.resume.as_deref().map(Saved::read).transpose()? {
        Some(Saved::Exact(resumed)) => {
            let world = task.choice.make(resumed.run.seed).map_err(|e| task.fail(e))?;
            // A world without exact values is refused by its name, not by the plan that it cannot have.
            Evaluation::of(Some(Evaluation::Exact), &world, &args.world).map_err(|e| task.fail(e))?;
            return Ok(Program::Exact { learner, resumed: Some(resumed) });
        }
        Some(Saved::MonteCarlo(resumed)) => {
            let seed = resumed.seed;
            let world = task.choice.make(seed).map_err(|e| task.fail(e))?.into();
            return Ok(Program::MonteCarlo { world, learner, seed, resumed: Some(resumed) });
        }
        None => {}
    }
    // A world that cannot be made is refused where the exact program makes it.
    let Ok(world) = task.choice.make(args.seed) else { return Ok(Program::Exact { learner, resumed: None }) };
    if args.learner.is_none() && args.evidence.is_none() {
        let (spec, why) = LearnerSpec::default_for(&world);
        why.iter().for_each(|why| task.output.talk(format_args!("{why}")));
        learner = spec.to_string();
    }
    Ok(match evaluation(args, &world, &learner).map_err(|e| task.fail(e))? {
        Evaluation::Exact => Program::Exact { learner, resumed: None },
        Evaluation::MonteCarlo => Program::MonteCarlo { world: world.into(), learner, seed: args.seed, resumed: None },
    })
}

/// How policies are evaluated. Options that need exact values choose these.
fn evaluation(args: &Args, world: &World, learner: &str) -> Result<Evaluation, StudyError> {
    match (args.evaluate, learner.parse::<LearnerSpec>()) {
        // A wrong name of a learner is refused where learners are made.
        (None, Ok(spec)) if monte_carlo::needs_list(args).is_none() => Ok(Evaluation::while_waiting(world, &spec)),
        (chosen, _) => Evaluation::of(chosen, world, &args.world),
    }
}
