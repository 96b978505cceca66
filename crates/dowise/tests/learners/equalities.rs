//! Learners that must be the same, whatever happens.

use dowise::learn::{Agent, Cap, Causes, Estimate, Schedule, Sets, States, Width};
use dowise::world::{RewardForm, SetSpec};
use dowise::{Learner, Options, Preset, World, worlds};

use crate::draft::Draft;
use crate::play::{Arena, Seen, watch};
use crate::small_worlds;

const FACTOR_FREE: [Estimate; 10] = [
    Estimate::Width(Width::Paper),
    Estimate::Width(Width::PaperPlain),
    Estimate::Width(Width::AzarHoeffding),
    Estimate::Width(Width::Weissman),
    Estimate::Width(Width::Quasi),
    Estimate::Width(Width::Rlberry),
    Estimate::Sets(Sets::Mixture),
    Estimate::Sets(Sets::Kl),
    Estimate::Sets(Sets::L1),
    Estimate::Posterior { prior: 2.0 },
];

fn options(view: (States, Causes), estimate: Estimate) -> Options {
    let scale = match estimate {
        Estimate::Width(Width::Paper | Width::PaperPlain | Width::AzarHoeffding) => 0.003,
        _ => 0.3,
    };
    Options { states: view.0, causes: view.1, estimate, scale, episodes: 150, seed: 11, ..Options::default() }
}

/// Plays both on the same world with the same seed; largest difference of values, and whether every regret was the same.
fn compare(world: &World, a: Options, b: Options) -> (f64, bool) {
    let arena = Arena::new(world.clone());
    let mut learners = [a, b].map(|o| Learner::new(&arena.knowledge(), o).expect("a learner"));
    let mut runs = [arena.run(2), arena.run(2)];
    let (mut worst, mut same) = (0.0f64, true);
    for _ in 0..150 {
        let regrets: Vec<f64> = runs.iter_mut().zip(&mut learners).map(|(r, l)| r.episode(l).regret).collect();
        same &= regrets[0].to_bits() == regrets[1].to_bits();
        let [a, b] = &learners;
        for (x, y) in a.plan().value_hs.iter().zip(&b.plan().value_hs) {
            worst = worst.max((x - y).abs());
        }
    }
    (worst, same)
}

#[test]
fn one_factor_is_flat() {
    for estimate in FACTOR_FREE {
        for causes in [Causes::Keys, Causes::Actions] {
            // The logarithm of plain UCBVI is not the paper's.
            let own_log = matches!(estimate, Estimate::Width(Width::Paper | Width::PaperPlain));
            if causes == Causes::Actions && own_log {
                continue;
            }
            let views = [(States::Factored, causes), (States::Flat, causes)];
            let [a, b] = views.map(|view| options(view, estimate));
            assert_eq!(compare(&small_worlds::one_factor(1), a, b), (0.0, true), "{estimate:?} {causes:?}");
        }
    }
}

/// A whole state of 260 values, so many that samples are kept by the values that have mass.
fn many_values() -> Draft {
    Draft::new(3, 5).state("s", 260).lever("x", 3).key("z", 2).drawn(&["z"], &["x"])
}

#[test]
fn one_factor_of_many_values_is_flat_for_samplers_too() {
    let world = many_values().next("s", &["s", "z"]).pays_between("r", &["s", "z"], [0.0, 1.0], false).world();
    let of = |states, causes| options((states, causes), Estimate::Posterior { prior: 2.0 });
    for causes in [Causes::Keys, Causes::OwnKeys] {
        let found = compare(&world, of(States::Factored, causes), of(States::Flat, Causes::Keys));
        assert_eq!(found, (0.0, true), "{causes:?}");
    }
}

#[test]
fn a_key_variable_that_a_factor_of_many_values_does_not_see_changes_no_sample() {
    let seen = |draft: Draft| draft.next("s", &["s", "z"]).pays_between("r", &["s", "z"], [0.0, 1.0], false).world();
    let worlds = [seen(many_values()), seen(many_values().key("w", 2).given(&["w"], &["x"], vec![0.5; 6]))];
    let chosen = options((States::Factored, Causes::OwnKeys), Estimate::Posterior { prior: 2.0 });
    let plans = worlds.map(|world| {
        let arena = Arena::new(world);
        let mut learner = Learner::new(&arena.knowledge(), chosen.clone()).expect("a learner");
        learner.begin_episode();
        learner.plan().value_hs.clone()
    });
    let worst = plans[0].iter().zip(&plans[1]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst < 1e-12 && plans[0].iter().any(|v| *v > 1.0), "{worst}");
}

