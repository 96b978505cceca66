//! Puts rows of numbers where they belong: by the labels of the parents' values, with everything that is wrong said by name.

use std::borrow::Cow;

use dowise::messages::nearest;
use dowise::world::{At, Problem};

use crate::findings::{Draft, some_of};
use crate::limits::{MOST_ENTRIES, MOST_VALUES};

/// How far a row may be off 1: networks in use are rounded to a few digits. Such rows are rescaled when a world is made.
pub const ROW_TOLERANCE: f64 = 0.01;
/// Rows that are off by less than this are as exact as numbers are.
pub(crate) const EXACT: f64 = 1e-6;

/// A number with its place.
pub(crate) type Number = (f64, Option<At>);
/// A name with its place.
pub(crate) type Name<'t> = (Cow<'t, str>, Option<At>);

/// The numbers of one variable as a file states them.
#[derive(Default)]
pub(crate) struct Rows<'t> {
    /// (parents' values, numbers, place)
    pub(crate) labelled: Vec<(Vec<Name<'t>>, Vec<Number>, Option<At>)>,
    /// All numbers by position: the variable's first value first, the last parent fastest (BIF).
    pub(crate) table: Option<(Vec<Number>, Option<At>)>,
    /// All numbers by position: the rows one after another (XMLBIF).
    pub(crate) by_rows: Option<(Vec<Number>, Option<At>)>,
    /// For all rows that are not given.
    pub(crate) default: Option<(Vec<Number>, Option<At>)>,
}

/// Fills the tables of a network in the making.
pub(crate) struct Tables<'d> {
    draft: &'d mut Draft,
    stated: Vec<bool>,
    entries: u128,
    /// Rows that do not sum to 1 exactly: how many, and the one that is furthest off (sum, place, where).
    rounded: usize,
    furthest: Option<(f64, Option<At>, String)>,
}

