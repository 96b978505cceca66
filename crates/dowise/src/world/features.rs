//! Feature maps φ(s, z) of a world for linear learners.

use std::sync::Arc;

use super::{VarId, World};

/// A feature map in closed form or as a table.
///
/// All of them have ‖φ‖ ≤ 1, as required by the definition of a causal linear MDP.
#[derive(Clone, Debug, PartialEq)]
pub enum FeatureMap {
    /// For each scope one indicator per configuration, divided by the root of the number of scopes. One scope with all
    /// variables is one-hot over states and joint key values.
    Indicators {
        /// The scopes.
        scopes: Vec<Vec<VarId>>,
    },
    /// Products of Chebyshev polynomials of value positions on [−1, 1], up to a total degree, divided by √d.
    Polynomial {
        /// Variables whose values are ordered.
        scope: Vec<VarId>,
        /// Maximum total degree.
        degree: usize,
    },
    /// Gaussian bumps on a grid over value positions, divided by their sum.
    Radial {
        /// Variables whose values are ordered.
        scope: Vec<VarId>,
        /// Bumps for each variable (at most its number of values).
        centres: usize,
        /// Standard deviation of a bump, in distances between neighbouring bumps.
        width: f64,
    },
    /// One row of numbers for each configuration of the scope (first slowest).
    Table {
        /// Variables that index the rows.
        scope: Vec<VarId>,
        /// Numbers in a row (d).
        dimension: usize,
        /// The rows.
        values: Arc<[f64]>,
    },
    /// The mean of tables: φ(s, z) = 1/n Σ_i table_i(scope_i). Its norm is at most 1, and it lies in the simplex, if
    /// that holds for every row.
    Mean {
        /// Numbers in a row (d).
        dimension: usize,
        /// The scope of each table (first slowest), and its rows.
        tables: Vec<(Vec<VarId>, Arc<[f64]>)>,
    },
}

impl FeatureMap {
    /// One indicator for every state and joint key values: d = S · Z, and any world is linear in it.
    pub fn one_hot(world: &World) -> FeatureMap {
        FeatureMap::Indicators { scopes: vec![everything(world)] }
    }

    /// Indicators of the scopes of transitions and reward terms: d = Σ of the scopes' sizes.
    ///
    /// Scopes contained in another are left out. Rewards are linear in these. Transitions of several factors are
    /// products, so they are linear only if the factors share a scope.
    pub fn factors(world: &World) -> FeatureMap {
        let mut all: Vec<Vec<VarId>> = world.transitions.iter().map(|m| m.parents.clone()).collect();
        all.extend(world.rewards.iter().map(|r| world.expected_scope(r)));
        all.iter_mut().for_each(|scope| scope.sort_unstable());
        let within = |a: &[VarId], b: &[VarId]| a.iter().all(|id| b.contains(id));
        let kept = (0..all.len()).filter(|&i| {
            let covers = |j: usize| within(&all[i], &all[j]) && (j < i || !within(&all[j], &all[i]));
            !(0..all.len()).any(|j| j != i && covers(j))
        });
        let mut scopes: Vec<Vec<VarId>> = kept.map(|i| all[i].clone()).collect();
        if scopes.is_empty() {
            scopes.push(Vec::new());
        }
        FeatureMap::Indicators { scopes }
    }

    /// Chebyshev polynomials of all state factors and key variables up to a total degree.
    pub fn polynomial(world: &World, degree: usize) -> FeatureMap {
        FeatureMap::Polynomial { scope: everything(world), degree }
    }

    /// Gaussian bumps over all state factors and key variables.
    pub fn radial(world: &World, centres: usize, width: f64) -> FeatureMap {
        FeatureMap::Radial { scope: everything(world), centres, width }
    }

    /// Number of features (d); `None` if it overflows.
    pub fn dimension(&self, world: &World) -> Option<u128> {
        let product = |sizes: Vec<usize>| sizes.iter().try_fold(1u128, |n, &s| n.checked_mul(s as u128));
        match self {
            FeatureMap::Indicators { scopes } => {
                scopes.iter().try_fold(0u128, |n, scope| n.checked_add(product(world.sizes(scope))?))
            }
            FeatureMap::Polynomial { scope, degree } => {
                // ways[k]: products of total degree k; a variable with n values has degrees 0 to n − 1.
                let most: usize = scope.iter().map(|&id| world.variable(id).size() - 1).sum();
                let mut ways = vec![0u128; degree.min(&most) + 1];
                ways[0] = 1;
                for size in world.sizes(scope) {
                    for k in (0..ways.len()).rev() {
                        let lower = &ways[k.saturating_sub(size - 1)..=k];
                        ways[k] = lower.iter().try_fold(0u128, |n, &w| n.checked_add(w))?;
                    }
                }
                ways.iter().try_fold(0u128, |n, &w| n.checked_add(w))
            }
            FeatureMap::Radial { scope, centres, .. } => {
                product(world.sizes(scope).iter().map(|n| n.min(centres).to_owned()).collect())
            }
            FeatureMap::Table { dimension, .. } | FeatureMap::Mean { dimension, .. } => Some(*dimension as u128),
        }
    }

    /// All variables in its scopes, without duplicates.
    pub fn scope(&self) -> Vec<VarId> {
        match self {
            FeatureMap::Indicators { scopes } => once_each(scopes.iter()),
            FeatureMap::Mean { tables, .. } => once_each(tables.iter().map(|(scope, _)| scope)),
            FeatureMap::Polynomial { scope, .. }
            | FeatureMap::Radial { scope, .. }
            | FeatureMap::Table { scope, .. } => scope.clone(),
        }
    }

    /// Its name in a world file.
    pub fn kind(&self) -> &'static str {
        match self {
            FeatureMap::Indicators { scopes } if scopes.len() == 1 => "one-hot",
            FeatureMap::Indicators { .. } => "factors",
            FeatureMap::Polynomial { .. } => "polynomial",
            FeatureMap::Radial { .. } => "radial",
            FeatureMap::Table { .. } => "table",
            FeatureMap::Mean { .. } => "mean",
        }
    }
}

fn once_each<'a>(scopes: impl Iterator<Item = &'a Vec<VarId>>) -> Vec<VarId> {
    let mut all: Vec<VarId> = scopes.flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// All variables that features may depend on: state factors, then key variables and levers with effects.
pub(crate) fn everything(world: &World) -> Vec<VarId> {
    world.state.iter().copied().chain(world.cause_variables()).collect()
}
