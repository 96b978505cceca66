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
        let bytes = limited(std::io::stdin(), "standard input")?;
        let text = String::from_utf8(bytes)
            .map_err(|e| Failure::Io(format!("standard input is not UTF-8: {}", e.utf8_error())))?;
        let name = "<standard input>".to_owned();
        return Ok(WorldFile { world: World::from_toml(&text, &name), source: Source { name, text } });
    }
    // Whether the file can be read is told apart from what it says, since the exit status differs.
    let name = file.display().to_string();
    let open = std::fs::File::open(file).map_err(|e| Failure::Io(format!("cannot read {name}: {e}")))?;
    let bytes = limited(open, &name)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(WorldFile { world: World::from_file(file), source: Source { name, text } })
}

/// Most bytes of a world file, as in the library: 1 GiB.
const MOST_BYTES: u64 = 1 << 30;

/// All bytes, up to the limit: a pipe may never end.
fn limited(from: impl Read, name: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = vec![];
    from.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|e| Failure::Io(format!("cannot read {name}: {e}")))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(Failure::Io(format!("{name} has more than {MOST_BYTES} bytes (1 GiB), the most that is read")));
    }
    Ok(bytes)
}
