//! Rows that are watched for a change; when one is noticed, the row keeps what was seen since and nothing else.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::split::{Recent, Scratch, Shape, Tally};
use crate::learn::evidence::{Counted, Evidence, EvidenceError, RowAt, RowSeen};
use crate::learn::observation::Observation;
use crate::learn::save::RestoreError;
use crate::learn::tabular::Tabular;
use crate::learn::view::View;
use crate::learn::{Knowledge, Options, PAID_WHOLE};

/// Visits of a row that are remembered one by one: a change that does not show within so many is not noticed.
const MOST_RECENT: usize = 4096;

/// Changes of one row after which others are looked at more closely.
const MOST_SUSPECTED: usize = 4;

/// Visits after which a row that shows nothing counts as one that did not change, and after which it is left alone.
const UNCHANGED: usize = 16;
const CLEARED: usize = 512;

/// Changes that are told of at most: the latest.
pub(super) const MOST_TOLD: usize = 1024;

/// Every row that is learned, with its test.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    pub(super) tables: Vec<Table>,
    /// M/δ: what the test of a row has to reach.
    bar: f64,
    delta: f64,
    horizon: u64,
    /// Steps taken in: what time is measured by.
    clock: u64,
    /// All changes ever noticed, and the latest of them.
    pub(super) count: u64,
    pub(super) noticed: VecDeque<Noticed>,
    suspected: VecDeque<Suspicion>,
    scratch: Scratch,
}

/// The rows of one table.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// The table, as one of its rows.
    pub(super) first: RowAt,
    n_values: Option<usize>,
    shape: Shape,
    /// None for a row that was never visited.
    rows: Vec<Option<Box<Row>>>,
}

/// One row.
#[derive(Clone, Debug)]
struct Row {
    /// Times that it was begun again.
    resets: u32,
    /// Visits since then that are counted and no longer remembered one by one.
    dropped: u64,
    /// Visits since its test began: all that were not yet there when it did.
    tested: Tally,
    n_tested: u64,
    /// What is counted, latest last.
    recent: VecDeque<Visit>,
}

/// Why a row is begun again.
enum Alarm {
    /// It was found to have changed by itself.
    Sure,
    /// It seems to have changed when another row did.
    Suspected,
}

/// Episodes between which a row was found to have changed, and what was found of others since.
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

    /// What E has to reach so that a row has rather changed than not, if one in 1/δ does and those found so far are counted in.
    fn bar(&self, delta: f64) -> f64 {
        (1.0 / delta - 1.0 + f64::from(self.unchanged)) / (1.0 + f64::from(self.changed))
    }
}

/// One visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Visit {
    /// The value, or the share that was paid in 2⁻⁶⁴; all of it is the largest number, which no share is otherwise.
    value: u64,
    /// How often it was counted.
    times: u32,
    episode: u32,
}

/// A change that was noticed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Noticed {
    pub(super) table: usize,
    pub(super) row: usize,
    /// The episode in which it was noticed, and the one since when.
    pub(super) episode: u64,
    pub(super) since: u64,
    pub(super) before: Part,
    pub(super) after: Part,
}

/// Visits on one side of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Part {
    /// (value, visits)
    Values(Vec<(u32, u32)>),
    /// Payments and the sum of their shares as a hexadecimal number.
    Paid(u32, String),
}

/// What is written of all rows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedRows {
    clock: u64,
    count: u64,
    noticed: VecDeque<Noticed>,
    suspected: VecDeque<Suspicion>,
    rows: Vec<SavedRow>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedRow {
    table: usize,
    row: usize,
    resets: u32,
    dropped: u64,
    /// Of the visits since the test began, those that are no longer remembered one by one.
    older: Part,
    /// How many of the others there are.
    tested: usize,
    recent: Vec<Visit>,
}

impl Visit {
    fn new(value: u128, times: u32, episode: u64) -> Visit {
        let value = u64::try_from(value).unwrap_or(u64::MAX);
        Visit { value, times, episode: episode.min(u32::MAX.into()) as u32 }
    }
}

/// Visits that the test looks at, of a table of values or of payments.
struct Tested<'a>(&'a VecDeque<Visit>, usize, bool);

impl Recent for Tested<'_> {
    fn len(&self) -> usize {
        self.1
    }

    fn nth_back(&self, i: usize) -> u128 {
        decoded(self.0[self.0.len() - 1 - i].value, self.2)
    }
}

/// A value as it is counted.
fn decoded(value: u64, paid: bool) -> u128 {
    if paid && value == u64::MAX { PAID_WHOLE } else { value.into() }
}

