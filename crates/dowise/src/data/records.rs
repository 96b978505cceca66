//! CSV records in batches: `csv-core` splits rows, on a separate thread if there is more than one batch.

use std::io::{self, Read};
use std::sync::mpsc;
use std::thread;

use csv_core::{ReadRecordResult, ReaderBuilder, Terminator};
use memchr::memchr_iter;

/// Bytes read at once, and bytes of cells that fill a batch.
const AT_ONCE: usize = 1 << 17;
/// Batches in the queue: one is split while another is read, and one more evens out their speeds.
const WAITING: usize = 2;
/// Maximum bytes and cells of a row: an unclosed quotation mark must not consume memory for the whole file.
const LONGEST: usize = 1 << 26;
const MOST_CELLS: usize = 1 << 23;

/// Why no further row is available.
#[derive(Debug)]
pub(super) enum Broken {
    Io(io::Error),
    /// The row that begins on this line has an unclosed quotation mark.
    OpenQuote(u64),
    /// The row that begins on this line is too long.
    TooLong(u64),
}

/// Rows split together.
#[derive(Default)]
struct Batch {
    /// Concatenated cells, then spare capacity.
    text: Vec<u8>,
    n_text: usize,
    /// End of each cell relative to its row, then spare capacity.
    ends: Vec<usize>,
    n_ends: usize,
    rows: Vec<Placed>,
    /// What follows these rows: more rows (`None`), the end, or an error.
    after: Option<Result<(), Broken>>,
}

/// The position of a row.
struct Placed {
    begin: usize,
    first_end: usize,
    n_cells: usize,
    line: u64,
    last_line: u64,
}

/// Splits a text into rows.
struct Splitter {
    input: Box<dyn Read + Send>,
    core: csv_core::Reader,
    buffer: Vec<u8>,
    at: usize,
    filled: usize,
    /// Whether the last byte read ends a line, and whether the input is exhausted.
    line_ended: bool,
    over: bool,
}

impl Splitter {
    /// Fills an empty batch with the next rows.
    fn fill(&mut self, batch: &mut Batch) {
        while batch.n_text < AT_ONCE {
            match self.row(batch) {
                Ok(true) => {}
                Ok(false) => {
                    batch.after = Some(Ok(()));
                    return;
                }
                Err(broken) => {
                    batch.after = Some(Err(broken));
                    return;
                }
            }
        }
    }

