//! Saved and restored learners go on as if nothing had happened; files that do not fit are refused.

use dowise::learn::{Agent, Causes, Estimate, RestoreError, Schedule, Sets, States, Width};
use dowise::{Knowledge, Learner, Options, Preset, Run};
use proptest::prelude::*;

use crate::play::{Arena, resealed};
use crate::small_worlds;

const EPISODES: u64 = 24;

/// Regret of every episode, and the text at the end.
fn play(run: &mut Run<'_>, learner: &mut Learner, episodes: u64) -> Vec<u64> {
    (0..episodes).map(|_| run.episode(learner).regret.to_bits()).collect()
}

fn stopping_changes_nothing(arena: &Arena, knowledge: &Knowledge, options: &Options) {
    let mut whole = Learner::new(knowledge, options.clone()).expect("a learner");
    let mut run = arena.run(4);
    let regrets = play(&mut run, &mut whole, EPISODES);
    let text = whole.save();
    for stop in 0..EPISODES {
        let mut first = Learner::new(knowledge, options.clone()).expect("a learner");
        let mut run = arena.run(4);
        let mut all = play(&mut run, &mut first, stop);
        let saved = first.save();
        let mut second = Learner::restore(knowledge, &saved).unwrap_or_else(|e| panic!("{options:?} at {stop}: {e}"));
        assert_eq!(second.save(), saved, "{options:?} at {stop}");
        all.extend(play(&mut run, &mut second, EPISODES - stop));
        assert_eq!(all, regrets, "{options:?} at {stop}");
        assert_eq!(second.save(), text, "{options:?} at {stop}");
    }
}

#[test]
fn every_preset_goes_on_after_any_episode() {
    let arena = Arena::new(small_worlds::factored(1));
    for preset in Preset::all().iter().filter(|p| p.linear().is_none()) {
        stopping_changes_nothing(&arena, &arena.knowledge(), &preset.options(EPISODES, 3));
    }
}

fn settings() -> Vec<Options> {
    let base = "graph-ucbvi".parse::<Preset>().unwrap().options(EPISODES, 3);
    let flat = Options { states: States::Flat, causes: Causes::Keys, ..base.clone() };
    let psrl = Options { estimate: Estimate::Posterior { prior: 1.0 }, ..base.clone() };
    let mut all = vec![
        Options { estimate: Estimate::Width(Width::HoeffdingV), scale: 0.2, monotone: true, ..base.clone() },
        Options { estimate: Estimate::Width(Width::AzarBernstein), scale: 0.01, monotone: true, ..flat.clone() },
        Options { stage_dependent: true, ..base.clone() },
        Options { estimate: Estimate::Sets(Sets::L1), schedule: Schedule::Visited, ..base.clone() },
        Options { schedule: Schedule::Doubling, ..base.clone() },
        Options { schedule: Schedule::Doubling, ..psrl.clone() },
        Options { schedule: Schedule::Doubling, estimate: Estimate::EpsilonGreedy { epsilon: 0.3 }, ..base.clone() },
        Options { schedule: Schedule::Visited, estimate: Estimate::EpsilonGreedy { epsilon: 0.3 }, ..base.clone() },
        Options { schedule: Schedule::Visited, estimate: Estimate::Uniform, ..base.clone() },
        Options { guard: true, ..base.clone() },
        Options { guard: true, schedule: Schedule::Doubling, ..flat },
        Options { guard: true, schedule: Schedule::Visited, ..base },
        Options { guard: true, ..psrl },
    ];
    all.iter_mut().for_each(|o| o.seed = 9);
    all
}

#[test]
fn every_schedule_and_guard_goes_on_after_any_episode() {
    for world in [small_worlds::factored(2), small_worlds::crooked(2)] {
        let arena = Arena::new(world);
        for options in settings() {
            stopping_changes_nothing(&arena, &arena.knowledge(), &options);
        }
    }
}

#[test]
fn what_is_learned_of_rewards_and_mechanisms_goes_on_too() {
    for world in [small_worlds::factored(3), small_worlds::crooked(3)] {
        let arena = Arena::new(world);
        for options in settings() {
            let knowledge = arena.knowledge().without_mechanisms().without_rewards();
            stopping_changes_nothing(&arena, &knowledge, &options);
        }
    }
}

