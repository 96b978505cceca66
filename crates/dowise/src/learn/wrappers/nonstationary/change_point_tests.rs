//! Tests of the change-point test: against its plain formula, and against theory by enumeration.

use super::*;
use crate::random::splitmix64;

struct List(Vec<u128>);

impl Recent for List {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn nth_back(&self, i: usize) -> u128 {
        self.0[self.0.len() - 1 - i]
    }
}

fn random(at: &mut u64) -> f64 {
    *at = splitmix64(*at);
    (*at >> 11) as f64 / (1u64 << 53) as f64
}

/// Probability of a sequence under a Dirichlet mixture, one value after the other.
fn sequence(values: &[usize], size: usize, alpha: f64) -> f64 {
    let mut seen = vec![0.0; size];
    let mut log = 0.0;
    for (n, &v) in values.iter().enumerate() {
        log += ((seen[v] + alpha) / (n as f64 + alpha * size as f64)).ln();
        seen[v] += 1.0;
    }
    log
}

fn greatest(values: &[usize], size: usize) -> f64 {
    let n = values.len() as f64;
    let count = |v: usize| values.iter().filter(|x| **x == v).count() as f64;
    (0..size).map(count).filter(|k| *k > 0.0).map(|k| k * (k / n).ln()).sum()
}

/// ln E of a split after `k` visits by definition, for values composed of digits.
fn plain(values: &[usize], sizes: &[usize], k: usize) -> f64 {
    let m: usize = sizes.iter().product();
    let digit = |part: &[usize], d: usize| -> Vec<usize> {
        let stride: usize = sizes[d + 1..].iter().product();
        part.iter().map(|v| v / stride % sizes[d]).collect()
    };
    let sides = [&values[..k], &values[k..]];
    let product: f64 = sides.iter().flat_map(|s| (0..sizes.len()).map(|d| sequence(&digit(s, d), sizes[d], 0.5))).sum();
    let sparse: f64 = sides.iter().map(|s| sequence(s, m, 1.0 / m as f64)).sum();
    let best = greatest(values, m);
    if m == 2 { product - best } else { (0.5 * (product - best).exp() + 0.5 * (sparse - best).exp()).ln() }
}

fn tally(values: &[usize], m: usize) -> Tally {
    let mut tally = Tally::Values(vec![0; m]);
    values.iter().for_each(|&v| tally.add(v as u128));
    tally
}

#[test]
fn splits_from_the_end_backwards_are_those_of_the_definition() {
    let mut at = 3;
    for sizes in [&[2][..], &[3], &[2, 2, 2], &[3, 2], &[1, 2], &[2, 1, 3]] {
        let m: usize = sizes.iter().product();
        for n in [2, 3, 7, 40] {
            let values: Vec<usize> =
                (0..n).map(|_| ((random(&mut at) * random(&mut at)) * m as f64) as usize).collect();
            let sizes: Vec<usize> = sizes.iter().copied().filter(|s| *s > 1).collect();
            let (shape, tally) = (Shape::of_values(&sizes), tally(&values, m));
            let list = List(values.iter().map(|&v| v as u128).collect());
            let mut looked = 0;
            shape.splits((&tally, n as u64), &list, u64::MAX, &mut Scratch::default(), |after, e| {
                let expected = plain(&values, &sizes, n - after as usize);
                assert!((e.ln() - expected).abs() < 1e-9, "{values:?}, {after} after: {} {expected}", e.ln());
                looked += 1;
            });
            assert_eq!(looked, n - 1);
        }
    }
}

#[test]
fn payments_of_nothing_and_all_are_two_values() {
    let mut at = 5;
    let values: Vec<usize> = (0..30).map(|i| usize::from(random(&mut at) < if i < 12 { 0.2 } else { 0.7 })).collect();
    let list = List(values.iter().map(|&v| v as u128 * PAID_WHOLE).collect());
    let mut tally = Tally::Paid(0, 0);
    list.0.iter().for_each(|&share| tally.add(share));
    Shape::of_payments().splits((&tally, 30), &list, u64::MAX, &mut Scratch::default(), |after, e| {
        let expected = plain(&values, &[2], 30 - after as usize);
        assert!((e.ln() - expected).abs() < 1e-9, "{after}: {} {expected}", e.ln());
    });
}

#[test]
fn weights_of_splits_sum_to_one_at_most() {
    let mut sum = 0.0;
    for j in 0..60u32 {
        sum += weight(1 << j) * (1u64 << j) as f64;
        assert_eq!(weight(1 << j), weight((2 << j) - 1));
    }
    assert!(sum <= 1.0 && sum > 0.99, "{sum}");
}

/// The mean of the test statistic over all sequences.
fn mean_by_enumeration(outcomes: &[(u128, f64)], n: u32, shape: &Shape, empty: &Tally) -> f64 {
    let m = outcomes.len();
    (0..m.pow(n))
        .map(|code| {
            let digits: Vec<usize> = (0..n).map(|i| code / m.pow(i) % m).collect();
            let list = List(digits.iter().map(|&d| outcomes[d].0).collect());
            let p: f64 = digits.iter().map(|&d| outcomes[d].1).product();
            let mut tally = empty.clone();
            list.0.iter().for_each(|&v| tally.add(v));
            let mut sum = 0.0;
            shape.splits((&tally, n.into()), &list, u64::MAX, &mut Scratch::default(), |after, e| {
                sum += weight(u64::from(n) - after) * e;
            });
            p * sum
        })
        .sum()
}

