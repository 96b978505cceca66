//! Learners that forget: by age they know the last steps and nothing else, and a change of the world is noticed row by row.

use std::collections::BTreeSet;

use dowise::learn::{Agent, ChangeNoticed, Evidence, EvidenceError, SeenOf};
use dowise::simulate::Changing;
use dowise::worlds::Redrawn;
use dowise::{Knowledge, Learner, LearnerSpec, Options, World};
use proptest::prelude::*;

use crate::draft::Draft;
use crate::play::{Arena, Seen, Watched, knowledge, resealed, steps};
use crate::small_worlds;

const FORMS: [&str; 4] = ["window:7", "window:1", "discount:0.8", "reset"];

fn options(text: &str, episodes: u64) -> Options {
    text.parse::<LearnerSpec>().unwrap_or_else(|e| panic!("{text}: {e}")).options(episodes, 3)
}

fn recounted(knowledge: &Knowledge, options: &Options, steps: &[Seen]) -> String {
    let mut evidence = Evidence::new(knowledge, options).unwrap();
    steps.iter().for_each(|step| evidence.add(&step.observation()).unwrap());
    evidence.save()
}

#[test]
fn with_a_window_a_learner_knows_the_last_steps_and_nothing_else() {
    for world in [small_worlds::factored(1), small_worlds::crooked(1)] {
        let arena = Arena::new(world);
        let horizon = arena.world.horizon();
        for (knowledge, name) in
            knowledge(&arena).iter().flat_map(|knowledge| ["ucbvi", "c-psrl", "graph-ucbvi"].map(|n| (knowledge, n)))
        {
            let options = options(&format!("{name}:forget=window:7"), 30);
            let mut learner = Learner::new(knowledge, options.clone()).unwrap();
            let (mut run, mut watched) = (arena.run(2), Watched::new(&mut learner));
            for _ in 0..30 {
                run.episode(&mut watched);
                let last = watched.seen.len().saturating_sub(7 * horizon);
                let expected = recounted(knowledge, &options, &watched.seen[last..]);
                assert_eq!(watched.agent.evidence().unwrap().save(), expected, "{name}");
            }
        }
    }
}

#[test]
fn a_window_that_is_never_full_changes_nothing() {
    let arena = Arena::new(small_worlds::factored(2));
    for name in ["f-ucbvi:schedule=episode", "cf-ucbvi:width=hoeffding-v", "graph-psrl", "epsilon-greedy"] {
        let plain = arena.regrets(options(name, 40), 5);
        let colon = if name.contains(':') { ',' } else { ':' };
        for forget in ["window:40", "window:1000000000", "window:1000000000000", "discount:0.9999999999999999"] {
            assert_eq!(
                arena.regrets(options(&format!("{name}{colon}forget={forget}"), 40), 5),
                plain,
                "{name} {forget}"
            );
        }
    }
}

#[test]
fn of_age_k_a_share_to_the_power_of_k_is_remembered() {
    let arena = Arena::new(small_worlds::one_factor(1));
    let (share, horizon) = (0.9f64, arena.world.horizon() as f64);
    let mut learner = Learner::new(&arena.knowledge(), options("c-psrl:forget=discount:0.9", 1000)).unwrap();
    let (mut sum, mut times) = (0.0, 0.0);
    for (i, step) in steps(&arena, 1000, 4).iter().enumerate() {
        learner.learn(&step.observation()).unwrap();
        if i > 500 {
            (sum, times) = (sum + learner.evidence().unwrap().steps() as f64, times + 1.0);
        }
    }
    let expected = 1.0 / (1.0 - share.powf(1.0 / horizon));
    let mean = sum / times;
    assert!((mean / expected - 1.0).abs() < 0.06, "{mean} {expected}");
}

