//! Nothing is allocated inside an episode, once a learner has warmed up.

use allocation_counter::measure;
use dowise::learn::LearnerSpec;
use dowise::worlds::Paper;
use dowise::{Knowledge, Learner, Planner, Preset, Run, Simulator, World};

/// Allocations of fifty episodes after a warm-up. Judging is left out: it remembers every intervention that it meets.
fn allocations(world: &World, name: &str) -> u64 {
    let spec: LearnerSpec = name.parse().expect("a learner");
    let planner = Planner::new(world).expect("a known world");
    let optimal = planner.plan().value_hs;
    let simulator = Simulator::new(world).expect("a known world");
    let mut learner = Learner::new(&Knowledge::of(world), spec.options(300, 1)).expect("a learner");
    let mut run = Run::new(&simulator, &planner, &optimal, 1);
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
