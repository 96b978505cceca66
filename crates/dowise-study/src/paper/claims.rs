//! The paper's claims as checks: held or not held, with the numbers.

use serde::Serialize;

use super::parts::Part;
use super::rules::SAMPLING;
use crate::Summary;

/// A claim, checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// Which experiment.
    pub experiment: u8,
    /// Under which rule.
    pub rule: String,
    /// What is claimed.
    pub claim: String,
    /// Whether the numbers bear it out.
    pub held: bool,
    /// The numbers.
    pub numbers: String,
}

impl Claim {
    /// The number of the experiment; `linear` for the theorem.
    pub fn label(&self) -> String {
        if self.experiment <= 3 { self.experiment.to_string() } else { "linear".to_owned() }
    }

    /// What it is about: one of the paper's experiments, or its theorem for causal linear MDPs, of which it shows none.
    pub fn of(&self) -> String {
        if self.experiment <= 3 {
            format!("experiment {}", self.experiment)
        } else {
            "theorem for linear MDPs".to_owned()
        }
    }
}

/// Final regrets of an experiment under one rule: for each x (one only in Experiment 1) and each learner (plain, F, C,
/// CF) a summary of the runs; a learner that was left out has no runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Finals {
    /// The rule.
    pub rule: String,
    /// (x, plain, F, C, CF).
    pub at: Vec<(f64, [Summary; 4])>,
}

const NAMES: [&str; 4] = ["UCBVI", "F-UCBVI", "C-UCBVI", "CF-UCBVI"];
const PLAIN: usize = 0;
const F: usize = 1;
const C: usize = 2;
const CF: usize = 3;

/// A regret counts as flat if its largest mean is at most this multiple of its smallest.
const FLAT: f64 = 2.0;

/// A regret counts as growing if its last mean is at least this multiple of its first, and above it by more than two
/// standard errors.
const GROWING: f64 = 1.25;

/// Checks the claims of one of the paper's experiments.
pub fn check(part: Part, finals: &Finals) -> Vec<Claim> {
    let made = match part {
        Part::Experiment1 => experiment_1(finals),
        Part::Experiment2 => experiment_2(finals),
        Part::Experiment3 => experiment_3(finals),
        Part::Others2
        | Part::Others3
        | Part::Scales
        | Part::Hard
        | Part::Many
        | Part::ManyPlain
        | Part::Unknown
        | Part::LinearActions
        | Part::LinearActionsPlain
        | Part::LinearStates
        | Part::LinearStatesTables => vec![],
    };
    let experiment = part as u8 + 1;
    // The claims are about the UCBVI family; under posterior sampling the same is asked of the PSRL family.
    let named = |text: &str| if finals.rule == SAMPLING.key { text.replace("UCBVI", "PSRL") } else { text.to_owned() };
    let claim = |(claim, held, numbers): Check| {
        let rule = finals.rule.clone();
        Claim { experiment, rule, claim: named(claim), held, numbers: named(&numbers) }
    };
    if finals.at.is_empty() { vec![] } else { made.into_iter().map(claim).collect() }
}

/// The claim for causal linear MDPs of one learner: `at` has its final regret at every size, smallest first.
pub(super) fn linear(what: &str, learner: &str, should_be_flat: bool, at: &[(f64, Summary)]) -> Option<Claim> {
    let four = |(x, s): &(f64, Summary)| (*x, [*s, Summary::default(), Summary::default(), Summary::default()]);
    let finals = Finals { rule: "linear".into(), at: at.iter().map(four).collect() };
    if finals.at.len() < 2 {
        return None;
    }
    let (claim, held) = if should_be_flat {
        (format!("the regret of {learner} is stable as {what} grow"), flat(&finals, PLAIN))
    } else {
        (format!("the regret of {learner} grows with {what}"), growing(&finals, PLAIN))
    };
    Some(Claim { experiment: 4, rule: "linear".into(), claim, held, numbers: row(&finals, PLAIN) })
}

