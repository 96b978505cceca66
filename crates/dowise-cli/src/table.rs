//! Tables and numbers as they are printed for people.

use comfy_table::{CellAlignment, ContentArrangement, Table};

/// How a column is aligned.
#[derive(Clone, Copy)]
pub(crate) enum Align {
    Left,
    Right,
}

/// The widest line.
const WIDTH: u16 = 100;

/// A line under the header, nothing else; the presets of the library draw more.
const LOOK: &str = "     ──            ";

/// A table with a header, its cells broken where lines get too long; ends with a newline.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>], align: &[Align]) -> String {
    let mut table = Table::new();
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH);
    filled(table, header, rows, align)
}

/// A table as wide as it needs to be.
pub(crate) fn wide_table(header: &[&str], rows: &[Vec<String>], align: &[Align]) -> String {
    filled(Table::new(), header, rows, align)
}

fn filled(mut table: Table, header: &[&str], rows: &[Vec<String>], align: &[Align]) -> String {
    table.load_preset(LOOK).set_header(header).add_rows(rows);
    for (column, align) in table.column_iter_mut().zip(align) {
        column.set_cell_alignment(match align {
            Align::Left => CellAlignment::Left,
            Align::Right => CellAlignment::Right,
        });
    }
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// A sentence in lines that fit.
pub(crate) fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("invariant: there is always a line");
        if last.is_empty() {
            last.push_str(word);
        } else if last.chars().count() + 1 + word.chars().count() <= usize::from(WIDTH) {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.join("\n")
}

/// A count with commas; very large ones as powers of ten.
pub(crate) fn count(n: u64) -> String {
    match n {
        u64::MAX => "more than 10^19".into(),
        1_000_000_000_000.. => format!("{:.1e}", n as f64).replace('e', "·10^"),
        _ => {
            let digits = n.to_string();
            let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().map(ascii).collect();
            groups.join(",")
        }
    }
}

fn ascii(digits: &[u8]) -> &str {
    std::str::from_utf8(digits).expect("invariant: digits are ASCII")
}

/// A number with as few digits as it needs, four after the point at most.
pub(crate) fn short(x: f64) -> String {
    let rounded = (x * 1e4).round() / 1e4;
    if rounded == 0.0 { "0".into() } else { rounded.to_string() }
}

/// How one number compares with another: the same, 1/43,691 of it, or 2.1 times it.
pub(crate) fn ratio(r: f64) -> String {
    let times = |x: f64| if x < 9.95 { format!("{x:.1}") } else { count(x.round() as u64) };
    match r {
        1.0 => "1".into(),
        r if r > 0.0 && r < 1.0 => format!("1/{}", times(1.0 / r)),
        r => format!("{} times", times(r)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_048_576), "1,048,576");
        assert_eq!(count(5_000_000_000_000_000), "5.0·10^15");
        assert_eq!(count(u64::MAX), "more than 10^19");
        assert_eq!(short(0.30000000000000004), "0.3");
        assert_eq!(ratio(1.0 / 43_690.7), "1/43,691");
        assert_eq!(ratio(1.0), "1");
        assert_eq!(ratio(0.25), "1/4.0");
        assert_eq!(ratio(1.15), "1.1 times");
        assert_eq!(ratio(27.1), "27 times");
    }
}
