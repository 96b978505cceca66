//! Saved and restored linear learners go on as if nothing had happened; files that do not fit are refused.

use dowise::learn::{LearnerSpec, RestoreError};
use dowise::linear::{Beta, Features, LinearLearner, LinearOptions, LinearPreset, Norms, Switching};
use dowise::{Agent, Arena, Knowledge, Run, worlds};
use proptest::prelude::*;

/// What a learner knows of the world of an arena.
fn knowledge(arena: &Arena) -> Knowledge {
    Knowledge::of(arena.world())
}

fn small(seed: u64) -> Arena {
    let linear = worlds::Linear {
        states: 3,
        causes: 4,
        levers: 2,
        levels: 2,
        dimension: 5,
        horizon: 3,
        seed,
        ..Default::default()
    };
    Arena::new(&linear.world().unwrap()).unwrap()
}

fn options(name: &str) -> LinearOptions {
    name.parse::<LinearPreset>().unwrap().options(400, 7)
}

/// Bits of the regret of each episode.
fn play(run: &mut Run<'_>, agent: &mut impl Agent, episodes: u64) -> Vec<u64> {
    (0..episodes).map(|_| run.episode(agent).regret.to_bits()).collect()
}

/// Plays on with a learner and with what was saved of it: every number that it shows must stay the same to the last bit.
fn goes_on(run: &Run<'_>, learner: &LinearLearner, mut again: LinearLearner, episodes: u64, what: &str) {
    let mut whole = learner.clone();
    assert_eq!(again.save(), whole.save(), "{what}");
    let (mut one, mut other) = (run.clone(), run.clone());
    assert_eq!(play(&mut one, &mut whole, episodes), play(&mut other, &mut again, episodes), "{what}");
    let bits = |x: &[f64]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    for stage in 0..whole.knowledge().horizon() {
        assert_eq!(
            bits(&whole.enumerated().unwrap().squared_widths(stage)),
            bits(&again.enumerated().unwrap().squared_widths(stage)),
            "{what}"
        );
        let ahead = &whole.enumerated().unwrap().plan().value_hs[..whole.knowledge().n_states()];
        assert_eq!(
            bits(&whole.enumerated().unwrap().weights(stage, ahead)),
            bits(&again.enumerated().unwrap().weights(stage, ahead)),
            "{what}"
        );
        assert_eq!(whole.beta(stage).to_bits(), again.beta(stage).to_bits(), "{what}");
    }
    assert_eq!(
        bits(&whole.enumerated().unwrap().plan().value_hs),
        bits(&again.enumerated().unwrap().plan().value_hs),
        "{what}"
    );
    assert_eq!(whole.save(), again.save(), "{what}");
}

fn settings() -> Vec<LinearOptions> {
    let ours = options("c-lsvi-ucb");
    vec![
        options("lsvi-ucb"),
        ours.clone(),
        options("c-rlsvi"),
        LinearOptions { switching: Switching::Doubling, ..ours.clone() },
        LinearOptions { stage_dependent: true, lambda: 0.01, beta: Beta::Fixed(0.3), ..ours.clone() },
        LinearOptions { switching: Switching::Doubling, ..options("c-rlsvi") },
        LinearOptions { switching: Switching::Doubling, stage_dependent: true, ..ours },
    ]
}

#[test]
fn every_linear_learner_goes_on_after_any_episode() {
    let arena = small(1);
    for knowledge in [knowledge(&arena), knowledge(&arena).without_rewards()] {
        for options in settings() {
            let mut learner = LinearLearner::new(&knowledge, options.clone()).unwrap();
            let mut run = arena.run(4);
            for stop in 0..12 {
                let again = LinearLearner::restore(&knowledge, &learner.save()).unwrap();
                goes_on(&run, &learner, again, 12 - stop, &format!("{options:?} at {stop}"));
                run.episode(&mut learner);
            }
        }
    }
}

