//! Plans where rewards and costs are of very different size, against the plain way: what is planned is worth the optimum,
//! up to rounding of what the plan itself meets with.

mod common;

use common::build;
use common::dense::Flat;
use common::random_world::{Sizes, random_world};
use dowise::plan::Ties;
use dowise::world::{ForbidSpec, Kind, RewardForm, WorldSpec};
use dowise::worlds::ManyLevers;
use dowise::{Planner, World};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Share of the size of a value: see [`sizes`].
const ROUNDING: f64 = 1e-10;

/// Multiplies every reward and cost by a power of ten of its own.
fn spread_out(spec: &mut WorldSpec, rewards: i32, costs: [i32; 2], rng: &mut ChaCha8Rng) {
    spec.reward_range = None;
    for reward in &mut spec.rewards {
        if let RewardForm::Table(table) = &mut reward.form {
            table.iter_mut().for_each(|x| *x *= 10f64.powi(rng.random_range(-rewards..=rewards)));
        }
    }
    for (_, cost) in spec.variables.iter_mut().flat_map(|v| &mut v.costs) {
        let scale = 10f64.powi(rng.random_range(costs[0]..=costs[1]));
        cost.value = cost.value.map(|cost| cost * scale);
    }
}

/// Expected sum of the absolute values of all rewards and costs that a policy meets with, `[stage][state]`.
fn sizes(spec: &WorldSpec, choice: impl Fn(usize, usize) -> usize) -> Vec<Vec<f64>> {
    let mut spec = spec.clone();
    for reward in &mut spec.rewards {
        if let RewardForm::Table(table) = &mut reward.form {
            table.iter_mut().for_each(|x| *x = x.abs());
        }
    }
    spec.variables
        .iter_mut()
        .flat_map(|v| &mut v.costs)
        .for_each(|(_, cost)| cost.value = cost.value.map(|cost| -cost.abs()));
    Flat::new(&build(&spec)).evaluate(choice)
}

fn check(spec: &WorldSpec, world: &World, seed: u64) {
    let flat = Flat::new(world);
    let optimum = flat.solve();
    let planners = [Planner::new(world).unwrap(), Planner::decomposed(world).unwrap().expect("small parts")];
    let both = planners.iter().flat_map(|planner| [(planner, Ties::First), (planner, Ties::Seeded(seed))]);
    for (planner, ties) in both {
        let plan = planner.plan_with(ties);
        if let Err(e) = planner.verify(&plan) {
            panic!("seed {seed}, by parts {}: {e}", planner.is_split());
        }
        let choice = |h: usize, s: usize| {
            flat.actions[s].iter().position(|&a| a == plan.action(h, s)).expect("an allowed intervention")
        };
        let (worth, sizes) = (flat.evaluate(choice), sizes(spec, choice));
        let evaluated = planner.evaluate(&plan.policy_hs).unwrap();
        for h in 0..flat.horizon {
            for s in 0..flat.n_states {
                let (best, found, within) = (optimum[h][s], worth[h][s], ROUNDING * sizes[h][s]);
                let way = if planner.is_split() { "by parts" } else { "over joint causes" };
                let place = format!("seed {seed} {way}, stage {h}, state {s}: size {}", sizes[h][s]);
                assert!(found >= best - within, "{place}: the policy is worth {found} in place of {best}");
                let said = plan.value(h, s);
                assert!((said - found).abs() <= within, "{place}: said to be worth {said}, is worth {found}");
                let again = evaluated[h * flat.n_states + s];
                assert!((again - found).abs() <= within, "{place}: evaluated as {again}, is worth {found}");
            }
        }
    }
}

#[test]
fn prohibitive_costs_hide_nothing() {
    for seed in 0..200 {
        let sizes = Sizes { levers: [1, 4], cost: 0.6, coarse: seed % 2 == 0, ..Sizes::default() };
        let (mut spec, _) = random_world(seed, &sizes);
        spread_out(&mut spec, 0, [-3, 9], &mut ChaCha8Rng::seed_from_u64(seed));
        check(&spec, &build(&spec), seed);
    }
}

#[test]
fn rewards_of_many_magnitudes_hide_nothing() {
    for seed in 0..200 {
        let sizes = Sizes { levers: [1, 3], coarse: seed % 2 == 0, ..Sizes::default() };
        let (mut spec, _) = random_world(1000 + seed, &sizes);
        spread_out(&mut spec, 6, [-6, 9], &mut ChaCha8Rng::seed_from_u64(seed));
        check(&spec, &build(&spec), seed);
    }
}

#[test]
fn ends_discounts_and_rewards_on_next_values_of_many_magnitudes_hide_nothing() {
    for seed in 0..100 {
        let sizes = Sizes { levers: [1, 4], keys: [1, 4], values: [1, 2], continuation: true, ..Sizes::default() };
        let (mut spec, _) = random_world(3000 + seed, &sizes);
        spread_out(&mut spec, 6, [-6, 9], &mut ChaCha8Rng::seed_from_u64(seed));
        check(&spec, &build(&spec), seed);
    }
}

