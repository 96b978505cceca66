//! Evidence: sufficient statistics of observations, that is visit counts of every table row and sums of rewards.
//! Evidence does not depend on the order, the source or the purpose of the observations.

mod arrows;
mod counts;
mod forget;
mod payments;
mod places;
mod save;
mod tables;

pub use arrows::ArrowSeen;
pub(crate) use counts::{Counts, Entry};
pub(crate) use forget::{RowAt, RowSeen};
pub(crate) use payments::{PaymentEntry, Payments, WHOLE};
pub(crate) use places::Counted;
pub(crate) use save::SavedEvidence;
pub use tables::{SeenOf, TableSeen};

use std::sync::Arc;

use self::places::{Done, places, visit_hash};
use super::observation::Observation;
use super::view::View;
use crate::random::splitmix64;

/// Evidence: visit counts of every row that a learner counts, for transitions, unknown mechanisms, and unknown
/// rewards.
///
/// Adding observations in any order, or to several pieces that are merged, gives the same bytes; an observation can be taken
/// back. Only numbers of visits and exact sums are kept: means, sets and samples follow from them.
///
/// ```
/// use dowise::learn::{Evidence, Observation};
/// use dowise::{Knowledge, Options, World, worlds};
/// let world = World::from_toml(&worlds::text("river-swim", &[])?, "river-swim.toml")?;
/// let knowledge = Knowledge::of(&world);
/// let step = |state: usize, next: usize| Observation::at(&knowledge, 0, state)?.did(&knowledge, 0)?.saw(&knowledge, &[0, 1][..1])?.then(&knowledge, next);
/// let (one, two) = (step(0, 1)?, step(1, 2)?);
/// let mut seen = Evidence::new(&knowledge, &Options::default())?;
/// seen.add(&one)?;
/// seen.add(&two)?;
/// let mut other = Evidence::new(&knowledge, &Options::default())?;
/// other.add(&two)?;
/// other.merge(&{ let mut rest = Evidence::new(&knowledge, &Options::default())?; rest.add(&one)?; rest })?;
/// assert_eq!(seen.save(), other.save());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Evidence {
    pub(crate) view: Arc<View>,
    /// `[block][factor]`
    pub(crate) transitions: Vec<Vec<Counts>>,
    /// One for each unknown mechanism.
    pub(crate) mechanisms: Vec<Counts>,
    /// One for each unknown reward term.
    pub(crate) payments: Vec<Payments>,
    /// Visits of states, `[stage][state]`.
    pub(crate) visits_hs: Vec<u32>,
    /// Observations added and not removed.
    steps: u64,
    /// Sum over all counted cells of a hash of the cell: the same for the same evidence, in any order.
    hash: u128,
}

/// Errors of updating or restoring evidence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvidenceError {
    /// A counter is at its maximum.
    #[error("a row would have been seen more than 4,294,967,295 times, which cannot be counted")]
    Full,
    /// An observation without its intervention.
    #[error("the observation does not say what was done; call `did` when it is made")]
    NothingDone,
    /// An observation of another world.
    #[error(
        "the observation was made for another world: its stage, states, values or interventions are not those of this one; \
         make it from what this learner was given"
    )]
    OtherWorld,
    /// An observation to remove cannot have been added.
    #[error("this observation is not part of the evidence, so it cannot be taken back")]
    NotThere,
    /// Evidence of another world, or of another view.
    #[error("the evidence was counted for another world or in another way (fingerprint {other}, here {here})")]
    OtherView {
        /// Fingerprint of the view of the other evidence.
        other: String,
        /// Fingerprint of the view of this evidence.
        here: String,
    },
    /// Saved evidence that is impossible.
    #[error("the saved evidence cannot be right: {field}: {why}; the file is damaged")]
    Damaged {
        /// The invalid part.
        field: String,
        /// The reason.
        why: String,
    },
    /// Another kind of file, another version, or a text that was cut off.
    #[error(transparent)]
    File(#[from] crate::saved::SavedError),
    /// Not evidence of this learner at all.
    #[error("this is not saved evidence: {0}")]
    Format(String),
}

