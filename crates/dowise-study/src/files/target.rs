//! What a name to write to stands for: through symbolic links to the file itself, and never onto something special.

use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::read::Kind;
use crate::StudyError;

/// Links followed before they are taken for a loop, as many as Linux follows.
const MOST_LINKS: usize = 40;

/// Where to write, and what is there now.
pub(super) struct Target {
    /// The file, not a link to it.
    pub(super) path: PathBuf,
    /// `None`: nothing yet.
    pub(super) there: Option<Metadata>,
}

/// Follows links from `path` and refuses what must not be replaced by a file.
pub(super) fn target(path: &Path) -> Result<Target, StudyError> {
    let refuse = |why: String| Err(StudyError::Unwritable { path: path.to_owned(), why });
    let failed = |source: io::Error| StudyError::Write { path: path.to_owned(), source };
    let slash = path.as_os_str().as_encoded_bytes().last().is_some_and(|&b| std::path::is_separator(b.into()));
    if slash || path.file_name().is_none() {
        return refuse("it is the name of a directory; give the name of a file".into());
    }
    let mut at = path.to_owned();
    for _ in 0..=MOST_LINKS {
        let metadata = match std::fs::symlink_metadata(&at) {
            Ok(metadata) => metadata,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Target { path: at, there: None }),
            Err(e) => return Err(failed(e)),
        };
        if !metadata.is_symlink() {
            let kind = Kind::of(metadata.file_type());
            if kind != Kind::Regular {
                return refuse(format!("it is {}; give the name of a file", kind.describe()));
            }
            if metadata.permissions().readonly() {
                return refuse("it is read-only; make it writable or give another name".into());
            }
            return Ok(Target { path: at, there: Some(metadata) });
        }
        // Links in there lead to the open files of processes, such as /dev/stdout: nothing that a file can replace.
        if at.starts_with("/dev") || at.starts_with("/proc") {
            return refuse("it stands for an open file of a process; give the name of a file".into());
        }
        let link = std::fs::read_link(&at).map_err(failed)?;
        at = at.parent().unwrap_or(Path::new("")).join(link);
    }
    refuse("its symbolic links lead in a circle".into())
}
