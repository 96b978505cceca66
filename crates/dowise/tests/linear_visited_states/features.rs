//! Features from code, and features and steps that are wrong.

use std::sync::Arc;

use dowise::linear::{Features, LinearLearner, LinearOptions, LinearPreset};
use dowise::simulate::Play;
use dowise::world::Form;
use dowise::worlds::LinearLock;
use dowise::{Knowledge, Simulator, World};

use super::options;

#[test]
fn features_from_code_are_those_of_the_map() {
    let world =
        LinearLock { states: 30, causes: 4, dimension: 5, horizon: 6, ..LinearLock::default() }.world().unwrap();
    let knowledge = Knowledge::of(&world);
    let features = Features::of(&world).unwrap();
    let function = move |state: usize, out: &mut [f64]| {
        out.chunks_exact_mut(5).enumerate().for_each(|(c, row)| row.copy_from_slice(features.row(state, c)));
        Ok(())
    };
    let mut of_map = LinearLearner::over_visited_states(&knowledge, options("c-blsvi", 1)).unwrap();
    let mut of_code = LinearLearner::with_function(&knowledge, 5, Arc::new(function), options("c-blsvi", 1)).unwrap();
    let simulator = Simulator::new(&world).unwrap();
    let [mut a, mut b] = [0, 1].map(|_| Play::new(&simulator, 7));
    (0..30).for_each(|_| assert_eq!(a.episode(&mut of_map), b.episode(&mut of_code)));
    assert_eq!(of_map.save(), of_code.save());
}

#[test]
fn wrong_features_and_steps_are_named() {
    let world = World::builder("own", 4)
        .state("a", 1 << 16)
        .state("b", 1 << 16)
        .lever("x", 2)
        .key("z", ["no", "yes"])
        .mechanism("z", "x", [0.9, 0.1, 0.2, 0.8])
        .next("a", ["a", "z"], Form::LowRank)
        .next("b", ["b", "z"], Form::LowRank)
        .reward("r", "z", [0.0, 1.0])
        .build()
        .unwrap();
    assert!(!world.is_enumerable());
    let knowledge = Knowledge::of(&world);
    let bare = LinearLearner::over_visited_states(&knowledge, options("c-blsvi", 1)).unwrap_err().to_string();
    assert!(
        bare.starts_with("the world has no features, and one for each of its 8589934592 states and causes"),
        "{bare}"
    );
    let with = |value: f64| {
        let function = move |state: usize, out: &mut [f64]| {
            if state == 9 {
                return Err("no sensor".to_owned());
            }
            out[0] = 1.0;
            out[3] = if state == 5 { value } else { 0.5 };
            Ok(())
        };
        LinearLearner::with_function(&knowledge, 2, Arc::new(function), options("c-blsvi", 1)).unwrap()
    };
    let says = |value: f64, state: usize| with(value).decide(0, state).unwrap_err().to_string();
    assert!(
        says(1.5, 5).starts_with("the features at a = \"0\", b = \"5\", z = \"yes\" have length 1.5"),
        "{}",
        says(1.5, 5)
    );
    assert!(says(f64::NAN, 5).starts_with("feature 2 at a = \"0\", b = \"5\", z = \"yes\" is NaN"));
    assert_eq!(says(0.0, 9), "the features of the state a = \"0\", b = \"9\" could not be computed: no sensor");
    assert_eq!(says(0.0, 1 << 40), "there is no state 1099511627776: states are numbered from 0 to 4294967295");
    let mut fine = with(0.5);
    assert!(fine.decide(0, 5).is_ok());
    let learn =
        |learner: &mut LinearLearner, cause, next| learner.learn((0, 1), cause, 0.0, next).map_err(|e| e.to_string());
    assert_eq!(learn(&mut fine, 2, 1).unwrap_err(), "there is no cause 2: causes are numbered from 0 to 1");
    assert!(learn(&mut fine, 0, 9).unwrap_err().contains("no sensor"));
    assert!(learn(&mut fine, 1, 4_000_000_000).is_ok());
    let interventions =
        LinearOptions { regression: dowise::linear::Regression::Interventions, ..options("c-blsvi", 1) };
    let refused = LinearLearner::with_function(&knowledge, 2, Arc::new(|_, _| Ok(())), interventions).unwrap_err();
    assert!(refused.to_string().contains("regress on causes"), "{refused}");
    // What lists states says that it cannot.
    let mut plain = dowise::LearnerSpec::learner(&"graph-psrl".parse().unwrap(), &world, 10, 1);
    assert!(plain.is_err(), "{:?}", plain.as_mut().map(|_| ()));
    assert!("c-blsvi".parse::<dowise::LearnerSpec>().unwrap().learner(&world, 10, 1).is_err());
}

#[test]
fn features_from_code_are_tried_before_anything_runs() {
    let mut builder = World::builder("own", 3).lever("x", 2).key("z", 2).mechanism("z", "x", [0.9, 0.1, 0.2, 0.8]);
    for i in 0..40 {
        builder = builder.state(format!("b{i}"), 2).next(format!("b{i}"), "z", Form::LowRank);
    }
    let world = builder.reward("r", "z", [0.0, 1.0]).build().unwrap();
    let knowledge = Knowledge::of(&world);
    let make = |function: dowise::linear::FeatureFunction| {
        LinearLearner::with_function(&knowledge, 3, function, options("c-blsvi", 1))
    };
    let says = |function: dowise::linear::FeatureFunction| make(function).unwrap_err().to_string();
    let long = says(Arc::new(|_, out| {
        out[4] = 1.5;
        Ok(())
    }));
    assert!(long.contains("z = \"1\" have length 1.5"), "{long}");
    assert!(
        says(Arc::new(|_, out| {
            out[2] = f64::INFINITY;
            Ok(())
        }))
        .starts_with("feature 3 at b0 = ")
    );
    assert!(says(Arc::new(|_, _| Err("no sensor".to_owned()))).ends_with("could not be computed: no sensor"));
    // Some states may be impossible, and need no features.
    let some = make(Arc::new(|state, out| {
        let share = f64::from((state as u64).count_ones()) / 80.0;
        out.copy_from_slice(&[share, 0.5, 0.0, share, 0.5, 0.1]);
        if state % 2 == 0 { Ok(()) } else { Err("impossible".to_owned()) }
    }));
    assert_eq!(some.unwrap().findings(), []);
    let found = |function: dowise::linear::FeatureFunction| {
        make(function).unwrap().findings().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let constant = found(Arc::new(|_, out| {
        out.fill(0.3);
        Ok(())
    }));
    assert!(constant[0].starts_with("the features are the same for all states and causes"), "{constant:?}");
    let twice = found(Arc::new(|state, out| {
        let share = f64::from((state as u64).count_ones()) / 80.0;
        out.copy_from_slice(&[share, 0.5, share + 0.1, 0.2, 0.5, 0.3]);
        Ok(())
    }));
    assert_eq!(
        twice,
        [
            "feature 3 is a combination of those before it, and only 2 of 3 features are independent; leave those out that say nothing new"
        ]
    );
    let few = LinearLearner::with_function(
        &knowledge,
        3,
        Arc::new(|state, out| {
            out[state % 6] = 0.5;
            Ok(())
        }),
        "c-blsvi".parse::<LinearPreset>().unwrap().options(1, 1),
    );
    assert_eq!(few.unwrap().findings(), []);
}
