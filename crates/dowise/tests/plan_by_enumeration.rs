//! Exact plans against the plain way: an ordinary Markov decision process, every intervention, every policy.

mod common;

use common::assert_close;
use common::dense::Flat;
use common::random_world::{Sizes, random_world};
use dowise::plan::{TIE_TOLERANCE, Ties};
use dowise::{Action, Plan, Planner, World};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A range of worlds: small ones of every kind, some with many levers and groups, some full of ties.
fn worlds(n: u64) -> impl Iterator<Item = World> {
    let groups = Sizes { levers: [3, 5], keys: [2, 4], hidden: [0, 1], values: [1, 2], rules: 3, ..Sizes::default() };
    let ties = Sizes { coarse: true, cost: 0.1, ..Sizes::default() };
    let mixed = [Sizes::default(), groups, ties];
    (0..n).map(move |seed| random_world(5000 + seed, &mixed[seed as usize % 3]).1)
}

/// Worlds whose episodes may end early, with a discount and with next-state rewards.
fn continuation(n: u64) -> impl Iterator<Item = World> {
    let sizes = Sizes { continuation: true, values: [1, 2], ..Sizes::default() };
    (0..n).map(move |seed| random_world(9000 + seed, &sizes).1)
}

#[test]
fn ends_discounts_and_rewards_on_next_values_count_as_they_say() {
    let (mut ended, mut discounted, mut next) = (0, 0, 0);
    for world in continuation(300) {
        ended += usize::from(world.ends().is_some());
        discounted += usize::from(world.discount() < 1.0);
        next += usize::from(world.rewards().iter().any(|r| !r.next.is_empty()));
        let flat = Flat::new(&world);
        let expected = flat.solve();
        let planner = Planner::new(&world).unwrap();
        for ties in [Ties::First, Ties::Seeded(7)] {
            let plan = planner.plan_with(ties);
            check_values(&plan, &flat, &expected);
            check_choices(&plan, &flat, &expected);
            planner.verify(&plan).unwrap();
        }
    }
    assert!(ended > 30 && discounted > 50 && next > 50, "{ended} {discounted} {next}");
}

#[test]
fn a_simulation_earns_what_the_plan_says() {
    use dowise::{Simulator, simulate::Outcome};
    let sizes = Sizes { continuation: true, state: [2, 2], values: [2, 2], horizon: [3, 4], ..Sizes::default() };
    for seed in 0..6 {
        let world = random_world(700 + seed, &sizes).1;
        let (planner, simulator) = (Planner::new(&world).unwrap(), Simulator::new(&world).unwrap());
        let plan = planner.plan();
        let expected = planner.from_start(&plan.value_hs[..world.n_states()]);
        let [mut starts, mut steps] = Simulator::streams(seed);
        let mut out = Outcome::default();
        let (n, mut sum, mut squares) = (20_000, 0.0, 0.0);
        for _ in 0..n {
            let mut state = simulator.start(&mut starts);
            assert!(!world.has_ended(state));
            let (mut gain, mut weight) = (0.0, 1.0);
            for stage in 0..world.horizon() {
                simulator.step(state, plan.action(stage, state), &mut steps, &mut out);
                gain += weight * out.reward;
                weight *= world.discount();
                state = out.next_state;
                if world.has_ended(state) {
                    break;
                }
            }
            sum += gain;
            squares += gain * gain;
        }
        let mean = sum / f64::from(n);
        let error = ((squares / f64::from(n) - mean * mean).max(0.0) / f64::from(n)).sqrt();
        assert!((mean - expected).abs() < 5.0 * error + 1e-9, "{seed}: {mean} ± {error} against {expected}");
    }
}

fn check_values(plan: &Plan, flat: &Flat, expected: &[Vec<f64>]) {
    for h in 0..=flat.horizon {
        for s in 0..flat.n_states {
            assert_close(plan.value(h, s), expected[h][s], flat.scale(), "value");
        }
    }
}

/// Every intervention chosen is allowed and among the best, up to the tolerance for ties.
fn check_choices(plan: &Plan, flat: &Flat, expected: &[Vec<f64>]) {
    for h in 0..flat.horizon {
        let q = flat.q(&expected[h + 1]);
        for s in (0..flat.n_states).filter(|&s| !flat.ended[s]) {
            let a = flat.actions[s].iter().position(|&a| a == plan.action(h, s)).expect("allowed");
            let within = 2.0 * TIE_TOLERANCE * flat.scale().max(1.0);
            assert!(q[s][a] >= expected[h][s] - within, "{} {}", q[s][a], expected[h][s]);
        }
    }
}

#[test]
fn a_plan_has_the_values_of_the_world_flattened_to_an_ordinary_decision_process() {
    for world in worlds(300) {
        let flat = Flat::new(&world);
        let expected = flat.solve();
        let planner = Planner::new(&world).unwrap();
        for ties in [Ties::First, Ties::Seeded(7)] {
            let plan = planner.plan_with(ties);
            check_values(&plan, &flat, &expected);
            check_choices(&plan, &flat, &expected);
        }
    }
}

