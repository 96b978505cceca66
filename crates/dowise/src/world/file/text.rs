//! Reads the text of a file, with limits on size and memory.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::recognise::no_text;
use crate::memory::Held;
use crate::world::{Problem, WorldError};

/// Maximum size of a world file or table: 1 GiB.
const MOST_BYTES: u64 = 1 << 30;

/// Memory below which no reservation is needed.
const SMALL: u128 = 64 << 20;

/// Reserves the memory of a TOML syntax tree; fails if it is not available.
///
/// Measured: up to 60 bytes for each byte, 170 for each number of a list, 440 for each key, 1450 for each table in
/// braces.
pub(super) fn room_for(text: &str, name: &str) -> Result<Held, WorldError> {
    let of_byte = |byte: &u8| match byte {
        b',' => 64 + 128,
        b'[' => 64 + 256,
        b'=' => 64 + 512,
        b'{' => 64 + 768,
        _ => 64,
    };
    let bytes: u128 = text.as_bytes().iter().map(of_byte).sum();
    if bytes <= SMALL {
        return Ok(Held::default());
    }
    Held::ask(bytes).map_err(|left| {
        let message = format!("reading {name} may take {bytes} bytes of memory, and {left} may be taken");
        let help = "put large tables into CSV files, or take a machine with more memory";
        WorldError { problems: vec![Problem::error("too-large", message).help(help)], sources: Vec::new() }
    })
}

/// The text of a file named by the user. It may be a pipe.
pub(super) fn text_of(path: &Path) -> Result<String, Box<Problem>> {
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    decode(path, limited(path, file)?)
}

/// The text of a file named in a world file: a regular one, since reading from a device or pipe may never end.
pub(super) fn text_of_table(path: &Path) -> Result<String, Box<Problem>> {
    let kind = std::fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if !kind.is_file() && !kind.is_dir() {
        let message = format!("{} is a device or a pipe, not a file", path.display());
        return Err(Box::new(
            Problem::error("no-file", message).help("write the table into a file beside the world file"),
        ));
    }
    text_of(path)
}

/// All bytes, up to the limit.
fn limited(path: &Path, file: File) -> Result<Vec<u8>, Box<Problem>> {
    let mut bytes = Vec::new();
    let too_long = || {
        let message = format!("{} has more than {MOST_BYTES} bytes", path.display());
        Box::new(Problem::error("too-large", message).help("at most 1 GiB is read; check the path"))
    };
    // Known in advance for a regular file; detected while reading otherwise.
    if file.metadata().is_ok_and(|kind| kind.len() > MOST_BYTES) {
        return Err(too_long());
    }
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > MOST_BYTES { Err(too_long()) } else { Ok(bytes) }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Box<Problem> {
    let name = path.display();
    Box::new(match error.kind() {
        std::io::ErrorKind::NotFound => {
            Problem::error("no-file", format!("there is no file {name}")).help("check the path")
        }
        std::io::ErrorKind::IsADirectory => {
            Problem::error("no-file", format!("{name} is a directory")).help("name a file in it")
        }
        _ => Problem::error("no-file", format!("cannot read {name}: {error}")),
    })
}

fn decode(path: &Path, bytes: Vec<u8>) -> Result<String, Box<Problem>> {
    let name = path.display();
    String::from_utf8(bytes).map_err(|error| {
        let bytes = error.as_bytes();
        if let Some(problem) = no_text(&name.to_string(), bytes) {
            return problem;
        }
        let message = if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
            format!("{name} is written in UTF-16, not in UTF-8")
        } else {
            let good = error.utf8_error().valid_up_to();
            let line = bytes[..good].iter().filter(|&&b| b == b'\n').count() + 1;
            format!("{name} is not written in UTF-8: byte {good}, on line {line}, belongs to no letter")
        };
        Box::new(Problem::error("encoding", message).help("save it again with the encoding UTF-8"))
    })
}
