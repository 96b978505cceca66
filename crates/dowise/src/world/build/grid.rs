//! Tables with named columns (CSV files): every configuration of parents exactly once, in any order.

use std::collections::HashMap;

use super::check::Check;
use super::distribution::Mended;
use super::forms::Target;
use crate::Space;
use crate::messages::{nearest, some_of};
use crate::world::{At, Grid, Located, Problem, VarId};

const NOBODY: u32 = u32::MAX;

impl Check {
    /// A mechanism's table: one column for each parent, one for each (joint) value of the children.
    pub(crate) fn grid(&mut self, grid: &Grid, target: &Target<'_>) -> Option<Vec<f64>> {
        let names = self.column_names(target.children);
        let what = format!("the table of {}", target.names);
        let columns = self.columns(grid, target.parents, &names, &what)?;
        let before = self.errors();
        let mut table = vec![0.0; target.space.len() * target.columns];
        let mut mended = Mended::default();
        self.fill(grid, &columns, target.parents, &target.space, &what, |check, index, numbers, at| {
            check.distribution(numbers, |check| target.row_at(check, index), at, &mut mended);
            table[index * target.columns..][..target.columns].copy_from_slice(numbers);
        });
        self.note_mended(&what, &mended);
        (self.errors() == before).then_some(table)
    }

    /// A reward term's table: one column for each variable of its scope, and `value`.
    pub(crate) fn reward_grid(&mut self, grid: &Grid, scope: &[VarId], space: &Space, what: &str) -> Option<Vec<f64>> {
        let columns = self.columns(grid, scope, &["value".to_owned()], what)?;
        let before = self.errors();
        let mut table = vec![0.0; space.len()];
        self.fill(grid, &columns, scope, space, what, |check, index, numbers, at| {
            check.finite(numbers[0], &format!("a value of {what}"), at);
            table[index] = numbers[0];
        });
        (self.errors() == before).then_some(table)
    }

    /// A table of numbers: one column for each variable of the scope, and these columns; with the location of each row.
    pub(crate) fn number_grid(
        &mut self,
        grid: &Grid,
        scope: &[VarId],
        numbers: &[String],
        space: &Space,
        what: &str,
    ) -> Option<(Vec<f64>, Vec<Option<At>>)> {
        let columns = self.columns(grid, scope, numbers, what)?;
        let before = self.errors();
        let mut table = vec![0.0; space.len() * numbers.len()];
        let mut places = vec![None; space.len()];
        self.fill(grid, &columns, scope, space, what, |_, index, found, at| {
            table[index * numbers.len()..][..numbers.len()].copy_from_slice(found);
            places[index] = at;
        });
        (self.errors() == before).then_some((table, places))
    }

    /// `no`, `yes` for one child; `a|b`, `a|c`, … for a joint table.
    fn column_names(&self, children: &[VarId]) -> Vec<String> {
        let mut names = vec![String::new()];
        for (i, &child) in children.iter().enumerate() {
            let bar = if i > 0 { "|" } else { "" };
            let values = &self.variables[child.ix()].values;
            names = names.iter().flat_map(|n| values.iter().map(move |v| format!("{n}{bar}{v}"))).collect();
        }
        names
    }

    /// Position of each parent and each number in the header.
    fn columns(&mut self, grid: &Grid, parents: &[VarId], numbers: &[String], what: &str) -> Option<Vec<usize>> {
        let mut wanted: Vec<String> = parents.iter().map(|&id| self.name(id).to_owned()).collect();
        wanted.extend_from_slice(numbers);
        let before = self.errors();
        for (i, name) in grid.header.iter().enumerate() {
            let problem = if !wanted.contains(name) {
                let help = match nearest(name, wanted.iter().map(String::as_str)) {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("the columns are {}", some_of(&wanted)),
                };
                Problem::error("unknown-column", format!("{what} has no column \"{name}\"")).help(help)
            } else if grid.header[..i].contains(name) {
                Problem::error("duplicate-name", format!("two columns are called \"{name}\"")).help("take one out")
            } else {
                continue;
            };
            self.push(problem.at(grid.header_at));
        }
        if self.errors() > before {
            return None; // a misspelt column would be reported as missing too
        }
        let mut places = Vec::with_capacity(wanted.len());
        for (i, name) in wanted.iter().enumerate() {
            if wanted[..i].contains(name) {
                let message = format!("in {what} two columns would be called \"{name}\"");
                self.push(
                    Problem::error("ambiguous", message).help("rename the variable or the value").at(grid.header_at),
                );
            } else if let Some(place) = grid.header.iter().position(|h| h == name) {
                places.push(place);
            } else {
                let message = format!("the column \"{name}\" of {what} is missing");
                self.push(
                    Problem::error("missing-column", message).help("add it to the first line").at(grid.header_at),
                );
            }
        }
        (self.errors() == before).then_some(places)
    }

    /// Reads every row: its configuration and its numbers.
    fn fill(
        &mut self,
        grid: &Grid,
        columns: &[usize],
        parents: &[VarId],
        space: &Space,
        what: &str,
        mut take: impl FnMut(&mut Check, usize, &mut [f64], Option<At>),
    ) {
        let before = self.errors();
        let (keys, numbers) = columns.split_at(parents.len());
        let mut owners = vec![NOBODY; space.len()];
        // Large tables look up every value many times.
        let position = |&id: &VarId| -> HashMap<String, usize> {
            self.variables[id.ix()].values.iter().cloned().enumerate().map(|(v, name)| (name, v)).collect()
        };
        let positions: Vec<HashMap<String, usize>> = parents.iter().map(position).collect();
        for (r, row) in grid.rows.iter().enumerate() {
            if row.cells.len() != grid.header.len() {
                let message = format!("this row of {what} has {} cells, not {}", row.cells.len(), grid.header.len());
                self.push(Problem::error("shape", message).help("write one for each column").at(row.at));
                continue;
            }
            let mut digits = Vec::with_capacity(parents.len());
            for ((&id, &column), positions) in parents.iter().zip(keys).zip(&positions) {
                let cell = &row.cells[column];
                let known = positions.get(cell).copied();
                digits.extend(known.or_else(|| self.value(id, &Located::new(cell.clone(), row.at))));
            }
            let mut found = Vec::with_capacity(numbers.len());
            for &column in numbers {
                found.extend(self.cell(&row.cells[column], &grid.header[column], row.at));
            }
            if digits.len() != parents.len() || found.len() != numbers.len() {
                continue;
            }
            let index = space.index(&digits);
            if owners[index] == NOBODY {
                owners[index] = r as u32;
                take(self, index, &mut found, row.at);
            } else {
                let given = self.combination(parents, &digits);
                let message = if given.is_empty() {
                    format!("{what} has more than one row")
                } else {
                    format!("{what} has two rows for {given}")
                };
                self.push(Problem::error("duplicate-row", message).help("take one out").at(row.at));
            }
        }
        if self.errors() == before {
            self.nothing_missing(what, parents, space, &owners, NOBODY, "add the missing rows", grid.header_at);
        }
    }

    fn cell(&mut self, text: &str, column: &str, at: Option<At>) -> Option<f64> {
        if let Ok(number) = text.trim().parse() {
            return Some(number);
        }
        let message = format!("\"{text}\" in column \"{column}\" is not a number");
        self.push(Problem::error("not-a-number", message).help("write a number such as 0.25").at(at));
        None
    }
}
