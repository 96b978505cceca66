//! Variables with more values than 16 bits can number: played, learned and planned without a digit cut off.

use dowise::{Planner, Simulator, World};
use rand::SeedableRng;

/// A lever with 70,000 values, of which only one beyond 2¹⁶ makes the key variable `yes`.
fn world() -> World {
    let (n, right) = (70_000, 66_000);
    let row = |dose| if dose == right { [0.0, 1.0] } else { [1.0, 0.0] };
    World::builder("doses", 2)
        .state("here", ["a"])
        .lever("dose", n)
        .key("hit", ["no", "yes"])
        .mechanism("hit", "dose", (0..n).flat_map(row).collect::<Vec<f64>>())
        .next("here", [], [1.0])
        .reward("paid", "hit", [0.0, 1.0])
        .build()
        .unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn policies_return_their_value_where_a_lever_has_more_than_2_to_the_16_values() {
    let world = world();
    let plan = Planner::new(&world).unwrap().plan();
    assert_eq!(plan.value(0, 0), 2.0);
    let simulator = Simulator::new(&world).unwrap();
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    let mut outcome = Default::default();
    for stage in 0..2 {
        simulator.step(0, plan.action(stage, 0), &mut rng, &mut outcome);
        assert_eq!(outcome.reward, 1.0);
        assert_eq!(outcome.values[world.levers()[0].ix()], 66_000);
    }
}