#[test]
fn where_nothing_changes_a_learner_that_resets_does_what_it_would_do_anyway() {
    for world in [small_worlds::factored(4), small_worlds::crooked(4), small_worlds::one_factor(4)] {
        let arena = Arena::new(world);
        for knowledge in knowledge(&arena) {
            for name in ["ucbvi", "c-psrl", "cf-ucbvi", "graph-psrl", "graph-ucbvi:schedule=doubling"] {
                let colon = if name.contains(':') { ',' } else { ':' };
                let play = |text: &str| {
                    let mut learner = Learner::new(&knowledge, options(text, 150)).unwrap();
                    let regrets = arena.regrets_of(&mut learner, 150, 7);
                    assert_eq!((learner.changes(), learner.n_changes()), (vec![], 0), "{text}");
                    regrets
                };
                assert_eq!(play(&format!("{name}{colon}forget=reset")), play(name), "{name}");
            }
        }
    }
}

/// A world and the same with some rows drawn anew.
fn changed(world: &World, share: f64, mechanisms: bool) -> [World; 2] {
    [world.clone(), Redrawn { share, mechanisms, seed: 3 }.of(world)]
}

/// Plays in a world that changes after some episodes.
fn play_on(worlds: &[World; 2], every: u64, episodes: u64, learner: &mut Learner) -> f64 {
    let changing = Changing::new(worlds, every).unwrap();
    let mut run = changing.run(5);
    (0..episodes).map(|_| run.episode(learner).regret).sum()
}

/// The row of a table that a change speaks of, by the names that it gives.
fn row_of(world: &World, change: &ChangeNoticed) -> (usize, usize) {
    assert_eq!((change.of, change.names.len()), (SeenOf::Transition, 1));
    let factor = world.state().iter().position(|&id| world.variable(id).name == change.names[0]).unwrap();
    let row = world.transitions()[factor].parents.iter().fold(0, |row, &id| {
        let variable = world.variable(id);
        let (_, value) = change.given.iter().find(|(name, _)| *name == variable.name).expect("every parent is given");
        row * variable.size() + variable.values.iter().position(|v| v == value).unwrap()
    });
    (factor, row)
}

#[test]
fn changes_are_noticed_in_the_rows_that_changed_and_in_no_other() {
    let worlds = changed(&small_worlds::all_keys(1), 0.3, false);
    let mut differ = BTreeSet::new();
    for (factor, (a, b)) in worlds[0].transitions().iter().zip(worlds[1].transitions()).enumerate() {
        let rows = |table: &Option<std::sync::Arc<[f64]>>| -> Vec<[f64; 2]> {
            table.as_ref().unwrap().chunks(2).map(|c| [c[0], c[1]]).collect()
        };
        let pairs = rows(&a.table).into_iter().zip(rows(&b.table)).enumerate();
        differ.extend(
            pairs
                .filter(|(_, (a, b))| a != b)
                .map(|(row, (a, b))| ((factor, row), (a[0] - b[0]).abs() > 0.3))
                .map(|(at, _)| at),
        );
    }
    for name in ["graph-psrl", "cf-ucbvi"] {
        let mut learner =
            Learner::new(&Knowledge::of(&worlds[0]), options(&format!("{name}:forget=reset"), 1200)).unwrap();
        play_on(&worlds, 600, 1200, &mut learner);
        let changes = learner.changes();
        assert!(changes.len() >= 3, "{name}: {changes:?}");
        assert_eq!(changes.len() as u64, learner.n_changes());
        for change in &changes {
            assert!(differ.contains(&row_of(&worlds[0], change)), "{name}: {}", change.what);
            assert!(change.episode > 600 && change.since <= change.episode, "{name}: {change:?}");
            let sum = |side: usize| change.shares.iter().map(|(_, shares)| shares[side]).sum::<f64>();
            assert!((sum(0) - 1.0).abs() < 1e-9 && (sum(1) - 1.0).abs() < 1e-9, "{change:?}");
            assert!(change.what.starts_with("the next s") && change.what.contains(" where s"), "{}", change.what);
        }
        let near = changes.iter().filter(|change| change.since.abs_diff(601) <= 40).count();
        assert!(2 * near >= changes.len(), "{name}: {changes:?}");
    }
}

