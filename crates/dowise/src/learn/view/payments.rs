//! Unknown reward terms: the row of reward observations for a state and a configuration.

use super::ActionList;
use super::row_of::RowOf;
use crate::Space;
use crate::kernel::{CauseSpace, Kernel};
use crate::kernel::{rows_by_cause, scope_strides, state_scope};
use crate::plan::rewards_by_cause;
use crate::world::{RewardTerm, VarId, World};

/// Rows of all unknown reward terms.
#[derive(Clone, Debug)]
pub(crate) struct PaymentRows {
    /// Sum of the known terms, `[state][cause]`.
    pub(crate) known: Vec<f64>,
    /// Unknown terms.
    pub(crate) terms: Vec<TermRows>,
    pub(crate) n_causes: usize,
}

/// Rows of one term, or of the sum of several.
#[derive(Clone, Debug)]
pub(crate) struct TermRows {
    /// Positions of the world's terms in this sum.
    pub(crate) of: Vec<usize>,
    /// State factors and strides of its row.
    scope: Vec<(usize, usize)>,
    rows: Rows,
    pub(crate) n_rows: usize,
    /// Positions of the key variables that the row depends on, as bits.
    pub(crate) needs: u64,
    pub(crate) range: [f64; 2],
}

/// The row of reward observations for a state row and a configuration.
#[derive(Clone, Debug)]
enum Rows {
    /// `[state row][cause]`
    Listed(Vec<u32>),
    /// For joint key values too many to enumerate.
    Computed(RowOf),
}

impl PaymentRows {
    /// Where key variables are the causes: learners that see the state whole learn the sum of the unknown terms, others each
    /// term with its own scope.
    pub(crate) fn by_keys(world: &World, key_causes: &CauseSpace, flat: bool) -> PaymentRows {
        let learned = |&i: &usize| world.mean_is_learned(&world.rewards()[i]);
        let unknown: Vec<usize> = (0..world.rewards().len()).filter(learned).collect();
        let terms = if unknown.is_empty() {
            Vec::new()
        } else if flat {
            vec![TermRows::whole(world, unknown, key_causes.len(), u64::MAX)]
        } else {
            unknown.into_iter().map(|i| TermRows::new(world, key_causes, i)).collect()
        };
        PaymentRows { known: rewards_by_cause(world, key_causes), terms, n_causes: key_causes.len() }
    }

    /// By components: rows of unknown terms are computed, without a table over joint key values; components hold the
    /// known terms.
    pub(crate) fn computed(world: &World, key_causes: &CauseSpace) -> PaymentRows {
        let learned = |&i: &usize| world.mean_is_learned(&world.rewards()[i]);
        let terms = (0..world.rewards().len()).filter(learned).map(|i| TermRows::computed(world, key_causes, i));
        PaymentRows { known: Vec::new(), terms: terms.collect(), n_causes: key_causes.len() }
    }

    /// If interventions are the configurations: R(s, a) is known only if both the effects of interventions and their
    /// rewards are known. Otherwise the sum of all terms is learned.
    pub(crate) fn by_action(world: &World, key_causes: &CauseSpace, list: &ActionList) -> PaymentRows {
        let n_causes = list.actions.len();
        let all_known = !world.rewards().iter().any(|r| world.mean_is_learned(r));
        let kernel = if all_known { Kernel::new(world).ok() } else { None };
        match kernel {
            Some(kernel) => {
                let known = list.average(&kernel, &rewards_by_cause(world, key_causes));
                PaymentRows { known, terms: Vec::new(), n_causes }
            }
            None => {
                // Known next-state rewards enter with the next states.
                let paid_elsewhere = |r: &RewardTerm| r.pays_on_next_state() && r.table.is_some();
                let all = (0..world.rewards().len()).filter(|&i| !paid_elsewhere(&world.rewards()[i])).collect();
                let terms = vec![TermRows::whole(world, all, n_causes, 0)];
                PaymentRows { known: vec![0.0; world.n_states() * n_causes], terms, n_causes }
            }
        }
    }

    /// Whether all terms are known.
    pub(crate) fn is_known(&self) -> bool {
        self.terms.is_empty()
    }

    /// Number of rows to learn.
    pub(crate) fn cells(&self) -> usize {
        self.terms.iter().map(|t| t.n_rows).sum()
    }
}

