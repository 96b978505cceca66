//! Interval bounds on the probabilities of a mechanism, and the extreme points of the resulting confidence set.

use crate::tolerance::COMPUTED_PROBABILITIES;

/// For each row and value of a mechanism, the least and the greatest probability, `[row][value]`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RowBounds {
    pub(crate) lo: Vec<f64>,
    pub(crate) hi: Vec<f64>,
}

/// The member of the confidence sets to plan with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Member {
    /// The optimistic member: it minimises the loss of the best intervention.
    Optimistic,
    /// A pessimistic bound: no better than the worst member.
    Pessimistic,
}

/// Uncertainty about the mechanisms of a world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doubt<'a> {
    /// For each mechanism its intervals; `None` if its table is exact. The table's rows lie within them.
    pub(crate) bounds: &'a [Option<RowBounds>],
    pub(crate) member: Member,
    /// Whether extreme points are enumerated even for a single group, whose optimistic member is otherwise found on
    /// demand.
    pub(crate) by_corners: bool,
}

/// Maximum number of values with enumerated extreme points: 7 values can have 140.
pub(super) const MOST_VALUES: usize = 6;

/// The extreme points of {p : lo ≤ p ≤ hi, Σ p = 1}, concatenated; the row itself if rounding leaves none.
///
/// At an extreme point all values but one are at an end of their interval.
pub(super) fn corners(lo: &[f64], hi: &[f64], row: &[f64]) -> Vec<f64> {
    let m = row.len();
    debug_assert!(m <= MOST_VALUES);
    let mut found: Vec<f64> = Vec::new();
    let mut corner = [0.0; MOST_VALUES];
    for free in 0..m {
        for ends in (0..1u32 << m).filter(|ends| ends >> free & 1 == 0) {
            let mut left = 1.0;
            for v in (0..m).filter(|&v| v != free) {
                corner[v] = if ends >> v & 1 == 1 { hi[v] } else { lo[v] };
                left -= corner[v];
            }
            if left < lo[free] - COMPUTED_PROBABILITIES || left > hi[free] + COMPUTED_PROBABILITIES {
                continue;
            }
            corner[free] = left.clamp(lo[free], hi[free]);
            let corner = &corner[..m];
            let same = |other: &[f64]| other.iter().zip(corner).all(|(a, b)| (a - b).abs() <= COMPUTED_PROBABILITIES);
            if !found.chunks_exact(m).any(same) {
                found.extend_from_slice(corner);
            }
        }
    }
    if found.is_empty() { row.to_vec() } else { found }
}

/// Maximum number of extreme points for `m` values: the number of edges of a cube that a plane can cut (O'Neil 1971).
pub(super) fn most_corners(m: usize) -> usize {
    let half = m / 2;
    let choose = (0..half).fold(1usize, |n, i| n.saturating_mul(m - i) / (i + 1));
    (m - half).saturating_mul(choose).max(1)
}

/// Upper bound on the total-variation distance of a member from a row.
///
/// A member exceeds the row in some values and falls short in the others; both differences equal the distance.
pub(super) fn distance(lo: &[f64], hi: &[f64], row: &[f64]) -> f64 {
    let up = |v: usize| (hi[v] - row[v]).max(0.0);
    let down = |v: usize| (row[v] - lo[v]).max(0.0);
    let m = row.len();
    let farthest = if m <= MOST_VALUES {
        let of = |more: u32| {
            let (mut gain, mut loss) = (0.0, 0.0);
            (0..m).for_each(|v| if more >> v & 1 == 1 { gain += up(v) } else { loss += down(v) });
            f64::min(gain, loss)
        };
        (0..1u32 << m).map(of).fold(0.0, f64::max)
    } else {
        (0..m).map(up).sum::<f64>().min((0..m).map(down).sum())
    };
    farthest.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A row with intervals around it.
    fn bounded_row() -> impl Strategy<Value = (Vec<f64>, Vec<f64>, Vec<f64>)> {
        (1..=MOST_VALUES).prop_flat_map(|m| {
            let end = prop_oneof![1 => Just(0.0), 1 => Just(1.0), 4 => 0.0..0.5f64];
            (prop::collection::vec(0.01..1.0f64, m), prop::collection::vec((end.clone(), end), m)).prop_map(
                |(w, ends)| {
                    let sum: f64 = w.iter().sum();
                    let row: Vec<f64> = w.iter().map(|w| w / sum).collect();
                    let lo = row.iter().zip(&ends).map(|(p, (down, _))| (p - down).max(0.0)).collect();
                    let hi = row.iter().zip(&ends).map(|(p, (_, up))| (p + up).min(1.0)).collect();
                    (lo, hi, row)
                },
            )
        })
    }

    /// The least Σ p x over the set: the remaining mass goes to the least x first.
    fn least(lo: &[f64], hi: &[f64], x: &[f64]) -> f64 {
        let mut order: Vec<usize> = (0..x.len()).collect();
        order.sort_by(|&a, &b| x[a].total_cmp(&x[b]));
        let mut left = 1.0 - lo.iter().sum::<f64>();
        let mut sum: f64 = lo.iter().zip(x).map(|(p, x)| p * x).sum();
        for v in order {
            let more = left.min(hi[v] - lo[v]);
            sum += more * x[v];
            left -= more;
        }
        sum
    }

    proptest! {
        #[test]
        fn some_corner_is_best_whatever_the_values_are((lo, hi, row) in bounded_row(), seed in prop::collection::vec(-1.0..1.0f64, MOST_VALUES)) {
            let x = &seed[..row.len()];
            let corners = corners(&lo, &hi, &row);
            prop_assert!(corners.len() / row.len() <= most_corners(row.len()));
            for corner in corners.chunks_exact(row.len()) {
                prop_assert!((corner.iter().sum::<f64>() - 1.0).abs() <= 1e-11);
                prop_assert!(corner.iter().zip(lo.iter().zip(&hi)).all(|(p, (lo, hi))| lo <= p && p <= hi));
                let far = 0.5 * corner.iter().zip(&row).map(|(a, b)| (a - b).abs()).sum::<f64>();
                prop_assert!(far <= distance(&lo, &hi, &row) + 1e-11);
            }
            let value = |corner: &[f64]| corner.iter().zip(x).map(|(p, x)| p * x).sum::<f64>();
            let found = corners.chunks_exact(row.len()).map(value).fold(f64::INFINITY, f64::min);
            prop_assert!((found - least(&lo, &hi, x)).abs() <= 1e-11);
        }
    }

    #[test]
    fn three_values_have_six_corners_at_most_and_two_values_two() {
        assert_eq!((1..=7).map(most_corners).collect::<Vec<_>>(), [1, 2, 6, 12, 30, 60, 140]);
        let third = [1.0 / 3.0; 3];
        assert_eq!(corners(&[0.2; 3], &[0.45; 3], &third).len(), 3 * 6);
        assert_eq!(corners(&[0.0; 3], &[1.0; 3], &third).len(), 3 * 3);
        assert_eq!(corners(&third, &third, &third).len(), 3);
        assert_eq!(corners(&[0.3, 0.5], &[0.5, 0.7], &[0.4, 0.6]).len(), 2 * 2);
    }
}
