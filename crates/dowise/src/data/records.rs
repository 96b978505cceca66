//! CSV text in records and cells. A row without quotation marks is found and split by two scans; others go through `csv-core`.

use std::io::{self, Read};

use csv_core::{ReadRecordResult, ReaderBuilder, Terminator};
use memchr::memchr;

/// Bytes that are read at once.
const AT_ONCE: usize = 1 << 17;

/// Records of a text, one after the other.
///
/// Equal to what `csv-core` makes of the same text (a test compares them); a log has few quotation marks and many cells, and without
/// them a row costs a third. The text has to end with a line feed.
pub(super) struct Records<R> {
    input: R,
    delimiter: u8,
    core: csv_core::Reader,
    buffer: Vec<u8>,
    /// The next record begins here, and the text that was read ends there.
    at: usize,
    filled: usize,
    /// Line of the present record, and line feeds passed.
    line: u64,
    passed: u64,
    /// The present record, unless it is quoted: where it begins in the buffer.
    begin: usize,
    /// Where each cell ends, counted from the beginning of the record.
    ends: Vec<usize>,
    n_cells: usize,
    /// Cells of a quoted record, one after the other.
    unquoted: Vec<u8>,
    is_quoted: bool,
}

impl<R: Read> Records<R> {
    pub(super) fn new(input: R, delimiter: u8) -> Records<R> {
        // A row ends with a line feed only; a carriage return before it is taken off here.
        let core = ReaderBuilder::new().delimiter(delimiter).terminator(Terminator::Any(b'\n')).build();
        Records {
            input,
            delimiter,
            core,
            buffer: vec![0; AT_ONCE],
            at: 0,
            filled: 0,
            line: 0,
            passed: 0,
            begin: 0,
            ends: Vec::new(),
            n_cells: 0,
            unquoted: Vec::new(),
            is_quoted: false,
        }
    }

    /// Goes on to the next record, empty lines left out; `false` after the last one.
    pub(super) fn advance(&mut self) -> io::Result<bool> {
        loop {
            let Some(length) = self.line_feed()? else { return Ok(false) };
            self.line = self.passed + 1;
            let line = &self.buffer[self.at..self.at + length];
            if memchr(b'"', line).is_some() {
                return self.quoted();
            }
            let without_return = line.strip_suffix(b"\r").unwrap_or(line).len();
            self.begin = self.at;
            self.at += length + 1;
            self.passed += 1;
            if without_return > 0 {
                self.split(without_return);
                return Ok(true);
            }
        }
    }

    pub(super) fn n_cells(&self) -> usize {
        self.n_cells
    }

    #[inline]
    pub(super) fn cell(&self, column: usize) -> &[u8] {
        let end = self.ends[..self.n_cells][column];
        if self.is_quoted {
            let cell = &self.unquoted[if column == 0 { 0 } else { self.ends[column - 1] }..end];
            return if column + 1 == self.n_cells { cell.strip_suffix(b"\r").unwrap_or(cell) } else { cell };
        }
        let begin = if column == 0 { 0 } else { self.ends[column - 1] + 1 };
        &self.buffer[self.begin + begin..self.begin + end]
    }

    /// Line on which the present record begins, from 1.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// Bytes before the next line feed; `None` if there is nothing more.
    fn line_feed(&mut self) -> io::Result<Option<usize>> {
        let mut searched = 0;
        loop {
            let unread = &self.buffer[self.at..self.filled];
            if let Some(found) = memchr(b'\n', &unread[searched..]) {
                return Ok(Some(searched + found));
            }
            searched = unread.len();
            if !self.fill()? {
                assert!(searched == 0, "invariant: the text ends with a line feed");
                return Ok(None);
            }
        }
    }

