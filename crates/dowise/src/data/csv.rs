//! CSV input as a table: comma, semicolon, tab or bar; gzip or plain; UTF-8 only; read in one pass.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;

use super::records::{Broken, Records};
use super::{LogError, Table};

/// Bytes inspected before the first row.
const SAMPLE: usize = 1 << 16;

/// Possible column separators.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// A table in a CSV file.
pub struct CsvTable {
    records: Records,
    columns: Vec<String>,
    name: String,
    packed: bool,
    read: Arc<AtomicU64>,
    size: Option<u64>,
}

impl CsvTable {
    /// Opens a file.
    pub fn open(path: impl AsRef<Path>) -> Result<CsvTable, LogError> {
        let name = path.as_ref().display().to_string();
        let failed = |error| LogError::Io { name: name.clone(), error };
        let file = File::open(&path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(failed(io::ErrorKind::IsADirectory.into()));
        }
        let mut table = CsvTable::new(file, &name)?;
        table.size = Some(metadata.len()).filter(|&n| n > 0);
        Ok(table)
    }

    /// Reads from any input; `name` is for messages.
    pub fn new(input: impl Read + Send + 'static, name: &str) -> Result<CsvTable, LogError> {
        let failed = |error| LogError::Io { name: name.to_owned(), error };
        let read = Arc::new(AtomicU64::new(0));
        let mut input = Counted { input, read: read.clone() };
        let mut start = Vec::new();
        input.by_ref().take(SAMPLE as u64).read_to_end(&mut start).map_err(failed)?;
        let packed = start.starts_with(&[0x1f, 0x8b]);
        let mut all: Box<dyn Read + Send> = Box::new(io::Cursor::new(start).chain(input));
        if packed {
            all = Box::new(MultiGzDecoder::new(all));
        }
        let mut sample = Vec::new();
        all.by_ref().take(SAMPLE as u64).read_to_end(&mut sample).map_err(|error| match packed {
            true => damaged(name, &error),
            false => LogError::Io { name: name.to_owned(), error },
        })?;
        check_encoding(&sample, name)?;
        // Some programs write a byte order mark; it has no meaning in UTF-8.
        let sample = sample.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&sample).to_vec();
        if sample.trim_ascii().is_empty() {
            return Err(LogError::Empty { name: name.to_owned() });
        }
        let said = said_delimiter(&sample);
        let delimiter = said.unwrap_or_else(|| delimiter(&sample));
        let records = Records::new(Box::new(io::Cursor::new(sample).chain(all)), delimiter);
        let mut table = CsvTable { records, columns: Vec::new(), name: name.to_owned(), packed, read, size: None };
        if said.is_some() {
            table.advance()?;
        }
        if !table.advance()? {
            return Err(LogError::Empty { name: name.to_owned() });
        }
        let name_of = |i| String::from_utf8_lossy(table.cell(i)).trim().to_owned();
        table.columns = (0..table.n_cells()).map(name_of).collect();
        Ok(table)
    }

    /// Bytes read so far, shared for progress displays.
    pub fn bytes_read(&self) -> Arc<AtomicU64> {
        self.read.clone()
    }

    /// Size of the file, if known.
    pub fn size(&self) -> Option<u64> {
        self.size
    }
}

impl Table for CsvTable {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn advance(&mut self) -> Result<bool, LogError> {
        loop {
            match self.records.advance() {
                // A line of blanks counts as empty.
                Ok(true) if self.n_cells() == 1 && self.cell(0).trim_ascii().is_empty() => {}
                Ok(found) => return Ok(found),
                Err(Broken::OpenQuote(line)) => {
                    let what = "a quotation mark that is opened in this row is never closed".to_owned();
                    return Err(LogError::Row { name: self.name.clone(), line, what });
                }
                Err(Broken::TooLong(line)) => {
                    let what = "this row is too long; is a quotation mark never closed?".to_owned();
                    return Err(LogError::Row { name: self.name.clone(), line, what });
                }
                // An error without an OS code comes from decompression.
                Err(Broken::Io(error)) if self.packed && error.raw_os_error().is_none() => {
                    return Err(damaged(&self.name, &error));
                }
                Err(Broken::Io(error)) => return Err(LogError::Io { name: self.name.clone(), error }),
            }
        }
    }

