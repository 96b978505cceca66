//! Linear policies: decisions at the current state from the weights of every stage.

use nalgebra::DVector;
use std::sync::Arc;

use super::error::VisitedStatesError;
use super::states::{Rows, States};
use crate::kernel::{Kernel, Scratch, Tie};
use crate::learn::{Agent, Knowledge, Observation};
use crate::plan::RewardsAt;
use crate::world::Action;

/// Inputs of values besides weights.
#[derive(Clone, Debug)]
pub(super) struct Ahead {
    pub(super) kernel: Arc<Kernel>,
    pub(super) rewards: RewardsAt,
    /// Least and greatest value at each stage.
    pub(super) clip: Vec<[f64; 2]>,
    /// Origin of the targets at each stage.
    pub(super) floor: Vec<f64>,
    pub(super) tolerance: f64,
}

/// Buffers of one decision.
#[derive(Clone, Debug, Default)]
pub(super) struct Room {
    loss: Vec<f64>,
    mean: Vec<f64>,
    scratch: Scratch,
}

impl Ahead {
    /// The best intervention in a state and its value.
    pub(super) fn best(
        &self,
        (stage, state): (usize, usize),
        rows: &Rows,
        weights: &[f64],
        width: Option<(f64, &[f64])>,
        tie: Tie,
        room: &mut Room,
    ) -> (Action, f64) {
        self.losses((stage, state), rows, weights, width, room);
        let found = self.kernel.best(state, &room.loss, self.tolerance, tie, &mut room.scratch);
        (found.action, self.clip[stage][1] - found.least)
    }

    /// The value of each configuration: q = clip(r + floor + ⟨φ, w⟩ + β √(φᵀΛ⁻¹φ)), as losses from the cap.
    fn losses(
        &self,
        (stage, state): (usize, usize),
        rows: &Rows,
        weights: &[f64],
        width: Option<(f64, &[f64])>,
        room: &mut Room,
    ) {
        let n = self.kernel.n_causes();
        room.loss.resize(n, 0.0);
        room.mean.resize(n, 0.0);
        self.rewards.fill(state, &mut room.loss);
        rows.times(weights, &mut room.mean);
        let ([lo, hi], floor) = (self.clip[stage], self.floor[stage]);
        // NaN from overflowing widths or samples becomes the optimistic end.
        let clip = |q: f64| if q.is_nan() { hi } else { q.clamp(lo, hi) };
        for (c, (loss, mean)) in room.loss.iter_mut().zip(&room.mean).enumerate() {
            let wide = width.map_or(0.0, |(beta, squares)| beta * squares[c].max(0.0).sqrt());
            *loss = hi - clip(*loss + floor + mean + wide);
        }
    }

    /// The values of the last decision with these buffers.
    pub(super) fn values_of(&self, stage: usize, room: &Room) -> Vec<f64> {
        room.loss.iter().map(|loss| self.clip[stage][1] - loss).collect()
    }
}

/// The learned policy for deployment without learning: the best intervention under mean weights, without optimism.
#[derive(Clone, Debug)]
pub struct VisitedStatesPolicy {
    pub(super) knowledge: Knowledge,
    pub(super) states: States,
    pub(super) ahead: Ahead,
    pub(super) weights: Vec<DVector<f64>>,
}

impl VisitedStatesPolicy {
    /// The decision at a stage (from 0) in any state.
    pub fn decide(&mut self, stage: usize, state: usize) -> Result<Action, VisitedStatesError> {
        super::learner::check_place(&self.knowledge, stage, state)?;
        let phi = self.states.phi(&self.knowledge, state)?;
        let rows = Rows::Dense(phi.into());
        let weights = self.weights[stage].as_slice();
        Ok(self.ahead.best((stage, state), &rows, weights, None, Tie::First, &mut Room::default()).0)
    }
}

impl Agent for VisitedStatesPolicy {
    fn act(&mut self, stage: usize, state: usize) -> Action {
        self.decide(stage, state).unwrap_or_else(|error| panic!("{error}"))
    }

    fn observe(&mut self, _: &Observation<'_>) {}
}
