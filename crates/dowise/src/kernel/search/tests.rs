//! Tests of all search methods against exhaustive enumeration.

use std::ops::RangeInclusive;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Found, Kernel, Scratch, Tie, Within};
use crate::world::{
    Action, ForbidSpec, Form, InterventionSpec, Kind, MechanismSpec, SetSpec, StartSpec, VariableSpec, World, WorldSpec,
};

/// Two to four groups: a lever, its key variable, and various restrictions across groups.
fn kernel(rng: &mut ChaCha8Rng) -> Kernel {
    kernel_of(rng, &|_| 1..=3, 2..=4, true)
}

/// The same with given numbers of groups and key values, with or without restrictions.
fn kernel_of(
    rng: &mut ChaCha8Rng,
    key_values: &dyn Fn(usize) -> RangeInclusive<usize>,
    groups: RangeInclusive<usize>,
    restricted: bool,
) -> Kernel {
    let n_groups = rng.random_range(groups.clone());
    let values = |n: usize| (0..n).map(|v| v.to_string().as_str().into()).collect();
    let variable = |kind: Kind, name: &str, n| VariableSpec {
        name: name.into(),
        kind: kind.into(),
        values: values(n),
        values_at: None,
        costs: vec![],
    };
    let mechanism = |child: &str, parents: &[&str], table: Vec<f64>| MechanismSpec {
        children: vec![child.into()],
        parents: parents.iter().map(|&p| p.into()).collect(),
        form: Form::Table(table),
        learn: None,
        at: None,
    };
    let rows = |rng: &mut ChaCha8Rng, n_rows: usize, n: usize| -> Vec<f64> {
        let row = |rng: &mut ChaCha8Rng| {
            let mut counts = vec![0.0; n];
            (0..8).for_each(|_| counts[rng.random_range(0..n)] += 0.125);
            counts
        };
        (0..n_rows).flat_map(|_| row(rng)).collect()
    };
    let mut spec = WorldSpec {
        name: String::new(),
        about: String::new(),
        horizon: 1.into(),
        discount: None,
        ends: Vec::new(),
        variables: vec![variable(Kind::State, "s", 1)],
        transitions: vec![],
        mechanisms: vec![],
        rewards: vec![],
        reward_range: None,
        interventions: InterventionSpec::default(),
        start: StartSpec::Uniform,
    };
    let mut scope = vec!["s".to_owned()];
    for g in 0..n_groups {
        let (x, z) = (format!("x{g}"), format!("z{g}"));
        let (m, k) = (rng.random_range(2..=5usize), rng.random_range(key_values(g)));
        let mut lever = variable(Kind::Lever, &x, m);
        if rng.random_bool(0.3) {
            lever.costs = (0..m).map(|v| (v.to_string().as_str().into(), rng.random_range(0.0..0.3).into())).collect();
        }
        spec.variables.extend([lever, variable(Kind::Key, &z, k)]);
        spec.mechanisms.push(mechanism(&z, &[&x], rows(rng, m, k)));
        spec.mechanisms.push(mechanism(&x, &[], rows(rng, 1, m)));
        scope.push(z);
    }
    let n_rows = spec.variables.iter().filter(|v| v.kind == Kind::Key).map(|v| v.values.len()).product();
    let parents: Vec<&str> = scope.iter().map(String::as_str).collect();
    spec.transitions.push(mechanism("s", &parents, vec![1.0; n_rows]));
    if restricted && rng.random_bool(0.5) {
        spec.interventions.set = SetSpec::AtMost(rng.random_range(0..=n_groups as u64).into());
    }
    for _ in 0..if restricted { rng.random_range(0..3) } else { 0 } {
        let levers = [0, n_groups - 1].map(|g| (format!("x{g}").as_str().into(), vec!["0".into(), "1".into()]));
        spec.interventions.forbid.push(ForbidSpec { when: vec![], levers: levers.into(), at: None });
    }
    // At most two of five values are forbidden together, so something is always left; with two values each it may not
    // be.
    World::new(spec).map_or_else(
        |_| kernel_of(rng, key_values, groups, restricted),
        |world| Kernel::new(&world).expect("invariant: every mechanism is known"),
    )
}