/// A changed row, which a belief must update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changed {
    /// A row of a factor's transitions.
    Transition { block: usize, factor: usize, row: usize },
    /// A row of a mechanism.
    Mechanism,
    /// A row of a reward term.
    Payment,
}

/// A row that counts an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Looked {
    /// Of a factor's transitions.
    Transition { factor: usize, row: usize },
    /// Of an unknown mechanism.
    Mechanism { index: usize, row: usize },
    /// Of an unknown reward term.
    Payment { term: usize, row: usize },
}

impl Evidence {
    /// Evidence without observations, for the view of a learner with these options.
    pub fn new(knowledge: &super::Knowledge, options: &super::Options) -> Result<Evidence, super::LearnError> {
        super::memory::fits_evidence(knowledge, options)?;
        let view = View::of(knowledge, options)?;
        Ok(Evidence::of(&Arc::new(view)))
    }

    pub(crate) fn of(view: &Arc<View>) -> Evidence {
        let layout = &view.layout;
        let table = || layout.factors.iter().map(|f| Counts::new(f.n_rows, f.n_values)).collect();
        let unknown = view.mechanisms.iter().flat_map(|m| &m.unknown);
        Evidence {
            transitions: (0..view.n_blocks).map(|_| table()).collect(),
            mechanisms: unknown.map(|m| Counts::new(m.rows.len(), m.n_values)).collect(),
            payments: view.payments.terms.iter().map(|t| Payments::new(t.n_rows)).collect(),
            visits_hs: vec![0; (layout.horizon + 1) * layout.n_states()],
            steps: 0,
            hash: 0,
            view: view.clone(),
        }
    }

    /// Adds one observation; an error changes nothing.
    pub fn add(&mut self, observation: &Observation<'_>) -> Result<(), EvidenceError> {
        self.add_and_tell(observation, |_, _| {})
    }

    /// [`Evidence::add`] with a callback for every changed row and its visits.
    #[inline]
    pub(crate) fn add_and_tell(
        &mut self,
        observation: &Observation<'_>,
        mut tell: impl FnMut(Changed, u32),
    ) -> Result<(), EvidenceError> {
        let done = self.check_addition(observation)?;
        let Evidence { view, transitions, mechanisms, payments, visits_hs, .. } = self;
        let visit = observation.stage * view.layout.n_states() + observation.state;
        let mut hash = visit_hash(visit);
        // Inlined for each kind of cell, so that a step needs no dispatch.
        places(
            view,
            observation,
            done,
            #[inline(always)]
            |place| {
                hash = hash.wrapping_add(place.hash());
                match place {
                    Counted::Transition { block, factor, row, value } => {
                        let counts = &mut transitions[block][factor];
                        counts.add(row, value);
                        tell(Changed::Transition { block, factor, row }, counts.n_r[row]);
                    }
                    Counted::Mechanism { index, row, value } => {
                        mechanisms[index].add(row, value);
                        tell(Changed::Mechanism, mechanisms[index].n_r[row]);
                    }
                    Counted::Payment { term, row, share } => {
                        payments[term].add(row, share);
                        tell(Changed::Payment, payments[term].n[row]);
                    }
                }
            },
        );
        visits_hs[visit] += 1;
        self.steps += 1;
        self.hash = self.hash.wrapping_add(hash);
        Ok(())
    }

    /// Adds an observation with a multiplicity; an error changes nothing.
    pub fn add_times(&mut self, observation: &Observation<'_>, times: u32) -> Result<(), EvidenceError> {
        self.add_times_and_tell(observation, times, |_, _| {})
    }

    /// [`Evidence::add_times`] except for the mechanisms that are to be left out, by their position.
    pub(crate) fn add_times_without(
        &mut self,
        observation: &Observation<'_>,
        times: u32,
        left_out: &[bool],
    ) -> Result<(), EvidenceError> {
        let is_left_out = |place| match place {
            Counted::Mechanism { index, .. } => left_out.get(index).copied().unwrap_or(false),
            Counted::Transition { .. } | Counted::Payment { .. } => false,
        };
        self.add_some(observation, times, |place| !is_left_out(place), |_, _| {})
    }

