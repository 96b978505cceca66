//! Rewards and P(z | s, a) not given: learned at the same time, and how much the graph is worth then.

use dowise::learn::{Causes, Estimate, Sets, States};
use dowise::world::{Form, SetSpec};
use dowise::{Knowledge, Learner, LearnerSpec, Options, Preset, World};

use crate::draft::Draft;
use crate::play::Arena;

/// Everything that makes learning harder: a hidden variable, payments at random and, if wanted, levers left alone.
fn hidden(seed: u64, set: SetSpec) -> World {
    Draft::new(3, seed)
        .state("s", 2)
        .lever("x1", 2)
        .lever("x2", 2)
        .key("z1", 2)
        .key("z2", 2)
        .hidden("u", 3)
        .drawn(&["x1"], &["s"])
        .drawn(&["x2"], &[])
        .drawn(&["u"], &["x1"])
        .drawn(&["z1"], &["u", "s"])
        .given(&["z2"], &["x2", "z1"], vec![0.9, 0.1, 0.8, 0.2, 0.2, 0.8, 0.05, 0.95])
        .next("s", &["s", "z1"])
        .pays_between("r1", &["s", "z1"], [0.0, 0.4], true)
        .pays("r2", &["z2"], vec![0.0, 0.6])
        .set(set)
        .world()
}

/// Six binary levers, each with a key variable of its own: 64 interventions, but a mechanism has four rows at most.
fn sparse(seed: u64) -> World {
    let names: Vec<[String; 2]> = (1..=6).map(|i| [format!("x{i}"), format!("z{i}")]).collect();
    let mut draft = Draft::new(2, seed).state("s", 2);
    for [x, z] in &names {
        draft = draft.lever(x, 2).key(z, 2);
    }
    for (i, [x, z]) in names.iter().enumerate() {
        // Which value is the good one differs from lever to lever.
        let good = if i % 2 == 0 { [0.2, 0.8] } else { [0.8, 0.2] };
        draft = draft.given(&[z], &[x], vec![1.0 - good[0], good[0], 1.0 - good[1], good[1]]);
        draft = draft.pays(&format!("r{i}"), &[z], vec![0.0, 1.0 / 6.0]);
    }
    draft.next("s", &["s", "z1"]).world()
}

/// Regret of the first and of the last fifth.
fn ends(arena: &Arena, knowledge: &Knowledge, options: Options) -> [f64; 2] {
    let (episodes, seed) = (options.episodes, options.seed);
    let mut learner = Learner::new(knowledge, options).expect("a learner");
    let regrets = arena.regrets_of(&mut learner, episodes, seed);
    let fifth = regrets.len() / 5;
    [regrets[..fifth].iter().sum(), regrets[4 * fifth..].iter().sum()]
}

fn options(causes: Causes, estimate: Estimate, episodes: u64) -> Options {
    let states = if causes == Causes::Keys { States::Flat } else { States::Factored };
    Options { states, causes, estimate, episodes, seed: 5, ..Options::default() }
}

fn converges(set: SetSpec, estimate: Estimate, share: f64) {
    let arena = Arena::new(hidden(2, set));
    let known = arena.knowledge();
    let knowledge = [
        known.clone().without_rewards(),
        known.clone().without_mechanisms(),
        known.without_mechanisms().without_rewards(),
    ];
    for (i, knowledge) in knowledge.iter().enumerate() {
        for causes in [Causes::Keys, Causes::OwnKeys] {
            let [first, last] = ends(&arena, knowledge, options(causes, estimate, 6000));
            assert!(last < share * first + 0.5, "{i} {estimate:?} {causes:?}: {first} then {last}");
        }
    }
}

#[test]
fn samplers_converge_on_unknown_parameters() {
    converges(SetSpec::All, Estimate::Posterior { prior: 2.0 }, 0.25);
    converges(SetSpec::Any, Estimate::Posterior { prior: 2.0 }, 0.25);
}

#[test]
fn optimists_converge_on_unknown_parameters() {
    converges(SetSpec::All, Estimate::Sets(Sets::Mixture), 0.35);
}

#[test]
fn a_sparse_graph_beats_learning_without_it_at_least_fivefold() {
    let arena = Arena::new(sparse(1));
    let knowledge = arena.knowledge().without_mechanisms().without_rewards();
    let total = |name: &str| -> f64 {
        let preset: Preset = name.parse().unwrap();
        let mut learner = Learner::new(&knowledge, preset.options(1500, 1)).expect("a learner");
        arena.regrets_of(&mut learner, 1500, 1).iter().sum()
    };
    let (graph, plain) = (total("graph-psrl"), total("psrl"));
    assert!(graph > 0.0 && 5.0 * graph < plain, "samplers: {graph} with the graph, {plain} without");
    let (graph, plain) = (total("graph-ucbvi"), total("ucbvi"));
    assert!(graph < 0.9 * plain, "optimists: {graph} with the graph, {plain} without");
}

