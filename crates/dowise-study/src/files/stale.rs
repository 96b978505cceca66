//! Temporary files that a process which was killed has left behind.

use std::fs::File;
use std::path::Path;

/// What the names of all temporary files begin and end with.
pub(super) const BEGINS: &str = ".dowise-";
pub(super) const ENDS: &str = ".part";

/// Whether a file name is one of a temporary file of ours, of any version.
pub(crate) fn is_temporary(name: &str) -> bool {
    // Earlier ones were called .NAME.PROCESS.part.
    let earlier = || {
        let middle = name.strip_prefix('.')?.strip_suffix(ENDS)?.rsplit_once('.')?;
        Some(!middle.0.is_empty() && !middle.1.is_empty() && middle.1.bytes().all(|b| b.is_ascii_digit()))
    };
    name.ends_with(ENDS) && (name.starts_with(BEGINS) || earlier() == Some(true))
}

/// Removes the temporary files in a directory whose names begin with `prefix` and whose writers are gone.
///
/// A writer holds a lock on its temporary file for as long as it lives. Where there are no locks, nothing is removed.
pub(crate) fn sweep(directory: &Path, prefix: &str) {
    // What cannot be looked at or removed stays: it does no harm but take room.
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let ours = entry.file_name().to_str().is_some_and(|n| n.starts_with(prefix) && is_temporary(n));
        if ours && entry.file_type().is_ok_and(|t| t.is_file()) {
            remove_unless_locked(&entry.path());
        }
    }
}

fn remove_unless_locked(path: &Path) {
    let Ok(file) = File::open(path) else { return };
    if file.try_lock().is_ok() {
        let _ = std::fs::remove_file(path);
    }
    // Locked until here: a writer that waits for the lock of its new file must find that it is gone, not lose it afterwards.
    drop(file);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_we_give_are_temporary() {
        for name in [".dowise-0123456789abcdef-x7Yz3q.part", ".study.toml.4711.part", ".0000-0003.json.17.part"] {
            assert!(is_temporary(name), "{name}");
        }
        for name in ["study.toml", "thesis.part", ".part", ".a.part", ".a.b.part", ".dowise-notes", ".a.1.part.tex"] {
            assert!(!is_temporary(name), "{name}");
        }
    }
}
