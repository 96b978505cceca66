//! Writes files so that they are there whole or not at all.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use crate::StudyError;

/// Writes a file beside its place and moves it there, so that nobody ever sees half of it.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), StudyError> {
    // The process and the file name make it unique: two processes may write the same study at once.
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let beside = path.with_file_name(format!(".{name}.{}.part", std::process::id()));
    let written = write_whole(&beside, bytes).and_then(|()| std::fs::rename(&beside, path));
    written.map_err(|source| {
        let _ = std::fs::remove_file(&beside);
        StudyError::Write { path: path.to_owned(), source }
    })
}

/// Writes a file whole or not at all, making its directory if need be.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), StudyError> {
    if let Some(parent) = path.parent().filter(|p| !p.as_os_str().is_empty()) {
        std::fs::create_dir_all(parent).map_err(|source| StudyError::Write { path: parent.to_owned(), source })?;
    }
    write(path, bytes)
}

fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    // A full disk may show only here.
    file.flush()
}
