//! Exact planning with per-state scaling, for rewards and costs of very different sizes.
//!
//! The usual recursion measures values from the greatest possible value of an episode, and breaks ties within a share
//! of its range. One prohibitive cost, or one reward of 10¹⁶, makes that scale useless for other states. Here values
//! are measured from the nearest q(s, c) of the state. The tie tolerance is the rounding error: a share of the expected
//! sum of the absolute values behind the value.

mod decomposed;

pub(super) use decomposed::{decomposed, size_of_step};

use rayon::prelude::*;

use super::{PARALLEL_STATES, Plan, Planner, Ties};
use crate::kernel::{Found, Kernel, Scratch, Tie};
use crate::world::Action;

/// Relative loss up to which the usual recursion's choice is kept.
pub(super) const GOOD_CHOICE: f64 = 1e-12;

/// Relative rounding error up to which the usual recursion's value is kept.
const GOOD_VALUE: f64 = 1e-11;

/// Whether the usual recursion's choice or value is not precise enough at the scale of the state.
///
/// `found` is the search result with losses measured from `cap`, and `size` computes the sum of absolute values. The
/// caller skips states after which all rewards and costs are 0.
pub(super) fn is_doubtful(cap: f64, found: &Found, size: impl FnOnce() -> f64) -> bool {
    let Found { least, chosen, .. } = *found;
    let good = |size: f64| {
        chosen - least <= GOOD_CHOICE * size && f64::EPSILON * (cap.abs() + least.abs()) <= GOOD_VALUE * size
    };
    // The size is at least the value, which mostly suffices.
    !good((cap - least).abs()) && !good(size())
}

/// Expected absolute value of q, plus the absolute cost, of an intervention; `loss` is cap − q for all joint key
/// values.
pub(super) fn size_of_choice(kernel: &Kernel, state: usize, cap: f64, loss: &[f64], action: Action) -> f64 {
    let sizes: Vec<f64> = loss.iter().map(|x| (cap - x).abs()).collect();
    let mut decoded = Decoded::default();
    decoded.decode(kernel, action);
    decoded.expect(kernel, state, &sizes) + cost_of(kernel, action).abs()
}

/// Relative rounding error of a value over this many stages.
fn rounding(horizon: usize) -> f64 {
    f64::EPSILON * (512.0 + 4.0 * horizon as f64)
}

/// Cost of an intervention; 0 without decoding if the world has no costs.
fn cost_of(kernel: &Kernel, action: Action) -> f64 {
    if kernel.has_costs() { kernel.interventions().cost(action) } else { 0.0 }
}

/// The last decoded intervention, group by group, with reusable buffers.
#[derive(Clone, Debug, Default)]
struct Decoded {
    settings: Vec<u32>,
    buffer: Vec<f64>,
}

impl Decoded {
    fn decode(&mut self, kernel: &Kernel, action: Action) {
        self.settings.clear();
        kernel.decode(action, &mut self.settings);
    }

    /// Σ_c P(c | state, action) · x(c) for the last decoded intervention.
    fn expect(&mut self, kernel: &Kernel, state: usize, x: &[f64]) -> f64 {
        kernel.expect(state, &self.settings, x, &mut self.buffer)
    }
}

/// An optimal policy and its values, with every state at its own scale.
///
/// # Cost
/// About three times the usual recursion.
pub(super) fn plan(planner: &Planner, ties: Ties) -> Plan {
    let kernel = planner.kernel();
    let (horizon, n, n_causes) = (planner.horizon(), kernel.n_states(), kernel.n_causes());
    let mut plan = Plan::new(horizon, n);
    let rounding = rounding(horizon);
    // Expected sum of the absolute values of all rewards and costs from a state on, under the plan.
    let mut size_s = vec![0.0; n];
    let (mut q_sc, mut size_sc, mut spare) = (Vec::new(), Vec::new(), Vec::new());
    for stage in (0..horizon).rev() {
        let (now, next) = plan.value_hs.split_at_mut((stage + 1) * n);
        planner.look(&next[..n], &mut q_sc, &mut spare);
        // The second look-ahead needs two intermediate arrays, and [`Planner::bytes`] counts no third one.
        q_sc.shrink_to_fit();
        planner.look_at_sizes(&size_s, &mut size_sc, &mut spare);
        q_sc.par_chunks_exact_mut(n_causes)
            .zip(size_sc.par_chunks_exact(n_causes))
            .zip(now[stage * n..].par_iter_mut())
            .zip(size_s.par_iter_mut())
            .zip(plan.policy_hs[stage * n..(stage + 1) * n].par_iter_mut())
            .enumerate()
            .with_min_len(PARALLEL_STATES / 4)
            .for_each_init(
                || (Scratch::default(), Decoded::default()),
                |(scratch, decoded), (s, ((((q, sizes), v), size), a))| {
                    (*v, *size, *a) = choose(kernel, s, q, sizes, rounding, ties.at(stage, s), scratch, decoded);
                    if planner.ended().is_some_and(|ended| ended[s]) {
                        (*v, *size) = (0.0, 0.0);
                    }
                },
            );
    }
    plan
}

/// Value, size and choice of one state; overwrites `q`.
fn choose(
    kernel: &Kernel,
    state: usize,
    q: &mut [f64],
    sizes: &[f64],
    rounding: f64,
    tie: Tie,
    scratch: &mut Scratch,
    decoded: &mut Decoded,
) -> (f64, f64, Action) {
    // First measured from zero, so that rounding is relative to the values.
    q.iter_mut().for_each(|q| *q = -*q);
    let Found { least, action: first, .. } = kernel.best(state, q, 0.0, Tie::First, scratch);
    let mean = cost_of(kernel, first) - least;
    // Then measured from the q nearest to the best mean, so that equal values are bit-identical.
    let nearest = q.iter().map(|q| -q).min_by(|a, b| (a - mean).abs().total_cmp(&(b - mean).abs()));
    let reference = nearest.expect("invariant: there is at least one cause");
    q.iter_mut().for_each(|q| *q += reference);
    decoded.decode(kernel, first);
    let size = decoded.expect(kernel, state, sizes) + cost_of(kernel, first).abs();
    let found = kernel.best(state, q, rounding * size, tie, scratch);
    (reference - found.least, size, found.action)
}
