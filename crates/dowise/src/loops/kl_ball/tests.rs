//! Tests of optimistic KL-ball members and KL bounds against plain reference computations.

use super::*;
use proptest::prelude::*;

fn divergence(p: &[f64], q: &[f64]) -> f64 {
    p.iter().zip(q).map(|(p, q)| if *p == 0.0 { 0.0 } else { p * (p / q).ln() }).sum()
}

fn mean(q: &[f64], d: &[f64]) -> f64 {
    q.iter().zip(d).map(|(q, d)| q * d).sum()
}

/// The least loss of a row given with its zeros.
fn least(p: &[f64], d: &[f64], radius: f64) -> f64 {
    alone::<1>(p, d, radius, f64::NAN).loss
}

/// The same, with a search that begins somewhere.
fn alone<const N: usize>(p: &[f64], d: &[f64], radius: f64, start: f64) -> Least {
    let mut rows = Rows::<N>::default();
    add(&mut rows, p, d, radius, start);
    rows.solve()[0]
}

fn add<const N: usize>(rows: &mut Rows<N>, p: &[f64], d: &[f64], radius: f64, start: f64) {
    let seen: Vec<(f64, f64)> = p.iter().zip(d).filter(|(p, _)| **p > 0.0).map(|(p, d)| (*p, *d)).collect();
    rows.add(seen.into_iter(), Ball::new(radius), start);
}

proptest! {
    #[test]
    fn rows_side_by_side_have_the_bits_of_one_after_the_other_wherever_searches_begin(
        cases in prop::collection::vec((case(), -5.0..3.0f64), 1..=LANES), again in 0.9..1.1f64,
    ) {
        let mut rows = Rows::<LANES>::default();
        // What was there before leaves nothing behind.
        add(&mut rows, &[0.1; 10], &[0.3; 10], 0.1, f64::NAN);
        rows.solve();
        for (i, ((p, d, radius), start)) in cases.iter().enumerate() {
            add(&mut rows, p, d, *radius, if i % 2 == 0 { start.exp() } else { -start.exp() });
        }
        for (((p, d, radius), _), found) in cases.iter().zip(rows.solve()) {
            let plain = alone::<1>(p, d, *radius, f64::NAN);
            prop_assert_eq!(found.loss.to_bits(), plain.loss.to_bits(), "{:?} {:?} {}", p, d, radius);
            let from_near = alone::<1>(p, d, *radius, plain.at * again);
            prop_assert_eq!(from_near.loss.to_bits(), plain.loss.to_bits(), "{:?} {:?} {} again", p, d, radius);
            let from_zero = alone::<1>(p, d, *radius, 0.0);
            prop_assert_eq!(from_zero.loss.to_bits(), plain.loss.to_bits(), "{:?} {:?} {} from zero", p, d, radius);
        }
    }
}

proptest! {
    #[test]
    fn one_iteration_from_the_solution_has_the_bits_of_the_whole_search(
        losses in prop::collection::vec(prop_oneof![1 => Just(0.0), 4 => 1e-3..1.0f64, 1 => 1e-9..1e-3f64], 8),
        counts in prop::collection::vec(prop::collection::vec(prop_oneof![1 => Just(0u32), 3 => 1u32..50], 8), LANES),
        radii in prop::collection::vec((-6.0..2.0f64).prop_map(f64::exp), LANES),
        scale in prop::sample::select(vec![1.0, 1e-7, 1e9, 1e-120]), again in 0.99..1.01f64,
    ) {
        let losses: Vec<f64> = losses.iter().map(|d| d * scale).collect();
        let rows: Vec<Vec<f64>> = counts.iter().map(|counts| {
            let n = counts.iter().sum::<u32>().max(1);
            counts.iter().map(|&k| f64::from(k) / f64::from(n)).collect()
        }).collect();
        let mass: Vec<[f64; LANES]> = (0..8).map(|v| std::array::from_fn(|i| rows[i][v])).collect();
        let radius: [f64; LANES] = std::array::from_fn(|i| radii[i]);
        let whole: [Least; LANES] = std::array::from_fn(|i| alone::<1>(&rows[i], &losses, radii[i], f64::NAN));
        // Begun where the search ended, near there, or as it is given to go on.
        let mut start = std::array::from_fn(|i| whole[i].at);
        for from in 0..4 {
            let kept = radius.map(|radius: f64| exp(-radius));
            let once = look_once(&mass, &losses, (&radius, &kept), &start);
            for i in 0..LANES {
                let most = losses.iter().zip(&rows[i]).filter(|(_, p)| **p > 0.0).fold(0.0, |most: f64, (d, _)| most.max(*d));
                prop_assert!(once.at_least[i] <= whole[i].loss + 1e-11 * most, "{} {}", once.at_least[i], whole[i].loss);
                if once.is_found[i] {
                    prop_assert_eq!(once.loss[i].to_bits(), whole[i].loss.to_bits());
                } else {
                    let on = alone::<1>(&rows[i], &losses, radii[i], once.at[i]);
                    prop_assert_eq!(on.loss.to_bits(), whole[i].loss.to_bits());
                }
                start[i] = match from {
                    0 => again * once.at[i],
                    1 => 0.0,
                    _ => once.at[i],
                };
            }
        }
    }
}