#[test]
fn a_mechanism_that_is_given_need_not_be_learned() {
    let cells = |world: &World, knowledge: &Knowledge| {
        let options = options(Causes::OwnKeys, Estimate::Posterior { prior: 2.0 }, 100);
        let learner = Learner::new(knowledge, options).expect("a learner");
        let transitions = world.transitions().iter().map(|m| world.sizes(&m.parents).iter().product::<usize>());
        learner.cells() - transitions.sum::<usize>()
    };
    // The mechanism of z2 is left out of the file, those of z1 and the hidden variable are given.
    let mut draft = Draft::new(2, 3)
        .state("s", 2)
        .lever("x", 3)
        .key("z1", 2)
        .key("z2", 2)
        .hidden("u", 2)
        .drawn(&["u"], &["x"])
        .drawn(&["z1"], &["u"])
        .drawn(&["z2"], &["x", "z1"])
        .next("s", &["s", "z1"])
        .pays_between("r", &["z2"], [0.0, 1.0], false);
    let whole = draft.clone().world();
    assert_eq!(cells(&whole, &Knowledge::of(&whole)), 0);
    draft.spec.mechanisms[2].form = Form::Unknown;
    let partly = draft.world();
    // z2 alone, given x and z1: the hidden variable does not act on it.
    assert_eq!(cells(&partly, &Knowledge::of(&partly)), 6);
    let arena = Arena::new(whole);
    let [first, last] =
        ends(&arena, &Knowledge::of(&partly), options(Causes::OwnKeys, Estimate::Posterior { prior: 2.0 }, 1500));
    assert!(last < 0.2 * first + 0.5, "{first} then {last}");
}

#[test]
fn a_learner_and_a_check_count_the_same() {
    for name in ["campaign", "treatment", "paper", "river-swim"] {
        let world = dowise::worlds::world(name, &[]).expect("a world");
        for spec in
            ["graph-psrl", "graph-psrl:unknown=all", "graph-psrl:unknown=all,forms=false", "graph-ucbvi:unknown=kernel"]
        {
            let spec: dowise::LearnerSpec = spec.parse().expect("a learner");
            let counted = spec.knowledge(&world).expect("knowledge").to_learn().expect("it can be learned");
            let [rows, numbers] =
                [counted.iter().map(|t| t.rows).sum(), counted.iter().map(|t| t.numbers).sum::<u64>()];
            let learner = spec.learner(&world, 10, 1).expect("a learner");
            assert_eq!([learner.cells() as u64, learner.numbers() as u64], [rows, numbers], "{spec} in {name}");
        }
    }
}

#[test]
fn how_levers_behave_that_are_always_set_is_not_learned() {
    let world = Draft::new(2, 4)
        .state("s", 2)
        .lever("x", 3)
        .key("z", 2)
        .drawn(&["x"], &["s"])
        .drawn(&["z"], &["x"])
        .next("s", &["s", "z"])
        .pays_between("r", &["z"], [0.0, 1.0], false)
        .world();
    let knowledge = Knowledge::of(&world).without_mechanisms();
    let learner = Learner::new(&knowledge, options(Causes::OwnKeys, Estimate::Sets(Sets::Kl), 10)).expect("a learner");
    // Four rows of transitions, three of z; none of x.
    assert_eq!(learner.cells(), 4 + 3);
}

