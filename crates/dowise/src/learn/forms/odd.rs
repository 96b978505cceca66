//! Edge-case tests of parametric mechanisms: chains of hidden variables, wrong prior guesses, many values.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::tests::{model, world};
use super::{Fit, FormModel};
use crate::learn::Knowledge;
use crate::learn::LearnError;
use crate::learn::evidence::Counts;
use crate::learn::view::MechanismRows;
use crate::random::normal;

/// Every combination of forms of a hidden variable and of its child.
const BEHIND: [&str; 5] = [
    "[hidden.h]\nvalues = 2\nparents = [\"x\"]\nlearn = \"logit\"\n[key.k]\nvalues = 2\nparents = [\"h\", \"y\"]\nlearn = \"table\"",
    "[hidden.g]\nvalues = 2\nparents = [\"x\"]\nlearn = \"table\"\n[hidden.h]\nvalues = 2\nparents = [\"g\"]\nlearn = \"table\"\n\
     [key.k]\nvalues = 2\nparents = [\"h\", \"y\"]\nlearn = \"logit\"",
    "[hidden.h]\nvalues = 3\nparents = [\"x\"]\nlearn = \"logit\"\n[key.k]\nvalues = 2\nparents = [\"h\", \"y\"]\nlearn = \"table\"\n\
     [key.j]\nvalues = 2\nparents = [\"h\"]\nlearn = \"table\"",
    "[hidden.h]\nvalues = 3\nparents = [\"x\"]\nlearn = \"logit\"\n[key.k]\nvalues = 2\nparents = [\"h\", \"y\"]\nlearn = \"noisy_or\"",
    "[hidden.g]\nvalues = 2\nparents = [\"x\"]\nlearn = \"logit\"\n[hidden.h]\nvalues = 2\nparents = [\"g\"]\nlearn = \"logit\"\n\
     [key.k]\nvalues = 2\nparents = [\"h\", \"y\"]\nlearn = \"logit\"",
];

/// Counts of rows with this many visits, in proportion to these probabilities.
fn counts_of(model: &FormModel, p: &[f64], visits: f64) -> Counts {
    let mut counts = Counts::new(model.n_rows, model.n_values);
    for (i, p) in p.iter().enumerate() {
        counts.n_rv[i] = (p * visits).round() as u32;
        counts.n_r[i / model.n_values] += counts.n_rv[i];
    }
    counts
}

#[test]
fn a_hidden_variable_passes_on_what_acts_on_it_whatever_forms_there_are() {
    for text in BEHIND {
        let model = model(&world(text));
        let n = model.n_values;
        // P(last value) is 0.3, 0.5 and 0.7 for the three values of x.
        let last = |row: usize| [0.3, 0.5, 0.7][row / (model.n_rows / 3)];
        let rest = |row: usize| (1.0 - last(row)) / (n - 1) as f64;
        let p: Vec<f64> =
            (0..model.n_rows * n).map(|i| if i % n == n - 1 { last(i / n) } else { rest(i / n) }).collect();
        let mean = Fit::new(&model, &counts_of(&model, &p, 1000.0)).mean(&model);
        for row in 0..model.n_rows {
            let found = mean[row * n + n - 1];
            assert!((found - last(row)).abs() < 0.04, "{text}: {found} in row {row}, seen {}", last(row));
        }
    }
}