    fn n_cells(&self) -> usize {
        self.records.n_cells()
    }

    #[inline]
    fn cell(&self, column: usize) -> &[u8] {
        self.records.cell(column)
    }

    fn line(&self) -> u64 {
        self.records.line()
    }

    fn last_line(&self) -> u64 {
        self.records.last_line()
    }
}

/// The delimiter that a spreadsheet declares in a first line `sep=;`.
fn said_delimiter(sample: &[u8]) -> Option<u8> {
    let line = sample.split(|b| *b == b'\n').next()?.trim_ascii_end();
    let line = line.strip_prefix(b"\"").and_then(|l| l.strip_suffix(b"\"")).unwrap_or(line);
    // Trimming removed a tab.
    let said = if line.eq_ignore_ascii_case(b"sep=") { Some(b'\t') } else { None };
    said.or(match line {
        [s, e, p, b'=', delimiter] if [*s, *e, *p].eq_ignore_ascii_case(b"sep") => Some(*delimiter),
        _ => None,
    })
    .filter(|delimiter| DELIMITERS.contains(delimiter))
}

/// Counts bytes.
struct Counted<R> {
    input: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(out)?;
        self.read.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

fn damaged(name: &str, error: &io::Error) -> LogError {
    let what = format!("is compressed by gzip, but damaged: {error}");
    LogError::Encoding { name: name.to_owned(), what, help: "fetch or compress the file again" }
}

/// Rejects input that is not UTF-8 text.
fn check_encoding(sample: &[u8], name: &str) -> Result<(), LogError> {
    let refuse = |what: &str, help| Err(LogError::Encoding { name: name.to_owned(), what: what.to_owned(), help });
    const SAVE: &str = "save it again as CSV with the encoding UTF-8";
    if sample.starts_with(b"PK\x03\x04") {
        return refuse("is a workbook or a zip archive, not a table of text", "save the sheet as CSV, or unpack it");
    }
    if sample.starts_with(b"PAR1") {
        return refuse("is a Parquet file", "write it as CSV, or read it as a frame from Python");
    }
    if sample.starts_with(b"\x7fELF") {
        return refuse("is a program, not a table of text", "give the log itself");
    }
    // No column name begins like this; blanks and a byte order mark may precede it.
    match sample.strip_prefix(b"\xef\xbb\xbf").unwrap_or(sample).trim_ascii_start().first() {
        Some(b'{' | b'[') => return refuse("is JSON, not a table", "write it as CSV, a row for each step"),
        Some(b'<') => return refuse("is a page or XML, not a table", "save the table itself as CSV"),
        Some(_) | None => {}
    }
    let nulls = sample.iter().filter(|&&b| b == 0).count();
    if sample.starts_with(&[0xff, 0xfe]) || sample.starts_with(&[0xfe, 0xff]) || nulls * 4 > sample.len() {
        return refuse("is written in UTF-16", SAVE);
    }
    if nulls > 0 {
        return refuse("is not text: it has bytes that are zero", SAVE);
    }
    if let Err(error) = std::str::from_utf8(sample)
        // The sample may end within a character.
        && (error.error_len().is_some() || sample.len() < SAMPLE)
    {
        let line = sample[..error.valid_up_to()].iter().filter(|&&b| b == b'\n').count() + 1;
        return refuse(
            &format!("is not written in UTF-8 (line {line}), but probably in Latin-1 or Windows-1252"),
            SAVE,
        );
    }
    if sample.contains(&b'\r') && !sample.contains(&b'\n') {
        return refuse("ends its lines with carriage returns alone", "save it again with line feeds");
    }
    Ok(())
}

/// The delimiter that gives the first line the most cells.
fn delimiter(sample: &[u8]) -> u8 {
    let cells = |delimiter: u8| {
        let mut quoted = false;
        let mut n = 0;
        for &b in sample.iter().take_while(|&&b| b != b'\n') {
            quoted ^= b == b'"';
            n += usize::from(b == delimiter && !quoted);
        }
        n
    };
    // Ties go to the first.
    DELIMITERS.into_iter().rev().max_by_key(|&d| cells(d)).expect("invariant: there are delimiters")
}
