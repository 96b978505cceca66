//! P(c | s, do(a)) against the sum over every assignment of every variable.

mod common;

use common::dense::{allowed, each_assignment};
use common::random_world::{Sizes, random_world};
use dowise::World;
use dowise::kernel::Kernel;

fn check(world: &World) {
    let kernel = Kernel::new(world).unwrap();
    let mut found = vec![0.0; kernel.n_causes()];
    for s in 0..world.n_states() {
        for action in allowed(world, s) {
            assert!(kernel.allows(s, action));
            let mut expected = vec![0.0; kernel.n_causes()];
            each_assignment(world, s, action, |values, p| {
                let values: Vec<u32> = values.iter().map(|&v| v as u32).collect();
                expected[kernel.causes().of_values(&values)] += p;
            });
            kernel.distribution(s, action, &mut found);
            for (a, b) in found.iter().zip(&expected) {
                assert!((a - b).abs() <= 1e-12, "{found:?} {expected:?}");
            }
        }
    }
}

#[test]
fn elimination_equals_enumeration_with_the_mechanisms_of_set_levers_cut_off() {
    (0..400).for_each(|seed| check(&random_world(seed, &Sizes::default()).1));
}

#[test]
fn long_chains_of_hidden_variables_are_marginalised_out() {
    let sizes =
        Sizes { state: [1, 1], levers: [2, 3], keys: [2, 3], hidden: [3, 5], values: [1, 2], ..Sizes::default() };
    (0..60).for_each(|seed| check(&random_world(1000 + seed, &sizes).1));
}

#[test]
fn the_kernel_allows_exactly_what_the_rules_allow() {
    for seed in 0..200 {
        let world = random_world(2000 + seed, &Sizes { rules: 4, ..Sizes::default() }).1;
        let kernel = Kernel::new(&world).unwrap();
        let codes: u64 = world.interventions().sizes().iter().map(|&n| n as u64 + 1).product();
        for s in 0..world.n_states() {
            let expected = allowed(&world, s);
            let found: Vec<_> = (0..codes).map(dowise::Action).filter(|&a| kernel.allows(s, a)).collect();
            assert_eq!(found, expected);
        }
    }
}