type Check = (&'static str, bool, String);

fn experiment_1(finals: &Finals) -> Vec<Check> {
    let Some((_, s)) = finals.at.first() else { return vec![] };
    let mean = |i: usize| s[i].mean;
    let all = (0..4).map(|i| format!("{} {}", NAMES[i], pm(&s[i]))).collect::<Vec<_>>().join(", ");
    let pair = |a: usize, b: usize| format!("{} {} against {} {}", NAMES[a], pm(&s[a]), NAMES[b], pm(&s[b]));
    vec![
        ("CF-UCBVI has the least regret of the four", (0..3).all(|i| mean(CF) < mean(i)), all.clone()),
        ("UCBVI has the greatest regret of the four", (1..4).all(|i| mean(PLAIN) > mean(i)), all),
        ("C-UCBVI does better than F-UCBVI", mean(C) < mean(F), pair(C, F)),
    ]
}

fn experiment_2(finals: &Finals) -> Vec<Check> {
    let ordered = |s: &[Summary; 4]| s.windows(2).all(|w| w[0].mean > w[1].mean);
    let broken: Vec<String> = finals.at.iter().filter(|(_, s)| !ordered(s)).map(|(x, _)| format!("m = {x}")).collect();
    let order = if broken.is_empty() {
        "UCBVI > F-UCBVI > C-UCBVI > CF-UCBVI at every m".to_owned()
    } else {
        format!("another order at {}", broken.join(", "))
    };
    vec![
        ("the regret of C-UCBVI is stable as m grows", flat(finals, C), row(finals, C)),
        ("the regret of CF-UCBVI is stable as m grows", flat(finals, CF), row(finals, CF)),
        ("the regret of UCBVI grows with m", growing(finals, PLAIN), row(finals, PLAIN)),
        ("the regret of F-UCBVI grows with m", growing(finals, F), row(finals, F)),
        ("at every m the order is that of Experiment 1", broken.is_empty(), order),
    ]
}

fn experiment_3(finals: &Finals) -> Vec<Check> {
    let above = finals.at.iter().all(|(_, s)| s[F].mean > s[C].mean && s[F].mean > s[CF].mean);
    let least = finals.at.iter().map(|(_, s)| s[F].mean / s[C].mean.max(s[CF].mean)).fold(f64::INFINITY, f64::min);
    vec![
        ("the regret of F-UCBVI varies little with dₛ", flat(finals, F), row(finals, F)),
        ("the regret of CF-UCBVI varies little with dₛ", flat(finals, CF), row(finals, CF)),
        ("the regret of C-UCBVI grows with dₛ", growing(finals, C), row(finals, C)),
        ("F-UCBVI stays above C-UCBVI and CF-UCBVI", above, format!("at least {least:.1} times the larger of the two")),
    ]
}

fn flat(finals: &Finals, learner: usize) -> bool {
    largest_over_smallest(finals, learner) <= FLAT
}

fn largest_over_smallest(finals: &Finals, learner: usize) -> f64 {
    let means = || finals.at.iter().map(|(_, s)| s[learner].mean);
    means().fold(f64::NEG_INFINITY, f64::max) / means().fold(f64::INFINITY, f64::min)
}

fn growing(finals: &Finals, learner: usize) -> bool {
    let (Some((_, first)), Some((_, last))) = (finals.at.first(), finals.at.last()) else { return false };
    let (first, last) = (&first[learner], &last[learner]);
    let error = first.standard_error().hypot(last.standard_error());
    last.mean >= GROWING * first.mean && last.mean - first.mean > 2.0 * error
}

fn row(finals: &Finals, learner: usize) -> String {
    let means: Vec<String> = finals.at.iter().map(|(_, s)| short(s[learner].mean)).collect();
    format!("{}; largest / smallest {:.2}", means.join(", "), largest_over_smallest(finals, learner))
}

fn pm(s: &Summary) -> String {
    format!("{} ± {}", short(s.mean), short(s.sd))
}

/// Three or four digits.
pub(super) fn short(x: f64) -> String {
    match x.abs() {
        a if a >= 100.0 => format!("{x:.0}"),
        a if a >= 10.0 => format!("{x:.1}"),
        _ => format!("{x:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finals(rows: &[(f64, [f64; 4])]) -> Finals {
        let around = |mean: f64| Summary::of([0.9 * mean, mean, 1.1 * mean]);
        Finals { rule: "test".into(), at: rows.iter().map(|&(x, means)| (x, means.map(around))).collect() }
    }

    fn held(part: Part, rows: &[(f64, [f64; 4])]) -> Vec<bool> {
        check(part, &finals(rows)).iter().map(|c| c.held).collect()
    }

    #[test]
    fn the_claims_of_experiment_1_fail_one_by_one_on_data_that_violates_them() {
        assert_eq!(held(Part::Experiment1, &[(0.0, [4.0, 3.0, 2.0, 1.0])]), [true, true, true]);
        assert_eq!(held(Part::Experiment1, &[(0.0, [4.0, 3.0, 2.0, 2.5])]), [false, true, true]);
        assert_eq!(held(Part::Experiment1, &[(0.0, [3.0, 4.0, 2.0, 1.0])]), [true, false, true]);
        assert_eq!(held(Part::Experiment1, &[(0.0, [4.0, 2.0, 3.0, 1.0])]), [true, true, false]);
    }

    #[test]
    fn the_claims_of_experiment_2_fail_one_by_one_on_data_that_violates_them() {
        let good = [(3.0, [80.0, 60.0, 9.0, 2.0]), (5.0, [120.0, 90.0, 11.0, 2.5]), (7.0, [200.0, 150.0, 10.0, 3.0])];
        assert_eq!(held(Part::Experiment2, &good), [true; 5]);
        let change = |learner: usize, last: f64| {
            let mut rows = good;
            rows[2].1[learner] = last;
            held(Part::Experiment2, &rows)
        };
        assert_eq!(change(2, 30.0), [false, true, true, true, true]);
        assert_eq!(change(3, 6.0), [true, false, true, true, true]);
        assert_eq!(change(0, 82.0), [true, true, false, true, false]);
        assert_eq!(change(1, 60.0), [true, true, true, false, true]);
        assert_eq!(change(1, 210.0), [true, true, true, true, false]);
    }

    #[test]
    fn the_claims_of_experiment_3_fail_one_by_one_on_data_that_violates_them() {
        let good = [(2.0, [0.0, 300.0, 24.0, 5.0]), (5.0, [0.0, 350.0, 132.0, 8.0])];
        assert_eq!(held(Part::Experiment3, &good), [true; 4]);
        let change = |learner: usize, last: f64| {
            let mut rows = good;
            rows[1].1[learner] = last;
            held(Part::Experiment3, &rows)
        };
        assert_eq!(change(1, 700.0), [false, true, true, true]);
        assert_eq!(change(3, 20.0), [true, false, true, true]);
        assert_eq!(change(2, 25.0), [true, true, false, true]);
        assert_eq!(change(2, 400.0), [true, true, true, false]);
    }

    #[test]
    fn linear_claims_fail_on_data_that_violates_them() {
        let at = |means: &[f64]| {
            let summary = |m: &f64| Summary { n: 5, mean: *m, ..Summary::default() };
            means.iter().enumerate().map(|(i, m)| (i as f64, summary(m))).collect::<Vec<_>>()
        };
        let held = |flat: bool, means: &[f64]| linear("interventions", "c-blsvi", flat, &at(means)).map(|c| c.held);
        assert_eq!((held(true, &[2.0, 3.0]), held(true, &[2.0, 5.0])), (Some(true), Some(false)));
        assert_eq!((held(false, &[2.0, 5.0]), held(false, &[2.0, 2.1])), (Some(true), Some(false)));
        assert_eq!(held(true, &[2.0]), None);
    }

    #[test]
    fn growth_within_the_noise_is_not_growth() {
        let mut noisy = finals(&[(3.0, [10.0; 4]), (7.0, [14.0; 4])]);
        assert!(growing(&noisy, 0));
        noisy.at[1].1[0].sd = 20.0;
        assert!(!growing(&noisy, 0));
    }
}