impl<'d> Tables<'d> {
    pub(crate) fn new(draft: &'d mut Draft) -> Tables<'d> {
        let stated = vec![false; draft.network.variables.len()];
        Tables { draft, stated, entries: 0, rounded: 0, furthest: None }
    }

    fn push(&mut self, code: &'static str, message: String, help: &str, at: Option<At>) {
        self.draft.findings.push(Problem::error(code, message).help(help).at(at));
    }

    /// P(first name | other names).
    pub(crate) fn add(&mut self, names: &[Name<'_>], rows: Rows<'_>) {
        let (child_name, at) = &names[0];
        let Some(child) = self.draft.find(child_name, *at, "the variable") else { return };
        if std::mem::replace(&mut self.stated[child], true) {
            let message = format!("there are two tables for \"{child_name}\"");
            return self.push("two-forms", message, "keep one of them", *at);
        }
        let mut complete = true;
        for (name, at) in &names[1..] {
            let Some(parent) = self.draft.find(name, *at, "the parent") else {
                complete = false;
                continue;
            };
            if self.draft.network.variables[child].parents.contains(&parent) {
                let message = format!("\"{name}\" stands twice among the parents of \"{child_name}\"");
                self.push("duplicate-name", message, "take one out", *at);
                complete = false;
            }
            self.draft.edge(parent, child, *at);
        }
        if complete && names.len() == 1 + self.draft.network.variables[child].parents.len() {
            self.fill(child, rows, *at);
        }
    }

    fn size(&self, variable: usize) -> usize {
        self.draft.network.variables[variable].values.len()
    }

    fn fill(&mut self, child: usize, rows: Rows<'_>, at: Option<At>) {
        let parents = self.draft.network.variables[child].parents.clone();
        let width = self.size(child);
        let sizes: Vec<usize> = parents.iter().map(|&p| self.size(p)).collect();
        let given =
            rows.table.is_some() || rows.by_rows.is_some() || rows.default.is_some() || !rows.labelled.is_empty();
        if !given || width == 0 || sizes.contains(&0) {
            return; // no numbers, or no values, which is reported where the variable is declared
        }
        let n_rows = sizes.iter().fold(1u128, |n, &size| n.saturating_mul(size as u128));
        self.entries = self.entries.saturating_add(n_rows.saturating_mul(width as u128));
        if self.entries > MOST_ENTRIES {
            let name = &self.draft.network.variables[child].name;
            let message = format!("with the table of \"{name}\" all tables have more than {MOST_ENTRIES} entries");
            return self.push("too-large", message, "fewer parents, or fewer values of each", at);
        }
        let n_rows = n_rows as usize;
        let mut table = vec![f64::NAN; n_rows * width];
        let positional = match (rows.table, rows.by_rows) {
            (Some((numbers, at)), _) => self.transposed(child, n_rows, &numbers, at).map(|t| (t, at)),
            (None, Some((numbers, at))) => {
                self.counted(child, n_rows, &numbers, at).then(|| (numbers.into_iter().map(|n| n.0).collect(), at))
            }
            (None, None) => Some((vec![], None)),
        };
        let Some((positional, positional_at)) = positional else { return };
        if !positional.is_empty() {
            table.copy_from_slice(&positional);
        }
        let mut places = vec![positional_at; if parents.is_empty() || !positional.is_empty() { 1 } else { n_rows }];
        let mut sound = true;
        for (labels, numbers, at) in &rows.labelled {
            let row = self.row(child, &parents, labels, *at);
            let Some(row) = row.filter(|_| self.numbers(child, numbers, width, *at)) else {
                sound = false;
                continue;
            };
            let cells = &mut table[row * width..(row + 1) * width];
            if !cells[0].is_nan() {
                let message = format!("the row {} of \"{}\" stands twice", self.labels(child, row), self.name(child));
                self.push("duplicate-row", message, "keep one of them", *at);
                sound = false;
                continue;
            }
            cells.iter_mut().zip(numbers).for_each(|(cell, number)| *cell = number.0);
            if let Some(place) = places.get_mut(row) {
                *place = *at;
            }
        }
        if let Some((numbers, at)) = &rows.default {
            if !self.numbers(child, numbers, width, *at) {
                return;
            }
            for cells in table.chunks_mut(width).filter(|cells| cells[0].is_nan()) {
                cells.iter_mut().zip(numbers).for_each(|(cell, number)| *cell = number.0);
            }
        }
        if !sound {
            return;
        }
        let missing: Vec<usize> = (0..n_rows).filter(|&row| table[row * width].is_nan()).collect();
        if let Some(&first) = missing.first() {
            let more = if missing.len() > 1 { format!(" and {} more", missing.len() - 1) } else { String::new() };
            let message = format!("\"{}\" has no row {}{more}", self.name(child), self.labels(child, first));
            return self.push("missing-row", message, "add it, or a `default` for all rows that are not given", at);
        }
        for (row, cells) in table.chunks(width).enumerate() {
            self.sum(child, row, cells, places.get(row).copied().flatten().or(at));
        }
        self.draft.network.variables[child].table = Some(table);
    }

    fn name(&self, variable: usize) -> &str {
        &self.draft.network.variables[variable].name
    }

    /// A row by its labels, such as `(yes, no)`.
    fn labels(&self, child: usize, row: usize) -> String {
        format!("({})", self.draft.network.row_values(child, row).join(", "))
    }

    /// The row that labels stand for.
    fn row(&mut self, child: usize, parents: &[usize], labels: &[Name<'_>], at: Option<At>) -> Option<usize> {
        if labels.len() != parents.len() {
            let names: Vec<&str> = parents.iter().map(|&p| self.name(p)).collect();
            let message = format!(
                "a row of \"{}\" has {} labels; it needs {}, one for each parent: {}",
                self.name(child),
                labels.len(),
                parents.len(),
                if names.is_empty() { "there is none".to_owned() } else { some_of(&names) }
            );
            let help = if names.is_empty() { "write `table` and the numbers" } else { "label the row by all of them" };
            self.push("labels", message, help, at);
            return None;
        }
        let mut row = Some(0);
        for ((label, at), &parent) in labels.iter().zip(parents) {
            let values = &self.draft.network.variables[parent].values;
            let found = values.iter().position(|v| v == label.as_ref());
            if found.is_none() {
                let help = match nearest(label, values.iter().map(String::as_str)) {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("its values are {}", some_of(values)),
                };
                let message = format!("\"{label}\" is not a value of \"{}\"", self.name(parent));
                self.push("unknown-value", message, &help, *at);
            }
            row = row.zip(found).map(|(row, value)| row * self.size(parent) + value);
        }
        row
    }

    /// Whether there is a probability for each value.
    fn numbers(&mut self, child: usize, numbers: &[Number], width: usize, at: Option<At>) -> bool {
        if numbers.len() != width {
            let message = format!(
                "\"{}\" has {width} values, but there are {} probabilities here",
                self.name(child),
                numbers.len()
            );
            self.push("count", message, "write one for each value, in their order", at);
            return false;
        }
        self.probabilities(child, numbers)
    }

    fn probabilities(&mut self, child: usize, numbers: &[Number]) -> bool {
        let wrong = numbers.iter().find(|(p, _)| !(0.0..=1.0 + EXACT).contains(p));
        if let Some(&(p, at)) = wrong {
            let message = format!("{p} among the numbers of \"{}\" is not a probability", self.name(child));
            self.push("probability", message, "probabilities go from 0 to 1", at);
        }
        wrong.is_none()
    }

    /// Whether a whole table has the right number of probabilities.
    fn counted(&mut self, child: usize, n_rows: usize, numbers: &[Number], at: Option<At>) -> bool {
        let width = self.size(child);
        if numbers.len() != n_rows * width {
            let message = format!(
                "the table of \"{}\" has {} numbers; it needs {}, for {width} values and {n_rows} combination{} of parents",
                self.name(child),
                numbers.len(),
                n_rows * width,
                if n_rows == 1 { "" } else { "s" }
            );
            self.push("count", message, "write one for each combination, or rows with labels", at);
            return false;
        }
        self.probabilities(child, numbers)
    }

    /// A BIF `table`, in which the variable runs slowest, as rows.
    fn transposed(&mut self, child: usize, n_rows: usize, numbers: &[Number], at: Option<At>) -> Option<Vec<f64>> {
        if !self.counted(child, n_rows, numbers, at) {
            return None;
        }
        let width = self.size(child);
        let as_rows: Vec<f64> = (0..n_rows * width).map(|i| numbers[(i % width) * n_rows + i / width].0).collect();
        let as_written: Vec<f64> = numbers.iter().map(|n| n.0).collect();
        let sums =
            |table: &[f64]| table.chunks(width).all(|row| (row.iter().sum::<f64>() - 1.0).abs() <= ROW_TOLERANCE);
        if n_rows > 1 && sums(&as_written) && as_written != as_rows {
            let name = self.name(child).to_owned();
            if sums(&as_rows) {
                let message = format!("the `table` of \"{name}\" could be read by columns or by rows");
                let problem = Problem::warning("ambiguous", message);
                let help = "it is read as BIF defines it: first all numbers of the variable's first value; rows with \
                            labels leave no doubt";
                self.draft.findings.push(problem.help(help).at(at));
            } else {
                let message = format!(
                    "the `table` of \"{name}\" sums to 1 only if read row by row, but BIF begins with all numbers of \
                     the variable's first value"
                );
                self.push("ambiguous", message, "write rows with labels, such as `(yes, no) 0.2, 0.8;`", at);
                return None;
            }
        }
        Some(as_rows)
    }

    fn sum(&mut self, child: usize, row: usize, cells: &[f64], at: Option<At>) {
        let sum: f64 = cells.iter().sum();
        let off = (sum - 1.0).abs();
        if off <= EXACT {
            return;
        }
        let what = if self.draft.network.variables[child].parents.is_empty() {
            format!("the probabilities of \"{}\"", self.name(child))
        } else {
            format!("the row {} of \"{}\"", self.labels(child, row), self.name(child))
        };
        if off > ROW_TOLERANCE {
            let message =
                format!("{what} sums to {}, not 1", short(sum)).replace("probabilities of", "distribution of");
            self.push("row-sum", message, "correct it; rows are rescaled only if they are off by at most 0.01", at);
            return;
        }
        self.rounded += 1;
        if self.furthest.as_ref().is_none_or(|(furthest, _, _)| off > (furthest - 1.0).abs()) {
            self.furthest = Some((sum, at, what));
        }
    }

    /// Says what holds for all tables together.
    pub(crate) fn finish(self) {
        for (variable, &at) in self.draft.network.variables.iter().zip(&self.draft.places) {
            if variable.values.len() > MOST_VALUES {
                let message = format!("\"{}\" has more than {MOST_VALUES} values", variable.name);
                self.draft.findings.push(Problem::error("too-large", message).help("join some of them").at(at));
            }
        }
        if let Some((sum, at, what)) = self.furthest {
            let rows = if self.rounded == 1 { "1 row does".to_owned() } else { format!("{} rows do", self.rounded) };
            let message = format!("{rows} not sum to 1: furthest off, {what} sums to {}", short(sum));
            let help = "a world made from this network has them rescaled";
            self.draft.findings.push(Problem::note("row-sum", message).help(help).at(at));
        }
    }
}

/// A sum with as many digits as people read.
fn short(sum: f64) -> String {
    let text = format!("{sum:.8}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
