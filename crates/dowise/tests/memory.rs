//! Memory is counted before it is taken: what is said, beside what is really allocated.

mod common;

use allocation_counter::measure;
use common::random_world::{Sizes, random_world};
use dowise::learn::LearnerSpec;
use dowise::world::{RewardForm, WorldSpec};
use dowise::worlds::{ManyLevers, Paper};
use dowise::{Arena, Knowledge, Planner, Preset, World};

/// What is said of learners and evaluators is at most this many times what is taken at the highest, but for 64 KiB: small lists and copies of the world are
/// counted as if all of them were full at the same time.
const FACTOR: u128 = 2;

/// The same of plans, which may do something else in every state, but hardly ever do.
const FACTOR_OF_PLANS: u128 = 4;

/// The same of guards, whose tests take memory for every row that is met, of which a few hundred episodes do not meet all.
const FACTOR_OF_GUARDS: u128 = 3;

/// What may be taken without being counted: small lists, and copies of the world.
fn apart(world: &World) -> u128 {
    let mut copy = None;
    (32 << 10) + 3 * u128::from(measure(|| copy = Some(Knowledge::of(world))).bytes_max)
}

/// Bytes at the highest while something is done.
fn taken(done: impl FnOnce()) -> u128 {
    u128::from(measure(done).bytes_max)
}

fn compare(what: &str, world: &World, said: u128, factor: u128, done: impl FnOnce()) {
    let taken = taken(done);
    assert!(taken <= said + apart(world), "{what}: {taken} taken, {said} said");
    assert!(said <= factor * taken + (64 << 10), "{what}: {said} said, {taken} taken");
}