#[test]
fn most_searches_that_begin_where_the_last_one_ended_end_at_the_first_look() {
    let number = |i: usize| (i as f64 * 0.618_034).fract();
    let mass: Vec<[f64; LANES]> =
        (0..8).map(|v| std::array::from_fn(|i| (1.0 + if (v + i) % 2 == 0 { 0.9 } else { -0.9 }) / 8.0)).collect();
    let radius: [f64; LANES] = std::array::from_fn(|i| 0.01 * (1 + i) as f64);
    let mut losses: Vec<f64> = (0..8).map(|v| number(7 * v * v)).collect();
    let mut start = [1.0; LANES];
    let mut found = 0;
    for step in 0..100 {
        let once = look_once(&mass, &losses, (&radius, &radius.map(|radius: f64| exp(-radius))), &start);
        found += once.is_found.iter().filter(|found| **found).count();
        for i in 0..LANES {
            let row: Vec<f64> = mass.iter().map(|p| p[i]).collect();
            start[i] = alone::<1>(&row, &losses, radius[i], once.at[i]).at;
        }
        losses.iter_mut().enumerate().for_each(|(v, d)| *d *= 1.0 + 1e-4 * number(step + v));
    }
    assert!(found > 85 * LANES, "{found} of {}", 100 * LANES);
}

/// A member of the ball, by halving: masses p / (t + d) to scale for the least t at which they are in the ball, and where
/// even t = 0 is inside, the rest on the best value.
fn member(p: &[f64], d: &[f64], radius: f64) -> Vec<f64> {
    let at = |t: f64| {
        let q: Vec<f64> = p.iter().zip(d).map(|(p, d)| if *p == 0.0 { 0.0 } else { p / (t + d) }).collect();
        let sum: f64 = q.iter().sum();
        q.iter().map(|q| q / sum).collect::<Vec<f64>>()
    };
    let best = d.iter().position(|d| *d == 0.0).expect("a best value");
    if p[best] == 0.0 && divergence(p, &at(0.0)) <= radius {
        let kept = (divergence(p, &at(0.0)) - radius).exp();
        let mut q: Vec<f64> = at(0.0).iter().map(|q| q * kept).collect();
        q[best] = 1.0 - kept;
        return q;
    }
    let (mut outside, mut inside) = (-700.0, 100.0);
    for _ in 0..200 {
        let middle: f64 = 0.5 * (outside + inside);
        *(if divergence(p, &at(middle.exp())) <= radius { &mut inside } else { &mut outside }) = middle;
    }
    at(inside.exp())
}

