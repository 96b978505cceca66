//! How often confidence sets miss, exactly: every possible outcome of n visits, weighted by its probability.

use dowise::learn::{Agent, Causes, Estimate, Sets, States};
use dowise::world::Action;
use dowise::{Knowledge, Learner, Options, World};

use crate::draft::Draft;
use crate::play::observed;
use crate::reference::{best_in_kl_ball, best_in_l1_ball, kl_end, price_of_mixture};

/// One cause, two steps; state 0 goes anywhere; only the state reached pays.
fn world(pays: &[f64]) -> World {
    let n = pays.len();
    let uniform = vec![1.0 / n as f64; n * n];
    Draft::new(2, 0)
        .state("s", n)
        .lever("x", 2)
        .key("z", 1)
        .given(&["z"], &["x"], vec![1.0, 1.0])
        .next_given("s", &["s", "z"], uniform)
        .pays("r", &["s"], pays.to_vec())
        .world()
}

const DELTA: f64 = 0.9;

/// The best expected payment of a state after these visits of state 0, by the learner's sets.
fn best_member(world: &World, kind: Sets, counts: &[u32]) -> f64 {
    let (states, causes, estimate) = (States::Flat, Causes::Keys, Estimate::Sets(kind));
    let options = Options { states, causes, estimate, delta: DELTA, episodes: 1, ..Options::default() };
    let mut learner = Learner::new(&Knowledge::of(world), options).expect("a learner");
    for (next_state, &n) in counts.iter().enumerate() {
        for _ in 0..n {
            learner.learn(&observed(0, 0, Action(1), &[0, 0, 0], next_state)).unwrap();
        }
    }
    learner.begin_episode();
    learner.plan().value(0, 0)
}

/// All ways to share n visits between `values` next states.
fn outcomes(n: u32, values: usize) -> Vec<Vec<u32>> {
    if values == 1 {
        return vec![vec![n]];
    }
    let rest = |k: u32| {
        outcomes(n - k, values - 1).into_iter().map(move |mut o| {
            o.insert(0, k);
            o
        })
    };
    (0..=n).flat_map(rest).collect()
}

fn probability(counts: &[u32], p: &[f64]) -> f64 {
    let ln_factorial = |n: u32| (1..=n).map(|i| f64::from(i).ln()).sum::<f64>();
    let total: u32 = counts.iter().sum();
    let each = counts.iter().zip(p).map(|(&k, p)| if k == 0 { 0.0 } else { f64::from(k) * p.ln() - ln_factorial(k) });
    (ln_factorial(total) + each.sum::<f64>()).exp()
}

/// Probability that the truth is worth more than the optimistic member of the set.
fn miss(world: &World, kind: Sets, n: u32, p: &[f64], pays: &[f64]) -> f64 {
    let truth: f64 = p.iter().zip(pays).map(|(p, x)| p * x).sum();
    let missed = |counts: &Vec<u32>| best_member(world, kind, counts) < truth - 1e-12;
    outcomes(n, p.len()).iter().filter(|o| missed(o)).map(|o| probability(o, p)).sum()
}

#[test]
fn intervals_miss_no_more_often_than_promised_on_either_side() {
    for &kind in Sets::ALL {
        let promised = match kind {
            // Two rows.
            Sets::Mixture => DELTA / 2.0,
            // Two rows, two steps, two sides.
            Sets::L1 | Sets::Kl => DELTA / (2.0 * 2.0 * 2.0),
        };
        let mut most: f64 = 0.0;
        for pays in [[0.0, 1.0], [1.0, 0.0]] {
            let world = world(&pays);
            for n in [1, 4, 15] {
                for p in [0.02, 0.1, 0.3, 0.5, 0.8, 0.97] {
                    let missed = miss(&world, kind, n, &[1.0 - p, p], &pays);
                    assert!(missed <= promised, "{kind:?} n {n} p {p}: {missed} > {promised}");
                    most = most.max(missed);
                }
            }
        }
        assert!(most > 0.005, "{kind:?} never misses ({most}): this test would see nothing");
    }
}

