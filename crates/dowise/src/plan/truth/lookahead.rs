//! One-step lookahead by the known tables.

use std::sync::atomic::{AtomicBool, Ordering};

use super::Planner;
use crate::kernel::Found;
use crate::plan::{Lookahead, per_state_scale};

/// q by the known tables, and whether its choices need a closer look.
pub(super) struct TrueLookahead<'a> {
    planner: &'a Planner,
    spare: Vec<f64>,
    /// For each state: whether every reward from the present stage on is 0.
    pays_nothing: Vec<bool>,
    /// Whether the choice in some state is not good enough at the scale of that state.
    pub(super) doubt: AtomicBool,
}

impl TrueLookahead<'_> {
    pub(super) fn new(planner: &Planner) -> TrueLookahead<'_> {
        TrueLookahead { planner, spare: Vec::new(), pays_nothing: Vec::new(), doubt: AtomicBool::new(false) }
    }
}

impl Lookahead for TrueLookahead<'_> {
    fn look(&mut self, _stage: usize, next_value: &[f64], q: &mut Vec<f64>) {
        self.planner.look(next_value, q, &mut self.spare);
        self.pays_nothing.clear();
        let nothing = |row: &[f64]| row.iter().all(|&q| q == 0.0);
        match self.planner.split() {
            Some(split) if nothing(q) => {
                self.pays_nothing.extend((0..self.planner.kernel.n_states()).map(|s| split.search().is_free(s)));
            }
            Some(_) => {}
            None if self.planner.kernel.has_costs() => {}
            None => self.pays_nothing.extend(q.chunks_exact(self.planner.kernel.n_causes()).map(nothing)),
        }
    }

    fn ended(&self) -> Option<&[bool]> {
        self.planner.ended()
    }

    fn is_shared(&self) -> bool {
        self.planner.is_split()
    }

    fn cap(&self, stage: usize) -> f64 {
        (self.planner.horizon - stage) as f64 * self.planner.best_step
    }

    fn chosen(&self, stage: usize, state: usize, loss: &[f64], found: &Found) -> f64 {
        if self.pays_nothing.get(state) == Some(&true) {
            // Not what rounding at the scale of the cap leaves: where nothing is at stake, nothing is small beside it.
            return 0.0;
        }
        let cap = self.cap(stage);
        let size = || self.planner.size_of_choice(state, cap, loss, found.action);
        if !self.doubt.load(Ordering::Relaxed) && per_state_scale::is_doubtful(cap, found, size) {
            self.doubt.store(true, Ordering::Relaxed);
        }
        cap - found.least
    }
}