    /// [`Evidence::add_times`] with a callback for every changed row and its visits.
    pub(crate) fn add_times_and_tell(
        &mut self,
        observation: &Observation<'_>,
        times: u32,
        tell: impl FnMut(Changed, u32),
    ) -> Result<(), EvidenceError> {
        self.add_some(observation, times, |_| true, tell)
    }

    fn add_some(
        &mut self,
        observation: &Observation<'_>,
        times: u32,
        is_counted: impl Fn(Counted) -> bool,
        mut tell: impl FnMut(Changed, u32),
    ) -> Result<(), EvidenceError> {
        let action = self.check_additions(observation, times)?;
        let Evidence { view, transitions, mechanisms, payments, visits_hs, .. } = self;
        let visit = observation.stage * view.layout.n_states() + observation.state;
        let mut hash = visit_hash(visit);
        places(view, observation, action, |place| {
            if !is_counted(place) {
                return;
            }
            hash = hash.wrapping_add(place.hash());
            match place {
                Counted::Transition { block, factor, row, value } => {
                    let counts = &mut transitions[block][factor];
                    counts.add_times(row, value, times);
                    tell(Changed::Transition { block, factor, row }, counts.n_r[row]);
                }
                Counted::Mechanism { index, row, value } => {
                    mechanisms[index].add_times(row, value, times);
                    tell(Changed::Mechanism, mechanisms[index].n_r[row]);
                }
                Counted::Payment { term, row, share } => {
                    payments[term].add_times(row, share, times);
                    tell(Changed::Payment, payments[term].n[row]);
                }
            }
        });
        visits_hs[visit] += times;
        self.steps += u64::from(times);
        self.hash = self.hash.wrapping_add(hash.wrapping_mul(times.into()));
        Ok(())
    }

    /// The same counts for another view of the same tables, such as that of a world with other parameters.
    pub(crate) fn moved_to(mut self, view: &Arc<View>) -> Evidence {
        let empty = Evidence::of(view);
        let shape = |e: &Evidence| {
            let counts = e.transitions.iter().flatten().chain(&e.mechanisms).map(|c| (c.n_values, c.n_r.len()));
            (counts.collect::<Vec<_>>(), e.payments.iter().map(|p| p.n.len()).collect::<Vec<_>>(), e.visits_hs.len())
        };
        assert_eq!(shape(&self), shape(&empty), "invariant: evidence moves only between views of the same tables");
        self.view = view.clone();
        self
    }

    /// Checks that the observation belongs to this world; returns its intervention.
    #[inline]
    fn check(&self, observation: &Observation<'_>) -> Result<Done, EvidenceError> {
        let action = observation.done(&self.view.knowledge, self.view.sizes.iter().copied())?;
        match &self.view.actions {
            None => Ok(Done::Keys),
            Some(list) => list.find(action).map(Done::Listed).ok_or(EvidenceError::OtherWorld),
        }
    }

    fn has_room(&self, observation: &Observation<'_>, done: Done) -> bool {
        let mut room = self.visits_hs[observation.stage * self.view.layout.n_states() + observation.state] < u32::MAX;
        places(&self.view, observation, done, |place| {
            room &= match place {
                Counted::Transition { block, factor, row, .. } => self.transitions[block][factor].n_r[row] < u32::MAX,
                Counted::Mechanism { index, row, .. } => self.mechanisms[index].n_r[row] < u32::MAX,
                Counted::Payment { term, row, .. } => self.payments[term].n[row] < u32::MAX,
            };
        });
        room
    }

    /// Checks that an observation can be added; returns its intervention.
    pub(crate) fn check_addition(&self, observation: &Observation<'_>) -> Result<Done, EvidenceError> {
        let done = self.check(observation)?;
        // No row has more visits than there were steps, so rows need no earlier check.
        if self.steps >= u64::from(u32::MAX) && !self.has_room(observation, done) {
            return Err(EvidenceError::Full);
        }
        Ok(done)
    }