#[test]
fn mechanisms_rewards_and_whole_states_that_change_are_noticed_by_name() {
    let before = Draft::new(3, 1)
        .state("s", 2)
        .lever("x", 2)
        .key("z", 2)
        .given(&["z"], &["x"], vec![0.9, 0.1, 0.2, 0.8])
        .next("s", &["s", "z"])
        .pays_between("r", &["z"], [0.0, 1.0], true)
        .world();
    let after = Redrawn { share: 1.0, mechanisms: true, seed: 2 }.of(&before);
    for name in ["c-ucbvi", "graph-psrl", "psrl"] {
        let knowledge = Knowledge::of(&before).without_mechanisms().without_rewards();
        let text = format!("{name}:forget=reset");
        let mut learner = Learner::new(&knowledge, options(&text, 600)).unwrap();
        play_on(&[before.clone(), after.clone()], 300, 600, &mut learner);
        let changes = learner.changes();
        let of = |of: SeenOf| changes.iter().find(|c| c.of == of);
        let transition = of(SeenOf::Transition).unwrap_or_else(|| panic!("{name}: {changes:?}"));
        assert!(
            transition.given.iter().any(|(given, _)| given == if name == "psrl" { "do" } else { "z" }),
            "{transition:?}"
        );
        if name != "psrl" {
            let mechanism = of(SeenOf::Mechanism).unwrap_or_else(|| panic!("{name}: {changes:?}"));
            assert!(mechanism.what.starts_with("z where x="), "{}", mechanism.what);
        }
    }
    // A reward that pays more than it did: its rows are those of the key variable.
    let knowledge = Knowledge::of(&before).without_rewards();
    let mut learner = Learner::new(&knowledge, options("graph-psrl:forget=reset", 600)).unwrap();
    for (i, step) in steps(&Arena::new(before), 400, 3).iter().enumerate() {
        let mut step = step.clone();
        step.rewards = vec![if i < 600 { 0.1 } else { 0.9 }];
        learner.learn(&step.observation()).unwrap();
    }
    let changes = learner.changes();
    let paid: Vec<&ChangeNoticed> = changes.iter().filter(|c| c.of == SeenOf::Reward).collect();
    assert!(!paid.is_empty(), "{changes:?}");
    for change in paid {
        let [was, is] = change.shares[0].1;
        assert!((was - 0.1).abs() < 0.02 && (is - 0.9).abs() < 0.05, "{change:?}");
        assert!(change.what.starts_with("the reward r where z="), "{}", change.what);
    }
}

#[test]
fn after_a_change_those_who_forget_lose_far_less() {
    let worlds = changed(&dowise::worlds::world("paper", &[("seed", "2")]).unwrap(), 1.0, false);
    let regret = |text: &str| {
        let mut learner = Learner::new(&Knowledge::of(&worlds[0]), options(text, 1600)).unwrap();
        play_on(&worlds, 800, 1600, &mut learner)
    };
    let never = regret("cf-psrl");
    for (forget, most) in [("reset", 0.5), ("window:150", 1.0), ("discount:0.98", 1.0)] {
        let forgets = regret(&format!("cf-psrl:forget={forget}"));
        assert!(forgets < most * never, "{forget}: {forgets} {never}");
    }
}

#[test]
fn stopping_and_going_on_changes_nothing() {
    let worlds = changed(&small_worlds::all_keys(2), 1.0, true);
    let knowledge = Knowledge::of(&worlds[0]).without_mechanisms().without_rewards();
    let changing = Changing::new(&worlds, 60).unwrap();
    for name in ["graph-psrl", "c-ucbvi", "epsilon-greedy", "ucbvi:stage-dependent=true"] {
        for forget in FORMS {
            let colon = if name.contains(':') { ',' } else { ':' };
            let options = options(&format!("{name}{colon}forget={forget}"), 160);
            let mut whole = Learner::new(&knowledge, options.clone()).unwrap();
            let mut again = whole.clone();
            let [mut run, mut second] = [changing.run(1), changing.run(1)];
            for episode in 0..160 {
                let expected = run.episode(&mut whole);
                if episode % 13 == 0 {
                    let text = again.save();
                    again = Learner::restore(&knowledge, &text).unwrap_or_else(|e| panic!("{name} {forget}: {e}"));
                    assert_eq!(again.save(), text, "{name} {forget}");
                }
                assert_eq!(second.episode(&mut again), expected, "{name} {forget} {episode}");
            }
            assert_eq!((again.save(), again.changes()), (whole.save(), whole.changes()), "{name} {forget}");
        }
    }
}

