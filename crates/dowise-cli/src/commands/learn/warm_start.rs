//! A warm start: the steps of a log, and the assumptions under which they show what live steps would show.

use std::path::Path;

use dowise::offline::AssumptionRecord;
use dowise::offline::fit::WarmStartCheck;
use dowise::{Knowledge, Learner, World};

use super::noticed::FromLog;
use super::saved::SavedRun;
use super::{Args, Task};
use crate::output::{Failure, Output};
use crate::{log, table};

/// Adds the log to the learner, if there is one, and keeps the record of its assumptions.
pub(super) fn take_log(
    task: &Task<'_>,
    world: &World,
    learner: &mut Learner,
    state: &mut SavedRun,
) -> Result<(), Failure> {
    let Some(log) = &task.args.from else { return Ok(()) };
    let check = check(learner.knowledge(), world, &task.args.randomised)?;
    let steps = learn(learner, log, task.args, world, task.output)?;
    match check.and_then(|check| assumptions(check, log, task.args)) {
        Ok(record) => state.rest_on(record),
        Err(why) => state.unchecked(&why),
    }
    task.output.talk(format_args!("began with {} steps of {}", table::count(steps), log.display()));
    state.log = FromLog::new(learner, steps);
    Ok(())
}

/// Learns the steps of a log; returns their weight.
fn learn(learner: &mut Learner, log: &Path, args: &Args, world: &World, output: &Output) -> Result<u64, Failure> {
    let report = log::steps(log, args.reading.map.as_deref(), world, output, |step| {
        let cannot = |e| Failure::Usage(format!("{}: line {}: {e}", log.display(), step.line));
        learner.learn_times(&step.observation, step.weight).map_err(cannot)
    })?;
    log::refuse_errors(&report, log, args.skip_bad, output)?;
    Ok(report.weight)
}

/// A check of the log's assumptions; the reason if there can be none.
fn check(
    knowledge: &Knowledge,
    world: &World,
    randomised: &[String],
) -> Result<Result<WarmStartCheck, String>, Failure> {
    match WarmStartCheck::new(knowledge, world, randomised.to_vec()) {
        Ok(check) => Ok(Ok(check)),
        Err(error) if !randomised.is_empty() => Err(Failure::Usage(error.to_string())),
        Err(error) => Ok(Err(error.to_string())),
    }
}

/// The record of the log's assumptions. The log is read once more, by episodes and in silence.
fn assumptions(mut check: WarmStartCheck, log: &Path, args: &Args) -> Result<AssumptionRecord, String> {
    let counted = check.world().clone();
    let mut why = None;
    let read = log::episodes(log, args.reading.map.as_deref(), &counted, &Output::silent(), |steps| {
        check.add_episode(steps).map_err(|wrong| {
            why = Some(format!("line {}: {}", wrong.0, wrong.1));
            Failure::Shown
        })
    });
    match (read, why) {
        (_, Some(why)) => Err(why),
        (Err(_), None) => Err("the log cannot be read by episodes".to_owned()),
        (Ok(read), None) => {
            check.exclude(read.excluded(), read.rows);
            check.cut(&read.binned);
            check.finish().map_err(|e| e.to_string())
        }
    }
}
