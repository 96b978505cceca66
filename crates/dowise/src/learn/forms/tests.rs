//! Tests of parametric mechanisms: models against plain sums, gradients against differences, posteriors against
//! quadrature.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::{Fit, FormModel};
use crate::learn::evidence::Counts;
use crate::learn::view::MechanismRows;
use crate::learn::{Knowledge, LearnError};
use crate::random::normal;
use crate::world::World;

/// A world with one key variable `k` and its ancestors.
pub(super) fn world(middle: &str) -> World {
    let text = format!(
        r#"
dowise = 1
horizon = 2
[state.s]
values = ["a", "b"]
scope = ["s", "k"]
[lever.x]
values = ["0", "1", "2"]
[lever.y]
values = ["0", "1"]
{middle}
[reward.r]
scope = [KEYS]
range = [0, 1]
"#
    );
    let text = text.replace("KEYS", if middle.contains("[key.j]") { "\"k\", \"j\"" } else { "\"k\"" });
    World::from_toml(&text, "test.toml").unwrap_or_else(|e| panic!("{e}"))
}

fn models(world: &World) -> Vec<(MechanismRows, usize)> {
    let knowledge = Knowledge::of(world);
    let rows = MechanismRows::new(knowledge.world()).unwrap().unwrap();
    let with_model: Vec<usize> = (0..rows.unknown.len()).filter(|&i| rows.unknown[i].model.is_some()).collect();
    with_model.into_iter().map(|i| (rows.clone(), i)).collect()
}

pub(super) fn model(world: &World) -> FormModel {
    let (rows, i) = models(world).remove(0);
    FormModel::clone(rows.unknown[i].model.as_ref().unwrap())
}

const LOGIT: &str = "[key.k]\nvalues = [\"no\", \"yes\"]\nparents = [\"x\", \"y\"]\nlearn = \"logit\"";
const THREE: &str = "[key.k]\nvalues = [\"lo\", \"mid\", \"hi\"]\nparents = [\"x\", \"y\"]\nlearn = { form = \"logit\", interactions = [[\"x\", \"y\"]] }";
const NOISY: &str = "[key.k]\nvalues = [\"no\", \"yes\"]\nparents = [\"x\", \"y\"]\nlearn = \"noisy_or\"";
const HIDDEN: &str = "[hidden.h]\nvalues = [\"no\", \"yes\"]\nparents = [\"x\"]\nlearn = \"table\"\n\
    [key.k]\nvalues = [\"no\", \"yes\"]\nparents = [\"h\", \"y\"]\nlearn = \"logit\"";
const TWO_CHILDREN: &str = "[hidden.h]\nvalues = [\"no\", \"some\", \"much\"]\nparents = [\"x\"]\nlearn = \"logit\"\n\
    [key.k]\nvalues = [\"no\", \"yes\"]\nparents = [\"h\", \"y\"]\nlearn = \"noisy_or\"\n\
    [key.j]\nvalues = [\"no\", \"yes\"]\nparents = [\"h\", \"k\"]\nlearn = \"logit\"";

#[test]
fn slopes_are_differences() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for text in [LOGIT, THREE, NOISY, HIDDEN, TWO_CHILDREN] {
        let model = model(&world(text));
        let d = model.n_parameters();
        let theta: Vec<f64> = (0..d).map(|_| normal(&mut rng)).collect();
        let mut tables = Vec::new();
        model.tables(&theta, &mut tables);
        let mut found = super::Slopes::new(&model);
        for row in 0..model.n_rows {
            model.row_with_slopes(&theta, &tables, row, &mut found);
            let super::Slopes { row: p, slopes, .. } = &found;
            assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            for i in 0..d {
                let at = |step: f64| {
                    let mut theta = theta.clone();
                    theta[i] += step;
                    model.probabilities(&theta)[row * model.n_values..][..model.n_values].to_vec()
                };
                let (before, after) = (at(-1e-5), at(1e-5));
                for v in 0..model.n_values {
                    let slope = (after[v] - before[v]) / 2e-5;
                    assert!((slopes[v * d + i] - slope).abs() < 1e-8, "{text}: row {row}, value {v}, parameter {i}");
                }
            }
        }
    }
}

