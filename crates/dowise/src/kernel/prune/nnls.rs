//! Membership in a convex cone by nonnegative least squares (Lawson and Hanson).

use crate::tolerance::CONE_RESIDUAL;

/// Whether a point lies in the cone of some columns.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Membership {
    /// It is a nonnegative combination of the columns, up to rounding.
    Inside,
    /// The residual: a separating direction with a positive product with the point and none with a column, up to
    /// rounding.
    Apart(Vec<f64>),
}

/// Searches nonnegative weights of `columns` that sum to `target`; subtracts multiplications from `work`.
///
/// The residual verifies the weights, so `Inside` is certain; `Apart` may be due to rounding.
pub(super) fn membership(columns: &[&[f64]], target: &[f64], work: &mut i64) -> Membership {
    let m = target.len();
    let mut basis: Vec<usize> = Vec::with_capacity(m);
    let mut weights: Vec<f64> = Vec::with_capacity(m);
    let mut rest = target.to_vec();
    let mut useless = vec![false; columns.len()];
    // Lawson and Hanson need about as many rounds as there are rows; the limit guards against cycling by rounding.
    for _ in 0..3 * m + 10 {
        let length: f64 = rest.iter().map(|x| x.abs()).sum();
        if length <= CONE_RESIDUAL {
            return Membership::Inside;
        }
        *work -= (columns.len() * m) as i64;
        let steepest = (0..columns.len())
            .filter(|j| !useless[*j] && !basis.contains(j))
            .map(|j| (dot(columns[j], &rest), j))
            .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        let Some((slope, entering)) = steepest.filter(|(slope, _)| *slope > CONE_RESIDUAL * length) else { break };
        debug_assert!(slope > 0.0);
        basis.push(entering);
        weights.push(0.0);
        loop {
            *work -= (2 * basis.len() * basis.len() * m) as i64;
            let Some(solution) = least_squares(columns, &basis, target) else {
                // The column is linearly dependent on the basis; without it the weights are as before.
                if let Some(last) = basis.iter().position(|&j| j == entering) {
                    basis.remove(last);
                    weights.remove(last);
                }
                useless[entering] = true;
                break;
            };
            if solution.iter().all(|&x| x > 0.0) {
                weights = solution;
                break;
            }
            // Step towards the solution until the first weight vanishes.
            let step = |(w, x): (&f64, &f64)| if *x <= 0.0 { w / (w - x) } else { 1.0 };
            let alpha = weights.iter().zip(&solution).map(step).fold(1.0, f64::min);
            weights.iter_mut().zip(&solution).for_each(|(w, x)| *w += alpha * (x - *w));
            let keep: Vec<bool> = weights.iter().zip(&solution).map(|(&w, &x)| x > 0.0 || w > 1e-15).collect();
            if keep.iter().all(|&k| k) || basis.len() == 1 {
                return Membership::Apart(rest); // rounding; the safe answer
            }
            let mut kept = keep.iter();
            basis.retain(|_| *kept.next().expect("invariant: one flag for each column of the basis"));
            let mut kept = keep.iter();
            weights.retain(|_| *kept.next().expect("invariant: one flag for each column of the basis"));
        }
        rest.copy_from_slice(target);
        for (&j, w) in basis.iter().zip(&weights) {
            rest.iter_mut().zip(columns[j]).for_each(|(r, x)| *r -= w * x);
        }
        if !useless[entering] {
            useless.fill(false);
        }
    }
    Membership::Apart(rest)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Least-squares weights of the basis, by twice-iterated Gram–Schmidt; `None` if the basis is dependent.
fn least_squares(columns: &[&[f64]], basis: &[usize], target: &[f64]) -> Option<Vec<f64>> {
    let n = basis.len();
    let mut orthogonal: Vec<Vec<f64>> = Vec::with_capacity(n);
    let mut triangle = vec![0.0; n * n]; // [row][column], upper
    for (j, &column) in basis.iter().enumerate() {
        let mut q = columns[column].to_vec();
        let before = dot(&q, &q).sqrt();
        for _ in 0..2 {
            for (i, other) in orthogonal.iter().enumerate() {
                let along = dot(other, &q);
                triangle[i * n + j] += along;
                q.iter_mut().zip(other).for_each(|(x, o)| *x -= along * o);
            }
        }
        let length = dot(&q, &q).sqrt();
        if length <= 1e-10 * before {
            return None;
        }
        q.iter_mut().for_each(|x| *x /= length);
        triangle[j * n + j] = length;
        orthogonal.push(q);
    }
    let mut rest = target.to_vec();
    let mut weights: Vec<f64> = orthogonal
        .iter()
        .map(|q| {
            let along = dot(q, &rest);
            rest.iter_mut().zip(q).for_each(|(r, x)| *r -= along * x);
            along
        })
        .collect();
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|j| triangle[i * n + j] * weights[j]).sum();
        weights[i] = (weights[i] - known) / triangle[i * n + i];
    }
    Some(weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixtures_are_inside_and_other_points_are_separated() {
        let corners: [&[f64]; 4] = [&[1.0, 0.0, 0.0], &[0.0, 1.0, 0.0], &[0.2, 0.2, 0.6], &[0.6, 0.4, 0.0]];
        let mut work = i64::MAX;
        assert_eq!(membership(&corners, &[0.3, 0.4, 0.3], &mut work), Membership::Inside);
        assert_eq!(membership(&corners, &[0.6, 0.4, 0.0], &mut work), Membership::Inside);
        let Membership::Apart(direction) = membership(&corners, &[0.1, 0.1, 0.8], &mut work) else { panic!("outside") };
        assert!(dot(&direction, &[0.1, 0.1, 0.8]) > 1e-3);
        assert!(corners.iter().all(|c| dot(&direction, c) <= 1e-12));
    }
}
