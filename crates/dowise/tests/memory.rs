//! Memory is counted before it is taken.

mod common;

use common::random_world::{Sizes, random_world};
use dowise::kernel::Kernel;
use dowise::learn::LearnerSpec;
use dowise::worlds::ManyLevers;
use dowise::{Knowledge, Learner, Planner, World};

#[test]
fn bytes_grow_with_the_states_and_hardly_with_the_interventions() {
    let bytes = |factors, levers| {
        let world = World::new(ManyLevers { factors, levers, ..ManyLevers::default() }.spec().unwrap()).unwrap();
        Planner::bytes(&world)
    };
    // Rewards, q, and two arrays of the contraction for 8 causes; values and policy for 6 stages; rows of three groups.
    assert_eq!(bytes(14, 3) - bytes(13, 3), (1 << 13) * (4 * 8 * 8 + 2 * 6 * 8 + 3 * 4) + 2 * 8 * 8 * 2);
    assert!(bytes(14, 5) - bytes(14, 3) < 1 << 19);
}

#[test]
fn a_count_is_no_less_than_what_the_largest_tables_take() {
    for seed in 0..50 {
        let world = random_world(seed, &Sizes::default()).1;
        let planner = Planner::new(&world).unwrap();
        let least = 8 * (2 * planner.rewards().len() + 2 * world.n_states() * world.horizon()) as u128;
        assert!(Planner::bytes(&world) >= least + Kernel::bytes(&world));
    }
}

#[test]
fn a_learner_that_samples_is_counted_with_what_it_samples_from() {
    let world = World::new(dowise::worlds::Paper::default().spec().unwrap()).unwrap();
    let told = Knowledge::of(&world);
    let bytes = |name: &str| {
        let spec: LearnerSpec = name.parse().unwrap();
        Learner::bytes(&told, &spec.options(1, 0))
    };
    // 8 states, 64 interventions, 8 next states; a confidence set has one number for each row besides.
    assert_eq!(bytes("psrl") - bytes("ucbvi:sets=l1"), 13 * 8 * 64 * 8 - 8 * 8 * 64);
    // A Kullback–Leibler ball has which values were seen, how many, its radius and its row, and a number for each of 5 stages.
    let ball = 4 * 8 + 4 + 16 + 4;
    assert_eq!(bytes("ucbvi") - bytes("ucbvi:sets=l1"), 8 * 64 * (ball - 8) + 5 * (8 * 8 * 64 + 9 * 8));
}
