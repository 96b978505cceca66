//! A learner before its first episode: new, or with the steps of a log or of fitted evidence, beside a baseline.

use std::path::Path;

use dowise::offline::fit::{
    Confounded, FitError, FitOptions, Fitting, NotFitted, fingerprint_in, not_fitted_in, read_summary,
};
use dowise::offline::{MissingnessCounts, MissingnessTest};
use dowise::{Arena, Knowledge, Learner, LearnerSpec, World};
use dowise_study::{MOST_TEXT, WorldChoice, read_text_file};

use super::episodes::EPISODES;
use super::noticed::FromLog;
use super::saved::SavedRun;
use super::{Args, DELTA, Task};
use crate::commands::plan;
use crate::output::{Failure, Output};
use crate::{log, missingness, policy_file, table};

/// Bytes of the largest evidence that is read: 1 GiB.
const MOST_EVIDENCE: u64 = 1 << 30;

/// Probability at most that the graph test contradicts a true graph.
const GRAPH_DELTA: f64 = 0.05;

/// The share of a baseline that may be lost if the user names none.
const ALPHA: f64 = 0.1;

/// A new learner of the simulated world, of an assumed one, or with evidence.
pub(super) fn new(task: &Task<'_>, arena: &Arena, state: &mut SavedRun) -> Result<Learner, Failure> {
    let (spec, seed) = (state.learner.clone(), state.seed);
    let episodes = task.args.episodes.unwrap_or(EPISODES);
    match (&task.args.evidence, &task.args.assumed) {
        (Some(file), _) => with_evidence(task, arena, file, episodes, state),
        (None, Some(other)) => of_assumed(task, arena, other, episodes, state),
        (None, None) => spec.learner(arena.world(), episodes, seed).map_err(|e| task.cannot_learn(&spec, e)),
    }
}

/// A learner that assumes another world than the simulated one.
fn of_assumed(
    task: &Task<'_>,
    arena: &Arena,
    other: &str,
    episodes: u64,
    state: &SavedRun,
) -> Result<Learner, Failure> {
    let (spec, seed) = (&state.learner, state.seed);
    let assumed = WorldChoice::read(other).arena(seed).map_err(|e| task.fail(e))?;
    let learner = spec.learner(assumed.world(), episodes, seed).map_err(|e| task.cannot_learn(spec, e))?;
    if !learner.knowledge().can_play(arena.world()) {
        return Err(Failure::Usage(format!(
            "--assumed {other}: variables, interventions, reward terms, the horizon, the discount and where episodes \
             end must be those of {}; only arrows and numbers may differ",
            task.choice
        )));
    }
    if task.args.baseline.is_some() {
        within_assumed_ranges(other, &learner, arena.world())?;
    }
    Ok(learner)
}

/// Refuses an assumed world whose reward ranges do not contain the simulated rewards.
///
/// The guarantee for a baseline counts from the least reward of an episode. Without a baseline, a reward outside of
/// its range is noticed during the run.
fn within_assumed_ranges(other: &str, learner: &Learner, world: &World) -> Result<(), Failure> {
    for (assumed, true_term) in learner.knowledge().rewards().iter().zip(world.rewards()) {
        let ([lo, hi], [least, most]) = (assumed.range, true_term.range);
        let slack = 1e-9 * (hi - lo).max(lo.abs()).max(hi.abs());
        if least < lo - slack || most > hi + slack {
            return Err(Failure::Usage(format!(
                "--assumed {other}: the reward {} has the range {lo} to {hi} there, and the simulated world has \
                 rewards from {least} to {most}; the guarantee for a baseline rests on that range; widen it",
                assumed.name
            )));
        }
    }
    Ok(())
}

/// A learner that begins with the evidence that `dowise fit` wrote.
fn with_evidence(
    task: &Task<'_>,
    arena: &Arena,
    file: &Path,
    episodes: u64,
    state: &mut SavedRun,
) -> Result<Learner, Failure> {
    let text = read_text_file(file, MOST_EVIDENCE).map_err(|e| Failure::Io(e.to_string()))?;
    let wrong = |e: FitError| Failure::Usage(format!("{}: {e}", file.display()));
    same_fit(&not_fitted_in(&text).map_err(wrong)?, &task.args.world, file)?;
    let seen = read_summary(arena.world(), &text).map_err(wrong)?;
    state.unfair.extend(unfair(seen.missingness()));
    let evidence = seen.evidence().clone();
    let steps = table::count(evidence.steps());
    let options = state.learner.options(episodes, state.seed);
    let learner = Learner::with_evidence(evidence, options).map_err(|e| task.cannot_learn(&state.learner, e))?;
    task.output.talk(format_args!("began with {steps} steps of {}", file.display()));
    Ok(learner)
}

