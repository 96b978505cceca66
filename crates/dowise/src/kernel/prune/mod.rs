//! Pruning of a group's settings to the extreme points of the convex hull of their distributions and costs.

mod equal;
mod hull;
mod line;
mod nnls;
#[cfg(test)]
mod tests;

/// One setting of a group's levers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Setting {
    /// Its share of the intervention's number.
    pub(crate) part: u64,
    /// Its cost.
    pub(crate) cost: f64,
    /// Number of levers that it sets.
    pub(crate) n_set: usize,
    /// Only settings with equal signatures are interchangeable.
    pub(crate) signature: u64,
}

/// The settings of a group as points: a distribution and a cost.
struct Points<'a> {
    settings: &'a [Setting],
    /// `[cause][setting]`
    prob: &'a [f64],
    n_causes: usize,
}

impl Points<'_> {
    fn prob(&self, cause: usize, i: u32) -> f64 {
        self.prob[cause * self.settings.len() + i as usize]
    }

    fn cost(&self, i: u32) -> f64 {
        self.settings[i as usize].cost
    }

    fn n_set(&self, i: u32) -> usize {
        self.settings[i as usize].n_set
    }
}

/// The settings among `allowed` that can be optimal for some values, in their old order.
///
/// `prob` is `[cause][setting]`. For fixed values x the group contributes cost + Σ_c P(c) x(c), linear in (P, cost). A
/// setting inside the convex hull of others (or above it in cost) is therefore redundant. Of equivalent settings the
/// first is kept. With a limit on the number of levers, only settings that set no more levers can make another one
/// redundant, and of equivalent ones the one with fewest levers is kept.
///
/// For one or two configurations the hull is found by sorting, O(n log n). For more it is found by least squares as
/// long as `work`, a number of multiplications, lasts; the rest of it is for the next call. Without any work only equal
/// distributions are merged.
pub(crate) fn prune(
    allowed: &[u32],
    settings: &[Setting],
    prob: &[f64],
    n_causes: usize,
    limited: bool,
    work: &mut i64,
) -> Vec<u32> {
    let points = Points { settings, prob, n_causes };
    let mut classes: Vec<u64> = allowed.iter().map(|&i| settings[i as usize].signature).collect();
    classes.sort_unstable();
    classes.dedup();
    let mut kept = Vec::new();
    for class in classes {
        let members: Vec<u32> = allowed.iter().copied().filter(|&i| settings[i as usize].signature == class).collect();
        let levels = if limited { members.iter().map(|&i| points.n_set(i)).max().unwrap_or(0) } else { 0 };
        for level in 0..=levels {
            let within: Vec<u32> = members.iter().copied().filter(|&i| !limited || points.n_set(i) <= level).collect();
            let distinct = equal::representatives(&within, &points, |i| (if limited { points.n_set(i) } else { 0 }, i));
            let corners = match n_causes {
                0..=2 => line::lower_hull(&distinct, &points),
                _ => hull::corners(&distinct, &points, work),
            };
            kept.extend(corners.into_iter().filter(|&i| !limited || points.n_set(i) == level));
        }
    }
    kept.sort_unstable();
    kept
}
