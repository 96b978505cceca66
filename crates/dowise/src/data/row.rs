//! One row: cells become numbers, everything that an observation promises is checked, and what is wrong is found.

mod check;
mod unread;

use std::collections::HashMap;

use self::unread::{decimal_comma, has_decimal_comma, unknown};
use super::columns::{Column, Own, Role, always_set};
use super::findings::{FindingKind, Findings};
use super::labels::{Said, whole};
use super::{End, LogMap, Table};
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
    /// Whether its state is one in which episodes have ended, so that it is no step; it still says where the step before led to.
    pub(super) ended: bool,
    /// Whether something is wrong, so that the row is left out; its state may still be what followed another row.
    pub(super) bad: bool,
}

/// Policies that are distinguished.
const MOST_POLICIES: usize = 1000;

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
        (row.bad, row.ended) = (false, false);
        row.values.clear();
        row.values.resize(world.variables().len(), MISSING);
        row.rewards.clear();
        row.rewards.resize(world.rewards().len(), f64::NAN);
        row.next.clear();
        row.next.resize(world.state().len(), MISSING);
        (row.reward, row.propensity, row.policy, row.weight, row.end) = (None, None, None, 1, None);
        self.set.copy_from_slice(&self.set_by_default);
        if table.n_cells() != self.n_columns {
            let (found, expected, line, last) = (table.n_cells(), self.n_columns, row.line, table.last_line());
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
        if table.last_line() > row.line
            && let Some(column) = self.columns.iter().find(|c| broken(c))
        {
            findings.add(FindingKind::WrongFields, Some(column.index), row.line, || {
                format!(
                    "between quotation marks a cell goes on to line {}, and what is there is lost: is one of them too many?",
                    table.last_line()
                )
            });
            return false;
        }
        let mut placed = [false; 2];
        let (mut total, mut lacks) = (None, false);
        let RowReader { columns, missing, set, policy_ids, policies, latest_policy, before_first_stage, .. } = self;
        let first_stage = before_first_stage.saturating_add(1);
        for column in columns {
            let cell = table.cell(column.index);
            let (index, line) = (column.index, row.line);
            if is_blank(cell) || (!missing.is_empty() && missing.iter().any(|m| **m == *cell.trim_ascii())) {
                column.missing += 1;
                lacks |= column.role.is_learned_from();
                continue;
            }
            let wrong = |findings: &mut Findings, kind, say: &dyn Fn(&str) -> String| {
                let text = String::from_utf8_lossy(cell);
                findings.add_label(kind, Some(index), line, &text, || (say(&text), None));
            };
            match column.role {
                Role::Value(_) | Role::Next(_) | Role::Set(_) | Role::Own(Own::End) => {
                    let labels = column.labels.as_mut().expect("invariant: these columns have labels");
                    let value = match labels.read(cell) {
                        Said::Value(value) => value,
                        Said::Missing => {
                            column.missing += 1;
                            lacks |= column.role.is_learned_from();
                            continue;
                        }
                        Said::Unknown => {
                            unknown(world, column.role, (index, line), cell, labels, findings);
                            row.bad = true;
                            // It is wrong, which is said already, and not missing besides.
                            if let Role::Value(ix) = column.role {
                                row.values[ix] = UNREAD;
                            } else if let Role::Set(lever) = column.role {
                                set[lever] = 3;
                            }
                            continue;
                        }
                    };
                    match column.role {
                        Role::Value(ix) => row.values[ix] = value,
                        Role::Next(i) => row.next[i] = value,
                        Role::Set(lever) => set[lever] = (value % 2) as u8,
                        Role::Own(Own::End) => {
                            row.end = Some(if value == 0 { End::Terminated } else { End::Truncated })
                        }
                        Role::Term(_) | Role::Own(_) => unreachable!("invariant: these columns have no labels"),
                    }
                }
                Role::Own(Own::Episode) => {
                    row.key = key_of(cell.trim_ascii());
                    placed[0] = true;
                }
                Role::Own(Own::Stage) => match whole(cell) {
                    Some(stage) if (0..world.horizon() as i64).contains(&stage.saturating_sub(first_stage)) => {
                        row.stage = (stage - first_stage) as usize;
                        placed[1] = true;
                    }
                    found => {
                        let last = first_stage.saturating_add(world.horizon() as i64 - 1);
                        match found {
                            Some(stage) => wrong(findings, FindingKind::Stage, &|text| {
                                let from = match (stage, first_stage) {
                                    (0, 1) => "; if the log counts from 0, say `first_stage = 0` in a map",
                                    _ => "",
                                };
                                format!("there is no stage {text}: an episode has stages {first_stage} to {last}{from}")
                            }),
                            None => wrong(findings, FindingKind::NotANumber, &|text| {
                                format!("\"{text}\" is no stage: a whole number from {first_stage} to {last}")
                            }),
                        }
                    }
                },
                Role::Term(_) | Role::Own(Own::Reward) | Role::Own(Own::Propensity) => {
                    let Some(x) = column.numbers.read(cell) else {
                        match std::str::from_utf8(cell).ok().filter(|text| has_decimal_comma(text)) {
                            Some(text) => decimal_comma(text, (index, line), findings),
                            None => {
                                wrong(findings, FindingKind::NotANumber, &|text| format!("\"{text}\" is not a number"))
                            }
                        }
                        row.bad = true;
                        continue;
                    };
                    match column.role {
                        Role::Term(i) => row.rewards[i] = x,
                        Role::Own(Own::Reward) => total = Some((x, index)),
                        Role::Own(Own::Propensity) if x > 0.0 && x <= 1.0 => row.propensity = Some(x),
                        Role::Own(Own::Propensity) => {
                            row.bad = true;
                            findings.add(FindingKind::Propensity, Some(index), line, || {
                                format!("a propensity is {}, and must be above 0 and at most 1", shown(x))
                            });
                        }
                        Role::Value(_) | Role::Set(_) | Role::Next(_) | Role::Own(_) => {
                            unreachable!("invariant: these columns have no numbers")
                        }
                    }
                }
                Role::Own(Own::Weight) => match whole(cell) {
                    Some(n) if n >= 1 && n <= i64::from(u32::MAX) => row.weight = n as u32,
                    Some(_) | None => {
                        row.bad = true;
                        wrong(findings, FindingKind::Weight, &|text| {
                            format!(
                                "the weight {text} is no whole number from 1 to {}: a row counts as often as it was seen, and \
                                 a fraction of a visit cannot be counted",
                                u32::MAX
                            )
                        });
                    }
                },
                Role::Own(Own::Policy) => {
                    let cell = cell.trim_ascii();
                    if latest_policy.0 != cell {
                        *latest_policy = (cell.to_vec(), policy(cell, policy_ids, policies));
                    }
                    row.policy = latest_policy.1;
                }
                Role::Own(Own::Time) => {}
            }
        }
        if !(placed[0] && placed[1]) {
            self.needed(
                row,
                findings,
                |role| (role == Role::Own(Own::Episode) && !placed[0]) || (role == Role::Own(Own::Stage) && !placed[1]),
                table,
            );
            return false;
        }
        if let Some(clock) = world.clock() {
            row.values[clock.ix()] = row.stage as u32;
            row.next[world.state_axis(clock)] = (row.stage + 1).min(world.horizon() - 1) as u32;
        }
        self.state_of(row, findings, table);
        self.end_of(row);
        self.action_of(row, findings, table);
        self.pay(row, total, findings);
        if lacks && !row.bad {
            self.note_missing(row, findings, table);
        }
        // What could not be read is not there.
        row.values.iter_mut().filter(|v| **v == UNREAD).for_each(|v| *v = MISSING);
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

/// Different whole numbers have different keys; texts almost surely.
fn key_of(cell: &[u8]) -> u64 {
    let plain = cell.len() <= 19 && cell.iter().all(u8::is_ascii_digit) && (cell[0] != b'0' || cell.len() == 1);
    if plain {
        return splitmix64(cell.iter().fold(0, |n, b| n * 10 + u64::from(b - b'0')));
    }
    let mut hash = 0x6a09_e667_f3bc_c908 ^ cell.len() as u64;
    for part in cell.chunks(8) {
        let mut bytes = [0; 8];
        bytes[..part.len()].copy_from_slice(part);
        hash = splitmix64(hash ^ u64::from_le_bytes(bytes));
    }
    hash
}

/// The number of a policy; the rest of very many has none.
fn policy(cell: &[u8], ids: &mut HashMap<Box<[u8]>, u32>, names: &mut Vec<String>) -> Option<u32> {
    if let Some(&id) = ids.get(cell) {
        return Some(id);
    }
    if names.len() == MOST_POLICIES {
        return None;
    }
    ids.insert(cell.into(), names.len() as u32);
    names.push(String::from_utf8_lossy(cell).into_owned());
    Some(names.len() as u32 - 1)
}

impl Row {
    /// A number for what the row says, not zero.
    pub(super) fn fingerprint(&self) -> u32 {
        let join = |hash: u64, part: u64| (hash.rotate_left(5) ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut hash = join(self.action.0, self.state.map_or(u64::MAX, |s| s as u64));
        for v in self.values.iter().chain(&self.next) {
            hash = join(hash, u64::from(*v));
        }
        for r in &self.rewards {
            hash = join(hash, if r.is_nan() { u64::MAX } else { r.to_bits() });
        }
        let rest = [self.reward, self.propensity].map(|x| x.map_or(u64::MAX, f64::to_bits));
        let end = self.end.map_or(0, |e| 1 + e as u64);
        let last = [u64::from(self.weight), end, u64::from(self.policy.unwrap_or(u32::MAX)), u64::from(self.bad)];
        hash = rest.into_iter().chain(last).fold(hash, join);
        (splitmix64(hash) as u32).max(1)
    }
}
