//! Rows that count an observation, and the incremental hash of all counts.

use super::Evidence;
use crate::learn::observation::Observation;
use crate::learn::view::{MISSING, View};
use crate::random::splitmix64;

/// The intervention, as evidence counts it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Done {
    /// The position of the intervention, if interventions are the configurations.
    Listed(usize),
    /// An intervention that acts through key variables.
    Keys,
}

/// A counted cell of an observation.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Counted {
    Transition { block: usize, factor: usize, row: usize, value: usize },
    Mechanism { index: usize, row: usize, value: usize },
    Payment { term: usize, row: usize, share: u128 },
}

/// Calls `at` for every cell that counts an observation; missing values are skipped.
#[inline]
pub(super) fn places(view: &View, observation: &Observation<'_>, done: Done, mut at: impl FnMut(Counted)) {
    let Observation { stage, state, action: _, values, rewards, next_state, unseen_next: _ } = observation;
    let layout = &view.layout;
    let (states, n_causes) = (&layout.state_space, layout.n_causes);
    let (cause, missing) = match done {
        Done::Listed(rank) => (rank, 0),
        Done::Keys => view.key_causes.of_seen(values, MISSING),
    };
    if let Some(next_state) = *next_state {
        let block = view.block(*stage);
        for (i, factor) in layout.factors.iter().enumerate() {
            // For whole states, one terminal state represents all of them.
            let seen = factor.factor.is_none_or(|f| observation.saw_next(f));
            if factor.known.is_none() && factor.needs & missing == 0 && seen {
                let row = factor.row(factor.state_row(states, *state), cause, n_causes);
                at(Counted::Transition { block, factor: i, row, value: factor.value(states, next_state) });
            }
        }
    }
    for (i, term) in view.payments.terms.iter().enumerate() {
        if term.needs & missing == 0
            && let Some(share) = term.share(rewards)
        {
            let row = term.row(view.knowledge.state_space(), *state, cause, n_causes);
            at(Counted::Payment { term: i, row, share });
        }
    }
    if let Some(mechanisms) = &view.mechanisms {
        let set = observation.levers_set(&view.knowledge);
        for (index, of) in mechanisms.unknown.iter().enumerate() {
            if let Some((row, value)) = mechanisms.place(of, set, values) {
                at(Counted::Mechanism { index, row, value });
            }
        }
    }
}

impl Evidence {
    /// The hash computed from the counts, instead of step by step.
    pub(super) fn hash_of_counts(&self) -> u128 {
        let mut hash = 0u128;
        let mut add = |place: Counted, n: u32| hash = hash.wrapping_add(place.hash().wrapping_mul(n.into()));
        for (block, factors) in self.transitions.iter().enumerate() {
            for (factor, counts) in factors.iter().enumerate() {
                for (row, value, n) in counts.entries() {
                    add(Counted::Transition { block, factor, row: row as usize, value: value as usize }, n);
                }
            }
        }
        for (index, counts) in self.mechanisms.iter().enumerate() {
            for (row, value, n) in counts.entries() {
                add(Counted::Mechanism { index, row: row as usize, value: value as usize }, n);
            }
        }
        for (term, payments) in self.payments.iter().enumerate() {
            for (row, n, sum) in payments.rows() {
                // Linear in the share, so the hash of several rewards follows from their sum.
                let first = Counted::Payment { term, row, share: sum };
                hash = hash.wrapping_add(first.hash());
                let none = Counted::Payment { term, row, share: 0 };
                hash = hash.wrapping_add(none.hash().wrapping_mul(u128::from(n - 1)));
            }
        }
        for (visit, &n) in self.visits_hs.iter().enumerate() {
            hash = hash.wrapping_add(visit_hash(visit).wrapping_mul(n.into()));
        }
        hash
    }
}

impl Counted {
    #[inline]
    pub(super) fn hash(self) -> u128 {
        match self {
            Counted::Transition { block, factor, row, value } => key(block as u64 ^ 1 << 62, factor as u64, row, value),
            Counted::Mechanism { index, row, value } => key(index as u64 ^ 2 << 62, 0, row, value),
            Counted::Payment { term, row, share } => {
                let of = key(term as u64 ^ 3 << 62, 0, row, 0);
                of.wrapping_add(of.wrapping_mul(of).wrapping_mul(share))
            }
        }
    }
}

/// Hash of one visit of a state at a stage.
#[inline]
pub(super) fn visit_hash(visit: usize) -> u128 {
    key(0, 0, visit, 0)
}

/// Hash of one cell: one good mix, and a second half derived from it; computed for every row of every step.
#[inline]
fn key(table: u64, factor: u64, row: usize, value: usize) -> u128 {
    let (row, value) = (row as u64, value as u64);
    let at = table.wrapping_mul(0xd6e8_feb8_6659_fd93) ^ factor.wrapping_mul(0xa076_1d64_78bd_642f);
    let upper = splitmix64(at ^ row.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ value.wrapping_mul(0xe703_7ed1_a0b4_28db));
    let lower = (upper.rotate_left(32) ^ at).wrapping_mul(0x8ebc_6af0_9c88_c6e3) ^ upper;
    // Odd, so that no share of a reward is lost in a product with it.
    u128::from(upper) << 64 | u128::from(lower) | 1
}
