//! Linear approximation error of a world: the least-squares fit of the true transitions and rewards to given features.

use nalgebra::DMatrix;
use serde::Serialize;

use super::features::Features;
use crate::kernel::CauseSpace;
use crate::plan::rewards_by_cause;
use crate::world::World;

/// Most multiply-adds of the computation (seconds).
const MOST_WORK: u128 = 1 << 32;

/// Singular values below this share of the greatest one count as 0.
const RANK_TOLERANCE: f64 = 1e-10;

/// Distance of the truth from P(s' | s, z) = ⟨φ(s, z), μ(s')⟩ and R(s, z) = ⟨φ(s, z), ω⟩.
///
/// μ and ω are the minimum-norm least-squares weights over all pairs of state and configuration, equally weighted. The
/// distance is zero for causal linear MDPs; otherwise regret grows by the order of H · T times the greatest distance.
///
/// # Cost
/// One singular value decomposition, O(S Z d² + S Z d S); not done beyond 2³² multiply-adds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Misspecification {
    /// Number of features (d).
    pub dimension: usize,
    /// Number of linearly independent features over all states and configurations.
    pub rank: usize,
    /// Greatest |P(s' | s, z) − ⟨φ, μ(s')⟩|.
    pub transition_max: f64,
    /// Their mean over s, z and s'.
    pub transition_mean: f64,
    /// Greatest distance in total variation, ½ Σ_s' |P − ⟨φ, μ⟩| (ζ in Jin et al.).
    pub variation_max: f64,
    /// Greatest |R(s, z) − ⟨φ, ω⟩|.
    pub reward_max: f64,
    /// Their mean over s and z.
    pub reward_mean: f64,
    /// ‖ |μ|(S) ‖, to be at most √d.
    pub transition_norm: f64,
    /// ‖ω‖, to be at most √d (for rewards in [0, 1]).
    pub reward_norm: f64,
}

impl Misspecification {
    /// The bound √d that the definition sets for the weights.
    pub fn norm_limit(&self) -> f64 {
        (self.dimension as f64).sqrt()
    }
}

/// `None` if parameters are unknown or the matrices are too large.
pub(super) fn measure(features: &Features, world: &World) -> Option<Misspecification> {
    if !world.is_fully_known() {
        return None;
    }
    let (n_states, cells, d) = (world.n_states(), features.n_cells(), features.dimension());
    if cells as u128 * d as u128 * (8 * d.min(cells) as u128 + 2 * n_states as u128) > MOST_WORK {
        return None;
    }
    let truth = truth(world, cells);
    let phi = features.columns().transpose();
    let svd = phi.clone().svd(true, true);
    let cut = RANK_TOLERANCE * svd.singular_values.max();
    let rank = svd.rank(cut);
    let weights = svd.solve(&truth, cut).expect("invariant: the SVD has both of its sides");
    let off = (truth - phi * &weights).abs();
    let (transition, reward) = off.columns_range_pair(0..n_states, n_states..n_states + 1);
    let variation_max = transition.row_iter().map(|row| row.sum() / 2.0).fold(0.0, f64::max);
    let total = weights.columns(0, n_states).row_iter().map(|row| crate::math::powi(row.abs().sum(), 2)).sum::<f64>();
    Some(Misspecification {
        dimension: d,
        rank,
        transition_max: transition.max(),
        transition_mean: transition.mean(),
        variation_max,
        reward_max: reward.max(),
        reward_mean: reward.mean(),
        transition_norm: total.sqrt(),
        reward_norm: weights.column(n_states).norm(),
    })
}

/// One row for each state and configuration: P(s' | s, c) for every s', then R(s, c).
fn truth(world: &World, cells: usize) -> DMatrix<f64> {
    let causes = CauseSpace::new(world);
    let (n_states, n_causes) = (world.n_states(), causes.len());
    let mut out = DMatrix::zeros(cells, n_states + 1);
    let (mut values, mut next) = (vec![0; world.variables().len()], vec![0.0; n_states]);
    for s in 0..n_states {
        let digits = world.state_space().digits(s);
        world.state().iter().zip(digits).for_each(|(id, v)| values[id.ix()] = v);
        for c in 0..n_causes {
            causes.variables().iter().enumerate().for_each(|(i, id)| values[id.ix()] = causes.digit(c, i));
            assert!(world.next_states(&values, &mut next), "invariant: every transition is known here");
            next.iter().enumerate().for_each(|(i, p)| out[(s * n_causes + c, i)] = *p);
        }
    }
    let rewards = rewards_by_cause(world, &causes);
    out.column_mut(n_states).copy_from_slice(&rewards);
    out
}
