//! Reads a world for a command: from a file, or from standard input if the name is `-`.

use std::io::Read;
use std::path::Path;

use dowise::{World, WorldError};

use crate::output::Failure;

/// The outer error is about reading, the inner one about what was read.
pub(crate) fn read(file: &Path) -> Result<Result<World, WorldError>, Failure> {
    if file == Path::new("-") {
        let mut bytes = vec![];
        std::io::stdin()
            .read_to_end(&mut bytes)
            .map_err(|e| Failure::Io(format!("cannot read standard input: {e}")))?;
        let text = String::from_utf8(bytes)
            .map_err(|e| Failure::Io(format!("standard input is not UTF-8: {}", e.utf8_error())))?;
        return Ok(World::from_toml(&text, "<standard input>"));
    }
    // Whether the file can be read is told apart from what it says, since the exit status differs.
    std::fs::File::open(file)
        .and_then(|f| f.metadata())
        .and_then(|m| if m.is_dir() { Err(std::io::ErrorKind::IsADirectory.into()) } else { Ok(()) })
        .map_err(|e| Failure::Io(format!("cannot read {}: {e}", file.display())))?;
    Ok(World::from_file(file))
}
