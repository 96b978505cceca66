//! What reward terms on next values pay, row by row of the present and of what followed.
//!
//! Learners count the mean of such a term over what its next values depend on, since that is what they plan with. A world file states it by the
//! next values themselves, so a fit counts those.

use crate::Space;
use crate::learn::{Knowledge, Observation, Payments, paid_share};
use crate::world::{RewardTerm, VarId, World};

/// Payments of every term on next values that is fitted.
#[derive(Clone, Debug)]
pub(super) struct Arrivals(Vec<Term>);

#[derive(Clone, Debug)]
struct Term {
    /// Position among the world's terms.
    position: usize,
    scope: Vec<VarId>,
    /// State factors whose next values count.
    axes: Vec<usize>,
    rows: Space,
    range: [f64; 2],
    paid: Payments,
}

/// Whether a fit counts a term by its next values.
fn is_counted_here(term: &RewardTerm) -> bool {
    term.table.is_none() && !term.next.is_empty()
}

impl Arrivals {
    /// Nothing paid yet; which terms are fitted is what the knowledge does not have.
    pub(super) fn new(told: &Knowledge) -> Arrivals {
        let world = told.world();
        let terms = world.rewards().iter().enumerate().filter(|(_, term)| is_counted_here(term));
        Arrivals(terms.map(|(position, term)| Term::new(world, position, term)).collect())
    }

    /// Counts a step, this many times, where it says the payment and all that it depends on.
    pub(super) fn add(&mut self, told: &Knowledge, seen: &Observation<'_>, times: u32) {
        for term in &mut self.0 {
            let (Some(row), paid) = (term.row(told.world(), seen), seen.rewards()[term.position]) else { continue };
            if let Some(share) = paid_share(paid, term.range) {
                term.paid.add_times(row, share, times);
            }
        }
    }

    /// The payments of a term, if it is one of these.
    pub(super) fn of(&self, position: usize) -> Option<&Payments> {
        self.0.iter().find(|term| term.position == position).map(|term| &term.paid)
    }
}

impl Term {
    fn new(world: &World, position: usize, term: &RewardTerm) -> Term {
        let rows = Space::new(&[world.sizes(&term.scope), world.sizes(&term.next)].concat())
            .expect("invariant: a world's tables were counted");
        Term {
            position,
            scope: term.scope.clone(),
            axes: term.next.iter().map(|&id| world.state_axis(id)).collect(),
            paid: Payments::new(rows.len()),
            rows,
            range: term.range,
        }
    }

    fn row(&self, world: &World, seen: &Observation<'_>) -> Option<usize> {
        let next = seen.next_state()?;
        let now = self.scope.iter().map(|&id| seen.value(id).map(|v| v as usize));
        let then = self.axes.iter().map(|&axis| Some(world.state_space().digit(next, axis)));
        now.chain(then).zip(self.rows.sizes()).try_fold(0, |row, (value, size)| Some(row * size + value?))
    }
}