fn specs() -> [(&'static str, WorldSpec); 3] {
    let many = |factors, levers| ManyLevers { factors, levers, levels: 5, ..ManyLevers::default() }.spec().unwrap();
    let paper = |factors| Paper { factors, ..Paper::default() }.spec().unwrap();
    [("paper, 32 states", paper(5)), ("64 states", many(6, 1)), ("512 states", many(9, 2))]
}

fn worlds() -> Vec<(&'static str, World)> {
    specs().into_iter().map(|(name, spec)| (name, World::new(spec).unwrap())).collect()
}

/// The same with rewards on a next value each, whose means are learned because the transitions are.
fn pays_on_next(mut spec: WorldSpec) -> World {
    for (reward, factor) in spec.rewards.iter_mut().zip(&spec.transitions) {
        reward.scope.push(format!("next.{}", factor.children[0].value.get().expect("readable")).as_str().into());
        if let RewardForm::Table(table) = &mut reward.form {
            *table = table.iter().flat_map(|&r| [r, 0.5 * r]).collect();
        }
    }
    World::new(spec).unwrap()
}

#[test]
fn plans_and_evaluations_take_the_stated_memory() {
    let mut worlds = worlds();
    worlds.push((
        "4096 states",
        World::new(ManyLevers { factors: 12, ..ManyLevers::default() }.spec().unwrap()).unwrap(),
    ));
    let random = (0..20).map(|seed| ("random", random_world(seed, &Sizes::default()).1));
    for (name, world) in worlds.into_iter().chain(random) {
        compare(&format!("a plan in {name}"), &world, Planner::bytes(&world), FACTOR_OF_PLANS, || {
            let planner = Planner::new(&world).unwrap();
            planner.verify(&planner.plan()).unwrap();
        });
        let arena = Arena::new(&world).unwrap();
        let mut uniform = "uniform".parse::<LearnerSpec>().unwrap().learner(&world, 1, 0).unwrap();
        let mut episodes = |n| {
            let mut run = arena.run(1);
            (0..n).for_each(|_| _ = run.episode(&mut uniform));
        };
        // The learner's own memory is there before it is measured.
        episodes(2);
        compare(&format!("evaluation in {name}"), &world, Arena::run_bytes(&world), FACTOR, || episodes(20));
    }
}

#[test]
fn bytes_of_a_plan_grow_with_the_states_and_hardly_with_the_interventions() {
    let grown = |factors, levers| {
        let world = World::new(ManyLevers { factors, levers, ..ManyLevers::default() }.spec().unwrap()).unwrap();
        let taken = taken(|| _ = Planner::new(&world).unwrap().plan());
        (Planner::bytes(&world), taken)
    };
    let [(said, taken), (said_of_more, taken_of_more)] = [grown(12, 3), grown(13, 3)];
    assert!(taken_of_more - taken <= said_of_more - said, "{taken} to {taken_of_more}, said {said} to {said_of_more}");
    let [(said, taken), (said_of_more, taken_of_more)] = [grown(14, 3), grown(14, 5)];
    assert!(taken_of_more.abs_diff(taken) < 1 << 20 && said_of_more.abs_diff(said) < 16 << 20);
}

#[test]
fn every_learner_takes_what_is_said() {
    let changed = [
        "ucbvi:width=rlberry",
        "ucbvi:unknown=kernel",
        "f-psrl:unknown=kernel",
        "c-psrl:unknown=rewards",
        "graph-psrl:unknown=rewards",
        "graph-psrl:forget=reset",
        "f-ucbvi:width=rlberry",
        "cf-ucbvi:width=paper",
        "graph-ucbvi:unknown=kernel",
        "graph-psrl:unknown=kernel+rewards,guard=true",
        "psrl:stage-dependent=true",
        "c-lsvi-ucb:features=factors",
        "lsvi-ucb:features=factors,stage-dependent=true",
        "c-rlsvi:features=one-hot,stage-dependent=true",
    ];
    // Levers that act in groups: searches keep no memory, which comes on top where memory is left.
    let on_next = specs().map(|(name, spec)| (format!("{name}, paid on next values"), pays_on_next(spec)));
    let plain = worlds().into_iter().map(|(name, world)| (name.to_owned(), world));
    for (name, world) in plain.skip(1).chain(on_next.into_iter().skip(1)) {
        let arena = Arena::new(&world).unwrap();
        for learner in Preset::all().iter().map(|preset| preset.name()).chain(changed) {
            let spec: LearnerSpec = learner.parse().unwrap();
            // Regressions refuse next-state rewards.
            if learner.contains("lsvi") && name.ends_with("next values") {
                continue;
            }
            let said = spec.bytes(&world, 300).unwrap();
            if said > 16 << 20 {
                continue;
            }
            // Guards and what is forgotten take their memory as they meet steps, so all episodes that they count on are played.
            let as_met = learner.contains("guard") || learner.contains("forget");
            let (played, factor) = if as_met { (300, FACTOR_OF_GUARDS) } else { (3, FACTOR) };
            compare(&format!("{learner} in {name}"), &world, said, factor, || {
                let mut agent = spec.learner(&world, 300, 1).unwrap();
                let mut run = arena.run(1);
                (0..played).for_each(|_| _ = run.play(&mut agent, false));
            });
        }
    }
}

#[test]
fn decomposed_learners_take_no_more_than_the_stated_memory() {
    // 12 and 24 key variables, four to a state factor.
    for factors in [3, 6] {
        let keys = 4 * factors;
        let spec = ManyLevers { factors, keys, sparse: true, levers: 1, levels: 2, ..ManyLevers::default() }.spec();
        let world = World::new(spec.unwrap()).unwrap();
        let arena = Arena::new(&world).unwrap();
        let plain = ["graph-psrl", "graph-ucbvi", "graph-psrl:unknown=all", "graph-ucbvi:unknown=all"];
        let around = ["graph-psrl:unknown=all,forget=reset", "graph-psrl:unknown=all,guard=true"];
        for learner in plain.into_iter().chain(around) {
            let spec: LearnerSpec = learner.parse().unwrap();
            let (said, mut played) = (spec.bytes(&world, 100).unwrap(), 0);
            let taken = taken(|| {
                let mut agent = spec.learner(&world, 100, 1).unwrap();
                let mut run = arena.run(1);
                (0..100).for_each(|_| played += u32::from(run.play(&mut agent, false).number > 0));
            });
            assert!(played == 100 && taken <= said + apart(&world), "{learner}: {taken} taken, {said} said");
        }
    }
}

#[test]
fn mechanisms_of_a_million_interventions_take_what_is_said() {
    let text = dowise::worlds::text("campaign", &[]).unwrap();
    let world = World::from_toml(&text, "campaign.toml").unwrap();
    let arena = Arena::new(&world).unwrap();
    for learner in ["graph-ucbvi:unknown=kernel", "graph-psrl:unknown=kernel+rewards", "c-psrl:unknown=kernel"] {
        let spec: LearnerSpec = learner.parse().unwrap();
        let said = spec.bytes(&world, 100).unwrap();
        let what = format!("{learner} in the campaign");
        // What intervals leave to choose from is most when something has been seen.
        let mut run = arena.run(1);
        compare(&what, &world, said, FACTOR, || {
            let mut learner = spec.learner(&world, 100, 1).unwrap();
            (0..60).for_each(|_| _ = run.play(&mut learner, false));
        });
    }
}