#[test]
fn no_policy_of_a_tiny_world_is_better_than_the_plan_and_one_is_as_good() {
    let tiny = Sizes {
        state: [1, 1],
        levers: [1, 2],
        keys: [1, 2],
        hidden: [0, 1],
        values: [2, 2],
        horizon: [2, 2],
        ..Sizes::default()
    };
    let mut tried = 0;
    for seed in 0..60 {
        let world = random_world(seed, &tiny).1;
        let flat = Flat::new(&world);
        let counts: Vec<usize> = [&flat.actions[..], &flat.actions[..]].concat().iter().map(Vec::len).collect();
        let n_policies: usize = counts.iter().product();
        let plan = Planner::new(&world).unwrap().plan();
        let mut best = vec![f64::NEG_INFINITY; 2];
        for policy in 0..n_policies {
            let mut rest = policy;
            let choices: Vec<usize> = counts
                .iter()
                .map(|n| {
                    let choice = rest % n;
                    rest /= n;
                    choice
                })
                .collect();
            let value = flat.evaluate(|h, s| choices[h * 2 + s]);
            best = best.iter().zip(&value[0]).map(|(a, b)| a.max(*b)).collect();
            tried += 1;
        }
        for s in 0..2 {
            assert_close(plan.value(0, s), best[s], flat.scale(), "best of all policies");
        }
    }
    assert!(tried > 1000, "only {tried} policies");
}

#[test]
fn evaluating_the_plan_gives_its_own_values() {
    for world in worlds(150) {
        let planner = Planner::new(&world).unwrap();
        let scale = Flat::new(&world).scale();
        for ties in [Ties::First, Ties::Seeded(3)] {
            let plan = planner.plan_with(ties);
            let value = planner.evaluate(&plan.policy_hs).unwrap();
            for (a, b) in value.iter().zip(&plan.value_hs) {
                assert_close(*a, *b, scale, "value of the plan's policy");
            }
        }
    }
}

#[test]
fn any_policy_is_worth_what_the_plain_loop_says() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for world in worlds(150) {
        let flat = Flat::new(&world);
        let choices: Vec<Vec<usize>> = (0..flat.horizon)
            .map(|_| flat.actions.iter().map(|a| rng.random_range(0..a.len() as u64) as usize).collect())
            .collect();
        let policy: Vec<Action> =
            choices.iter().flat_map(|c| c.iter().zip(&flat.actions).map(|(&i, a)| a[i])).collect();
        let found = Planner::new(&world).unwrap().evaluate(&policy).unwrap();
        let expected = flat.evaluate(|h, s| choices[h][s]);
        for (a, b) in found.iter().zip(expected.iter().flatten()) {
            assert_close(*a, *b, flat.scale(), "value of a random policy");
        }
    }
}

#[test]
fn of_interventions_that_do_the_same_the_one_with_the_smallest_number_is_planned() {
    // Without costs, and without a limit that binds, nothing but the number tells them apart.
    let sizes = Sizes { levers: [1, 4], cost: 0.0, coarse: true, values: [1, 2], ..Sizes::default() };
    let mut compared = 0;
    for seed in 0..200 {
        let world = random_world(seed, &sizes).1;
        if matches!(world.interventions().lever_rule(), dowise::world::LeverRule::AtMost(k) if *k < world.levers().len())
        {
            continue;
        }
        let planner = Planner::new(&world).unwrap();
        let plan = planner.plan();
        let n_causes = planner.kernel().n_causes();
        let (mut chosen, mut other) = (vec![0.0; n_causes], vec![0.0; n_causes]);
        for s in 0..world.n_states() {
            for h in 0..world.horizon() {
                planner.kernel().distribution(s, plan.action(h, s), &mut chosen);
                for a in common::dense::allowed(&world, s) {
                    planner.kernel().distribution(s, a, &mut other);
                    let same = chosen.iter().zip(&other).all(|(x, y)| (x - y).abs() < 1e-14);
                    assert!(!same || plan.action(h, s) <= a, "{:?} {a:?}", plan.action(h, s));
                    compared += usize::from(same && a != plan.action(h, s));
                }
            }
        }
    }
    assert!(compared > 1000, "only {compared} pairs");
}

#[test]
fn a_policy_of_the_wrong_size_or_with_a_forbidden_intervention_is_refused() {
    let world = random_world(3, &Sizes { levers: [2, 2], ..Sizes::default() }).1;
    let planner = Planner::new(&world).unwrap();
    let mut policy = planner.plan().policy_hs;
    assert!(planner.evaluate(&policy[1..]).is_err());
    policy[0] = Action(u64::MAX);
    assert!(planner.evaluate(&policy).is_err());
}
