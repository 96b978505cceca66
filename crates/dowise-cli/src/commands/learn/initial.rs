//! A learner before its first episode: new, or with fitted evidence, beside a baseline.

use std::path::Path;

use dowise::offline::fit::{FitError, NotFitted, fingerprint_in, not_fitted_in, read_summary};
use dowise::{Arena, Learner, LearnerSpec, World};
use dowise_study::{MOST_TEXT, WorldChoice, read_text_file};

use super::program::EPISODES;
use super::saved::SavedRun;
use super::{DELTA, Task};
use crate::commands::plan;
use crate::output::Failure;
use crate::{policy_file, table};

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
    state.rest_on(seen.assumptions().for_warm_start());
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
