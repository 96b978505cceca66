//! Why a learner would do what it does.

use dowise::learn::{Agent, Causes, Estimate, Observation, Schedule, Sets, States, Width};
use dowise::world::Action;
use dowise::{Knowledge, Learner, Options, Preset};

use crate::draft::Draft;
use crate::play::{Arena, observed, resealed};
use crate::small_worlds;

fn optimists() -> Vec<Options> {
    let names = ["ucbvi", "f-ucbvi", "c-ucbvi", "cf-ucbvi", "graph-ucbvi"];
    let mut all: Vec<Options> = names.iter().map(|n| n.parse::<Preset>().unwrap().options(60, 2)).collect();
    let graph = all[4].clone();
    all.push(Options { estimate: Estimate::Width(Width::HoeffdingV), scale: 0.3, ..graph.clone() });
    all.push(Options { estimate: Estimate::Sets(Sets::L1), stage_dependent: true, ..graph.clone() });
    all.push(Options { schedule: Schedule::Doubling, ..graph.clone() });
    all.push(Options { schedule: Schedule::Visited, ..graph });
    all
}

fn knowledge(arena: &Arena) -> [Knowledge; 3] {
    let known = arena.knowledge();
    [known.clone(), known.clone().without_mechanisms(), known.without_mechanisms().without_rewards()]
}

