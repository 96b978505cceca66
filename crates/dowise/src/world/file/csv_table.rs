//! Reads CSV tables beside a world file.

use std::path::Path;

use super::node::{Node, Reader};
use super::text::text_of_table;
use crate::world::{At, Grid, GridRow, Problem, Source};

impl Reader<'_> {
    /// The CSV table that a key names.
    pub(super) fn csv(&mut self, node: &Node<'_>, what: &str) -> Option<Grid> {
        let file = self.text(node, what)?;
        let Some(dir) = self.dir else {
            let message = format!("{what} names the file {file}, but this text does not come from a file");
            let help = "read the world from a file, or say in which directory its tables are";
            self.push(Problem::error("no-file", message).help(help).at(self.place(node.span())));
            return None;
        };
        let path = dir.join(Path::new(&file));
        let text = match text_of_table(&path) {
            Ok(text) => text,
            Err(problem) => {
                let at = self.place(node.span());
                self.push(problem.at(at));
                return None;
            }
        };
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned();
        let source = self.sources.len();
        let grid = grid(&text, source);
        self.sources.push(Source { name: path.display().to_string(), text });
        match grid {
            Ok(grid) => Some(grid),
            Err(problem) => {
                self.push(*problem);
                None
            }
        }
    }
}

fn grid(text: &str, source: usize) -> Result<Grid, Box<Problem>> {
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).trim(csv::Trim::All).from_reader(text.as_bytes());
    let mut rows: Vec<GridRow> = Vec::new();
    let mut record = csv::StringRecord::new();
    loop {
        let start = reader.position().byte() as usize;
        let more = reader.read_record(&mut record);
        // The reader skips line ends and empty lines only at the next row.
        let ends = text.as_bytes().iter().skip(start).take_while(|&&b| b == b'\n' || b == b'\r').count();
        let at = Some(At { source, start: start + ends, end: reader.position().byte() as usize });
        match more {
            Ok(true) => rows.push(GridRow { cells: record.iter().map(str::to_owned).collect(), at }),
            Ok(false) => break,
            Err(error) => return Err(Box::new(Problem::error("csv", format!("not a CSV table: {error}")).at(at))),
        }
    }
    if rows.is_empty() {
        let at = Some(At { source, start: 0, end: 0 });
        let problem = Problem::error("csv", "this table is empty").help("the first line names the columns");
        return Err(Box::new(problem.at(at)));
    }
    let header = rows.remove(0);
    Ok(Grid { header: header.cells, header_at: header.at, rows })
}