#[test]
fn episodes_side_by_side_go_across_a_change() {
    let worlds = changed(&small_worlds::all_keys(3), 1.0, false);
    let knowledge = Knowledge::of(&worlds[0]);
    for forget in FORMS {
        let mut learner = Learner::new(&knowledge, options(&format!("graph-psrl:forget={forget}"), 2000)).unwrap();
        let arenas = worlds.clone().map(Arena::new);
        let mut first = learner.begin();
        let early = steps(&arenas[0], 1, 9).remove(0);
        first.act(&mut learner, early.state).unwrap();
        first.observe(&mut learner, &early.observation()).unwrap();
        for (arena, seed) in arenas.iter().zip([1, 2]) {
            let all = steps(arena, 300, seed);
            for batch in all.chunks(30) {
                let mut sessions: Vec<_> = (0..10).map(|_| learner.begin()).collect();
                for stage in 0..3 {
                    for (session, steps) in sessions.iter_mut().zip(batch.chunks(3)) {
                        session.observe(&mut learner, &steps[stage].observation()).unwrap();
                    }
                }
                sessions.into_iter().for_each(|session| session.end(&mut learner));
            }
        }
        // By now it is forgotten, or in a row that was begun again; a correction is taken all the same.
        first.take_back(&mut learner, &early.observation()).unwrap_or_else(|e| panic!("{forget}: {e}"));
        first.observe(&mut learner, &early.observation()).unwrap();
        first.end(&mut learner);
        assert_eq!(learner.n_changes() > 0, forget == "reset", "{forget}");
        let text = learner.save();
        assert_eq!(Learner::restore(&knowledge, &text).unwrap().save(), text);
    }
}

#[test]
fn what_was_never_taken_in_is_not_taken_back() {
    let arena = Arena::new(small_worlds::one_factor(3));
    let [one, other] = [0, 1].map(|i| steps(&arena, 1, 2)[i].observation());
    for forget in FORMS {
        let mut learner = Learner::new(&arena.knowledge(), options(&format!("c-psrl:forget={forget}"), 10)).unwrap();
        assert_eq!(learner.take_back(&one), Err(EvidenceError::NotThere), "{forget}");
        learner.learn(&one).unwrap();
        assert_eq!(learner.take_back(&other), Err(EvidenceError::NotThere), "{forget}");
        learner.take_back(&one).unwrap();
        assert_eq!(learner.evidence().unwrap().steps(), 0, "{forget}");
    }
}

#[test]
fn weights_count_at_the_cost_of_one() {
    let arena = Arena::new(small_worlds::one_factor(3));
    let knowledge = arena.knowledge().without_rewards();
    let all = steps(&arena, 40, 2);
    for forget in FORMS {
        let mut learner = Learner::new(&knowledge, options(&format!("c-psrl:forget={forget}"), 10)).unwrap();
        for (i, step) in all.iter().enumerate() {
            let times = if i == 3 { 4_000_000_000 } else { 1 + (i % 3) as u32 };
            learner.learn_times(&step.observation(), times).unwrap();
        }
        let text = learner.save();
        assert_eq!(Learner::restore(&knowledge, &text).unwrap().save(), text, "{forget}");
        learner.take_back(&all[3].observation()).unwrap();
        all.iter().rev().for_each(|step| learner.take_back(&step.observation()).unwrap());
        let text = learner.save();
        assert_eq!(Learner::restore(&knowledge, &text).unwrap().save(), text, "{forget}");
    }
}