    /// Splits one more row, skipping empty lines; `false` if there is none.
    fn row(&mut self, batch: &mut Batch) -> Result<bool, Broken> {
        let (begin, first_end) = (batch.n_text, batch.n_ends);
        loop {
            if self.at == self.filled && !self.over {
                self.read_more().map_err(Broken::Io)?;
            }
            let Batch { text, n_text, ends, n_ends, .. } = batch;
            let unread = &self.buffer[self.at..self.filled];
            let (result, read, wrote, ended) =
                self.core.read_record(unread, &mut text[*n_text..], &mut ends[*n_ends..]);
            (self.at, *n_text, *n_ends) = (self.at + read, *n_text + wrote, *n_ends + ended);
            // Line feeds within the row are all in its cells, and its final one has been consumed.
            let inside = || memchr_iter(b'\n', &text[begin..*n_text]).count() as u64;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull | ReadRecordResult::OutputEndsFull
                    if *n_text - begin > LONGEST || *n_ends - first_end > MOST_CELLS =>
                {
                    return Err(Broken::TooLong(self.core.line() - inside()));
                }
                ReadRecordResult::OutputFull => text.resize(2 * text.len().max(AT_ONCE), 0),
                ReadRecordResult::OutputEndsFull => ends.resize(2 * ends.len().max(1 << 12), 0),
                ReadRecordResult::End => return Ok(false),
                // Every line is terminated, so only an open quotation mark remains at the end.
                ReadRecordResult::Record if self.over => return Err(Broken::OpenQuote(self.core.line() - inside())),
                ReadRecordResult::Record => {
                    let last_line = self.core.line() - 1;
                    let (line, n_cells) = (last_line - inside(), *n_ends - first_end);
                    batch.rows.push(Placed { begin, first_end, n_cells, line, last_line });
                    return Ok(true);
                }
            }
        }
    }

    /// Reads more text; terminates the last line if the file does not.
    fn read_more(&mut self) -> io::Result<()> {
        let n = loop {
            match self.input.read(&mut self.buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        (self.at, self.filled) = (0, n);
        if n > 0 {
            self.line_ended = self.buffer[n - 1] == b'\n';
        } else if !self.line_ended {
            (self.buffer[0], self.filled, self.line_ended) = (b'\n', 1, true);
        } else {
            self.over = true;
        }
        Ok(())
    }
}

/// Where splitting happens.
enum Source {
    /// In the caller: a short text is split before a thread would start.
    Here(Box<Splitter>),
    /// In a thread, which receives used batches back.
    Apart { full: mpsc::Receiver<Batch>, used: mpsc::Sender<Batch> },
}

/// Rows of a text, one after the other.
pub(super) struct Records {
    source: Option<Source>,
    batch: Batch,
    /// The index of the current row in its batch, from 1.
    row: usize,
    begun: bool,
}

impl Records {
    pub(super) fn new(input: Box<dyn Read + Send>, delimiter: u8) -> Records {
        // A row ends with a line feed only; a preceding carriage return is removed here.
        let core = ReaderBuilder::new().delimiter(delimiter).terminator(Terminator::Any(b'\n')).build();
        let splitter =
            Splitter { input, core, buffer: vec![0; AT_ONCE], at: 0, filled: 0, line_ended: true, over: false };
        Records { source: Some(Source::Here(Box::new(splitter))), batch: Batch::default(), row: 0, begun: false }
    }

    /// Advances to the next row, skipping empty lines; `false` after the last one.
    pub(super) fn advance(&mut self) -> Result<bool, Broken> {
        self.row += 1;
        while self.row > self.batch.rows.len() {
            match self.batch.after.take() {
                Some(Ok(())) => {
                    self.batch.after = Some(Ok(()));
                    return Ok(false);
                }
                Some(Err(broken)) => {
                    self.batch.after = Some(Ok(()));
                    return Err(broken);
                }
                None => self.next_batch(),
            }
        }
        Ok(true)
    }

    fn next_batch(&mut self) {
        self.row = 1;
        let mut used = std::mem::take(&mut self.batch);
        used.clear();
        let mut source = self.source.take().expect("invariant: it is put back below");
        if self.begun
            && let Source::Here(splitter) = source
        {
            source = apart(splitter);
        }
        self.batch = match &mut source {
            Source::Here(splitter) => {
                splitter.fill(&mut used);
                used
            }
            Source::Apart { full, used: back } => {
                // A finished thread takes nothing back.
                let _ = back.send(used);
                full.recv().expect("invariant: the thread ends after a batch that says that it is the last")
            }
        };
        self.begun = true;
        self.source = Some(source);
    }

    fn placed(&self) -> &Placed {
        &self.batch.rows[self.row - 1]
    }

    pub(super) fn n_cells(&self) -> usize {
        self.placed().n_cells
    }

    #[inline]
    pub(super) fn cell(&self, column: usize) -> &[u8] {
        let row = self.placed();
        let ends = &self.batch.ends[row.first_end..][..row.n_cells];
        let begin = if column == 0 { 0 } else { ends[column - 1] };
        let cell = &self.batch.text[row.begin + begin..row.begin + ends[column]];
        if column + 1 == row.n_cells { cell.strip_suffix(b"\r").unwrap_or(cell) } else { cell }
    }

    /// First line of the current row, from 1.
    pub(super) fn line(&self) -> u64 {
        self.placed().line
    }

    /// Last line of the current row: a quoted cell may contain line feeds.
    pub(super) fn last_line(&self) -> u64 {
        self.placed().last_line
    }
}

impl Batch {
    /// Removes all rows, keeping the memory.
    fn clear(&mut self) {
        (self.n_text, self.n_ends, self.after) = (0, 0, None);
        self.rows.clear();
    }
}

/// Continues splitting in a thread; without thread support, as in WebAssembly, the caller continues.
fn apart(splitter: Box<Splitter>) -> Source {
    let (hand, handed) = mpsc::channel::<Box<Splitter>>();
    let (filled, full) = mpsc::sync_channel(WAITING);
    let (used, empty) = mpsc::channel();
    let split = move || {
        let Ok(mut splitter) = handed.recv() else { return };
        loop {
            let mut batch: Batch = empty.try_recv().unwrap_or_default();
            splitter.fill(&mut batch);
            let last = batch.after.is_some();
            // Nobody reads on if the log was dropped.
            if filled.send(batch).is_err() || last {
                return;
            }
        }
    };
    if thread::Builder::new().name("rows of a log".into()).spawn(split).is_err() {
        return Source::Here(splitter);
    }
    match hand.send(splitter) {
        Ok(()) => Source::Apart { full, used },
        Err(mpsc::SendError(splitter)) => Source::Here(splitter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Cells by the `csv` crate, as a reference.
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
            out.push(cells);
        }
        out
    }

    /// A reader that returns a few bytes at a time.
    struct Drops(Vec<u8>, usize);

    impl Read for Drops {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(self.0.len()).min(out.len());
            out[..n].copy_from_slice(&self.0[..n]);
            self.0.drain(..n);
            Ok(n)
        }
    }

    type Read3 = (Vec<Vec<Vec<u8>>>, Vec<(u64, u64)>, Option<Broken>);

    fn ours(text: &[u8], at_once: usize) -> Read3 {
        let mut records = Records::new(Box::new(Drops(text.to_vec(), at_once)), b',');
        let (mut out, mut lines) = (Vec::new(), Vec::new());
        let broken = loop {
            match records.advance() {
                Ok(true) => {
                    out.push((0..records.n_cells()).map(|i| records.cell(i).to_vec()).collect());
                    lines.push((records.line(), records.last_line()));
                }
                Ok(false) => break None,
                Err(broken) => break Some(broken),
            }
        };
        assert!(!records.advance().unwrap(), "the end is the end");
        (out, lines, broken)
    }

    proptest! {
        #[test]
        fn rows_are_those_of_the_csv_crate(text in "[a,\"\r\n ]{0,200}", at_once in 1usize..9) {
            let (rows, lines, broken) = ours(text.as_bytes(), at_once);
            let mut plain = plainly(text.as_bytes());
            if let Some(broken) = broken {
                prop_assert!(matches!(broken, Broken::OpenQuote(_)), "{:?}", broken);
                plain.pop();
            }
            prop_assert_eq!(rows, plain);
            prop_assert!(lines.windows(2).all(|w| w[0].1 < w[1].0) && lines.iter().all(|l| l.0 <= l.1), "{:?}", lines);
        }
    }

    #[test]
    fn lines_are_counted_through_quoted_and_empty_ones() {
        let text = b"a,b\n\n\"x\ny\",2\r\n\n3,\"4\"\n5,6";
        let (rows, lines, _) = ours(text, 3);
        assert_eq!(rows[1], [b"x\ny".to_vec(), b"2".to_vec()]);
        assert_eq!(lines, [(1, 1), (3, 4), (6, 6), (7, 7)]);
    }

    #[test]
    fn a_thread_splits_like_whoever_asks() {
        let mut text = String::new();
        for i in 0..60_000 {
            text += &format!("{i},\"a\nb\",{}\n", i % 7);
        }
        text += "\"open,1\n";
        let (rows, lines, broken) = ours(text.as_bytes(), usize::MAX);
        assert_eq!(rows, plainly(text.as_bytes())[..60_000]);
        assert!(lines.iter().enumerate().all(|(i, l)| *l == (2 * i as u64 + 1, 2 * i as u64 + 2)));
        assert!(matches!(broken, Some(Broken::OpenQuote(120_001))), "{broken:?}");
    }

    #[test]
    fn what_fails_on_the_way_is_said_after_the_rows_before_it() {
        struct Fails;
        impl Read for Fails {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the disk is gone"))
            }
        }
        let text = "1,2\n".repeat(100_000);
        let mut records = Records::new(Box::new(Drops(text.into(), usize::MAX).chain(Fails)), b',');
        for _ in 0..100_000 {
            assert!(records.advance().unwrap());
        }
        assert!(matches!(records.advance(), Err(Broken::Io(e)) if e.to_string() == "the disk is gone"));
    }

    #[test]
    fn a_row_longer_than_what_is_read_at_once_is_whole() {
        let long = "x".repeat(3 * AT_ONCE);
        let (rows, _, _) = ours(format!("a,{long},b\n\"{long}\",c\n").as_bytes(), usize::MAX);
        assert_eq!((rows[0][1].len(), rows[0].len()), (3 * AT_ONCE, 3));
        assert_eq!((rows[1][0].len(), rows[1].len()), (3 * AT_ONCE, 2));
    }

    #[test]
    fn a_quotation_mark_that_is_never_closed_does_not_take_all_memory() {
        let begin = io::Cursor::new(b"a,b\n1,2\n3,\"4\n".to_vec());
        let mut records = Records::new(Box::new(begin.chain(io::repeat(b'x'))), b',');
        assert!(records.advance().unwrap() && records.advance().unwrap());
        assert!(matches!(records.advance(), Err(Broken::TooLong(3))));
    }
}
