//! What holds in every episode of every learner.

use dowise::learn::{Agent, Cap, Causes, Estimate, Sets, States, Width};
use dowise::{Learner, Options, Preset};

use crate::play::{Arena, watch};
use crate::small_worlds;

fn graph(estimate: Estimate, scale: f64) -> Options {
    let (states, causes) = (States::Factored, Causes::OwnKeys);
    Options { states, causes, estimate, scale, episodes: 80, seed: 1, ..Options::default() }
}

/// Visits by factor, summed over blocks, as the saved file has them.
fn visits(learner: &Learner) -> Vec<u64> {
    let file: serde_json::Value = serde_json::from_str(&learner.save()).unwrap();
    let blocks = file["learner"]["tabular"]["evidence"]["transitions"].as_array().unwrap();
    let n = blocks[0].as_array().unwrap().len();
    let of = |entries: &serde_json::Value| -> u64 {
        entries.as_array().unwrap().iter().map(|e| e[2].as_u64().unwrap()).sum()
    };
    (0..n).map(|f| blocks.iter().map(|b| of(&b[f])).sum()).collect()
}

#[test]
fn counts_are_conserved_values_stay_below_their_caps_and_regret_within_its_bounds() {
    for world in [small_worlds::factored(1), small_worlds::one_factor(1), small_worlds::all_keys(1)] {
        let arena = Arena::new(world);
        let horizon = arena.world.horizon();
        for preset in Preset::all().iter().filter(|p| p.linear().is_none()) {
            for stage_dependent in [false, true] {
                let options = Options { stage_dependent, ..preset.options(60, 4) };
                let mut learner = Learner::new(&arena.knowledge(), options).expect("a learner");
                let mut run = arena.run(6);
                for k in 1..=60 {
                    let episode = run.episode(&mut learner);
                    assert!(episode.regret >= -1e-10 && episode.regret <= horizon as f64, "{preset}");
                    assert!(visits(&learner).iter().all(|&n| n == k * horizon as u64), "{preset}");
                    let plan = learner.plan();
                    for h in 0..=horizon {
                        for s in 0..arena.world.n_states() {
                            let v = plan.value(h, s);
                            assert!(v >= 0.0 && v <= (horizon - h) as f64 + 1e-12, "{preset}: V_{h}({s}) = {v}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn pairs_without_visits_are_worth_the_cap() {
    let arena = Arena::new(small_worlds::factored(2));
    for width in [Width::Paper, Width::HoeffdingV, Width::Weissman, Width::Quasi, Width::Rlberry] {
        for cap in [Cap::Stage, Cap::Horizon, Cap::Literal] {
            let options = Options { cap, ..graph(Estimate::Width(width), 0.0) };
            let mut learner = Learner::new(&arena.knowledge(), options).expect("a learner");
            learner.begin_episode();
            for h in 0..3 {
                let expected = if cap == Cap::Stage { 3.0 - h as f64 } else { 3.0 };
                let all = &learner.plan().value_hs[h * 6..(h + 1) * 6];
                assert!(all.iter().all(|v| (v - expected).abs() < 1e-12), "{width:?} {cap:?} {all:?}");
            }
        }
    }
}

#[test]
fn values_do_not_rise_from_stage_to_stage_under_a_constant_cap() {
    let arena = Arena::new(small_worlds::factored(3));
    let estimates = [
        (Estimate::Width(Width::Paper), 0.002),
        (Estimate::Width(Width::Quasi), 1.0),
        (Estimate::Sets(Sets::Mixture), 1.0),
    ];
    for (estimate, scale) in estimates {
        let options = Options { cap: Cap::Horizon, ..graph(estimate, scale) };
        let mut learner = Learner::new(&arena.knowledge(), options).expect("a learner");
        let mut run = arena.run(1);
        for _ in 0..80 {
            run.episode(&mut learner);
            let value = &learner.plan().value_hs;
            assert!(value.iter().zip(&value[6..]).all(|(now, next)| *next <= now + 1e-12), "{estimate:?}");
        }
    }
}

#[test]
fn values_rise_with_the_scale_and_with_the_cap() {
    let arena = Arena::new(small_worlds::factored(4));
    for width in [Width::Paper, Width::HoeffdingV, Width::Weissman, Width::Quasi, Width::Rlberry] {
        let unit = if width == Width::Paper { 0.001 } else { 0.1 };
        let options = |scale: f64, cap: Cap| Options { cap, ..graph(Estimate::Width(width), scale) };
        let ladder = [
            options(0.0, Cap::Stage),
            options(unit, Cap::Stage),
            options(2.0 * unit, Cap::Stage),
            options(2.0 * unit, Cap::Horizon),
        ];
        let mut learners = ladder.map(|o| Learner::new(&arena.knowledge(), o).expect("a learner"));
        let mut run = arena.run(1);
        let mut moved = [false; 3];
        for _ in 0..60 {
            let (first, others) = learners.split_first_mut().expect("four");
            let (_, seen) = watch(&mut run, first);
            for learner in others {
                learner.begin_episode();
                seen.iter().for_each(|s| learner.observe(&s.observation()));
                learner.end_episode();
            }
            for (i, pair) in learners.windows(2).enumerate() {
                let (low, high) = (&pair[0].plan().value_hs, &pair[1].plan().value_hs);
                assert!(low.iter().zip(high).all(|(l, h)| *l <= h + 1e-12), "{width:?}");
                moved[i] |= low.iter().zip(high).any(|(l, h)| l + 1e-6 < *h);
            }
        }
        assert_eq!(moved, [true; 3], "{width:?}: the ladder is not a single rung");
    }
}
