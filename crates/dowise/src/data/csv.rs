//! A CSV file as a table: comma, semicolon, tab or bar; gzip or not; UTF-8 only. Read once, from start to end.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use csv::{ByteRecord, ReaderBuilder, Terminator};
use flate2::read::MultiGzDecoder;

use super::{LogError, Table};

/// Bytes that are looked at before the first row is read.
const SAMPLE: usize = 1 << 16;

/// What may separate columns.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// A table in a CSV file.
pub struct CsvTable {
    reader: csv::Reader<Box<dyn Read + Send>>,
    record: ByteRecord,
    columns: Vec<String>,
    name: String,
    /// Line of the present row, and the line behind it.
    line: u64,
    behind: u64,
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

    /// Reads from anything; `name` is for messages.
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
        // Some programs put a byte order mark in front; it means nothing in UTF-8.
        let sample = sample.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&sample).to_vec();
        if sample.trim_ascii().is_empty() {
            return Err(LogError::Empty { name: name.to_owned() });
        }
        let delimiter = delimiter(&sample);
        let whole: Box<dyn Read + Send> = Box::new(LastLine::new(io::Cursor::new(sample).chain(all)));
        // A row ends with a line feed only: a carriage return before it is taken off below, so that lines are counted right.
        let mut reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .flexible(true)
            .terminator(Terminator::Any(b'\n'))
            .buffer_capacity(1 << 17)
            .from_reader(whole);
        let mut header = ByteRecord::new();
        let found = reader.read_byte_record(&mut header).map_err(|e| failed(e.into()))?;
        if !found {
            return Err(LogError::Empty { name: name.to_owned() });
        }
        let columns = header.iter().map(|cell| String::from_utf8_lossy(cell).trim().to_owned()).collect();
        let record = ByteRecord::new();
        let behind = reader.position().line();
        Ok(CsvTable { reader, record, columns, name: name.to_owned(), line: 1, behind, read, size: None })
    }

    /// Bytes of the file that have been read, shared with whoever shows progress.
    pub fn bytes_read(&self) -> Arc<AtomicU64> {
        self.read.clone()
    }

    /// Bytes of the file, where they are known.
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
            match self.reader.read_byte_record(&mut self.record) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(error) => {
                    let error = io::Error::from(error);
                    return Err(match error.kind() {
                        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                            damaged(&self.name, &error)
                        }
                        _ => LogError::Io { name: self.name.clone(), error },
                    });
                }
            }
            // The reader stands behind the line feed that ends the row, whatever empty lines came before it.
            let behind = self.reader.position().line();
            let inside = match behind - self.behind {
                1 => 0,
                _ => self.record.as_slice().iter().filter(|&&b| b == b'\n').count() as u64,
            };
            self.behind = behind;
            if self.n_cells() == 1 && self.cell(0).trim_ascii().is_empty() {
                continue;
            }
            self.line = behind - 1 - inside;
            return Ok(true);
        }
    }

    fn n_cells(&self) -> usize {
        self.record.len()
    }

    #[inline]
    fn cell(&self, column: usize) -> &[u8] {
        let cell = &self.record[column];
        match cell.split_last() {
            Some((b'\r', rest)) if column + 1 == self.record.len() => rest,
            Some(_) | None => cell,
        }
    }

    fn line(&self) -> u64 {
        self.line
    }
}

/// Counts bytes on their way.
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

/// Ends the last line if the file does not.
struct LastLine<R> {
    input: R,
    last: u8,
}

impl<R: Read> LastLine<R> {
    fn new(input: R) -> LastLine<R> {
        LastLine { input, last: b'\n' }
    }
}

impl<R: Read> Read for LastLine<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(out)?;
        if n > 0 {
            self.last = out[n - 1];
        } else if self.last != b'\n' && !out.is_empty() {
            self.last = b'\n';
            out[0] = b'\n';
            return Ok(1);
        }
        Ok(n)
    }
}

fn damaged(name: &str, error: &io::Error) -> LogError {
    let what = format!("is compressed by gzip, but damaged: {error}");
    LogError::Encoding { name: name.to_owned(), what, help: "fetch or compress the file again" }
}

/// Refuses what is no text in UTF-8.
fn check_encoding(sample: &[u8], name: &str) -> Result<(), LogError> {
    let refuse = |what: &str, help| Err(LogError::Encoding { name: name.to_owned(), what: what.to_owned(), help });
    const SAVE: &str = "save it again as CSV with the encoding UTF-8";
    if sample.starts_with(b"PK\x03\x04") {
        return refuse("is a workbook or a zip archive, not a table of text", "save the sheet as CSV, or unpack it");
    }
    if sample.starts_with(b"PAR1") {
        return refuse("is a Parquet file", "write it as CSV, or read it as a frame from Python");
    }
    let nulls = sample.iter().filter(|&&b| b == 0).count();
    if sample.starts_with(&[0xff, 0xfe]) || sample.starts_with(&[0xfe, 0xff]) || nulls * 4 > sample.len() {
        return refuse("is written in UTF-16", SAVE);
    }
    if nulls > 0 {
        return refuse("is not text: it has bytes that are zero", SAVE);
    }
    if let Err(error) = std::str::from_utf8(sample)
        // A letter may be cut at the end of what is looked at.
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

/// What separates the columns: whatever gives the first line the most cells.
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
    // The first of those that give equally many.
    DELIMITERS.into_iter().rev().max_by_key(|&d| cells(d)).expect("invariant: there are delimiters")
}
