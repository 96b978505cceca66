//! Whether files may be written, said before any work is done for them.

use std::path::Path;

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

    /// Refuses a file that is there already, a place where none can be written and, forced or not, what the command reads.
    pub(crate) fn check(&self, file: &Path, read: &[&Path], output: &Output) -> Result<(), Failure> {
        if let Some(input) = read.iter().find(|input| same_file(file, input)) {
            let message = format!("{} is what the command reads; give another name to write to", input.display());
            return Err(Failure::Usage(message));
        }
        check_writable(file).map_err(|e| study::failure(e, output))?;
        if !self.force && file.exists() {
            return Err(Failure::Io(format!("{} is there already; --force overwrites it", file.display())));
        }
        Ok(())
    }
}

/// Whether two paths lead to one file, as far as that can be told of files that are not there yet.
pub(crate) fn same_file(a: &Path, b: &Path) -> bool {
    let place = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path));
    matches!((place(a), place(b)), (Ok(a), Ok(b)) if a == b)
}
