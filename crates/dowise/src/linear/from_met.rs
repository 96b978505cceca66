//! A plan from the states that were met: weights of every stage first, then all states in one pass.
//!
//! Weights need values at the next states that were met and nowhere else, Σ φ V(s') = M V with columns of 0 for all others. So where
//! these are few among many states, values are computed there alone, stage by stage, and once the weights of all stages are known every state
//! is looked at once: its features are read once for all stages, and not once for each. What comes out is what backward
//! induction over all states finds, to the last bit. It saves reading the features once for every stage; where interventions are many, searches
//! for the best of them take most of a plan either way.

use nalgebra::DVector;
use rayon::prelude::*;

use super::model::{LinearModel, clip, tracks_widths};
use super::options::{LinearEstimate, Weights};
use crate::kernel::Scratch;
use crate::learn::Selector;
use crate::plan::{Chooser, Plan, Ties};
use crate::world::Action;

/// States from which on it pays: below, a plan takes no time worth saving.
const LEAST_STATES: usize = 1 << 12;

/// States that one thread takes at a time.
const SHARE: usize = 1 << 7;

/// The states that some step led to, in order, if a plan from them pays: they are few among many, and widths of all pairs are not kept
/// anyway.
pub(super) fn worth_it(model: &LinearModel, selector: &Selector, n_states: usize) -> Option<Vec<u32>> {
    let many = n_states >= LEAST_STATES && matches!(selector, Selector::Kernel(_));
    if !many || tracks_widths(&model.options) || model.options.weights != Weights::None {
        return None;
    }
    let mut met: Vec<u32> = model.designs.iter().flat_map(|d| d.met.next.keys().map(|&(_, next)| next)).collect();
    met.sort_unstable();
    met.dedup();
    (2 * met.len() <= n_states).then_some(met)
}

/// Weights and width of one stage.
struct Fitted {
    weights: DVector<f64>,
    width: f64,
}

/// Buffers of a thread.
#[derive(Default)]
struct Room {
    loss: Vec<f64>,
    mean: Vec<f64>,
    squares: Vec<f64>,
    scratch: Scratch,
}

/// What a state is looked at with.
struct Look<'a> {
    model: &'a LinearModel,
    selector: &'a Selector,
    tolerance: f64,
    ties: Ties,
    n_causes: usize,
}

impl Look<'_> {
    /// φᵀΛ⁻¹φ of the causes of a state, where there are widths.
    fn squares(&self, state: usize, design: usize, room: &mut Room) {
        if self.model.options.estimate == LinearEstimate::Width {
            let (design, columns) = (&self.model.designs[design], self.model.columns.as_view());
            let cells = state * self.n_causes..(state + 1) * self.n_causes;
            room.squares.clear();
            room.squares.extend(cells.map(|cell| design.square(columns, cell)));
        }
    }

    /// Value and intervention of a state at a stage; its squared widths are there.
    fn at(&self, stage: usize, state: usize, fitted: &Fitted, room: &mut Room) -> (f64, Action) {
        let (model, n) = (self.model, self.n_causes);
        let Room { loss, mean, squares, scratch } = room;
        let cells = state * n..(state + 1) * n;
        mean.resize(n, 0.0);
        model.columns.times_of(cells.clone(), &fitted.weights, mean);
        let (ends, reward) = (model.clip[stage], &model.reward[cells]);
        let cap = ends[1];
        loss.clear();
        match model.options.estimate {
            LinearEstimate::Sampled => loss.extend(mean.iter().zip(reward).map(|(mean, r)| cap - clip(r + mean, ends))),
            LinearEstimate::Width => {
                let parts = mean.iter().zip(reward).zip(squares.iter());
                let wide = |((mean, r), square): ((&f64, &f64), &f64)| {
                    cap - clip(r + mean + fitted.width * square.sqrt(), ends)
                };
                loss.extend(parts.map(wide));
            }
        }
        let tie = self.ties.at(stage, state);
        let found = self.selector.best(stage, state, loss, self.tolerance, tie, scratch);
        let over = model.ended.as_ref().is_some_and(|ended| ended[state]);
        (if over { 0.0 } else { cap - found.least }, found.action)
    }
}

/// Plans from the states that were met, and fills the plan in for all states.
///
/// # Cost
/// O(m · (Z · d) + d · S) and m searches a stage for m states met, and then one pass over all states: O(S · Z · d) and S searches for each
/// stage, with the features read once.
pub(super) fn plan(
    model: &mut LinearModel,
    selector: &Selector,
    (tolerance, ties): (f64, Ties),
    met: &[u32],
    plan: &mut Plan,
) {
    let (n, horizon, n_causes) = (plan.n_states, plan.horizon, Chooser::n_causes(selector));
    let mut fitted = Vec::with_capacity(horizon);
    // Values of states that were not met are left as they were: they count for nothing.
    let mut next = plan.value_hs[horizon * n..].to_vec();
    for stage in (0..horizon).rev() {
        let width = model.fit(stage, &next);
        let now = Fitted { weights: model.fitted().clone(), width };
        let look = Look { model, selector, tolerance, ties, n_causes };
        let value = |room: &mut Room, &state: &u32| {
            look.squares(state as usize, model.design(stage), room);
            look.at(stage, state as usize, &now, room).0
        };
        if stage > 0 {
            let values: Vec<f64> = met.par_iter().with_min_len(SHARE).map_init(Room::default, value).collect();
            next.fill(0.0);
            met.iter().zip(values).for_each(|(&state, value)| next[state as usize] = value);
        }
        fitted.push(now);
    }
    fitted.reverse();
    let look = Look { model, selector, tolerance, ties, n_causes };
    let mut of_state = vec![(0.0, Action(0)); n * horizon];
    let fill = |room: &mut Room, (state, out): (usize, &mut [(f64, Action)])| {
        let mut design = usize::MAX;
        for (stage, (out, fitted)) in out.iter_mut().zip(&fitted).enumerate() {
            if model.design(stage) != design {
                design = model.design(stage);
                look.squares(state, design, room);
            }
            *out = look.at(stage, state, fitted, room);
        }
    };
    of_state.par_chunks_exact_mut(horizon).enumerate().with_min_len(SHARE).for_each_init(Room::default, fill);
    for stage in 0..horizon {
        let values = plan.value_hs[stage * n..(stage + 1) * n].iter_mut();
        let actions = plan.policy_hs[stage * n..(stage + 1) * n].iter_mut();
        for ((value, action), state) in values.zip(actions).zip(of_state.chunks_exact(horizon)) {
            (*value, *action) = state[stage];
        }
    }
}