/// Refuses evidence of another fit, if the world is a file that names its own.
fn same_fit(of: &NotFitted, world: &str, file: &Path) -> Result<(), Failure> {
    match read_text_file(Path::new(world), MOST_TEXT) {
        Ok(text) => plan::check_fingerprint(of, fingerprint_in(&text), file),
        Err(_) => Ok(()),
    }
}

/// Begins to test the graph where the world that the learner assumes may be wrong: a log, or an assumed world.
pub(super) fn watch_graph(task: &Task<'_>, spec: &LearnerSpec, learner: &mut Learner) -> Result<(), Failure> {
    // A learner that expects the world to change cannot distinguish a change from a wrong arrow.
    if !spec.options(1, 0).forget.is_never() {
        return Ok(());
    }
    let watched = match (&task.args.assumed, &task.args.from) {
        (Some(_), _) => learner.watch_graph(GRAPH_DELTA),
        (None, Some(_)) => learner.watch_log(GRAPH_DELTA),
        (None, None) => Ok(()),
    };
    watched.map_err(|e| task.cannot_learn(spec, e))
}

/// Takes in the log, if there is one, and keeps what makes it doubtful.
pub(super) fn take_log(
    task: &Task<'_>,
    world: &World,
    learner: &mut Learner,
    state: &mut SavedRun,
) -> Result<(), Failure> {
    let Some(log) = &task.args.from else { return Ok(()) };
    state.unfair.extend(confounded(learner, world, &task.args.randomised)?);
    let (steps, missingness) = warm_start(learner, log, task.args, world, task.output)?;
    state.unfair.extend(unfair(&missingness));
    task.output.talk(format_args!("began with {} steps of {}", table::count(steps), log.display()));
    state.log = FromLog::new(learner, steps);
    Ok(())
}

/// Learns the steps of a log: their weight in all, and the missingness tests.
fn warm_start(
    learner: &mut Learner,
    log: &Path,
    args: &Args,
    world: &World,
    output: &Output,
) -> Result<(u64, Vec<MissingnessTest>), Failure> {
    let mut recorded = MissingnessCounts::new(&Knowledge::of(world));
    let report = log::steps(log, args.reading.map.as_deref(), world, output, |step| {
        let cannot = |e| Failure::Usage(format!("{}: line {}: {e}", log.display(), step.line));
        recorded.add(&step.observation, step.weight);
        learner.learn_times(&step.observation, step.weight).map_err(cannot)
    })?;
    log::refuse_errors(&report, log, args.skip_bad, output)?;
    Ok((report.weight, recorded.tests()))
}

/// Sentences on levers whose effects the log does not identify, though the learner would learn them from it.
fn confounded(learner: &Learner, world: &World, randomised: &[String]) -> Result<Vec<String>, Failure> {
    let fitting = match Fitting::new(world, FitOptions { randomised: randomised.to_vec(), ..FitOptions::default() }) {
        Ok(fitting) => fitting,
        Err(error) if !randomised.is_empty() => return Err(Failure::Usage(error.to_string())),
        Err(_) => return Ok(Vec::new()),
    };
    if learner.knowledge().knows_mechanisms() {
        return Ok(Vec::new());
    }
    let sentence = |Confounded { lever, hidden, effects, .. }: &Confounded| {
        let (hidden, effects) = (hidden.join(", "), effects.join(", "));
        format!(
            "UNMEASURED CONFOUNDING: the hidden variable {hidden} affects the lever {lever} and {effects}, so the log \
             does not show the effect of setting {lever}. If it was randomised, pass --randomised {lever}."
        )
    };
    Ok(fitting.confounded().iter().filter(|c| c.always_set).map(sentence).collect())
}

/// Sentences on values that are missing not at random.
fn unfair(missingness: &[MissingnessTest]) -> impl Iterator<Item = String> {
    // A learner does not impute missing values, hence `false`.
    missingness.iter().filter(|test| test.is_missing_not_at_random(false)).map(missingness::unfair)
}

/// Makes the learner keep to the baseline, if there is one, and gives the baseline's true value.
pub(super) fn keep_baseline(task: &Task<'_>, arena: &Arena, learner: &mut Learner) -> Result<Option<f64>, Failure> {
    let Some(file) = &task.args.baseline else { return Ok(None) };
    let baseline = policy_file::read(file, arena.world())?;
    let values = arena.planner().evaluate(&baseline).expect("invariant: a policy that was read is allowed");
    let first_stage = &values[..arena.world().n_states()];
    let known = task.args.baseline_known.then_some(first_stage);
    let limits = [task.args.alpha.unwrap_or(ALPHA), task.args.delta.unwrap_or(DELTA)];
    let kept = learner.keep_baseline_at(&baseline, limits, known);
    kept.map_err(|e| Failure::Usage(format!("--baseline {}: {e}", file.display())))?;
    Ok(Some(arena.planner().from_start(first_stage)))
}