#[test]
fn a_learner_that_was_never_asked_for_its_policy_can_be_restored() {
    let arena = Arena::new(small_worlds::one_factor(1));
    let options = Options { schedule: Schedule::Visited, ..Preset::all()[2].options(10, 1) };
    let mut learner = Learner::new(&arena.knowledge(), options).unwrap();
    learner.begin_episode();
    learner.act(0, 0);
    learner.end_episode();
    let text = learner.save();
    assert_eq!(Learner::restore(&arena.knowledge(), &text).unwrap().save(), text);
}

fn saved(arena: &Arena) -> String {
    let options = Options { guard: true, .."cf-ucbvi".parse::<Preset>().unwrap().options(10, 1) };
    let mut learner = Learner::new(&arena.knowledge().without_rewards(), options).unwrap();
    arena.regrets_of(&mut learner, 10, 1);
    learner.save()
}

fn refused(knowledge: &Knowledge, text: &str) -> String {
    Learner::restore(knowledge, text).expect_err("refused").to_string()
}

#[test]
fn another_world_another_version_and_damage_are_distinguished() {
    let arena = Arena::new(small_worlds::one_factor(1));
    let knowledge = arena.knowledge().without_rewards();
    let text = saved(&arena);
    assert!(Learner::restore(&knowledge, &text).is_ok());

    for other in [arena.knowledge(), Arena::new(small_worlds::one_factor(2)).knowledge().without_rewards()] {
        let message = refused(&other, &text);
        let expected = format!(
            "the learner was saved for another world (or with other options `unknown`, `known` or `forms`): fingerprint {}, here {}",
            knowledge.fingerprint(),
            other.fingerprint()
        );
        assert_eq!(message, expected);
    }
    assert_eq!(
        refused(&knowledge, &text.replacen("\"version\":3", "\"version\":7", 1)),
        "this is `dowise learner` version 7, and this dowise reads `dowise learner` version 3; \
         a newer dowise wrote it, with fields that this one does not know: update dowise"
    );
    assert_eq!(
        refused(&knowledge, &text.replacen("dowise learner", "dowise plan", 1)),
        "this is `dowise plan` version 3, and this dowise reads `dowise learner` version 3 here; give a file of that kind"
    );
    assert!(refused(&knowledge, "").starts_with("this is not a saved learner: "));
    assert!(refused(&knowledge, &text[..text.len() / 2]).starts_with("this is not a saved learner: "));
    assert_eq!(
        refused(&knowledge, &resealed(&knowledge, &text.replace("\"delta\":0.1", "\"delta\":1.5"))),
        "delta = 1.5: delta is a probability between 0 and 1, neither included"
    );
}

/// The part of the file that is said to be wrong, once the checksum is made right.
fn damaged(knowledge: &Knowledge, text: &str, field: &str, change: impl Fn(&mut serde_json::Value)) {
    let mut file: serde_json::Value = serde_json::from_str(text).unwrap();
    change(&mut file);
    let file = file.to_string();
    match Learner::restore(knowledge, &file) {
        Err(RestoreError::Damaged { field, .. }) => assert_eq!(field, "seal", "{file}"),
        other => panic!("{other:?}: {file}"),
    }
    match Learner::restore(knowledge, &resealed(knowledge, &file)) {
        Err(RestoreError::Damaged { field: found, .. }) => assert_eq!(found, field, "{file}"),
        other => panic!("{other:?}: {file}"),
    }
}

