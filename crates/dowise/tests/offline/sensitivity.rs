//! What violations of untestable assumptions would overturn: worst and best cases of unmeasured confounding, tipping
//! points of missing values, and the yardstick for Γ.

use std::fmt::Write;

use dowise::offline::{Claim, Episodes, Evaluation, Lacking, Recommendation, TippingPoint, evaluate, plan_safely};
use dowise::{Action, World};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::harm::{deploys, read_log, read_log_of, world};
use super::logger::{constant, quick};

const WORDS: [&str; 2] = ["no", "yes"];

fn happens(rng: &mut ChaCha8Rng, p: f64) -> bool {
    rng.random::<f64>() < p
}

/// One lever, one key variable, and a state without consequences.
fn two_steps() -> World {
    world(
        "dowise = 1\nhorizon = 2\n[state.s]\nvalues = [\"no\", \"yes\"]\nscope = []\nnext = { p = [0.5, 0.5] }\n\
         [lever.a]\nvalues = [\"no\", \"yes\"]\n[key.y]\nvalues = [\"no\", \"yes\"]\nparents = [\"a\"]\n\
         [reward.r]\nscope = [\"y\"]\nvalue = [0, 1]\n[interventions]\nset = \"all\"\n",
    )
}

/// A log in which u doubles or halves the odds of a; y is yes with probability 0.4 + `effect` a + 0.4 (u − 0.5).
fn odds_log(effect: f64, seed: u64, randomised: &[&str]) -> Episodes {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut text = "episode,stage,s,a,y,next.s\n".to_owned();
    for episode in 0..1000 {
        let mut s = happens(&mut rng, 0.5);
        for stage in 1..=2 {
            let u = happens(&mut rng, 0.5);
            let a = happens(&mut rng, if u { 2.0 / 3.0 } else { 1.0 / 3.0 });
            let p = 0.4 + effect * f64::from(u8::from(a)) + 0.4 * (f64::from(u8::from(u)) - 0.5);
            let (y, next) = (happens(&mut rng, p), happens(&mut rng, 0.5));
            let [s_, a, y, next_] = [s, a, y, next].map(|v| WORDS[usize::from(v)]);
            writeln!(text, "{episode},{stage},{s_},{a},{y},{next_}").unwrap();
            s = next;
        }
    }
    read_log_of(&two_steps(), text, &["rewards"], randomised)
}

fn at(table: &[[f64; 2]], gamma: f64) -> f64 {
    table.iter().find(|pair| pair[0] == gamma).unwrap()[1]
}

fn always(of: &World, rank: u64) -> Vec<Action> {
    constant(of, rank)
}

