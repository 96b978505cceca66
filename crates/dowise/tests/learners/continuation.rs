//! Episodes that end, discounts and next-state rewards: learners count them as plans do.

use dowise::learn::{Cap, Estimate, SessionError, Sets, States, Width};
use dowise::{Knowledge, Learner, LearnerSpec, Options, World};

use crate::optimism::{CAUSAL, FACTORED, FLAT, GRAPH, failures, options};
use crate::play::Arena;
use crate::small_worlds;

/// A world with these lines at the top, and rewards besides its own.
fn with(world: &World, top: &str, rewards: &str) -> World {
    let text = world.to_toml();
    let horizon = format!("horizon = {}\n", world.horizon());
    let (own, rest) = text.split_once("\n[rewards]\n").expect("it is always written");
    let rest = rest.split_once('\n').expect("a range").1;
    let text = format!("{own}\n{rewards}\n{rest}").replace(&horizon, &format!("{horizon}{top}\n"));
    World::from_toml(&text, "w.toml").unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// The first value of a state factor, quoted.
fn value(world: &World, factor: usize, v: usize) -> String {
    format!("\"{}\"", world.variable(world.state()[factor]).values[v])
}

fn name(world: &World, factor: usize) -> &str {
    &world.variable(world.state()[factor]).name
}

fn ending(world: World) -> World {
    let top = format!("ends = {{ when = {{ {} = {} }} }}", name(&world, 0), value(&world, 0, 1));
    with(&world, &top, "")
}

fn discounted(world: World) -> World {
    with(&world, "discount = 0.7", "")
}

/// Arriving somewhere pays, or costs.
fn arriving(world: World) -> World {
    let of = |amounts: [f64; 2]| {
        let [a, b] = amounts;
        let last = world.state().len() - 1;
        format!(
            "[reward.there{last}]\nscope = [\"next.{}\"]\nvalue = {{ {} = {a}, {} = {b} }}\n",
            name(&world, last),
            value(&world, last, 0),
            value(&world, last, 1)
        )
    };
    with(&world, "", &of([0.8, -0.5]))
}

/// What is paid on arrival depends on where one was.
fn between(world: World) -> World {
    let n = name(&world, 0);
    let from = format!(
        "[reward.moved]\nscope = [\"next.{n}\", \"{n}\"]\nrows = [{{ when = {{ {n} = {}, \"next.{n}\" = {} }}, value = 1.0 }}, {{ value = -0.25 }}]\n",
        value(&world, 0, 0),
        value(&world, 0, 1)
    );
    with(&world, "", &from)
}

fn everything(world: World) -> World {
    between(arriving(discounted(ending(world))))
}

const WORLDS: [fn(u64) -> World; 7] = [
    |seed| ending(small_worlds::one_factor(seed)),
    |seed| ending(small_worlds::crooked(seed)),
    |seed| discounted(small_worlds::crooked(seed)),
    |seed| arriving(small_worlds::factored(seed)),
    |seed| arriving(small_worlds::crooked(seed)),
    |seed| between(small_worlds::one_factor(seed)),
    |seed| everything(small_worlds::factored(seed)),
];

#[test]
fn optimists_stay_optimistic() {
    let widths = [Width::Paper, Width::Weissman, Width::HoeffdingV].map(Estimate::Width);
    let flat_widths = [Width::AzarBernstein, Width::Bernstein].map(Estimate::Width);
    let sets = Sets::ALL.iter().copied().map(Estimate::Sets);
    for estimate in widths.into_iter().chain(flat_widths).chain(sets) {
        for view in [FLAT, CAUSAL, FACTORED, GRAPH] {
            if flat_widths.contains(&estimate) && view.0 == States::Factored {
                continue;
            }
            let options = options(view, estimate);
            assert_eq!(failures(&WORLDS, 1, |knowledge| knowledge, &options), (0, 7), "{options:?}");
        }
    }
    // Also where rewards have to be learned.
    for view in [FLAT, CAUSAL, GRAPH] {
        let options = options(view, Estimate::Sets(Sets::default()));
        assert_eq!(failures(&WORLDS, 1, Knowledge::without_rewards, &options), (0, 7), "{options:?}");
        let all = |knowledge: Knowledge| knowledge.without_rewards().without_mechanisms();
        assert_eq!(failures(&WORLDS, 1, all, &options), (0, 7), "{options:?}");
    }
}

#[test]
fn who_knows_everything_plans_exactly() {
    for (i, world) in WORLDS.iter().enumerate() {
        let arena = Arena::new(world(5));
        let names: Vec<&str> = arena.world.state().iter().map(|&id| arena.world.variable(id).name.as_str()).collect();
        let knowledge = arena.knowledge().with_transitions_of(&arena.world, &names).unwrap();
        for estimate in [Estimate::Sets(Sets::default()), Estimate::Posterior { prior: 1.0 }, Estimate::Greedy] {
            for view in [FACTORED, GRAPH] {
                let mut learner =
                    Learner::new(&knowledge, Options { cap: Cap::Stage, ..options(view, estimate) }).unwrap();
                arena.run(1).episode(&mut learner);
                for (v, best) in learner.plan().value_hs.iter().zip(&arena.optimal.value_hs) {
                    assert!((v - best).abs() < 1e-9, "world {i}, {view:?}, {estimate:?}: {v} against {best}");
                }
            }
        }
    }
}

#[test]
fn learners_find_the_best_policy() {
    for spec in ["graph-psrl", "c-ucbvi:width=quasi,scale=0.3", "graph-psrl:schedule=doubling", "c-rlsvi", "greedy"] {
        for (i, make) in WORLDS.iter().enumerate() {
            let arena = Arena::new(make(2));
            let spec: LearnerSpec = spec.parse().unwrap();
            let made = spec.learner(&arena.world, 400, 3);
            let linear = spec.to_string().starts_with("c-rlsvi");
            if linear && arena.world.rewards().iter().any(|r| !r.next.is_empty()) {
                let said = made.expect_err("refused").to_string();
                assert!(said.contains("next-state rewards"), "{said}");
                continue;
            }
            let mut learner = made.unwrap();
            let regrets = arena.regrets_of(&mut learner, 400, 3);
            let (first, last) = (mean(&regrets[..20]), mean(&regrets[350..]));
            assert!(last <= 0.5 * first + 0.03, "{spec}, world {i}: {first} and then {last}");
        }
    }
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

#[test]
fn a_session_is_over_where_the_episode_has_ended() {
    let world = ending(small_worlds::one_factor(1));
    let ended = (0..world.n_states()).find(|&s| world.has_ended(s)).unwrap();
    let knowledge = Knowledge::of(&world);
    let mut learner = Learner::new(&knowledge, Options::default()).unwrap();
    let mut session = learner.begin();
    let start = (0..world.n_states()).find(|&s| !world.has_ended(s)).unwrap();
    let action = session.act(&mut learner, start).unwrap();
    assert!(!session.is_over(&learner));
    let simulator = dowise::Simulator::new(&world).unwrap();
    let [_, mut rng] = dowise::Simulator::streams(3);
    let mut out = dowise::simulate::Outcome::default();
    while out.values.is_empty() || out.next_state != ended {
        simulator.step(start, action, &mut rng, &mut out);
    }
    session.observe(&mut learner, &out.observation(0, start, action)).unwrap();
    assert!(session.is_over(&learner));
    let error = session.act(&mut learner, ended).unwrap_err();
    assert!(matches!(error, SessionError::Ended { stage: 2, .. }), "{error}");
    let error = session.observe(&mut learner, &out.observation(1, ended, action)).unwrap_err();
    assert!(matches!(error, SessionError::Ended { .. }), "{error}");
    session.end(&mut learner);
}

#[test]
fn certificates_and_baselines_deal_with_them() {
    for world in [
        ending(small_worlds::one_factor(1)),
        discounted(small_worlds::one_factor(1)),
        arriving(small_worlds::one_factor(1)),
        between(small_worlds::one_factor(1)),
    ] {
        let arena = Arena::new(world);
        let mut learner = Learner::new(&arena.knowledge(), Options::default()).unwrap();
        arena.run(1).episode(&mut learner);
        let certificate = learner.certificate(0.1).unwrap();
        for (s, best) in arena.optimal.value_hs[..arena.world.n_states()].iter().enumerate() {
            assert!(certificate.best_at_most_s[s] >= *best && certificate.at_least_s[s] <= *best);
        }
        let policy = arena.optimal.policy_hs.clone();
        assert!(learner.keep_baseline(&policy, 0.1, None).is_ok(), "a baseline asks for what episodes pay alone");
    }
}