/// Between a member of the ball and the bound that holds for all members at every t: both sides of the duality.
fn check(p: &[f64], d: &[f64], radius: f64) {
    let found = least(p, d, radius);
    let centre = mean(p, d);
    let close = 1e-11 * centre;
    let member = member(p, d, radius);
    assert!(divergence(p, &member) <= radius * (1.0 + 1e-9) + 1e-12, "{p:?} {d:?} {radius}: not a member");
    assert!((member.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    assert!(found <= mean(&member, d) + close, "{p:?} {d:?} {radius}: {found} > {}", mean(&member, d));
    for i in 0..=4000 {
        let t = if i == 0 { 0.0 } else { (f64::from(i) * 0.02 - 60.0).exp() };
        let log: f64 = p.iter().zip(d).map(|(p, d)| if *p == 0.0 { 0.0 } else { p * (t + d).ln() }).sum();
        let bound = (log - radius).exp() - t;
        assert!(found >= bound - close.max(1e-15 * t), "{p:?} {d:?} {radius}: {found} < {bound} at {t}");
    }
}

prop_compose! {
    /// A row of counts with zeros, losses with one 0 and ties at least, and a radius.
    fn case()(m in 2usize..12)(
        counts in prop::collection::vec(prop_oneof![2 => Just(0u32), 3 => 1u32..4, 3 => 1u32..1000], m),
        losses in prop::collection::vec(prop_oneof![1 => Just(0.0), 1 => Just(1.0), 4 => 1e-3..1.0f64, 1 => 1e-9..1e-3f64], m),
        best in 0..m, scale in prop::sample::select(vec![1.0, 1e-7, 1e9]), radius in (-9.0..3.0f64).prop_map(f64::exp),
    ) -> (Vec<f64>, Vec<f64>, f64) {
        let n = counts.iter().sum::<u32>();
        let p = match n {
            0 => (0..counts.len()).map(|v| if v == 0 { 1.0 } else { 0.0 }).collect(),
            n => counts.iter().map(|&k| f64::from(k) / f64::from(n)).collect(),
        };
        let mut d = losses;
        d[best] = 0.0;
        d.iter_mut().for_each(|d| *d *= scale);
        (p, d, radius)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn the_least_loss_is_that_of_a_member_and_no_member_loses_less((p, d, radius) in case()) {
        check(&p, &d, radius);
    }
}

#[test]
fn no_point_of_a_fine_grid_in_the_ball_loses_less_and_one_loses_little_more() {
    const GRID: i32 = 600;
    for p in [[0.2, 0.3, 0.5], [0.0, 0.4, 0.6], [0.9, 0.1, 0.0], [0.0, 1.0, 0.0], [0.01, 0.01, 0.98]] {
        for d in [[0.0, 0.3, 1.0], [1.0, 0.0, 0.9], [0.5, 1.0, 0.0], [0.0, 1.0, 1.0]] {
            for radius in [0.003, 0.1, 1.0] {
                let found = least(&p, &d, radius);
                let mut grid = f64::INFINITY;
                for i in 0..=GRID {
                    for j in 0..=GRID - i {
                        let q = [i, j, GRID - i - j].map(|n| f64::from(n) / f64::from(GRID));
                        if divergence(&p, &q) <= radius {
                            grid = grid.min(mean(&q, &d));
                        }
                    }
                }
                assert!(grid >= found - 1e-12, "{p:?} {d:?} {radius}: {grid} {found}");
                assert!(grid <= found + 0.01 || radius < 0.01, "{p:?} {d:?} {radius}: {grid} {found}");
            }
        }
    }
}

#[test]
fn nearly_all_mass_on_the_best_value_is_solved_beside_losses_of_many_sizes() {
    let n = 306_055.0;
    check(&[10.0 / n, 0.0, 856.0 / n, 62.0 / n, 305_127.0 / n], &[1e-9, 0.0, 1.0, 1e-3, 0.0], 0.003_360_103);
}

#[test]
fn nothing_is_lost_where_all_are_best_and_the_mean_where_the_ball_is_a_point() {
    assert_eq!(least(&[0.5, 0.5, 0.0], &[0.0, 0.0, 1.0], 0.1), 0.0);
    assert_eq!(least(&[0.25, 0.25, 0.5], &[0.0, 1.0, 0.5], 0.0), 0.5);
    assert_eq!(least(&[0.0, 1.0], &[0.0, 2.0], 0.5), 2.0 * (-0.5f64).exp());
    // Numbers whose squares, or the inverses of these, are not finite.
    for size in [1e-300, 1e-200, 1e200, 1e300] {
        let loss = least(&[0.5, 0.25, 0.25], &[0.0, size, 0.5 * size], 0.1);
        assert!((0.0..=0.375 * size).contains(&loss), "{size}: {loss}");
    }
}
