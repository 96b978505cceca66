//! The record of a run as a file: which run it is, its results, and a checksum over both.

use std::path::Path;

use dowise::saved::{Envelope, Protection, Tag, checksum};
use serde::{Deserialize, Serialize};

use crate::files::{MOST_TEXT, read_text_file, write_one_of_many};
use crate::validation::fault;
use crate::{Checkpoints, RunRecord, Study, StudyError};

/// Records of schema 1 belonged to one study, and did not say what interventions at random are worth.
const FILE: Envelope = Envelope::new("dowise-run", 2, Tag::Schema, Protection::Checksum);

/// The file.
#[derive(Serialize, Deserialize)]
struct Kept {
    #[serde(flatten)]
    of: Of,
    /// Upper bound of the absolute sum of rewards of an episode; the results are checked against it.
    bound: f64,
    result: RunRecord,
}

/// Which run a record belongs to: all that decides its numbers, so that a study that grows finds what it has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Of {
    /// Version of dowise, of the random streams, and of what learners draw from them.
    made_by: String,
    /// Where regret is written down.
    checkpoints: Checkpoints,
    world: String,
    fingerprint: String,
    learner: String,
    episodes: u64,
    /// Whether it is evaluated by Monte Carlo although its states can be enumerated; absent elsewhere, and in records of before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    by_play_chosen: bool,
    repetition: u64,
    seed: u64,
}

impl Of {
    /// A run of a study.
    pub(crate) fn new(study: &Study, combination: usize, repetition: u64) -> Of {
        let s = &study.combinations[combination];
        Of {
            made_by: format!("dowise {}, {}", study.dowise, study.streams),
            checkpoints: study.checkpoints.clone(),
            world: s.world.without_directory().to_string(),
            fingerprint: s.fingerprint.clone(),
            learner: s.learner.to_string(),
            episodes: s.episodes,
            by_play_chosen: s.by_play_chosen,
            repetition,
            seed: study.seed + repetition,
        }
    }

    /// The name of its file: one number for all runs that differ in their repetition alone, and the repetition.
    pub(crate) fn file_name(&self) -> String {
        let of_all = Of { repetition: 0, seed: self.seed - self.repetition, ..self.clone() };
        let text = serde_json::to_string(&of_all).expect("invariant: names and numbers can be written");
        format!("{}-{:04}.json", &checksum(text.as_bytes())[..16], self.repetition)
    }

    /// The first field in which another differs, with both values.
    fn difference(&self, other: &Of) -> Option<(&'static str, String)> {
        let text = |checkpoints: &Checkpoints| serde_json::to_string(checkpoints).unwrap_or_default();
        let differ = |field, ours: &dyn ToString, theirs: &dyn ToString| {
            let (ours, theirs) = (ours.to_string(), theirs.to_string());
            (ours != theirs).then(|| (field, format!("it is {theirs}, and this run's is {ours}")))
        };
        // The most telling first: another learner belongs to another study or combination as well.
        differ("learner", &self.learner, &other.learner)
            .or_else(|| differ("world", &self.world, &other.world))
            .or_else(|| differ("fingerprint", &self.fingerprint, &other.fingerprint))
            .or_else(|| differ("episodes", &self.episodes, &other.episodes))
            .or_else(|| differ("by_play_chosen", &self.by_play_chosen, &other.by_play_chosen))
            .or_else(|| differ("repetition", &self.repetition, &other.repetition))
            .or_else(|| differ("seed", &self.seed, &other.seed))
            .or_else(|| differ("made_by", &self.made_by, &other.made_by))
            .or_else(|| differ("checkpoints", &text(&self.checkpoints), &text(&other.checkpoints)))
    }
}

/// A record that was read, with the bound that it was checked against.
pub(crate) struct Sound {
    pub(crate) record: RunRecord,
    pub(crate) bound: f64,
}

/// Writes the record of a run, unless its numbers are impossible.
pub(crate) fn write(
    file: &Path,
    of: &Of,
    checkpoints: &[u64],
    bound: f64,
    record: &RunRecord,
) -> Result<(), StudyError> {
    if let Some((field, why)) = fault(record, checkpoints, bound) {
        let (learner, world, repetition) = (of.learner.clone(), of.world.clone(), of.repetition);
        return Err(StudyError::Impossible { learner, world, repetition, field, why });
    }
    let kept = Kept { of: of.clone(), bound, result: record.clone() };
    write_one_of_many(file, format!("{}\n", FILE.write(&kept)).as_bytes())
}

/// Reads the record of a run; `None` if there is none. A damaged or impossible record is an error.
pub(crate) fn read(file: &Path, of: &Of, checkpoints: &[u64]) -> Result<Option<Sound>, StudyError> {
    let wrong = |field: &'static str, why: String| Err(StudyError::Record { path: file.to_owned(), field, why });
    let text = match read_text_file(file, MOST_TEXT) {
        Err(StudyError::Read { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let kept: Kept = match FILE.read(&text) {
        Ok(kept) => kept,
        Err(e) => return wrong(e.field(), e.to_string()),
    };
    match of.difference(&kept.of).or_else(|| fault(&kept.result, checkpoints, kept.bound)) {
        Some((field, why)) => wrong(field, why),
        None => Ok(Some(Sound { record: kept.result, bound: kept.bound })),
    }
}
