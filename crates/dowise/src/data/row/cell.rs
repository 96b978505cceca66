//! Cells of one row: each label, stage, number or weight becomes a field of the row.

use std::collections::HashMap;

use super::unread::{decimal_comma, has_decimal_comma, unknown};
use super::{Row, RowReader, UNREAD, is_blank, shown};
use crate::data::columns::{Column, Own, Role};
use crate::data::findings::{FindingKind, Findings};
use crate::data::labels::{Said, whole};
use crate::data::{End, Table};
use crate::random::splitmix64;
use crate::world::World;

/// Policies that are distinguished.
const MOST_POLICIES: usize = 1000;

/// What the cells of a row say beside the row's fields.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// Whether the episode was read.
    pub(super) episode: bool,
    /// Whether the stage was read.
    pub(super) stage: bool,
    /// The reward of the whole step, and its column.
    pub(super) total: Option<(f64, usize)>,
    /// Whether a cell is missing that the learner could have used.
    pub(super) lacks: bool,
}

/// One cell and its place.
#[derive(Clone, Copy)]
struct Cell<'t> {
    text: &'t [u8],
    /// Position of its column in the table.
    index: usize,
    line: u64,
}

impl RowReader<'_> {
    /// Reads every cell of the present row into the row's fields.
    pub(super) fn read_cells(&mut self, table: &impl Table, row: &mut Row, findings: &mut Findings) -> Seen {
        let mut seen = Seen::default();
        let RowReader { world, columns, missing, set, policy_ids, policies, latest_policy, before_first_stage, .. } =
            self;
        let first_stage = before_first_stage.saturating_add(1);
        for column in columns {
            let cell = Cell { text: table.cell(column.index), index: column.index, line: row.line };
            if is_blank(cell.text) || (!missing.is_empty() && missing.iter().any(|m| **m == *cell.text.trim_ascii())) {
                column.missing += 1;
                seen.lacks |= column.role.is_learned_from();
                continue;
            }
            match column.role {
                Role::Value(_) | Role::Next(_) | Role::Set(_) | Role::Own(Own::End | Own::Randomised) => {
                    if !cell.read_label(world, column, set, row, findings) {
                        column.missing += 1;
                        seen.lacks |= column.role.is_learned_from();
                    }
                }
                Role::Own(Own::Episode) => {
                    row.key = key_of(cell.text.trim_ascii());
                    seen.episode = true;
                }
                Role::Own(Own::Stage) => {
                    if let Some(stage) = cell.read_stage(first_stage, world.horizon(), findings) {
                        row.stage = stage;
                        seen.stage = true;
                    }
                }
                Role::Term(_) | Role::Own(Own::Reward) | Role::Own(Own::Propensity) => {
                    cell.read_number(column, row, &mut seen, findings);
                }
                Role::Own(Own::Weight) => cell.read_weight(row, findings),
                Role::Own(Own::Policy) => {
                    let name = cell.text.trim_ascii();
                    if latest_policy.0 != name {
                        *latest_policy = (name.to_vec(), policy(name, policy_ids, policies));
                    }
                    row.policy = latest_policy.1;
                }
                Role::Own(Own::Time) => {}
            }
        }
        seen
    }
}