#[test]
fn an_evaluation_says_how_much_confounding_overturns_it_in_both_directions() {
    let of = two_steps();
    let mut worse = 0;
    for seed in 0..6 {
        // a has no effect: by the log, y is yes with 0.467 after a and with 0.333 otherwise. Truth: 0.4 in each step.
        let log = odds_log(0.0, seed, &[]);
        let [no, yes] = [0, 1].map(|rank| evaluate(&log, &always(&of, rank), &quick()).unwrap());
        if yes.record.failed().is_some() {
            // The graph test rejects a right graph in 5 % of all logs.
            assert_eq!(yes.sensitivity, None);
            continue;
        }
        let [no, yes] = [no, yes].map(|found: Evaluation| (found.model.mean, found.sensitivity.unwrap()));
        assert_eq!((no.1.claim, yes.1.claim), (Claim::Worse, Claim::Better), "seed {seed}");
        for (mean, found) in [&no, &yes] {
            assert!((at(&found.worst, 1.0) - mean).abs() < 1e-9 && (at(&found.best, 1.0) - mean).abs() < 1e-9);
            assert!(at(&found.worst, 2.0) < 0.8 && at(&found.best, 2.0) > 0.8, "seed {seed}: {found:?}");
            assert!(found.best.is_sorted_by(|a, b| a[1] <= b[1]), "{:?}", found.best);
            assert!(found.margin.is_sorted_by(|a, b| a[1] < b[1]), "{:?}", found.margin);
            assert_eq!(found.levers, ["a"]);
            assert!((1.0..2.0).contains(&found.gamma), "seed {seed}: {}", found.gamma);
            // At the tipping point, the 95 % margin is used up.
            let (claim, table) = match found.claim {
                Claim::Better => (1.0, &found.worst),
                Claim::Worse => (-1.0, &found.best),
            };
            let left = |gamma| claim * (at(table, gamma) - found.behaviour) - at(&found.margin, gamma);
            assert!(found.gamma < 1.25 || left(1.25) > 0.0, "seed {seed}: {found:?}");
            assert!(found.gamma > 1.5 || left(1.5) <= 0.0, "seed {seed}: {found:?}");
        }
        worse += usize::from(no.1.gamma > 1.0);
        // β = 1.5 and α = 0.75 of a yes with 1/3: at Γ = 2, the best case is 0.333 · 1.5 = 0.5 in each step.
        assert!((at(&no.1.best, 2.0) - 1.0).abs() < 0.15, "seed {seed}: {:?}", no.1.best);
    }
    assert!(worse >= 3, "{worse}");
    let found = evaluate(&odds_log(0.0, 0, &["a"]), &always(&of, 1), &quick()).unwrap();
    assert_eq!(found.sensitivity, None, "a randomised lever has no unrecorded cause");
}

#[test]
fn the_yardstick_is_the_strongest_odds_ratio_of_a_recorded_factor() {
    let of = world(
        "dowise = 1\nhorizon = 1\n[state.age]\nvalues = [\"young\", \"middle\", \"old\"]\nscope = []\nnext = { p = [0.3, 0.3, 0.4] }\n\
         [state.sex]\nvalues = [\"f\", \"m\"]\nscope = []\nnext = { p = [0.5, 0.5] }\n\
         [lever.a]\nvalues = [\"no\", \"yes\"]\n[lever.b]\nvalues = [\"no\", \"yes\"]\n\
         [key.y]\nvalues = [\"no\", \"yes\"]\nparents = [\"a\", \"b\"]\n\
         [reward.r]\nscope = [\"y\"]\nvalue = [0, 1]\n[interventions]\nset = \"all\"\n",
    );
    // Steps by (age, sex, a); b is set in every second step, whatever the state.
    let counts = [
        (("young", "f", 0), 40),
        (("young", "f", 1), 20),
        (("young", "m", 0), 40),
        (("young", "m", 1), 20),
        (("middle", "f", 0), 60),
        (("middle", "f", 1), 60),
        (("middle", "m", 0), 60),
        (("middle", "m", 1), 64),
        // Too few steps with a for odds.
        (("old", "f", 0), 100),
        (("old", "f", 1), 4),
        (("old", "m", 0), 100),
        (("old", "m", 1), 4),
    ];
    let mut text = "episode,stage,age,sex,a,b,y\n".to_owned();
    let mut episode = 0;
    for ((age, sex, a), n) in counts {
        for i in 0..n {
            // y follows a, so that this is a recommendation.
            let y = if (episode * 7 + i) % 10 < if a == 1 { 8 } else { 3 } { "yes" } else { "no" };
            writeln!(text, "{episode},1,{age},{sex},{},{},{y}", WORDS[a], WORDS[i % 2]).unwrap();
            episode += 1;
        }
    }
    let benchmark = |randomised: &[&str]| {
        let log = read_log_of(&of, text.clone(), &["rewards"], randomised);
        let found = evaluate(&log, &always(&of, of.interventions().count() - 1), &quick()).unwrap();
        found.sensitivity.unwrap_or_else(|| panic!("{:?}", found.record.failed())).benchmark
    };
    let found = benchmark(&[]).unwrap();
    // 400 steps without a and 172 with it; middle: 120 and 124; young: 80 and 40.
    assert_eq!((found.factor.as_str(), found.value.as_str()), ("age", "middle"));
    assert_eq!(found.lever, "a");
    let (middle, young, all) = (124.0 / 120.0, 40.0 / 80.0, 172.0 / 400.0);
    assert!((found.gamma - middle / all).abs() < 1e-12, "{found:?}");
    assert!((found.odds_ratio - middle / young).abs() < 1e-12, "{found:?}");
    assert_eq!(found.steps, 244.0);
    // Of a's two settings, the first has the same odds, inverted.
    assert_eq!((found.setting.as_deref(), found.between), (Some("no"), ["young", "middle"].map(str::to_owned)));
    assert_eq!(benchmark(&["a"]), None, "b was set whatever the state");
}

