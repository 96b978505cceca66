//! Change-point resets: monitored rows; a row with a detected change keeps only its visits since then.

mod row;
mod saved;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use self::row::{Row, Tested, Visit, decoded};
pub(super) use self::saved::Part;
pub(crate) use self::saved::SavedRows;
use super::change_point::{Scratch, Shape, Tally};
use crate::learn::evidence::{Counted, EvidenceError, RowAt};
use crate::learn::observation::Observation;
use crate::learn::tabular::Tabular;
use crate::learn::view::View;
use crate::learn::{Knowledge, Options};

/// Most stored visits of a row: a change that is not visible within them is not detected.
const MOST_RECENT: usize = 4096;

/// Most changes of one row after which others are tested more closely.
const MOST_SUSPECTED: usize = 4;

/// Visits after which a row without evidence of change counts as unchanged, and after which its suspicion ends.
const UNCHANGED: usize = 16;
const CLEARED: usize = 512;

/// Most reported changes: the latest.
pub(super) const MOST_TOLD: usize = 1024;

/// Every learned row, with its change-point test.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pub(super) tables: Vec<Table>,
    /// M/δ: the threshold of the test of a row.
    bar: f64,
    delta: f64,
    horizon: u64,
    /// Number of steps: the time index.
    clock: u64,
    /// Number of all detected changes, and the latest of them.
    pub(super) count: u64,
    pub(super) noticed: VecDeque<Noticed>,
    suspected: VecDeque<Suspicion>,
    scratch: Scratch,
}

/// The rows of one table.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// The table, identified by one of its rows.
    pub(super) first: RowAt,
    n_values: Option<usize>,
    shape: Shape,
    /// `None` for an unvisited row.
    rows: Vec<Option<Box<Row>>>,
}

/// Reason for a reset of a row.
enum Alarm {
    /// Its own test detected a change.
    Sure,
    /// It seems to have changed together with another row.
    Suspected,
}

/// Episodes between which a row changed, and the results for other rows since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Suspicion {
    from: u64,
    to: u64,
    changed: u32,
    unchanged: u32,
}

impl Suspicion {
    fn new(from: u64, to: u64) -> Suspicion {
        Suspicion { from, to, changed: 0, unchanged: 0 }
    }

    /// The threshold of E at which a change is more likely than not, with a prior rate of δ updated by the results so
    /// far.
    fn bar(&self, delta: f64) -> f64 {
        (1.0 / delta - 1.0 + f64::from(self.unchanged)) / (1.0 + f64::from(self.changed))
    }
}

/// A detected change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Noticed {
    pub(super) table: usize,
    pub(super) row: usize,
    /// The episode of the detection, and of the change.
    pub(super) episode: u64,
    pub(super) since: u64,
    pub(super) before: Part,
    pub(super) after: Part,
}

impl Table {
    fn new(first: RowAt, sizes: Option<&[usize]>, n_rows: usize) -> Table {
        let n_values = sizes.map(|sizes| sizes.iter().product());
        let shape = sizes.map_or_else(Shape::of_payments, Shape::of_values);
        // A variable with one value never changes.
        let n_rows = if n_values == Some(1) { 0 } else { n_rows };
        Table { first, n_values, shape, rows: vec![None; n_rows] }
    }

    fn is_paid(&self) -> bool {
        self.n_values.is_none()
    }

    fn empty(&self) -> Tally {
        self.n_values.map_or(Tally::Paid(0, 0), |n| Tally::Values(vec![0; n]))
    }

    pub(super) fn at(&self, row: usize) -> RowAt {
        match self.first {
            RowAt::Transition { block, factor, .. } => RowAt::Transition { block, factor, row },
            RowAt::Mechanism { index, .. } => RowAt::Mechanism { index, row },
            RowAt::Payment { term, .. } => RowAt::Payment { term, row },
        }
    }
}

impl Rows {
    pub(super) fn new(view: &View, delta: f64) -> Rows {
        let mut tables = Vec::new();
        for block in 0..view.n_blocks {
            for (factor, layout) in view.layout.factors.iter().enumerate() {
                let sizes = match layout.factor {
                    None => view.layout.state_space.sizes(),
                    Some(_) => &[layout.n_values][..],
                };
                tables.push(Table::new(RowAt::Transition { block, factor, row: 0 }, Some(sizes), layout.n_rows));
            }
        }
        if let Some(mechanisms) = &view.mechanisms {
            for (index, of) in mechanisms.unknown.iter().enumerate() {
                let sizes = mechanisms.world.sizes(&mechanisms.world.mechanisms()[of.position].children);
                tables.push(Table::new(RowAt::Mechanism { index, row: 0 }, Some(&sizes), of.rows.len()));
            }
        }
        for (term, rows) in view.payments.terms.iter().enumerate() {
            tables.push(Table::new(RowAt::Payment { term, row: 0 }, None, rows.n_rows));
        }
        let n_rows: usize = tables.iter().map(|table| table.rows.len()).sum();
        let bar = n_rows.max(1) as f64 / delta;
        Rows {
            tables,
            bar,
            delta,
            horizon: view.layout.horizon as u64,
            clock: 0,
            count: 0,
            noticed: VecDeque::new(),
            suspected: VecDeque::new(),
            scratch: Scratch::default(),
        }
    }

