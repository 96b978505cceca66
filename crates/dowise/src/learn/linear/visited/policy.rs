//! Decisions over visited states: decisions at the current state from the weights of every stage.

use nalgebra::DVector;
use std::sync::Arc;

use super::states::{Rows, States};
use super::storage::VisitedStates;
use crate::kernel::{Kernel, Scratch, Tie};
use crate::learn::linear::LinearError;
use crate::learn::linear::learner::check_place;
use crate::learn::linear::model::clip;
use crate::learn::linear::problem::Problem;
use crate::plan::RewardsAt;
use crate::world::Action;

/// Inputs of values besides weights.
#[derive(Clone, Debug)]
pub(super) struct Ahead {
    pub(super) kernel: Arc<Kernel>,
    pub(super) rewards: RewardsAt,
}

/// Buffers of one decision.
#[derive(Clone, Debug, Default)]
pub(super) struct Room {
    loss: Vec<f64>,
    mean: Vec<f64>,
    scratch: Scratch,
}

/// Weights, and β with φᵀΛ⁻¹φ of each configuration, if there are widths.
type Fitted<'a> = (&'a [f64], Option<(f64, &'a [f64])>);

impl Ahead {
    /// The best intervention in a state and its value.
    pub(super) fn best(
        &self,
        problem: &Problem,
        (stage, state): (usize, usize),
        rows: &Rows,
        fitted: Fitted<'_>,
        tie: Tie,
        room: &mut Room,
    ) -> (Action, f64) {
        self.losses(problem, (stage, state), rows, fitted, room);
        let found = self.kernel.best(state, &room.loss, problem.tolerance, tie, &mut room.scratch);
        (found.action, problem.clip[stage][1] - found.least)
    }

    /// The value of each configuration: q = clip(r + floor + ⟨φ, w⟩ + β √(φᵀΛ⁻¹φ)), as losses from the cap.
    fn losses(
        &self,
        problem: &Problem,
        (stage, state): (usize, usize),
        rows: &Rows,
        (weights, width): Fitted<'_>,
        room: &mut Room,
    ) {
        let n = self.kernel.n_causes();
        room.loss.resize(n, 0.0);
        room.mean.resize(n, 0.0);
        self.rewards.fill(state, &mut room.loss);
        rows.times(weights, &mut room.mean);
        let (ends, floor) = (problem.clip[stage], problem.sizes.floor(stage));
        for (c, (loss, mean)) in room.loss.iter_mut().zip(&room.mean).enumerate() {
            let wide = width.map_or(0.0, |(beta, squares)| beta * squares[c].max(0.0).sqrt());
            *loss = ends[1] - clip(*loss + floor + mean + wide, ends);
        }
    }

    /// The values of the last decision with these buffers.
    pub(super) fn values_of(&self, problem: &Problem, stage: usize, room: &Room) -> Vec<f64> {
        room.loss.iter().map(|loss| problem.clip[stage][1] - loss).collect()
    }
}

/// The best intervention under the weights of a plan, computed at the current state.
#[derive(Clone, Debug)]
pub(in crate::learn::linear) struct WeightsPolicy {
    problem: Problem,
    states: States,
    ahead: Ahead,
    weights: Vec<DVector<f64>>,
}

impl VisitedStates {
    /// The policy of the present plan, for deployment without learning.
    pub(in crate::learn::linear) fn into_policy(self, problem: Problem) -> WeightsPolicy {
        let VisitedStates { states, ahead, weights, .. } = self;
        WeightsPolicy { problem, states: States::new(states.rows), ahead, weights }
    }
}

impl WeightsPolicy {
    /// The decision at a stage (from 0) in any state.
    pub(in crate::learn::linear) fn decide(&mut self, stage: usize, state: usize) -> Result<Action, LinearError> {
        check_place(&self.problem.knowledge, stage, state)?;
        let phi = self.states.phi(&self.problem.knowledge, state)?;
        let (rows, fitted) = (Rows::Dense(phi.into()), (self.weights[stage].as_slice(), None));
        let mut room = Room::default();
        Ok(self.ahead.best(&self.problem, (stage, state), &rows, fitted, Tie::First, &mut room).0)
    }
}