#[test]
fn learners_go_on_around_the_steps_at_which_their_factor_is_computed_afresh() {
    // 512 steps lie between two refreshes: at three steps an episode the first falls into episode 171, the second into 342.
    let arena = small(2);
    for options in settings() {
        let mut learner = LinearLearner::new(&knowledge(&arena), options.clone()).unwrap();
        let mut run = arena.run(4);
        play(&mut run, &mut learner, 168);
        for stop in 168..174 {
            let again = LinearLearner::restore(&knowledge(&arena), &learner.save()).unwrap();
            goes_on(&run, &learner, again, 175, &format!("{options:?} at {stop}"));
            run.episode(&mut learner);
        }
    }
}

#[test]
fn a_learner_that_was_given_its_features_needs_them_again() {
    let arena = small(1);
    let knowledge = knowledge(&arena);
    let features = |slope: f64| {
        Features::from_fn(arena.world(), 3, Norms::Scale, |s, c, phi| {
            phi.copy_from_slice(&[1.0, s[0] as f64, slope * c[0] as f64]);
        })
        .unwrap()
    };
    let given = features(1.0);
    let mut learner = LinearLearner::with_features(&knowledge, &given, options("c-lsvi-ucb")).unwrap();
    let mut run = arena.run(4);
    play(&mut run, &mut learner, 9);
    let again = LinearLearner::restore_with_features(&knowledge, &given, &learner.save()).unwrap();
    goes_on(&run, &learner, again, 5, "given features");
    let refused = LinearLearner::restore(&knowledge, &learner.save()).unwrap_err();
    assert!(refused.to_string().starts_with("the learner was saved with other features (fingerprint "), "{refused}");
    let refused = LinearLearner::restore_with_features(&knowledge, &features(0.5), &learner.save()).unwrap_err();
    assert!(matches!(refused, RestoreError::OtherFeatures { .. }), "{refused}");
}

#[test]
fn the_size_of_the_file_does_not_grow_with_the_run() {
    let arena = small(3);
    let mut learner = LinearLearner::new(&knowledge(&arena), options("c-lsvi-ucb")).unwrap();
    let mut run = arena.run(4);
    let mut longest = [0, 0];
    for episode in 0..700 {
        run.episode(&mut learner);
        let half = usize::from(episode >= 350);
        longest[half] = longest[half].max(learner.save().len());
    }
    assert!(longest[1] < longest[0] + longest[0] / 10, "{longest:?}");
}

#[test]
fn a_learner_of_either_kind_is_restored_from_its_text_alone() {
    let arena = small(1);
    for name in
        ["c-lsvi-ucb", "c-rlsvi:unknown=rewards", "lsvi-ucb:features=one-hot", "c-ucbvi", "c-psrl:unknown=kernel"]
    {
        let spec: LearnerSpec = name.parse().unwrap();
        let mut learner = spec.learner(arena.world(), 20, 1).unwrap();
        let mut run = arena.run(4);
        play(&mut run, &mut learner, 6);
        let mut again = dowise::Learner::restore_in(arena.world(), &learner.save()).unwrap();
        let mut other = run.clone();
        assert_eq!(play(&mut run, &mut learner, 6), play(&mut other, &mut again, 6), "{name}");
        assert_eq!((again.save(), again.episodes()), (learner.save(), 12), "{name}");
    }
}

#[test]
fn a_run_that_is_stopped_goes_on_with_the_same_draws() {
    let arena = small(1);
    let mut learner = LinearLearner::new(&knowledge(&arena), options("c-rlsvi")).unwrap();
    let mut whole = arena.run(4);
    play(&mut whole, &mut learner, 7);
    let mut later = arena.run(4);
    later.go_on(whole.position());
    assert_eq!(later.position(), whole.position());
    let mut again = learner.clone();
    for _ in 0..5 {
        assert_eq!(whole.episode(&mut learner), later.episode(&mut again));
    }
}

#[test]
fn widths_and_samples_beyond_all_values_are_saved_and_restored() {
    let arena = small(1);
    for name in ["c-lsvi-ucb", "c-rlsvi", "lsvi-ucb", "c-blsvi"] {
        for beta_scale in [1e50, 1e100] {
            // With beta=residuals, λ follows from the noise.
            let lambda = if name == "c-blsvi" { 1.0 } else { 1e-12 };
            let options = LinearOptions { beta_scale, lambda, ..options(name) };
            let mut learner = LinearLearner::new(&knowledge(&arena), options).unwrap();
            play(&mut arena.run(4), &mut learner, 20);
            assert!(learner.enumerated().unwrap().plan().value_hs.iter().all(|v| v.is_finite()), "{name}");
            let restored = LinearLearner::restore(&knowledge(&arena), &learner.save());
            assert_eq!(restored.unwrap().save(), learner.save(), "{name}");
        }
    }
}