impl Table {
    fn new(first: RowAt, sizes: Option<&[usize]>, n_rows: usize) -> Table {
        let n_values = sizes.map(|sizes| sizes.iter().product());
        let shape = sizes.map_or_else(Shape::of_payments, Shape::of_values);
        // What can have one value alone never changes.
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

    /// Bytes that it takes at most for a learner that plays its episodes and has this many rows and counts.
    pub(super) fn bytes(told: &Knowledge, options: &Options, rows: u128, counts: u128) -> u128 {
        let steps = u128::from(options.episodes).saturating_mul(told.horizon() as u128);
        let tables = (told.variables().len() + told.rewards().len()) as u128;
        let visits = steps.saturating_mul(tables).min(rows.saturating_mul(MOST_RECENT as u128));
        let of_rows = rows.saturating_mul(120).saturating_add(counts.saturating_mul(4));
        // Lists grow by doubling.
        visits.saturating_mul(2 * size_of::<Visit>() as u128).saturating_add(of_rows)
    }

    /// Where a row stands: its table, and its position there.
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

    /// Takes in a step that the learner inside has taken in; a row that has changed keeps what came after.
    ///
    /// The test looks at it once: what is repeated with a weight was not observed anew.
    pub(super) fn learn(&mut self, inside: &mut Tabular, seen: &Observation<'_>, times: u32) {
        self.clock += 1;
        let episode = self.episode();
        let view = inside.evidence.view.clone();
        let mut places: Vec<(RowAt, u128)> = Vec::with_capacity(8);
        let told = inside.evidence.places_of(seen, |place| places.push(place.row()));
        told.expect("invariant: the learner inside has taken it in");
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

    /// The present episode, from 1, as time is measured.
    fn episode(&self) -> u64 {
        self.clock.div_ceil(self.horizon).max(1)
    }

    /// Other rows may have changed at the time of a change that was noticed.
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

    /// Adds a visit of a row; whether the row is found to have changed.
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
            // Splits whose first visit after them is of these episodes.
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

    /// Forgets what a row held before the change that was noticed; the episode since when.
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
        // What was planned on is wrong, so the next plan does not wait for more.
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

    /// Takes back the latest visits like those of a step, in the rows that still hold them.
    ///
    /// A row that has changed since has forgotten it already, unless it is among what was kept.
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

    pub(super) fn saved(&self) -> SavedRows {
        let mut rows = Vec::new();
        for (table, of) in self.tables.iter().enumerate() {
            for (row, state) in of.rows.iter().enumerate() {
                let Some(state) = state else { continue };
                let (tested, older) = (state.of_recent(), Part::of(&state.older(of.is_paid())));
                let recent: Vec<Visit> = state.recent.iter().copied().collect();
                let (resets, dropped) = (state.resets, state.dropped);
                rows.push(SavedRow { table, row, resets, dropped, older, tested, recent });
            }
        }
        let (noticed, suspected) = (self.noticed.clone(), self.suspected.clone());
        SavedRows { clock: self.clock, count: self.count, noticed, suspected, rows }
    }

    pub(super) fn take(&mut self, saved: SavedRows) -> Result<(), RestoreError> {
        let damaged = |why: &str| RestoreError::damaged("forget", why);
        if saved.clock > crate::learn::MOST_SAVED {
            return Err(damaged("there were more steps than can be"));
        }
        self.clock = saved.clock;
        for saved in saved.rows {
            let SavedRow { table, row, resets, dropped, older, tested, recent } = saved;
            let of = self.tables.get_mut(table).ok_or_else(|| damaged("there is no such table"))?;
            let (empty, paid, n_values) = (of.empty(), of.is_paid(), of.n_values);
            let is_value = |v: u64| n_values.is_none_or(|n| v < n as u64);
            let state = of.rows.get_mut(row).ok_or_else(|| damaged("there is no such row"))?;
            let possible = |v: &Visit| is_value(v.value) && v.times > 0;
            if state.is_some() || recent.len() > MOST_RECENT || tested > recent.len() || !recent.iter().all(possible) {
                return Err(damaged("a row comes twice, or remembers visits that it cannot have had"));
            }
            let mut counts = older.tally(empty).ok_or_else(|| damaged("a row has visits that it cannot have had"))?;
            let n_older = counts.n();
            if n_older > dropped.min(u64::from(u32::MAX / 2)) || n_older > 0 && tested < recent.len() {
                return Err(damaged("a row was tested on visits that were never dropped"));
            }
            recent[recent.len() - tested..].iter().for_each(|visit| counts.add(decoded(visit.value, paid)));
            let n_tested = n_older + tested as u64;
            *state = Some(Box::new(Row { resets, dropped, tested: counts, n_tested, recent: recent.into() }));
        }
        let possible = |n: &Noticed| {
            let table = self.tables.get(n.table);
            let fits = |part: &Part| table.is_some_and(|of| part.clone().tally(of.empty()).is_some());
            table.is_some_and(|of| n.row < of.rows.len())
                && n.since <= n.episode
                && n.episode <= self.episode()
                && fits(&n.before)
                && fits(&n.after)
        };
        let told = saved.noticed.len();
        if told > MOST_TOLD || told as u64 > saved.count || !saved.noticed.iter().all(possible) {
            return Err(damaged("it noticed a change that cannot have been"));
        }
        let possible = |s: &Suspicion| s.from <= s.to && s.to <= self.episode().saturating_mul(2);
        if saved.suspected.len() > MOST_SUSPECTED || !saved.suspected.iter().all(possible) {
            return Err(damaged("it suspects a change at a time that has not come"));
        }
        (self.count, self.noticed, self.suspected) = (saved.count, saved.noticed, saved.suspected);
        Ok(())
    }

    /// Whether everything that is remembered is counted.
    pub(super) fn fits(&self, evidence: &Evidence) -> bool {
        self.tables.iter().all(|table| {
            let rows = table.rows.iter().enumerate();
            let mut visited = rows.filter_map(|(row, state)| Some((row, state.as_deref()?)));
            visited.all(|(row, state)| {
                let older = state.tested.n().saturating_sub(state.of_recent() as u64);
                match evidence.row_of(table.at(row)) {
                    RowSeen::Values(counts) => {
                        let mut left: Vec<u64> = counts.iter().map(|&n| n.into()).collect();
                        let whole = state.recent.iter().all(|visit| {
                            let left = &mut left[visit.value as usize];
                            let there = *left >= visit.times.into();
                            *left = left.saturating_sub(visit.times.into());
                            there
                        });
                        whole && left.iter().sum::<u64>() >= older
                    }
                    RowSeen::Paid(n, sum) => {
                        let (times, paid) = state.paid();
                        let left = u64::from(n).checked_sub(times);
                        let possible = |left: u64| sum - paid <= u128::from(left) * PAID_WHOLE;
                        left.is_some_and(|left| paid <= sum && possible(left) && left >= older)
                    }
                }
            })
        })
    }
}

impl Row {
    fn new(empty: Tally) -> Row {
        Row { resets: 0, dropped: 0, tested: empty, n_tested: 0, recent: VecDeque::new() }
    }

    /// How many of the visits that are remembered one by one are tested: the latest.
    fn of_recent(&self) -> usize {
        self.recent.len().min(usize::try_from(self.n_tested).unwrap_or(usize::MAX))
    }

    /// Position of the latest visit of this value.
    fn find(&self, value: u128, paid: bool) -> Option<usize> {
        self.recent.iter().rposition(|visit| decoded(visit.value, paid) == value)
    }

    /// Takes the latest visit of this value out, once; an older one if none is remembered.
    fn take_back(&mut self, value: u128, paid: bool) {
        let (first, found) = (self.recent.len() - self.of_recent(), self.find(value, paid));
        match found {
            Some(i) if self.recent[i].times > 1 => self.recent[i].times -= 1,
            Some(i) => {
                self.recent.remove(i);
                if i >= first {
                    self.tested.remove(value);
                    self.n_tested -= 1;
                }
            }
            None => {
                let (older, n) = (self.older(paid), self.n_tested - self.of_recent() as u64);
                if n > 0 && older.has(value) {
                    self.tested.remove(value);
                    self.n_tested -= 1;
                }
                // Of those that were dropped, some may have been there before the test began.
                self.dropped = self.dropped.saturating_sub(1).max(self.n_tested - self.of_recent() as u64);
            }
        }
    }

    /// Visits since the test began that are no longer remembered one by one.
    fn older(&self, paid: bool) -> Tally {
        let mut older = self.tested.clone();
        let tested = self.recent.iter().skip(self.recent.len() - self.of_recent());
        tested.for_each(|visit| older.remove(decoded(visit.value, paid)));
        older
    }

    /// Whether a visit that is not remembered by itself can be counted, beside those that are.
    fn may_hold(&self, seen: RowSeen<'_>, value: u128) -> bool {
        match seen {
            RowSeen::Values(counts) => counts[value as usize] > 0,
            RowSeen::Paid(n, sum) => {
                let (times, paid) = self.paid();
                let left = Tally::Paid((u64::from(n) - times) as u32, sum - paid);
                left.has(value)
            }
        }
    }

    /// Number and sum of the payments that are remembered one by one.
    fn paid(&self) -> (u64, u128) {
        self.recent.iter().fold((0, 0), |(times, sum), visit| {
            (times + u64::from(visit.times), sum + decoded(visit.value, true) * u128::from(visit.times))
        })
    }
}

impl Part {
    fn of(tally: &Tally) -> Part {
        match tally {
            Tally::Values(counts) => {
                let seen = counts.iter().enumerate().filter(|(_, n)| **n > 0);
                Part::Values(seen.map(|(value, &n)| (value as u32, n)).collect())
            }
            Tally::Paid(n, sum) => Part::Paid(*n, format!("{sum:x}")),
        }
    }

    /// The same as a tally of this kind; `None` if it is of another, or cannot be.
    fn tally(self, empty: Tally) -> Option<Tally> {
        match (self, empty) {
            (Part::Values(list), Tally::Values(mut counts)) => {
                let mut sum = 0u32;
                for (value, n) in list {
                    let count = counts.get_mut(value as usize).filter(|count| **count == 0 && n > 0)?;
                    *count = n;
                    sum = sum.checked_add(n)?;
                }
                Some(Tally::Values(counts))
            }
            (Part::Paid(n, sum), Tally::Paid(..)) => {
                let sum = u128::from_str_radix(&sum, 16).ok()?;
                (sum <= u128::from(n) * PAID_WHOLE).then_some(Tally::Paid(n, sum))
            }
            (Part::Values(_) | Part::Paid(..), _) => None,
        }
    }
}