#[test]
fn balls_miss_no_more_often_than_promised() {
    for kind in [Sets::L1, Sets::Mixture] {
        // Three rows, two steps; a mixture holds at all steps.
        let promised = if kind == Sets::Mixture { DELTA / 3.0 } else { DELTA / (3.0 * 2.0) };
        let mut narrowed: f64 = 0.0;
        for pays in [[0.0, 0.5, 1.0], [1.0, 0.0, 0.2]] {
            let world = world(&pays);
            for n in [1, 3, 10] {
                for p in [[0.3, 0.3, 0.4], [0.05, 0.05, 0.9], [0.9, 0.08, 0.02], [0.5, 0.0, 0.5]] {
                    let missed = miss(&world, kind, n, &p, &pays);
                    assert!(missed <= promised, "{kind:?} n {n} p {p:?}: {missed} > {promised}");
                    // Three rows, two steps; a quarter of the radius.
                    let narrow = radius(3, n, DELTA / (3.0 * 2.0)) / 4.0;
                    let truth: f64 = p.iter().zip(&pays).map(|(p, x)| p * x).sum();
                    let below = |counts: &&Vec<u32>| {
                        let row: Vec<f64> = counts.iter().map(|&k| f64::from(k)).collect();
                        let share: Vec<f64> = row.iter().map(|k| k / f64::from(n)).collect();
                        let best = match kind {
                            Sets::Mixture => {
                                let log = (3.0 / DELTA).ln();
                                best_in_kl_ball(&share, &pays, (log + price_of_mixture(&row)) / f64::from(n) / 16.0)
                            }
                            Sets::L1 | Sets::Kl => best_in_l1_ball(&share, &pays, narrow),
                        };
                        best < truth - 1e-12
                    };
                    let outcomes = outcomes(n, 3);
                    narrowed = narrowed.max(outcomes.iter().filter(below).map(|o| probability(o, &p)).sum());
                }
            }
        }
        let note = "a quarter of the radius misses no more: this test would see nothing";
        assert!(narrowed > promised, "{kind:?} {narrowed}: {note}");
    }
}

/// The radius of the L1 ball of `values` values: the greatest distance from the frequencies of n visits that the bound of
/// Weissman et al., P(‖p^ − p‖₁ ≥ ε) ≤ 2^m exp(−n ε²/2), gives at least this probability. No two distributions are farther
/// apart than 2.
fn radius(values: usize, n: u32, probability: f64) -> f64 {
    let bound = |eps: f64| (0..values).fold(1.0, |power, _| 2.0 * power) * (-f64::from(n) * eps * eps / 2.0).exp();
    farthest(0.0, 2.0, |eps| bound(eps) >= probability)
}

/// The number nearest to an end, from a number inside on, that is still inside.
fn farthest(mut inside: f64, end: f64, is_inside: impl Fn(f64) -> bool) -> f64 {
    if is_inside(end) {
        return end;
    }
    let mut outside = end;
    for _ in 0..200 {
        let middle = 0.5 * (inside + outside);
        if is_inside(middle) { inside = middle } else { outside = middle }
    }
    inside
}

#[test]
fn ends_of_intervals_and_corners_of_balls_are_those_of_brute_force() {
    for (pays, n) in
        [(vec![0.0, 1.0], 12), (vec![1.0, 0.0], 12), (vec![0.3, 0.0, 1.0], 9), (vec![0.9, 0.1, 0.4, 0.2], 6)]
    {
        let world = world(&pays);
        let values = pays.len();
        // Number of rows times number of steps, two sides.
        let log = (2.0 * values as f64 * 2.0 / DELTA).ln();
        // Number of rows.
        let anytime = (values as f64 / DELTA).ln();
        for counts in outcomes(n, values) {
            let p: Vec<f64> = counts.iter().map(|&k| f64::from(k) / f64::from(n)).collect();
            let row: Vec<f64> = counts.iter().map(|&k| f64::from(k)).collect();
            for &kind in Sets::ALL {
                let expected = match (values, kind) {
                    (_, Sets::Mixture) => best_in_kl_ball(&p, &pays, (anytime + price_of_mixture(&row)) / f64::from(n)),
                    (2, Sets::Kl) => {
                        let at = |q: f64| (1.0 - q) * pays[0] + q * pays[1];
                        at(kl_end(p[1], log / f64::from(n), 0.0)).max(at(kl_end(p[1], log / f64::from(n), 1.0)))
                    }
                    (2, Sets::L1) => {
                        // Every distribution of two values that Hoeffding's bound does not rule out.
                        let kept = |q: f64| (-2.0 * f64::from(n) * (q - p[1]) * (q - p[1])).exp() >= (-log).exp();
                        let at = |q: f64| (1.0 - q) * pays[0] + q * pays[1];
                        [0.0, 1.0].map(|end| at(farthest(p[1], end, kept))).into_iter().fold(f64::MIN, f64::max)
                    }
                    (_, Sets::L1 | Sets::Kl) => {
                        // Number of rows times number of steps.
                        best_in_l1_ball(&p, &pays, radius(values, n, DELTA / (values as f64 * 2.0)))
                    }
                };
                let found = best_member(&world, kind, &counts) - pays[0];
                assert!((found - expected).abs() < 1e-12, "{kind:?} {counts:?}: {found} {expected}");
            }
        }
    }
}