/// Posterior mean and standard deviation of P(v | row), `[row][value]`, by a long Metropolis random walk.
fn by_random_walk(model: &FormModel, counts: &Counts, sweeps: usize) -> [Vec<f64>; 2] {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let density = |theta: &[f64]| {
        let p = model.probabilities(theta);
        let prior: f64 = theta.iter().zip(&model.prior.parameters).map(|(t, (m, w))| w * (t - m) * (t - m)).sum();
        let data: f64 = p.iter().zip(&counts.n_rv).map(|(p, &n)| f64::from(n) * p.ln()).sum();
        data - 0.5 * prior
    };
    let mut theta: Vec<f64> = model.prior.parameters.iter().map(|(mean, _)| *mean).collect();
    let (mut now, mut steps) = (density(&theta), vec![0.5; theta.len()]);
    let mut sums = [vec![0.0; counts.n_rv.len()], vec![0.0; counts.n_rv.len()]];
    for sweep in 0..sweeps {
        for i in 0..theta.len() {
            let mut next = theta.clone();
            next[i] += steps[i] * normal(&mut rng);
            let there = density(&next);
            let taken = rng.random::<f64>().ln() < there - now;
            if taken {
                (theta, now) = (next, there);
            }
            if sweep < sweeps / 4 {
                // The acceptance rate converges to about 0.4.
                steps[i] = (steps[i] * if taken { 1.05 } else { 0.967 }).min(5.0 / model.prior.parameters[i].1.sqrt());
            }
        }
        if sweep >= sweeps / 4 {
            for (c, p) in model.probabilities(&theta).into_iter().enumerate() {
                (sums[0][c], sums[1][c]) = (sums[0][c] + p, sums[1][c] + p * p);
            }
        }
    }
    let n = (sweeps - sweeps / 4) as f64;
    let mean: Vec<f64> = sums[0].iter().map(|s| s / n).collect();
    let sd = sums[1].iter().zip(&mean).map(|(s, m)| (s / n - m * m).max(0.0).sqrt()).collect();
    [mean, sd]
}

#[test]
fn samples_behind_hidden_variables_agree_with_a_long_random_walk() {
    for text in BEHIND {
        // The random walk needs a given prior: no scale is estimated.
        let stated = ["logit", "noisy_or"].iter().fold(text.to_owned(), |text, form| {
            text.replace(&format!("learn = \"{form}\""), &format!("learn = {{ form = \"{form}\", sd = 0.5 }}"))
        });
        let model = model(&world(&stated));
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        let truth: Vec<f64> =
            model.prior.parameters.iter().map(|(mean, w)| mean + normal(&mut rng) / w.sqrt()).collect();
        let counts = counts_of(&model, &model.probabilities(&truth), 300.0);
        let [mean, sd] = by_random_walk(&model, &counts, 4000);
        let fit = Fit::new(&model, &counts);
        let draws: Vec<Vec<f64>> = (0..1000).map(|_| fit.sample(&model, &counts, 1.0, &mut rng)).collect();
        for c in 0..mean.len() {
            let sum = |of: &dyn Fn(f64) -> f64| draws.iter().map(|d| of(d[c])).sum::<f64>() / draws.len() as f64;
            let drawn = sum(&|p| p);
            let spread = sum(&|p| (p - drawn) * (p - drawn)).sqrt();
            assert!((drawn - mean[c]).abs() < 0.6 * sd[c], "{text}: cell {c}, {drawn} drawn, {} ± {}", mean[c], sd[c]);
            assert!((0.75..1.4).contains(&(spread / sd[c])), "{text}: cell {c}, spread {spread}, {}", sd[c]);
        }
    }
}

