//! Puts the runs of several directories of one study together.

use crate::identity::difference;
use crate::{Directory, RunRecord, Study, StudyError};

/// What came together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// Runs that are there now.
    pub done: usize,
    /// Runs of the study.
    pub total: usize,
    /// The first runs that are in none of the directories: learner, world and repetition.
    pub missing: Vec<String>,
}

/// Runs named as missing.
const NAMED: usize = 5;

/// Copies every run of these directories into `into`, which belongs to their study.
///
/// A run that several of them have must be the same in all, but for the time that it took.
pub fn merge(study: &Study, into: &Directory, from: &[Directory]) -> Result<Merged, StudyError> {
    for directory in from {
        let theirs = Directory::open(directory.path())?.1;
        if theirs.identity() != study.identity() {
            let why =
                format!("holds the results of another study, {}; merge parts of one study", difference(&theirs, study));
            return Err(StudyError::OtherStudy { directory: directory.path().to_owned(), why });
        }
    }
    let mut merged = Merged { done: 0, total: study.n_runs(), missing: Vec::new() };
    for (i, combination) in study.combinations.iter().enumerate() {
        for repetition in 0..study.repetitions {
            let mut found = into.record(study, i, repetition)?;
            for directory in from {
                let Some(other) = directory.record(study, i, repetition)? else { continue };
                match &found {
                    Some(first) if timeless(&first.record) != timeless(&other.record) => {
                        return Err(StudyError::Record {
                            path: directory.run_file(study, i, repetition),
                            field: "result",
                            why: "another directory has this run with other numbers".into(),
                        });
                    }
                    Some(_) => {}
                    None => {
                        into.keep(study, i, repetition, other.bound, &other.record)?;
                        found = Some(other);
                    }
                }
            }
            if found.is_some() {
                merged.done += 1;
            } else if merged.missing.len() < NAMED {
                let run = format!("{} in {}, repetition {repetition}", combination.learner, combination.world);
                merged.missing.push(run);
            }
        }
    }
    Ok(merged)
}

/// A record without the one field that differs between machines.
fn timeless(record: &RunRecord) -> RunRecord {
    RunRecord { seconds: 0.0, ..record.clone() }
}
