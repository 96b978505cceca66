//! Reads text files: regular files only, and none that is larger than its limit.

use std::fs::{File, FileType};
use std::io::{self, Read};
use std::path::Path;

use crate::StudyError;

/// Bytes of the largest text that is read where nothing else is said: 64 MiB.
pub const MOST_TEXT: u64 = 64 << 20;

/// Reads a regular file of UTF-8 text that has at most `limit` bytes.
///
/// Devices, pipes, sockets and directories are refused before they are opened, since opening a pipe may wait for ever.
pub fn read_text_file(path: &Path, limit: u64) -> Result<String, StudyError> {
    let (file, length) = open_regular(path, limit)?;
    let failed = |source| StudyError::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    bytes.try_reserve(length as usize).map_err(|_| failed(io::ErrorKind::OutOfMemory.into()))?;
    // A file may grow while it is read, and some files do not say how long they are.
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit {
        return Err(too_large(path, limit));
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..good].iter().filter(|&&b| b == b'\n').count() + 1;
        let why = format!("it is not written in UTF-8: byte {good}, on line {line}, belongs to no letter");
        StudyError::Unreadable { path: path.to_owned(), why }
    })
}

/// Opens a regular file that has at most `limit` bytes, and says how many.
pub(crate) fn open_regular(path: &Path, limit: u64) -> Result<(File, u64), StudyError> {
    let failed = |source| StudyError::Read { path: path.to_owned(), source };
    let refuse_others = |kind: FileType| match Kind::of(kind) {
        Kind::Regular => Ok(()),
        other => {
            let why = format!("it is {}, not a regular file", other.describe());
            Err(StudyError::Unreadable { path: path.to_owned(), why })
        }
    };
    refuse_others(std::fs::metadata(path).map_err(failed)?.file_type())?;
    let file = File::open(path).map_err(failed)?;
    // What was opened may be something else than what was looked at.
    let metadata = file.metadata().map_err(failed)?;
    refuse_others(metadata.file_type())?;
    if metadata.len() > limit { Err(too_large(path, limit)) } else { Ok((file, metadata.len())) }
}

fn too_large(path: &Path, limit: u64) -> StudyError {
    let why = format!("it has more than {limit} bytes ({} MiB), the most that such a file may have", limit >> 20);
    StudyError::Unreadable { path: path.to_owned(), why }
}

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Regular,
    Directory,
    Pipe,
    Socket,
    Device,
    Other,
}

impl Kind {
    pub(crate) fn of(kind: FileType) -> Kind {
        if kind.is_file() {
            return Kind::Regular;
        }
        if kind.is_dir() {
            return Kind::Directory;
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::FileTypeExt;
            if kind.is_fifo() {
                return Kind::Pipe;
            }
            if kind.is_socket() {
                return Kind::Socket;
            }
            if kind.is_char_device() || kind.is_block_device() {
                return Kind::Device;
            }
        }
        Kind::Other
    }

    pub(crate) fn describe(self) -> &'static str {
        match self {
            Kind::Regular => "a regular file",
            Kind::Directory => "a directory",
            Kind::Pipe => "a named pipe",
            Kind::Socket => "a socket",
            Kind::Device => "a device",
            Kind::Other => "something special",
        }
    }
}
