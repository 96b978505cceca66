//! Tables and numbers as they are printed for people.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width};
use dowise::messages::grouped;
use dowise::tolerance::PRINTED;

/// How a column is aligned.
#[derive(Clone, Copy)]
pub(crate) enum Align {
    Left,
    Right,
}

/// The widest line of text, and of tables where there is no terminal.
const WIDTH: usize = 100;

/// The narrowest that anything is laid out for.
const NARROWEST: usize = 40;

/// A line under the header, nothing else; the presets of the library draw more.
const LOOK: &str = "     ──            ";

/// A table with a header, its cells broken where lines get too long; ends with a newline. Where not even single words fit beside
/// each other, the cells of a row stand below each other.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>], align: &[Align]) -> String {
    if room(&longest_words(header, rows)) > width() {
        return records(header, rows, width());
    }
    let mut table = Table::new();
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width() as u16);
    filled(table, header, rows, align)
}

/// A table as wide as it needs to be, or as the terminal is.
pub(crate) fn wide_table(header: &[&str], rows: &[Vec<String>], align: &[Align]) -> String {
    let mut table = Table::new();
    if let Some(columns) = columns() {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(columns.min(usize::from(u16::MAX)) as u16);
    }
    filled(table, header, rows, align)
}

/// Each row as a block of lines, a name and its cell on each.
fn records(header: &[&str], rows: &[Vec<String>], width: usize) -> String {
    let names = header.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let block = |row: &Vec<String>| -> String {
        let cells = header.iter().zip(row).flat_map(|(name, cell)| {
            let lines = wrapped_to(cell, width.saturating_sub(names + 3).max(1));
            let named = |(i, line): (usize, &str)| {
                format!(" {:names$}  {line}", if i == 0 { name } else { "" }).trim_end().to_owned() + "\n"
            };
            lines.lines().enumerate().map(named).collect::<Vec<_>>()
        });
        cells.collect()
    };
    rows.iter().map(block).collect::<Vec<_>>().join("\n")
}

/// How wide a line of text may be.
pub(crate) fn width() -> usize {
    columns().map_or(WIDTH, |columns| columns.min(WIDTH))
}

/// Whether a table would be too wide for the terminal.
pub(crate) fn is_too_wide(header: &[&str], rows: &[Vec<String>]) -> bool {
    let length = |text: &str| text.chars().count();
    let of_column = |i: usize| rows.iter().filter_map(|row| row.get(i)).map(|cell| length(cell)).max().unwrap_or(0);
    let needed: usize = header.iter().enumerate().map(|(i, name)| length(name).max(of_column(i)) + 3).sum();
    columns().is_some_and(|columns| needed > columns)
}

/// How wide standard output is: the terminal, or what COLUMNS says of it.
fn columns() -> Option<usize> {
    let stated = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse::<usize>().ok());
    let terminal = || terminal_size::terminal_size().map(|(terminal_size::Width(columns), _)| usize::from(columns));
    let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stdout());
    stated.or_else(|| is_terminal.then(terminal).flatten()).filter(|&n| n > 0).map(|n| n.max(NARROWEST))
}

fn filled(mut table: Table, header: &[&str], rows: &[Vec<String>], align: &[Align]) -> String {
    table.load_preset(LOOK).set_header(header).add_rows(rows);
    let least = least_widths(header, rows, table.width().map(usize::from));
    for ((column, align), least) in table.column_iter_mut().zip(align).zip(least) {
        // With a blank on each side.
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least as u16 + 2)));
        column.set_cell_alignment(match align {
            Align::Left => CellAlignment::Left,
            Align::Right => CellAlignment::Right,
        });
    }
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The least width of every column in which its cells are broken between words and not within them, as far as there is room.
fn least_widths(header: &[&str], rows: &[Vec<String>], most: Option<usize>) -> Vec<usize> {
    let mut least = longest_words(header, rows);
    let needed = room(&least);
    for _ in 0..most.map_or(0, |most| needed.saturating_sub(most)) {
        if let Some(widest) = least.iter_mut().max() {
            *widest -= usize::from(*widest > 1);
        }
    }
    least
}

/// The longest word of every column.
fn longest_words(header: &[&str], rows: &[Vec<String>]) -> Vec<usize> {
    let longest = |i: usize| {
        let cells = rows.iter().filter_map(|row| row.get(i)).map(String::as_str).chain(header.get(i).copied());
        cells.flat_map(str::split_whitespace).map(|word| word.chars().count()).max().unwrap_or(0)
    };
    (0..header.len()).map(longest).collect()
}

/// How wide a table with such columns is: three blanks between them, one at each end.
fn room(columns: &[usize]) -> usize {
    (columns.iter().sum::<usize>() + 3 * columns.len()).saturating_sub(1)
}

/// Sentences in lines that fit; lines that are there stay lines.
pub(crate) fn wrapped(text: &str) -> String {
    wrapped_to(text, width())
}

fn wrapped_to(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.lines() {
        lines.push(String::new());
        for word in paragraph.split_whitespace() {
            let last = lines.last_mut().expect("invariant: there is always a line");
            if last.is_empty() {
                last.push_str(word);
            } else if last.chars().count() + 1 + word.chars().count() <= width {
                last.push(' ');
                last.push_str(word);
            } else {
                lines.push(word.to_owned());
            }
        }
    }
    lines.join("\n")
}

