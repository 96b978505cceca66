//! Diagnostics of features before learning: too many, constant or redundant features.

use crate::tolerance::COLLINEAR;
use std::fmt;

use nalgebra::DMatrix;

/// A warning about features. Ridge regression still works, so it is no error.
#[derive(Clone, Debug, PartialEq)]
pub enum FeatureFinding {
    /// There are more weights than there will be steps.
    FewSteps {
        /// Weights (d).
        dimension: usize,
        /// Expected number of steps, K · H.
        steps: u64,
    },
    /// All states and configurations have the same features.
    Constant,
    /// A feature that is 0 everywhere.
    Zero {
        /// Its position, from 1.
        feature: usize,
    },
    /// A feature that is a linear combination of those before it.
    Collinear {
        /// The first such feature, from 1.
        feature: usize,
        /// Number of independent features.
        rank: usize,
        /// Number of features (d).
        dimension: usize,
    },
}

impl fmt::Display for FeatureFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FeatureFinding::FewSteps { dimension, steps } => write!(
                f,
                "{dimension} weights are to be learned, and there will be {steps} steps, so that most of them stay what the prior says; play \
                 more episodes, or choose fewer features"
            ),
            FeatureFinding::Constant => f.write_str(
                "the features are the same for all states and causes, so nothing can be distinguished; add features that differ",
            ),
            FeatureFinding::Zero { feature } => {
                write!(f, "feature {feature} is 0 for all states and causes, so its weight is never learned; leave it out")
            }
            FeatureFinding::Collinear { feature, rank, dimension } => write!(
                f,
                "feature {feature} is a combination of those before it, and only {rank} of {dimension} features are independent; leave those \
                 out that say nothing new"
            ),
        }
    }
}

/// Warnings about rows of features; `steps` is the expected number of steps.
///
/// # Cost
/// O(d²) for each row, and O(d³).
pub(super) fn found<'a>(rows: impl Iterator<Item = &'a [f64]>, dimension: usize, steps: u64) -> Vec<FeatureFinding> {
    let mut out = Vec::new();
    if (dimension as u64) > steps {
        out.push(FeatureFinding::FewSteps { dimension, steps });
    }
    let mut gram: DMatrix<f64> = DMatrix::zeros(dimension, dimension);
    let (mut first, mut differ, mut n): (Option<&[f64]>, bool, usize) = (None, false, 0);
    for row in rows {
        let column = nalgebra::DVectorView::from_slice(row, dimension);
        gram.syger(1.0, &column, &column, 1.0);
        differ |= *first.get_or_insert(row) != row;
        n += 1;
    }
    // One row gives no information.
    if n < 2 {
        return out;
    }
    if !differ {
        out.push(FeatureFinding::Constant);
        return out;
    }
    // Cholesky's pivots: the residual of each feature's square after projection on the earlier ones.
    let (mut rank, mut collinear) = (0, None);
    for j in 0..dimension {
        let square = gram[(j, j)];
        let left = square - (0..j).map(|k| gram[(j, k)] * gram[(j, k)]).sum::<f64>();
        if square == 0.0 {
            out.push(FeatureFinding::Zero { feature: j + 1 });
        }
        if left <= COLLINEAR * square {
            if square > 0.0 {
                collinear.get_or_insert(j + 1);
            }
            (j..dimension).for_each(|i| gram[(i, j)] = 0.0);
            continue;
        }
        rank += 1;
        let pivot = left.sqrt();
        for i in j + 1..dimension {
            let dot: f64 = (0..j).map(|k| gram[(i, k)] * gram[(j, k)]).sum();
            gram[(i, j)] = (gram[(i, j)] - dot) / pivot;
        }
        gram[(j, j)] = pivot;
    }
    out.extend(collinear.map(|feature| FeatureFinding::Collinear { feature, rank, dimension }));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: &[[f64; 3]]) -> Vec<FeatureFinding> {
        found(rows.iter().map(|row| &row[..]), 3, 100)
    }

    #[test]
    fn constant_zero_and_collinear_features_are_distinguished() {
        assert_eq!(of(&[[0.5, 0.5, 0.1], [0.1, 0.3, 0.2], [0.3, 0.1, 0.9], [0.2, 0.2, 0.2]]), []);
        assert_eq!(of(&[[0.5, 0.5, 0.1], [0.5, 0.5, 0.1]]), [FeatureFinding::Constant]);
        let zero = of(&[[0.5, 0.0, 0.1], [0.1, 0.0, 0.2]]);
        assert_eq!(zero, [FeatureFinding::Zero { feature: 2 }]);
        let sum = of(&[[0.5, 0.1, 0.6], [0.1, 0.3, 0.4], [0.3, 0.1, 0.4], [0.2, 0.25, 0.45]]);
        assert_eq!(sum, [FeatureFinding::Collinear { feature: 3, rank: 2, dimension: 3 }]);
        let few = found([[0.5, 0.1], [0.1, 0.3]].iter().map(|row| &row[..]), 2, 1);
        assert_eq!(few, [FeatureFinding::FewSteps { dimension: 2, steps: 1 }]);
    }
}
