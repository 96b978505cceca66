//! What a run noticed of a wrong graph or a changed world, as sentences of its report.

use dowise::Learner;
use dowise::learn::LogContradicted;
use serde::{Deserialize, Serialize};

use crate::table;

/// Changes of the world that are given one by one.
const MOST_CHANGES: usize = 8;

/// What was taken in of a log before the first episode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::commands) struct FromLog {
    /// Its steps, by their weights.
    steps: u64,
    /// How often a guard changed the graph meanwhile.
    amendments: usize,
}

impl FromLog {
    pub(in crate::commands) fn new(learner: &Learner, steps: u64) -> FromLog {
        FromLog { steps, amendments: learner.amendments().len() }
    }

    pub(in crate::commands) fn is_none(&self) -> bool {
        *self == FromLog::default()
    }

    /// Episodes that its steps count as where steps are counted.
    fn episodes(self, learner: &Learner) -> u64 {
        self.steps.div_ceil(learner.knowledge().horizon() as u64)
    }
}

/// How a guard changed the graph, what a test of it found and does not test, what contradicts a linear fit, and changes of the world.
pub(in crate::commands) fn lines(learner: &Learner, log: FromLog) -> Vec<String> {
    let mut lines = Vec::new();
    for (i, amendment) in learner.amendments().iter().enumerate() {
        let (episode, found, became) = (amendment.episode, &amendment.found, &amendment.became);
        let at = if i < log.amendments { "by the log".to_owned() } else { format!("in episode {episode}") };
        lines.push(format!("The graph was changed {at}: {found}; {became}."));
    }
    lines.extend(
        learner.as_linear().map(|linear| linear.doubts()).unwrap_or_default().iter().map(|d| format!("Warning: {d}.")),
    );
    let watch = learner.graph_watch();
    if let Some(found) = watch.as_ref().and_then(|watch| watch.found.as_ref()) {
        let steps = table::count(found.steps);
        let at = match () {
            () if log.is_none() => format!("after {steps} steps"),
            () if found.steps <= log.steps => format!("after {steps} steps of the log"),
            () => format!("after {steps} steps, those of the log included"),
        };
        lines.push(format!(
            "Warning: the data contradict the graph ({at}): {}. Change the world file, or learn with guard=true (graph repair).",
            found.what
        ));
    }
    if let Some(watch) = watch.filter(|watch| !watch.untested.is_empty()) {
        lines.push(format!("The graph test leaves out {}.", watch.untested.join("; ")));
    }
    lines.extend(learner.log_contradicted().map(log_contradicted));
    let (changes, before) = (learner.changes(), log.episodes(learner));
    let knowledge = &changes[changes.len().saturating_sub(MOST_CHANGES)..];
    let more = learner.n_changes() - knowledge.len() as u64;
    if more > 0 {
        lines.push(format!("{} earlier changes of the world were noticed.", table::count(more)));
    }
    for change in knowledge {
        let at = match change.episode.checked_sub(before) {
            _ if log.is_none() => String::new(),
            None | Some(0) => " in the log".to_owned(),
            Some(episode) => format!(" in episode {episode} of the run, which is {} with the log's", change.episode),
        };
        lines.push(format!("A change was noticed{at}: {}.", change.what));
    }
    lines
}

/// The contradiction between the log of a warm start and live steps.
fn log_contradicted(found: &LogContradicted) -> String {
    let LogContradicted { what, episode, logged, live, dropped } = found;
    let (logged, live) = (table::count(*logged), table::count(*live));
    let consequence = match dropped {
        true => format!("the learner dropped the {logged} logged steps and continued with its own"),
        false => format!("the learner keeps the {logged} logged steps; learn without them"),
    };
    format!(
        "Warning: in episode {episode}, after {live} live steps, the live steps contradict the log ({what}): {consequence}. \
         Something unrecorded acted on the levers of the log, or the world has changed since."
    )
}