#[test]
fn every_way_to_search_finds_the_least_of_all_interventions() {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let mut scratch = Scratch::default();
    for _ in 0..400 {
        let kernel = kernel(&mut rng);
        let coarse = rng.random_bool(0.5);
        let loss: Vec<f64> = (0..kernel.n_causes())
            .map(|_| if coarse { f64::from(rng.random_range(0..2u8)) } else { rng.random_range(0.0..1.0) })
            .collect();
        let value = |action: Action| {
            let mut p = vec![0.0; kernel.n_causes()];
            kernel.distribution(0, action, &mut p);
            p.iter().zip(&loss).map(|(p, x)| p * x).sum::<f64>() + kernel.interventions().cost(action)
        };
        let all = (0..kernel.interventions().count()).map(|i| kernel.interventions().nth(i));
        let least = all.filter(|&a| kernel.allows(0, a)).map(value).fold(f64::INFINITY, f64::min);
        let tolerance = 1e-9;
        let firsts = [
            kernel.best_of_few(0, &loss, tolerance, Tie::First, &mut scratch.few),
            kernel.best_of_many(0, &loss, Within::ties(tolerance), Tie::First, &mut scratch.branch),
        ];
        assert_eq!(firsts[0].action, firsts[1].action, "the same rule for ties");
        let random = Tie::Random(rng.random());
        let randoms = [
            kernel.best_of_few(0, &loss, tolerance, random, &mut scratch.few),
            kernel.best_of_many(0, &loss, Within::ties(tolerance), random, &mut scratch.branch),
            kernel.best(0, &loss, tolerance, random, &mut scratch),
        ];
        for Found { least: found, chosen, action } in firsts.into_iter().chain(randoms) {
            assert!((found - least).abs() <= 1e-12, "{found} {least}");
            assert!((chosen - value(action)).abs() <= 1e-12, "{action:?} is worth {}, not {chosen}", value(action));
            assert!(kernel.allows(0, action) && value(action) <= least + 1.1 * tolerance, "{action:?}");
        }
        // Ties wide enough that the choice is mostly not optimal.
        for tie in [Tie::First, random] {
            for Found { chosen, action, .. } in [
                kernel.best_of_few(0, &loss, 0.2, tie, &mut scratch.few),
                kernel.best_of_many(0, &loss, Within::ties(0.2), tie, &mut scratch.branch),
            ] {
                assert!((chosen - value(action)).abs() <= 1e-12, "{action:?} is worth {}, not {chosen}", value(action));
            }
        }
    }
}

#[test]
fn binary_key_variables_give_the_same_bits_in_registers() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut scratch = Scratch::default();
    let mut done = [0; 17];
    for round in 0..600 {
        let kernel = kernel_of(&mut rng, &|_| 2..=2, 2..=4, false);
        let n = kernel.n_causes();
        let loss: Vec<f64> = (0..n).map(|_| f64::from(rng.random_range(0..5u8)) / 4.0).collect();
        let tolerance = if round % 2 == 0 { 1e-9 } else { 0.1 };
        for tie in [Tie::First, Tie::Random(rng.random())] {
            let found = match n {
                4 => kernel.best_of_pairs::<4>(0, &loss, tolerance, tie),
                8 => kernel.best_of_pairs::<8>(0, &loss, tolerance, tie),
                _ => kernel.best_of_pairs::<16>(0, &loss, tolerance, tie),
            };
            if let Some(found) = found {
                done[n] += 1;
                assert_eq!(found, kernel.best_of_listed(0, &loss, tolerance, tie, &mut scratch.few));
            }
        }
    }
    assert!([4, 8, 16].iter().all(|&n| done[n] > 50), "{done:?}");
}

/// A key variable with one value forms a group with one configuration; the search must still include its setting.
#[test]
fn a_group_without_a_choice_of_causes_has_its_part_too() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut scratch = Scratch::default();
    for single in 0..5 {
        for _ in 0..40 {
            let kernel = kernel_of(&mut rng, &|g| if g == single { 1..=1 } else { 2..=2 }, 5..=5, false);
            let loss: Vec<f64> = (0..16).map(|_| rng.random_range(0.0..1.0)).collect();
            let tie = Tie::Random(rng.random());
            let found = kernel.best_of_few(0, &loss, 1e-9, tie, &mut scratch.few);
            assert_eq!(found, kernel.best_of_listed(0, &loss, 1e-9, tie, &mut scratch.few));
            assert!(kernel.allows(0, found.action), "{found:?}");
        }
    }
}

#[test]
fn where_nothing_is_lost_the_least_is_exactly_zero() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..100 {
        let kernel = kernel(&mut rng);
        if kernel.interventions().has_costs() {
            continue;
        }
        let loss = vec![0.0; kernel.n_causes()];
        for tie in [Tie::First, Tie::Random(rng.random())] {
            let Found { least, action, .. } = kernel.best(0, &loss, 1e-9, tie, &mut Scratch::default());
            assert!(least == 0.0 && kernel.allows(0, action));
        }
    }
}
