//! A policy followed under any rule that reads evidence: the recursion of plans, with nothing chosen.

use dowise::learn::{Estimator, LearnError, Sets, Width};
use dowise::plan::PlanError;
use dowise::world::Action;
use dowise::{Knowledge, Learner, LearnerSpec};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::play::Arena;
use crate::small_worlds;

const READINGS: [Estimator; 9] = [
    Estimator::Greedy,
    Estimator::Width(Width::HoeffdingV, 0.1),
    Estimator::Mean { prior: 0.0 },
    Estimator::Mean { prior: 2.0 },
    Estimator::Pooled { prior: 2.0 },
    Estimator::Optimistic(Sets::Mixture),
    Estimator::Optimistic(Sets::L1),
    Estimator::Pessimistic(Sets::Mixture),
    Estimator::Sample { prior: 2.0 },
];

fn random_policy(arena: &Arena, rng: &mut ChaCha8Rng) -> Vec<Action> {
    let (world, all) = (&arena.world, arena.world.interventions());
    let allowed: Vec<Vec<Action>> = (0..world.n_states())
        .map(|s| {
            let digits = world.state_space().digits(s);
            (0..all.count()).map(|rank| all.nth(rank)).filter(|&a| all.allows(&digits, a)).collect()
        })
        .collect();
    (0..world.horizon()).flat_map(|_| &allowed).map(|a| a[rng.random_range(0..a.len())]).collect()
}

fn taught(knowledge: &Knowledge, arena: &Arena, name: &str) -> Learner {
    let mut learner = Learner::new(knowledge, name.parse::<LearnerSpec>().unwrap().options(40, 5)).unwrap();
    arena.regrets_of(&mut learner, 40, 1);
    learner
}

#[test]
fn a_plan_that_is_followed_is_worth_what_it_says_and_no_policy_is_worth_more() {
    for (world, seed) in [small_worlds::factored(3), small_worlds::crooked(2)].into_iter().zip(1..) {
        let arena = Arena::new(world);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut worse = 0;
        for knowledge in [arena.knowledge(), arena.knowledge().without_mechanisms().without_rewards()] {
            for name in ["graph-ucbvi", "c-ucbvi:schedule=episode", "ucbvi", "f-ucbvi", "graph-psrl"] {
                let learner = taught(&knowledge, &arena, name);
                for reading in READINGS {
                    let plan = learner.read(reading, 7).unwrap();
                    let followed = learner.read_policy(&plan.policy_hs, reading, 7).unwrap();
                    assert_eq!(followed.policy_hs, plan.policy_hs);
                    for (x, y) in followed.value_hs.iter().zip(&plan.value_hs) {
                        assert!((x - y).abs() < 1e-7, "{name} {reading:?}: {x} is not {y}");
                    }
                    for _ in 0..3 {
                        let other = learner.read_policy(&random_policy(&arena, &mut rng), reading, 7).unwrap();
                        let pairs = other.value_hs.iter().zip(&plan.value_hs);
                        let most = pairs.clone().map(|(x, y)| x - y).fold(f64::NEG_INFINITY, f64::max);
                        assert!(most <= 1e-7, "{name} {reading:?}: a policy is worth {most} more than the plan");
                        worse += usize::from(pairs.clone().any(|(x, y)| *x < y - 1e-3));
                    }
                }
            }
        }
        assert!(worse > 100, "only {worse} policies drawn at random are worse than a plan");
    }
}

#[test]
fn with_known_transitions_every_estimator_gives_the_exact_policy_value() {
    let arena = Arena::new(small_worlds::factored(3));
    let factors: Vec<&str> = arena.world.state().iter().map(|&id| arena.world.variable(id).name.as_str()).collect();
    let knowledge = arena.knowledge().with_transitions_of(&arena.world, &factors).unwrap();
    let learner = taught(&knowledge, &arena, "graph-ucbvi");
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..5 {
        let policy = random_policy(&arena, &mut rng);
        let exact = arena.values_of(&policy);
        for reading in READINGS {
            let value = learner.read_policy(&policy, reading, 3).unwrap().value_hs;
            assert!(value.iter().zip(&exact).all(|(x, y)| (x - y).abs() < 1e-9), "{reading:?}");
        }
    }
}

#[test]
fn optimistic_and_pessimistic_estimates_enclose_the_exact_policy_value() {
    let arena = Arena::new(small_worlds::crooked(2));
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    for knowledge in [arena.knowledge(), arena.knowledge().without_mechanisms().without_rewards()] {
        for name in ["graph-ucbvi", "c-ucbvi", "ucbvi"] {
            let learner = taught(&knowledge, &arena, name);
            for _ in 0..5 {
                let policy = random_policy(&arena, &mut rng);
                let exact = arena.values_of(&policy);
                let [worst, best] = [Estimator::Pessimistic(Sets::Mixture), Estimator::Optimistic(Sets::Mixture)]
                    .map(|reading| learner.read_policy(&policy, reading, 0).unwrap().value_hs);
                for ((worst, exact), best) in worst.iter().zip(&exact).zip(&best) {
                    // At the last stage nothing is left open but rounding.
                    assert!(*worst <= exact + 1e-12 && *exact <= best + 1e-12, "{name}: {worst} {exact} {best}");
                }
                assert!(best[0] - worst[0] > 1e-3, "{name}: 40 episodes leave something open");
            }
        }
    }
}

#[test]
fn a_policy_that_does_not_fit_is_refused() {
    let arena = Arena::new(small_worlds::factored(3));
    let learner = taught(&arena.knowledge(), &arena, "graph-ucbvi");
    let mut policy = arena.optimal.policy_hs.clone();
    let refused = |policy: &[Action]| match learner.read_policy(policy, Estimator::Greedy, 0) {
        Err(LearnError::Policy(error)) => error,
        other => panic!("{other:?}"),
    };
    assert!(matches!(refused(&policy[1..]), PlanError::PolicySize { .. }));
    policy[arena.world.n_states() + 1] = Action(u64::MAX);
    assert_eq!(refused(&policy), PlanError::PolicyNotAllowed { stage: 2, state: 1 });
}