/// Levers of several groups that are ruled out together, where all groups are one part: these were chosen once.
#[test]
fn what_is_ruled_out_within_a_part_is_not_chosen() {
    let costly = Sizes { levers: [1, 4], cost: 0.6, ..Sizes::default() };
    let several = Sizes { levers: [2, 5], keys: [2, 4], hidden: [0, 1], cost: 0.6, rules: 3, ..Sizes::default() };
    for (seed, sizes) in [(813, &costly), (5991, &several)] {
        let (spec, world) = random_world(seed, sizes);
        check(&spec, &world, seed);
    }
    let mut ruled_out = 0;
    for seed in 0..150 {
        let sizes = Sizes { state: [1, 1], levers: [2, 3], keys: [2, 3], rules: 4, ..several.clone() };
        let (spec, world) = random_world(7000 + seed, &sizes);
        let one_part = Planner::decomposed(&world).unwrap().is_some_and(|planner| planner.n_parts() == 1);
        ruled_out += usize::from(one_part && !world.interventions().forbid().is_empty());
        check(&spec, &world, seed);
    }
    assert!(ruled_out > 30, "{ruled_out}");
}

#[test]
fn catastrophes_that_can_be_avoided_hide_nothing() {
    let mut met = 0;
    for seed in 0..200 {
        let sizes = Sizes { levers: [2, 5], keys: [2, 4], hidden: [0, 1], cost: 0.6, rules: 3, ..Sizes::default() };
        let (mut spec, _) = random_world(5000 + seed, &sizes);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        spec.reward_range = None;
        for reward in &mut spec.rewards {
            let RewardForm::Table(table) = &mut reward.form else { continue };
            table.iter_mut().for_each(|x| *x *= 1e-3);
            if rng.random_bool(0.5) {
                // Paid or lost: the best plan gets it, or keeps away from it.
                let i = rng.random_range(0..table.len());
                table[i] = [-1e12, -1e9, 1e9][rng.random_range(0..3)];
                met += 1;
            }
        }
        check(&spec, &build(&spec), seed);
    }
    assert!(met > 50, "{met}");
}

#[test]
fn with_many_parts_a_prohibitive_cost_is_as_good_as_a_prohibition() {
    let many = ManyLevers { factors: 5, keys: 15, sparse: true, levers: 1, levels: 3, ..ManyLevers::default() };
    // Rewards as drawn, much smaller ones, and all alike: then everything but the costs ties.
    for (size, constant) in [(1.0, false), (1e-6, false), (1e-6, true)] {
        let mut spec = many.spec().unwrap();
        for reward in &mut spec.rewards {
            let RewardForm::Table(table) = &mut reward.form else { panic!("rewards are tables") };
            table.iter_mut().for_each(|x| *x = size * if constant { 0.5 } else { *x });
        }
        let (mut costly, mut forbidden) = (spec.clone(), spec);
        for lever in costly.variables.iter_mut().filter(|v| v.kind == Kind::Lever) {
            let last = lever.values[2].clone();
            let levers = vec![(lever.name.value.as_str().into(), vec![last.clone()])];
            forbidden.interventions.forbid.push(ForbidSpec { when: vec![], levers, at: None });
            lever.costs.push((last, 1e9.into()));
        }
        let [costly, forbidden] = [costly, forbidden].map(|spec| build(&spec));
        let [mut plan, without] = [&costly, &forbidden].map(|world| {
            let planner = Planner::new(world).unwrap();
            assert!(planner.is_split() && planner.n_parts() == 5);
            let plan = planner.plan();
            planner.verify(&plan).unwrap();
            plan
        });
        // Values within rounding, and worth as much in the world without the costs.
        let again = Planner::new(&forbidden).unwrap().evaluate(&plan.policy_hs).unwrap();
        for values in [&plan.value_hs, &again] {
            let off = values.iter().zip(&without.value_hs).map(|(x, y)| (x - y).abs() / y.abs().max(1e-300));
            assert!(off.fold(0.0, f64::max) <= 1e-12, "size {size}");
        }
        // One choice that costs nothing prohibitive and is not the best is noticed.
        let planner = Planner::new(&costly).unwrap();
        let levers = costly.interventions().levers(plan.policy_hs[3]);
        let other: Vec<Option<usize>> = levers.iter().map(|v| v.map(|v| (v + 1) % 2)).collect();
        plan.policy_hs[3] = costly.interventions().action(&other);
        plan.value_hs = planner.evaluate(&plan.policy_hs).unwrap();
        assert_eq!(planner.verify(&plan).is_err(), !constant);
    }
}

/// A lever whose value "never" costs more than anything can pay.
const NEVER: &str = r#"
dowise = 1
horizon = HORIZON
[state.mood]
values = ["low", "high"]
scope = ["z"]
next = [[0.5, 0.5], [0.5, 0.5]]
[lever.x]
values = ["never", "no", "yes"]
cost = { never = COST }
[key.z]
values = ["off", "on"]
parents = ["x"]
p = [[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]]
[reward.r]
scope = ["z"]
value = [0.0, 3.0]
"#;

