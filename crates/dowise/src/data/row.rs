//! One row: cells become numbers, everything that an observation promises is checked, and what is wrong is found.

mod cell;
mod check;
mod unread;

use std::collections::HashMap;

use super::columns::{Column, Own, Role, always_set, logged_lever};
use super::findings::{FindingKind, Findings};
use super::{End, LogMap, Table};
use crate::hash::join;
use crate::learn::MISSING;
use crate::random::splitmix64;
use crate::world::{Action, World};

/// What one row says.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub(super) line: u64,
    /// A number for the episode's name: different for different whole numbers, and almost surely for different texts.
    pub(super) key: u64,
    /// From 0.
    pub(super) stage: usize,
    pub(super) state: Option<usize>,
    pub(super) action: Action,
    /// By `VarId`; `MISSING` where nothing was observed.
    pub(super) values: Vec<u32>,
    /// NaN where it is not known.
    pub(super) rewards: Vec<f64>,
    /// Next value of each state factor; `MISSING` where the row does not say it.
    pub(super) next: Vec<u32>,
    pub(super) reward: Option<f64>,
    pub(super) propensity: Option<f64>,
    pub(super) policy: Option<u32>,
    pub(super) weight: u32,
    pub(super) end: Option<End>,
    /// Whether its levers were set by a draw, if the row says so.
    pub(super) randomised: Option<bool>,
    /// Whether its state is one in which episodes have ended, so that it is no step; it still says where the step before led to.
    pub(super) ended: bool,
    /// Whether something is wrong, so that the row is left out; its state may still be what followed another row.
    pub(super) bad: bool,
}

/// Reads rows of a table.
pub(super) struct RowReader<'w> {
    world: &'w World,
    pub(super) columns: Vec<Column>,
    n_columns: usize,
    missing: Vec<Box<[u8]>>,
    before_first_stage: i64,
    /// For each lever: 0 left alone, 1 set, 2 not said.
    set: Vec<u8>,
    set_by_default: Vec<u8>,
    /// Levers and the key variables that repeat their logged values, without columns of their own.
    logged: Vec<[usize; 2]>,
    digits: Vec<usize>,
    /// Columns of levers and of payments, for the places of findings.
    lever_column: Vec<Option<usize>>,
    term_column: Vec<Option<usize>>,
    policy_ids: HashMap<Box<[u8]>, u32>,
    latest_policy: (Vec<u8>, Option<u32>),
    pub(super) policies: Vec<String>,
}

