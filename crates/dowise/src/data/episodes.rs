//! Episodes under way: rows wait until what followed them is known, in whatever order rows come.

mod rows;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::ControlFlow;

use self::rows::Rows;
use super::endings::Endings;
use super::findings::{FindingKind, Findings};
use super::row::Row;
use super::{End, LogStep};
use crate::Space;
use crate::learn::MISSING;
use crate::world::World;

/// Whoever takes what is complete.
pub(super) trait Visit {
    /// Whether whole episodes are wanted: then rows are kept until their episode is complete.
    const WHOLE: bool;

    fn step(&mut self, step: &LogStep<'_>) -> ControlFlow<()>;

    fn episode(&mut self, steps: &[LogStep<'_>]) -> ControlFlow<()>;
}

/// Keys are well mixed already.
#[derive(Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("invariant: keys are u64")
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

type Keys = HashMap<u64, u32, BuildHasherDefault<Mixed>>;

const NONE: u32 = u32::MAX;
const NO_STATE: usize = usize::MAX;
/// Fingerprints of rows of complete episodes that are kept, to tell later duplicates from contradictions: 128 MiB.
const MOST_FINGERPRINTS: usize = 1 << 25;

/// What is known of a stage.
#[derive(Clone, Copy)]
struct Stage {
    /// 0: no row has come.
    fingerprint: u32,
    /// Where its row is kept, or `NONE`.
    row: u32,
    state: usize,
}

const UNSEEN: Stage = Stage { fingerprint: 0, row: NONE, state: NO_STATE };

/// An episode of which rows are expected.
#[derive(Default)]
struct Open {
    key: u64,
    number: u64,
    stages: Vec<Stage>,
    n_seen: usize,
    /// The stage at which it ended, if that is known.
    last: Option<usize>,
    line: u64,
}

/// What has been counted of complete episodes.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) steps: u64,
    pub(super) left_out: u64,
    pub(super) next_missing: u64,
    pub(super) terminated: u64,
    pub(super) truncated: u64,
    /// Episodes by number of stages, the first that was seen to the last.
    pub(super) lengths: Vec<u64>,
    /// Steps of each policy; the last entry has those that name none.
    pub(super) policies: Vec<u64>,
    pub(super) weight: u64,
    /// Steps whose levers were set by a draw.
    pub(super) randomised: u64,
}

/// All episodes of a log.
pub(super) struct Episodes<'w> {
    space: &'w Space,
    /// Names of the state factors.
    factors: Vec<&'w str>,
    horizon: usize,
    /// For each state whether episodes have ended there; `None` if they end nowhere before the horizon.
    ended: Option<&'w [bool]>,
    endings: Option<Endings<'w>>,
    /// Where each open episode is.
    open: Keys,
    slots: Vec<Open>,
    free: Vec<u32>,
    /// Complete episodes: where their fingerprints begin, or `NONE`.
    done: Keys,
    fingerprints: Vec<u32>,
    rows: Rows,
    pub(super) n_episodes: u64,
    /// The episode of the last row: the next row is mostly one of it.
    latest: Option<(u64, u32)>,
    pub(super) tally: Tally,
}

impl<'w> Episodes<'w> {
    pub(super) fn new(world: &'w World) -> Episodes<'w> {
        let space = world.state_space();
        let (n_values, n_rewards) = (world.variables().len(), world.rewards().len());
        Episodes {
            space,
            factors: world.state().iter().map(|&id| world.variable(id).name.as_str()).collect(),
            horizon: world.horizon(),
            ended: world.ended(),
            endings: Endings::new(world),
            open: Keys::default(),
            slots: Vec::new(),
            free: Vec::new(),
            done: Keys::default(),
            fingerprints: Vec::new(),
            rows: Rows::new(n_values, n_rewards, space.n_axes()),
            n_episodes: 0,
            latest: None,
            tally: Tally::default(),
        }
    }

    /// Takes a row in; whatever is complete now is handed on.
    pub(super) fn take<V: Visit>(&mut self, row: &Row, findings: &mut Findings, visit: &mut V) -> ControlFlow<()> {
        let fingerprint = row.fingerprint();
        let Some(slot) = self.slot(row, fingerprint, findings) else { return ControlFlow::Continue(()) };
        let s = row.stage;
        let open = &mut self.slots[slot as usize];
        if let Some(there) = open.stages.get(s).filter(|there| there.fingerprint != 0) {
            let same = there.fingerprint == fingerprint;
            self.again(row, same, findings);
            return ControlFlow::Continue(());
        }
        let over = open.last.is_some_and(|last| s > last) || (row.end.is_some() && s + 1 < open.stages.len());
        if over {
            self.tally.left_out += 1;
            findings.add(FindingKind::AfterEnd, None, row.line, || {
                format!("stage {} and an end of the episode before it contradict each other", s + 1)
            });
            return ControlFlow::Continue(());
        }
        // Where an episode has ended nothing follows; if something is there already, it is not believed that it has.
        let state = row.state.filter(|_| !row.ended || open.stages.len() <= s);
        if open.stages.len() <= s {
            open.stages.resize(s + 1, UNSEEN);
        }
        open.stages[s] = Stage { fingerprint, row: NONE, state: state.unwrap_or(NO_STATE) };
        open.n_seen += 1;
        if row.end.is_some() || s + 1 == self.horizon || (row.ended && state.is_some()) {
            open.last = Some(s);
        }
        let before = s.checked_sub(1).map(|p| open.stages[p]).filter(|p| p.row != NONE);
        let after = open.stages.get(s + 1).copied().filter(|a| a.fingerprint != 0);
        let (last, complete) = (open.last == Some(s), open.last.is_some_and(|last| open.n_seen == last + 1));
        if row.bad {
            self.tally.left_out += 1;
        } else {
            let at = self.rows.keep(row, open.number);
            self.slots[slot as usize].stages[s].row = at;
        }
        if before.is_some() {
            self.finish(slot, s - 1, state, findings, visit)?;
        }
        if !row.bad && (last || after.is_some()) {
            let next = after.map(|a| a.state).filter(|&state| state != NO_STATE);
            self.finish(slot, s, next, findings, visit)?;
        }
        if complete { self.close(slot, findings, visit) } else { ControlFlow::Continue(()) }
    }

    /// Where the row's episode is kept; `None` if it is complete already.
    fn slot(&mut self, row: &Row, fingerprint: u32, findings: &mut Findings) -> Option<u32> {
        if let Some((key, slot)) = self.latest
            && key == row.key
        {
            return Some(slot);
        }
        let slot = match self.open.get(&row.key) {
            Some(&slot) => slot,
            None => match self.done.get(&row.key) {
                Some(&start) => {
                    self.late(row, fingerprint, start, findings);
                    return None;
                }
                None => self.begin(row),
            },
        };
        self.latest = Some((row.key, slot));
        Some(slot)
    }

    fn begin(&mut self, row: &Row) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Open::default());
            self.slots.len() as u32 - 1
        });
        let open = &mut self.slots[slot as usize];
        (open.key, open.number, open.line) = (row.key, self.n_episodes, row.line);
        self.n_episodes += 1;
        self.open.insert(row.key, slot);
        slot
    }

    /// A row of an episode that is complete.
    fn late(&mut self, row: &Row, fingerprint: u32, start: u32, findings: &mut Findings) {
        if start == NONE {
            return self.again(row, false, findings);
        }
        let start = start as usize;
        let n = self.fingerprints[start] as usize;
        if row.stage < n {
            let same = self.fingerprints[start + 1 + row.stage] == fingerprint;
            return self.again(row, same, findings);
        }
        self.tally.left_out += 1;
        findings.add(FindingKind::AfterEnd, None, row.line, || {
            format!("stage {} comes after the end of its episode, which was at stage {n}", row.stage + 1)
        });
    }

    fn again(&mut self, row: &Row, same: bool, findings: &mut Findings) {
        self.tally.left_out += 1;
        let stage = row.stage + 1;
        if same {
            let say = || format!("a row is there twice, alike (stage {stage})");
            findings.add(FindingKind::Duplicate, None, row.line, say);
        } else {
            let say = || {
                format!(
                    "another row has the same episode and stage ({stage}) and says something else; the first is kept"
                )
            };
            findings.add(FindingKind::Contradicting, None, row.line, say);
        }
    }

    /// Settles what followed a row, and hands the step on.
    fn finish<V: Visit>(
        &mut self,
        slot: u32,
        stage: usize,
        next: Option<usize>,
        findings: &mut Findings,
        visit: &mut V,
    ) -> ControlFlow<()> {
        let at = self.slots[slot as usize].stages[stage].row;
        let said = self.rows.next(at);
        let line = self.rows.meta[at as usize].line;
        if let Some(next) = next {
            let differs = |(i, &v): (usize, &u32)| v != MISSING && self.space.digit(next, i) != v as usize;
            if said.iter().enumerate().any(differs) {
                self.tally.left_out += 1;
                findings.add(FindingKind::NextContradicts, None, line, || {
                    format!("`next.` of stage {} is not the state of the row of stage {}", stage + 1, stage + 2)
                });
                self.drop_row(slot, stage);
                return ControlFlow::Continue(());
            }
        }
        let whole = || said.iter().zip(self.space.strides()).map(|(&v, stride)| v as usize * stride).sum();
        let next = next.or_else(|| (!said.contains(&MISSING)).then(whole));
        let meta = &self.rows.meta[at as usize];
        let terminated = meta.end == Some(End::Terminated) && stage + 1 < self.horizon;
        let ended = self.endings.as_mut().filter(|_| next.is_none());
        let ended = ended.and_then(|endings| endings.of(said, meta.state, terminated));
        let next = next.or(ended.map(|ended| ended.state));
        let meta = &mut self.rows.meta[at as usize];
        (meta.next_state, meta.unseen_next) = (next, ended.map_or(0, |ended| ended.unseen));
        let meta = &self.rows.meta[at as usize];
        // Where the world's episodes end nowhere, `check_end` says what is wrong with an end; at the horizon nothing follows.
        let nothing_follows = meta.end == Some(End::Terminated) && (self.ended.is_none() || stage + 1 == self.horizon);
        if next.is_none() && !nothing_follows {
            self.tally.next_missing += 1;
            let said = self.rows.next(at);
            if said.iter().all(|&v| v == MISSING) {
                findings.add(FindingKind::NextMissing, None, line, || {
                    "no row of the next stage and no `next.` say what followed".to_owned()
                });
            } else {
                // A group for each choice of what is missing.
                let missing = self.factors.iter().zip(said).filter(|(_, v)| **v == MISSING);
                let names = missing.map(|(name, _)| format!("`next.{name}`")).collect::<Vec<_>>().join(", ");
                findings.add_label(FindingKind::NextMissing, None, line, &names, || {
                    let words = format!(
                        "{names} is missing, and there is no row of the next stage; what followed counts only as a whole, so say it of factors that never change too"
                    );
                    (words, None)
                });
            }
        }
        self.check_end(line, stage, next, meta.end, findings);
        let meta = &self.rows.meta[at as usize];
        let tally = &mut self.tally;
        tally.steps += 1;
        tally.weight += u64::from(meta.weight);
        tally.randomised += u64::from(meta.randomised == Some(true));
        match meta.end {
            Some(End::Terminated) => tally.terminated += 1,
            Some(End::Truncated) => tally.truncated += 1,
            None => {}
        }
        let policy = meta.policy.map_or(0, |p| p as usize + 1);
        if tally.policies.len() <= policy {
            tally.policies.resize(policy + 1, 0);
        }
        tally.policies[policy] += 1;
        if V::WHOLE {
            return ControlFlow::Continue(());
        }
        let flow = visit.step(&self.rows.step(at));
        self.drop_row(slot, stage);
        flow
    }

    /// Whether an end is one by the world, as far as the log says where the episode came to.
    fn check_end(&self, line: u64, stage: usize, next: Option<usize>, end: Option<End>, findings: &mut Findings) {
        let goes_on = match (self.ended, next) {
            (None, _) => true,
            (Some(ended), Some(next)) => !ended[next],
            (Some(_), None) => false,
        };
        match end {
            Some(End::Terminated) if goes_on && stage + 1 < self.horizon => {
                findings.add(FindingKind::OtherEnd, None, line, || {
                    "`terminated` before the horizon, where the world's episodes go on: returns take nothing to follow, and the model goes on; say where \
                     episodes end (`ends` in the world file), or write `truncated`"
                        .to_owned()
                });
            }
            Some(End::Truncated) if self.ended.zip(next).is_some_and(|(ended, next)| ended[next]) => {
                findings.add(FindingKind::OtherEnd, None, line, || {
                    "`truncated` where the world's episodes have ended: it counts as `terminated`".to_owned()
                });
            }
            Some(_) | None => {}
        }
    }

    fn drop_row(&mut self, slot: u32, stage: usize) {
        let at = std::mem::replace(&mut self.slots[slot as usize].stages[stage].row, NONE);
        self.rows.free.push(at);
    }

    /// An episode of which nothing more is expected.
    fn close<V: Visit>(&mut self, slot: u32, findings: &mut Findings, visit: &mut V) -> ControlFlow<()> {
        let open = &mut self.slots[slot as usize];
        let first = open.stages.iter().position(|s| s.fingerprint != 0).unwrap_or(0);
        let n = open.stages.len();
        if first > 0 {
            let say = || format!("an episode begins at stage {}", first + 1);
            findings.add(FindingKind::StartsLate, None, open.line, say);
        }
        if let Some(gap) = open.stages[first..].iter().position(|s| s.fingerprint == 0) {
            let say = || format!("stage {} of an episode is missing, and a later one is there", first + gap + 1);
            findings.add(FindingKind::Gap, None, open.line, say);
        }
        let length = n - first;
        if self.tally.lengths.len() <= length {
            self.tally.lengths.resize(length + 1, 0);
        }
        self.tally.lengths[length] += 1;
        let start = if self.fingerprints.len() + n < MOST_FINGERPRINTS {
            self.fingerprints.push(n as u32);
            self.fingerprints.extend(open.stages.iter().map(|s| s.fingerprint));
            (self.fingerprints.len() - n - 1) as u32
        } else {
            NONE
        };
        self.open.remove(&open.key);
        self.done.insert(open.key, start);
        self.latest = None;
        let mut flow = ControlFlow::Continue(());
        if V::WHOLE {
            let kept = open.stages.iter().filter(|s| s.row != NONE);
            let steps: Vec<LogStep<'_>> = kept.map(|s| self.rows.step(s.row)).collect();
            if !steps.is_empty() {
                flow = visit.episode(&steps);
            }
            self.rows.free.extend(open.stages.iter().map(|s| s.row).filter(|&row| row != NONE));
        }
        let open = &mut self.slots[slot as usize];
        open.stages.clear();
        (open.n_seen, open.last) = (0, None);
        self.free.push(slot);
        flow
    }

    /// The log is over: what still waits will not be given more.
    pub(super) fn end<V: Visit>(&mut self, findings: &mut Findings, visit: &mut V) -> ControlFlow<()> {
        let mut open: Vec<u32> = (0..self.slots.len() as u32).collect();
        open.retain(|slot| self.slots[*slot as usize].n_seen > 0);
        open.sort_by_key(|slot| self.slots[*slot as usize].number);
        for slot in open {
            for stage in 0..self.slots[slot as usize].stages.len() {
                let stages = &self.slots[slot as usize].stages;
                // A row whose next row was there has been settled.
                let waits = stages[stage].row != NONE && stages.get(stage + 1).is_none_or(|a| a.fingerprint == 0);
                let (at, stops) = (stages[stage].row, stage + 1 == stages.len() && stage + 1 < self.horizon);
                if waits && self.slots[slot as usize].last != Some(stage) {
                    self.finish(slot, stage, None, findings, visit)?;
                    // What was kept of the row stays there until another takes its place.
                    let (next, line) = (self.rows.meta[at as usize].next_state, self.slots[slot as usize].line);
                    if stops && !self.ended.zip(next).is_some_and(|(ended, next)| ended[next]) {
                        findings.add(FindingKind::Stops, None, line, || {
                            "an episode stops before the horizon and does not say how it ended: what would have followed is not known; \
                             write `end` (`terminated` or `truncated`)"
                                .to_owned()
                        });
                    }
                }
            }
            self.close(slot, findings, visit)?;
        }
        ControlFlow::Continue(())
    }
}
