//! Reads a log: table rows become steps or whole episodes of a world.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde::{Deserialize, Serialize};

use super::columns::{Own, Role, match_columns};
use super::episodes::{Episodes, Visit};
use super::findings::{FindingKind, Findings};
use super::row::{Row, RowReader};
use super::{LogError, LogMap, LogStep, Table};
use crate::world::World;

/// A log reader.
///
/// Rows may come in any order and episodes may be interleaved: a step is emitted when the row of the next stage is
/// read, the episode has ended, or the log is over. Memory: pending steps, and 16 bytes for each episode.
///
/// ```
/// use dowise::data::{CsvTable, LogReader};
/// use dowise::worlds;
/// use std::ops::ControlFlow;
/// let world = worlds::world("river-swim", &[])?;
/// let text = "episode,stage,position,effort,stroke\n7,1,0,3,2\n7,2,0,1,1\n";
/// let table = CsvTable::new(std::io::Cursor::new(text), "log.csv")?;
/// let mut next = Vec::new();
/// let report = LogReader::new(table, &world, None)?.steps(|step| {
///     next.push(step.observation.next_state());
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(next, [Some(0), None]);
/// assert_eq!((report.steps, report.episodes, report.next_missing), (2, 1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LogReader<'w, T> {
    world: &'w World,
    table: T,
    rows: RowReader<'w>,
    findings: Findings,
    binned: Vec<BinnedVariable>,
}

/// Summary of a log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogReport {
    /// Rows of the table.
    pub rows: u64,
    /// Rows left out.
    pub left_out: u64,
    /// Rows that became steps.
    pub steps: u64,
    /// Sum of the weights of these steps.
    pub weight: u64,
    /// Steps whose levers were set by a draw (`randomised`).
    pub randomised: u64,
    /// Variables whose numbers were cut into bins.
    pub binned: Vec<BinnedVariable>,
    /// Episodes with at least one usable row.
    pub episodes: u64,
    /// Number of episodes by number of stages, from the first recorded stage to the last.
    pub lengths: BTreeMap<usize, u64>,
    /// Steps with unknown next state in episodes that did not terminate there.
    pub next_missing: u64,
    /// Episodes recorded as terminated.
    pub terminated: u64,
    /// Episodes recorded as truncated.
    pub truncated: u64,
    /// Columns read.
    pub columns: Vec<ColumnReport>,
    /// Policies in order of first appearance.
    pub policies: Vec<PolicyReport>,
    /// Whether reading was stopped before the end.
    pub stopped: bool,
    /// Data quality findings.
    pub findings: Findings,
}

impl LogReport {
    /// Rows left out because of errors. Duplicates are not among them, since they lose nothing.
    pub fn excluded(&self) -> u64 {
        let duplicates = self.findings.list().iter().filter(|finding| finding.kind == FindingKind::Duplicate);
        self.left_out.saturating_sub(duplicates.map(|finding| finding.count).sum())
    }
}

/// A variable whose numbers were cut into bins by a map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BinnedVariable {
    /// Its name.
    pub name: String,
    /// Number of bins.
    pub bins: usize,
}

/// A column read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ColumnReport {
    /// Its name in the log.
    pub name: String,
    /// Empty cells, in rows with the right number of cells.
    pub missing: u64,
}

/// A policy named in the log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PolicyReport {
    /// Its name.
    pub name: String,
    /// Its steps.
    pub steps: u64,
}