#[test]
fn where_nothing_changes_the_mean_is_at_most_one_whatever_the_row() {
    for p in [0.01, 0.2, 0.5, 0.93] {
        for n in [2, 5, 10] {
            let outcomes = [(0, p), (1, 1.0 - p)];
            let mean = mean_by_enumeration(&outcomes, n, &Shape::of_values(&[2]), &Tally::Values(vec![0; 2]));
            assert!(mean <= 1.0, "{p} {n}: {mean}");
        }
    }
    for p in [[0.1, 0.2, 0.7], [0.02, 0.49, 0.49], [0.3, 0.3, 0.4]] {
        let values = [(0, p[0]), (1, p[1]), (2, p[2])];
        let mean = mean_by_enumeration(&values, 7, &Shape::of_values(&[3]), &Tally::Values(vec![0; 3]));
        assert!(mean <= 1.0, "{p:?}: {mean}");
        // Three rewards with these probabilities.
        let paid = [(0, p[0]), (PAID_WHOLE / 3, p[1]), (PAID_WHOLE, p[2])];
        let mean = mean_by_enumeration(&paid, 7, &Shape::of_payments(), &Tally::Paid(0, 0));
        assert!(mean <= 1.0, "{p:?}: {mean}");
    }
}

#[test]
fn a_change_is_found_soon_and_where_it_was() {
    let (mut at, mut found) = (11, Vec::new());
    for _ in 0..40 {
        let shape = Shape::of_values(&[2]);
        let (mut tally, mut list) = (Tally::Values(vec![0; 2]), List(vec![]));
        for i in 1..400u64 {
            let y = u128::from(random(&mut at) < if i <= 200 { 0.2 } else { 0.8 });
            tally.add(y);
            list.0.push(y);
            if shape.alarm((&tally, i), &list, 1000.0, &mut Scratch::default()) {
                let kept = shape.best((&tally, i), &list, &mut Scratch::default());
                found.push((i, i - kept));
                break;
            }
        }
    }
    assert_eq!(found.len(), 40);
    assert!(found.iter().all(|(i, _)| (201..280).contains(i)), "{found:?}");
    let near = found.iter().filter(|(_, split)| split.abs_diff(200) <= 5).count();
    assert!(near >= 32, "{found:?}");
}

#[test]
fn thousands_of_values_and_extreme_rows_are_no_trouble() {
    let shape = Shape::of_values(&[3000]);
    // Rows with a few of many values each, and another few later.
    let values: Vec<usize> = (0..4000).map(|i| if i < 3950 { i % 9 } else { 2000 + i % 4 }).collect();
    let (tally, list) = (tally(&values, 3000), List(values.iter().map(|&v| v as u128).collect()));
    let mut most = f64::NEG_INFINITY;
    shape.splits((&tally, 4000), &list, u64::MAX, &mut Scratch::default(), |_, e| {
        assert!(!e.is_nan());
        most = most.max(e);
    });
    assert!(most > 1e6, "{most}");
    assert_eq!(shape.best((&tally, 4000), &list, &mut Scratch::default()), 50);
}

#[test]
fn rows_that_never_change_reach_a_bar_no_more_often_than_promised() {
    let (mut at, mut alarms, runs) = (23, 0, 300);
    for i in 0..runs {
        // Under any stopping rule: rows that are nearly deterministic, even, and random.
        let p = [0.02, 0.5, random(&mut at)][i % 3];
        let shape = Shape::of_values(&[2]);
        let (mut tally, mut list) = (Tally::Values(vec![0; 2]), List(vec![]));
        let found = (1..=400u64).any(|n| {
            let y = u128::from(random(&mut at) < p);
            tally.add(y);
            list.0.push(y);
            shape.alarm((&tally, n), &list, 5.0, &mut Scratch::default())
        });
        alarms += u32::from(found);
    }
    // The guarantee is at most a fifth; three standard deviations above would be 81.
    assert!(alarms <= 60, "{alarms} of {runs}");
}

#[test]
fn the_mean_over_some_splits_is_theirs_and_is_asked_for_now_and_then() {
    let mut at = 9;
    let values: Vec<usize> = (0..32).map(|_| usize::from(random(&mut at) < 0.4)).collect();
    let (tally, list) = (tally(&values, 2), List(values.iter().map(|&v| v as u128).collect()));
    let shape = Shape::of_values(&[2]);
    let expected = (5..=9).map(|after| plain(&values, &[2], 32 - after).exp()).sum::<f64>() / 5.0;
    let mean = shape.mean((&tally, 32), &list, [5, 9], &mut Scratch::default()).unwrap();
    assert!((mean - expected).abs() < 1e-12 * expected.max(1.0), "{mean} {expected}");
    assert_eq!(shape.mean((&tally, 31), &list, [5, 9], &mut Scratch::default()), None);
    assert_eq!(shape.mean((&tally, 28), &list, [5, 33], &mut Scratch::default()), None);
}
