//! Which files a command reads and writes, and whether it may: said before any work is done for them.

use std::path::{Path, PathBuf};

use dowise_study::check_writable;

use crate::output::{Failure, Output};
use crate::study;

/// Files that are there stay as they are, unless the user says otherwise.
#[derive(clap::Args)]
pub(crate) struct Overwrite {
    /// Overwrite files that are there.
    #[arg(short, long)]
    force: bool,
}

impl Overwrite {
    /// Whether files that are there are overwritten.
    pub(crate) fn force(&self) -> bool {
        self.force
    }

    /// Refuses files that cannot be distinguished, files that are there already, and places where none can be written.
    pub(crate) fn check(&self, files: &Files<'_>, output: &Output) -> Result<(), Failure> {
        files.check_apart()?;
        for written in &files.written {
            check_writable(written.file).map_err(|e| study::failure(e, output))?;
            if !self.force && !written.goes_on && written.file.exists() {
                return Err(Failure::Io(format!("{} is there already; --force overwrites it", written.file.display())));
            }
        }
        Ok(())
    }
}

/// What a command reads and writes, each with the words that the user knows it by.
#[derive(Default)]
pub(crate) struct Files<'a> {
    read: Vec<(&'static str, &'a Path)>,
    written: Vec<Written<'a>>,
}

struct Written<'a> {
    what: &'static str,
    file: &'a Path,
    /// Whether it takes the place of a file that it goes on from.
    goes_on: bool,
}

impl<'a> Files<'a> {
    /// Adds a file that is read.
    pub(crate) fn read(&mut self, what: &'static str, file: Option<&'a Path>) -> &mut Files<'a> {
        self.read.extend(file.map(|file| (what, file)));
        self
    }

    /// Adds a file that is written.
    pub(crate) fn write(&mut self, what: &'static str, file: Option<&'a Path>) -> &mut Files<'a> {
        self.written.extend(file.map(|file| Written { what, file, goes_on: false }));
        self
    }

    /// Adds a file that is read, and one that may take its place, being the same later on.
    pub(crate) fn go_on(&mut self, read: (&'static str, Option<&'a Path>), write: (&'static str, Option<&'a Path>)) {
        let goes_on = matches!((read.1, write.1), (Some(read), Some(write)) if same_file(read, write));
        self.written.extend(write.1.map(|file| Written { what: write.0, file, goes_on }));
        if !goes_on {
            self.read(read.0, read.1);
        }
    }

    /// Refuses to write over what is read, forced or not, or two things into one file.
    pub(crate) fn check_apart(&self) -> Result<(), Failure> {
        for (i, Written { what, file, .. }) in self.written.iter().enumerate() {
            let earlier = self.written[..i].iter().map(|written| (written.what, written.file));
            let mut others = self.read.iter().copied().chain(earlier);
            if let Some((other, _)) = others.find(|(_, other)| same_file(file, other)) {
                let message = format!("{what} and {other} are one file, {}; give another name", file.display());
                return Err(Failure::Usage(message));
            }
        }
        Ok(())
    }
}

/// Whether two paths lead to one file, as far as that can be determined of files that are not there yet.
fn same_file(a: &Path, b: &Path) -> bool {
    matches!((place(a), place(b)), (Some(a), Some(b)) if a == b)
}

/// Where a file is, with links followed: all of them if it is there, else those of its directory.
fn place(path: &Path) -> Option<PathBuf> {
    let in_directory = || {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Some(parent.canonicalize().ok()?.join(path.file_name()?))
    };
    path.canonicalize().ok().or_else(in_directory).or_else(|| std::path::absolute(path).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_file_that_is_not_there_yet_is_the_same_through_a_linked_directory() {
        let directory = std::env::temp_dir().join(format!("dowise-overwrite-{}", std::process::id()));
        let (real, link) = (directory.join("real"), directory.join("link"));
        std::fs::create_dir_all(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        assert!(same_file(&real.join("new.json"), &link.join("new.json")));
        assert!(same_file(&real.join("new.json"), &link.join("../real/./new.json")));
        assert!(!same_file(&real.join("new.json"), &link.join("other.json")));
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