impl TermRows {
    /// One row for every state and configuration, for the sum of these terms.
    fn whole(world: &World, of: Vec<usize>, n_causes: usize, needs: u64) -> TermRows {
        let states = world.state_space();
        let range = of.iter().fold([0.0, 0.0], |[lo, hi], &i| {
            let [a, b] = world.rewards()[i].range;
            [lo + a, hi + b]
        });
        let scope = (0..states.n_axes()).zip(states.strides().iter().copied()).collect();
        let n_rows = states.len() * n_causes;
        TermRows { of, scope, rows: Rows::Listed((0..n_rows as u32).collect()), n_rows, needs, range }
    }

    /// The rows of [`TermRows::new`], computed on demand.
    fn computed(world: &World, key_causes: &CauseSpace, i: usize) -> TermRows {
        let term = &world.rewards()[i];
        let ids = world.expected_scope(term);
        let scope = scope_strides(world.state_space(), &state_scope(world, &ids));
        let rows = RowOf::new(world, key_causes, &ids, &scope);
        let (n_rows, needs) = (rows.len(), needs(key_causes, &ids));
        TermRows { of: vec![i], scope, n_rows, rows: Rows::Computed(rows), needs, range: term.range }
    }

    fn new(world: &World, key_causes: &CauseSpace, i: usize) -> TermRows {
        // For next values the mean is learned, given the parents of these values.
        TermRows::over(world, key_causes, i, &world.expected_scope(&world.rewards()[i]))
    }

    /// Rows of the present scope of a term alone.
    pub(crate) fn of_present(world: &World, key_causes: &CauseSpace, i: usize) -> TermRows {
        TermRows::over(world, key_causes, i, &world.rewards()[i].scope)
    }

    fn over(world: &World, key_causes: &CauseSpace, i: usize, scope: &[VarId]) -> TermRows {
        let term = &world.rewards()[i];
        let positions = state_scope(world, scope);
        let rows: Vec<u32> =
            rows_by_cause(world, scope, &positions, key_causes).into_iter().map(|r| r as u32).collect();
        TermRows {
            of: vec![i],
            scope: scope_strides(world.state_space(), &positions),
            n_rows: rows.iter().max().map_or(0, |m| *m as usize + 1),
            rows: Rows::Listed(rows),
            needs: needs(key_causes, scope),
            range: term.range,
        }
    }

    /// Row of a state and a configuration.
    pub(crate) fn row(&self, states: &Space, state: usize, cause: usize, n_causes: usize) -> usize {
        let state_row = self.state_row(states, state);
        match &self.rows {
            Rows::Listed(rows) => rows[state_row * n_causes + cause] as usize,
            Rows::Computed(rows) => rows.row(state_row, cause),
        }
    }

    pub(crate) fn state_row(&self, states: &Space, state: usize) -> usize {
        self.scope.iter().map(|&(f, stride)| states.digit(state, f) * stride).sum()
    }

    /// State factors and strides of a row's state.
    pub(crate) fn scope(&self) -> &[(usize, usize)] {
        &self.scope
    }

    /// A state row and a configuration that a row counts.
    pub(crate) fn of_row(&self, row: usize, n_causes: usize) -> (usize, usize) {
        match &self.rows {
            Rows::Listed(rows) => {
                let cell = rows.iter().position(|&r| r as usize == row).unwrap_or(0);
                (cell / n_causes, cell % n_causes)
            }
            Rows::Computed(rows) => rows.of_row(row),
        }
    }

    /// Rows of all configurations at a state row, if joint key values are enumerated.
    pub(crate) fn of_state_row(&self, row: usize, n_causes: usize) -> &[u32] {
        match &self.rows {
            Rows::Listed(rows) => &rows[row * n_causes..(row + 1) * n_causes],
            Rows::Computed(_) => panic!("invariant: joint causes are listed unless worlds are planned by components"),
        }
    }

    /// A reward as a share of the range, in 2⁻⁶⁴: sums of these are exact in any order.
    pub(crate) fn share(&self, rewards: &[f64]) -> Option<u128> {
        paid_share(self.of.iter().map(|&i| rewards[i]).sum(), self.range)
    }
}

/// A reward as a share of its range, in 2⁻⁶⁴; `None` if it is missing (NaN).
pub(crate) fn paid_share(reward: f64, [lo, hi]: [f64; 2]) -> Option<u128> {
    if reward.is_nan() {
        return None;
    }
    let share = if hi > lo { ((reward - lo) / (hi - lo)).clamp(0.0, 1.0) } else { 0.0 };
    Some((share * 18_446_744_073_709_551_616.0) as u128)
}

/// Positions of the key variables among these, as bits.
pub(crate) fn needs(key_causes: &CauseSpace, ids: &[VarId]) -> u64 {
    let positions = key_causes.variables().iter().enumerate().filter(|(_, id)| ids.contains(id));
    positions.fold(0, |bits, (p, _)| bits | 1 << p.min(63))
}
