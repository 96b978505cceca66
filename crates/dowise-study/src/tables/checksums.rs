//! `tables.json`: checksums of the tables, so that what is drawn is what was run.

use std::collections::BTreeMap;
use std::io::Read;

use dowise::saved::{Envelope, Protection, Tag, checksum};
use serde::{Deserialize, Serialize};

use crate::files::open_regular;
use crate::{Directory, MOST_TEXT, StudyError, read_text_file};

const FILE: &str = "tables.json";
const ENVELOPE: Envelope = Envelope::new("dowise-tables", 1, Tag::Schema, Protection::Checksum);

/// Bytes of the largest table that is read: 4 GiB, several times what the largest study writes.
const MOST_TABLE: u64 = 4 << 30;

/// What to do about a table that is not as it was written.
const AGAIN: &str = "give the command that ran the study again: it makes the tables afresh from runs/";

/// The file.
#[derive(Serialize, Deserialize)]
pub(super) struct Checksums {
    /// [`crate::Study::identity`].
    study: String,
    /// Name → checksum.
    files: BTreeMap<String, String>,
    /// For each run an upper bound of the absolute sum of rewards of an episode in its world.
    pub(super) bounds: Vec<f64>,
}

impl Checksums {
    pub(super) fn new(directory: &Directory, bounds: &[f64]) -> Checksums {
        let study = directory.identity().to_owned();
        Checksums { study, files: BTreeMap::new(), bounds: bounds.to_vec() }
    }

    pub(super) fn add(&mut self, name: &str, bytes: &[u8]) {
        self.files.insert(name.to_owned(), checksum(bytes));
    }

    pub(super) fn write(&self, directory: &Directory) -> Result<(), StudyError> {
        directory.write(FILE, format!("{}\n", ENVELOPE.write(self)).as_bytes())
    }

    pub(super) fn read(directory: &Directory) -> Result<Checksums, StudyError> {
        let path = directory.file(FILE);
        let wrong = |message: String| StudyError::Table { path: path.clone(), message: format!("{message}; {AGAIN}") };
        let text = match read_text_file(&path, MOST_TEXT) {
            Err(StudyError::Read { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                return Err(wrong("it is missing, so the study is not finished".into()));
            }
            other => other?,
        };
        let checksums: Checksums = ENVELOPE.read(&text).map_err(|e| wrong(format!("{}: {e}", e.field())))?;
        if checksums.study != directory.identity() {
            return Err(wrong("study: the tables belong to another study than study.toml".into()));
        }
        Ok(checksums)
    }

    /// The bytes of a table, if they are those that were written.
    pub(super) fn table(&self, directory: &Directory, name: &str) -> Result<Vec<u8>, StudyError> {
        let path = directory.file(name);
        let failed = |source| StudyError::Read { path: path.clone(), source };
        let (file, length) = open_regular(&path, MOST_TABLE)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length as usize).map_err(|_| failed(std::io::ErrorKind::OutOfMemory.into()))?;
        file.take(MOST_TABLE).read_to_end(&mut bytes).map_err(failed)?;
        if self.files.get(name) != Some(&checksum(&bytes)) {
            let message = format!("it is not the table that was written with {FILE}; {AGAIN}");
            return Err(StudyError::Table { path, message });
        }
        Ok(bytes)
    }
}
