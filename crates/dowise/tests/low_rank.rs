//! Transitions of low rank against the same world multiplied out: plans, values, draws, files, and what learners are given.

use dowise::learn::Agent;
use dowise::simulate::{Outcome, Simulator};
use dowise::world::{AnchorRows, FeatureForm, FeatureSpec, Form, LowRankSpec};
use dowise::worlds::{Linear, LinearDoses, LinearLock, LinearRiver};
use dowise::{Action, Arena, Knowledge, Learner, LearnerSpec, Planner, World};
use proptest::prelude::*;

/// P(s' | s, z), `[state][cause][next]`, by the public function of a world with one key variable.
fn multiplied_out(world: &World) -> Vec<f64> {
    let (n, key) = (world.n_states(), world.keys()[0]);
    let mut values = vec![0; world.variables().len()];
    let mut out = Vec::new();
    for s in 0..n {
        world.state().iter().zip(world.state_space().digits(s)).for_each(|(id, v)| values[id.ix()] = v);
        for z in 0..world.variable(key).size() {
            values[key.ix()] = z;
            let mut row = vec![0.0; n];
            assert!(world.next_states(&values, &mut row));
            out.extend(row);
        }
    }
    out
}

/// The same world with one state factor and its transitions as a table.
fn dense(world: &World) -> World {
    let n = world.n_states();
    let start: Vec<f64> = world.start_distribution();
    let levers: Vec<&str> = world.levers().iter().map(|&id| world.variable(id).name.as_str()).collect();
    let key = world.variable(world.keys()[0]);
    let kernel = world.mechanisms()[0].table.as_deref().unwrap().to_vec();
    let reward = world.rewards()[0].table.as_deref().unwrap().to_vec();
    let builder = World::builder("dense", world.horizon() as u64).state("s", n);
    let sizes = world.sizes(world.levers());
    let builder = levers.iter().zip(sizes).fold(builder, |b, (lever, size)| b.lever(*lever, size));
    // A factor without probability would be a row of zeros, not a start.
    builder
        .key("z", key.size())
        .mechanism("z", levers.as_slice(), kernel)
        .next("s", ["s", "z"], multiplied_out(world))
        .reward("r", ["s", "z"], reward)
        .reward_range([0.0, 1.0])
        .start("s", start)
        .build()
        .unwrap()
}

fn small_worlds() -> Vec<World> {
    let lock = LinearLock { states: 20, causes: 3, dimension: 4, horizon: 6, ..LinearLock::default() };
    let river =
        LinearRiver { states: 18, causes: 4, dimension: 3, horizon: 7, distance: 0.1, ..LinearRiver::default() };
    let random = Linear { states: 7, causes: 5, dimension: 3, low_rank: true, seed: 4, ..Linear::default() };
    let doses = LinearDoses { levels: 4, causes: 5, horizon: 5, ..LinearDoses::default() };
    vec![lock.world().unwrap(), river.world().unwrap(), random.world().unwrap(), doses.world().unwrap()]
}

fn same_plans(world: &World) {
    let (ours, plain) = (Planner::new(world).unwrap(), Planner::new(&dense(world)).unwrap());
    let (a, b) = (ours.plan(), plain.plan());
    let off = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    assert!(off(&a.value_hs, &b.value_hs) < 1e-12, "{}: {:e}", world.name(), off(&a.value_hs, &b.value_hs));
    // The policy of either is worth the same in the other: ties may be settled differently.
    assert!(off(&plain.evaluate(&a.policy_hs).unwrap(), &b.value_hs) < 1e-9, "{}", world.name());
    assert!(ours.verify(&a).is_ok());
    let simulator = Simulator::new(world).unwrap();
    let [_, mut rng] = Simulator::streams(1);
    let any: Vec<Action> = (0..a.policy_hs.len()).map(|i| simulator.any_allowed(i % a.n_states, &mut rng)).collect();
    assert!(off(&ours.evaluate(&any).unwrap(), &plain.evaluate(&any).unwrap()) < 1e-12);
    let (random, of_dense) = (Arena::new(world).unwrap().at_random(), Arena::new(&dense(world)).unwrap().at_random());
    assert!((random.0 - of_dense.0).abs() < 1e-12 && random.1 == of_dense.1);
}

#[test]
fn plans_and_values_are_those_of_the_world_multiplied_out() {
    small_worlds().iter().for_each(same_plans);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn so_they_are_in_random_worlds(states in 2usize..9, causes in 1usize..5, dimension in 1usize..4, far in 0u8..2, seed in 0u64..1000) {
        let states = states.max(dimension);
        let distance = f64::from(far) * 0.3;
        let world = Linear { states, causes, dimension, distance, low_rank: true, horizon: 4, levers: 1, seed, ..Linear::default() };
        same_plans(&world.world().unwrap());
    }
}

