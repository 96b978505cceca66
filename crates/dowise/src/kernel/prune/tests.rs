//! Tests that pruned settings attain the same optimum as all settings, for random values.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Setting, prune};

const PLENTY: i64 = i64::MAX;

/// Random distributions, mixtures and copies of them, with costs, signatures and numbers of levers set.
struct Case {
    settings: Vec<Setting>,
    prob: Vec<f64>,
    n_causes: usize,
    limited: bool,
}

fn case(rng: &mut ChaCha8Rng) -> Case {
    let n_causes = rng.random_range(1..=6usize);
    let n = rng.random_range(1..=80usize);
    let costs = rng.random_bool(0.5);
    let coarse = rng.random_bool(0.3);
    let mut rows: Vec<Vec<f64>> = Vec::new();
    let mut cost: Vec<f64> = Vec::new();
    for i in 0..n {
        let mixture = i > 1 && rng.random_bool(0.6);
        if mixture {
            let (a, b) = (rng.random_range(0..i), rng.random_range(0..i));
            let t = [0.0, 0.5, rng.random_range(0.0..1.0)][rng.random_range(0..3usize)];
            rows.push(rows[a].iter().zip(&rows[b]).map(|(x, y)| (1.0 - t) * x + t * y).collect());
            let more = f64::from(rng.random_range(0..2u8)) * rng.random_range(0.0..1.0);
            cost.push((1.0 - t) * cost[a] + t * cost[b] + if costs { more } else { 0.0 });
        } else {
            let mut row: Vec<f64> = (0..n_causes).map(|_| -rng.random_range(1e-9..1.0f64).ln()).collect();
            if coarse {
                row.fill(0.0);
                (0..4).for_each(|_| row[rng.random_range(0..n_causes)] += 1.0);
            }
            let sum: f64 = row.iter().sum();
            rows.push(row.iter().map(|p| p / sum).collect());
            cost.push(if costs { rng.random_range(-1.0..1.0) } else { 0.0 });
        }
    }
    let limited = rng.random_bool(0.3);
    let classes = rng.random_range(1..=2u64);
    let settings = (0..n)
        .map(|i| Setting {
            part: i as u64,
            cost: cost[i],
            n_set: rng.random_range(0..3),
            signature: rng.random_range(0..classes),
        })
        .collect();
    let prob = (0..n_causes).flat_map(|c| rows.iter().map(move |row| row[c])).collect();
    Case { settings, prob, n_causes, limited }
}

impl Case {
    fn value(&self, i: u32, loss: &[f64]) -> f64 {
        let n = self.settings.len();
        (0..self.n_causes).map(|c| self.prob[c * n + i as usize] * loss[c]).sum::<f64>()
            + self.settings[i as usize].cost
    }

    fn least(&self, among: &[u32], loss: &[f64], most_set: usize, signature: u64) -> f64 {
        let fits = |i: &&u32| {
            let s = &self.settings[**i as usize];
            s.signature == signature && (!self.limited || s.n_set <= most_set)
        };
        among.iter().filter(fits).map(|&i| self.value(i, loss)).fold(f64::INFINITY, f64::min)
    }
}

#[test]
fn the_least_of_the_kept_settings_is_the_least_of_all() {
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let (mut all, mut left) = (0, 0);
    for round in 0..600 {
        let case = case(&mut rng);
        let allowed: Vec<u32> = (0..case.settings.len() as u32).filter(|_| rng.random_bool(0.9)).collect();
        let mut work = if round % 5 == 0 { rng.random_range(0..20_000) } else { PLENTY };
        let kept = prune(&allowed, &case.settings, &case.prob, case.n_causes, case.limited, &mut work);
        assert!(kept.iter().all(|i| allowed.contains(i)) && kept.is_sorted());
        (all, left) = (all + allowed.len(), left + kept.len());
        for _ in 0..20 {
            let size = 10f64.powi(rng.random_range(-2..3));
            let whole = rng.random_bool(0.3);
            let loss: Vec<f64> = (0..case.n_causes)
                .map(|_| rng.random_range(-1.0..1.0f64))
                .map(|x| size * if whole { (2.0 * x).round() } else { x })
                .collect();
            for (most_set, signature) in [(0, 0), (1, 0), (2, 0), (1, 1)] {
                let expected = case.least(&allowed, &loss, most_set, signature);
                let found = case.least(&kept, &loss, most_set, signature);
                assert!(found == expected || (found - expected).abs() <= 1e-12 * size.max(1.0), "{found} {expected}");
            }
        }
    }
    assert!(left * 2 < all, "{left} of {all} are left");
}

#[test]
fn exactly_the_corners_are_left_of_corners_and_mixtures() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for n_causes in 3..=8 {
        // Points of a simplex pushed towards its corners, with mixtures before and after them.
        let n = 400;
        let mut rows: Vec<Vec<f64>> = Vec::new();
        for i in 0..n {
            let corner = (i % 50 == 7).then_some(i / 50 % n_causes);
            let weights: Vec<f64> = (0..n_causes).map(|_| rng.random_range(0.1..1.0)).collect();
            let sum: f64 = weights.iter().sum();
            let at = |c: usize| match corner {
                Some(corner) => f64::from(u8::from(c == corner)) * 0.9 + 0.1 / n_causes as f64,
                None => 0.9 * weights[c] / sum + 0.1 / n_causes as f64,
            };
            rows.push((0..n_causes).map(at).collect());
        }
        let settings: Vec<Setting> =
            (0..n).map(|i| Setting { part: i as u64, cost: 0.0, n_set: 1, signature: 0 }).collect();
        let prob: Vec<f64> = (0..n_causes).flat_map(|c| rows.iter().map(move |row| row[c])).collect();
        let allowed: Vec<u32> = (0..n as u32).collect();
        let kept = prune(&allowed, &settings, &prob, n_causes, false, &mut PLENTY.clone());
        let expected: Vec<u32> = (0..n_causes as u32).map(|c| 50 * c + 7).collect();
        assert_eq!(kept, expected);
    }
}

#[test]
fn points_that_barely_stick_out_are_kept() {
    // On a sphere every point is an extreme point: the loss in its direction has no other minimiser.
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    for n_causes in 3..=6 {
        let n = 60;
        let directions: Vec<Vec<f64>> = (0..n)
            .map(|_| {
                let free: Vec<f64> = (0..n_causes).map(|_| rng.random_range(-1.0..1.0)).collect();
                let mean = free.iter().sum::<f64>() / n_causes as f64;
                let length = free.iter().map(|x| (x - mean).powi(2)).sum::<f64>().sqrt();
                free.iter().map(|x| (x - mean) / length).collect()
            })
            .collect();
        for radius in [0.1, 1e-3, 1e-6] {
            let row = |d: &Vec<f64>| d.iter().map(|x| 1.0 / n_causes as f64 + radius * x).collect::<Vec<f64>>();
            let rows: Vec<Vec<f64>> = directions.iter().map(row).collect();
            let settings: Vec<Setting> =
                (0..n).map(|i| Setting { part: i as u64, cost: 0.0, n_set: 1, signature: 0 }).collect();
            let prob: Vec<f64> = (0..n_causes).flat_map(|c| rows.iter().map(move |row| row[c])).collect();
            let all: Vec<u32> = (0..n as u32).collect();
            assert_eq!(prune(&all, &settings, &prob, n_causes, false, &mut PLENTY.clone()), all);
        }
    }
}
