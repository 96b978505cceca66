//! Brute-force reference: the best intervention and optimistic members by enumerating all pairs.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::bounds::corners;
use super::{Doubt, Found, Kernel, Member, RowBounds, Scratch, Tie};
use crate::Space;
use crate::world::{Action, SetSpec, VarId, World};
use common::dense::{allowed, each_assignment};
use common::random_world::{Sizes, random_world};

#[path = "../../tests/common"]
#[allow(dead_code, unreachable_pub)] // other tests use the rest
pub(crate) mod common {
    pub mod dense;
    pub mod random_world;
}

/// Maximum number of enumerated members for each intervention.
const MOST_MEMBERS: usize = 300;

/// Intervals around the rows of some mechanisms, some of them maximally wide.
fn intervals(world: &World, rng: &mut ChaCha8Rng) -> Vec<Option<RowBounds>> {
    let unknown = [0.3, 0.7, 1.0][rng.random_range(0..3)];
    let around = |table: &[f64], n: usize, rng: &mut ChaCha8Rng| {
        let mut bounds = RowBounds { lo: Vec::new(), hi: Vec::new() };
        for row in table.chunks_exact(n) {
            let size = [0.0, 0.1, 0.4, 1.0][rng.random_range(0..4)];
            let off = |rng: &mut ChaCha8Rng| if size == 1.0 { 1.0 } else { size * rng.random::<f64>() };
            bounds.lo.extend(row.iter().map(|p| (p - off(rng)).max(0.0)));
            bounds.hi.extend(row.iter().map(|p| (p + off(rng)).min(1.0)));
        }
        bounds
    };
    let of = |m: &crate::world::Mechanism| {
        let n: usize = world.sizes(&m.children).iter().product();
        rng.random_bool(unknown).then(|| around(m.table.as_deref().expect("invariant: all is known"), n, rng))
    };
    world.mechanisms().iter().map(of).collect()
}

/// The distributions of an intervention in a state for all combinations of extreme points of relevant rows; `None` if
/// there are too many.
fn members(world: &World, bounds: &[Option<RowBounds>], state: usize, action: Action) -> Option<Vec<Vec<f64>>> {
    let kernel_causes = super::CauseSpace::new(world);
    let lever = |id: &VarId| world.levers().iter().position(|l| l == id);
    let fixed = |id: &VarId| match world.state().iter().position(|s| s == id) {
        Some(factor) => Some(world.state_space().digit(state, factor)),
        None => lever(id).and_then(|l| world.interventions().lever(action, l)),
    };
    // (mechanism, row, number of values, corners)
    let mut rows: Vec<(usize, usize, usize, Vec<f64>)> = Vec::new();
    for (m, (mechanism, bounds)) in world.mechanisms().iter().zip(bounds).enumerate() {
        let Some(RowBounds { lo, hi }) = bounds else { continue };
        let is_set = |id: &VarId| lever(id).is_some_and(|l| world.interventions().lever(action, l).is_some());
        if mechanism.children.iter().any(is_set) {
            continue;
        }
        let n: usize = world.sizes(&mechanism.children).iter().product();
        let parents = Space::new(&world.sizes(&mechanism.parents)).unwrap();
        for row in 0..parents.len() {
            let fits = |(p, id): (usize, &VarId)| fixed(id).is_none_or(|v| parents.digit(row, p) == v);
            if mechanism.parents.iter().enumerate().all(fits) {
                let at = row * n..(row + 1) * n;
                if n > super::bounds::MOST_VALUES {
                    return None;
                }
                let table = mechanism.table.as_ref().unwrap();
                rows.push((m, row, n, corners(&lo[at.clone()], &hi[at.clone()], &table[at])));
            }
        }
    }
    let n_members = rows.iter().fold(1usize, |n, (_, _, m, corners)| n.saturating_mul(corners.len() / m));
    if n_members > MOST_MEMBERS {
        return None;
    }
    let mut chosen = world.clone();
    let mut all = Vec::new();
    for member in 0..n_members {
        let mut left = member;
        for (m, row, n, corners) in &rows {
            let corner = left % (corners.len() / n);
            left /= corners.len() / n;
            let table = std::sync::Arc::make_mut(chosen.mechanisms[*m].table.as_mut().unwrap());
            table[row * n..(row + 1) * n].copy_from_slice(&corners[corner * n..(corner + 1) * n]);
        }
        let mut prob = vec![0.0; kernel_causes.len()];
        each_assignment(&chosen, state, action, |values, p| {
            let values: Vec<u32> = values.iter().map(|&v| v as u32).collect();
            prob[kernel_causes.of_values(&values)] += p;
        });
        all.push(prob);
    }
    Some(all)
}

/// How often each representation of uncertainty occurred.
#[derive(Debug, Default)]
struct Seen {
    corners: usize,
    boxes: usize,
    radius: usize,
    mixed: usize,
}

