//! Per-state scaling for decomposed planning, where one row of next values serves every state.

use rayon::prelude::*;

use super::rounding;
use crate::kernel::Effects;
use crate::kernel::{Acting, Kernel, Scratch, Tie, Within};
use crate::plan::decomposed::Split;
use crate::plan::{Plan, Planner, SHARED_STATES, Ties};
use crate::world::Action;

/// Share of the tie tolerance by which a search may miss the least value.
const MISSED: f64 = 0.125;

/// An optimal policy and its values, with every state at its own scale; `usual` is the plan in doubt.
///
/// Next values are measured from zero, so that rounding is relative to the values an intervention reaches.
///
/// # Cost
/// About three times the usual recursion.
pub(in crate::plan) fn decomposed(planner: &Planner, split: &Split, usual: &Plan, ties: Ties) -> Plan {
    let n = usual.n_states;
    let mut plan = Plan::new(usual.horizon, n);
    let careful = Careful {
        kernel: planner.kernel(),
        search: split.search(),
        acting: split.acting(planner.kernel(), true),
        rounding: rounding(usual.horizon),
        largest: planner.largest(),
    };
    let mut size_s = vec![0.0; n];
    let (mut row, mut size_row, mut spare) = (Vec::new(), Vec::new(), Vec::new());
    for stage in (0..usual.horizon).rev() {
        let (now, next) = plan.value_hs.split_at_mut((stage + 1) * n);
        planner.look(&next[..n], &mut row, &mut spare);
        row.iter_mut().for_each(|x| *x = -*x);
        planner.look_at_sizes(&size_s, &mut size_row, &mut spare);
        size_row.iter_mut().for_each(|x| *x = -*x);
        (now[stage * n..].par_iter_mut())
            .zip(size_s.par_iter_mut())
            .zip(plan.policy_hs[stage * n..(stage + 1) * n].par_iter_mut())
            .enumerate()
            .with_min_len(if n < SHARED_STATES { n } else { SHARED_STATES / 4 })
            .for_each_init(Scratch::default, |scratch, (s, ((v, size), a))| {
                let tie = ties.at(stage, s);
                (*v, *size, *a) = careful.choose(s, &row, &size_row, usual.action(stage, s), tie, scratch);
                if planner.ended().is_some_and(|ended| ended[s]) {
                    (*v, *size) = (0.0, 0.0);
                }
            });
    }
    plan
}

/// Expected absolute values of a step's rewards, cost and next states under an intervention. `size_row` has those of
/// next states as losses, that is with the opposite sign.
pub(in crate::plan) fn size_of_step(
    kernel: &Kernel,
    acting: &Acting<'_>,
    state: usize,
    action: Action,
    size_row: &[f64],
    scratch: &mut Scratch,
) -> f64 {
    let mut settings = Vec::with_capacity(kernel.n_groups());
    kernel.decode(action, &mut settings);
    super::cost_of(kernel, action).abs() - acting.expect(0, state, &settings, size_row, scratch)
}

struct Careful<'a> {
    kernel: &'a Kernel,
    search: &'a Kernel,
    acting: Acting<'a>,
    rounding: f64,
    /// An upper bound of every value of an episode.
    largest: f64,
}

impl Careful<'_> {
    /// Value, size and choice of one state. `row` has next-state losses measured from zero; `start` is any
    /// intervention.
    fn choose(
        &self,
        state: usize,
        row: &[f64],
        size_row: &[f64],
        start: Action,
        tie: Tie,
        scratch: &mut Scratch,
    ) -> (f64, f64, Action) {
        let size_of = |action: Action, scratch: &mut Scratch| {
            size_of_step(self.kernel, &self.acting, state, action, size_row, scratch)
        };
        let mut size = size_of(start, scratch);
        if size == 0.0 {
            size = self.largest;
        }
        // A search is as exact as the size of a near-optimal intervention; a better one may be smaller, so iterate.
        loop {
            let within = Within { ties: 0.0, rounding: MISSED * self.rounding * size };
            let found = self.search.best_within(state, row, within, Tie::First, scratch);
            let before = std::mem::replace(&mut size, size_of(found.action, scratch));
            if size >= 0.5 * before || size == 0.0 {
                break;
            }
        }
        let tolerance = self.rounding * size;
        let within = Within { ties: tolerance, rounding: MISSED * tolerance };
        let found = self.search.best_within(state, row, within, tie, scratch);
        (-found.least, size, found.action)
    }
}
