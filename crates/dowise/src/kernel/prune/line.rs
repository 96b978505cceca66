//! Convex hull of settings with one or two configurations, by sorting.

use super::Points;

/// Extreme points of the lower hull of (p, cost): those that minimise cost + slope · p for some slope.
pub(super) fn lower_hull(within: &[u32], points: &Points) -> Vec<u32> {
    let p = |i: u32| if points.n_causes == 2 { points.prob(1, i) } else { 0.0 };
    let mut order: Vec<u32> = within.to_vec();
    order.sort_by(|&i, &j| p(i).total_cmp(&p(j)).then(points.cost(i).total_cmp(&points.cost(j))).then(i.cmp(&j)));
    order.dedup_by(|later, earlier| p(*later) == p(*earlier));
    let mut hull: Vec<u32> = Vec::new();
    for i in order {
        while let [.., a, b] = hull[..] {
            // b is redundant if it lies on or above the segment from a to i.
            let (rise_b, rise_i) = (points.cost(b) - points.cost(a), points.cost(i) - points.cost(a));
            if rise_b * (p(i) - p(a)) < rise_i * (p(b) - p(a)) {
                break;
            }
            hull.pop();
        }
        hull.push(i);
    }
    hull
}
