//! Tabular sources of a log: named columns and text cells, from CSV files or columns in memory.

use super::LogError;

/// Rows of cells under named columns, in sequence.
///
/// A frame, a query or a file becomes a log through these methods.
pub trait Table {
    /// Names of the columns.
    fn columns(&self) -> &[String];

    /// Advances to the next row; `false` after the last one.
    fn advance(&mut self) -> Result<bool, LogError>;

    /// Number of cells of the current row.
    fn n_cells(&self) -> usize;

    /// A cell of the current row; an empty one is missing.
    fn cell(&self, column: usize) -> &[u8];

    /// Line of the current row, from 1, or its position without a file.
    fn line(&self) -> u64;

    /// Last line of the current row, if it may differ.
    fn last_line(&self) -> u64 {
        self.line()
    }
}

impl<T: Table + ?Sized> Table for Box<T> {
    fn columns(&self) -> &[String] {
        (**self).columns()
    }

    fn advance(&mut self) -> Result<bool, LogError> {
        (**self).advance()
    }

    fn n_cells(&self) -> usize {
        (**self).n_cells()
    }

    fn cell(&self, column: usize) -> &[u8] {
        (**self).cell(column)
    }

    fn line(&self) -> u64 {
        (**self).line()
    }

    fn last_line(&self) -> u64 {
        (**self).last_line()
    }
}

/// Categorical columns in memory: for each a list of labels, and for each row the index of its label.
///
/// Frames store categorical columns like this; a column with distinct labels fits as well.
///
/// ```
/// use dowise::data::{Coded, LogReader};
/// use dowise::worlds;
/// let world = worlds::world("river-swim", &[])?;
/// let column = |name: &str, labels: &[&str], codes: [u32; 2]| {
///     (name.to_owned(), labels.iter().map(|&l| l.to_owned()).collect::<Vec<_>>(), codes.map(Some).to_vec())
/// };
/// let table = Coded::new(vec![
///     column("episode", &["a"], [0, 0]),
///     column("stage", &["1", "2"], [0, 1]),
///     column("position", &["0", "1"], [0, 1]),
///     column("effort", &["3"], [0, 0]),
///     column("stroke", &["2"], [0, 0]),
/// ]).expect("columns of one length");
/// let mut steps = 0;
/// let report = LogReader::new(table, &world, None)?.steps(|_| { steps += 1; std::ops::ControlFlow::Continue(()) })?;
/// assert_eq!((steps, report.next_missing), (2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Coded {
    names: Vec<String>,
    columns: Vec<(Vec<String>, Vec<Option<u32>>)>,
    /// The current row, from 1; 0 before the first.
    row: usize,
    rows: usize,
}

impl Coded {
    /// Columns as (name, labels, label index of each row or `None` for missing); `None` if the columns differ in length
    /// or an index has no label.
    pub fn new(columns: Vec<(String, Vec<String>, Vec<Option<u32>>)>) -> Option<Coded> {
        let rows = columns.first().map_or(0, |(_, _, codes)| codes.len());
        let fits = |(_, labels, codes): &(String, Vec<String>, Vec<Option<u32>>)| {
            codes.len() == rows && codes.iter().flatten().all(|&code| (code as usize) < labels.len())
        };
        if !columns.iter().all(fits) {
            return None;
        }
        let (names, columns) = columns.into_iter().map(|(name, labels, codes)| (name, (labels, codes))).unzip();
        Some(Coded { names, columns, row: 0, rows })
    }
}

impl Table for Coded {
    fn columns(&self) -> &[String] {
        &self.names
    }

    fn advance(&mut self) -> Result<bool, LogError> {
        self.row += usize::from(self.row <= self.rows);
        Ok(self.row <= self.rows)
    }

    fn n_cells(&self) -> usize {
        self.names.len()
    }

    fn cell(&self, column: usize) -> &[u8] {
        let (labels, codes) = &self.columns[column];
        codes[self.row - 1].map_or(&[], |code| labels[code as usize].as_bytes())
    }

    fn line(&self) -> u64 {
        self.row as u64
    }
}