#[test]
fn hidden_variables_are_marginalised_out_as_by_hand() {
    // Parameters of h's table come first (base, then one for each row), then those of k: base, y = 1, h = yes.
    let model = model(&world(HIDDEN));
    let theta = [0.2, -0.4, 0.1, 0.9, -1.0, 1.7, 0.6];
    assert_eq!(model.n_parameters(), theta.len());
    let sigma = |x: f64| 1.0 / (1.0 + (-x).exp());
    let p = model.probabilities(&theta);
    // Rows run over x, then y (levers in the order of the file).
    for x in 0..3 {
        for y in 0..2 {
            let h = sigma(theta[0] + theta[1 + x]);
            let k = |h: f64| sigma(theta[4] + y as f64 * theta[5] + h * theta[6]);
            let expected = (1.0 - h) * k(0.0) + h * k(1.0);
            assert!((p[(x * 2 + y) * 2 + 1] - expected).abs() < 1e-14, "x {x}, y {y}");
        }
    }
}

#[test]
fn variables_that_share_a_hidden_parent_are_counted_together_and_only_those() {
    let shapes = |middle: &str| -> Vec<(Vec<String>, Vec<String>)> {
        let world = world(middle);
        let knowledge = Knowledge::of(&world);
        let rows = MechanismRows::new(knowledge.world()).unwrap().unwrap();
        let names = |ids: &[crate::world::VarId]| ids.iter().map(|&id| world.variable(id).name.clone()).collect();
        let shape = |position: usize| {
            let m = &rows.world.mechanisms()[position];
            (names(&m.children), names(&m.parents))
        };
        rows.unknown.iter().map(|m| shape(m.position)).collect()
    };
    let one = |children: &[&str], parents: &[&str]| {
        let own = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        (own(children), own(parents))
    };
    // One child: within its rows, whatever its descendants.
    let chain = "[hidden.h]\nvalues = 2\nparents = [\"x\"]\n[key.j]\nvalues = 2\nparents = [\"h\"]\n\
        [key.k]\nvalues = 2\nparents = [\"j\", \"y\"]";
    assert_eq!(shapes(chain), [one(&["j"], &["x"]), one(&["k"], &["j", "y"])]);
    // Two children of one hidden variable.
    assert_eq!(shapes(TWO_CHILDREN), [one(&["k", "j"], &["x", "y"])]);
    // A variable between two children of one hidden variable is counted with them.
    let between = "[hidden.h]\nvalues = 2\n[key.j]\nvalues = 2\nparents = [\"h\", \"x\"]\n\
        [key.m]\nvalues = 2\nparents = [\"j\"]\n[key.k]\nvalues = 2\nparents = [\"h\", \"m\", \"y\"]";
    assert_eq!(shapes(between), [one(&["j", "m", "k"], &["x", "y"])]);
}

/// Posterior mean and standard deviation of P(second value | row) for two parameters, by summing over a fine grid.
fn by_quadrature(model: &FormModel, counts: &Counts, row: usize) -> (f64, f64) {
    assert_eq!(model.n_parameters(), 2);
    let (mut mass, mut first, mut second) = (0.0, 0.0, 0.0);
    let steps = 400;
    let sd = |i: usize| 1.0 / model.prior.parameters[i].1.sqrt();
    for a in 0..steps {
        for b in 0..steps {
            let z = |i: usize| -6.0 + 12.0 * i as f64 / (steps - 1) as f64;
            let theta = [model.prior.parameters[0].0 + z(a) * sd(0), model.prior.parameters[1].0 + z(b) * sd(1)];
            let p = model.probabilities(&theta);
            let mut density = -0.5 * (z(a) * z(a) + z(b) * z(b));
            for r in 0..model.n_rows {
                for v in 0..2 {
                    density += f64::from(counts.n_rv[r * 2 + v]) * p[r * 2 + v].ln();
                }
            }
            let weight = density.exp();
            mass += weight;
            first += weight * p[row * 2 + 1];
            second += weight * p[row * 2 + 1] * p[row * 2 + 1];
        }
    }
    let mean = first / mass;
    (mean, (second / mass - mean * mean).sqrt())
}