    /// Most bytes for a learner that runs its episodes and has this many tables, rows and counts.
    pub(super) fn bytes(knowledge: &Knowledge, options: &Options, [tables, rows, counts]: [u128; 3]) -> u128 {
        let steps = u128::from(options.episodes).saturating_mul(knowledge.horizon() as u128);
        let visits = steps.saturating_mul(tables).min(rows.saturating_mul(MOST_RECENT as u128));
        let of_rows = rows.saturating_mul(120).saturating_add(counts.saturating_mul(4));
        // Lists grow by doubling.
        visits.saturating_mul(2 * size_of::<Visit>() as u128).saturating_add(of_rows)
    }

    /// The table of a row, and its position there.
    fn find(&self, view: &View, at: RowAt) -> (usize, usize) {
        let of_block = view.layout.factors.len();
        let transitions = view.n_blocks * of_block;
        match at {
            RowAt::Transition { block, factor, row } => (block * of_block + factor, row),
            RowAt::Mechanism { index, row } => (transitions + index, row),
            RowAt::Payment { term, row } => {
                (transitions + view.mechanisms.as_ref().map_or(0, |m| m.unknown.len()) + term, row)
            }
        }
    }

    /// Updates with a step of the inner learner; a changed row keeps only the visits after its change point.
    ///
    /// The test counts it once: repetitions by a weight are not new observations.
    pub(super) fn learn(&mut self, inside: &mut Tabular, seen: &Observation<'_>, times: u32) {
        self.clock += 1;
        let episode = self.episode();
        let view = inside.evidence.view.clone();
        let mut places: Vec<(RowAt, u128)> = Vec::with_capacity(8);
        let knowledge = inside.evidence.places_of(seen, |place| places.push(place.row()));
        knowledge.expect("invariant: the learner inside has taken it in");
        for (at, value) in places {
            let (table, row) = self.find(&view, at);
            let alarm = self.visit(table, row, value, times, episode);
            if let Some(alarm) = alarm {
                let since = self.reset(inside, table, row, episode);
                match alarm {
                    Alarm::Sure => self.suspect(since, episode),
                    Alarm::Suspected => {}
                }
            }
        }
    }

    /// The present episode, from 1, by the time index.
    fn episode(&self) -> u64 {
        self.clock.div_ceil(self.horizon).max(1)
    }

    /// Tests other rows for a change at the time of a detected change.
    fn suspect(&mut self, since: u64, episode: u64) {
        if let Some(known) = self.suspected.iter_mut().find(|s| (s.from..=s.to).contains(&since)) {
            known.changed = known.changed.saturating_add(1);
            return;
        }
        let near = (episode - since.min(episode)) / 2 + 1;
        self.suspected.push_back(Suspicion::new(since.saturating_sub(near), since.saturating_add(near)));
        if self.suspected.len() > MOST_SUSPECTED {
            self.suspected.pop_front();
        }
    }

