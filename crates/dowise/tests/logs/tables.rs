//! Every table keeps the contract of the trait: columns by name, rows in order, empty cells for missing values.

use std::io::Write;

use dowise::data::{Coded, Table};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::common::table;

const COLUMNS: [&str; 3] = ["episode", "mood", "note"];

/// A delimiter, a line break and a missing value are among the cells.
const ROWS: [[&str; 3]; 4] = [["1", "low", "a,b;c"], ["1", "", "two\nlines"], ["2", "hoch ü", ""], ["2", "low", "end"]];

/// Reads a table to its end: it has these columns and rows, and nothing after them.
fn keeps_the_table_contract<T: Table>(what: &str, mut table: T, rows: &[[&str; 3]]) {
    assert_eq!(table.columns(), COLUMNS, "{what}: columns are known before the first row");
    let mut line = 0;
    for row in rows {
        assert!(table.advance().unwrap(), "{what}: a row before {row:?}");
        assert_eq!(table.n_cells(), row.len(), "{what}");
        for (column, cell) in row.iter().enumerate() {
            assert_eq!(table.cell(column), cell.as_bytes(), "{what}: {row:?}");
            assert_eq!(table.cell(column), cell.as_bytes(), "{what}: a cell may be read again");
        }
        assert!(table.line() > line, "{what}: lines count from 1 and grow");
        assert!(table.last_line() >= table.line(), "{what}: a row ends where it begins, or later");
        line = table.last_line();
        assert_eq!(table.columns(), COLUMNS, "{what}: columns do not change");
    }
    for _ in 0..3 {
        assert!(!table.advance().unwrap(), "{what}: nothing comes after the last row");
    }
    assert_eq!(table.columns(), COLUMNS, "{what}");
}

fn csv(delimiter: char, rows: &[[&str; 3]]) -> String {
    let quoted = |cell: &&str| match cell.contains([',', ';', '\t', '|', '\n']) {
        true => format!("\"{cell}\""),
        false => (*cell).to_owned(),
    };
    let lines = std::iter::once(&COLUMNS).chain(rows);
    lines.map(|row| row.iter().map(quoted).collect::<Vec<_>>().join(&delimiter.to_string()) + "\n").collect()
}

fn gzip(text: &str) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

/// A label for every row, and none where the cell is empty.
fn coded(rows: &[[&str; 3]]) -> Coded {
    let column = |i: usize| {
        let labels = rows.iter().map(|row| row[i].to_owned()).collect();
        let codes = rows.iter().enumerate().map(|(k, row)| (!row[i].is_empty()).then_some(k as u32)).collect();
        (COLUMNS[i].to_owned(), labels, codes)
    };
    Coded::new((0..COLUMNS.len()).map(column).collect()).unwrap()
}

#[test]
fn csv_files_keep_the_table_contract() {
    for rows in [&ROWS[..], &[]] {
        for delimiter in [',', ';', '\t', '|'] {
            let text = csv(delimiter, rows);
            keeps_the_table_contract(&format!("by {delimiter:?}"), table(text.clone()).unwrap(), rows);
            keeps_the_table_contract(&format!("gzip by {delimiter:?}"), table(gzip(&text)).unwrap(), rows);
        }
        let text = csv(';', rows);
        keeps_the_table_contract("with a stated delimiter", table(format!("sep=;\n{text}")).unwrap(), rows);
        keeps_the_table_contract("with a byte order mark", table(format!("\u{feff}{text}")).unwrap(), rows);
        keeps_the_table_contract("with empty lines", table(format!("{text}\n \n")).unwrap(), rows);
        keeps_the_table_contract("without a last line feed", table(text.trim_end()).unwrap(), rows);
        keeps_the_table_contract("by Windows", table(text.replace(";end\n", ";end\r\n")).unwrap(), rows);
    }
}

#[test]
fn columns_in_memory_keep_the_table_contract() {
    for rows in [&ROWS[..], &[]] {
        keeps_the_table_contract("coded", coded(rows), rows);
    }
}

#[test]
fn boxed_tables_keep_the_table_contract() {
    let boxed: [(&str, Box<dyn Table>); 2] =
        [("a boxed file", Box::new(table(csv(',', &ROWS)).unwrap())), ("boxed columns", Box::new(coded(&ROWS)))];
    for (what, table) in boxed {
        keeps_the_table_contract(what, table, &ROWS);
    }
    // The line on which a row ends is that of the table inside.
    let mut boxed: Box<dyn Table> = Box::new(table(csv(',', &ROWS)).unwrap());
    assert!(boxed.advance().unwrap() && boxed.advance().unwrap());
    assert_eq!((boxed.line(), boxed.last_line()), (3, 4));
}