#[test]
fn optimistic_values_are_no_less_than_the_mean_and_the_greatest_is_chosen() {
    for world in [small_worlds::factored(1), small_worlds::all_keys(1)] {
        let arena = Arena::new(world);
        for options in optimists() {
            for knowledge in knowledge(&arena) {
                let mut learner = Learner::new(&knowledge, options.clone()).expect("a learner");
                arena.regrets_of(&mut learner, 40, 2);
                let all: Vec<_> = (0..arena.world.n_states()).map(|s| learner.explain(1, s, 100).unwrap()).collect();
                // What it would do now; a plan that is kept may be older than the explanation.
                let due = learner.save().replace("\"doubled\":false", "\"doubled\":true");
                learner = Learner::restore(&knowledge, &resealed(&knowledge, &due)).unwrap();
                learner.begin_episode();
                for explanation in &all {
                    let chosen = learner.policy().unwrap()[arena.world.n_states() + explanation.state];
                    assert_eq!(explanation.preferred[0].action, chosen, "{options:?}");
                    assert_eq!(explanation.preferred.len() as u64, arena.world.interventions().count());
                    for p in &explanation.preferred {
                        assert!(p.optimistic >= p.mean - 1e-12, "{options:?}: {p:?}");
                        assert!(p.optimistic <= explanation.preferred[0].optimistic + 1e-8, "{options:?}: {p:?}");
                    }
                }
                if options.schedule != Schedule::Visited {
                    for explanation in &all {
                        let value = learner.plan().value(1, explanation.state);
                        assert!((explanation.preferred[0].optimistic - value).abs() < 1e-9, "{options:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_restored_learner_explains_itself_as_before() {
    let arena = Arena::new(small_worlds::factored(2));
    for options in optimists() {
        let mut learner = Learner::new(&arena.knowledge(), options.clone()).expect("a learner");
        arena.regrets_of(&mut learner, 30, 2);
        let restored = Learner::restore(&arena.knowledge(), &learner.save()).expect("what was saved");
        for state in 0..arena.world.n_states() {
            assert_eq!(restored.explain(0, state, 9), learner.explain(0, state, 9), "{options:?}");
        }
    }
}

#[test]
fn what_explores_at_random_explains_what_it_has_seen() {
    let arena = Arena::new(small_worlds::one_factor(2));
    let explained = |estimate: Estimate| {
        let options = Options { states: States::Flat, causes: Causes::Keys, estimate, ..Options::default() };
        let mut learner = Learner::new(&arena.knowledge(), options).expect("a learner");
        // The same steps for all: what they explain must not depend on how they choose.
        let mut other = Learner::new(&arena.knowledge(), Preset::all()[12].options(50, 1)).expect("a learner");
        let mut run = arena.run(1);
        for _ in 0..50 {
            let (_, seen) = crate::play::watch(&mut run, &mut other);
            learner.begin_episode();
            for s in &seen {
                learner.observe(&s.observation());
            }
            learner.end_episode();
        }
        learner.explain(0, 1, 9).unwrap()
    };
    let greedy = explained(Estimate::Greedy);
    assert!(greedy.preferred.windows(2).all(|w| w[0].optimistic >= w[1].optimistic));
    assert_eq!(explained(Estimate::EpsilonGreedy { epsilon: 1.0 }), greedy);
    assert_eq!(explained(Estimate::Uniform), greedy);
}

#[test]
fn counts_and_values_of_a_case_worked_out_by_hand() {
    // Two states; x = 1 makes z = 1 with probability 3/4, x = 0 with 1/4; r = z; two steps.
    let world = Draft::new(2, 0)
        .state("s", 2)
        .lever("x", 2)
        .key("z", 2)
        .given(&["z"], &["x"], vec![0.75, 0.25, 0.25, 0.75])
        .next("s", &["s", "z"])
        .pays("r", &["s", "z"], vec![0.0, 1.0, 0.0, 0.5])
        .world();
    let options = Options {
        states: States::Flat,
        causes: Causes::Keys,
        estimate: Estimate::Width(Width::Quasi),
        scale: 0.5,
        episodes: 10,
        ..Options::default()
    };
    let mut learner = Learner::new(&Knowledge::of(&world), options).expect("a learner");
    // In state 0: z = 0 twice, to 0 and to 1; z = 1 four times, always to 1.
    for (z, next_state) in [(0, 0), (0, 1), (1, 1), (1, 1), (1, 1), (1, 1)] {
        let values = [0, 1, z];
        learner.learn(&observed(0, 0, Action(2), &values, next_state)).unwrap();
    }
    let explanation = learner.explain(0, 0, 2).unwrap();
    assert_eq!((explanation.stage, explanation.state), (0, 0));
    let [first, second] = &explanation.preferred[..] else { panic!("two interventions") };
    assert_eq!((first.action, second.action), (Action(2), Action(1)));
    assert_eq!(first.visits, Some(0.25 * 2.0 + 0.75 * 4.0));
    assert_eq!(second.visits, Some(0.75 * 2.0 + 0.25 * 4.0));
    // Last stage, hoped: q(0, z=0) = 0 + 0.5/2, q(0, z=1) = min(1, 1 + 0.5/4) = 1; state 1 was never seen: 1.
    let v0: f64 = 0.25 * 0.25 + 0.75 * 1.0;
    // First stage: q(0, z=0) = (v0 + 1)/2 + 0.25, q(0, z=1) = 1 + 1 + 0.125 capped at 2.
    let q0 = (v0 + 1.0) / 2.0 + 0.25;
    assert!((first.optimistic - (0.25 * q0 + 0.75 * 2.0)).abs() < 1e-12);
    assert!((second.optimistic - (0.75 * q0 + 0.25 * 2.0)).abs() < 1e-12);
    // Mean: last stage V(0) = 0.75, V(1) = 0.375; then q(0, z=0) = (0.75 + 0.375)/2, q(0, z=1) = 1 + 0.375.
    let (m0, m1) = ((0.75 + 0.375) / 2.0, 1.375);
    assert!((first.mean - (0.25 * m0 + 0.75 * m1)).abs() < 1e-12);
    assert!((second.mean - (0.75 * m0 + 0.25 * m1)).abs() < 1e-12);
}

/// One state, two levers of two values, two key variables: `seen` follows from the first lever, `click` from the second.
const BANNER: &str = r#"
dowise = 1
horizon = 1
[state.s]
values = 1
scope = ["s"]
next = [[1.0]]
[lever.size]
values = 2
[lever.colour]
values = 2
[key.seen]
values = 2
parents = ["size"]
p = [[0.5, 0.5], [0.2, 0.8]]
[key.click]
values = 2
parents = ["seen", "colour"]
p = [[[1.0, 0.0], [1.0, 0.0]], [[0.7, 0.3], [0.4, 0.6]]]
[reward.r]
scope = ["click"]
value = [0.0, 1.0]
[interventions]
set = "all"
"#;

#[test]
fn visits_of_a_bandit_are_those_of_its_mechanisms() {
    let world = dowise::World::from_toml(BANNER, "banner.toml").unwrap();
    let learner = |name: &str| name.parse::<dowise::LearnerSpec>().unwrap().learner(&world, 50, 1).unwrap();
    let mut unknown = learner("graph-psrl:unknown=kernel");
    let shown = [([0, 0], ["1", "0"]), ([0, 1], ["1", "1"]), ([0, 1], ["0", "0"]), ([1, 1], ["1", "1"])];
    for (levers, keys) in shown {
        let (action, knowledge) = (world.interventions().action(&levers.map(Some)), unknown.knowledge().clone());
        let step = Observation::at(&knowledge, 0, 0).unwrap().did_action(&knowledge, action).unwrap();
        let step = step.saw(&knowledge, [("seen", keys[0]), ("click", keys[1])]).unwrap();
        unknown.learn(&step.then(&knowledge, 0).unwrap()).unwrap();
    }
    let visits = |levers: [usize; 2]| {
        let action = world.interventions().action(&levers.map(Some));
        let all = unknown.explain(0, 0, 9).unwrap().preferred;
        all.iter().find(|p| p.action == action).unwrap().visits.unwrap()
    };
    // The size was shown 3 and 1 times, the colour 1 and 3 times.
    assert_eq!([[0, 0], [0, 1], [1, 0], [1, 1]].map(visits), [1.0, 3.0, 1.0, 1.0]);
    let known = learner("graph-psrl").explain(0, 0, 9).unwrap();
    assert!(known.preferred.iter().all(|p| p.visits.is_none()), "{known:?}");
}
