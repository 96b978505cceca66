//! What is allocated: as much as was said in advance, and nothing inside an episode once a learner has warmed up.

use allocation_counter::measure;
use dowise::learn::LearnerSpec;
use dowise::worlds::{ManyLevers, Paper};
use dowise::{Arena, Knowledge, Learner, Preset, World};

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
    let told = Knowledge::of(&world);
    let mut copy = None;
    let world_bytes = measure(|| copy = Some(told.clone())).bytes_current;
    let presets = Preset::all().iter().filter(|preset| preset.linear().is_none()).map(|preset| preset.name());
    for name in presets.chain(["ucbvi:width=rlberry", "f-ucbvi:width=rlberry", "cf-ucbvi:width=paper"]) {
        for stage_dependent in [false, true] {
            let spec: LearnerSpec = name.parse().expect("a learner");
            let options = dowise::Options { stage_dependent, ..spec.options(300, 1) };
            let said = Learner::bytes(&told, &options);
            let mut learner = None;
            let taken = measure(|| learner = Some(Learner::new(&told, options.clone()).expect("a learner")));
            // Its copy of the world is not counted either, nor what does not grow with states and causes.
            let taken = u128::try_from(taken.bytes_current - world_bytes).expect("more than the world");
            assert!(taken <= said + (8 << 10), "{name}, stage by stage: {stage_dependent}: {taken} bytes, {said} said");
        }
    }
}