#[test]
fn posteriors_agree_with_quadrature() {
    let alone = |form: &str| {
        format!("[key.k]\nvalues = [\"no\", \"yes\"]\nparents = [\"y\"]\nlearn = {{ form = \"{form}\", sd = 0.7 }}")
    };
    for form in ["logit", "noisy_or"] {
        let model = model(&world(&alone(form)));
        for entries in [[40, 12, 25, 31], [150, 50, 60, 140], [400, 100, 250, 250]] {
            let mut counts = Counts::new(2, 2);
            for (i, &n) in entries.iter().enumerate() {
                (0..n).for_each(|_| counts.add(i / 2, i % 2));
            }
            // The error of a normal approximation falls like one over the root of the visits.
            let close = 3.0 / f64::from(entries.iter().sum::<u32>()).sqrt();
            let fit = Fit::new(&model, &counts);
            let mut rng = ChaCha8Rng::seed_from_u64(3);
            let samples: Vec<Vec<f64>> = (0..4000).map(|_| fit.sample(&model, &counts, 1.0, &mut rng)).collect();
            for row in 0..2 {
                let (mean, sd) = by_quadrature(&model, &counts, row);
                let drawn = |f: &dyn Fn(f64) -> f64| samples.iter().map(|s| f(s[row * 2 + 1])).sum::<f64>() / 4000.0;
                let sample_mean = drawn(&|p| p);
                let sample_sd = drawn(&|p| (p - sample_mean) * (p - sample_mean)).sqrt();
                assert!(
                    (sample_mean - mean).abs() < close * sd,
                    "{form}: mean {sample_mean}, by quadrature {mean}, sd {sd}"
                );
                assert!((sample_sd / sd - 1.0).abs() < 0.08, "{form}: sd {sample_sd}, by quadrature {sd}");
                assert!((fit.mean(&model)[row * 2 + 1] - mean).abs() < 0.25 * sd);
                let [lo, hi] = fit.bounds(&model, (1.0f64 / 0.05).ln());
                assert!(lo[row * 2 + 1] < mean - 2.0 * sd && mean + 2.0 * sd < hi[row * 2 + 1]);
            }
        }
    }
}

#[test]
fn a_fit_is_where_the_density_is_greatest() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for text in [LOGIT, THREE, NOISY, HIDDEN, TWO_CHILDREN] {
        let model = model(&world(text));
        let truth: Vec<f64> =
            model.prior.parameters.iter().map(|(mean, precision)| mean + normal(&mut rng) / precision.sqrt()).collect();
        let p = model.probabilities(&truth);
        let mut counts = Counts::new(model.n_rows, model.n_values);
        for row in 0..model.n_rows {
            for v in 0..model.n_values {
                (0..(p[row * model.n_values + v] * 300.0) as u32).for_each(|_| counts.add(row, v));
            }
        }
        let fit = Fit::new(&model, &counts);
        let density = |theta: &[f64]| {
            let p = model.probabilities(theta);
            let prior: f64 = theta.iter().zip(&fit.prior).map(|(t, (m, w))| w * (t - m) * (t - m)).sum();
            let data: f64 = p.iter().zip(&counts.n_rv).map(|(p, &n)| f64::from(n) * p.ln()).sum();
            data - 0.5 * prior
        };
        let best = density(&fit.theta);
        assert!(best >= density(&truth), "{text}");
        for i in 0..truth.len() {
            for step in [-0.05, 0.05] {
                let mut theta = fit.theta.clone();
                theta[i] += step;
                assert!(density(&theta) < best, "{text}: parameter {i} is better by {step}");
            }
        }
    }
}

#[test]
fn separation_and_no_data_at_all_end_at_finite_places() {
    for text in [LOGIT, THREE, NOISY, HIDDEN, TWO_CHILDREN] {
        let model = model(&world(text));
        let before = Fit::new(&model, &Counts::new(model.n_rows, model.n_values)).mean(&model);
        for n in [0u32, 1, 5, 100_000] {
            let mut counts = Counts::new(model.n_rows, model.n_values);
            // Only the last value, only in the first row.
            counts.n_r[0] = n;
            counts.n_rv[model.n_values - 1] = n;
            let fit = Fit::new(&model, &counts);
            let p = fit.mean(&model);
            assert!(p.iter().all(|p| p.is_finite() && *p >= 0.0), "{text}");
            assert!(n == 0 || p[model.n_values - 1] > before[model.n_values - 1] + 0.01, "{text}");
            let [lo, hi] = fit.bounds(&model, 3.0);
            assert!(lo.iter().zip(&hi).all(|(lo, hi)| 0.0 <= *lo && lo <= hi && *hi <= 1.0), "{text}");
        }
    }
}

