//! Writes files whole or not at all: beside their place, onto the disk, and then into their place.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile};

use super::stale::{self, BEGINS, ENDS};
use super::target::{Target, target};
use crate::StudyError;
use dowise::saved::checksum;

/// Writes a file whole or not at all; its directory must be there.
///
/// The old file is there until the new one is on the disk. Symbolic links are followed; devices, pipes, directories and
/// read-only files are refused. The permissions of an existing file are kept.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), StudyError> {
    let target = target(path)?;
    let directory = directory_of(&target.path);
    refuse_no_directory(path, &directory)?;
    put(path, &target, bytes)?;
    stale::sweep(&directory, &prefix(&target.path));
    Ok(())
}

/// The same with bytes that are made while they are written, so that a file need not fit into memory; if `write` fails, nothing is
/// left behind.
pub fn stream_file<T, E>(
    path: &Path,
    failed: impl Fn(StudyError) -> E,
    write: impl FnOnce(&mut dyn Write) -> Result<T, E>,
) -> Result<T, E> {
    let target = target(path).map_err(&failed)?;
    let directory = directory_of(&target.path);
    refuse_no_directory(path, &directory).map_err(&failed)?;
    let cannot = |source| failed(StudyError::Write { path: path.to_owned(), source });
    let mut file = temporary(&target.path, &directory).map_err(cannot)?;
    let mut out = io::BufWriter::with_capacity(1 << 16, file.as_file_mut());
    let made = write(&mut out)?;
    out.flush().map_err(cannot)?;
    drop(out);
    file.as_file().sync_all().and_then(|()| put_in_place(file, &target)).map_err(cannot)?;
    stale::sweep(&directory, &prefix(&target.path));
    Ok(made)
}

/// The same in a directory that is there and that others sweep: looking through thousands of files for each would take long.
pub(crate) fn write_one_of_many(path: &Path, bytes: &[u8]) -> Result<(), StudyError> {
    put(path, &target(path)?, bytes)
}

/// Says now whether a file can be written later, so that long work does not end with nothing to show.
pub fn check_writable(path: &Path) -> Result<(), StudyError> {
    let target = target(path)?;
    let directory = directory_of(&target.path);
    refuse_no_directory(path, &directory)?;
    temporary(&target.path, &directory).map(drop).map_err(|source| StudyError::Write { path: path.to_owned(), source })
}

/// Writes a file that must not be there yet; `false`: it is there, and stays as it is.
///
/// The directory must be there.
pub fn create_file(path: &Path, bytes: &[u8]) -> Result<bool, StudyError> {
    let failed = |source| StudyError::Write { path: path.to_owned(), source };
    let directory = directory_of(path);
    refuse_no_directory(path, &directory)?;
    let create = || match filled(path, &directory, bytes)?.persist_noclobber(path) {
        Ok(_open) => sync_directory(&directory).map(|()| true),
        Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(e) => Err(e.error),
    };
    create().map_err(failed)
}

/// A directory that is not there is mostly a misspelt one.
fn refuse_no_directory(path: &Path, directory: &Path) -> Result<(), StudyError> {
    if directory.is_dir() {
        return Ok(());
    }
    let why = format!("there is no directory {}; make it, or give another place", directory.display());
    Err(StudyError::Unwritable { path: path.to_owned(), why })
}

/// Makes a directory and those above it.
pub fn make_directory(path: &Path) -> Result<(), StudyError> {
    if path.exists() && !path.is_dir() {
        let why = "it is a file, not a directory; give another name".to_owned();
        return Err(StudyError::Unwritable { path: path.to_owned(), why });
    }
    std::fs::create_dir_all(path).map_err(|source| StudyError::Write { path: path.to_owned(), source })
}

fn put(path: &Path, target: &Target, bytes: &[u8]) -> Result<(), StudyError> {
    replace(target, bytes).map_err(|source| StudyError::Write { path: path.to_owned(), source })
}

fn replace(target: &Target, bytes: &[u8]) -> io::Result<()> {
    let directory = directory_of(&target.path);
    put_in_place(filled(&target.path, &directory, bytes)?, target)
}

/// Gives a temporary file its name.
fn put_in_place(file: NamedTempFile, target: &Target) -> io::Result<()> {
    let directory = directory_of(&target.path);
    if let Some(there) = &target.there {
        file.as_file().set_permissions(there.permissions())?;
    }
    // The open file, and with it the lock that says that its writer lives, is kept until the new name is on the disk.
    let _open = file.persist(&target.path).map_err(|e| e.error)?;
    sync_directory(&directory)
}

/// A temporary file with these bytes, on the disk; it is removed unless it is given a name.
fn filled(path: &Path, directory: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let mut file = temporary(path, directory)?;
    file.as_file_mut().write_all(bytes)?;
    // A full disk may show only here; and without this a name may reach the disk before what it names.
    file.as_file().sync_all()?;
    Ok(file)
}

fn temporary(path: &Path, directory: &Path) -> io::Result<NamedTempFile> {
    let prefix = prefix(path);
    let mut builder = Builder::new();
    builder.prefix(&prefix).suffix(ENDS);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Less what the user's mask takes away, as for any other file.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    loop {
        let file = builder.tempfile_in(directory).map_err(without_path)?;
        // Where there are no locks, what a killed process leaves is not swept, and all else is as well. Another process may
        // sweep the file in the moment before it is locked; once it is locked and still there, it stays.
        let locked = file.as_file().lock();
        if locked.is_err() || file.path().try_exists()? {
            return Ok(file);
        }
    }
}

/// The error of the system without the path: the name of a temporary file means nothing to a user.
fn without_path(error: io::Error) -> io::Error {
    let text = error.to_string();
    io::Error::new(error.kind(), text.split(" at path ").next().unwrap_or(&text).to_owned())
}

/// Temporary files of one target begin alike. The name itself may be too long to add anything to it.
fn prefix(path: &Path) -> String {
    let name = path.file_name().map(|n| n.as_encoded_bytes()).unwrap_or_default();
    format!("{BEGINS}{}-", &checksum(name)[..16])
}

fn directory_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Brings the names in a directory onto the disk.
fn sync_directory(directory: &Path) -> io::Result<()> {
    // Elsewhere a directory cannot be opened as a file, and the system brings names onto the disk by itself.
    #[cfg(unix)]
    match std::fs::File::open(directory)?.sync_all() {
        // Some file systems have nothing to sync a directory with.
        Err(e) if e.kind() != io::ErrorKind::InvalidInput && e.kind() != io::ErrorKind::Unsupported => return Err(e),
        _ => {}
    }
    #[cfg(not(unix))]
    let _ = directory;
    Ok(())
}