    /// Checks that an observation can be added this many times; returns its intervention.
    pub(crate) fn check_additions(&self, observation: &Observation<'_>, times: u32) -> Result<Done, EvidenceError> {
        let done = self.check_addition(observation)?;
        // No row has more visits than there were steps.
        if times > 1 && self.steps + u64::from(times) > u64::from(u32::MAX) {
            return Err(EvidenceError::Full);
        }
        Ok(done)
    }

    /// Checks that an observation can be removed; returns its intervention.
    pub(crate) fn check_removal(&self, observation: &Observation<'_>) -> Result<Done, EvidenceError> {
        let done = self.check(observation)?;
        let mut there = self.visits_hs[observation.stage * self.view.layout.n_states() + observation.state] > 0;
        places(&self.view, observation, done, |place| there &= self.has(place));
        if there { Ok(done) } else { Err(EvidenceError::NotThere) }
    }

    /// Removes one observation that was added before.
    ///
    /// Evidence stores only counts. So an observation is refused, without changes, if one of its rows has no visits.
    /// An observation that was never added, but whose rows all have visits from others, cannot be distinguished. A
    /// [`Session`](super::Session) knows its own observations, and refuses others.
    pub fn remove(&mut self, observation: &Observation<'_>) -> Result<(), EvidenceError> {
        self.remove_and_tell(observation, |_| {})
    }

    /// [`Evidence::remove`] with a callback for every changed row.
    pub(crate) fn remove_and_tell(
        &mut self,
        observation: &Observation<'_>,
        tell: impl FnMut(Changed),
    ) -> Result<(), EvidenceError> {
        let done = self.check_removal(observation)?;
        self.take_out(observation, done, 1, |_| true, tell);
        Ok(())
    }

    /// Removes an observation with this multiplicity from the cells that still count it.
    fn take_out(
        &mut self,
        observation: &Observation<'_>,
        done: Done,
        times: u32,
        mut is_counted: impl FnMut(Counted) -> bool,
        mut tell: impl FnMut(Changed),
    ) {
        let Evidence { view, transitions, mechanisms, payments, visits_hs, .. } = self;
        let visit = observation.stage * view.layout.n_states() + observation.state;
        let mut hash = visit_hash(visit);
        places(view, observation, done, |place| {
            if !is_counted(place) {
                return;
            }
            hash = hash.wrapping_add(place.hash());
            match place {
                Counted::Transition { block, factor, row, value } => {
                    transitions[block][factor].remove(row, value, times);
                    tell(Changed::Transition { block, factor, row });
                }
                Counted::Mechanism { index, row, value } => {
                    mechanisms[index].remove(row, value, times);
                    tell(Changed::Mechanism);
                }
                Counted::Payment { term, row, share } => {
                    payments[term].remove(row, share, times);
                    tell(Changed::Payment);
                }
            }
        });
        visits_hs[visit] -= times;
        self.steps -= u64::from(times);
        self.hash = self.hash.wrapping_sub(hash.wrapping_mul(times.into()));
    }

    /// Calls `at` for every row that counts an observation, with its visits.
    pub(crate) fn visits_of(&self, observation: &Observation<'_>, mut at: impl FnMut(Looked, u32)) {
        let done =
            self.check(observation).expect("invariant: what is looked up is of this world and says what was done");
        places(&self.view, observation, done, |place| match place {
            Counted::Transition { block, factor, row, .. } => {
                at(Looked::Transition { factor, row }, self.transitions[block][factor].n_r[row]);
            }
            Counted::Mechanism { index, row, .. } => {
                at(Looked::Mechanism { index, row }, self.mechanisms[index].n_r[row]);
            }
            Counted::Payment { term, row, .. } => at(Looked::Payment { term, row }, self.payments[term].n[row]),
        });
    }

