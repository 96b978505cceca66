//! A directory of its own for a test.

use std::ops::Deref;
use std::path::{Path, PathBuf};

/// A directory of its own that goes when the test ends.
pub(crate) struct Place(PathBuf);

impl Place {
    /// A name for a directory that is not there yet.
    pub(crate) fn new(name: &str) -> Place {
        let path = std::env::temp_dir().join(format!("dowise-study-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Place(path)
    }

    /// A directory that is there.
    pub(crate) fn with(name: &str) -> Place {
        let place = Place::new(name);
        std::fs::create_dir_all(&place.0).unwrap();
        place
    }
}

impl Deref for Place {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