#[test]
fn numbers_that_cannot_be_are_damage() {
    let arena = Arena::new(small_worlds::one_factor(1));
    let knowledge = arena.knowledge().without_rewards();
    let text = saved(&arena);
    fn of(file: &mut serde_json::Value) -> &mut serde_json::Value {
        &mut file["learner"]["tabular"]
    }
    damaged(&knowledge, &text, "evidence.transitions", |f| of(f)["evidence"]["transitions"][0][0][0][0] = 999.into());
    damaged(&knowledge, &text, "evidence.transitions", |f| of(f)["evidence"]["transitions"][0][0][0][1] = 9.into());
    damaged(&knowledge, &text, "evidence.transitions", |f| of(f)["evidence"]["transitions"][0][0][0][2] = 0.into());
    damaged(&knowledge, &text, "evidence.transitions", |f| {
        of(f)["evidence"]["transitions"][0][0][0][2] = u32::MAX.into()
    });
    // One visit more, and nothing else.
    damaged(&knowledge, &text, "evidence.seal", |f| {
        let n = &mut of(f)["evidence"]["transitions"][0][0][0][2];
        *n = (n.as_u64().unwrap() - 1).max(1).into();
        of(f)["evidence"]["transitions"][0][0][1][2] = 1.into();
    });
    // The same cell twice.
    damaged(&knowledge, &text, "evidence.transitions", |f| {
        let twice = of(f)["evidence"]["transitions"][0][0][0].clone();
        of(f)["evidence"]["transitions"][0][0].as_array_mut().unwrap().push(twice);
    });
    damaged(&knowledge, &text, "evidence.transitions", |f| of(f)["evidence"]["transitions"] = serde_json::json!([]));
    damaged(&knowledge, &text, "evidence.payments", |f| {
        of(f)["evidence"]["payments"][0][0][2] = "fffffffffffffffffffff".into()
    });
    damaged(&knowledge, &text, "evidence.payments", |f| of(f)["evidence"]["payments"] = serde_json::json!([]));
    damaged(&knowledge, &text, "evidence.visits", |f| of(f)["evidence"]["steps"] = 41.into());
    damaged(&knowledge, &text, "ended", |f| f["begun"] = 9.into());
    damaged(&knowledge, &text, "evidence.steps", |f| (f["begun"], f["ended"]) = (9.into(), 9.into()));
    damaged(&knowledge, &text, "learner.policy", |f| of(f)["policy"][0] = 12345.into());
    damaged(&knowledge, &text, "learner.value", |f| of(f)["value"] = serde_json::json!([0.0]));
    damaged(&knowledge, &text, "learner.value", |f| of(f)["value"][0] = 1e300.into());
    damaged(&knowledge, &text, "around", |f| f["around"] = serde_json::json!([]));
    damaged(&knowledge, &text, "around", |f| f["around"] = serde_json::json!(["explore"]));
    damaged(&knowledge, &text, "guard", |f| f["around"][0]["guard"]["history"][0][0][1] = 100_000.into());
    damaged(&knowledge, &text, "guard", |f| {
        f["around"][0]["guard"]["amendments"] = serde_json::json!([{"episode": 11, "found": "", "became": ""}]);
    });
    damaged(&knowledge, &text, "monitor", |f| f["around"][0]["guard"]["monitor"]["delta"] = 0.5.into());
    damaged(&knowledge, &text, "monitor", |f| {
        f["around"][0]["guard"]["monitor"]["numbers"][0]["visits"] = serde_json::json!([])
    });
    damaged(&knowledge, &text, "monitor", |f| {
        f["around"][0]["guard"]["monitor"]["found"] = serde_json::json!({"outcome": 99, "claim": 0, "steps": 1});
    });
    damaged(&knowledge, &text, "ended", |f| f["ended"] = u64::MAX.into());
    // One more could not be counted, or not be saved.
    damaged(&knowledge, &text, "learner.plans", |f| of(f)["plans"] = u64::MAX.into());
    damaged(&knowledge, &text, "ended", |f| f["begun"] = (u64::MAX / 2).into());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn no_damage_to_a_file_makes_a_learner_panic(at in any::<prop::sample::Index>(), with in "[0-9a-z\\[\\]{},:.\"-]{0,3}", cut in 0usize..4) {
        let arena = Arena::new(small_worlds::one_factor(1));
        let knowledge = arena.knowledge().without_rewards();
        let text = saved(&arena);
        let start = at.index(text.len());
        let end = (start + cut).min(text.len());
        let mutated = format!("{}{with}{}", &text[..start], &text[end..]);
        // Either it is refused, or it goes on.
        if let Ok(mut learner) = Learner::restore(&knowledge, &mutated) {
            arena.regrets_of(&mut learner, 2, 1);
            learner.explain(0, 0, 3).unwrap();
        }
    }
}