    /// Reads more text; `false` if there is none.
    fn fill(&mut self) -> io::Result<bool> {
        self.buffer.copy_within(self.at..self.filled, 0);
        self.filled -= self.at;
        self.at = 0;
        if self.filled == self.buffer.len() {
            self.buffer.resize(2 * self.buffer.len(), 0);
        }
        loop {
            match self.input.read(&mut self.buffer[self.filled..]) {
                Ok(n) => {
                    self.filled += n;
                    return Ok(n > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Finds the cells of a line without quotation marks: 64 bytes become a word with a bit for each delimiter, and only those bits are
    /// gone through. Cells are short and of any length, so a loop over bytes would guess wrong at every cell.
    fn split(&mut self, length: usize) {
        self.is_quoted = false;
        if self.ends.len() <= length {
            self.ends.resize(length + 1, 0);
        }
        let ends = &mut self.ends[..=length];
        let mut n = 0;
        for (i, bytes) in self.buffer[self.begin..self.begin + length].chunks(64).enumerate() {
            let mut bits = positions(bytes, self.delimiter);
            while bits != 0 {
                ends[n] = 64 * i + bits.trailing_zeros() as usize;
                n += 1;
                bits &= bits - 1;
            }
        }
        ends[n] = length;
        self.n_cells = n + 1;
    }

    /// A record with quotation marks, which may have line feeds inside.
    fn quoted(&mut self) -> io::Result<bool> {
        self.is_quoted = true;
        let (mut n_bytes, mut n_ends) = (0, 0);
        loop {
            let text = &self.buffer[self.at..self.filled];
            let (result, read, wrote, ended) =
                self.core.read_record(text, &mut self.unquoted[n_bytes..], &mut self.ends[n_ends..]);
            self.passed += memchr::memchr_iter(b'\n', &text[..read]).count() as u64;
            (self.at, n_bytes, n_ends) = (self.at + read, n_bytes + wrote, n_ends + ended);
            match result {
                ReadRecordResult::InputEmpty => drop(self.fill()?),
                ReadRecordResult::OutputFull => self.unquoted.resize(2 * self.unquoted.len().max(512), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len().max(32), 0),
                ReadRecordResult::Record => {
                    self.n_cells = n_ends;
                    return Ok(true);
                }
                ReadRecordResult::End => return Ok(false),
            }
        }
    }
}

/// One bit for each of at most 64 bytes: whether it is the one that is looked for.
#[inline]
fn positions(bytes: &[u8], wanted: u8) -> u64 {
    const LOW: u64 = u64::from_le_bytes([0x7f; 8]);
    // Brings the lowest bits of eight bytes together at the top.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let wanted = u64::from_le_bytes([wanted; 8]);
    let in_eight = |eight: [u8; 8]| {
        let differs = u64::from_le_bytes(eight) ^ wanted;
        // The highest bit of every byte that is zero, and no other.
        let same = !(((differs & LOW) + LOW) | differs | LOW);
        (same >> 7).wrapping_mul(GATHER) >> 56
    };
    let (eights, rest) = bytes.as_chunks::<8>();
    let mut bits = 0;
    for (i, eight) in eights.iter().enumerate() {
        bits |= in_eight(*eight) << (8 * i);
    }
    for (i, byte) in rest.iter().enumerate() {
        bits |= u64::from(u64::from(*byte) == wanted & 0xff) << (8 * eights.len() + i);
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Cells and lines by the `csv` crate, reading the whole text its own way.
    fn plainly(text: &[u8]) -> Vec<Vec<Vec<u8>>> {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .terminator(csv::Terminator::Any(b'\n'))
            .from_reader(text);
        let mut record = csv::ByteRecord::new();
        let mut out = Vec::new();
        while reader.read_byte_record(&mut record).unwrap() {
            let mut cells: Vec<Vec<u8>> = record.iter().map(<[u8]>::to_vec).collect();
            if let Some(last) = cells.last_mut()
                && last.last() == Some(&b'\r')
            {
                last.pop();
            }
            // A carriage return alone is an empty line.
            if cells != [Vec::<u8>::new()] {
                out.push(cells);
            }
        }
        out
    }

    /// A reader that hands out a few bytes at a time.
    struct Drops<'a>(&'a [u8], usize);

    impl Read for Drops<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(self.0.len()).min(out.len());
            out[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn ours(text: &[u8], at_once: usize) -> (Vec<Vec<Vec<u8>>>, Vec<u64>) {
        let mut records = Records::new(Drops(text, at_once), b',');
        let (mut out, mut lines) = (Vec::new(), Vec::new());
        while records.advance().unwrap() {
            let cells: Vec<Vec<u8>> = (0..records.n_cells()).map(|i| records.cell(i).to_vec()).collect();
            if cells != [Vec::<u8>::new()] {
                out.push(cells);
                lines.push(records.line());
            }
        }
        (out, lines)
    }

    proptest! {
        #[test]
        fn records_are_those_of_the_csv_crate(text in "[a,\"\r\n ]{0,200}", at_once in 1usize..9) {
            let text = format!("{text}\n");
            prop_assert_eq!(ours(text.as_bytes(), at_once).0, plainly(text.as_bytes()));
        }
    }

    proptest! {
        #[test]
        fn positions_are_those_of_a_loop_over_bytes(bytes in prop::collection::vec(any::<u8>(), 0..=64), wanted in any::<u8>()) {
            let mut bytes = bytes;
            bytes.iter_mut().step_by(3).for_each(|b| *b = wanted);
            let plain = bytes.iter().enumerate().fold(0, |bits, (i, b)| bits | u64::from(*b == wanted) << i);
            prop_assert_eq!(positions(&bytes, wanted), plain);
        }
    }

    #[test]
    fn lines_are_counted_through_quoted_and_empty_ones() {
        let text = b"a,b\n\n\"x\ny\",2\r\n\r\n3,\"4\"\n5,6\n";
        let (records, lines) = ours(text, 3);
        assert_eq!(records[1], [b"x\ny".to_vec(), b"2".to_vec()]);
        assert_eq!(lines, [1, 3, 6, 7]);
    }

    #[test]
    fn a_record_longer_than_what_is_read_at_once_is_whole() {
        let long = "x".repeat(3 * AT_ONCE);
        let (records, _) = ours(format!("a,{long},b\n\"{long}\",c\n").as_bytes(), usize::MAX);
        assert_eq!((records[0][1].len(), records[0].len()), (3 * AT_ONCE, 3));
        assert_eq!((records[1][0].len(), records[1].len()), (3 * AT_ONCE, 2));
    }
}