#[test]
fn samples_follow_the_posterior_for_unobserved_outcomes_and_wide_priors() {
    for form in ["logit", "noisy_or"] {
        let text = format!(
            "[key.k]\nvalues = [\"no\", \"yes\"]\nparents = [\"y\"]\nlearn = {{ form = \"{form}\", sd = 100 }}"
        );
        let model = model(&world(&text));
        let mut counts = Counts::new(2, 2);
        (counts.n_r, counts.n_rv) = (vec![40, 40], vec![20, 20, 0, 40]);
        // P(no | second row): the effect is unbounded on one side, so nearly all posterior mass is near 0.
        let (mut mass, mut sum) = (0.0, 0.0);
        for step in 0..4000 {
            let theta = [0.0, -50.0 + 0.125 * f64::from(step)];
            let p = model.probabilities(&theta);
            let (mean, precision) = model.prior.parameters[1];
            let weight = p[3].powi(40) * (-0.5 * precision * (theta[1] - mean).powi(2)).exp();
            (mass, sum) = (mass + weight, sum + weight * p[2]);
        }
        let by_quadrature = sum / mass;
        assert!(by_quadrature < 0.002, "{form}: {by_quadrature}");
        let fit = Fit::new(&model, &counts);
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let drawn = (0..500).map(|_| fit.sample(&model, &counts, 1.0, &mut rng)[2]).sum::<f64>() / 500.0;
        assert!(drawn < 0.01, "{form}: {drawn} drawn, {by_quadrature} by quadrature");
    }
}

#[test]
fn collinear_effects_have_a_posterior_under_every_prior_of_a_world_file() {
    for sd in [1e-4, 0.5, 100.0] {
        let text = LOGIT.replace("\"logit\"", &format!("{{ form = \"logit\", sd = {sd} }}"));
        let model = model(&world(&text));
        for n in [1u32, 1000, u32::MAX] {
            // x = 2 was only set together with y = 1: their effects are not identifiable separately.
            let mut counts = Counts::new(model.n_rows, 2);
            let row = model.n_rows - 1;
            (counts.n_r[row], counts.n_rv[2 * row], counts.n_rv[2 * row + 1]) = (n, n / 2, n - n / 2);
            let fit = Fit::new(&model, &counts);
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            let (mean, sample) = (fit.mean(&model), fit.sample(&model, &counts, 1.0, &mut rng));
            assert!(mean.iter().chain(&sample).all(|p| (0.0..=1.0).contains(p)), "sd {sd}, {n} visits");
            let [lo, hi] = fit.bounds(&model, 3.0);
            assert!(lo.iter().zip(&hi).all(|(lo, hi)| 0.0 <= *lo && lo <= hi && *hi <= 1.0), "sd {sd}, {n} visits");
        }
    }
}

/// Number of visits of a value in a row, by the number of values.
type Extreme = fn(row: usize, value: usize, n_values: usize) -> u32;

#[test]
fn counts_as_large_and_as_uneven_as_they_get_have_a_posterior() {
    let cases: [(&str, Extreme); 6] = [
        ("all alike, as many as there can be", |_, _, n| u32::MAX / n as u32),
        ("one value always, but one row", |row, v, n| match (row, v) {
            (0, 0) => 1,
            (1.., v) if v == n - 1 => u32::MAX,
            _ => 0,
        }),
        ("rows that contradict every sum of effects", |row, v, n| {
            if v == row.count_ones() as usize % 2 * (n - 1) { u32::MAX } else { 0 }
        }),
        ("each value once, and one of them always", |_, v, n| if v == 0 { u32::MAX - (n as u32 - 1) } else { 1 }),
        (
            "one row seen once, the next more often than can be",
            |row, v, n| {
                if v == n - 1 { [1, u32::MAX][row % 2] } else { 0 }
            },
        ),
        ("a single row", |row, v, n| if row == 0 { [u32::MAX / 2, 0, 1][v.min(n - 1).min(2)] } else { 0 }),
    ];
    for text in [LOGIT, THREE, NOISY, HIDDEN, TWO_CHILDREN] {
        for sd in [None, Some("0.001"), Some("100.0")] {
            // A nearly certain prior, and a flat one.
            let wide =
                sd.map(|sd| text.replace("learn = \"logit\"", &format!("learn = {{ form = \"logit\", sd = {sd} }}")));
            let model = model(&world(wide.as_deref().unwrap_or(text)));
            let (rows, values) = (model.n_rows, model.n_values);
            let density = |theta: &[f64], counts: &Counts, prior: &[(f64, f64)]| -> f64 {
                let p = model.probabilities(theta);
                let prior = theta.iter().zip(prior).map(|(t, (mean, weight))| weight * (t - mean) * (t - mean));
                let seen = p.iter().zip(&counts.n_rv).filter(|(_, n)| **n > 0);
                seen.map(|(p, &n)| f64::from(n) * p.ln()).sum::<f64>() - 0.5 * prior.sum::<f64>()
            };
            for (what, extreme) in &cases {
                let mut counts = Counts::new(rows, values);
                for row in 0..rows {
                    for v in 0..values {
                        counts.n_rv[row * values + v] = extreme(row, v, values);
                    }
                    counts.n_r[row] = counts.n_rv[row * values..][..values].iter().sum();
                }
                let about = format!("{what}, sd {sd:?}: {text}");
                let fit = Fit::new(&model, &counts);
                assert!(fit.theta.iter().all(|t| t.is_finite()), "{about}: {:?}", fit.theta);
                // The fit did not diverge from its start.
                let begun: Vec<f64> = model.prior.parameters.iter().map(|(mean, _)| *mean).collect();
                let (best, first) = (density(&fit.theta, &counts, &fit.prior), density(&begun, &counts, &fit.prior));
                assert!(best >= first - 1e-9 * first.abs(), "{about}: {best} after {first}");
                let mut rng = ChaCha8Rng::seed_from_u64(1);
                let mean = fit.mean(&model);
                let samples = (0..3).map(|_| fit.sample(&model, &counts, 1.0, &mut rng));
                for table in [mean.clone()].into_iter().chain(samples) {
                    assert_eq!(table.len(), rows * values);
                    for row in table.chunks_exact(values) {
                        // Sums over hidden values may round to a little more than 1.
                        assert!(row.iter().all(|p| (0.0..=1.0 + 1e-12).contains(p)), "{about}: {row:?}");
                        assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{about}: {row:?}");
                    }
                }
                let [lo, hi] = fit.bounds(&model, 3.0);
                assert!(lo.iter().zip(&hi).all(|(lo, hi)| 0.0 <= *lo && lo <= hi && *hi <= 1.0), "{about}");
                if *what == cases[0].0 && sd != Some("0.001") {
                    let even = 1.0 / values as f64;
                    assert!(mean.iter().all(|p| (p - even).abs() < 1e-3), "{about}: {mean:?}");
                }
            }
        }
    }
}