#[test]
fn rows_with_one_value_one_stage_and_missing_parts_are_no_trouble() {
    let world = Draft::new(1, 1)
        .state("s", 1)
        .state("t", 2)
        .lever("x", 2)
        .key("z", 2)
        .drawn(&["z"], &["x"])
        .next("s", &["s"])
        .next("t", &["t", "z"])
        .pays_between("r", &["z"], [0.0, 1.0], false)
        .world();
    let arena = Arena::new(world);
    let knowledge = arena.knowledge().without_mechanisms().without_rewards();
    for (name, forget) in ["ucbvi", "c-psrl", "graph-ucbvi"].iter().flat_map(|n| FORMS.map(|f| (n, f))) {
        let mut learner = Learner::new(&knowledge, options(&format!("{name}:forget={forget}"), 50)).unwrap();
        arena.regrets_of(&mut learner, 50, 1);
        for step in steps(&arena, 50, 2) {
            let mut missing = step.outcome();
            missing.rewards[0] = f64::NAN;
            missing.values[3] = u32::MAX;
            let seen = missing.observation(0, step.state, step.action).into_owned();
            learner.learn(&seen).unwrap();
            learner.learn(&step.observation()).unwrap();
            learner.take_back(&seen).unwrap();
        }
        let text = learner.save();
        assert_eq!(Learner::restore(&knowledge, &text).unwrap().save(), text, "{name} {forget}");
    }
}

#[test]
fn what_rests_on_a_world_that_stays_is_refused_by_name() {
    let arena = Arena::new(small_worlds::factored(1));
    let knowledge = arena.knowledge();
    let refused = |text: &str| Learner::new(&knowledge, options(text, 10)).expect_err(text).to_string();
    for forget in FORMS {
        let with = |text: &str| refused(&format!("{text},forget={forget}"));
        assert!(with("graph-psrl:guard=true").starts_with("a guard of a learner that forgets: "), "{forget}");
        assert!(with("c-ucbvi:monotone=true").starts_with("values that never rise of a learner that forgets"));
        assert!(with("c-ucbvi:schedule=visited").ends_with("leave monotone=true and schedule=visited out"));
        let mut learner = Learner::new(&knowledge, options(&format!("graph-ucbvi:forget={forget}"), 10)).unwrap();
        assert!(
            learner.certificate(0.1).unwrap_err().to_string().starts_with("a certificate of a learner that forgets")
        );
        assert!(learner.watch_graph(0.1).unwrap_err().to_string().starts_with("a test of the graph of a learner"));
        let today = arena.optimal.policy_hs.clone();
        let kept = learner.keep_baseline(&today, 0.1, None).unwrap_err().to_string();
        assert!(kept.contains("the promise rests on a world that stays as it is"), "{kept}");
        let evidence = Evidence::new(&knowledge, &options("graph-psrl", 10)).unwrap();
        let made = Learner::with_evidence(evidence, options(&format!("graph-psrl:forget={forget}"), 10));
        assert_eq!(made.is_ok(), forget == "reset");
    }
    assert!(refused("graph-psrl:schedule=doubling,forget=window:3").starts_with("schedule=doubling of a learner"));
    let says = |text: &str| text.parse::<LearnerSpec>().unwrap_err().to_string();
    for bad in [
        "window:0",
        "window:-1",
        "window:1.5",
        "window:1e3",
        "window",
        "discount:0",
        "discount:1",
        "discount:nan",
        "discount:1.5",
        "rest",
        "window:99999999999999999999",
    ] {
        let text = says(&format!("graph-psrl:forget={bad}"));
        let windows = "it must be never, reset, window:EPISODES (a whole number from 1 to 10^12), discount:SHARE";
        assert!(text.contains(windows), "{text}");
    }
    assert!(says("lsvi-ucb:forget=reset").contains("it regresses on features"));
    assert!(says("uniform:forget=reset").contains("it learns nothing"));
    let direct = Options { forget: dowise::learn::Forget::Discount { share: 1.0 }, ..Options::default() };
    let message = Learner::new(&knowledge, direct).unwrap_err().to_string();
    assert_eq!(message, "forget=discount = 1: the share that is remembered is between 0 and 1, neither included");
}

