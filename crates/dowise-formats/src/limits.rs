//! How large a file may be, and how its bytes become text.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use dowise::WorldError;
use dowise::world::Problem;
use flate2::read::MultiGzDecoder;

/// Most bytes of a graph file, unpacked: 64 MiB.
pub const MOST_BYTES: u64 = 64 << 20;
/// Most variables; a world has no more.
pub const MOST_VARIABLES: usize = 65_535;
/// Most values of one variable.
pub const MOST_VALUES: usize = 1 << 16;
/// Most entries of all tables of a network: 256 MiB of numbers.
pub const MOST_ENTRIES: u128 = 1 << 25;
/// How deep groups and lists may be nested.
pub(crate) const DEEPEST: usize = 64;

/// The text of a file; one that is compressed by gzip is unpacked.
pub(crate) fn read_text(path: &Path) -> Result<String, WorldError> {
    let name = path.display();
    let fail = |problem: Problem| WorldError { problems: vec![problem], sources: vec![] };
    let unreadable = |error: std::io::Error| {
        fail(match error.kind() {
            std::io::ErrorKind::NotFound => {
                Problem::error("no-file", format!("there is no file {name}")).help("check the path")
            }
            std::io::ErrorKind::IsADirectory => {
                Problem::error("no-file", format!("{name} is a directory")).help("name a file in it")
            }
            _ => Problem::error("no-file", format!("cannot read {name}: {error}")),
        })
    };
    let mut bytes = vec![];
    let file = File::open(path).map_err(unreadable)?;
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let packed = std::mem::take(&mut bytes);
        MultiGzDecoder::new(packed.as_slice()).take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| {
            let message = format!("{name} is compressed by gzip, but damaged: {error}");
            fail(Problem::error("encoding", message).help("fetch the file again"))
        })?;
    }
    if bytes.len() as u64 > MOST_BYTES {
        let message = format!("{name} has more than {MOST_BYTES} bytes of text (64 MiB)");
        return Err(fail(Problem::error("too-large", message).help("that is the most that is read; check the path")));
    }
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..good].iter().filter(|&&b| b == b'\n').count() + 1;
        let message = format!("{name} is not written in UTF-8: byte {good}, on line {line}, belongs to no letter");
        fail(Problem::error("encoding", message).help("save it again with the encoding UTF-8"))
    })?;
    // Some editors put a byte order mark in front; it means nothing in UTF-8.
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}