#[test]
fn what_rounding_takes_from_a_prior_does_not_stop_a_fit() {
    use nalgebra::DMatrix;
    // Two effects that are not identifiable separately, with so many visits that a precision of 10⁻⁴ is lost in their
    // sums.
    let seen = DMatrix::from_row_slice(2, 2, &[4e15 + 1e-4, 4e15, 4e15, 4e15 + 1e-4]);
    assert!(nalgebra::Cholesky::new(seen.clone()).is_none(), "nothing was lost");
    let factor = super::fit::factorised(seen.clone());
    assert!((factor.l() * factor.l().transpose() - seen).abs().max() < 100.0);
    // A positive definite matrix is factorised unchanged.
    let plain = DMatrix::from_row_slice(2, 2, &[4.0, 2.0, 2.0, 5.0]);
    assert_eq!(super::fit::factorised(plain.clone()).l(), nalgebra::Cholesky::new(plain).unwrap().l());
}

#[test]
fn a_guess_counts_as_visits_of_every_row() {
    let logit = "logit.base = -1.0\nlogit.effects.x = { \"1\" = 0.5, \"2\" = 1.0 }\nlogit.effects.y = { \"1\" = -0.7 }";
    let guessed = |weight: f64| {
        let text = format!(
            "[key.k]\nvalues = [\"no\", \"yes\"]\nparents = [\"x\", \"y\"]\n{logit}\nlearn = {{ weight = {weight}, sd = 10.0 }}"
        );
        model(&world(&text))
    };
    let none = Counts::new(6, 2);
    let model = guessed(50.0);
    let p = Fit::new(&model, &none).mean(&model);
    // Without data, the guess; the prior of 10 standard deviations hardly matters.
    assert!((p[1] - 1.0 / (1.0 + 1f64.exp())).abs() < 0.01, "{}", p[1]);
    // With 50 visits of the first row that are all yes, half way between.
    let mut counts = Counts::new(6, 2);
    counts.n_r[0] = 5000;
    counts.n_rv[1] = 5000;
    let weak = guessed(0.5);
    assert!(Fit::new(&weak, &counts).mean(&weak)[1] > 0.97);
}

#[test]
fn too_many_parameters_are_refused_by_name() {
    let wide = "[hidden.h]\nvalues = 2\nparents = [\"big\"]\nlearn = \"table\"\n[lever.big]\nvalues = 2000\n\
        [key.k]\nvalues = 2\nparents = [\"h\"]\nlearn = \"logit\"";
    let knowledge = Knowledge::of(&world(wide));
    let error = MechanismRows::new(knowledge.world()).unwrap_err();
    assert!(matches!(error, LearnError::TooManyParameters { .. }), "{error}");
    let message = error.to_string();
    // One for each of its rows, and the base.
    assert!(
        message.starts_with("learning the mechanism of \"h\"") && message.contains("takes 2001 parameters"),
        "{message}"
    );
}
