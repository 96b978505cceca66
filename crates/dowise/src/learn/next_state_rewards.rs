//! Next-state rewards: reward observations by rows of the present and of the next values.
//!
//! Learners plan with the mean of such a term given the parents of its next values, so they count that mean. In a log,
//! rewards may be missing depending on the next values, and a world file states such a term by these values. So
//! readers of logs count by next values, and compute E[r | s, c] = Σ_s′ P(s′ | s, c) r(scope, s′) where the mean is
//! needed.

use std::sync::Arc;

use super::evidence::{EvidenceError, PaymentEntry, Payments};
use super::observation::Observation;
use super::view::{TermRows, View, paid_share};
use crate::Space;
use crate::world::{RewardTerm, VarId, World};

/// Reward observations of every next-state term whose mean a view counts.
#[derive(Clone, Debug)]
pub(crate) struct NextStateRewards {
    view: Arc<View>,
    pub(crate) terms: Vec<NextStateTerm>,
}

/// One such term.
#[derive(Clone, Debug)]
pub(crate) struct NextStateTerm {
    /// Position among the world's terms.
    pub(crate) position: usize,
    /// Position among the view's terms.
    pub(crate) term: usize,
    pub(crate) scope: Vec<VarId>,
    /// State factors whose next values matter.
    axes: Vec<usize>,
    /// Scope first, then next values.
    pub(crate) rows: Space,
    /// The row of the scope for a state and a configuration.
    pub(crate) present: TermRows,
    pub(crate) n_next: usize,
    pub(crate) range: [f64; 2],
    /// The rewards, if known.
    pub(crate) known: Option<Arc<[f64]>>,
    pub(crate) paid: Payments,
}

impl NextStateRewards {
    /// Without observations.
    pub(crate) fn new(view: &Arc<View>) -> NextStateRewards {
        let world = view.knowledge.world();
        let counted = view.payments.terms.iter().enumerate().filter_map(|(term, rows)| match rows.of[..] {
            [position] if !world.rewards()[position].next.is_empty() => Some((term, position)),
            _ => None,
        });
        let terms = counted.map(|(term, position)| NextStateTerm::new(view, term, position)).collect();
        NextStateRewards { view: view.clone(), terms }
    }

    /// Adds a step with a multiplicity, if it has the reward and all values that it depends on.
    pub(crate) fn add(&mut self, seen: &Observation<'_>, times: u32) {
        let world = self.view.knowledge.world();
        for term in &mut self.terms {
            let (Some(row), paid) = (term.row(world, seen), seen.rewards()[term.position]) else { continue };
            if let Some(share) = paid_share(paid, term.range) {
                term.paid.add_times(row, share, times);
            }
        }
    }

    /// Adds the counts of others for the same terms.
    pub(crate) fn merge(&mut self, other: &NextStateRewards) {
        self.terms.iter_mut().zip(&other.terms).for_each(|(a, b)| a.paid.merge(&b.paid));
    }

    /// The reward observations of a term, if it is one of these and unknown.
    pub(crate) fn of(&self, position: usize) -> Option<&Payments> {
        self.terms.iter().find(|term| term.position == position && term.known.is_none()).map(|term| &term.paid)
    }

    /// The next-state term of a term of the view.
    pub(crate) fn of_term(&self, term: usize) -> Option<&NextStateTerm> {
        self.terms.iter().find(|of| of.term == term)
    }

    /// The same for another view of the same tables.
    pub(crate) fn moved_to(&self, view: &Arc<View>) -> NextStateRewards {
        let mut out = NextStateRewards::new(view);
        out.merge(self);
        out
    }

    pub(crate) fn saved(&self) -> Vec<Vec<PaymentEntry>> {
        self.terms.iter().map(|term| term.paid.entries()).collect()
    }

    pub(crate) fn restored(view: &Arc<View>, saved: &[Vec<PaymentEntry>]) -> Result<NextStateRewards, EvidenceError> {
        let mut out = NextStateRewards::new(view);
        if saved.len() != out.terms.len() {
            let why = "there are not as many next-state terms as the world has".to_owned();
            return Err(EvidenceError::Damaged { field: "arrivals".to_owned(), why });
        }
        for (term, entries) in out.terms.iter_mut().zip(saved) {
            term.paid.restore(entries, "arrivals")?;
        }
        Ok(out)
    }
}

impl NextStateTerm {
    fn new(view: &View, term: usize, position: usize) -> NextStateTerm {
        let world = view.knowledge.world();
        let reward: &RewardTerm = &world.rewards()[position];
        let rows = Space::new(&[world.sizes(&reward.scope), world.sizes(&reward.next)].concat())
            .expect("invariant: a world's tables were counted");
        NextStateTerm {
            position,
            term,
            scope: reward.scope.clone(),
            axes: reward.next.iter().map(|&id| world.state_axis(id)).collect(),
            present: TermRows::of_present(world, &view.key_causes, position),
            n_next: world.sizes(&reward.next).iter().product(),
            known: reward.table.clone(),
            paid: Payments::new(rows.len()),
            rows,
            range: reward.range,
        }
    }

    /// The row of a step without missing values.
    pub(crate) fn row(&self, world: &World, seen: &Observation<'_>) -> Option<usize> {
        let next = seen.whole_next_state()?;
        let mut now = self.scope.iter().zip(self.rows.sizes());
        let now = now.try_fold(0, |row, (&id, size)| Some(row * size + seen.value(id)? as usize))?;
        Some(now * self.n_next + self.next_row(world.state_space(), next))
    }

    /// The row of a state's next values.
    pub(crate) fn next_row(&self, states: &Space, next: usize) -> usize {
        self.axes.iter().fold(0, |row, &axis| row * states.sizes()[axis] + states.digit(next, axis))
    }

    /// Rows of the present.
    pub(crate) fn n_present(&self) -> usize {
        self.rows.len() / self.n_next
    }

    /// Its next values in a row, by factor.
    pub(crate) fn next_values(&self, row: usize) -> impl Iterator<Item = (usize, usize)> {
        let first = self.scope.len();
        self.axes.iter().enumerate().map(move |(i, &axis)| (axis, self.rows.digit(row, first + i)))
    }
}
