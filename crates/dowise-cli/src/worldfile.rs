//! Reads a world for a command: from a file, a ready-made one by its name, or from standard input if the name is `-`.

use std::io::Read;
use std::path::Path;

use dowise::world::Source;
use dowise::{World, WorldError, worlds};
use dowise_study::WorldChoice;

use crate::output::Failure;

/// What was read, and the text that its findings point into.
pub(crate) struct WorldFile {
    pub(crate) world: Result<World, WorldError>,
    pub(crate) source: Source,
}

/// Fails if nothing can be read; what is wrong with a world that was read is in `world`.
pub(crate) fn read(file: &Path) -> Result<WorldFile, Failure> {
    if file == Path::new("-") {
        let bytes = limited(std::io::stdin(), "standard input", MOST_BYTES)?;
        let text = String::from_utf8(bytes)
            .map_err(|e| Failure::Io(format!("standard input is not UTF-8: {}", e.utf8_error())))?;
        let name = "<standard input>".to_owned();
        return Ok(WorldFile { world: World::from_toml(&text, &name), source: Source { name, text } });
    }
    let name = file.display().to_string();
    if let (false, WorldChoice::Named { name: ready_made, settings }) = (file.exists(), WorldChoice::read(&name)) {
        let settings: Vec<(&str, &str)> = settings.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        let text = worlds::text(&ready_made, &settings).map_err(|e| Failure::Usage(e.to_string()))?;
        return Ok(WorldFile { world: World::from_toml(&text, &name), source: Source { name, text } });
    }
    // Whether the file can be read is distinguished from what it says, since the exit status differs.
    let open = std::fs::File::open(file).map_err(|e| Failure::Io(format!("cannot read {name}: {e}")))?;
    let bytes = limited(open, &name, MOST_BYTES)?;
    // It is read once: a pipe has nothing more to say, and what a file says may change in between.
    let dir = file.parent().unwrap_or(Path::new(""));
    match String::from_utf8(bytes) {
        Ok(text) => {
            let world = World::from_toml_in(&text, &name, dir).map(|world| world.or_named(&file_name(file)));
            Ok(WorldFile { world, source: Source { name, text } })
        }
        // The library says where a wrong encoding begins; of a file alone, since it reads it again.
        Err(e) if file.is_file() => {
            let text = String::from_utf8_lossy(e.as_bytes()).into_owned();
            Ok(WorldFile { world: World::from_file(file), source: Source { name, text } })
        }
        Err(e) => Err(Failure::Io(format!("{name} is not UTF-8: {}", e.utf8_error()))),
    }
}

/// A file's name without its directory, for a world that has no name of its own.
fn file_name(file: &Path) -> String {
    file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// Most bytes of a world file, as in the library: 1 GiB.
const MOST_BYTES: u64 = 1 << 30;

/// All bytes, up to a limit: a pipe may never end.
fn limited(from: impl Read, name: &str, most: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = vec![];
    from.take(most + 1).read_to_end(&mut bytes).map_err(|e| Failure::Io(format!("cannot read {name}: {e}")))?;
    if bytes.len() as u64 > most {
        return Err(Failure::Io(format!("{name} has more than {most} bytes, the most that is read")));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_ends_is_read_up_to_the_limit_and_no_further() {
        let endless = || std::io::repeat(b'#');
        match limited(endless(), "standard input", 1000) {
            Err(Failure::Io(message)) => {
                assert_eq!(message, "standard input has more than 1000 bytes, the most that is read");
            }
            _ => panic!("it was read to an end that it does not have"),
        }
        // As much as may be is read whole, and not a byte is lost.
        assert_eq!(limited(endless().take(1000), "standard input", 1000).ok(), Some(vec![b'#'; 1000]));
    }
}