#[test]
fn a_prohibitive_cost_of_one_value_leaves_the_others_apart() {
    for cost in ["1e3", "1e9", "1e15", "1e30", "1e90"] {
        let text = NEVER.replace("HORIZON", "1").replace("COST", cost);
        let world = World::from_toml(&text, "never.toml").unwrap_or_else(|e| panic!("{e}"));
        let planner = Planner::new(&world).unwrap();
        let plan = planner.plan();
        assert!((plan.value(0, 0) - 2.4).abs() < 1e-14, "cost {cost}: {}", plan.value(0, 0));
        assert_eq!(world.interventions().lever(plan.action(0, 0), 0), Some(2), "cost {cost}");
        assert!((planner.evaluate(&plan.policy_hs).unwrap()[0] - 2.4).abs() < 1e-14);
    }
}

#[test]
fn a_wide_range_of_rewards_leaves_small_ones_their_digits() {
    let text = NEVER.replace("HORIZON", "3").replace("COST", "0") + "[rewards]\nrange = [0.0, 1e16]\n";
    let world = World::from_toml(&text, "wide.toml").unwrap_or_else(|e| panic!("{e}"));
    let plan = Planner::new(&world).unwrap().plan();
    assert!((plan.value(0, 0) - 7.2).abs() < 1e-14, "{}", plan.value(0, 0));
    assert!(plan.policy_hs.iter().all(|&a| world.interventions().lever(a, 0) == Some(2)));
}

#[test]
fn what_every_reward_has_in_common_hides_no_difference() {
    let text = NEVER.replace("HORIZON", "2").replace("COST", "1e11").replace("[0.0, 3.0]", "[1e9, 1000000003.0]");
    let world = World::from_toml(&text, "common.toml").unwrap_or_else(|e| panic!("{e}"));
    let plan = Planner::new(&world).unwrap().plan();
    assert!((plan.value(0, 0) - 2_000_000_004.8).abs() < 1e-5, "{}", plan.value(0, 0));
    assert!(plan.policy_hs.iter().all(|&a| world.interventions().lever(a, 0) == Some(2)));
}

#[test]
fn a_plan_that_says_something_else_than_its_policy_is_worth_is_refused() {
    let text = NEVER.replace("HORIZON", "2").replace("COST", "1e9");
    let planner = Planner::new(&World::from_toml(&text, "never.toml").unwrap()).unwrap();
    let mut plan = planner.plan();
    assert_eq!(planner.verify(&plan).unwrap().len(), plan.value_hs.len());
    plan.value_hs[1] += 1e-8;
    let error = planner.verify(&plan).unwrap_err().to_string();
    assert!(error.starts_with("at stage 1 in state 1 the plan says 4.8"), "{error}");
}

#[test]
fn a_decomposed_plan_whose_choice_can_be_improved_is_refused() {
    let text = NEVER.replace("HORIZON", "2").replace("COST", "1e9");
    let world = World::from_toml(&text, "never.toml").unwrap();
    let planner = Planner::decomposed(&world).unwrap().expect("small parts");
    let mut plan = planner.plan();
    assert_eq!(planner.verify(&plan).unwrap().len(), plan.value_hs.len());
    assert!((plan.value(0, 0) - 4.8).abs() < 1e-14, "{}", plan.value(0, 0));
    // "no" in place of "yes", and what that is worth: the values agree, and yet the plan is not the best.
    let no = (0..3).map(|i| world.interventions().nth(i)).find(|&a| world.interventions().lever(a, 0) == Some(1));
    plan.policy_hs[3] = no.unwrap();
    plan.value_hs = planner.evaluate(&plan.policy_hs).unwrap();
    let error = planner.verify(&plan).unwrap_err().to_string();
    assert!(error.starts_with("at stage 2 in state 1 the plan's intervention is worth 0.3"), "{error}");
    // What is said is not what the policy is worth.
    plan.value_hs[3] = 2.4;
    let error = planner.verify(&plan).unwrap_err().to_string();
    assert!(error.starts_with("at stage 2 in state 1 the plan says 2.4"), "{error}");
}

#[test]
fn states_without_later_rewards_are_worth_nothing_at_all() {
    // P(z | x) of a logit does not sum to 1 in the last digit, and 1 less that sum is no value.
    let text = r#"
dowise = 1
horizon = 3
[state.s]
values = 3
scope = ["s", "z"]
next = { rows = [{ when = { z = 1 }, shift = { "+1" = 0.75, "-1" = 0.25 } }, { shift = { "0" = 1 } }] }
[lever.x]
values = 2
[lever.y]
values = [true, false]
[key.z]
values = 2
parents = ["x", "y"]
logit = { base = 1, effects = { x = { "1" = -1.5 }, y = { true = 0.25 } } }
[reward.r]
scope = ["s"]
value = [0.0, 0.5, 1.0]
"#;
    let planner = Planner::new(&World::from_toml(text, "zero.toml").unwrap()).unwrap();
    let plan = planner.plan();
    assert_eq!(plan.value(2, 0), 0.0);
    planner.verify(&plan).unwrap();
}
