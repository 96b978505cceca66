//! One limit for all that is alive: in a process of its own, since the limit is that of the process.

use allocation_counter::measure;
use dowise::learn::{Estimator, Evidence, LearnError, LearnerSpec};
use dowise::linear::{Features, LinearLearner};
use dowise::plan::PlanError;
use dowise::{Arena, ArenaError, Knowledge, Learner, MOST_MEMORY, Planner, World};
use dowise::{memory_left, memory_limit, set_memory_limit};

fn world() -> World {
    World::new(dowise::worlds::Paper::default().spec().unwrap()).unwrap()
}

/// Does something with this many bytes left, and finds as many left afterwards.
fn with_left<T>(bytes: u128, what: impl FnOnce() -> T) -> T {
    let before = memory_left();
    set_memory_limit(u64::try_from(bytes).unwrap() + (memory_limit() - before));
    let done = what();
    set_memory_limit(MOST_MEMORY);
    assert_eq!(memory_left(), before);
    done
}

#[test]
fn what_is_alive_counts_and_what_is_gone_does_not() {
    let world = world();
    assert_eq!((memory_limit(), memory_left()), (MOST_MEMORY, MOST_MEMORY));
    let bytes = Planner::bytes(&world);
    // One planner, a copy of it, and no third one.
    with_left(2 * bytes, || {
        let planner = Planner::new(&world).unwrap();
        assert_eq!(u128::from(memory_left()), bytes);
        let copy = planner.clone();
        let error = Planner::new(&world).unwrap_err();
        assert!(matches!(error, PlanError::TooLarge { limit: 0, .. }), "{error}");
        drop(planner);
        assert!(Planner::new(&world).is_ok());
        drop(copy);
    });
    with_left(bytes - 1, || assert!(Planner::new(&world).is_err()));

    // An arena has room for a run; further runs cannot be refused, but are counted.
    let bytes = Arena::bytes(&world);
    with_left(bytes - 1, || assert!(matches!(Arena::new(&world), Err(ArenaError::Plan(PlanError::TooLarge { .. })))));
    with_left(bytes, || {
        let arena = Arena::new(&world).unwrap();
        let runs = [arena.run(1), arena.run(2)];
        assert_eq!(memory_left(), 0);
        assert!(arena.value_of(&arena.best().policy_hs).is_ok());
        drop(runs);
    });

    let knowledge = Knowledge::of(&world);
    let learners = ["psrl", "ucbvi", "graph-psrl:guard=true", "graph-ucbvi:unknown=kernel", "c-lsvi-ucb", "lsvi-ucb"];
    for name in learners {
        let spec: LearnerSpec = name.parse().unwrap();
        let bytes = spec.bytes(&world, 100).unwrap();
        let made = || spec.learner(&world, 100, 1);
        let error = with_left(bytes - 1, || made().unwrap_err());
        assert!(error.to_string().contains(&bytes.to_string()), "{name}: {error}");
        with_left(bytes, || {
            let mut learner = made().unwrap();
            assert!(u128::from(memory_left()) < bytes, "{name}");
            learner.begin();
            // What needs as much again is refused, and the learner is as it was.
            let error = learner.room_to_deploy().unwrap_err();
            assert!(matches!(error, LearnError::TooMuchMemory { .. }), "{name}: {error}");
            if learner.as_linear().is_none() {
                assert!(matches!(learner.read(Estimator::Greedy, 0), Err(LearnError::TooMuchMemory { .. })), "{name}");
                assert!(matches!(learner.explain(0, 0, 3), Err(LearnError::TooMuchMemory { .. })), "{name}");
            }
        });
        // With some room for the memory of good interventions, which is there where memory is left.
        with_left(3 * bytes + (1 << 20), || {
            let learner = made().unwrap();
            learner.room_to_deploy().unwrap();
            assert_eq!(learner.learned_policy().actions().len(), world.horizon() * world.n_states());
            if learner.as_linear().is_none() {
                learner.read(Estimator::Greedy, 0).unwrap();
                learner.explain(0, 0, 3).unwrap();
            }
        });
    }

    // Parts of a learner that can be made alone.
    let options = "ucbvi".parse::<LearnerSpec>().unwrap().options(100, 1);
    with_left(1000, || {
        assert!(matches!(Evidence::new(&knowledge, &options), Err(LearnError::TooMuchMemory { .. })));
        assert!(matches!(Learner::new(&knowledge, options.clone()), Err(LearnError::TooMuchMemory { .. })));
        let error = Features::of(&world).unwrap_err();
        assert!(error.to_string().contains("the limit is 1000"), "{error}");
    });
    let features = Features::of(&world).unwrap();
    let linear = "c-lsvi-ucb".parse::<LearnerSpec>().unwrap().linear_options(100, 1).unwrap();
    with_left(1000, || assert!(LinearLearner::with_features(&knowledge, &features, linear).is_err()));

    // Key variables that all act on every factor are one part, too large to be planned by itself; one that fits is not refused for that.
    let whole = |sparse| {
        let many =
            dowise::worlds::ManyLevers { factors: 4, keys: 14, sparse, levers: 1, levels: 2, ..Default::default() };
        Knowledge::of(&World::new(many.spec().unwrap()).unwrap())
    };
    let [many, apart] = [false, true].map(whole);
    let options = "graph-ucbvi".parse::<LearnerSpec>().unwrap().options(100, 1);
    with_left(1000, || {
        let error = Learner::new(&many, options.clone()).unwrap_err();
        assert!(matches!(error, LearnError::JointCauses { causes: 16_384, limit: 1000, .. }), "{error}");
        assert!(error.to_string().contains("(16384 joint values)"), "{error}");
        let error = Learner::new(&apart, options.clone()).unwrap_err();
        assert!(matches!(error, LearnError::TooMuchMemory { .. }), "{error}");
    });

    // All levers left alone, and how each behaves then to be found out: each by itself, so that it takes little.
    let text = dowise::worlds::text("campaign", &[]).unwrap().replace("set = \"all\"", "set = [{}]");
    let alone = World::from_toml(&text, "campaign.toml").unwrap_or_else(|e| panic!("{e}"));
    let spec: LearnerSpec = "graph-psrl:unknown=kernel".parse().unwrap();
    let said = spec.bytes(&alone, 100).unwrap();
    assert!(said < 1 << 20, "{said}");
    let mut error = None;
    let most = measure(|| error = with_left(1000, || spec.learner(&alone, 100, 1)).err()).bytes_max;
    assert_eq!(error, Some(LearnError::TooMuchMemory { bytes: said, limit: 1000 }));
    assert!(most < 4 << 20, "{most} bytes were allocated to refuse");
    assert!(spec.learner(&alone, 100, 1).is_ok());

    // A policy that draws interventions.
    let planner = Planner::new(&world).unwrap();
    let n = world.interventions().count() as usize;
    let uniform = vec![1.0 / n as f64; n * world.n_states()];
    with_left(1000, || assert!(matches!(planner.evaluate_mixed(&uniform), Err(PlanError::TooLarge { .. }))));
    assert!(planner.evaluate_mixed(&uniform).is_ok());
}
