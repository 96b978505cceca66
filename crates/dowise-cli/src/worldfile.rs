//! Reads a world for a command: from a file, or from standard input if the name is `-`.

use std::io::Read;
use std::path::Path;

use dowise::world::Source;
use dowise::{World, WorldError};

use crate::output::Failure;

/// What was read, and the text that its findings point into.
pub(crate) struct WorldFile {
    pub(crate) world: Result<World, WorldError>,
    pub(crate) source: Source,
}

/// Fails if nothing can be read; what is wrong with a world that was read is in `world`.
pub(crate) fn read(file: &Path) -> Result<WorldFile, Failure> {
    if file == Path::new("-") {
        let mut bytes = vec![];
        std::io::stdin()
            .read_to_end(&mut bytes)
            .map_err(|e| Failure::Io(format!("cannot read standard input: {e}")))?;
        let text = String::from_utf8(bytes)
            .map_err(|e| Failure::Io(format!("standard input is not UTF-8: {}", e.utf8_error())))?;
        let name = "<standard input>".to_owned();
        return Ok(WorldFile { world: World::from_toml(&text, &name), source: Source { name, text } });
    }
    // Whether the file can be read is told apart from what it says, since the exit status differs.
    let name = file.display().to_string();
    let bytes = std::fs::read(file).map_err(|e| Failure::Io(format!("cannot read {name}: {e}")))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(WorldFile { world: World::from_file(file), source: Source { name, text } })
}