fn check(world: &World, rng: &mut ChaCha8Rng, seen: &mut Seen) {
    let bounds = intervals(world, rng);
    let tables: Vec<Option<&[f64]>> = world.mechanisms().iter().map(|m| m.table.as_deref()).collect();
    let make = |member| {
        Kernel::with_tables(world, &tables, Some(Doubt { bounds: &bounds, member, by_corners: false })).unwrap()
    };
    let (best, worst, truth) = (make(Member::Optimistic), make(Member::Pessimistic), Kernel::new(world).unwrap());
    let exact = best.groups.iter().all(|g| g.is_exact() || g.boxes().is_some());
    let worst_is_exact = worst.groups.iter().all(|g| g.is_exact() || g.boxes().is_some());
    seen.corners += usize::from(exact && best.groups.iter().any(|g| !g.is_certain() && g.boxes().is_none()));
    seen.boxes += usize::from(best.groups.iter().any(|g| g.boxes().is_some()));
    seen.radius += usize::from(!exact);
    seen.mixed += usize::from(!exact && best.groups.iter().any(|g| g.is_exact() && !g.is_certain()));
    let mut scratch = Scratch::default();
    for state in 0..world.n_states().min(2) {
        let actions = allowed(world, state);
        let listed: Option<Vec<Vec<Vec<f64>>>> = actions.iter().map(|&a| members(world, &bounds, state, a)).collect();
        for round in 0..6 {
            let coarse = round % 3 == 2;
            let loss: Vec<f64> = (0..best.n_causes())
                .map(|_| if coarse { f64::from(rng.random_range(0..3u8)) / 2.0 } else { rng.random() })
                .collect();
            let tie = if round % 2 == 0 { Tie::First } else { Tie::Random(rng.random()) };
            let Found { least: found, action, .. } = best.best(state, &loss, 1e-9, tie, &mut scratch);
            assert!(best.allows(state, action));
            let least = truth.best(state, &loss, 1e-9, Tie::First, &mut scratch).least;
            assert!(found <= least + 1e-9, "{found} is more than {least}, which may be the truth");
            let pessimistic = worst.best(state, &loss, 1e-9, tie, &mut scratch).least;
            assert!(pessimistic >= least - 1e-9, "{pessimistic} is less than {least}, which may be the truth");
            let Some(listed) = &listed else { continue };
            let value = |p: &Vec<f64>| p.iter().zip(&loss).map(|(p, x)| p * x).sum::<f64>();
            let cost = |a: Action| world.interventions().cost(a);
            let of_each = |end: &dyn Fn(f64, f64) -> f64, from: f64| -> Vec<f64> {
                let each = listed.iter().zip(&actions);
                each.map(|(members, &a)| members.iter().map(value).fold(from, end) + cost(a)).collect()
            };
            let optimistic = of_each(&f64::min, f64::INFINITY);
            let least = optimistic.iter().copied().fold(f64::INFINITY, f64::min);
            assert!(found <= least + 1e-9, "{found} is more than {least}");
            let fears = of_each(&f64::max, f64::NEG_INFINITY);
            let safe = fears.iter().copied().fold(f64::INFINITY, f64::min);
            assert!(pessimistic >= safe - 1e-9, "{pessimistic} is less than {safe}");
            if worst_is_exact {
                assert!((pessimistic - safe).abs() <= 1e-9, "{pessimistic} is not {safe}");
            }
            let q: Vec<f64> = loss.iter().map(|x| 1.0 - x).collect();
            for (&a, value) in actions.iter().zip(&optimistic) {
                let found = 1.0 - best.optimistic_value(state, a, &q) + cost(a);
                assert!(found <= value + 1e-9 && (!exact || found >= value - 1e-9), "{found} is not {value}");
            }
            if exact {
                assert!((found - least).abs() <= 1e-9, "{found} is not {least}");
                let of_action = actions.iter().position(|&a| a == action).unwrap();
                assert!(optimistic[of_action] <= least + 2e-9, "{action:?} is not best");
            }
        }
    }
}

#[test]
fn the_optimistic_estimate_and_the_best_intervention_are_found_together() {
    let mut seen = Seen::default();
    let small = Sizes { state: [1, 2], levers: [1, 3], keys: [1, 3], values: [1, 3], ..Sizes::default() };
    let one_table =
        Sizes { state: [1, 1], levers: [1, 1], keys: [1, 2], hidden: [0, 0], values: [2, 3], ..small.clone() };
    let binary = Sizes { values: [2, 2], hidden: [0, 1], ..small.clone() };
    for seed in 0..900 {
        let sizes = [&small, &one_table, &binary][seed as usize % 3];
        let (mut spec, mut world) = random_world(5000 + seed, sizes);
        if seed % 3 == 1 {
            // All levers are set, unless that leaves no intervention.
            spec.interventions.set = SetSpec::All;
            world = World::new(spec).unwrap_or(world);
        }
        check(&world, &mut ChaCha8Rng::seed_from_u64(seed), &mut seen);
    }
    let Seen { corners, boxes, radius, mixed } = seen;
    assert!(corners > 100 && boxes > 10 && radius > 10 && mixed > 3, "{seen:?}");
}