/// A count with commas; very large ones as powers of ten.
pub(crate) fn count(n: u64) -> String {
    match n {
        u64::MAX => "more than 10^19".into(),
        1_000_000_000_000.. => format!("{:.1e}", n as f64).replace('e', "·10^"),
        _ => grouped(n),
    }
}

/// What the value of a policy is summed over: `an episode of at most 14 steps, discounted by 0.97 a step`.
pub(crate) fn episode(world: &dowise::World) -> String {
    let at_most = if world.ends().is_some() { "at most " } else { "" };
    let discount = match world.discount() {
        1.0 => String::new(),
        discount => format!(", discounted by {discount} a step"),
    };
    format!("an episode of {at_most}{}{discount}", steps(world.horizon()))
}

/// The length of an episode.
pub(crate) fn steps(n: impl TryInto<u64>) -> String {
    match n.try_into().unwrap_or(u64::MAX) {
        1 => "1 step".to_owned(),
        n => format!("{n} steps"),
    }
}

/// A number with as few digits as it needs, four after the point at most.
pub(crate) fn short(x: f64) -> String {
    let rounded = (x * 1e4).round() / 1e4;
    if rounded == 0.0 { "0".into() } else { rounded.to_string() }
}

/// How amounts that belong together are printed: with digits after the point, or as powers of ten where these would show
/// nothing but zeros, or digits that nobody reads.
#[derive(Clone, Copy)]
pub(crate) struct Amounts {
    /// The greatest of them.
    size: f64,
}

impl Amounts {
    pub(crate) fn of(amounts: impl IntoIterator<Item = f64>) -> Amounts {
        Amounts { size: amounts.into_iter().fold(0.0, |size, x| x.abs().max(size)) }
    }

    /// The greatest of them, without its sign.
    pub(crate) fn size(self) -> f64 {
        self.size
    }

    /// With as few digits as it needs.
    pub(crate) fn short(self, x: f64) -> String {
        let is_small = x.abs() < 5e-5 && x.abs() > PRINTED * self.size;
        if is_small { format!("{x:.1e}") } else { short(x) }
    }

    /// With four digits after the point.
    pub(crate) fn show(self, x: f64) -> String {
        self.with(4, x)
    }

    /// With this number of digits after the point.
    pub(crate) fn with(self, digits: usize, x: f64) -> String {
        if self.size == 0.0 || (1e-3..1e12).contains(&self.size) || !x.is_finite() {
            let text = format!("{x:.digits$}");
            // What rounds to zero has no sign.
            let is_zero = text.starts_with('-') && !text.contains(|c: char| c.is_ascii_digit() && c != '0');
            return if is_zero && x.is_finite() { text[1..].to_owned() } else { text };
        }
        // What is left of a difference of two such amounts is rounding.
        if x.abs() <= PRINTED * self.size { "0".into() } else { format!("{x:.4e}") }
    }
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
    fn cells_stand_below_each_other_where_no_table_fits() {
        let rows = [["1", "mood=low", "antibiotics=yes"], ["2", "mood=high", "antibiotics=no"]]
            .map(|row| row.map(str::to_owned).to_vec());
        let expected = " stage  1\n state  mood=low\n do     antibiotics=yes\n\n stage  2\n state  mood=high\n do     antibiotics=no\n";
        assert_eq!(records(&["stage", "state", "do"], &rows, 25), expected);
        assert_eq!(records(&["do"], &[vec!["a=1 b=2".into()]], 8), " do  a=1\n     b=2\n");
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_048_576), "1,048,576");
        assert_eq!(count(5_000_000_000_000_000), "5.0·10^15");
        assert_eq!(count(u64::MAX), "more than 10^19");
        assert_eq!(short(0.30000000000000004), "0.3");
        let shown = |amounts: [f64; 3]| amounts.map(|x| Amounts::of(amounts).show(x));
        assert_eq!(shown([0.5, 0.00012, 1e-17]), ["0.5000", "0.0001", "0.0000"]);
        assert_eq!(shown([-0.5, -0.00012, -1e-17]), ["-0.5000", "-0.0001", "0.0000"]);
        assert_eq!(shown([3e-5, 2.5e-5, 1e-21]), ["3.0000e-5", "2.5000e-5", "0"]);
        assert_eq!(shown([-2e13, 5.0, 0.0]), ["-2.0000e13", "5.0000e0", "0"]);
        assert_eq!(
            [2e-9, 2.5e-9, 0.5, 1e-17].map(|x: f64| Amounts::of([x.max(0.01)]).short(x)),
            ["2.0e-9", "2.5e-9", "0.5", "0"]
        );
        assert_eq!(shown([0.0; 3]), ["0.0000"; 3]);
        assert_eq!(shown([5e-324, 0.0, 0.0])[0], "4.9407e-324");
        assert_eq!([0.4, 4e-4].map(|x| Amounts::of([x]).with(1, x)), ["0.4", "4.0000e-4"]);
        assert_eq!(ratio(1.0 / 43_690.7), "1/43,691");
        assert_eq!(ratio(1.0), "1");
        assert_eq!(ratio(0.25), "1/4.0");
        assert_eq!(ratio(1.15), "1.1 times");
        assert_eq!(ratio(27.1), "27 times");
    }
}