/// Puts something in place of the n-th number or text within a part of a file; whether there is an n-th.
fn replace(value: &mut serde_json::Value, n: &mut usize, with: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::Array(list) => list.iter_mut().any(|v| replace(v, n, with)),
        serde_json::Value::Object(map) => map.values_mut().any(|v| replace(v, n, with)),
        serde_json::Value::Number(_) | serde_json::Value::String(_) if *n == 0 => {
            *value = with.clone();
            true
        }
        serde_json::Value::Number(_) | serde_json::Value::String(_) => {
            *n -= 1;
            false
        }
        serde_json::Value::Null | serde_json::Value::Bool(_) => false,
    }
}

/// A learner that has noticed changes of values and payments, what the learner knows, and the steps it has seen last.
fn noticed(forget: &str) -> (Knowledge, String, Vec<Seen>) {
    let worlds = changed(&small_worlds::one_factor(5), 1.0, true);
    let knowledge = Knowledge::of(&worlds[0]).without_mechanisms().without_rewards();
    let mut learner = Learner::new(&knowledge, options(&format!("c-psrl:forget={forget}"), 200)).unwrap();
    let changing = Changing::new(&worlds, 80).unwrap();
    let (mut run, mut watched) = (changing.run(4), Watched::new(&mut learner));
    (0..160).for_each(|_| {
        run.episode(&mut watched);
    });
    let seen = watched.seen.split_off(watched.seen.len() - 40);
    (knowledge, learner.save(), seen)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn forged_files_are_refused_or_go_on(form in 0usize..4, at in any::<prop::sample::Index>(), with in prop_oneof![
        Just(serde_json::json!(0)), Just(serde_json::json!(1)), Just(serde_json::json!(2)), Just(serde_json::json!(4097)),
        Just(serde_json::json!(u32::MAX)), Just(serde_json::json!(u64::MAX)), Just(serde_json::json!("ffffffffffffffffffffffff")), Just(serde_json::json!("0")),
    ]) {
        let (knowledge, text, seen) = noticed(FORMS[form]);
        let mut file: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mut n = at.index(2000);
        let around = &mut file["around"];
        if !replace(around, &mut n, &with) {
            replace(around, &mut { n % 40 }, &with);
        }
        if let Ok(mut learner) = Learner::restore(&knowledge, &resealed(&knowledge, &file.to_string())) {
            for step in &seen {
                let _ = learner.take_back(&step.observation());
                let _ = learner.learn(&step.observation());
            }
            for step in &seen {
                let _ = learner.learn_times(&step.observation(), 3);
            }
            learner.begin_episode();
            learner.changes();
            let text = learner.save();
            prop_assert_eq!(Learner::restore(&knowledge, &text).unwrap().save(), text);
        }
    }

    #[test]
    fn steps_come_and_are_taken_back_in_any_order(form in 0usize..4, seed in 0u64..1000, back in prop::collection::vec((0usize..120, 0usize..40), 40)) {
        let worlds = changed(&small_worlds::one_factor(6), 1.0, true);
        let knowledge = Knowledge::of(&worlds[0]).without_mechanisms().without_rewards();
        let mut learner = Learner::new(&knowledge, options(&format!("c-ucbvi:forget={}", FORMS[form]), 200)).unwrap();
        let arenas = worlds.map(Arena::new);
        let all: Vec<Seen> = arenas.iter().flat_map(|arena| steps(arena, 60, seed)).collect();
        let mut taken = BTreeSet::new();
        for (i, step) in all.iter().enumerate() {
            learner.learn(&step.observation()).unwrap();
            for (_, age) in back.iter().filter(|(at, _)| *at == i % 120) {
                if let Some(old) = i.checked_sub(*age).filter(|old| taken.insert(*old)) {
                    learner.take_back(&all[old].observation()).unwrap();
                }
            }
        }
        let text = learner.save();
        prop_assert_eq!(Learner::restore(&knowledge, &text).unwrap().save(), text);
    }
}