#[test]
fn samples_are_independent_of_the_present_value_where_the_next_one_is() {
    let world = many_values().next("s", &["z"]).pays_between("r", &["s"], [0.0, 1.0], false).world();
    let n = world.n_states();
    let arena = Arena::new(world);
    for (view, alike) in [((States::Factored, Causes::OwnKeys), true), ((States::Flat, Causes::Keys), false)] {
        let chosen = options(view, Estimate::Posterior { prior: 2.0 });
        let mut learner = Learner::new(&arena.knowledge(), chosen).expect("a learner");
        let mut run = arena.run(2);
        for _ in 0..20 {
            run.episode(&mut learner);
            // What is still to come after the present step, in every state.
            let values = &learner.plan().value_hs;
            let ahead: Vec<f64> = (0..n).map(|s| values[s] - values[2 * n + s]).collect();
            let spread = ahead.iter().fold(0.0f64, |most, v| most.max((v - ahead[0]).abs()));
            assert!(if alike { spread < 1e-12 } else { spread > 0.01 }, "{view:?}: {spread}");
        }
    }
}

#[test]
fn a_key_value_for_each_intervention_is_the_plain_learner() {
    for estimate in FACTOR_FREE {
        if matches!(estimate, Estimate::Width(Width::Paper | Width::PaperPlain)) {
            continue;
        }
        let [a, b] = [Causes::Keys, Causes::Actions].map(|causes| options((States::Flat, causes), estimate));
        let (worst, same) = compare(&small_worlds::point_masses(2), a, b);
        assert!(worst <= 3.0 * f64::EPSILON && same, "{estimate:?}: {worst:e}, {same}");
    }
}

#[test]
fn own_keys_are_all_keys_where_every_factor_sees_them_all() {
    for estimate in FACTOR_FREE.into_iter().chain([Estimate::Width(Width::HoeffdingV), Estimate::Greedy]) {
        let [a, b] = [Causes::Keys, Causes::OwnKeys].map(|causes| options((States::Factored, causes), estimate));
        assert_eq!(compare(&small_worlds::all_keys(3), a, b), (0.0, true), "{estimate:?}");
    }
}

#[test]
fn stages_apart_are_stages_together_in_episodes_of_one_step() {
    let world = Draft::new(1, 4)
        .state("s1", 2)
        .state("s2", 2)
        .lever("x", 3)
        .key("z", 2)
        .drawn(&["z"], &["x", "s1"])
        .next("s1", &["s1", "z"])
        .next("s2", &["s2", "s1", "z"])
        .pays_between("r", &["s1", "s2", "z"], [0.0, 1.0], true)
        .world();
    for estimate in FACTOR_FREE {
        let together = options((States::Factored, Causes::Keys), estimate);
        let apart = Options { stage_dependent: true, ..together.clone() };
        assert_eq!(compare(&world, together, apart), (0.0, true), "{estimate:?}");
    }
}

#[test]
fn the_papers_constants_give_the_uniform_policy() {
    let world = World::new(worlds::Paper { seed: 3, ..Default::default() }.spec().unwrap()).unwrap();
    let arena = Arena::new(world);
    let total = |options: Options| arena.regrets(options, 8).iter().sum::<f64>();
    let uniform = total("uniform".parse::<Preset>().unwrap().options(120, 8));
    assert!(uniform > 10.0);
    for name in ["ucbvi", "f-ucbvi", "c-ucbvi", "cf-ucbvi"] {
        let regret = total(name.parse::<Preset>().unwrap().paper_options(120, 8));
        assert!((regret - uniform).abs() <= 1e-9 * uniform, "{name}: {regret} against {uniform}");
    }
}

#[test]
fn rewards_twice_as_large_give_values_twice_as_large() {
    let scaled = |factor: f64| {
        let mut draft = Draft::new(3, 6)
            .state("s1", 2)
            .state("s2", 2)
            .lever("x", 4)
            .key("z", 3)
            .drawn(&["z"], &["x", "s1"])
            .next("s1", &["s1", "z"])
            .next("s2", &["s2", "s1", "z"])
            .pays_between("r", &["s1", "s2", "z"], [0.0, 1.0], false);
        let term = &mut draft.spec.rewards[0];
        term.range = Some([0.0, factor].into());
        let RewardForm::Table(table) = &mut term.form else { unreachable!() };
        table.iter_mut().for_each(|r| *r *= factor);
        draft.world()
    };
    for estimate in FACTOR_FREE.into_iter().chain([Estimate::Width(Width::HoeffdingV)]) {
        let options = Options { cap: Cap::Horizon, ..options((States::Factored, Causes::Keys), estimate) };
        let plans = [1.0, 2.0].map(|factor| {
            let arena = Arena::new(scaled(factor));
            let mut learner = Learner::new(&arena.knowledge(), options.clone()).expect("a learner");
            arena.regrets_of(&mut learner, 100, 1);
            learner.plan().clone()
        });
        assert_eq!(plans[0].policy_hs, plans[1].policy_hs, "{estimate:?}");
        for (a, b) in plans[0].value_hs.iter().zip(&plans[1].value_hs) {
            assert!((2.0 * a - b).abs() <= 1e-12, "{estimate:?}: {a} {b}");
        }
    }
}