    /// Adds all of other evidence; an error changes nothing.
    pub fn merge(&mut self, other: &Evidence) -> Result<(), EvidenceError> {
        if !Arc::ptr_eq(&self.view, &other.view) {
            let (here, theirs) = (self.view.fingerprint(), other.view.fingerprint());
            if here != theirs {
                return Err(EvidenceError::OtherView { other: theirs, here });
            }
        }
        let tables = || self.transitions.iter().flatten().chain(&self.mechanisms);
        let others = other.transitions.iter().flatten().chain(&other.mechanisms);
        let visits = self.visits_hs.iter().zip(&other.visits_hs);
        let fits = tables().zip(others).all(|(a, b)| a.fits_with(b))
            && self.payments.iter().zip(&other.payments).all(|(a, b)| a.fits_with(b))
            && visits.clone().all(|(a, b)| a.checked_add(*b).is_some());
        if !fits {
            return Err(EvidenceError::Full);
        }
        let others = other.transitions.iter().flatten().chain(&other.mechanisms);
        self.transitions.iter_mut().flatten().chain(&mut self.mechanisms).zip(others).for_each(|(a, b)| a.merge(b));
        self.payments.iter_mut().zip(&other.payments).for_each(|(a, b)| a.merge(b));
        self.visits_hs.iter_mut().zip(&other.visits_hs).for_each(|(a, b)| *a += b);
        self.steps += other.steps;
        self.hash = self.hash.wrapping_add(other.hash);
        Ok(())
    }

    /// The evidence without all of other evidence; `None` if that is not a part of it.
    pub(crate) fn without(&self, part: &Evidence) -> Option<Evidence> {
        if self.view.fingerprint() != part.view.fingerprint() {
            return None;
        }
        let mut rest = self.clone();
        let tables = rest.transitions.iter_mut().flatten().chain(&mut rest.mechanisms);
        let parts = part.transitions.iter().flatten().chain(&part.mechanisms);
        for (counts, part) in tables.zip(parts) {
            counts.subtract(part)?;
        }
        for (payments, part) in rest.payments.iter_mut().zip(&part.payments) {
            payments.subtract(part)?;
        }
        for (n, part) in rest.visits_hs.iter_mut().zip(&part.visits_hs) {
            *n = n.checked_sub(*part)?;
        }
        rest.steps = rest.steps.checked_sub(part.steps)?;
        rest.hash = rest.hash_of_counts();
        Some(rest)
    }

    /// The rows with visits, of all tables.
    pub(crate) fn rows(&self) -> impl Iterator<Item = RowAt> {
        let transitions = self.transitions.iter().enumerate().flat_map(|(block, factors)| {
            factors.iter().enumerate().flat_map(move |(factor, counts)| {
                counts.visited().map(move |row| RowAt::Transition { block, factor, row })
            })
        });
        let mechanisms = self.mechanisms.iter().enumerate();
        let mechanisms =
            mechanisms.flat_map(|(index, counts)| counts.visited().map(move |row| RowAt::Mechanism { index, row }));
        let payments = self.payments.iter().enumerate();
        let payments = payments.flat_map(|(term, paid)| paid.rows().map(move |(row, ..)| RowAt::Payment { term, row }));
        transitions.chain(mechanisms).chain(payments)
    }

    /// Rows of all tables, visited or not.
    pub(crate) fn n_rows(&self) -> usize {
        let counts = self.transitions.iter().flatten().chain(&self.mechanisms).map(|c| c.n_r.len());
        counts.chain(self.payments.iter().map(|p| p.n.len())).sum()
    }

    /// Bytes of its tables.
    pub(crate) fn bytes_taken(&self) -> u128 {
        let counts = self.transitions.iter().flatten().chain(&self.mechanisms);
        let numbers: usize = counts.map(|c| c.n_r.len() + c.n_rv.len()).sum::<usize>() + self.visits_hs.len();
        let payments: usize = self.payments.iter().map(|p| p.n.len()).sum();
        (4 * numbers + 20 * payments) as u128
    }

    /// Observations added and not removed.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Fingerprint: equal evidence has equal fingerprints, other evidence almost surely not.
    pub fn fingerprint(&self) -> u64 {
        splitmix64(self.hash as u64 ^ splitmix64((self.hash >> 64) as u64 ^ splitmix64(self.steps)))
    }
}
