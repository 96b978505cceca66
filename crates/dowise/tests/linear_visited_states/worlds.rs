//! Worlds of non-enumerable states: their kernels, their files, and what they need not say.

use dowise::World;
use dowise::kernel::Kernel;
use dowise::world::{FeatureForm, FeatureSpec, Form};
use dowise::worlds::LinearCode;

/// A world of two factors on which the key variable depends, with or without a list of states.
fn depends(horizon: u64) -> World {
    let rows: Vec<f64> = (0..3 * 5 * 2).flat_map(|i| [0.1 + 0.02 * f64::from(i), 0.9 - 0.02 * f64::from(i)]).collect();
    World::builder("two", horizon)
        .state("a", 3)
        .state("b", 20)
        .state("c", 5)
        .lever("x", 2)
        .key("z", 2)
        .mechanism("z", ["a", "c", "x"], rows)
        .next("a", ["a", "z"], Form::LowRank)
        .next("b", ["b", "z"], Form::LowRank)
        .next("c", ["c", "z"], Form::LowRank)
        .reward("r", ["a", "z"], [0.0, 1.0, 0.3, 0.2, 0.5, 0.1])
        .build()
        .unwrap()
}

#[test]
fn kernels_are_the_same_without_a_list_of_states() {
    let (listed, unlisted) = (depends(10), depends(1_000_000));
    assert!(listed.is_enumerable() && !unlisted.is_enumerable());
    let [a, b] = [&listed, &unlisted].map(|world| Kernel::new(world).unwrap());
    let [mut p, mut q] = [[0.0; 2], [0.0; 2]];
    for state in 0..listed.n_states() {
        for rank in 0..listed.interventions().count() {
            let action = listed.interventions().nth(rank);
            a.distribution(state, action, &mut p);
            b.distribution(state, action, &mut q);
            assert_eq!(p, q);
        }
    }
}

#[test]
fn means_of_tables_survive_their_file_and_mistakes_are_named() {
    let world = LinearCode { symbols: 3, letters: 2, causes: 3, places: 3, ..LinearCode::default() }.world().unwrap();
    let text = world.to_toml();
    let again = World::from_toml(&text, "code.toml").unwrap();
    assert_eq!(again.to_toml(), text);
    assert_eq!(again.features(), world.features());
    let large = LinearCode::default().world().unwrap();
    let again = World::from_toml(&large.to_toml(), "code.toml").unwrap();
    assert_eq!((again.n_states(), again.features()), (large.n_states(), large.features()));
    let wrong = |from: &str, to: &str| {
        let text = large.to_toml();
        let at = text.find("[low_rank.weights]").unwrap();
        let changed = format!("{}{}", &text[..at], text[at..].replacen(from, to, 1));
        let error = World::from_toml(&changed, "code.toml").unwrap_err();
        error.problems.iter().map(|p| p.message.clone()).collect::<Vec<_>>().join("; ")
    };
    let one = wrong("[1.0, 0.0", "[0.5, 0.0");
    assert!(one.starts_with("the weights given place = \"0\", c1 = ") && one.ends_with(" sum to 0.5, not 1"), "{one}");
    let negative = wrong("[1.0, 0.0", "[1.0, -0.5");
    assert!(negative.contains("have a probability of -0.5") || negative.contains("length"), "{negative}");
    let long = FeatureSpec {
        form: FeatureForm::Mean {
            tables: vec![FeatureSpec {
                form: FeatureForm::Table { scope: Some(vec!["z".into()]), dimension: 1, values: vec![0.5, 2.0, 0.5] },
                scale: false,
                at: None,
            }],
        },
        scale: false,
        at: None,
    };
    let error = world.with_features(&long).unwrap_err().to_string();
    assert!(error.contains("the features of z = \"1\" have length 2, more than 1"), "{error}");
}

#[test]
fn a_world_to_be_learned_needs_no_numbers_for_its_states() {
    let mut builder = World::builder("own", 3).lever("x", 2).key("z", 2).mechanism("z", "x", [0.9, 0.1, 0.2, 0.8]);
    for i in 0..40 {
        builder = builder.state(format!("b{i}"), 2).next(format!("b{i}"), "z", Form::LowRank);
    }
    let world = builder.reward("r", "z", [0.0, 1.0]).build().unwrap();
    assert!(!world.is_enumerable() && world.low_rank().is_none());
    let text = world.to_toml();
    assert!(text.contains("[low_rank]\nlearn = true"), "{text}");
    let again = World::from_toml(&text, "again.toml").unwrap();
    assert_eq!((again.to_toml(), again.n_states()), (text.clone(), 1 << 40));
    let both = text.replace("learn = true", "learn = true\nnext.b1 = [[0.5, 0.5]]");
    assert!(World::from_toml(&both, "both.toml").is_err());
    let listed =
        World::from_toml(&text.replace("learn = true", "learn = false"), "listed.toml").unwrap_err().to_string();
    assert!(listed.contains("next"), "{listed}");
}