#[test]
fn next_states_are_drawn_as_often_as_their_probabilities_say() {
    for world in small_worlds().iter().chain([&signed()]) {
        let simulator = Simulator::new(world).unwrap();
        let (truth, n) = (multiplied_out(world), world.n_states());
        let n_causes = world.variable(world.keys()[0]).size();
        let [_, mut rng] = Simulator::streams(5);
        let mut outcome = Outcome::default();
        let state = n / 2;
        let mut counts = vec![vec![0.0; n]; n_causes];
        for _ in 0..60_000 {
            let action = simulator.any_allowed(state, &mut rng);
            simulator.step(state, action, &mut rng, &mut outcome);
            counts[outcome.values[world.keys()[0].ix()] as usize][outcome.next_state] += 1.0;
        }
        for (z, counts) in counts.iter().enumerate() {
            let total: f64 = counts.iter().sum();
            for (next, count) in counts.iter().enumerate() {
                let p = truth[(state * n_causes + z) * n + next];
                // Five standard deviations and one count.
                let room = 5.0 * (total * p * (1.0 - p)).sqrt() + 1.0;
                assert!(
                    (count - total * p).abs() <= room,
                    "{} z {z} next {next}: {count} of {total}, p {p}",
                    world.name()
                );
                assert!(p > 1e-15 || *count == 0.0);
            }
        }
    }
}

/// Weights 1 and x with rows that are negative in part: P(s' | s) = ½ ± a tilt.
fn signed() -> World {
    let (half, tilt) = (0.5f64.sqrt(), 0.2);
    let weights = FeatureForm::Table {
        scope: Some(vec!["s".into(), "z".into()]),
        dimension: 2,
        values: vec![half, half, half, -half, half, 0.5 * half, half, 0.0],
    };
    let rows = vec![0.5 / half, 0.5 / half, tilt / half, -tilt / half];
    let bare = World::builder("signed", 3)
        .state("s", 2)
        .lever("x", 2)
        .key("z", 2)
        .mechanism("z", "x", [0.8, 0.2, 0.1, 0.9])
        .next("s", ["s", "z"], Form::LowRank)
        .reward("r", ["s", "z"], [0.0, 0.1, 1.0, 0.9])
        .build()
        .unwrap();
    let weights = Some(FeatureSpec { form: weights, scale: false, at: None });
    bare.with_low_rank(&LowRankSpec { weights, next: vec![("s".into(), AnchorRows::Table(rows))], at: None }).unwrap()
}

#[test]
fn weights_and_rows_may_be_signed() {
    let world = signed();
    assert!(!world.low_rank().unwrap().is_mixture());
    let expected = [0.7, 0.3, 0.3, 0.7, 0.6, 0.4, 0.5, 0.5];
    assert!(multiplied_out(&world).iter().zip(expected).all(|(p, e)| (p - e).abs() < 1e-12));
    same_plans(&world);
}

#[test]
fn a_written_world_is_read_back_bit_by_bit() {
    for world in small_worlds().iter().chain([&signed()]) {
        let again = World::from_toml(&world.to_toml(), "again").unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(again.low_rank(), world.low_rank());
        assert_eq!(again.to_toml(), world.to_toml());
        let parts = World::from_parts(world.to_parts()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(parts.to_toml(), world.to_toml());
    }
}

#[test]
fn learners_know_neither_transitions_nor_rewards_marked_to_be_learned() {
    let world = &small_worlds()[0];
    let knowledge = Knowledge::of(world);
    assert!(knowledge.known_transitions().is_empty() && !knowledge.knows_rewards());
    assert_eq!(knowledge.features(), world.features());
    let other = LinearLock { states: 20, causes: 3, dimension: 4, horizon: 6, slip: 0.5, ..LinearLock::default() };
    // Same features but for the slip, so knowledge differs by features alone; transitions and rewards leave no trace.
    let mut same = world.clone();
    same = same.with_features(&features_of(&other.world().unwrap())).unwrap();
    assert_eq!(Knowledge::of(&same).fingerprint(), Knowledge::of(&other.world().unwrap()).fingerprint());
}

fn features_of(world: &World) -> FeatureSpec {
    let Some(dowise::world::FeatureMap::Table { dimension, values, .. }) = world.features() else { panic!() };
    let scope = Some(vec!["s".into(), "z".into()]);
    let form = FeatureForm::Table { scope, dimension: *dimension, values: values.to_vec() };
    FeatureSpec { form, scale: false, at: None }
}

#[test]
fn tables_learn_such_worlds_too_when_they_are_small() {
    let world = LinearLock { states: 8, causes: 2, dimension: 4, horizon: 6, ..LinearLock::default() }.world().unwrap();
    let arena = Arena::new(&world).unwrap();
    let options = "c-psrl".parse::<LearnerSpec>().unwrap().options(400, 1);
    let mut learner = Learner::new(&Knowledge::of(&world), options).unwrap();
    let mut run = arena.run(1);
    let last: f64 = (0..400).map(|_| run.episode(&mut learner).regret).skip(300).sum();
    assert!(last < 0.2 * 100.0 * arena.optimal(), "{last} {}", arena.optimal());
    let _: &mut dyn Agent = &mut learner;
}
