//! Cochran–Mantel–Haenszel and Pearson statistics of missingness tests.

use crate::offline::graph_test::upper_gamma;

/// Minimum number of recorded and of unrecorded steps for a stratum of Pearson's statistic.
const LEAST: f64 = 10.0;

/// Expected count below which values are merged.
const EXPECTED: f64 = 5.0;

/// Variance below which the sum is too far from normal.
const SPREAD: f64 = 2.0;

/// Cochran–Mantel–Haenszel and Pearson p-values over strata (all steps, steps without the value), if there is enough
/// data.
pub(super) fn p_values<'a>(n_values: usize, strata: impl Iterator<Item = &'a [Vec<u32>; 2]>) -> [Option<f64>; 2] {
    let (mut sum, mut covariance) = (vec![0.0; n_values], vec![0.0; n_values * n_values]);
    let (mut pearson, mut freedom) = (0.0, 0.0);
    for [all, lacking] in strata {
        let total = |counts: &[u32]| counts.iter().map(|&n| f64::from(n)).sum::<f64>();
        let (n, m) = (total(all), total(lacking));
        if m == 0.0 || m == n {
            continue;
        }
        let scale = m * (n - m) / (n * n * (n - 1.0));
        for (v, &n_v) in all.iter().enumerate() {
            let n_v = f64::from(n_v);
            sum[v] += f64::from(lacking[v]) - m * n_v / n;
            for (w, &n_w) in all.iter().enumerate() {
                let same = if v == w { n * n_v } else { 0.0 };
                covariance[v * n_values + w] += scale * (same - n_v * f64::from(n_w));
            }
        }
        if m >= LEAST && n - m >= LEAST {
            let (statistic, classes) = in_stratum(all, lacking, m / n);
            (pearson, freedom) = (pearson + statistic, freedom + classes);
        }
    }
    let spread = (0..n_values).map(|v| covariance[v * n_values + v]).fold(0.0, f64::max);
    let (statistic, rank) = quadratic(sum, covariance);
    let p = |statistic: f64, freedom: f64| upper_gamma(0.5 * freedom, 0.5 * statistic);
    [(spread >= SPREAD).then(|| p(statistic, rank as f64)), (freedom > 0.0).then(|| p(pearson, freedom))]
}

/// Pearson's statistic of one stratum and its degrees of freedom; values with small expected counts form one class.
fn in_stratum(all: &[u32], lacking: &[u32], share: f64) -> (f64, f64) {
    let (mut classes, mut rest): (Vec<[f64; 2]>, [f64; 2]) = (Vec::new(), [0.0; 2]);
    for (&n, &m) in all.iter().zip(lacking) {
        let (n, m) = (f64::from(n), f64::from(m));
        if n * share.min(1.0 - share) >= EXPECTED {
            classes.push([n, m]);
        } else {
            rest = [rest[0] + n, rest[1] + m];
        }
    }
    if rest[0] * share.min(1.0 - share) >= EXPECTED {
        classes.push(rest);
    }
    let (n, m) = classes.iter().fold((0.0, 0.0), |(n, m), c| (n + c[0], m + c[1]));
    let share = m / n;
    if classes.len() < 2 || share <= 0.0 || share >= 1.0 {
        return (0.0, 0.0);
    }
    let of = |[n, m]: &[f64; 2]| (m - n * share) * (m - n * share) / (n * share * (1.0 - share));
    (classes.iter().map(of).sum(), classes.len() as f64 - 1.0)
}

/// xᵀ A⁻ x and the rank of A, positive semidefinite, by elimination with the largest pivot first.
fn quadratic(mut x: Vec<f64>, mut a: Vec<f64>) -> (f64, usize) {
    let n = x.len();
    let largest = |a: &[f64], left: &[usize]| {
        left.iter().copied().max_by(|&i, &j| a[i * n + i].total_cmp(&a[j * n + j])).map(|i| (i, a[i * n + i]))
    };
    let mut left: Vec<usize> = (0..n).collect();
    let scale = largest(&a, &left).map_or(0.0, |(_, pivot)| pivot);
    let (mut statistic, mut rank) = (0.0, 0);
    while let Some((at, pivot)) = largest(&a, &left).filter(|(_, pivot)| *pivot > 1e-9 * scale) {
        statistic += x[at] * x[at] / pivot;
        rank += 1;
        left.retain(|&i| i != at);
        for &i in &left {
            let factor = a[i * n + at] / pivot;
            x[i] -= factor * x[at];
            for &j in &left {
                a[i * n + j] -= factor * a[at * n + j];
            }
        }
    }
    (statistic, rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quadratic_form_is_that_of_the_inverse_and_knows_its_rank() {
        // [[2, 1], [1, 3]]⁻¹ = [[3, −1], [−1, 2]] / 5
        let (found, rank) = quadratic(vec![1.0, 2.0], vec![2.0, 1.0, 1.0, 3.0]);
        assert!((found - (3.0 - 4.0 + 8.0) / 5.0).abs() < 1e-12 && rank == 2);
        let (found, rank) = quadratic(vec![1.0, -1.0], vec![0.5, -0.5, -0.5, 0.5]);
        assert!((found - 2.0).abs() < 1e-12 && rank == 1);
    }
}
