//! Reads a log for a command: whole episodes, counted for evaluation.

use std::ops::ControlFlow;
use std::path::Path;

use dowise::World;
use dowise::data::{CsvTable, LogError, LogMap, LogReader};
use dowise::learn::Knowledge;
use dowise::offline::Episodes;

use crate::output::{Failure, Output};
use crate::table::count;

/// Parts of a log between which a model is made without the episodes that it is compared with.
const FOLDS: usize = 5;

/// All episodes of a log; what was left out is said.
pub(crate) fn episodes(
    log: &Path,
    map: Option<&Path>,
    world: &World,
    told: &Knowledge,
    output: &Output,
) -> Result<Episodes, Failure> {
    let name = log.display();
    let wrong = |e: LogError| match e {
        e @ LogError::Io { .. } => Failure::Io(e.to_string()),
        e => Failure::Usage(format!("{name}: {e}")),
    };
    let map = map.map(LogMap::from_file).transpose().map_err(wrong)?;
    let table = CsvTable::open(log).map_err(wrong)?;
    let mut episodes = Episodes::new(told, FOLDS).map_err(|e| Failure::Usage(e.to_string()))?;
    let mut failed = None;
    let reader = LogReader::new(table, world, map.as_ref()).map_err(wrong)?;
    let report = reader.episodes(|steps| match episodes.add(steps) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            failed = Some(format!("{name}: {error}"));
            ControlFlow::Break(())
        }
    });
    let report = match failed {
        Some(message) => return Err(Failure::Usage(message)),
        None => report.map_err(wrong)?,
    };
    if report.left_out > 0 {
        let (left_out, rows) = (count(report.left_out), count(report.rows));
        output.talk(format_args!(
            "{left_out} of {rows} rows of the log were left out; `dowise data` says which and why"
        ));
    }
    let left_out = episodes.left_out();
    for (n, what) in [
        (left_out.late, "episodes do not begin at stage 1: their steps count, their value does not"),
        (left_out.incomplete, "episodes have no return: not every payment up to their end is known"),
        (left_out.without_action, "steps do not say what was done and are not counted"),
        (left_out.without_cause, "steps lack a variable that acts on the next state or the reward"),
    ] {
        if n > 0 {
            output.talk(format_args!("{} {what}", count(n)));
        }
    }
    if episodes.is_empty() {
        return Err(Failure::Usage(format!("{name}: no episode could be read; `dowise data` says why")));
    }
    Ok(episodes)
}
