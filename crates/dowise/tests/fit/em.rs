//! Expectation maximisation: values that are missing are expected by the model, with room for what was not recorded.

use dowise::data::LogStep;
use dowise::learn::Observation;
use dowise::offline::fit::{FitOptions, Fitted, Fitting};
use dowise::simulate::Simulator;
use dowise::{World, worlds};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::simulated::*;

/// The fit of a log in which `hides` decides by s′ whether the key variables of a step are missing.
fn fit_with_holes(world: &World, steps: &[Step], em: bool, hides: impl Fn(&Step, &mut ChaCha8Rng) -> bool) -> Fitted {
    let mut fitting = Fitting::new(world, FitOptions { em, ..FitOptions::default() }).unwrap();
    let knowledge = fitting.knowledge().clone();
    let [mut rng, _] = Simulator::streams(77);
    for step in steps {
        let whole = logged(world, &knowledge, step);
        if !hides(step, &mut rng) {
            fitting.add(&whole).unwrap();
            continue;
        }
        let levers: Vec<u32> = world.levers().iter().map(|id| step.outcome.values[id.ix()]).collect();
        let holed = Observation::at(&knowledge, step.stage, step.state)
            .unwrap()
            .did_action(&knowledge, step.action)
            .unwrap()
            .found(&knowledge, &levers[..])
            .unwrap()
            .then(&knowledge, step.outcome.next_state)
            .unwrap();
        fitting.add(&LogStep::new(step.episode, holed)).unwrap();
    }
    fitting.fit().unwrap()
}

#[test]
fn em_is_right_for_missingness_by_the_next_state_and_its_density_never_falls() {
    let world = World::from_toml(SHARED, "symptoms.toml").unwrap();
    let steps = simulate(&world, 6000, 3);
    // Four of five patients who got old have no record of their symptoms.
    let hides = |step: &Step, rng: &mut ChaCha8Rng| step.outcome.next_state == 1 && rng.random::<f64>() < 0.8;
    let error = |fitted: &Fitted| {
        let pairs = fitted.world().transitions()[0].table.as_ref().unwrap().iter();
        let truth = world.transitions()[0].table.as_ref().unwrap();
        pairs.zip(truth.iter()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    };
    let dropped = fit_with_holes(&world, &steps, false, hides);
    let expected = fit_with_holes(&world, &steps, true, hides);
    let full = fit_with_holes(&world, &steps, true, |_, _| false);
    let (dropped_error, em_error, full_error) = (error(&dropped), error(&expected), error(&full));
    assert!(dropped_error > 0.2 && em_error < 0.05 && full_error < 0.03, "{dropped_error} {em_error} {full_error}");
    let em = expected.report().em.as_ref().unwrap();
    assert!(em.steps > 3000 && em.left_out == 0 && em.density.len() > 5, "{em:?}");
    assert!(em.density.windows(2).all(|w| w[1] >= w[0]), "{:?}", em.density);
    // Without holes nothing is expected, and the numbers are those without EM.
    assert_eq!(full.report().em.as_ref().unwrap().steps, 0);
    let plain = fit(&world, &steps, FitOptions::default());
    assert_eq!(full.world().to_toml(), plain.world().to_toml());
    // What is kept for learning on is what was counted.
    assert_eq!(dropped.evidence().save(), expected.evidence().save());
}

#[test]
fn intervals_of_em_have_room_for_what_was_not_recorded() {
    let world = World::from_toml(SHARED, "symptoms.toml").unwrap();
    let truth = world.transitions()[0].table.clone().unwrap();
    let hides = |step: &Step, rng: &mut ChaCha8Rng| step.outcome.next_state == 1 && rng.random::<f64>() < 0.8;
    let (rounds, mut held, mut cells) = (40, 0, 0);
    for seed in 0..rounds {
        let fitted = fit_with_holes(&world, &simulate(&world, 250, 100 + seed), true, hides);
        let rows = &fitted.report().tables[0].rows;
        let ends = rows.iter().flat_map(|row| row.low.iter().zip(&row.high));
        for ((low, high), p) in ends.zip(truth.iter()) {
            held += u32::from((*low..=*high).contains(p));
            cells += 1;
        }
    }
    // 95 %; cells of a log depend on each other, so that 40 logs tell 95 % from 88 %.
    assert!(f64::from(held) >= 0.88 * f64::from(cells), "{held} of {cells}");
}

#[test]
fn em_goes_through_forms_and_hidden_variables() {
    let world = worlds::world("campaign", &[]).unwrap();
    let steps = simulate(&world, 400, 3);
    let fitted = fit_with_holes(&world, &steps, true, |_, rng| rng.random::<f64>() < 0.3);
    let em = fitted.report().em.as_ref().unwrap();
    assert!(em.steps > 300 && em.density.windows(2).all(|w| w[1] >= w[0]), "{em:?}");
}
