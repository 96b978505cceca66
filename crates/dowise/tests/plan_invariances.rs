//! The same world said differently has the same values.

mod common;

use common::random_world::{Sizes, of_kind, random_world};
use common::reshape::{repeat_value, scale_rewards};
use common::{assert_close, build};
use dowise::world::{Kind, WorldSpec};
use dowise::{Plan, Planner, World};
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const SCALE: f64 = 20.0; // four stages, three terms and three costs of at most one each

fn cases(n: u64) -> impl Iterator<Item = (WorldSpec, World, Plan, ChaCha8Rng)> {
    (0..n).map(|seed| {
        let (spec, world) = random_world(9000 + seed, &Sizes { levers: [1, 3], ..Sizes::default() });
        let plan = Planner::new(&world).unwrap().plan();
        (spec, world, plan, ChaCha8Rng::seed_from_u64(seed))
    })
}

#[test]
fn an_intervention_that_repeats_another_changes_no_value() {
    for (mut spec, _, plan, mut rng) in cases(150) {
        let levers = of_kind(&spec.variables, &[Kind::Lever]);
        let lever = levers[rng.random_range(0..levers.len() as u64) as usize].clone();
        let n = common::random_world::size(&spec.variables, &lever);
        repeat_value(&mut spec, &lever, rng.random_range(0..n as u64) as usize, 0.25);
        let again = Planner::new(&build(&spec)).unwrap().plan();
        for (a, b) in again.value_hs.iter().zip(&plan.value_hs) {
            assert_close(*a, *b, SCALE, "value");
        }
    }
}

#[test]
fn key_values_that_do_the_same_can_be_merged_without_changing_a_value() {
    for (mut spec, _, plan, mut rng) in cases(150) {
        let keys = of_kind(&spec.variables, &[Kind::Key, Kind::Hidden]);
        let Some(key) = keys.first().cloned() else { continue };
        let n = common::random_world::size(&spec.variables, &key);
        repeat_value(&mut spec, &key, rng.random_range(0..n as u64) as usize, rng.random_range(0.0..1.0));
        let split = Planner::new(&build(&spec)).unwrap().plan();
        for (a, b) in split.value_hs.iter().zip(&plan.value_hs) {
            assert_close(*a, *b, SCALE, "value");
        }
    }
}

#[test]
fn naming_variables_in_another_order_reorders_the_plan() {
    for (mut spec, world, plan, mut rng) in cases(200) {
        spec.variables.shuffle(&mut rng);
        spec.mechanisms.shuffle(&mut rng);
        spec.rewards.shuffle(&mut rng);
        let other = build(&spec);
        let planner = Planner::new(&other).unwrap();
        let other_plan = planner.plan();
        let place = |ids: &[dowise::world::VarId], name: &str| {
            ids.iter().position(|&id| other.variable(id).name == name).expect("the same names")
        };
        let name = |id| world.variable(id).name.as_str();
        let mut translated = other_plan.policy_hs.clone();
        for s in 0..world.n_states() {
            let mut digits = vec![0; world.state().len()];
            for (i, &id) in world.state().iter().enumerate() {
                digits[place(other.state(), name(id))] = world.state_space().digit(s, i);
            }
            let t = other.state_space().index(&digits);
            for h in 0..world.horizon() {
                assert_close(other_plan.value(h, t), plan.value(h, s), SCALE, "value");
                let mut levers = vec![None; world.levers().len()];
                for (i, &id) in world.levers().iter().enumerate() {
                    levers[place(other.levers(), name(id))] = world.interventions().lever(plan.action(h, s), i);
                }
                translated[h * world.n_states() + t] = other.interventions().action(&levers);
            }
        }
        let value = planner.evaluate(&translated).expect("what was allowed is allowed");
        for (a, b) in value.iter().zip(&other_plan.value_hs) {
            assert_close(*a, *b, SCALE, "value of the reordered plan");
        }
    }
}

#[test]
fn rewards_and_costs_times_a_number_make_values_times_that_number() {
    for (spec, _, plan, _) in cases(100) {
        for by in [4.0, 0.3, 1e6, 1e-6] {
            let mut spec = spec.clone();
            scale_rewards(&mut spec, by);
            let scaled = Planner::new(&build(&spec)).unwrap().plan();
            for (a, b) in scaled.value_hs.iter().zip(&plan.value_hs) {
                assert_close(*a / by, *b, SCALE, "value");
            }
        }
    }
}

#[test]
fn where_every_cause_pays_the_most_that_is_possible_every_value_is_exactly_that() {
    use dowise::world::RewardForm;
    for (mut spec, _, _, _) in cases(100) {
        spec.horizon = 1.into();
        spec.variables.iter_mut().for_each(|v| v.costs.clear());
        for reward in &mut spec.rewards {
            if let RewardForm::Table(table) = &mut reward.form {
                table.fill(0.7);
            }
        }
        let most: f64 = spec.rewards.iter().map(|_| 0.7).sum();
        let plan = Planner::new(&build(&spec)).unwrap().plan();
        assert!(plan.value_hs[..plan.n_states].iter().all(|&v| v == most), "{:?} {most}", plan.value_hs);
    }
}