/// x raises the share of large payments from `shares[0]` to `shares[1]`; a third of its payments are missing at random.
fn paid_log(shares: [f64; 2], seed: u64) -> (World, Episodes) {
    let of = world(
        "dowise = 1\nhorizon = 1\n[state.s]\nvalues = [\"only\"]\nscope = [\"s\"]\nnext = [[1]]\n[lever.x]\nvalues = [\"no\", \"yes\"]\n\
         [reward.r]\nscope = [\"x\"]\nlearn = true\nrange = [0, 2]\n[interventions]\nset = \"all\"\n",
    );
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut text = "episode,stage,s,x,reward.r\n".to_owned();
    for episode in 0..3000 {
        let x = usize::from(happens(&mut rng, 0.4));
        let paid = 2 * u8::from(happens(&mut rng, shares[x]));
        let is_missing = x == 1 && happens(&mut rng, 1.0 / 3.0);
        let paid = if is_missing { String::new() } else { paid.to_string() };
        writeln!(text, "{episode},1,only,{},{paid}", WORDS[x]).unwrap();
    }
    let log = read_log(&of, text, &[]);
    (of, log)
}

/// The only tipping point, which is about payments.
fn of_payments(points: &[TippingPoint]) -> TippingPoint {
    let [point] = points else { panic!("{points:?}") };
    assert_eq!(point.of, Lacking::Payments);
    assert!(point.range[0].abs() < 1e-9 && (point.range[1] - 2.0).abs() < 1e-9, "{point:?}");
    *point
}

#[test]
fn missing_payments_have_the_tipping_point_of_plain_arithmetic() {
    // By the log x is worth 1.2 and leaving it 1.0. With a third of x's payments missing, 2/3 · 1.2 + 1/3 X = 1.0 at X = 0.6.
    for seed in 0..4 {
        let (of, log) = paid_log([0.5, 0.6], seed);
        let [no, yes] = [0, 1].map(|rank| evaluate(&log, &always(&of, rank), &quick()).unwrap());
        let mean = |rank: usize| if rank == 1 { yes.model.mean } else { no.model.mean };
        let expected = (mean(0) - mean(1) * 2.0 / 3.0) * 3.0;
        let point = of_payments(&yes.tipping_points);
        assert!((point.at_least.unwrap() - expected).abs() < 0.1, "seed {seed}: {point:?}, {expected}");
        assert_eq!(point.at_most, None);
        assert!((point.expected - mean(1)).abs() < 0.01, "seed {seed}: {point:?} {}", mean(1));
        assert!((point.recorded - 1.07).abs() < 0.08, "seed {seed}: {point:?}");
        // Not to set x is worse by the model. It is better if x's missing payments are as small.
        let point = of_payments(&no.tipping_points);
        assert!((point.at_least.unwrap() - expected).abs() < 0.1, "seed {seed}: {point:?}, {expected}");
        let plan = plan_safely(&log, &quick()).unwrap();
        if let Recommendation::Sensitive { .. } = plan.recommendation {
            let tipping = of_payments(&plan.tipping_points).at_least.unwrap();
            assert!((tipping - expected).abs() < 0.1, "seed {seed}: {tipping} {expected}");
            let why = plan.overturned_if.unwrap();
            assert!(why.starts_with("missing payments averaged less than 0."), "{why}");
        } else {
            assert!(!deploys(&plan), "seed {seed}: {:?}", plan.recommendation);
        }
    }
}

