//! What is allocated: as much as was said in advance, and nothing inside an episode once a learner has warmed up.

use allocation_counter::measure;
use dowise::learn::LearnerSpec;
use dowise::worlds::{ManyLevers, Paper};
use dowise::{Arena, Knowledge, Learner, Planner, Preset, World};

/// Allocations of fifty episodes after a warm-up. Judging is left out: it remembers every intervention that it meets.
fn allocations(world: &World, name: &str) -> u64 {
    let spec: LearnerSpec = name.parse().expect("a learner");
    let arena = Arena::new(world).expect("a known world");
    let mut learner = Learner::new(&Knowledge::of(world), spec.options(300, 1)).expect("a learner");
    let mut run = arena.run(1);
    (0..200).for_each(|_| _ = run.play(&mut learner, false));
    measure(|| (0..50).for_each(|_| _ = run.play(&mut learner, false))).count_total
}

#[test]
fn every_learner_plans_acts_and_observes_in_memory_that_it_has() {
    let presets = Preset::all().iter().filter(|preset| preset.linear().is_none()).map(|preset| preset.name());
    let widths = [
        "ucbvi:width=rlberry",
        "f-ucbvi:width=rlberry",
        "c-ucbvi:width=rlberry",
        "cf-ucbvi:width=rlberry",
        "c-ucbvi:width=bernstein",
        "ucbvi:width=azar-bernstein",
    ];
    let small = World::new(Paper::default().spec().unwrap()).unwrap();
    let larger = World::new(Paper { factors: 5, ..Paper::default() }.spec().unwrap()).unwrap();
    for name in presets.chain(widths) {
        assert_eq!(allocations(&small, name), 0, "{name}");
        // With 32 states these keep rows by their nonzero entries, which are more with every next state seen.
        if !["ucbvi:width=rlberry", "c-ucbvi:width=rlberry"].contains(&name) {
            assert_eq!(allocations(&larger, name), 0, "{name}, 32 states");
        }
    }
}

#[test]
fn a_learner_takes_no_more_than_was_said() {
    // Levers that act in three groups: searches keep no memory, which is not counted.
    let world = ManyLevers { factors: 6, levers: 1, levels: 5, ..ManyLevers::default() };
    let world = World::new(world.spec().unwrap()).unwrap();
    let knowledge = Knowledge::of(&world);
    let mut copy = None;
    let world_bytes = measure(|| copy = Some(knowledge.clone())).bytes_current;
    let presets = Preset::all().iter().filter(|preset| preset.linear().is_none()).map(|preset| preset.name());
    for name in presets.chain(["ucbvi:width=rlberry", "f-ucbvi:width=rlberry", "cf-ucbvi:width=paper"]) {
        for stage_dependent in [false, true] {
            let spec: LearnerSpec = name.parse().expect("a learner");
            let options = dowise::Options { stage_dependent, ..spec.options(300, 1) };
            let said = Learner::bytes(&knowledge, &options);
            let mut learner = None;
            let taken = measure(|| learner = Some(Learner::new(&knowledge, options.clone()).expect("a learner")));
            // Its copy of the world is not counted either, nor what does not grow with states and causes.
            let taken = u128::try_from(taken.bytes_current - world_bytes).expect("more than the world");
            assert!(taken <= said + (8 << 10), "{name}, stage by stage: {stage_dependent}: {taken} bytes, {said} said");
        }
    }
}

/// Levers, a hidden variable and a list of interventions, so that all levers are one group.
const LISTED: &str = r#"
dowise = 1
horizon = 3
[state.s]
values = 3
scope = ["s", "z"]
next = { rows = [{ when = { z = "on" }, shift = { "+1" = 1 } }, { shift = { "0" = 1 } }] }
[lever.a]
values = 8
p = [0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125]
[lever.b]
values = 8
p = [0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125]
[lever.c]
values = 8
p = [0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125]
[hidden.u]
values = 2
p = [0.5, 0.5]
[key.z]
values = ["off", "on"]
parents = ["a", "b", "c", "u"]
noisy_or = { effects = { a = { "1" = 0.5 }, b = { "2" = 0.25 } } }
[reward.r]
scope = ["s"]
value = [0.0, 0.5, 1.0]
[interventions]
set = [{}, { a = 1 }, { a = 1, b = 2, c = 3 }]
"#;

/// Bytes at the highest while something is made, and what was said before.
fn within(said: u128, world_bytes: i64, what: &str, make: impl FnOnce()) {
    let taken = u128::try_from(measure(make).bytes_max as i64 - world_bytes).unwrap_or(0);
    assert!(taken <= said + (16 << 10), "{what}: {taken} bytes, {said} said");
}

#[test]
fn learning_mechanisms_guarding_and_planning_take_no_more_than_was_said() {
    let listed = World::from_toml(LISTED, "listed.toml").unwrap_or_else(|e| panic!("{e}"));
    let many = ManyLevers { factors: 6, levers: 1, levels: 5, ..ManyLevers::default() };
    let many = World::new(many.spec().unwrap()).unwrap();
    for (name, world) in [("listed", &listed), ("many levers", &many)] {
        let mut copy = None;
        // The world rewritten for unknown mechanisms is a copy too.
        let world_bytes = 3 * measure(|| copy = Some(Knowledge::of(world))).bytes_current;
        within(Planner::bytes(world), world_bytes, name, || {
            Planner::new(world).unwrap().plan();
        });
        for learner in [
            "graph-ucbvi:unknown=kernel",
            "graph-psrl:unknown=kernel",
            "graph-ucbvi:unknown=rewards",
            "graph-ucbvi:guard=true",
            "graph-psrl:unknown=kernel+rewards,guard=true",
        ] {
            let spec: LearnerSpec = learner.parse().expect("a learner");
            let knowledge = spec.knowledge(world).unwrap();
            let options = spec.options(300, 1);
            let said = Learner::bytes(&knowledge, &options);
            within(said, world_bytes, &format!("{learner} in {name}"), || {
                let mut learner = Learner::new(&knowledge, options).expect("a learner");
                learner.begin();
            });
        }
    }
    // Not a loose bound either: many times what is really taken would refuse worlds that can be learned.
    let knowledge = Knowledge::of(&listed).without_mechanisms();
    let options = "graph-psrl".parse::<LearnerSpec>().unwrap().options(300, 1);
    let (said, mut learner) = (Learner::bytes(&knowledge, &options), None);
    let taken = measure(|| learner = Some(Learner::new(&knowledge, options).expect("a learner"))).bytes_max;
    assert!(said < 4 * u128::from(taken), "{said} said, {taken} taken");
}
