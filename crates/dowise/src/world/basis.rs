//! Basis functions of feature maps: indicators, Chebyshev polynomials, normalised Gaussians, tables and their means.

use std::sync::Arc;

use super::{FeatureMap, VarId, World};
use crate::{Space, math};

/// Variables of a scope with their strides.
type Strides = Vec<(VarId, usize)>;

/// A feature map laid out for evaluation.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Basis {
    /// For each scope: its variables with strides, and the offset of its indicators; the value of an active indicator.
    Indicators { scopes: Vec<(Vec<(VarId, usize)>, usize)>, value: f64 },
    /// Values of one-variable functions, `[variable][value][function]`, and the factors of each feature.
    Products { scope: Vec<VarId>, one: Vec<Vec<Vec<f64>>>, terms: Vec<Vec<usize>>, scale: f64 },
    /// Rows of a table.
    Table { strides: Vec<(VarId, usize)>, dimension: usize, values: Arc<[f64]> },
    /// The mean of rows of several tables.
    Mean { tables: Vec<(Strides, Arc<[f64]>)>, dimension: usize },
}

impl Basis {
    /// The caller has checked the dimension.
    pub(crate) fn new(world: &World, map: &FeatureMap) -> Basis {
        let strides = |scope: &[VarId]| {
            let space = Space::new(&world.sizes(scope)).expect("invariant: the dimension was found small enough");
            (scope.iter().copied().zip(space.strides().iter().copied()).collect::<Vec<_>>(), space.len())
        };
        match map {
            FeatureMap::Indicators { scopes } => {
                let mut start = 0;
                let laid_out = scopes.iter().map(|scope| {
                    let (strides, len) = strides(scope);
                    start += len;
                    (strides, start - len)
                });
                Basis::Indicators { scopes: laid_out.collect(), value: 1.0 / (scopes.len() as f64).sqrt() }
            }
            FeatureMap::Polynomial { scope, degree } => {
                let sizes = world.sizes(scope);
                let one = sizes.iter().map(|&n| (0..n).map(|v| chebyshev(v, n, *degree)).collect()).collect();
                let mut terms = Vec::new();
                up_to(&sizes, *degree, &mut Vec::new(), &mut terms);
                let scale = 1.0 / (terms.len() as f64).sqrt();
                Basis::Products { scope: scope.clone(), one, terms, scale }
            }
            FeatureMap::Radial { scope, centres, width } => {
                let sizes = world.sizes(scope);
                let one = sizes.iter().map(|&n| (0..n).map(|v| bumps(v, n, *centres, *width)).collect()).collect();
                let grid: Vec<usize> = sizes.iter().map(|n| *n.min(centres)).collect();
                let grid = Space::new(&grid).expect("invariant: the dimension was found small enough");
                let terms = (0..grid.len()).map(|i| grid.digits(i)).collect();
                Basis::Products { scope: scope.clone(), one, terms, scale: 1.0 }
            }
            FeatureMap::Table { scope, dimension, values } => {
                Basis::Table { strides: strides(scope).0, dimension: *dimension, values: values.clone() }
            }
            FeatureMap::Mean { dimension, tables } => Basis::Mean {
                tables: tables.iter().map(|(scope, values)| (strides(scope).0, values.clone())).collect(),
                dimension: *dimension,
            },
        }
    }

    /// Writes φ at the values of all variables (by [`VarId`]) into `out`, which is zero.
    pub(crate) fn fill(&self, values: &[usize], out: &mut [f64]) {
        let index = |strides: &[(VarId, usize)]| strides.iter().map(|(id, s)| values[id.ix()] * s).sum::<usize>();
        match self {
            Basis::Indicators { scopes, value } => {
                scopes.iter().for_each(|(strides, start)| out[start + index(strides)] = *value);
            }
            Basis::Products { scope, one, terms, scale } => {
                for (out, term) in out.iter_mut().zip(terms) {
                    let factors = scope.iter().zip(one).zip(term).map(|((id, one), &k)| one[values[id.ix()]][k]);
                    *out = scale * factors.product::<f64>();
                }
            }
            Basis::Table { strides, dimension, values: table } => {
                out.copy_from_slice(&table[index(strides) * dimension..][..*dimension]);
            }
            Basis::Mean { tables, dimension } => {
                for (strides, table) in tables {
                    let row = &table[index(strides) * dimension..][..*dimension];
                    out.iter_mut().zip(row).for_each(|(out, x)| *out += x);
                }
                out.iter_mut().for_each(|x| *x /= tables.len() as f64);
            }
        }
    }
}

/// T_0, …, T_k at a value's position on [−1, 1], k at most one less than the number of values.
fn chebyshev(value: usize, n_values: usize, degree: usize) -> Vec<f64> {
    let x = if n_values > 1 { 2.0 * value as f64 / (n_values - 1) as f64 - 1.0 } else { 0.0 };
    let mut t = vec![1.0, x];
    for k in 2..=degree.min(n_values - 1) {
        t.push(2.0 * x * t[k - 1] - t[k - 2]);
    }
    t
}

/// Gaussian bumps at a value's position on [0, 1], divided by their sum.
fn bumps(value: usize, n_values: usize, centres: usize, width: f64) -> Vec<f64> {
    let m = centres.min(n_values);
    if m == 1 {
        return vec![1.0];
    }
    // In units of the distance between neighbouring bumps.
    let x = value as f64 / (n_values - 1) as f64 * (m - 1) as f64;
    let exponents: Vec<f64> = (0..m).map(|j| -0.5 * math::powi((x - j as f64) / width, 2)).collect();
    // Relative to the nearest bump, so that narrow ones do not all underflow.
    let nearest = exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let raw: Vec<f64> = exponents.iter().map(|e| math::exp(e - nearest)).collect();
    let sum: f64 = raw.iter().sum();
    raw.into_iter().map(|b| b / sum).collect()
}

/// All combinations of degrees (each below the variable's size) with a sum of at most `left`.
fn up_to(sizes: &[usize], left: usize, chosen: &mut Vec<usize>, out: &mut Vec<Vec<usize>>) {
    let Some((&size, rest)) = sizes.split_first() else {
        out.push(chosen.clone());
        return;
    };
    for k in 0..size.min(left + 1) {
        chosen.push(k);
        up_to(rest, left - k, chosen, out);
        chosen.pop();
    }
}
