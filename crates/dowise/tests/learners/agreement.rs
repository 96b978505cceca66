//! Every width and confidence set, in every view of the world, against the plain implementation.

use dowise::learn::{Cap, Causes, Estimate, Sets, States, Width};
use dowise::{Learner, Options, World};

use crate::play::{Arena, watch};
use crate::reference::{Dense, Reference};
use crate::small_worlds;

const VIEWS: [(States, Causes); 6] = [
    (States::Flat, Causes::Actions),
    (States::Factored, Causes::Actions),
    (States::Flat, Causes::Keys),
    (States::Factored, Causes::Keys),
    (States::Factored, Causes::OwnKeys),
    (States::Flat, Causes::OwnKeys),
];

fn distance(learner: &Learner, dense: &Dense) -> f64 {
    let plan = learner.plan();
    let mut worst: f64 = 0.0;
    for (h, v_s) in dense.v_hs.iter().enumerate() {
        for (s, v) in v_s.iter().enumerate() {
            worst = worst.max((plan.value(h, s) - v).abs());
        }
    }
    worst
}

/// Plays `episodes` episodes and compares values and policies before each.
fn agrees(world: &World, options: &Options, episodes: u64, order: &[usize]) -> Result<(), String> {
    let arena = Arena::new(world.clone());
    let mut learner = Learner::new(&arena.knowledge(), options.clone()).expect("a learner");
    let mut reference = Reference::new(world, options.clone());
    if !order.is_empty() {
        reference.order = order.to_vec();
    }
    let mut run = arena.run(3);
    for episode in 0..episodes {
        // Where values must not rise, every plan counts.
        let compare = options.monotone || episode < 4 || episode % 16 == 0 || episode + 1 == episodes;
        let dense = compare.then(|| reference.plan());
        let (_, seen) = watch(&mut run, &mut learner);
        if let Some(dense) = dense {
            let d = distance(&learner, &dense);
            if d > 1e-12 {
                return Err(format!("{options:?}, episode {episode}: values differ by {d:e}"));
            }
            let all = world.interventions();
            for h in 0..world.horizon() {
                for s in 0..world.n_states() {
                    let action = learner.plan().action(h, s);
                    let rank = (0..all.count()).position(|i| all.nth(i) == action).expect("an action");
                    let lost = dense.v_hs[h][s] - dense.q_hsa[h][s][rank];
                    let tolerance = 2e-9 * world.horizon() as f64 * 3.0;
                    if lost > tolerance {
                        return Err(format!("{options:?}, episode {episode}: the action loses {lost:e}"));
                    }
                }
            }
        }
        seen.iter().for_each(|step| reference.observe(step));
    }
    let steps = (episodes * world.horizon() as u64) as f64;
    assert!(reference.totals().iter().all(|&n| n == steps));
    Ok(())
}

fn check(world: &World, options: &Options, episodes: u64) {
    agrees(world, options, episodes, &[]).unwrap_or_else(|e| panic!("{e}"));
}

fn options(view: (States, Causes), estimate: Estimate, scale: f64) -> Options {
    Options { states: view.0, causes: view.1, estimate, scale, episodes: 60, seed: 5, ..Options::default() }
}

/// Scales at which the widths matter: with the published constants everything stays at the cap for long.
const WIDTHS: [(Width, f64); 9] = [
    (Width::Paper, 0.002),
    (Width::PaperPlain, 0.002),
    (Width::AzarHoeffding, 0.003),
    (Width::AzarBernstein, 0.01),
    (Width::Weissman, 0.2),
    (Width::HoeffdingV, 0.15),
    (Width::Bernstein, 0.02),
    (Width::Quasi, 0.5),
    (Width::Rlberry, 0.5),
];

fn each_width(world: &World, episodes: u64, change: impl Fn(Options) -> Options) {
    for view in VIEWS {
        for (width, scale) in WIDTHS {
            let flat_only = matches!(width, Width::Bernstein | Width::AzarBernstein);
            if flat_only && view.0 == States::Factored {
                continue;
            }
            check(world, &change(options(view, Estimate::Width(width), scale)), episodes);
        }
    }
}

#[test]
fn every_width_plans_as_the_plain_implementation_does() {
    each_width(&small_worlds::factored(1), 49, |o| o);
    each_width(&small_worlds::one_factor(2), 60, |o| o);
}

#[test]
fn plans_agree_with_natural_levers_costs_hidden_variables_and_direct_levers() {
    each_width(&small_worlds::crooked(3), 33, |o| o);
}

#[test]
fn published_constants_plan_as_the_plain_implementation_does() {
    for view in VIEWS {
        for width in [Width::Paper, Width::HoeffdingV, Width::Weissman, Width::Rlberry, Width::Quasi] {
            check(&small_worlds::all_keys(4), &options(view, Estimate::Width(width), 1.0), 33);
        }
    }
}

#[test]
fn values_that_may_not_rise_and_stages_apart_and_other_caps_agree_too() {
    each_width(&small_worlds::one_factor(5), 40, |o| Options { monotone: true, ..o });
    each_width(&small_worlds::one_factor(6), 40, |o| Options { stage_dependent: true, cap: Cap::Horizon, ..o });
    each_width(&small_worlds::factored(6), 17, |o| Options { stage_dependent: true, cap: Cap::Literal, ..o });
}

#[test]
fn confidence_sets_of_whole_states_take_the_optimistic_member() {
    for &kind in Sets::ALL {
        for causes in [Causes::Actions, Causes::Keys] {
            for seed in 0..3 {
                let options = options((States::Flat, causes), Estimate::Sets(kind), 1.0);
                check(&small_worlds::one_factor(seed), &Options { episodes: 300, ..options }, 300);
            }
        }
    }
}

#[test]
fn confidence_sets_of_factors_take_the_optimistic_member_of_each_factor_in_order() {
    let orders: [&[usize]; 2] = [&[0, 1], &[1, 0]];
    for &kind in Sets::ALL {
        for causes in [Causes::Actions, Causes::Keys, Causes::OwnKeys] {
            for world in [small_worlds::factored(7), small_worlds::crooked(8)] {
                let options = options((States::Factored, causes), Estimate::Sets(kind), 1.0);
                let options = Options { episodes: 129, ..options };
                let tried: Vec<_> = orders.iter().map(|order| agrees(&world, &options, 129, order)).collect();
                assert!(tried.iter().any(|t| t.is_ok()), "{tried:?}");
            }
        }
    }
}
