//! Plans of worlds by components against the plain way: an ordinary Markov decision process, every intervention, and the plan
//! over joint causes.

mod common;

use common::assert_close;
use common::dense::Flat;
use common::random_world::{Sizes, random_world};
use dowise::plan::Ties;
use dowise::{Action, Planner, World};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Worlds with several parts, parts that share key variables, levers that act directly, rewards over several parts, costs,
/// restrictions and ties; every other one with ends, discount and next-state rewards.
fn worlds(n: u64) -> impl Iterator<Item = World> {
    let groups = Sizes { levers: [3, 5], keys: [2, 4], hidden: [0, 1], values: [1, 2], rules: 3, ..Sizes::default() };
    let ties = Sizes { coarse: true, cost: 0.1, ..Sizes::default() };
    let continuation = Sizes { continuation: true, values: [1, 2], ..Sizes::default() };
    let mixed = [Sizes::default(), groups, ties, continuation];
    (0..n).map(move |seed| random_world(31_000 + seed, &mixed[seed as usize % 4]).1)
}

fn random_policy(world: &World, flat: &Flat, rng: &mut ChaCha8Rng) -> Vec<Action> {
    let one = |i: usize, rng: &mut ChaCha8Rng| {
        let allowed = &flat.actions[i % world.n_states()];
        allowed[rng.random_range(0..allowed.len())]
    };
    (0..world.horizon() * world.n_states()).map(|i| one(i, rng)).collect()
}

#[test]
fn plans_and_values_are_those_of_an_ordinary_decision_process() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let (mut several, mut restricted) = (0, 0);
    for (i, world) in worlds(600).enumerate() {
        let Some(planner) = Planner::decomposed(&world).unwrap() else { panic!("world {i} is small") };
        assert!(planner.is_split());
        let flat = Flat::new(&world);
        let expected = flat.solve();
        several += usize::from(planner.n_parts() > 1);
        restricted += usize::from(!world.interventions().forbid().is_empty());
        for ties in [Ties::First, Ties::Seeded(i as u64)] {
            let plan = planner.plan_with(ties);
            let worth = planner.verify(&plan).unwrap();
            for h in 0..=flat.horizon {
                for s in 0..flat.n_states {
                    assert_close(plan.value(h, s), expected[h][s], flat.scale(), "value");
                    // So what was chosen is as good as the best.
                    assert_close(worth[h * flat.n_states + s], expected[h][s], flat.scale(), "worth");
                }
            }
        }
        let joint = Planner::new(&world).unwrap();
        assert!(!joint.is_split(), "joint causes are few");
        let policy = random_policy(&world, &flat, &mut rng);
        let (found, plain) = (planner.evaluate(&policy).unwrap(), joint.evaluate(&policy).unwrap());
        found.iter().zip(&plain).for_each(|(x, y)| assert_close(*x, *y, flat.scale(), "evaluation"));
        let arrival = world.arrival();
        for s in (0..flat.n_states).filter(|&s| !flat.ended[s]) {
            for (a, &action) in flat.actions[s].iter().enumerate().take(8) {
                let mut next = vec![0.0; flat.n_states];
                let paid = planner.step(s, action, &mut next).unwrap();
                next.iter().zip(&flat.prob[s][a]).for_each(|(x, y)| assert_close(*x, *y, 1.0, "next state"));
                let arriving: f64 = next.iter().zip(&arrival).map(|(p, r)| p * r).sum();
                let reward = paid + arriving - world.interventions().cost(action);
                assert_close(reward, flat.reward[s][a], flat.scale(), "reward");
            }
        }
        let ((found, exact), (plain, _)) = (planner.at_random(), joint.at_random());
        assert!(exact);
        found.iter().zip(&plain).for_each(|(x, y)| assert_close(*x, *y, flat.scale(), "at random"));
    }
    assert!(several > 200 && restricted > 100, "{several} worlds of several parts, {restricted} restricted");
}
