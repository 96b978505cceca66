//! One row: cells become numbers, everything that an observation promises is checked, and what is wrong is found.

use std::collections::HashMap;

use super::columns::{Column, Role, always_set};
use super::findings::{FindingKind, Findings};
use super::labels::{Labels, Said, number, whole};
use super::{End, LogMap, Table};
use crate::kernel::splitmix64;
use crate::learn::MISSING;
use crate::world::{Action, Kind, LeverRule, World, nearest};

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
    /// Whether something is wrong, so that the row is left out; its state may still be what followed another row.
    pub(super) bad: bool,
}

/// How far a payment may be outside its range, or a sum from its parts, by rounding.
const ROUNDING: f64 = 1e-9;
/// Policies that are told apart.
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

    /// Reads the present row; `false` if not even its episode and stage can be told.
    pub(super) fn read(&mut self, table: &impl Table, row: &mut Row, findings: &mut Findings) -> bool {
        let world = self.world;
        row.line = table.line();
        row.bad = false;
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
                Role::Value(_) | Role::Next(_) | Role::Set(_) | Role::End => {
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
                        Role::End => row.end = Some(if value == 0 { End::Terminated } else { End::Truncated }),
                        Role::Episode
                        | Role::Stage
                        | Role::Time
                        | Role::Term(_)
                        | Role::Reward
                        | Role::Propensity
                        | Role::Policy
                        | Role::Weight => unreachable!("invariant: these columns have no labels"),
                    }
                }
                Role::Episode => {
                    row.key = key_of(cell.trim_ascii());
                    placed[0] = true;
                }
                Role::Stage => match whole(cell) {
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
                Role::Term(_) | Role::Reward | Role::Propensity => {
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
                        Role::Reward => total = Some((x, index)),
                        Role::Propensity if x > 0.0 && x <= 1.0 => row.propensity = Some(x),
                        Role::Propensity => {
                            row.bad = true;
                            findings.add(FindingKind::Propensity, Some(index), line, || {
                                format!("a propensity is {}, and must be above 0 and at most 1", shown(x))
                            });
                        }
                        Role::Episode
                        | Role::Stage
                        | Role::Time
                        | Role::Value(_)
                        | Role::Set(_)
                        | Role::Next(_)
                        | Role::Policy
                        | Role::Weight
                        | Role::End => unreachable!("invariant: these columns have no numbers"),
                    }
                }
                Role::Weight => match whole(cell) {
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
                Role::Policy => {
                    let cell = cell.trim_ascii();
                    if latest_policy.0 != cell {
                        *latest_policy = (cell.to_vec(), policy(cell, policy_ids, policies));
                    }
                    row.policy = latest_policy.1;
                }
                Role::Time => {}
            }
        }
        if !(placed[0] && placed[1]) {
            self.needed(
                row,
                findings,
                |role| (role == Role::Episode && !placed[0]) || (role == Role::Stage && !placed[1]),
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

    /// Empty cells without which the row says nothing.
    fn needed(&self, row: &Row, findings: &mut Findings, is: impl Fn(Role) -> bool, table: &impl Table) {
        for column in self.columns.iter().filter(|c| is(c.role)) {
            let cell = table.cell(column.index);
            // What is there but wrong was found already.
            let means_missing = || column.labels.clone().is_some_and(|mut labels| labels.read(cell) == Said::Missing);
            if is_blank(cell) || self.missing.iter().any(|m| **m == *cell.trim_ascii()) || means_missing() {
                let name = table.columns()[column.index].clone();
                findings.add(FindingKind::MissingNeeded, Some(column.index), row.line, || {
                    format!("\"{name}\" is empty, and without it a row says nothing")
                });
            }
        }
    }

    fn state_of(&mut self, row: &mut Row, findings: &mut Findings, table: &impl Table) {
        let mut state = Some(0);
        for (i, (id, stride)) in self.world.state().iter().zip(self.world.state_space().strides()).enumerate() {
            let value = row.values[id.ix()];
            if value >= UNREAD {
                row.bad = true;
                state = None;
                if value == MISSING {
                    self.needed(row, findings, |role| role == Role::Value(id.ix()), table);
                }
                continue;
            }
            self.digits[i] = value as usize;
            state = state.map(|s| s + value as usize * stride);
        }
        row.state = state;
        let Some(state) = state else { return };
        if self.world.has_ended(state) {
            row.bad = true;
            let world = self.world;
            findings.add_label(FindingKind::AfterEnd, None, row.line, &world.describe_state(state), || {
                (format!("a step in the state {}, where episodes have ended", world.describe_state(state)), None)
            });
        }
    }

    /// A row that leads to where the world's episodes end is the last of its episode, whether the log says so or not.
    fn end_of(&self, row: &mut Row) {
        if row.end.is_some() || self.world.ends().is_none() || row.next.iter().any(|&v| v >= UNREAD) {
            return;
        }
        let strides = self.world.state_space().strides();
        let next = row.next.iter().zip(strides).map(|(&v, stride)| v as usize * stride).sum();
        row.end = self.world.has_ended(next).then_some(End::Terminated);
    }

    fn action_of(&mut self, row: &mut Row, findings: &mut Findings, table: &impl Table) {
        let all = self.world.interventions();
        let (mut code, mut n_set, mut known) = (0, 0, true);
        for (l, id) in self.world.levers().iter().enumerate() {
            match (self.set[l], row.values[id.ix()]) {
                (0, _) => {}
                (1, value) if value < UNREAD => {
                    code += all.part(l, Some(value as usize));
                    n_set += 1;
                }
                (1, MISSING) if self.set_by_default[l] == 1 => {
                    known = false;
                    self.needed(row, findings, |role| role == Role::Value(id.ix()), table);
                }
                (1, MISSING) => {
                    known = false;
                    let name = &self.world.variable(*id).name;
                    findings.add(FindingKind::LeverWithoutValue, self.lever_column[l], row.line, || {
                        format!("\"{name}\" was set, but the row does not say to what")
                    });
                }
                (2, _) => {
                    known = false;
                    self.needed(row, findings, |role| role == Role::Set(l), table);
                }
                // What cannot be read was found already.
                _ => known = false,
            }
        }
        row.action = Action(code);
        row.bad |= !known;
        if !known || row.state.is_none() {
            return;
        }
        let by_rule = match all.lever_rule() {
            LeverRule::All => n_set == self.set.len(),
            LeverRule::AtMost(most) => n_set <= *most,
            LeverRule::List(list) => list.binary_search(&row.action).is_ok(),
        };
        let (values, levers, set, digits) = (&row.values, self.world.levers(), &self.set, &self.digits);
        let forbidden = all.forbid().iter().any(|rule| {
            rule.when.iter().all(|(i, of)| of[digits[*i]])
                && rule.levers.iter().all(|(l, of)| set[*l] == 1 && of[values[levers[*l].ix()] as usize])
        });
        if by_rule && !forbidden {
            return;
        }
        row.bad = true;
        let (world, action, state) = (self.world, row.action, row.state);
        let done = world.describe_action(action);
        let label = match state {
            Some(state) if by_rule => format!("{done} in {}", world.describe_state(state)),
            Some(_) | None => done,
        };
        findings.add_label(FindingKind::NotAllowed, None, row.line, &label, || {
            let message = match state {
                Some(state) if by_rule => {
                    format!("{} is not allowed in state {}", world.describe_action(action), world.describe_state(state))
                }
                Some(_) | None => format!("this world has no intervention {}", world.describe_action(action)),
            };
            (message, None)
        });
    }

    /// Checks what was paid, and adds it up.
    fn pay(&mut self, row: &mut Row, total: Option<(f64, usize)>, findings: &mut Findings) {
        if row.bad {
            return;
        }
        let costs = self.world.interventions().costs();
        let mut cost = 0.0;
        for (l, id) in self.world.levers().iter().enumerate() {
            if self.set[l] == 1 && !costs.is_empty() {
                cost += costs[l].get(row.values[id.ix()] as usize).copied().unwrap_or(0.0);
            }
        }
        let mut place = None;
        if let (Some((x, index)), [only]) = (total, &mut row.rewards[..])
            && only.is_nan()
        {
            *only = x + cost;
            place = Some(index);
        }
        let mut sum = 0.0;
        let mut size = cost.abs();
        for (i, (term, &paid)) in self.world.rewards().iter().zip(&row.rewards).enumerate() {
            let [lo, hi] = term.range;
            let slack = ROUNDING * (hi - lo).max(lo.abs()).max(hi.abs());
            if paid < lo - slack || paid > hi + slack {
                row.bad = true;
                findings.add(FindingKind::RewardRange, self.term_column[i].or(place), row.line, || {
                    format!(
                        "the reward term \"{}\" paid {}, but it pays between {} and {}; give the world the range that it has",
                        term.name,
                        shown(paid),
                        shown(lo),
                        shown(hi)
                    )
                });
            }
            sum += paid;
            size += paid.abs();
        }
        let received = sum - cost;
        match total {
            Some((x, _)) if received.is_nan() => row.reward = Some(x),
            Some((x, index)) if place.is_none() && (x - received).abs() > 1e-6 * size.max(1e-3) => {
                row.bad = true;
                findings.add(FindingKind::RewardContradicts, Some(index), row.line, || {
                    let (x, received) = (shown(x), shown(received));
                    format!("the reward of the step is {x}, but its terms less the cost add up to {received}")
                });
            }
            Some((x, _)) if place.is_some() => row.reward = Some(x),
            Some(_) | None => row.reward = Some(received).filter(|r| !r.is_nan()),
        }
    }

    /// Empty cells of which something could have been learned.
    fn note_missing(&self, row: &Row, findings: &mut Findings, table: &impl Table) {
        for column in &self.columns {
            let missing = match column.role {
                Role::Value(ix) => row.values[ix] == MISSING && self.world.variables()[ix].kind != Kind::State,
                Role::Term(i) => row.rewards[i].is_nan(),
                Role::Reward => row.reward.is_none(),
                Role::Propensity => row.propensity.is_none(),
                Role::Episode
                | Role::Stage
                | Role::Time
                | Role::Set(_)
                | Role::Next(_)
                | Role::Policy
                | Role::Weight
                | Role::End => false,
            };
            if missing {
                let name = &table.columns()[column.index];
                findings.add(FindingKind::MissingCell, Some(column.index), row.line, || format!("\"{name}\" is empty"));
            }
        }
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

/// Whether a text would be a number with a point instead of its comma.
fn has_decimal_comma(text: &str) -> bool {
    text.contains(',') && number(text.as_bytes(), true).is_some()
}

/// One group for all such numbers of a column: they have one cause.
fn decimal_comma(text: &str, (index, line): (usize, u64), findings: &mut Findings) {
    findings.add(FindingKind::NotANumber, Some(index), line, || {
        format!("\"{text}\" is not a number; if it has a decimal comma, say `decimal = \",\"` in a map")
    });
}

fn unknown(
    world: &World,
    role: Role,
    (index, line): (usize, u64),
    cell: &[u8],
    labels: &Labels,
    findings: &mut Findings,
) {
    let Ok(text) = std::str::from_utf8(cell) else {
        let say = || "a cell is not written in UTF-8; save the file again with that encoding".to_owned();
        return findings.add(FindingKind::Encoding, Some(index), line, say);
    };
    if labels.has_bins() && has_decimal_comma(text) {
        return decimal_comma(text, (index, line), findings);
    }
    let variable = match role {
        Role::Value(ix) => Some(&world.variables()[ix]),
        Role::Next(i) => Some(world.variable(world.state()[i])),
        Role::Episode
        | Role::Stage
        | Role::Time
        | Role::Set(_)
        | Role::Term(_)
        | Role::Reward
        | Role::Propensity
        | Role::Policy
        | Role::Weight
        | Role::End => None,
    };
    findings.add_label(FindingKind::UnknownLabel, Some(index), line, text, || {
        let text: String = text.chars().take(60).collect();
        let Some(variable) = variable else {
            let must = if role == Role::End {
                "empty, \"terminated\" or \"truncated\""
            } else {
                "0 or 1, no or yes, false or true"
            };
            return (format!("\"{text}\" is not understood: it must be {must}"), None);
        };
        let near = nearest(&text, variable.values.iter().map(String::as_str).chain(labels.texts())).map(str::to_owned);
        let help = match &near {
            Some(near) => format!("; did you mean \"{near}\"?"),
            None => {
                let some: Vec<&str> = variable.values.iter().take(6).map(String::as_str).collect();
                let more = if variable.values.len() > 6 { ", …" } else { "" };
                format!("; it has {}{more}", some.join(", "))
            }
        };
        (format!("\"{text}\" is no value of \"{}\"{help}", variable.name), near)
    });
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
