//! A results directory: whose it is, which runs are done, and where things lie.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::files::{MOST_TEXT, create_file, is_temporary, make_directory, read_text_file, sweep, write_file};
use crate::identity::{difference, grows};
use crate::record::{self, Of, Sound};
use crate::resolve::NOT_A_RECORD;
use crate::{RunRecord, Study, StudyError};

/// A directory that belongs to one study.
#[derive(Clone, Debug)]
pub struct Directory {
    path: PathBuf,
    /// [`Study::identity`] of its study.
    identity: String,
}

const STUDY_FILE: &str = "study.toml";
const RUNS: &str = "runs";

impl Directory {
    /// Takes a directory for a study: a new or empty one, or one in which the same study was begun, or a smaller one: with fewer
    /// repetitions, learners, worlds or numbers of episodes. Runs that are there are not run again.
    ///
    /// Of several processes that take a new directory for different studies at once, one gets it; the others are refused.
    pub fn claim(path: &Path, study: &Study) -> Result<Directory, StudyError> {
        let study_file = path.join(STUDY_FILE);
        let text = study.to_toml();
        let identity = study.identity();
        make_directory(path)?;
        let taken = match found(&study_file)? {
            Some(taken) if !taken.is_empty() => taken,
            nothing => {
                refuse_other_things(path)?;
                match nothing {
                    // A loss of power may have left the name without what it names.
                    Some(_) => write_file(&study_file, text.as_bytes())?,
                    // `false`: another process was faster, and what stands there is its study, whole.
                    None => drop(create_file(&study_file, text.as_bytes())?),
                }
                found(&study_file)?.unwrap_or_default()
            }
        };
        refuse_other_study(path, &taken, study, &identity)?;
        if taken != text {
            // The same study under another title, with its files elsewhere, or grown.
            write_file(&study_file, text.as_bytes())?;
        }
        let runs = path.join(RUNS);
        make_directory(&runs)?;
        sweep(path, ".");
        sweep(&runs, ".");
        Ok(Directory { path: path.to_owned(), identity })
    }

    /// Opens a directory in which a study was run, and reads what the study was.
    pub fn open(path: &Path) -> Result<(Directory, Study), StudyError> {
        let study_file = path.join(STUDY_FILE);
        let text = read_text_file(&study_file, MOST_TEXT)?;
        let study = Study::from_toml(&text).map_err(|message| StudyError::Table { path: study_file, message })?;
        Ok((Directory { path: path.to_owned(), identity: study.identity() }, study))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The identity of its study.
    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    /// Writes a file whole or not at all, making its directory if need be.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<(), StudyError> {
        let file = self.file(name);
        make_directory(file.parent().unwrap_or(&self.path))?;
        write_file(&file, bytes)
    }

    /// Waits until no other process writes the tables here; as long as the result lives, none does. An error if another process
    /// has made the study larger meanwhile: the tables are for that one to write.
    pub(crate) fn hold(&self) -> Result<Option<File>, StudyError> {
        // Where there are no locks, tables of two processes may be mixed, and their checksums show it.
        let held = File::open(self.file(STUDY_FILE)).ok().filter(|file| file.lock().is_ok());
        let now = Directory::open(&self.path)?.0;
        if now.identity != self.identity {
            let why = "holds a study that another process has made larger; all runs are kept, and the command that did so \
                       writes the tables";
            return Err(StudyError::OtherStudy { directory: self.path.clone(), why: why.into() });
        }
        Ok(held)
    }

    /// The record of a run, if it is done; a damaged or impossible record is an error.
    pub(crate) fn record(
        &self,
        study: &Study,
        combination: usize,
        repetition: u64,
    ) -> Result<Option<Sound>, StudyError> {
        let checkpoints = study.checkpoints.of(study.combinations[combination].episodes);
        let of = Of::new(study, combination, repetition);
        record::read(&self.path.join(RUNS).join(of.file_name()), &of, &checkpoints)
    }

    /// Writes the record of a run in a world where the absolute sum of rewards of an episode is at most `bound`.
    pub(crate) fn keep(
        &self,
        study: &Study,
        combination: usize,
        repetition: u64,
        bound: f64,
        record: &RunRecord,
    ) -> Result<(), StudyError> {
        let checkpoints = study.checkpoints.of(study.combinations[combination].episodes);
        let of = Of::new(study, combination, repetition);
        record::write(&self.path.join(RUNS).join(of.file_name()), &of, &checkpoints, bound, record)
    }

    /// Where the record of a run is, or will be.
    pub fn run_file(&self, study: &Study, combination: usize, repetition: u64) -> PathBuf {
        self.path.join(RUNS).join(Of::new(study, combination, repetition).file_name())
    }
}

/// The text of `study.toml`; `None` if there is none.
fn found(study_file: &Path) -> Result<Option<String>, StudyError> {
    match read_text_file(study_file, MOST_TEXT) {
        Ok(text) => Ok(Some(text)),
        Err(StudyError::Read { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

/// Refuses a directory without a study unless all that is in it was left by a process that was killed while it claimed it.
fn refuse_other_things(path: &Path) -> Result<(), StudyError> {
    let failed = |source| StudyError::Read { path: path.to_owned(), source };
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let left = name.to_str().is_some_and(is_temporary)
            || name == RUNS && entry.file_type().is_ok_and(|t| t.is_dir()) && holds_only_temporary(&entry.path())?
            // Another process may have claimed it since.
            || name == STUDY_FILE;
        if !left {
            let why = format!(
                "is not empty and holds no study (there is {}); choose another directory with --out",
                name.to_string_lossy().escape_debug()
            );
            return Err(StudyError::OtherStudy { directory: path.to_owned(), why });
        }
    }
    Ok(())
}

fn holds_only_temporary(path: &Path) -> Result<bool, StudyError> {
    let failed = |source| StudyError::Read { path: path.to_owned(), source };
    let mut entries = std::fs::read_dir(path).map_err(failed)?;
    Ok(entries.all(|e| e.is_ok_and(|e| e.file_name().to_str().is_some_and(is_temporary))))
}

fn refuse_other_study(path: &Path, found: &str, wanted: &Study, identity: &str) -> Result<(), StudyError> {
    let choose = "choose another directory with --out, or delete this one";
    let why = match Study::from_toml(found) {
        Ok(study) if study.identity() == identity || grows(&study, wanted) => return Ok(()),
        Ok(study) => format!("holds the results of another study, {}; {choose}", difference(&study, wanted)),
        Err(message) if message.starts_with(NOT_A_RECORD) => {
            format!("holds a study.toml that is not the record of a study, or a damaged one; {choose}")
        }
        Err(message) => format!("holds a study.toml that cannot be gone on with: {message}; {choose}"),
    };
    Err(StudyError::OtherStudy { directory: path.to_owned(), why })
}