impl<'w> RowReader<'w> {
    pub(super) fn new(world: &'w World, columns: Vec<Column>, n_columns: usize, map: Option<&LogMap>) -> RowReader<'w> {
        let missing = map.map_or(&[][..], |m| &m.missing);
        let set_by_default: Vec<u8> =
            (0..world.levers().len()).map(|l| if always_set(world, l) { 1 } else { 2 }).collect();
        let place = |role: Role| columns.iter().find(|c| c.role == role).map(|c| c.index);
        RowReader {
            world,
            n_columns,
            missing: missing.iter().map(|m| m.as_bytes().into()).collect(),
            before_first_stage: map.map_or(0, |m| m.before_first_stage),
            set: set_by_default.clone(),
            set_by_default,
            logged: (0..world.variables().len())
                .filter(|&ix| place(Role::Value(ix)).is_none())
                .filter_map(|ix| Some([logged_lever(world, ix)?, ix]))
                .collect(),
            digits: vec![0; world.state().len()],
            lever_column: world.levers().iter().map(|id| place(Role::Value(id.ix()))).collect(),
            term_column: (0..world.rewards().len()).map(|i| place(Role::Term(i))).collect(),
            columns,
            policy_ids: HashMap::new(),
            latest_policy: (Vec::new(), None),
            policies: Vec::new(),
        }
    }

    /// Reads the present row; `false` if not even its episode and stage can be determined.
    pub(super) fn read(&mut self, table: &impl Table, row: &mut Row, findings: &mut Findings) -> bool {
        let world = self.world;
        row.line = table.line();
        row.clear(world);
        self.set.copy_from_slice(&self.set_by_default);
        if !self.has_all_cells(table, row.line, findings) {
            return false;
        }
        let seen = self.read_cells(table, row, findings);
        if !(seen.episode && seen.stage) {
            self.needed(
                row,
                findings,
                |role| {
                    (role == Role::Own(Own::Episode) && !seen.episode) || (role == Role::Own(Own::Stage) && !seen.stage)
                },
                table,
            );
            return false;
        }
        self.logged.iter().for_each(|&[lever, key]| row.values[key] = row.values[lever]);
        if let Some(time_index) = world.time_index() {
            row.values[time_index.ix()] = row.stage as u32;
            row.next[world.state_axis(time_index)] = (row.stage + 1).min(world.horizon() - 1) as u32;
        }
        self.state_of(row, findings, table);
        self.end_of(row);
        self.action_of(row, findings, table);
        self.pay(row, seen.total, findings);
        if seen.lacks && !row.bad {
            self.note_missing(row, findings, table);
        }
        // What could not be read is not there.
        row.values.iter_mut().filter(|v| **v == UNREAD).for_each(|v| *v = MISSING);
        true
    }

    /// Whether the row has one cell for each column, and no cell has swallowed other rows.
    #[inline]
    fn has_all_cells(&self, table: &impl Table, line: u64, findings: &mut Findings) -> bool {
        if table.n_cells() != self.n_columns {
            let (found, expected, last) = (table.n_cells(), self.n_columns, table.last_line());
            findings.add(FindingKind::WrongFields, None, line, || {
                let help = match (last > line, found < expected) {
                    (true, _) => {
                        format!("; between quotation marks it goes on to line {last}: is one of them too many?")
                    }
                    (false, true) => "; is a line cut?".to_owned(),
                    (false, false) => "; quote cells with delimiters in them".to_owned(),
                };
                format!("a row has {found} cells, but there are {expected} columns{help}")
            });
            return false;
        }
        // No name or number has a line feed in it, so a row that goes on in one of these has swallowed others.
        let broken = |column: &Column| table.cell(column.index).contains(&b'\n');
        if table.last_line() > line
            && let Some(column) = self.columns.iter().find(|c| broken(c))
        {
            findings.add(FindingKind::WrongFields, Some(column.index), line, || {
                format!(
                    "between quotation marks a cell goes on to line {}, and what is there is lost: is one of them too many?",
                    table.last_line()
                )
            });
            return false;
        }
        true
    }
}

/// The value of a variable that could not be read; below [`MISSING`].
const UNREAD: u32 = MISSING - 1;

/// Whether nothing is in a cell, or nothing but blanks.
#[inline]
fn is_blank(cell: &[u8]) -> bool {
    cell.first().is_none_or(u8::is_ascii_whitespace) && cell.trim_ascii().is_empty()
}

/// A number of any size in a few letters.
fn shown(x: f64) -> String {
    if x == 0.0 || (1e-5..1e16).contains(&x.abs()) { x.to_string() } else { format!("{x:e}") }
}

impl Row {
    /// Forgets the row before: nothing is known of this one but its line.
    fn clear(&mut self, world: &World) {
        (self.bad, self.ended) = (false, false);
        self.values.clear();
        self.values.resize(world.variables().len(), MISSING);
        self.rewards.clear();
        self.rewards.resize(world.rewards().len(), f64::NAN);
        self.next.clear();
        self.next.resize(world.state().len(), MISSING);
        (self.reward, self.propensity, self.policy, self.weight, self.end) = (None, None, None, 1, None);
        self.randomised = None;
    }

    /// A number for what the row says, not zero.
    pub(super) fn fingerprint(&self) -> u32 {
        let mut hash = join(self.action.0, self.state.map_or(u64::MAX, |s| s as u64));
        for v in self.values.iter().chain(&self.next) {
            hash = join(hash, u64::from(*v));
        }
        for r in &self.rewards {
            hash = join(hash, if r.is_nan() { u64::MAX } else { r.to_bits() });
        }
        let rest = [self.reward, self.propensity].map(|x| x.map_or(u64::MAX, f64::to_bits));
        let end = self.end.map_or(0, |e| 1 + e as u64) + 3 * self.randomised.map_or(0, |yes| 1 + u64::from(yes));
        let last = [u64::from(self.weight), end, u64::from(self.policy.unwrap_or(u32::MAX)), u64::from(self.bad)];
        hash = rest.into_iter().chain(last).fold(hash, join);
        (splitmix64(hash) as u32).max(1)
    }
}
