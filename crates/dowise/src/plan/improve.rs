//! Optimality check of a decomposed plan: one-group policy improvement, independent of the search.

use rayon::prelude::*;

use super::decomposed::Split;
use super::per_state_scale::size_of_step;
use super::truth::VERIFIED;
use super::{PlanError, Planner};
use crate::kernel::Scratch;
use crate::world::Action;

/// Relative rounding error of an evaluated value.
const EVALUATED: f64 = 1e-12;

/// The first stage and state in which changing one group of levers, then following the policy, is better by more than
/// rounding.
///
/// `value_hs` and `size_hs` are the policy's values and the expected absolute values behind them. An improvement is
/// compared at its own scale, so that a policy's cost of 10⁹ hides nothing.
///
/// # Cost
/// For each stage and state, one marginalisation of all next states per component.
pub(super) fn improvement(
    planner: &Planner,
    split: &Split,
    policy_hs: &[Action],
    value_hs: &[f64],
    size_hs: &[f64],
) -> Option<PlanError> {
    let kernel = planner.kernel();
    let n = kernel.n_states();
    let [by_rewards, by_sizes] = [false, true].map(|sizes| split.acting(kernel, sizes));
    let (mut row, mut size_row, mut spare) = (Vec::new(), Vec::new(), Vec::new());
    for stage in 0..planner.horizon() {
        let next = (stage + 1) * n..(stage + 2) * n;
        planner.look(&value_hs[next.clone()], &mut row, &mut spare);
        planner.look_at_sizes(&size_hs[next], &mut size_row, &mut spare);
        size_row.iter_mut().for_each(|x| *x = -*x);
        let better = (0..n).into_par_iter().find_map_first(|state| {
            if planner.ended().is_some_and(|ended| ended[state]) {
                return None;
            }
            let i = stage * n + state;
            let (action, size) = (policy_hs[i], size_hs[i]);
            let mut found = None;
            by_rewards.each_change(state, action, &row, |changed, gain| {
                if found.is_some() || gain <= EVALUATED * size || !kernel.allows(state, changed) {
                    return;
                }
                let own = size_of_step(kernel, &by_sizes, state, changed, &size_row, &mut Scratch::default());
                if gain > VERIFIED * own + EVALUATED * size {
                    found = Some(value_hs[i] + gain);
                }
            });
            found.map(|better| PlanError::NotBest { stage: stage + 1, state, worth: value_hs[i], better })
        });
        if better.is_some() {
            return better;
        }
    }
    None
}