fn saved(arena: &Arena, episodes: u64) -> String {
    let mut learner = LinearLearner::new(&knowledge(arena), options("c-lsvi-ucb")).unwrap();
    play(&mut arena.run(4), &mut learner, episodes);
    learner.save()
}

#[test]
fn another_world_another_version_and_damage_are_distinguished() {
    let arena = small(1);
    let knowledge = knowledge(&arena);
    let text = saved(&arena, 180);
    let refused = |knowledge: &Knowledge, text: &str| LinearLearner::restore(knowledge, text).unwrap_err().to_string();
    assert!(LinearLearner::restore(&knowledge, &text).is_ok());
    for other in [knowledge.clone().without_rewards(), self::knowledge(&small(2))] {
        assert_eq!(
            refused(&other, &text),
            format!(
                "the learner was saved for another world (or with other options `unknown`, `known` or `forms`): fingerprint {}, here {}",
                knowledge.fingerprint(),
                other.fingerprint()
            )
        );
    }
    assert_eq!(
        refused(&knowledge, &text.replacen("\"version\":2", "\"version\":7", 1)),
        "this is `dowise linear learner` version 7, and this dowise reads `dowise linear learner` version 2; \
         a newer dowise wrote it, with fields that this one does not know: update dowise"
    );
    assert!(refused(&knowledge, &text[..text.len() / 2]).starts_with("this is not a saved linear learner: "));
    assert!(refused(&knowledge, &text.replacen("\"lambda\":1.0", "\"lambda\":0.0", 1)).contains("lambda"));

    let damaged = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut file: serde_json::Value = serde_json::from_str(&text).unwrap();
        change(&mut file);
        let result = LinearLearner::restore(&knowledge, &file.to_string());
        assert!(matches!(result, Err(RestoreError::Damaged { .. })), "{file}");
    };
    damaged(&|f| f["designs"] = serde_json::json!([]));
    damaged(&|f| f["designs"][0]["next"][0][0] = 9999.into());
    damaged(&|f| f["designs"][0]["next"][0][1] = 99.into());
    damaged(&|f| f["designs"][0]["next"][0][2] = 0.into());
    damaged(&|f| f["designs"][0]["next"][1] = f["designs"][0]["next"][0].clone()); // twice
    damaged(&|f| f["designs"][0]["next"][0][2] = u32::MAX.into()); // more than were played
    damaged(&|f| f["designs"][0]["paid"][0][1] = "ffffffffffffffffffffffff".into());
    damaged(&|f| f["designs"][0]["paid"] = serde_json::json!([]));
    damaged(&|f| f["designs"][0]["recent"][0]["cell"] = 9999.into()); // never met
    damaged(&|f| f["designs"][0]["gained"] = (-1.0).into());
    damaged(&|f| f["policy"][0] = 12345.into());
    damaged(&|f| f["value"][0] = 1e300.into());
    damaged(&|f| f["value"] = serde_json::json!([0.0]));
    damaged(&|f| f["episode"] = 3.into());
    damaged(&|f| f["episode"] = u64::MAX.into());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn no_damage_to_a_file_makes_a_linear_learner_panic(at in any::<prop::sample::Index>(), with in "[0-9a-z\\[\\]{},:.\"-]{0,3}", cut in 0usize..4) {
        let arena = small(1);
        let text = saved(&arena, 172);
        let start = at.index(text.len());
        let end = (start + cut).min(text.len());
        let mutated = format!("{}{with}{}", &text[..start], &text[end..]);
        // Either it is refused, or it goes on, past the next refresh too.
        if let Ok(mut learner) = LinearLearner::restore(&knowledge(&arena), &mutated) {
            play(&mut arena.run(4), &mut learner, 175);
        }
    }
}
