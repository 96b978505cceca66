//! Merges settings with equal distributions up to rounding, independently of the last bits.

use super::Points;
use crate::random::splitmix64;

/// Tolerance on equal probabilities: above the rounding of elimination, below relevant differences.
const EQUAL: f64 = 1e-14;

/// One setting for each distribution: the cheapest, and among equally cheap ones the first by `rank`.
pub(super) fn representatives<K: Ord>(within: &[u32], points: &Points, rank: impl Fn(u32) -> K) -> Vec<u32> {
    // Equal rows have equal projections, so only neighbours in this order are compared.
    let mut order: Vec<(f64, u32)> = within.iter().map(|&i| (projection(i, points), i)).collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let window = EQUAL * (points.n_causes as f64 + 1.0);
    // (projection of the first member, first member, representative)
    let mut clusters: Vec<(f64, u32, u32)> = Vec::new();
    for (key, i) in order {
        let near = clusters.iter_mut().rev().take_while(|(first, ..)| key - first <= window);
        match near.into_iter().find(|(_, first, _)| same_row(*first, i, points)) {
            Some((_, _, kept)) => *kept = better(*kept, i, points, &rank),
            None => clusters.push((key, i, i)),
        }
    }
    let mut kept: Vec<u32> = clusters.into_iter().map(|(.., kept)| kept).collect();
    kept.sort_unstable();
    kept
}

/// A weighted sum of a setting's probabilities, with pseudo-random weights in [0.5, 1].
fn projection(i: u32, points: &Points) -> f64 {
    (0..points.n_causes)
        .map(|c| points.prob(c, i) * (0.5 + 0.5 * (splitmix64(c as u64) as f64 / u64::MAX as f64)))
        .sum()
}

fn same_row(i: u32, j: u32, points: &Points) -> bool {
    (0..points.n_causes).all(|c| (points.prob(c, i) - points.prob(c, j)).abs() <= EQUAL)
}

fn better<K: Ord>(i: u32, j: u32, points: &Points, rank: impl Fn(u32) -> K) -> u32 {
    let (a, b) = (points.cost(i), points.cost(j));
    if (a - b).abs() <= EQUAL * (a.abs() + b.abs()) {
        if rank(j) < rank(i) { j } else { i }
    } else if b < a {
        j
    } else {
        i
    }
}