impl Cell<'_> {
    /// Reads a value of a variable, or another label; `false` if the label stands for a missing value.
    #[inline]
    fn read_label(
        self,
        world: &World,
        column: &mut Column,
        set: &mut [u8],
        row: &mut Row,
        findings: &mut Findings,
    ) -> bool {
        let labels = column.labels.as_mut().expect("invariant: these columns have labels");
        let value = match labels.read(self.text) {
            Said::Value(value) => value,
            Said::Missing => return false,
            Said::Unknown => {
                unknown(world, column.role, (self.index, self.line), self.text, labels, findings);
                row.bad = true;
                // It is wrong, which is said already, and not missing besides.
                if let Role::Value(ix) = column.role {
                    row.values[ix] = UNREAD;
                } else if let Role::Set(lever) = column.role {
                    set[lever] = 3;
                }
                return true;
            }
        };
        match column.role {
            Role::Value(ix) => row.values[ix] = value,
            Role::Next(i) => row.next[i] = value,
            Role::Set(lever) => set[lever] = (value % 2) as u8,
            Role::Own(Own::End) => row.end = Some(if value == 0 { End::Terminated } else { End::Truncated }),
            Role::Own(Own::Randomised) => row.randomised = Some(value % 2 == 1),
            Role::Term(_) | Role::Own(_) => unreachable!("invariant: these columns have no labels"),
        }
        true
    }

    /// Reads a stage, from 0; `None` if an episode has no such stage.
    #[inline]
    fn read_stage(self, first_stage: i64, horizon: usize, findings: &mut Findings) -> Option<usize> {
        let found = whole(self.text);
        if let Some(stage) = found
            && (0..horizon as i64).contains(&stage.saturating_sub(first_stage))
        {
            return Some((stage - first_stage) as usize);
        }
        let last = first_stage.saturating_add(horizon as i64 - 1);
        match found {
            Some(stage) => self.wrong(findings, FindingKind::Stage, &|text| {
                let from = match (stage, first_stage) {
                    (0, 1) => "; if the log counts from 0, say `first_stage = 0` in a map",
                    _ => "",
                };
                format!("there is no stage {text}: an episode has stages {first_stage} to {last}{from}")
            }),
            None => self.wrong(findings, FindingKind::NotANumber, &|text| {
                format!("\"{text}\" is no stage: a whole number from {first_stage} to {last}")
            }),
        }
        None
    }

    /// Reads a reward, of one term or of the whole step, or a propensity.
    #[inline]
    fn read_number(self, column: &mut Column, row: &mut Row, seen: &mut Seen, findings: &mut Findings) {
        let Some(x) = column.numbers.read(self.text) else {
            match std::str::from_utf8(self.text).ok().filter(|text| has_decimal_comma(text)) {
                Some(text) => decimal_comma(text, (self.index, self.line), findings),
                None => self.wrong(findings, FindingKind::NotANumber, &|text| format!("\"{text}\" is not a number")),
            }
            row.bad = true;
            return;
        };
        match column.role {
            Role::Term(i) => row.rewards[i] = x,
            Role::Own(Own::Reward) => seen.total = Some((x, self.index)),
            Role::Own(Own::Propensity) if x > 0.0 && x <= 1.0 => row.propensity = Some(x),
            Role::Own(Own::Propensity) => {
                row.bad = true;
                findings.add(FindingKind::Propensity, Some(self.index), self.line, || {
                    format!("a propensity is {}, and must be above 0 and at most 1", shown(x))
                });
            }
            Role::Value(_) | Role::Set(_) | Role::Next(_) | Role::Own(_) => {
                unreachable!("invariant: these columns have no numbers")
            }
        }
    }

    /// Reads how often the row counts.
    #[inline]
    fn read_weight(self, row: &mut Row, findings: &mut Findings) {
        match whole(self.text) {
            Some(n) if n >= 1 && n <= i64::from(u32::MAX) => row.weight = n as u32,
            Some(_) | None => {
                row.bad = true;
                self.wrong(findings, FindingKind::Weight, &|text| {
                    format!(
                        "the weight {text} is no whole number from 1 to {}: a row counts as often as it was seen, and \
                         a fraction of a visit cannot be counted",
                        u32::MAX
                    )
                });
            }
        }
    }

    /// Adds a finding about the text of the cell.
    fn wrong(self, findings: &mut Findings, kind: FindingKind, say: &dyn Fn(&str) -> String) {
        let text = String::from_utf8_lossy(self.text);
        findings.add_label(kind, Some(self.index), self.line, &text, || (say(&text), None));
    }
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