#[test]
fn a_large_effect_holds_whatever_the_missing_payments_were() {
    let (of, log) = paid_log([0.1, 0.9], 1);
    let found = evaluate(&log, &always(&of, 1), &quick()).unwrap();
    let point = of_payments(&found.tipping_points);
    assert_eq!((point.at_least, point.at_most), (None, None));
    let plan = plan_safely(&log, &quick()).unwrap();
    assert!(deploys(&plan) && plan.overturned_if.is_none(), "{:?}", plan.recommendation);
    assert_eq!(of_payments(&plan.tipping_points).at_least, None);
    assert!(plan_safely(&odds_log(0.3, 1, &[]), &quick()).unwrap().tipping_points.is_empty(), "nothing is missing");
}

#[test]
fn dropout_has_a_tipping_point_as_long_as_its_worst_case_overturns() {
    // x pays 0.2 more, and three tenths of the first steps with it have no next state.
    let of = world(
        "dowise = 1\nhorizon = 2\n[state.s]\nvalues = [\"a\", \"b\"]\nscope = []\nnext = { p = [0.5, 0.5] }\n\
         [lever.x]\nvalues = [\"no\", \"yes\"]\n[key.k]\nvalues = [\"no\", \"yes\"]\nparents = [\"x\"]\n\
         [reward.r]\nscope = [\"k\"]\nvalue = [0.5, 0.8]\nrange = [0, 1]\n[interventions]\nset = \"all\"\n",
    );
    let log = |dropped: f64, seed: u64| {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut text = "episode,stage,s,x,k,next.s,end\n".to_owned();
        for episode in 0..2000 {
            let mut s = happens(&mut rng, 0.5);
            for stage in 1..=2 {
                let x = happens(&mut rng, 0.4);
                let k = x;
                let (next, stops) = (happens(&mut rng, 0.5), stage == 1 && x && happens(&mut rng, dropped));
                let [s_, next_] = [s, next].map(|v| if v { "b" } else { "a" });
                let next_ = if stops { "" } else { next_ };
                let [x, k] = [x, k].map(|v| WORDS[usize::from(v)]);
                // Without its end, the reader hands an episode on after all others, as if it was the last one.
                let end = if stops { "truncated" } else { "" };
                writeln!(text, "{episode},{stage},{s_},{x},{k},{next_},{end}").unwrap();
                if stops {
                    break;
                }
                s = next;
            }
        }
        read_log(&of, text, &["rewards"])
    };
    // The test of the Markov property rejects a right world in some logs.
    let evaluated = |dropped: f64| {
        let mut all = (1..10).map(|seed| evaluate(&log(dropped, seed), &always(&of, 1), &quick()).unwrap());
        all.find(|found| found.record.failed().is_none()).unwrap()
    };
    let few = evaluated(0.1);
    let [point] = few.tipping_points[..] else { panic!("{:?}", few.tipping_points) };
    assert_eq!((point.of, point.at_least), (Lacking::NextStates, None));
    assert!((point.recorded - few.model.mean / 2.0).abs() < 1e-12, "{point:?}");
    let many = evaluated(0.9);
    let [point] = many.tipping_points[..] else { panic!("{:?}", many.tipping_points) };
    let tipping = point.at_least.unwrap_or_else(|| panic!("{point:?}"));
    assert!(tipping > point.range[0] && tipping < point.recorded, "{point:?}");
    // By hand: 0.9 of the first steps with x drop out, so that of 1.64 steps with x, 0.9 do. An average of X cuts each step
    // with x by 0.9/1.64 · (recorded − X): two steps of the policy, 0.8 of the behaviour policy.
    let gain = many.model.mean - many.logged.model.unwrap().mean;
    let by_hand = point.recorded - gain / (2.0 * 0.6 * 0.9 / 1.64);
    assert!((tipping - by_hand).abs() < 0.05, "{tipping} {by_hand}");
}