#[test]
fn doubling_plans_a_logarithmic_number_of_times() {
    let arena = Arena::new(small_worlds::one_factor(7));
    for estimate in
        [Estimate::Sets(Sets::Mixture), Estimate::Posterior { prior: 2.0 }, Estimate::EpsilonGreedy { epsilon: 0.1 }]
    {
        let episodes = 3000;
        let options =
            Options { schedule: Schedule::Doubling, episodes, ..options((States::Flat, Causes::Keys), estimate) };
        let mut learner = Learner::new(&arena.knowledge(), options).expect("a learner");
        let mut run = arena.run(1);
        let (mut changes, mut last, mut late) = (0, vec![], 0.0);
        for k in 0..episodes {
            let regret = run.episode(&mut learner).regret;
            late += if k >= episodes / 2 { regret } else { 0.0 };
            if learner.plan().value_hs != last {
                changes += 1;
                last = learner.plan().value_hs.clone();
            }
        }
        // Each of the nine rows doubles at most log2(12000) + 1 times.
        assert!(changes > 10 && changes <= 9 * 15, "{estimate:?}: {changes} plans");
        assert!(late / 1500.0 < 0.12, "{estimate:?}: {late}");
    }
}

#[test]
fn values_at_visited_states_never_rise_and_the_evaluated_policy_is_the_one_run() {
    let unequal = Draft::new(4, 9)
        .state("s1", 2)
        .state("s2", 3)
        .state("s3", 2)
        .lever("x1", 2)
        .lever("x2", 2)
        .key("z1", 2)
        .key("z2", 2)
        .drawn(&["z1", "z2"], &["x1", "x2"])
        .next("s1", &["s1", "s2", "s3", "z1"])
        .next("s2", &["s2", "z2"])
        .next("s3", &["s3", "s1", "z1", "z2"])
        .pays_between("r", &["s1", "s2", "s3", "z1"], [0.0, 1.0], false)
        .world();
    for world in [unequal, small_worlds::crooked(1)] {
        let arena = Arena::new(world);
        let sets = Sets::ALL.iter().copied().map(Estimate::Sets);
        for estimate in sets.chain([Estimate::Width(Width::HoeffdingV)]) {
            let options = Options {
                schedule: Schedule::Visited,
                scale: 1.0,
                ..options((States::Factored, Causes::OwnKeys), estimate)
            };
            let mut learner = Learner::new(&arena.knowledge(), options).expect("a learner");
            let mut run = arena.run(5);
            let mut before = learner.plan().value_hs.clone();
            for _ in 0..150 {
                let (_, seen) = watch(&mut run, &mut learner);
                let policy = learner.policy().unwrap().to_vec();
                for step in &seen {
                    let evaluated = policy[step.stage * arena.world.n_states() + step.state];
                    assert_eq!(evaluated, step.action, "{estimate:?} stage {} state {}", step.stage, step.state);
                }
                let now = &learner.plan().value_hs;
                assert!(now.iter().zip(&before).all(|(now, before)| now <= before));
                assert!(now.iter().zip(&arena.optimal.value_hs).all(|(v, best)| *v >= best - 1e-9));
                before = now.clone();
            }
            let cap = learner.plan().value_hs.iter().filter(|v| **v < 3.9).count();
            assert!(cap > 0, "something was learned");
        }
    }
}

#[test]
fn the_same_intervention_under_two_names_is_worth_what_it_was_worth() {
    // A second lever that does nothing doubles the interventions; the causal learner's values do not change.
    let world = |idle: bool| {
        let draft = Draft::new(3, 12).state("s", 3).lever("x", 3).key("z", 2);
        let draft = if idle { draft.lever("idle", 2) } else { draft };
        let draft = draft.drawn(&["z"], &["s", "x"]).next("s", &["s", "z"]);
        draft.pays_between("r", &["s", "z"], [0.0, 1.0], false).set(SetSpec::All).world()
    };
    let arenas = [Arena::new(world(false)), Arena::new(world(true))];
    let options = options((States::Flat, Causes::Keys), Estimate::Sets(Sets::Mixture));
    let mut learners = arenas.each_ref().map(|a| Learner::new(&a.knowledge(), options.clone()).expect("a learner"));
    // Variables are numbered in the order of the file: the first arena's steps fit both but for the idle lever.
    let mut run = arenas[1].run(1);
    for _ in 0..80 {
        let (_, seen) = watch(&mut run, &mut learners[1]);
        learners[0].begin_episode();
        for (x, y) in learners[0].plan().value_hs.iter().zip(&learners[1].plan().value_hs) {
            assert!((x - y).abs() <= 1e-12);
        }
        for step in &seen {
            let x = arenas[1].world.interventions().lever(step.action, 0);
            let action = arenas[0].world.interventions().action(&[x]);
            let seen = Seen { action, values: step.values[..3].to_vec(), ..step.clone() };
            learners[0].observe(&seen.observation());
        }
        learners[0].end_episode();
    }
}