    /// Adds a visit of a row; returns whether a change is detected.
    fn visit(&mut self, table: usize, row: usize, value: u128, times: u32, episode: u64) -> Option<Alarm> {
        let Rows { tables, bar, delta, suspected, scratch, .. } = self;
        let table = &mut tables[table];
        if table.rows.is_empty() {
            return None;
        }
        let (empty, paid) = (table.empty(), table.is_paid());
        let row = table.rows[row].get_or_insert_with(|| Box::new(Row::new(empty)));
        row.recent.push_back(Visit::new(value, times, episode));
        if row.recent.len() > MOST_RECENT {
            row.recent.pop_front();
            row.dropped += 1;
        }
        row.tested.add(value);
        row.n_tested += 1;
        let recent = Tested(&row.recent, row.of_recent(), paid);
        let of = (&row.tested, row.n_tested);
        if table.shape.alarm(of, &recent, *bar, scratch) {
            return Some(Alarm::Sure);
        }
        let untested = row.recent.len() - row.of_recent();
        let found = suspected.iter_mut().any(|suspicion| {
            // Splits whose first later visit falls into these episodes.
            let [first, last] = [suspicion.from, suspicion.to.saturating_add(1)]
                .map(|episode| row.recent.partition_point(|visit| u64::from(visit.episode) < episode));
            let (first, last) = (first.max(untested), last.min(row.recent.len()));
            let [least, most] = [last, first].map(|at| row.recent.len() - at);
            if first >= last || least >= CLEARED {
                return false;
            }
            if most == UNCHANGED {
                suspicion.unchanged = suspicion.unchanged.saturating_add(1);
            }
            let mean = table.shape.mean(of, &recent, [least as u64 + 1, most as u64], scratch);
            let found = mean.is_some_and(|mean| mean >= suspicion.bar(*delta));
            suspicion.changed = suspicion.changed.saturating_add(found.into());
            found
        });
        found.then_some(Alarm::Suspected)
    }

    /// Removes the visits of a row before its change point; returns the episode of the change.
    fn reset(&mut self, inside: &mut Tabular, table: usize, row: usize, episode: u64) -> u64 {
        let Rows { tables, scratch, .. } = self;
        let of = &mut tables[table];
        let (paid, at, empty) = (of.is_paid(), of.at(row), of.empty());
        let state = of.rows[row].as_mut().expect("invariant: it was visited");
        let recent = Tested(&state.recent, state.of_recent(), paid);
        let kept = of.shape.best((&state.tested, state.n_tested), &recent, scratch) as usize;
        state.recent.drain(..state.recent.len() - kept);
        let mut before = std::mem::replace(&mut state.tested, empty.clone());
        let mut after = empty;
        for visit in &state.recent {
            let value = decoded(visit.value, paid);
            before.remove(value);
            after.add(value);
        }
        (state.n_tested, state.dropped) = (0, 0);
        state.resets = state.resets.saturating_add(1);
        let Tabular { evidence, belief, doubled, .. } = inside;
        let visits = state.recent.iter().map(|visit| (decoded(visit.value, paid), visit.times));
        evidence.keep_of_row(at, visits, |changed| belief.touch(changed));
        // The present plan is outdated, so the next plan is due at once.
        *doubled = true;
        let since = state.recent.front().map_or(episode, |visit| visit.episode.into());
        let (before, after) = (Part::of(&before), Part::of(&after));
        self.count += 1;
        self.noticed.push_back(Noticed { table, row, episode, since, before, after });
        if self.noticed.len() > MOST_TOLD {
            self.noticed.pop_front();
        }
        since
    }

    /// Removes the latest visits equal to those of a step, in the rows that still hold them.
    ///
    /// A row that was reset since has forgotten it already, unless it is among the kept visits.
    pub(super) fn take_back(&mut self, inside: &mut Tabular, seen: &Observation<'_>) -> Result<(), EvidenceError> {
        let view = inside.evidence.view.clone();
        let mut places: Vec<Counted> = Vec::with_capacity(8);
        inside.evidence.places_of(seen, |place| places.push(place))?;
        let (mut there, mut remembered) = (true, Vec::with_capacity(places.len()));
        for &place in &places {
            let (at, value) = place.row();
            let (table, row) = self.find(&view, at);
            let state = self.tables[table].rows.get(row).and_then(|row| row.as_deref());
            let paid = self.tables[table].is_paid();
            let counted = inside.evidence.has(place)
                && state.is_none_or(|row| {
                    let forgotten = row.resets > 0 && row.dropped == 0;
                    row.find(value, paid).is_some() || !forgotten && row.may_hold(inside.evidence.row_of(at), value)
                });
            there &= counted || state.is_some_and(|row| row.resets > 0);
            remembered.push(counted);
        }
        if !there {
            return Err(EvidenceError::NotThere);
        }
        let Tabular { evidence, belief, doubled, .. } = inside;
        let mut counted = remembered.iter().copied();
        let is_counted = |_| counted.next().expect("invariant: the places of a step do not change");
        evidence.remove_remembered(seen, is_counted, |changed| belief.touch(changed))?;
        *doubled = true;
        for (place, _) in places.into_iter().zip(remembered).filter(|(_, counted)| *counted) {
            let (at, value) = place.row();
            let (table, row) = self.find(&view, at);
            let paid = self.tables[table].is_paid();
            if let Some(state) = self.tables[table].rows.get_mut(row).and_then(|row| row.as_mut()) {
                state.take_back(value, paid);
            }
        }
        Ok(())
    }
}
