//! Reads whole episodes of a log for evaluation, and says what some answers cannot use.

use std::path::Path;

use dowise::offline::Episodes;
use dowise::offline::fit::Fitting;

use crate::log;
use crate::output::{Failure, Output};
use crate::table::count;

/// Parts of a log between which a model is made without the episodes that it is compared with.
const FOLDS: usize = 5;

/// How a log is read.
pub(super) struct Reading<'a> {
    pub(super) map: Option<&'a Path>,
    pub(super) skip_bad: bool,
    pub(super) em: bool,
}

/// All episodes of a log; rows with mistakes are refused, or left out if they are to be.
pub(super) fn episodes(
    file: &Path,
    reading: Reading<'_>,
    fitting: &Fitting,
    output: &Output,
) -> Result<Episodes, Failure> {
    let name = file.display();
    let Reading { map, skip_bad, em } = reading;
    let mut episodes = Episodes::of_fit(fitting, FOLDS).map_err(|e| Failure::Usage(e.to_string()))?;
    if em {
        episodes = episodes.with_em();
    }
    let add = |steps: &[dowise::data::LogStep<'_>]| {
        episodes.add(steps).map_err(|error| Failure::Usage(format!("{name}: {error}")))
    };
    let report = log::episodes(file, map, fitting.world(), output, add)?;
    log::refuse_errors(&report, file, skip_bad, output)?;
    episodes.exclude(report.excluded(), report.rows);
    episodes.cut(&report.binned);
    if episodes.is_empty() {
        return Err(Failure::Usage(format!("{name}: no episode could be read; `dowise data` says why")));
    }
    let left_out = episodes.left_out();
    // How many, in words for one and for several.
    for (n, one, several) in [
        (
            left_out.late,
            "episode does not begin at stage 1: its steps count, its value does not",
            "episodes do not begin at stage 1: their steps count, their value does not",
        ),
        (
            left_out.incomplete,
            "episode has no return: not every payment up to its end is known",
            "episodes have no return: not every payment up to their end is known",
        ),
        (
            left_out.without_action,
            "step does not say what was done and is not counted",
            "steps do not say what was done and are not counted",
        ),
        (
            left_out.without_cause,
            "step lacks a variable that acts on the next state or the reward, and counts only where it is not needed",
            "steps lack a variable that acts on the next state or the reward, and count only where it is not needed",
        ),
    ] {
        if n > 0 {
            output.talk(format_args!("{} {}", count(n), if n == 1 { one } else { several }));
        }
    }
    Ok(episodes)
}