#[test]
fn wrong_guesses_yield_to_evidence_and_do_not_enter_bounds() {
    let guessed = |weight: &str| {
        let text = "[key.k]\nvalues = [\"no\", \"yes\"]\nparents = [\"x\"]\nlearn = { form = \"FORM\", weight = WEIGHT }\n\
            rows = [{ when = { x = \"0\" }, p = [1.0, 0.0] }, { p = [0.0, 1.0] }]";
        let behind = "[hidden.h]\nvalues = 2\nparents = [\"y\"]\nlearn = \"logit\"\n";
        let text = text.replace("WEIGHT", weight);
        [
            text.replace("FORM", "logit"),
            text.replace("FORM", "noisy_or"),
            format!("{behind}{}", text.replace("FORM", "logit").replace("[\"x\"]", "[\"x\", \"h\"]")),
        ]
    };
    for weight in ["0.000001", "1", "1000000"] {
        for text in guessed(weight) {
            let model = model(&world(&text));
            // The guess is never for x = 0 and always for the others; the data differ, as far as a noisy-or allows.
            let (first, others) = if text.contains("noisy_or") { (0.3, 0.5) } else { (0.8, 0.2) };
            let yes = |row: usize| if row < model.n_rows / 3 { first } else { others };
            let p: Vec<f64> = (0..model.n_rows).flat_map(|row| [1.0 - yes(row), yes(row)]).collect();
            let counts = counts_of(&model, &p, 1000.0);
            let [with, without] = [Fit::new(&model, &counts), Fit::without_guesses(&model, &counts)];
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            let sample = with.sample(&model, &counts, 1.0, &mut rng);
            let all = with.mean(&model).into_iter().chain(sample).chain(with.bounds(&model, 3.0).concat());
            assert!(all.into_iter().all(|p| (0.0..=1.0).contains(&p)), "{text}");
            let off = with.mean(&model)[1] - first;
            assert!(if weight == "1000000" { off < -0.2 } else { off.abs() < 0.1 }, "{text}: {off}");
            let [lo, hi] = without.bounds(&model, (1.0f64 / 0.05).ln());
            let inside = |i: usize| lo[i] <= p[i] && p[i] <= hi[i];
            assert!((0..p.len()).all(inside), "{text}: {p:?} in {lo:?} to {hi:?}");
        }
    }
}

#[test]
fn the_information_of_a_logit_of_many_values_is_that_of_its_slopes() {
    let model = model(&world(
        "[key.k]\nvalues = 9\nparents = [\"x\", \"y\"]\nlearn = { form = \"logit\", interactions = [[\"x\", \"y\"]] }",
    ));
    let part = model.logit_of_many().expect("nine are many");
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let d = model.n_parameters();
    let theta: Vec<f64> = (0..d).map(|_| normal(&mut rng)).collect();
    let mut tables = Vec::new();
    model.tables(&theta, &mut tables);
    let mut found = super::Slopes::new(&model);
    for row in 0..model.n_rows {
        model.row_with_slopes(&theta, &tables, row, &mut found);
        let mut by_formula = vec![0.0; d * d];
        part.information(&tables[0], row, |i, j, share| by_formula[i * d + j] += share);
        for i in 0..d {
            for j in 0..=i {
                let plain: f64 = (0..9).map(|v| found.slopes[v * d + i] * found.slopes[v * d + j] / found.row[v]).sum();
                assert!((by_formula[i * d + j] - plain).abs() < 1e-13, "row {row}, parameters {i} and {j}");
            }
        }
    }
}

#[test]
fn what_is_too_large_to_be_fitted_is_refused_by_name_with_what_to_do() {
    let refused = |text: &str| -> String {
        let knowledge = Knowledge::of(&world(text));
        match MechanismRows::new(knowledge.world()) {
            Err(error @ (LearnError::TooManyParameters { .. } | LearnError::TooManyTerms { .. })) => error.to_string(),
            other => panic!("{text}: {other:?}"),
        }
    };
    let wide = "[hidden.h]\nvalues = 3000\nparents = [\"x\"]\nlearn = \"logit\"\n\
        [key.k]\nvalues = 2\nparents = [\"h\", \"y\"]\nlearn = \"logit\"";
    let message = refused(wide);
    assert!(message.contains("\"h\"") && message.contains("forms=false"), "{message}");
    let deep = "[lever.z]\nvalues = 400\n[lever.w]\nvalues = 400\n[hidden.h]\nvalues = 300\nparents = [\"x\"]\nlearn = \"logit\"\n\
        [key.k]\nvalues = 2\nparents = [\"h\", \"z\"]\nlearn = \"logit\"\n[key.j]\nvalues = 2\nparents = [\"h\", \"w\"]\nlearn = \"logit\"";
    let message = refused(deep);
    assert!(message.contains("\"h\"") && message.contains("576000000 terms"), "{message}");
}