/// A key variable with an additive logit of six levers, behind a hidden variable: 64 interventions, few effects.
fn with_forms(learn: &str) -> World {
    let levers: String = (1..=6).map(|i| format!("[lever.x{i}]\nvalues = [\"0\", \"1\"]\n")).collect();
    let effects: String =
        (2..=6).map(|i| format!("x{i} = {{ \"1\" = {} }}, ", [0.6, -0.5, 0.4, 0.7, -0.3][i - 2])).collect();
    let text = format!(
        r#"
dowise = 1
horizon = 2
[state.s]
values = ["a", "b"]
scope = ["s", "z"]
next = [[[0.8, 0.2], [0.3, 0.7]], [[0.6, 0.4], [0.1, 0.9]]]
{levers}
[hidden.u]
values = ["no", "yes"]
parents = ["x1"]
p = [[0.7, 0.3], [0.2, 0.8]]
[key.z]
values = ["no", "yes"]
parents = ["u", "x2", "x3", "x4", "x5", "x6"]
logit = {{ base = -1.5, effects = {{ u = {{ yes = 1.4 }}, {effects} }} }}
{learn}
[reward.r]
scope = ["z"]
value = [0, 1]
"#
    );
    World::from_toml(&text, "forms.toml").unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn a_form_that_is_said_is_worth_many_episodes() {
    let world = with_forms("");
    let arena = Arena::new(world.clone());
    let total = |spec: &str| -> f64 {
        let spec: dowise::LearnerSpec = spec.parse().expect("a learner");
        let runs = (1..=3).map(|seed| {
            let mut learner = spec.learner(&world, 600, seed).expect("a learner");
            arena.regrets_of(&mut learner, 600, seed).iter().sum::<f64>()
        });
        runs.sum()
    };
    for name in ["graph-psrl", "graph-ucbvi"] {
        let (forms, tables) =
            (total(&format!("{name}:unknown=all")), total(&format!("{name}:unknown=all,forms=false")));
        assert!(forms < 0.6 * tables, "{name}: {forms} with the form, {tables} without");
    }
}

#[test]
fn parameters_marked_to_be_learned_are_unknown_and_a_guess_helps() {
    let knowledge = Knowledge::of(&with_forms(""));
    assert!(knowledge.knows_mechanisms());
    let world = with_forms("learn = \"logit\"");
    assert!(!Knowledge::of(&world).knows_mechanisms());
    assert!(Knowledge::of(&with_forms("learn = { form = \"logit\", known = true }")).knows_mechanisms());
    let guessed = with_forms("learn = { weight = 30 }");
    let first = |world: &World| -> f64 {
        let arena = Arena::new(with_forms(""));
        let spec: dowise::LearnerSpec = "graph-psrl".parse().expect("a learner");
        let mut learner = spec.learner(world, 100, 1).expect("a learner");
        arena.regrets_of(&mut learner, 100, 1).iter().sum()
    };
    let (without, with) = (first(&world), first(&guessed));
    assert!(with < 0.5 * without, "{with} with a guess that is right, {without} without");
}

#[test]
fn learners_with_forms_are_restored_and_their_evidence_merges() {
    let world = with_forms("");
    let arena = Arena::new(world.clone());
    for spec in ["graph-psrl:unknown=all", "graph-ucbvi:unknown=all"] {
        let spec: dowise::LearnerSpec = spec.parse().expect("a learner");
        let mut learner = spec.learner(&world, 100, 1).expect("a learner");
        arena.regrets_of(&mut learner, 40, 1);
        let knowledge = spec.knowledge(&world).expect("what the learner knows");
        let mut again = Learner::restore(&knowledge, &learner.save()).expect("a saved learner");
        assert_eq!(again.learned_policy().actions(), learner.learned_policy().actions());
        assert_eq!(arena.regrets_of(&mut again, 20, 2), arena.regrets_of(&mut learner, 20, 2));
        // What two have seen, merged in either order, is what one would have seen: the same bytes, and the same policy from it.
        let mut other = spec.learner(&world, 100, 7).expect("a learner");
        arena.regrets_of(&mut other, 30, 8);
        let (one, two) = (learner.evidence().expect("it counts"), other.evidence().expect("it counts"));
        let merged = |first: &dowise::learn::Evidence, second: &dowise::learn::Evidence| {
            let mut all = dowise::learn::Evidence::new(&knowledge, &spec.options(100, 1)).expect("evidence");
            all.merge(first).expect("the same world");
            all.merge(second).expect("the same world");
            all
        };
        let both = merged(one, two);
        assert_eq!(both.save(), merged(two, one).save());
        assert_ne!(both.save(), one.save());
        let policy =
            |evidence| Learner::with_evidence(evidence, spec.options(100, 1)).expect("a learner").learned_policy();
        assert_eq!(policy(both).actions(), policy(merged(two, one)).actions());
    }
}

#[test]
fn a_saved_learner_continues_whichever_parameters_are_known() {
    let mixed = |hidden: &str, key: &str, last: &str| {
        let text = format!(
            "dowise = 1\nhorizon = 2\n[state.s]\nvalues = 2\nstart = [1, 0]\nscope = [\"s\", \"k\"]\n\
             next.rows = [{{ when = {{ k = \"1\" }}, p = [0.3, 0.7] }}, {{ p = [0.6, 0.4] }}]\n\
             [lever.x]\nvalues = 3\n[lever.y]\nvalues = 2\n\
             [hidden.h]\nvalues = 2\nparents = [\"x\"]\n{hidden}rows = [{{ when = {{ x = \"2\" }}, p = [0.2, 0.8] }}, {{ p = [0.7, 0.3] }}]\n\
             [key.j]\nvalues = 2\nparents = [\"h\", \"s\"]\n{key}rows = [{{ when = {{ h = \"1\" }}, p = [0.3, 0.7] }}, {{ p = [0.8, 0.2] }}]\n\
             [key.k]\nvalues = 2\nparents = [\"j\", \"y\"]\n{last}rows = [{{ when = {{ j = \"1\" }}, p = [0.1, 0.9] }}, {{ p = [0.8, 0.2] }}]\n\
             [reward.r]\nscope = [\"k\"]\nvalue = [0, 1]\n"
        );
        World::from_toml(&text, "mixed.toml").unwrap_or_else(|e| panic!("{e}"))
    };
    let (knowledge, form, free) = ("", "learn = \"logit\"\n", "learn = \"table\"\n");
    let guess = "learn = { form = \"logit\", weight = 5 }\n";
    for [hidden, key, last] in [
        [knowledge, knowledge, form],
        [knowledge, form, free],
        [form, knowledge, knowledge],
        [form, free, knowledge],
        [free, free, form],
        [guess, form, knowledge],
        [knowledge, guess, guess],
    ] {
        let world = mixed(hidden, key, last);
        let arena = dowise::Arena::new(&world).expect("a world that can be played");
        for name in
            ["graph-psrl", "graph-psrl:forms=false", "graph-ucbvi:unknown=rewards", "graph-ucbvi:unknown=all,known=s"]
        {
            let spec: LearnerSpec = name.parse().expect("a learner");
            let mut whole = spec.learner(&world, 12, 3).expect("a learner for this world");
            let mut run = arena.run(3);
            for _ in 0..6 {
                run.play(&mut whole, false);
            }
            let restored = Learner::restore_in(&world, &whole.save());
            let mut restored = restored.unwrap_or_else(|e| panic!("{name} in {hidden}{key}{last}: {e}"));
            let mut other = arena.run(3);
            // The other run comes to the same place with a learner that is of no use.
            let mut idle = spec.learner(&world, 12, 3).expect("a learner for this world");
            for _ in 0..6 {
                other.play(&mut idle, false);
            }
            for _ in 0..6 {
                let (a, b) = (run.play(&mut whole, true), other.play(&mut restored, true));
                assert_eq!(a.regret, b.regret, "{name} in {hidden}{key}{last}");
            }
            assert_eq!(whole.save(), restored.save(), "{name} in {hidden}{key}{last}");
        }
    }
}

#[test]
fn a_strong_effect_is_found_however_weak_effects_usually_are() {
    let text = "dowise = 1\nhorizon = 1\n[state.s]\nvalues = [\"only\"]\nscope = [\"s\"]\nnext = [[1]]\n\
        [lever.x]\nvalues = [\"no\", \"yes\"]\n[key.k]\nvalues = [\"no\", \"yes\"]\nparents = [\"x\"]\n\
        logit = { base = -1.99, effects = { x = { yes = 3.98 } } }\n\
        [reward.sale]\nscope = [\"k\"]\nvalue = [0, 1]\n[reward.spent]\nscope = [\"x\"]\nvalue = [0, -0.5]\n\
        [interventions]\nset = \"all\"\n";
    let world = World::from_toml(text, "strong.toml").unwrap_or_else(|e| panic!("{e}"));
    let arena = Arena::new(world.clone());
    // The better arm is worth 0.38, the other 0.12. Whoever never tries it loses 0.26 in each of 400 episodes: 104 in all.
    for name in ["graph-psrl", "graph-ucbvi", "cf-psrl", "c-ucbvi"] {
        let regret = |spec: &str| -> f64 {
            let spec: dowise::LearnerSpec = spec.parse().expect("a learner");
            let runs = (1..=5).map(|seed| {
                let mut learner = spec.learner(&world, 400, seed).expect("a learner");
                arena.regrets_of(&mut learner, 400, seed).iter().sum::<f64>()
            });
            runs.sum::<f64>() / 5.0
        };
        let form = regret(&format!("{name}:unknown=kernel"));
        let table = regret(&format!("{name}:unknown=kernel,forms=false"));
        assert!(form < (2.0 * table).max(8.0), "{name}: {form} with the form, {table} as a table");
    }
}
