//! Low-rank transitions (linear MDP): P(s' | s, z) = Σ_j w_j(s, z) Π_i P_i(s'_i | j), kept in factored form.

use std::sync::Arc;

use super::basis::Basis;
use super::{FeatureMap, VarId, World};
use crate::Space;

/// Joint transitions of all state factors through d *latent factors*.
///
/// The weights w(s, z) are features; in a causal linear MDP w = φ and Π_i P_i(· | j) = μ_j. If weights and rows are
/// probabilities, a step samples a latent factor and then the next value of each state factor. With one state factor,
/// weights and rows may be signed, as long as every P(s' | s, z) is a probability.
///
/// # Cost
/// Memory: d numbers for each configuration of the weights' scope and for each value of each state factor.
#[derive(Clone, Debug, PartialEq)]
pub struct LowRank {
    /// The weights as specified.
    pub(super) map: FeatureMap,
    /// The scope of the weights.
    pub(super) scope: Vec<VarId>,
    /// Number of latent factors (d).
    pub(super) dimension: usize,
    /// w, a row of d numbers for each configuration of the scope (first slowest); none for non-enumerable states.
    pub(super) weights: Option<Arc<[f64]>>,
    /// w at any values, if there are no rows.
    pub(super) basis: Option<Arc<Basis>>,
    /// P_i(· | j): for each state factor, d rows over its values.
    pub(crate) next: Vec<Arc<[f64]>>,
    /// Whether every row of weights and of `next` is a distribution.
    pub(super) mixture: bool,
}

impl LowRank {
    /// Number of latent factors (d).
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The weights as specified.
    pub fn map(&self) -> &FeatureMap {
        &self.map
    }

    /// The scope of the weights.
    pub fn scope(&self) -> &[VarId] {
        &self.scope
    }

    /// Weights of the latent factors for a configuration of the scope, numbered with its first variable slowest.
    ///
    /// # Panics
    /// If the states of the world are non-enumerable ([`World::is_enumerable`]).
    pub fn weights(&self, row: usize) -> &[f64] {
        &self.rows()[row * self.dimension..][..self.dimension]
    }

    /// The rows of all configurations of the scope.
    pub(super) fn rows(&self) -> &[f64] {
        self.weights.as_deref().expect("invariant: rows of weights are asked for only where states are enumerated")
    }

    /// Computes weights that are not tabulated: into `out`, which is zero, from the values of all variables.
    pub(crate) fn basis(&self) -> Option<&Arc<Basis>> {
        self.basis.as_ref()
    }

    /// d rows over the values of a state factor, given by its position.
    pub fn next(&self, factor: usize) -> &[f64] {
        &self.next[factor]
    }

    /// Whether all weights and rows are distributions, so that a step can sample a latent factor.
    pub fn is_mixture(&self) -> bool {
        self.mixture
    }

    /// Σ_s' Π_i P_i(s'_i | j) · value(s') for every latent factor: its expected value.
    ///
    /// # Cost
    /// O(d · S).
    pub fn worth(&self, value_s: &[f64], out: &mut Vec<f64>) {
        out.clear();
        for j in 0..self.dimension {
            // The last factor is innermost, so it is marginalised first.
            let mut left: Option<Vec<f64>> = None;
            for rows in self.next.iter().rev() {
                let n = rows.len() / self.dimension;
                let p = &rows[j * n..][..n];
                let dot = |part: &[f64]| part.iter().zip(p).map(|(v, p)| v * p).sum::<f64>();
                left = Some(left.as_deref().unwrap_or(value_s).chunks_exact(n).map(dot).collect());
            }
            out.push(left.map_or(value_s[0], |left| left[0]));
        }
    }

    /// P(s' | s, z) for every s' from a row of weights, written into `out`.
    pub fn distribution(&self, weights: &[f64], states: &Space, out: &mut [f64]) {
        for (next, out) in out.iter_mut().enumerate() {
            let anchor = |j: usize| {
                let factors = self.next.iter().enumerate().map(|(i, rows)| {
                    let n = rows.len() / self.dimension;
                    rows[j * n + states.digit(next, i)]
                });
                weights[j] * factors.product::<f64>()
            };
            *out = (0..self.dimension).map(anchor).sum();
        }
    }
}

/// One row of `dimension` numbers for each configuration of a map's scope, and that scope.
///
/// A table is shared, not copied. The caller has checked the dimension.
pub(super) fn tabulate(world: &World, map: &FeatureMap) -> (Vec<VarId>, Arc<[f64]>) {
    let scope = map.scope();
    if let FeatureMap::Table { values, .. } = map {
        return (scope, values.clone());
    }
    let space = Space::new(&world.sizes(&scope)).expect("invariant: features were counted when they were checked");
    let dimension = map.dimension(world).expect("invariant: features were counted when they were checked") as usize;
    let basis = Basis::new(world, map);
    let mut values = vec![0; world.variables.len()];
    let mut rows = vec![0.0; space.len() * dimension];
    for (i, row) in rows.chunks_exact_mut(dimension).enumerate() {
        scope.iter().enumerate().for_each(|(axis, id)| values[id.ix()] = space.digit(i, axis));
        basis.fill(&values, row);
    }
    (scope, rows.into())
}

impl World {
    /// Low-rank transitions, if the world has them.
    pub fn low_rank(&self) -> Option<&LowRank> {
        self.low_rank.as_ref()
    }

    /// P(s' | s, z) for every s', from the values of all variables (by [`VarId`]); `false` if it is unknown.
    ///
    /// # Cost
    /// O(S) times the number of state factors, and of latent factors.
    pub fn next_states(&self, values: &[usize], out: &mut [f64]) -> bool {
        let row = |ids: &[VarId]| ids.iter().fold(0, |row, id| row * self.variable(*id).size() + values[id.ix()]);
        if let Some(low_rank) = &self.low_rank {
            low_rank.distribution(low_rank.weights(row(&low_rank.scope)), &self.state_space, out);
            return true;
        }
        out.fill(1.0);
        for (i, m) in self.transitions.iter().enumerate() {
            let Some(table) = m.table.as_deref() else { return false };
            let n = self.state_space.sizes()[i];
            let row = &table[row(&m.parents) * n..][..n];
            out.iter_mut().enumerate().for_each(|(next, out)| *out *= row[self.state_space.digit(next, i)]);
        }
        true
    }
}
