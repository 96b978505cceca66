//! Which settings of a group can ever be best: the corners of the set of distributions that the group can reach.

/// One setting of a group's levers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Setting {
    /// Its share of the intervention's number.
    pub(crate) part: u64,
    /// What it costs.
    pub(crate) cost: f64,
    /// How many levers it sets.
    pub(crate) n_set: usize,
    /// Settings may stand in for each other only if these agree.
    pub(crate) signature: u64,
}

/// The settings among `allowed` that can be best for some values of the causes, in their old order.
///
/// `prob` is `[cause][setting]`. For fixed values x the group contributes cost + Σ_c P(c) x(c), linear in (P, cost), so a
/// setting inside the convex hull of others (or above it in cost) is never needed; among equals the first is kept. With a
/// limit on how many levers may be set, only settings that set no more levers can make another one unnecessary.
///
/// For one or two causes the hull is found by sorting, O(n log n); for more, only equal distributions are merged.
pub(crate) fn prune(allowed: &[u32], settings: &[Setting], prob: &[f64], n_causes: usize, limited: bool) -> Vec<u32> {
    let mut classes: Vec<u64> = allowed.iter().map(|&i| settings[i as usize].signature).collect();
    classes.sort_unstable();
    classes.dedup();
    let mut kept = Vec::new();
    for class in classes {
        let members: Vec<u32> = allowed.iter().copied().filter(|&i| settings[i as usize].signature == class).collect();
        let levels = if limited { members.iter().map(|&i| settings[i as usize].n_set).max().unwrap_or(0) } else { 0 };
        for level in 0..=levels {
            let within: Vec<u32> =
                members.iter().copied().filter(|&i| !limited || settings[i as usize].n_set <= level).collect();
            let corners = if n_causes <= 2 {
                lower_hull(&within, settings, |i| if n_causes == 2 { prob[settings.len() + i] } else { 0.0 })
            } else {
                distinct(&within, settings, prob, n_causes)
            };
            kept.extend(corners.into_iter().filter(|&i| !limited || settings[i as usize].n_set == level));
        }
    }
    kept.sort_unstable();
    kept
}

/// Corners of the lower hull of the points (p, cost): those that minimise cost + slope · p for some slope.
fn lower_hull(within: &[u32], settings: &[Setting], p: impl Fn(usize) -> f64) -> Vec<u32> {
    let cost = |i: u32| settings[i as usize].cost;
    let mut order: Vec<u32> = within.to_vec();
    order.sort_by(|&i, &j| {
        let by_p = p(i as usize).total_cmp(&p(j as usize));
        by_p.then(cost(i).total_cmp(&cost(j)))
            .then(settings[i as usize].n_set.cmp(&settings[j as usize].n_set))
            .then(i.cmp(&j))
    });
    order.dedup_by(|later, earlier| p(*later as usize) == p(*earlier as usize));
    let mut hull: Vec<u32> = Vec::new();
    for i in order {
        while let [.., a, b] = hull[..] {
            let (pa, pb, pi) = (p(a as usize), p(b as usize), p(i as usize));
            // b is unnecessary if it lies on or above the segment from a to i.
            let above = (cost(b) - cost(a)) * (pi - pa) >= (cost(i) - cost(a)) * (pb - pa);
            if !above {
                break;
            }
            hull.pop();
        }
        hull.push(i);
    }
    hull
}

/// One setting for each distribution: the cheapest, then the one that sets fewest levers, then the first.
fn distinct(within: &[u32], settings: &[Setting], prob: &[f64], n_causes: usize) -> Vec<u32> {
    let n = settings.len();
    let row = |i: u32| (0..n_causes).map(move |c| prob[c * n + i as usize]);
    let compare = |i: u32, j: u32| {
        row(i).zip(row(j)).map(|(a, b)| a.total_cmp(&b)).find(|o| o.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    };
    let mut order: Vec<u32> = within.to_vec();
    order.sort_by(|&i, &j| {
        let (a, b) = (&settings[i as usize], &settings[j as usize]);
        compare(i, j).then(a.cost.total_cmp(&b.cost)).then(a.n_set.cmp(&b.n_set)).then(i.cmp(&j))
    });
    order.dedup_by(|later, earlier| compare(*later, *earlier).is_eq());
    order
}
