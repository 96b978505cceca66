//! A directory of its own for a test.

use std::ops::Deref;
use std::path::{Path, PathBuf};

/// A directory of its own that goes when the test ends.
pub(crate) struct TempDir(PathBuf);

impl TempDir {
    /// A name for a directory that is not there yet.
    pub(crate) fn new(name: &str) -> TempDir {
        let path = std::env::temp_dir().join(format!("dowise-study-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        TempDir(path)
    }

    /// A directory that is there.
    pub(crate) fn with(name: &str) -> TempDir {
        let place = TempDir::new(name);
        std::fs::create_dir_all(&place.0).unwrap();
        place
    }
}

impl Deref for TempDir {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