impl<'w, T: Table> LogReader<'w, T> {
    /// Matches the columns of a table with the names of a world.
    pub fn new(table: T, world: &'w World, map: Option<&LogMap>) -> Result<LogReader<'w, T>, LogError> {
        let names = table.columns();
        let mut findings = Findings::new(names);
        let columns = match_columns(world, names, map, &mut findings)?;
        let rows = RowReader::new(world, columns, names.len(), map);
        let binned = map.map_or(Vec::new(), |map| binned(world, map));
        Ok(LogReader { world, table, rows, findings, binned })
    }

    /// Emits every step as soon as it is complete.
    pub fn steps(self, visit: impl FnMut(&LogStep<'_>) -> ControlFlow<()>) -> Result<LogReport, LogError> {
        self.read(Steps(visit))
    }

    /// Emits every episode as soon as it is complete: its steps in the order of their stages, without those left out.
    pub fn episodes(self, visit: impl FnMut(&[LogStep<'_>]) -> ControlFlow<()>) -> Result<LogReport, LogError> {
        self.read(Whole(visit))
    }

    fn read<V: Visit>(mut self, mut visit: V) -> Result<LogReport, LogError> {
        let world = self.world;
        let mut episodes = Episodes::new(world);
        let mut row = Row::default();
        let (mut rows, mut unplaced) = (0, 0);
        let mut flow = ControlFlow::Continue(());
        while flow.is_continue() && self.table.advance()? {
            rows += 1;
            if self.rows.read(&self.table, &mut row, &mut self.findings) {
                flow = episodes.take(&row, &mut self.findings, &mut visit);
            } else {
                unplaced += 1;
            }
        }
        if flow.is_continue() {
            flow = episodes.end(&mut self.findings, &mut visit);
        }
        if rows == 0 {
            self.findings.add(FindingKind::NoRows, None, 1, || "there are columns, but no rows".to_owned());
        }
        self.findings.sort();
        let tally = episodes.tally;
        let names = self.table.columns();
        let column = |c: &super::columns::Column| ColumnReport { name: names[c.index].clone(), missing: c.missing };
        let policies = std::mem::take(&mut self.rows.policies);
        let policy = |(i, name)| PolicyReport { name, steps: tally.policies.get(i + 1).copied().unwrap_or(0) };
        Ok(LogReport {
            rows,
            left_out: tally.left_out + unplaced,
            steps: tally.steps,
            weight: tally.weight,
            randomised: tally.randomised,
            binned: self.binned,
            episodes: episodes.n_episodes,
            lengths: tally.lengths.iter().copied().enumerate().filter(|(_, n)| *n > 0).collect(),
            next_missing: tally.next_missing,
            terminated: tally.terminated,
            truncated: tally.truncated,
            columns: self.rows.columns.iter().map(column).collect(),
            policies: policies.into_iter().enumerate().map(policy).collect(),
            stopped: flow.is_break(),
            findings: self.findings,
        })
    }
}

/// The variables that a map cuts into bins.
fn binned(world: &World, map: &LogMap) -> Vec<BinnedVariable> {
    let bins = map.of.iter().filter_map(|(name, of)| Some((name, of.bins.as_ref()?.edges.len() + 1)));
    let of_world = bins.filter(|(name, _)| world.find(name).is_some());
    of_world.map(|(name, bins)| BinnedVariable { name: name.clone(), bins }).collect()
}

/// Whether some row of a log says that its levers were set by a draw. Reading stops at the first one; without a column
/// `randomised` nothing is read.
pub fn has_randomised_row(table: impl Table, world: &World, map: Option<&LogMap>) -> Result<bool, LogError> {
    let mut found = false;
    let reader = LogReader::new(table, world, map)?;
    if !reader.rows.columns.iter().any(|column| column.role == Role::Own(Own::Randomised)) {
        return Ok(false);
    }
    reader.steps(|step| {
        found = step.randomised == Some(true);
        if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(found)
}

struct Steps<F>(F);

impl<F: FnMut(&LogStep<'_>) -> ControlFlow<()>> Visit for Steps<F> {
    const WHOLE: bool = false;

    fn step(&mut self, step: &LogStep<'_>) -> ControlFlow<()> {
        (self.0)(step)
    }

    fn episode(&mut self, _: &[LogStep<'_>]) -> ControlFlow<()> {
        unreachable!("invariant: steps are handed on one by one")
    }
}

struct Whole<F>(F);

impl<F: FnMut(&[LogStep<'_>]) -> ControlFlow<()>> Visit for Whole<F> {
    const WHOLE: bool = true;

    fn step(&mut self, _: &LogStep<'_>) -> ControlFlow<()> {
        unreachable!("invariant: episodes are handed on whole")
    }

    fn episode(&mut self, steps: &[LogStep<'_>]) -> ControlFlow<()> {
        (self.0)(steps)
    }
}
